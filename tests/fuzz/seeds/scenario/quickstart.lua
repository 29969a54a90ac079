return scenario {
  name      = "quickstart",
  reference = model "tiny.gguf",
  corpus    = {
    text "b.jsonl",
    text "b.jsonl",
    text "b.jsonl",
    chat "c.jsonl",
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
