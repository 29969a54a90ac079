-- Granite 3. The default system message of its templates, which differs from release to release and
-- with the day, is not put in front of a conversation without one.
return function(messages)
  local out = {}
  for _, m in ipairs(messages) do
    local text = m.content .. "<|end_of_text|>"
    out[#out + 1] = "<|start_of_role|>" .. m.role .. "<|end_of_role|>"
    out[#out + 1] = m.role == "assistant" and { assistant = text } or text
    out[#out + 1] = "\n"
  end
  return out
end
