/* areas.h: the one list of all areas. For probe.c. */
#ifndef SYSCOST_AREAS_H
#define SYSCOST_AREAS_H
#include "probe.h"

#define AREAS(each)                                                                                                    \
    each(call) each(id) each(time) each(file) each(fd) each(io) each(dir) each(mem) each(process) each(signal)          \
        each(sync) each(ipc) each(socket) each(event)

#define DECLARE_AREA(name) extern const struct operation name##_operations[];
AREAS(DECLARE_AREA)
#define AREA_POINTER(name) name##_operations,
#ifdef SYSCOST_STANDS_FOR
DECLARE_AREA(bsd)
static const struct operation *const areas[] = {AREAS(AREA_POINTER) bsd_operations, NULL};
#else
static const struct operation *const areas[] = {AREAS(AREA_POINTER) NULL};
#endif
#endif
