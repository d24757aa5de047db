/* cold.h: times single calls, each after other work has displaced what the one before left in the processor. */
#ifndef SYSCOST_COLD_H
#define SYSCOST_COLD_H
#include "probe.h"

/* Reads the parameter `cold`: the bytes that are displaced before each call; with 0, nothing is. */
void cold_begin(const struct operation *operation);

/* Whether the parameter was given: calls are then timed one by one, by `cold_batch`. */
int is_cold(void);

/* The time of one displacement, measured by `cold_begin`, in nanoseconds; 0 if nothing is displaced. */
uint64_t cold_displacing_ns(void);

/* Maps the memory that is walked, for one request at a time: only one of many probes holds it. Nothing without `cold`. */
void cold_start(void);
void cold_stop(void);

/* Whether something is displaced: what the kernel counts for a batch is then mostly the displacing. */
int cold_displaces(void);

/* The sum of n iterations, timed one by one, in nanoseconds. */
uint64_t cold_batch(uint64_t n);
#endif
