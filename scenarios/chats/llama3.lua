-- Llama 3 (3.0): every turn has its role as a header. BOS is the vocabulary's business.
return function(messages)
  local out = {}
  for _, m in ipairs(messages) do
    local text = m.content:match("^%s*(.-)%s*$") .. "<|eot_id|>"
    out[#out + 1] = "<|start_header_id|>" .. m.role .. "<|end_header_id|>\n\n"
    out[#out + 1] = m.role == "assistant" and { assistant = text } or text
  end
  return out
end
