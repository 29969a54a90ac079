-- SmolLM3: ChatML behind a system message that tells the day and how it reasons, and that nothing
-- closes. /think or /no_think in the corpus's own system message chooses; as it thinks by default, a
-- corpus without thoughts wants /no_think there.
local date = "08 July 2025" -- the day that the system message tells; the model's own

local defaults = {
  ["/think"] = "You are a helpful AI assistant named SmolLM, trained by Hugging Face. Your role as an "
    .. "assistant involves thoroughly exploring questions through a systematic thinking process "
    .. "before providing the final precise and accurate solutions. This requires engaging in a "
    .. "comprehensive cycle of analysis, summarizing, exploration, reassessment, reflection, "
    .. "backtracking, and iteration to develop well-considered thinking process. Please structure "
    .. "your response into two main sections: Thought and Solution using the specified format: "
    .. "<think> Thought section </think> Solution section. In the Thought section, detail your "
    .. "reasoning process in steps. Each step should include detailed considerations such as "
    .. "analysing questions, summarizing relevant findings, brainstorming new ideas, verifying the "
    .. "accuracy of the current steps, refining any errors, and revisiting previous steps. In the "
    .. "Solution section, based on various attempts, explorations, and reflections from the Thought "
    .. "section, systematically present the final solution that you deem correct. The Solution "
    .. "section should be logical, accurate, and concise and detail necessary steps needed to reach "
    .. "the conclusion.",
  ["/no_think"] = "You are a helpful AI assistant named SmolLM, trained by Hugging Face.",
}

local function cut(text, word)
  local kept, at = {}, 1
  while true do
    local from, to = text:find(word, at, true)
    if not from then
      return table.concat(kept) .. text:sub(at)
    end
    kept[#kept + 1] = text:sub(at, from - 1)
    at = to + 1
  end
end

-- The system message for one of the corpus's, or none.
local function system(text)
  local mode = text:find("/no_think", 1, true) and "/no_think" or "/think"
  local custom = cut(cut(text, "/no_think"), "/think"):match("^(.-)%s*$")
  if text:find("/system_override", 1, true) then
    return mode, cut(custom, "/system_override"):match("^(.-)%s*$") .. "<|im_end|>\n"
  end
  return mode, "## Metadata\n\nKnowledge Cutoff Date: June 2025\nToday Date: " .. date
    .. "\nReasoning Mode: " .. mode .. "\n\n## Custom Instructions\n\n"
    .. (custom ~= "" and custom or defaults[mode]) .. "\n\n"
end

return function(messages)
  local first = messages[1]
  local mode, text = system(first.role == "system" and first.content or "")
  local out = { "<|im_start|>system\n" .. text }
  for _, m in ipairs(messages) do
    if m.role == "user" or m.role == "tool" then
      out[#out + 1] = "<|im_start|>user\n" .. m.content .. "<|im_end|>\n"
    elseif m.role == "assistant" then
      out[#out + 1] = "<|im_start|>assistant\n" .. (mode == "/think" and "" or "<think>\n\n</think>\n")
      out[#out + 1] = { assistant = m.content:match("^\n*(.*)$") .. "<|im_end|>" }
      out[#out + 1] = "\n"
    end
  end
  return out
end
