-- Lua loop: speaks the protocol of languages/README.md around a snippet.
--
-- Plain Lua has one precise clock, os.clock(): the process's CPU time in microseconds. It excludes time spent waiting,
-- hence `clock=cpu`. There is no CPU split, and page faults and context switches are not counted: those are 0. Lua removes
-- no code, but has no expression statements: the value is stored in a local variable.
{{prelude}}

local syscost_clock = os.clock
local syscost_in = assert(io.open("/dev/fd/3", "r"))
local syscost_out = assert(io.open("/dev/fd/4", "a"))
syscost_out:setvbuf("no") -- one write for each reply
local syscost_stat = io.open("/proc/self/stat") -- begins with the process's number, which Lua cannot ask for
local syscost_pid = syscost_stat and syscost_stat:read("*l"):match("%d+") or "0"
if syscost_stat then syscost_stat:close() end
local syscost_keep
{{setup}}

syscost_out:write("ready pid=" .. syscost_pid .. " clock=cpu\n")
for syscost_line in syscost_in:lines() do
  local syscost_n, syscost_k = syscost_line:match("(%d+) (%d+)")
  syscost_n, syscost_k = tonumber(syscost_n), tonumber(syscost_k)
  local syscost_reply = {}
  for syscost_batch = 1, syscost_k do
    local syscost_start = syscost_clock()
    for syscost_i = 1, syscost_n do
      {{body}}
    end
    local syscost_end = syscost_clock()
    syscost_reply[syscost_batch] = string.format("%.0f 0\n", (syscost_end - syscost_start) * 1e9)
  end
  syscost_out:write(table.concat(syscost_reply) .. "total 0 0 0 0\n")
end
