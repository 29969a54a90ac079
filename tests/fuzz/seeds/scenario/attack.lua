local function deep(n) return n == 0 and 0 or 1 + deep(n - 1) end
pcall(deep, 100000)
local s = string.rep("a", 30)
pcall(string.find, s, ".-.-.-.-.-b")
for k, v in pairs(_G or {}) do s = s .. tostring(k) end
local t = setmetatable and setmetatable({}, { __index = function(t, k) return t[k .. "x"] end })
while true do s = s .. s end
