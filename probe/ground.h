/* ground.h: the interface of ground.c for the protocol (probe.c), beyond what probe.h offers to operations. */
#ifndef SYSCOST_GROUND_H
#define SYSCOST_GROUND_H
#include "probe.h"

/* The name of an error, such as ENOENT. */
const char *errno_name(int error);

/* Sets what fail() calls once before the process ends: the operation's teardown, if it is due; or NULL. */
void at_failure(void (*hook)(void));

/* Sets the parameters that the operation declares (`struct operation`). Call it before any is set or read. */
void declare_params(const char *declarations);

/* Sets a parameter from "name=value", which it modifies. Fails if the name is not declared or the value is not a
   number. */
void set_param(char *word);

/* Whether a parameter was set. */
int param_given(const char *name);
#endif
