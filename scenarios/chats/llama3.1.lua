-- Llama 3.1, 3.2 and 3.3: as Llama 3, but every conversation starts with a system message that
-- tells two dates before it says what the corpus says.
local date = "26 Jul 2024" -- what the template says when nobody tells it the day

local function trim(text)
  return text:match("^%s*(.-)%s*$")
end

return function(messages)
  local system, first = "", 1
  if messages[1].role == "system" then
    system, first = trim(messages[1].content), 2
  end
  local out = {
    "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n",
    "Today Date: " .. date .. "\n\n" .. system .. "<|eot_id|>",
  }
  for i = first, #messages do
    local m = messages[i]
    local text = trim(m.content) .. "<|eot_id|>"
    out[#out + 1] = "<|start_header_id|>" .. m.role .. "<|end_header_id|>\n\n"
    out[#out + 1] = m.role == "assistant" and { assistant = text } or text
  end
  return out
end
