-- Phi-4: ChatML's marks, with one of its own behind the role.
return function(messages)
  local out = {}
  for _, m in ipairs(messages) do
    local text = m.content .. "<|im_end|>"
    out[#out + 1] = "<|im_start|>" .. m.role .. "<|im_sep|>"
    out[#out + 1] = m.role == "assistant" and { assistant = text } or text
  end
  return out
end
