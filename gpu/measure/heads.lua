-- For holding a device's numbers against the CPU's: an unchanged arm, which must be exactly 0, two
-- presets, and an arm whose head has each type that a device reads.
params = { max_documents = 2 }

local types = {
  "Q8_0", "Q6_K", "Q5_K", "Q4_K", "Q3_K", "Q2_K", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "BF16", "F32",
}

local arms = { arm "same" {}, arm "q8_0" { preset = "Q8_0" }, arm "q4_k_m" { preset = "Q4_K_M" } }
for _, name in ipairs(types) do
  arms[#arms + 1] = arm("head " .. name) { override = { ["^token_embd\\.weight$"] = name } }
end

return scenario {
  name      = "heads",
  reference = model "../../scenarios/models/scope-6m.f16.gguf",
  corpus    = {
    text("../../scenarios/corpora/stories.jsonl", { max_documents = params.max_documents }),
    text("../../scenarios/corpora/code.jsonl", { max_documents = params.max_documents }),
  },
  window    = 512,
  arms      = arms,
}
