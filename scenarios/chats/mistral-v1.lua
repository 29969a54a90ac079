-- Mistral's first instruct format: Mistral 7B v0.1 and v0.2, Mixtral. A system message goes in front
-- of what the user says first.
return function(messages)
  local out, before = {}, ""
  for i, m in ipairs(messages) do
    if m.role == "system" and i == 1 then
      before = m.content .. "\n\n"
    elseif m.role == "user" then
      out[#out + 1] = " [INST] " .. before .. m.content .. " [/INST]"
      before = ""
    elseif m.role == "assistant" then
      out[#out + 1] = " "
      out[#out + 1] = { assistant = m.content .. "</s>" }
    else
      error("Mistral has no place for message " .. i .. ", of role " .. m.role)
    end
  end
  return out
end
