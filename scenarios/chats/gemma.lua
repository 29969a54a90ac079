-- Gemma 1 to 3. There is no system turn: as Gemma 3's template does it, a system message goes in
-- front of what the user says first.
local function trim(text)
  return text:match("^%s*(.-)%s*$")
end

return function(messages)
  local out, before = {}, ""
  for i, m in ipairs(messages) do
    if m.role == "system" and i == 1 then
      before = m.content .. "\n\n"
    elseif m.role == "assistant" then
      out[#out + 1] = "<start_of_turn>model\n"
      out[#out + 1] = { assistant = trim(m.content) .. "<end_of_turn>" }
      out[#out + 1] = "\n"
    elseif m.role == "user" then
      out[#out + 1] = "<start_of_turn>user\n" .. before .. trim(m.content) .. "<end_of_turn>\n"
      before = ""
    else
      error("Gemma has no place for message " .. i .. ", of role " .. m.role)
    end
  end
  return out
end
