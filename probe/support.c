/* support.c: files, partner processes and kernel objects for operations; nothing here is measured. Calls ground.c. */
#include "support.h"
#include "objects.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#ifdef SYSCOST_STANDS_FOR
static char executable[PATH_MAX];

void remember_executable(const char *path) {
    if (!realpath(path, executable)) *executable = '\0';
}

/* A program that stands alone is itself the one program beside it, see main(). */
const char *beside_probe(const char *name) {
    if (strcmp(name, SYSCOST_STANDS_FOR) != 0) fail(ENOSYS, "a probe that stands alone cannot start that program");
    return executable;
}
#else
static char executable_directory[PATH_MAX];

void remember_executable(const char *path) {
    char resolved[PATH_MAX];
    if (!realpath(path, resolved)) return;
    char *slash = strrchr(resolved, '/');
    if (slash) *slash = '\0';
    strcpy(executable_directory, resolved);
}

const char *beside_probe(const char *name) {
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", executable_directory, name);
    return path;
}
#endif

uint64_t param_entries(void) {
    struct statvfs fs;
    uint64_t entries = param_within("entries", 0, 1 << 20);
    /* Some file systems have no fixed number of files and report 0. */
    if (entries > 0 && statvfs(".", &fs) == 0 && fs.f_files > 0 && entries > fs.f_favail)
        fail(ENOSPC, "parameter entries: more files than the file system has room for");
    return entries;
}

/* ---- names of threads ---- */

static _Thread_local uint64_t companion; /* 0 for the leader */

void be_companion(uint64_t number) { companion = number; }

int is_shared(void) { return param("threads") > 1 && param("shared"); }

const char *own_name(const char *name) {
    size_t room = strlen(name) + sizeof "-18446744073709551615";
    char *own = malloc(room);
    CHECK(own != NULL);
    if (companion) snprintf(own, room, "%s-%llu", name, (unsigned long long)companion);
    else strcpy(own, name);
    return own;
}

/* ---- files ---- */

static void check_room(uint64_t size) {
    struct statvfs fs;
    if (size == 0 || statvfs(".", &fs) != 0 || fs.f_blocks == 0 || fs.f_frsize == 0) return;
    if (size / fs.f_frsize >= fs.f_bavail) fail(ENOSPC, "a file that is larger than what the file system has free");
}

void make_file(const char *path, uint64_t size) {
    char block[4096];
    check_room(size);
    for (size_t i = 0; i < sizeof block; i++) block[i] = i % 64 == 63 ? '\n' : (char)('a' + i % 26);
    int fd;
    CHECK((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600)) >= 0);
    while (size > 0) {
        size_t part = size < sizeof block ? (size_t)size : sizeof block;
        CHECK(write(fd, block, part) == (ssize_t)part);
        size -= part;
    }
    CHECK(close(fd) == 0);
}

void make_entries(const char *directory, uint64_t entries) {
    char path[PATH_MAX + 32];
    for (uint64_t i = 0; i < entries; i++) {
        snprintf(path, sizeof path, "%sother-%llu", directory, (unsigned long long)i);
        int fd;
        CHECK((fd = open(path, O_WRONLY | O_CREAT, 0600)) >= 0);
        CHECK(close(fd) == 0);
    }
}

const char *make_path(const char *whose) {
    static _Thread_local char path[PATH_MAX];
    const char *name = own_name(whose);
    uint64_t depth = param_within("depth", 1, (sizeof path - strlen(name) - 1) / 2);
    path[0] = '\0';
    for (uint64_t i = 1; i < depth; i++) {
        strcat(path, "d");
        CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
        strcat(path, "/");
    }
    if (!companion) make_entries(path, param_entries());
    strcat(path, name);
    return path;
}

/* ---- partners ---- */

enum { MOST_WATCHED = 64 };
static _Atomic pid_t watched[MOST_WATCHED]; /* the partners that run; 0 for none */
static _Atomic int unwatched;               /* there were more */

static void watch(pid_t pid, pid_t replaced) {
    for (int i = 0; i < MOST_WATCHED; i++) {
        pid_t expected = replaced;
        if (atomic_compare_exchange_strong(&watched[i], &expected, pid)) return;
    }
    unwatched = 1;
}

int cpu_of_partners(uint64_t *ns) {
    *ns = 0;
#ifdef __linux__
    for (int i = 0; i < MOST_WATCHED; i++) {
        clockid_t clock;
        struct timespec t;
        if (watched[i] == 0) continue;
        if (clock_getcpuclockid(watched[i], &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
        *ns += (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    }
    return !unwatched;
#else
    return 0;
#endif
}

pid_t start_partner(void (*body)(void)) {
    pid_t probe = getpid(), pid = fork();
    CHECK(pid >= 0);
    if (pid > 0) {
        watch(pid, 0);
        return pid;
    }
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != probe) _exit(0); /* the probe died before prctl() */
    body();
    _exit(0);
}

void stop_partner(pid_t pid) {
    if (pid <= 0) return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
    watch(0, pid);
}

/* The number of the run that this process belongs to; 0 if there is none, as for a probe started by hand. */
static unsigned run_number(void) {
    const char *number = getenv(RUN_VARIABLE);
    return number ? (unsigned)strtoul(number, NULL, 16) : 0;
}

int make_object(int (*make)(key_t key)) {
    unsigned run = run_number();
    if (run == 0) return make(IPC_PRIVATE);
    for (unsigned i = 0; i < OBJECT_KEYS; i++) {
        int id = make((key_t)(run | ((unsigned)getpid() + i) % OBJECT_KEYS));
        if (id >= 0 || errno != EEXIST) return id;
    }
    return -1;
}

const char *queue_name(int attempt) {
    static char name[32];
    snprintf(name, sizeof name, QUEUE_NAME, run_number(), (int)((unsigned)getpid() + (unsigned)attempt) % QUEUE_NAMES);
    return name;
}
