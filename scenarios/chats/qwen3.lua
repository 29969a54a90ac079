-- Qwen3, the models that may think. What they thought is left out of earlier turns; behind what the
-- user asked last a turn keeps it, and the last one has an empty thought where it had none: so a
-- corpus without thoughts is what the model writes when it is told not to think.
local function trim_lines(text)
  return text:match("^\n*(.-)\n*$")
end

-- What was said, and what was thought.
local function split(content)
  local close = content:find("</think>", 1, true)
  if not close then
    return content, ""
  end
  local thought = content:sub(1, close - 1):match("^(.-)\n*$")
  local open = 1
  for at in thought:gmatch("()<think>") do
    open = at + #"<think>"
  end
  local said = content
  for after in content:gmatch("</think>()") do
    said = content:sub(after)
  end
  return said:match("^\n*(.*)$"), thought:sub(open):match("^\n*(.*)$")
end

local function is_query(m)
  return m.role == "user"
    and not (m.content:find("^<tool_response>") and m.content:find("</tool_response>$"))
end

return function(messages)
  local out, last_query = {}, #messages
  for i = #messages, 1, -1 do
    if is_query(messages[i]) then
      last_query = i
      break
    end
  end
  for i, m in ipairs(messages) do
    out[#out + 1] = "<|im_start|>" .. m.role .. "\n"
    if m.role ~= "assistant" then
      out[#out + 1] = m.content .. "<|im_end|>"
    else
      local said, thought = split(m.content)
      if i > last_query and thought ~= "" then
        said = "<think>\n" .. trim_lines(thought) .. "\n</think>\n\n" .. said:match("^\n*(.*)$")
      elseif i > last_query and i == #messages then
        out[#out + 1] = "<think>\n\n</think>\n\n"
        said = said:match("^\n*(.*)$")
      end
      out[#out + 1] = { assistant = said .. "<|im_end|>" }
    end
    out[#out + 1] = "\n"
  end
  return out
end
