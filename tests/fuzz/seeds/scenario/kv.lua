-- What does it cost to keep keys and values in fewer bits than the reference's F32? Arms with the
-- reference's weights and each type for both, keys alone and values alone, and beside quantized
-- weights: where 4 bits are too few for keys, they may do for values.
params = { model = "tiny.gguf", window = 512, max_documents = 4 }

local arms = {}
for _, type in ipairs { "F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0" } do
  arms[#arms + 1] = arm("kv " .. type) { kv = { k = type, v = type } }
end
for _, type in ipairs { "Q8_0", "Q4_0" } do
  arms[#arms + 1] = arm("keys " .. type) { kv = { k = type } }
  arms[#arms + 1] = arm("values " .. type) { kv = { v = type } }
end
arms[#arms + 1] = arm "q8_0" { preset = "Q8_0" }
arms[#arms + 1] = arm "q8_0, kv Q8_0" { preset = "Q8_0", kv = { k = "Q8_0", v = "Q8_0" } }

return scenario {
  name      = "kv",
  reference = model(params.model),
  corpus    = {
    stories = text("b.jsonl", { max_documents = params.max_documents }),
    code    = text("b.jsonl", { max_documents = params.max_documents }),
  },
  window    = params.window,
  arms      = arms,
}
