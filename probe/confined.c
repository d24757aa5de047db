/* confined.c: see confined.h. Called by init.c, in the process of a channel. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "confined.h"
#include "ground.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 32 };

_Noreturn void become_confined(const char *way, char *program) {
    char *rest = strdup(way), *words[MOST_WORDS + 6] = {"/confine"};
    size_t used = 1;
    while (rest && used < MOST_WORDS) words[used++] = strsep(&rest, ":");
    words[used++] = "--", words[used++] = "/init";
    words[used++] = program ? "--launch" : CHANNEL, words[used] = program;
    execv(words[0], words);
    fail(errno, "execve of /confine, the launcher of environments");
}
