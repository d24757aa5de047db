/* loader.h: the interface of loader.c. */
#ifndef SYSCOST_LOADER_H
#define SYSCOST_LOADER_H
#include "probe.h"

/* Fails the operation with the name of the dynamic loader that `program` asks for, if that is not on this system. The kernel
   would say ENOENT of the program itself. */
void need_loader(const char *program);

/* Becomes the dynamically linked probe beside this static one, which then begins with `line` of the protocol. */
_Noreturn void become_dynamic(const char *line);
#endif
