-- Harmony, gpt-oss's format. The system message is the model's own; what the corpus has as one goes
-- to the developer. What the assistant says is its final channel.
local date = "2025-08-05" -- the day that the system message tells; the models' own
local effort = "medium" -- of reasoning: low, medium, high

local system = "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n"
  .. "Current date: " .. date .. "\n\nReasoning: " .. effort .. "\n\n# Valid channels: analysis, "
  .. "commentary, final. Channel must be included for every message."

return function(messages)
  local out = { "<|start|>system<|message|>" .. system .. "<|end|>" }
  for i, m in ipairs(messages) do
    if (m.role == "system" or m.role == "developer") and i == 1 then
      if m.content ~= "" then
        out[#out + 1] = "<|start|>developer<|message|># Instructions\n\n" .. m.content .. "\n\n<|end|>"
      end
    elseif m.role == "user" then
      out[#out + 1] = "<|start|>user<|message|>" .. m.content .. "<|end|>"
    elseif m.role == "assistant" then
      out[#out + 1] = "<|start|>assistant<|channel|>final<|message|>"
      out[#out + 1] = { assistant = m.content .. (i == #messages and "<|return|>" or "<|end|>") }
    else
      error("Harmony has no place for message " .. i .. ", of role " .. m.role)
    end
  end
  return out
end
