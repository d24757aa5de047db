/*
 * janitor.c: leaves nothing behind, whatever ends the run. The driver keeps its standard input open; when that ends (at
 * the end of the run, by ^C, by kill -9 of the driver) it ends the process groups that it was told of and removes the
 * run's directory with everything in it. Input: "+PGID" when a group is started, "-PGID" when it has ended.
 */
#include "areas.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/shm.h>
#endif

enum { MOST_GROUPS = 8192 };
static pid_t groups[MOST_GROUPS];
static size_t groups_used;

static void note_group(const char *line) {
    pid_t group = (pid_t)atol(line + 1);
    if (group <= 1) return;
    if (line[0] == '+' && groups_used < MOST_GROUPS) groups[groups_used++] = group;
    if (line[0] != '-') return;
    for (size_t i = 0; i < groups_used; i++)
        if (groups[i] == group) groups[i--] = groups[--groups_used];
}

static void remove_object(const char *name) {
#ifdef __linux__
    int id;
    if (sscanf(name, ".sysv-msg-%d", &id) == 1) msgctl(id, IPC_RMID, NULL);
    if (sscanf(name, ".sysv-shm-%d", &id) == 1) shmctl(id, IPC_RMID, NULL);
#else
    (void)name;
#endif
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st;
    if (kind == FTW_F) remove_object(path + at->base);
    if (kind == FTW_DNR) chmod(path, 0700);
    remove(path);
    return 0;
}

int janitor(const char *directory) {
    char line[64];
    setsid();
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    while (fgets(line, sizeof line, stdin)) note_group(line);
    for (size_t i = 0; i < groups_used; i++) kill(-groups[i], SIGKILL);
    /* A group that was just killed may still be making files: try again until the directory is gone. */
    for (int attempt = 0; attempt < 50 && access(directory, F_OK) == 0; attempt++) {
        nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        if (access(directory, F_OK) == 0) usleep(20000);
    }
    return access(directory, F_OK) == 0 ? 1 : 0;
}
