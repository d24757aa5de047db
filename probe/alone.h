/* alone.h: what a probe does for itself where no driver could prepare anything for it: under a user's own command, and on
   other machines. Calls only ground.c. */
#ifndef SYSCOST_ALONE_H
#define SYSCOST_ALONE_H
#include <stddef.h>

/* Serves a line that may come before `op`; 0 if it is none of these:

       > hello cpu=last guard=1 at=/tmp/x  cpu is a number, `last` for the last allowed one, or `none`
       < hello pid=42 cpu=7 own=1          the CPU that it is pinned to now, or `none`; own=0 if it works in `at`, else it
                                           has made a directory for itself, which it removes at its end
       > facts
       < fact kernel=6.1.0                 what the system tells by calls; values may have spaces
       < facts
       > show /proc/cpu*                   the files that match a pattern of glob(3), as far as they can be read
       < file 1234 /proc/cpuinfo           followed by as many bytes and a line end
       < shown

   With guard=1, or if it has its own directory, the work goes on in a new process; the calling one never returns. It ends the
   new one when its input has ended, also if that one does not read it, and removes the directory. */
int serve_before_operation(const char *line, void (*put)(const char *text, size_t length));
#endif
