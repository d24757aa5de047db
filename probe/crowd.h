/* crowd.h: runs one operation concurrently. */
#ifndef SYSCOST_CROWD_H
#define SYSCOST_CROWD_H
#include "probe.h"

/* Prepares for companions that run the operation while the leader's batches last, and starts them: as processes, before the
   leader's own setup, or as threads, after it. Without a crowd, the other three functions do nothing. */
void crowd_open(const struct operation *operation, uint64_t threads);
void crowd_of_processes(void);
void crowd_of_threads(void);
void crowd_start(uint64_t n);
void crowd_stop(void);
void crowd_end(void);
#endif
