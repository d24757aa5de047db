/* ground.h: what the protocol (probe.c) sets of the lowest layer, ground.c, beyond what operations see in probe.h. */
#ifndef SYSCOST_GROUND_H
#define SYSCOST_GROUND_H
#include "probe.h"

/* What fail() calls once, before the process ends: the operation's teardown while it is due. NULL: nothing. */
void at_failure(void (*hook)(void));

/* The parameters that the operation declares (`struct operation`); before any is set or read. */
void declare_params(const char *declarations);

/* Sets a parameter by "name=value", which is taken apart. What is not declared, or no number, fails. */
void set_param(char *word);
#endif
