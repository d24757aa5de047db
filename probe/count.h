/* count.h: instructions of an iteration, counted from inside a machine that is emulated: nothing from outside reaches it meanwhile. */
#ifndef SYSCOST_COUNT_H
#define SYSCOST_COUNT_H

/* Starts a child that calls `live(greeting)` and speaks the probe's protocol, and serves a channel whose first line was `count`,
   LIMIT, `own` or `deferred`, and the child's first line: passes on `ready ...` or `error ...`, then writes

       counted FEWER MORE few:many few:many ...

   with the iterations of the shorter and of the longer batches, and for each pair the instructions that they took. LIMIT is the
   most iterations that a batch can have, 0 for no limit. Ends then. */
_Noreturn void count_instructions(void (*live)(const void *), const char *line);
#endif
