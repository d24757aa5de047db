# Ruby loop: speaks the protocol of languages/README.md around a snippet.
#
# `while` is the cheapest loop: a block would be called each time, and its body's variables be a level further away. The
# compiler drops literals, array displays and variables whose value nobody wants, so an expression's value is stored.
# Process.times comes from getrusage (microseconds). Core Ruby sees neither page faults nor context switches: 0.
{{prelude}}

syscost_in = IO.for_fd(3, 'r')
syscost_out = IO.for_fd(4, 'w')
syscost_i = syscost_keep = nil
{{setup}}

# A line ending of our own and syswrite: what a snippet does to $/, $, and $\ is its own affair.
syscost_out.syswrite("ready pid=#{Process.pid}\n")
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
