-- A real model: SmolLM2-135M-Instruct, from the Q4_1 file that `scenarios/fetch smollm2` brings, taken
-- as F16 so that it can be a reference. Its rows are 576 wide, no multiple of a K-quant's 256: most
-- tensors of the K presets fall back to other types, as they do in the files people download.
params = { window = 512, max_documents = 8 }

return scenario {
  name      = "smollm2",
  reference = model("models/SmolLM2-135M-Instruct.Q4_1.gguf", { type = "F16" }),
  corpus    = text("corpora/stories.jsonl", { max_documents = params.max_documents }),
  window    = params.window,
  arms      = {
    arm "q8_0"   { preset = "Q8_0" },
    arm "q6_k"   { preset = "Q6_K" },
    arm "q4_k_m" { preset = "Q4_K_M" },
    arm "q2_k"   { preset = "Q2_K" },
  },
}
