-- A real model with a wide head: Gemma 3 270M, from the Q4_K_M file that `scenarios/fetch gemma3` brings,
-- taken as F16 so that it can be a reference (so the arm q4_k_m, made of what was Q4_K_M, loses next
-- to nothing). Its vocabulary of 262,144 has two thirds of the weights and of the work.
params = { window = 512, max_documents = 4 }

return scenario {
  name      = "gemma3",
  reference = model("models/gemma-3-270m-q4_k_m.gguf", { type = "F16" }),
  corpus    = text("corpora/stories.jsonl", { max_documents = params.max_documents }),
  window    = params.window,
  arms      = {
    arm "q8_0"   { preset = "Q8_0" },
    arm "q6_k"   { preset = "Q6_K" },
    arm "q4_k_m" { preset = "Q4_K_M" },
    arm "q2_k"   { preset = "Q2_K" },
  },
}
