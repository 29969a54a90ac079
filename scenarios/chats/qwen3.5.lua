-- Qwen3.5: as Qwen3, but every turn behind what the user asked last has a thought, empty or not, and
-- everything said is trimmed.
local function trim(text)
  return text:match("^%s*(.-)%s*$")
end

-- What was said, and what was thought.
local function split(content)
  local close = content:find("</think>", 1, true)
  if not close then
    return content, ""
  end
  local thought, open = content:sub(1, close - 1), 1
  for at in thought:gmatch("()<think>") do
    open = at + #"<think>"
  end
  local said = content
  for after in content:gmatch("</think>()") do
    said = content:sub(after)
  end
  return said:match("^\n*(.*)$"), trim(thought:sub(open))
end

local function is_query(m)
  local text = trim(m.content)
  return m.role == "user"
    and not (text:find("^<tool_response>") and text:find("</tool_response>$"))
end

return function(messages)
  local out, last_query = {}, nil
  for i, m in ipairs(messages) do
    if is_query(m) then
      last_query = i
    end
  end
  if not last_query then
    error("Qwen3.5 needs a message of the user's")
  end
  for i, m in ipairs(messages) do
    if m.role == "system" and i > 1 then
      error("Qwen3.5 has no place for message " .. i .. ", of role system: it must be the first")
    end
    out[#out + 1] = "<|im_start|>" .. m.role .. "\n"
    if m.role ~= "assistant" then
      out[#out + 1] = trim(m.content) .. "<|im_end|>"
    else
      local said, thought = split(trim(m.content))
      if i > last_query and thought ~= "" then
        said = "<think>\n" .. thought .. "\n</think>\n\n" .. said
      elseif i > last_query then
        out[#out + 1] = "<think>\n\n</think>\n\n"
      end
      out[#out + 1] = { assistant = said .. "<|im_end|>" }
    end
    out[#out + 1] = "\n"
  end
  return out
end
