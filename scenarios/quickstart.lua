-- What does each quantization preset cost? Six arms against the embedded model, over four kinds of
-- text. This is what `kldscope` opens without arguments.
return scenario {
  name      = "quickstart",
  reference = model "models/scope-6m.f16.gguf",
  corpus    = {
    text "corpora/stories.jsonl",
    text "corpora/howto.jsonl",
    text "corpora/code.jsonl",
    chat "corpora/chat.jsonl",
  },
  window    = 512,
  arms      = {
    arm "q8_0"   { preset = "Q8_0" },
    arm "q6_k"   { preset = "Q6_K" },
    arm "q5_k_m" { preset = "Q5_K_M" },
    arm "q4_k_m" { preset = "Q4_K_M" },
    arm "q3_k_m" { preset = "Q3_K_M" },
    arm "q2_k"   { preset = "Q2_K" },
  },
}
