/* support.h: the interface of support.c for the protocol (probe.c), beyond what probe.h offers to operations. */
#ifndef SYSCOST_SUPPORT_H
#define SYSCOST_SUPPORT_H
#include "probe.h"

/* This thread is the companion with that number, from 1, of a process with `shared`. */
void be_companion(uint64_t number);

/* Records the probe's own path, argv[0], for beside_probe(). */
void remember_executable(const char *path);

/* The CPU time of all partners that run, in nanoseconds; 0 if it is not known. */
int cpu_of_partners(uint64_t *ns);
#endif
