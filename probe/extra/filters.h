/* filters.h: system call filters for confine.c. */
#ifndef SYSCOST_FILTERS_H
#define SYSCOST_FILTERS_H

/* Installs the filter of that kind in this process, for good: `numbers`, `arguments`, `docker`, or `cached` and `uncached` with a
   number of instructions; returns 0 if there is no such kind. Ends the process with the protocol's error line if the kernel
   refuses. */
int filter_calls(const char *kind, const char *instructions);

/* Installs a filter that asks a supervisor for each open; returns the descriptor on which it listens. */
int ask_for_opens(void);
#endif
