-- Mistral's third format: Mistral 7B v0.3, Mixtral 8x22B, Mistral Large 2407. Their templates put a
-- system message in front of what the user says last, as long as nobody has answered it; a
-- conversation that is over has it in front of what the user says first.
return function(messages)
  local out, before = {}, ""
  for i, m in ipairs(messages) do
    if m.role == "system" and i == 1 then
      before = m.content .. "\n\n"
    elseif m.role == "user" then
      out[#out + 1] = "[INST] " .. before .. m.content .. "[/INST]"
      before = ""
    elseif m.role == "assistant" then
      out[#out + 1] = " "
      out[#out + 1] = { assistant = m.content:match("^%s*(.-)%s*$") .. "</s>" }
    else
      error("Mistral has no place for message " .. i .. ", of role " .. m.role)
    end
  end
  return out
end
