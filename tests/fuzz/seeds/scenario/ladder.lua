-- What does each preset cost a model of yours?
--   kldscope scenarios/ladder.lua -p model=FILE.gguf
-- A file that is quantized already wants -p type=F16: it is a reference as what it decodes to, and the
-- arms are made of that.
params = {
  model         = "",
  type          = "",
  corpus        = "b.jsonl",
  presets       = "Q8_0 Q6_K Q5_K_M Q4_K_M Q3_K_M Q2_K",
  window        = 512,
  max_documents = 8,
}

if params.model == "" then
  error("which model? name a file with -p model=FILE.gguf", 0)
end
local as_it_is = params.type == ""
local ref = as_it_is and model(params.model) or model(params.model, { type = params.type })

local arms = {}
for preset in params.presets:gmatch("%S+") do
  arms[#arms + 1] = arm(preset:lower()) { preset = preset }
end

return scenario {
  name      = ref.name .. " ladder",
  reference = ref,
  corpus    = text(params.corpus, { max_documents = params.max_documents }),
  window    = math.min(params.window, ref.context),
  arms      = arms,
}
