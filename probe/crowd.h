/* crowd.h: runs one operation concurrently. */
#ifndef SYSCOST_CROWD_H
#define SYSCOST_CROWD_H
#include "probe.h"

/* Starts companions that run the operation while the leader's batches last: as processes, started before the
   leader's own setup, or as threads, started after it. Without a crowd, the other three functions do nothing. */
void crowd_of_processes(const struct operation *operation, uint64_t threads);
void crowd_of_threads(const struct operation *operation, uint64_t threads);
void crowd_start(uint64_t n);
void crowd_stop(void);
void crowd_end(void);
#endif
