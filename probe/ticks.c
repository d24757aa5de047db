/* ticks.c: the rate and the cost of the clock in ticks.h. Calls nothing of the probe. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "ticks.h"

#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Both clocks at one moment: of several readings, the one with the least time between its ticks, so that an interruption
   between the two clocks does not count. */
static void both_clocks(uint64_t *ns, uint64_t *at) {
    enum { TRIES = 16 };
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = ticks(), now = now_ns(), after = ticks();
        if (after - before >= least) continue;
        least = after - before;
        *ns = now;
        *at = before + least / 2;
    }
}

double ns_per_tick(void) {
    enum { COMPARED_NS = 10000000 };
    static double rate;
    if (rate > 0) return rate;
    uint64_t start_ns = 0, start = 0, end_ns = 0, end = 0;
    both_clocks(&start_ns, &start);
    while (now_ns() - start_ns < COMPARED_NS) continue;
    both_clocks(&end_ns, &end);
    rate = (double)(end_ns - start_ns) / (double)(end - start);
    return rate;
}

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t ticks_of_reading(void) {
    enum { READINGS = 1001 };
    static uint64_t cost[READINGS];
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = ticks();
        cost[i] = ticks() - before;
    }
    qsort(cost, READINGS, sizeof cost[0], by_size);
    return cost[READINGS / 2];
}
