/* crowd.h: one operation by several at once. */
#ifndef SYSCOST_CROWD_H
#define SYSCOST_CROWD_H
#include "probe.h"

/* Companions that do what the leader does while its batches last: as processes, started before the leader's own set-up,
   or as threads, started after it. Without a crowd the other three do nothing. */
void crowd_of_processes(const struct operation *operation, uint64_t threads);
void crowd_of_threads(const struct operation *operation, uint64_t threads);
void crowd_start(uint64_t n);
void crowd_stop(void);
void crowd_end(void);
#endif
