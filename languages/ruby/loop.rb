# Ruby loop: speaks the protocol of languages/README.md around a snippet.
#
# `while` is the cheapest loop: a block would be called each time, with the body's variables one level further away. The
# compiler removes unused literals, array literals and variables, so an expression's value is stored. Process.times uses
# getrusage (microseconds). Core Ruby has no page faults or context switches: they are 0, hence `switches=unknown`.
{{prelude}}

syscost_in = IO.for_fd(3, 'r')
syscost_out = IO.for_fd(4, 'w')
syscost_i = syscost_keep = nil
{{setup}}

# syswrite and a line ending of our own, so that a snippet may change $/, $, and $\.
syscost_out.syswrite("ready pid=#{Process.pid} switches=unknown\n")
while (syscost_line = syscost_in.gets("\n"))
  syscost_n, syscost_k = syscost_line.split(' ').map(&:to_i)
  syscost_reply = +''
  syscost_cpu = Process.times
  while (syscost_k -= 1) >= 0
    syscost_i = 0
    syscost_start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    while syscost_i < syscost_n
      {{body}}
      syscost_i += 1
    end
    syscost_end = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    syscost_reply << "#{syscost_end - syscost_start} 0\n"
  end
  syscost_cpu_end = Process.times
  syscost_reply << format("total %.0f %.0f 0 0\n", (syscost_cpu_end.utime - syscost_cpu.utime) * 1e9,
                          (syscost_cpu_end.stime - syscost_cpu.stime) * 1e9)
  syscost_out.syswrite(syscost_reply)
end
