/* sampler.h: samples of user and kernel mode. */
#ifndef SYSCOST_SAMPLER_H
#define SYSCOST_SAMPLER_H
#include "probe.h"

/* Ticks of a timer that found the operation in user mode and in the kernel. */
struct mode_ticks {
    uint64_t user, system;
};

/* Runs the operation for about `ms` milliseconds of CPU time; no ticks where it cannot be sampled. */
struct mode_ticks sample_modes(const struct operation *operation, uint64_t ms);
#endif
