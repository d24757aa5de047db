/* support.h: what the protocol (probe.c) tells support.c, beyond what operations see in probe.h. */
#ifndef SYSCOST_SUPPORT_H
#define SYSCOST_SUPPORT_H
#include "probe.h"

/* Notes the probe's own path, argv[0], for beside_probe(). */
void remember_executable(const char *path);
#endif
