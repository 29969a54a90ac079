-- ChatML, as Qwen2.5, SmolLM2, LFM2 and many others write it. No system message is put in front of
-- a conversation that has none: which one a model's template would put there differs from model to
-- model, and whoever wants it measured writes it into the corpus.
return function(messages)
  local out = {}
  for _, m in ipairs(messages) do
    local text = m.content .. "<|im_end|>"
    out[#out + 1] = "<|im_start|>" .. m.role .. "\n"
    out[#out + 1] = m.role == "assistant" and { assistant = text } or text
    out[#out + 1] = "\n"
  end
  return out
end
