-- Gemma 4, without tools: thoughts of earlier turns are left out, as its template does it.
local function trim(text)
  return text:match("^%s*(.-)%s*$")
end

-- What stands in <|channel>...<channel|>.
local function without_thoughts(text)
  local kept, at = {}, 1
  while true do
    local from, to = text:find("<|channel>", at, true)
    if not from then
      break
    end
    kept[#kept + 1] = text:sub(at, from - 1)
    local _, close = text:find("<channel|>", to + 1, true)
    at = close and close + 1 or #text + 1
  end
  kept[#kept + 1] = text:sub(at)
  return trim(table.concat(kept))
end

return function(messages)
  local out, before = {}, nil
  for i, m in ipairs(messages) do
    if m.role == "assistant" then
      if before ~= "assistant" then
        out[#out + 1] = "<|turn>model\n"
      end
      out[#out + 1] = { assistant = without_thoughts(m.content) .. "<turn|>" }
      out[#out + 1] = "\n"
    elseif m.role == "user" or (m.role == "system" and i == 1) then
      out[#out + 1] = "<|turn>" .. m.role .. "\n" .. trim(m.content) .. "<turn|>\n"
    else
      error("Gemma 4 has no place for message " .. i .. ", of role " .. m.role)
    end
    before = m.role
  end
  return out
end
