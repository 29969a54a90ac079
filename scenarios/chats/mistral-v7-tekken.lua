-- Mistral's seventh format with the Tekken vocabulary: Mistral Small 3 and later, Ministral 3,
-- Magistral, Devstral. As mistral-v7, without its spaces.
return function(messages)
  local out = {}
  for i, m in ipairs(messages) do
    if m.role == "system" then
      out[#out + 1] = "[SYSTEM_PROMPT]" .. m.content .. "[/SYSTEM_PROMPT]"
    elseif m.role == "user" then
      out[#out + 1] = "[INST]" .. m.content .. "[/INST]"
    elseif m.role == "assistant" then
      out[#out + 1] = { assistant = m.content .. "</s>" }
    else
      error("Mistral has no place for message " .. i .. ", of role " .. m.role)
    end
  end
  return out
end
