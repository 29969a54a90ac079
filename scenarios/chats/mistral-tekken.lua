-- Mistral's third format with the Tekken vocabulary: Mistral Nemo. As mistral-v3, without its spaces.
return function(messages)
  local out, before = {}, ""
  for i, m in ipairs(messages) do
    if m.role == "system" and i == 1 then
      before = m.content .. "\n\n"
    elseif m.role == "user" then
      out[#out + 1] = "[INST]" .. before .. m.content .. "[/INST]"
      before = ""
    elseif m.role == "assistant" then
      out[#out + 1] = { assistant = m.content .. "</s>" }
    else
      error("Mistral has no place for message " .. i .. ", of role " .. m.role)
    end
  end
  return out
end
