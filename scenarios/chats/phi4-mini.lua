-- Phi-4-mini: as Phi-3, without its newlines.
return function(messages)
  local out = {}
  for _, m in ipairs(messages) do
    local text = m.content .. "<|end|>"
    out[#out + 1] = "<|" .. m.role .. "|>"
    out[#out + 1] = m.role == "assistant" and { assistant = text } or text
  end
  return out
end
