/* areas.h: the one list of all areas, and what probe.c shares with support.c, sampler.c and crowd.c. */
#ifndef SYSCOST_AREAS_H
#define SYSCOST_AREAS_H
#include "probe.h"

#define AREAS(each)                                                                                                    \
    each(call) each(id) each(time) each(file) each(fd) each(io) each(dir) each(mem) each(process) each(signal)          \
        each(sync) each(ipc) each(socket) each(event)

#define DECLARE_AREA(name) extern const struct operation name##_operations[];
AREAS(DECLARE_AREA)
#define AREA_POINTER(name) name##_operations,
static const struct operation *const areas[] = {AREAS(AREA_POINTER) NULL};

const char *errno_name(int error);
void remember_executable(const char *path);

/* Ticks of a timer that found the operation in user mode and in the kernel. */
struct mode_ticks {
    uint64_t user, system;
};

/* Runs the operation for about `ms` milliseconds of CPU time; no ticks where it cannot be sampled. */
struct mode_ticks sample_modes(const struct operation *operation, uint64_t ms);

/* Companions that do what the leader does while its batches last: as processes, started before the leader's own set-up,
   or as threads, started after it. Without a crowd the other three do nothing. */
void crowd_of_processes(const struct operation *operation, uint64_t threads);
void crowd_of_threads(const struct operation *operation, uint64_t threads);
void crowd_start(uint64_t n);
void crowd_stop(void);
void crowd_end(void);
#endif
