/* sampler.h: samples of user and kernel mode. */
#ifndef SYSCOST_SAMPLER_H
#define SYSCOST_SAMPLER_H
#include "probe.h"

/* Timer ticks in user mode and in kernel mode. */
struct mode_ticks {
    uint64_t user, system;
};

/* Runs the operation for about `ms` milliseconds of CPU time; returns no ticks if it cannot be sampled. */
struct mode_ticks sample_modes(const struct operation *operation, uint64_t ms);
#endif
