/* missing.c: notes the paths that the calls of a traced command do not find, so that files that were not brought into the guest
   are known. Called by entries.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "missing.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_OF_PATH = 4096, MOST_INSIDE = 1024, MOST_MISSING = 4000 };
static const int64_t NOT_FOUND = -ENOENT;

static const char *below = "";

/* Calls with a path, at this argument, relative to the directory of the one before if `is_at`. The second number is
   that for i386, of the call that C libraries make now. */
static const struct { long number, i386; int argument, is_at; } calls[] = {
#ifdef SYS_open
    {SYS_open, 5, 0, 0}, {SYS_stat, 195, 0, 0}, {SYS_lstat, 196, 0, 0}, {SYS_access, 33, 0, 0}, {SYS_readlink, 85, 0, 0},
#endif
#ifdef SYS_newfstatat
    {SYS_newfstatat, 300, 1, 1},
#elif defined SYS_fstatat64
    {SYS_fstatat64, 300, 1, 1},
#endif
#ifdef SYS_statx
    {SYS_statx, 383, 1, 1},
#endif
    {SYS_openat, 295, 1, 1}, {SYS_faccessat, 307, 1, 1}, {SYS_readlinkat, 305, 1, 1}, {SYS_execve, 11, 0, 0}, {SYS_chdir, 12, 0, 0},
};

static struct { pid_t tracee; char *path; } inside[MOST_INSIDE];
static char *missing[MOST_MISSING];
static size_t missing_used;

void missing_below(const char *root) { below = root; }

/* Reads to the end of the page only, and so on, since the next one may not be there. */
static int read_path(pid_t tracee, uint64_t address, char path[MOST_OF_PATH]) {
    for (size_t used = 0; used < MOST_OF_PATH;) {
        size_t rest = 4096 - (address + used) % 4096;
        if (rest > MOST_OF_PATH - used) rest = MOST_OF_PATH - used;
        struct iovec here = {path + used, rest}, there = {(void *)(uintptr_t)(address + used), rest};
        ssize_t got = process_vm_readv(tracee, &here, 1, &there, 1, 0);
        if (got <= 0) return 0;
        if (memchr(path + used, '\0', (size_t)got)) return 1;
        used += (size_t)got;
    }
    return 0;
}

/* The directory that a relative path begins in, as the host names it. */
static void read_directory(pid_t tracee, int fd, char *path, size_t size) {
    char link[64];
    if (fd == AT_FDCWD) snprintf(link, sizeof link, "/proc/%ld/cwd", (long)tracee);
    else snprintf(link, sizeof link, "/proc/%ld/fd/%d", (long)tracee, fd);
    ssize_t got = readlink(link, path, size - 1);
    path[got < 0 ? 0 : got] = '\0';
    size_t length = strlen(below);
    if (strncmp(path, below, length) == 0) memmove(path, path + length, strlen(path + length) + 1);
}

static char *whole_path(pid_t tracee, int argument, int is_at, const uint64_t *arguments) {
    static char path[MOST_OF_PATH], directory[MOST_OF_PATH], whole[2 * MOST_OF_PATH + 1];
    if (!read_path(tracee, arguments[argument], path) || !*path) return NULL;
    *directory = '\0';
    if (*path != '/') read_directory(tracee, is_at ? (int)arguments[argument - 1] : AT_FDCWD, directory, sizeof directory);
    snprintf(whole, sizeof whole, *path == '/' ? "%s%s" : "%s/%s", directory, path);
    return strdup(whole);
}

static size_t place_of(pid_t tracee) {
    size_t i = 0;
    while (i < MOST_INSIDE - 1 && inside[i].tracee && inside[i].tracee != tracee) i++;
    return i;
}

void missing_at_entry(pid_t tracee, int is_i386, uint64_t number, const uint64_t *arguments) {
    size_t at = place_of(tracee);
    free(inside[at].path);
    inside[at].tracee = tracee;
    inside[at].path = NULL;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if ((uint64_t)(is_i386 ? calls[i].i386 : calls[i].number) == number)
            inside[at].path = whole_path(tracee, calls[i].argument, calls[i].is_at, arguments);
}

void missing_at_exit(pid_t tracee, int64_t result) {
    char *path = inside[place_of(tracee)].path;
    if (result != NOT_FOUND || !path || missing_used == MOST_MISSING) return;
    for (size_t i = 0; i < missing_used; i++)
        if (strcmp(missing[i], path) == 0) return;
    missing[missing_used++] = strdup(path);
}

void say_missing(void) {
    for (size_t i = 0; i < missing_used; i++)
        if (missing[i] && !strchr(missing[i], '\n')) printf("missing %s\n", missing[i]);
    fflush(stdout);
}
#endif
