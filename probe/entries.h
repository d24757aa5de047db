/* entries.h: kernel entries of a channel of a guest, counted from inside: the driver's ptrace does not reach there. */
#ifndef SYSCOST_ENTRIES_H
#define SYSCOST_ENTRIES_H

/* Starts a child that calls `live(data)`, and follows it and all that it starts. After each write to the standard output, which
   is one reply of the protocol, a line with the calls since the last one follows: `entries c000003e:39=8 c000003e:0=1`, as
   AUDIT_ARCH_*:number=times, in the order in which they were first made. Ends as the child does. */
_Noreturn void count_entries(void (*live)(const void *), const void *data);

/* The same for a command, which `live` becomes by an execve: counts from that on, and reports all calls when it ends. Before, a
   line `missing PATH` for each path that a call did not find, without `root`; at most some, in the order in which they were
   first asked for. */
_Noreturn void count_command(void (*live)(const void *), const void *data, const char *root);
#endif
