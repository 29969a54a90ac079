-- Mistral's seventh format: Mistral Large 2411, whose vocabulary is SentencePiece's. The default
-- system message that some templates have is not put in front of a conversation without one.
return function(messages)
  local out = {}
  for i, m in ipairs(messages) do
    if m.role == "system" then
      out[#out + 1] = "[SYSTEM_PROMPT] " .. m.content .. "[/SYSTEM_PROMPT]"
    elseif m.role == "user" then
      out[#out + 1] = "[INST] " .. m.content .. "[/INST]"
    elseif m.role == "assistant" then
      out[#out + 1] = " "
      out[#out + 1] = { assistant = m.content .. "</s>" }
    else
      error("Mistral has no place for message " .. i .. ", of role " .. m.role)
    end
  end
  return out
end
