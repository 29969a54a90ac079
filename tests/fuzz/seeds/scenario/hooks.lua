params = { n = 2, preset = "Q4_K_M" }
local seen = {}
return scenario {
  reference = "tiny.gguf",
  corpus = { chat("c.jsonl", { score = "assistant", render = function(messages)
    local parts = {}
    for i, m in ipairs(messages) do parts[i] = m.role .. ": " .. m.content end
    return table.concat(parts, "\n")
  end }), text "a.txt" },
  window = params.n, top_k = 3, seed = 7, order = "file",
  arms = {
    arm "a" { preset = params.preset, override = { ["ffn_.*"] = "Q8_0", ["blk%.0"] = "F16" } },
    arm "b" { kv = { k = "Q8_0" }, imatrix = "none.dat" },
  },
  on_window = function(run) seen[#seen + 1] = string.format("%5.3f", run.windows) run:note("x") end,
  on_done = function(run) error({}) end,
}
