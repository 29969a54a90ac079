-- Phi-3 and Phi-3.5. The end-of-text token that some of their templates put behind a conversation is
-- left out.
return function(messages)
  local out = {}
  for _, m in ipairs(messages) do
    local text = m.content .. "<|end|>"
    out[#out + 1] = "<|" .. m.role .. "|>\n"
    out[#out + 1] = m.role == "assistant" and { assistant = text } or text
    out[#out + 1] = "\n"
  end
  return out
end
