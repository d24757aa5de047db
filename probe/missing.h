/* missing.h: the paths that the calls of a traced command do not find. */
#ifndef SYSCOST_MISSING_H
#define SYSCOST_MISSING_H
#include <stdint.h>
#include <sys/types.h>

/* The root directory of the command, which paths are reported without. */
void missing_below(const char *root);
/* A tracee enters or leaves a call, which has that number for i386 if `is_i386`. */
void missing_at_entry(pid_t tracee, int is_i386, uint64_t number, const uint64_t *arguments);
void missing_at_exit(pid_t tracee, int64_t result);
/* Prints a line `missing PATH` for each. */
void say_missing(void);
#endif
