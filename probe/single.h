/* single.h: times calls one by one, for their distribution. Calls only ticks.c and ground.c. */
#ifndef SYSCOST_SINGLE_H
#define SYSCOST_SINGLE_H
#include "probe.h"

#include <stddef.h>

/* Times up to `calls` single calls of the operation, for at most `ms` milliseconds, and writes the reply through `put`:

       all 104 5321                      calls that took up to 104 ns, and more than the bucket below; timer included
       preempted 51231 1                 those of them with an involuntary context switch
       interrupted 4223 12               those of them with an interrupt on this CPU, but no switch
       singles timer_ns=17.3 ...         facts; the end of the reply

   Buckets are a nanosecond wide below 1024 ns; above, each power of two has 512. */
void time_singles(const struct operation *operation, uint64_t calls, uint64_t ms,
                  void (*put)(const char *text, size_t length));
#endif
