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

double ns_per_tick(void) {
    enum { COMPARED_NS = 10000000 };
    static double rate;
    if (rate > 0) return rate;
    uint64_t start_ns = now_ns(), start = ticks(), end_ns;
    do end_ns = now_ns();
    while (end_ns - start_ns < COMPARED_NS);
    rate = (double)(end_ns - start_ns) / (double)(ticks() - start);
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
