/*
 * program.c: runs a command of the user's in a guest, again and again from the same files, and reports the processor time of
 * its processes, which is a number of instructions where a nanosecond is one. Calls entries.c; called by init.c.
 *
 * The archive that the guest booted with holds, below /program:
 *
 *       root/      the files that the command used on the host, under their own paths
 *       command    strings that end with a zero byte: user, group, umask, working directory, the file to execute, the number of
 *                  arguments, the arguments, and the rest are the environment
 *       changed    pairs of strings: the number of a file in kept/, or '-' if there was none, and a path that the command changes
 *       kept/      what was there before
 *
 * A channel whose first line is `program` answers these lines:
 *
 *       > run               restores what the command changes, and runs it
 *       < said 0 TEXT       a line of its standard error, at most some, of a run that was asked to keep them (`run errors`)
 *       < ran 0 3451234     its exit status (128 more than the number of the signal that ended it), and its instructions
 *       > count             the same with its system calls counted
 *       < missing PATH      a path that was not found, in the directory that it is relative to
 *       < entries c000003e:59=1 ...
 *       < ran 0 0
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "program.h"

#ifndef __linux__
int serve_program(void) { return 126; }
#else
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/random.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "entries.h"
#include "ground.h"

#define ROOT "/program/root"
#define KEPT "/program/kept/"
#define ERRORS "/program/errors"
enum { MOST_OF_PATH = 4096, MOST_SAID = 20 };

static struct {
    uid_t first_user, user;
    gid_t group;
    mode_t mask;
    char *directory, *file, **arguments, **environment;
} command;

/* What the child tells before it becomes the command. */
struct told { int error; uint64_t spent_ns; };
static struct told *shared;

/* The emulator's log shows where these are called: the command runs between the first two, and whoever calls the third is not the
   command. They lie where no program has code of its own, unless it asks for that. */
#define MARKS ((char *)0x2a5e00000000)
enum { BEGINS = 0, ENDED = 16, LAUNCHES = 32, MARKS_SIZE = 4096 };

static _Noreturn void refuse(const char *what);

static void make_marks(void) {
    static const unsigned char returns = 0xc3; /* an instruction of x86, the only processor that is logged */
    char *page = mmap(MARKS, MARKS_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (page == MAP_FAILED) refuse("mmap");
    memset(page, returns, MARKS_SIZE);
}

static void pass(int mark) {
#ifdef __x86_64__
    ((void (*)(void))(uintptr_t)(MARKS + mark))();
#else
    (void)mark;
#endif
}

static _Noreturn void refuse(const char *what) {
    printf("error %s %s: %s\n", errno_name(errno), what, strerror(errno));
    fflush(stdout);
    exit(1);
}

/* ---- what the archive says ---- */

static char *read_whole(const char *path, char **end) {
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) != 0) refuse(path);
    char *text = calloc(1, (size_t)facts.st_size + 1);
    ssize_t got = text ? read(fd, text, (size_t)facts.st_size) : -1;
    if (got != facts.st_size) refuse(path);
    close(fd);
    *end = text + got;
    return text;
}

static char *next(char **at, const char *end) {
    char *text = *at;
    if (text >= end) errno = EBADMSG, refuse("/program/command ends early");
    *at += strlen(text) + 1;
    return text;
}

static void read_command(void) {
    char *end, *at = read_whole("/program/command", &end);
    command.first_user = (uid_t)strtoul(next(&at, end), NULL, 10);
    command.user = (uid_t)strtoul(next(&at, end), NULL, 10);
    command.group = (gid_t)strtoul(next(&at, end), NULL, 10);
    command.mask = (mode_t)strtoul(next(&at, end), NULL, 8);
    command.directory = next(&at, end);
    command.file = next(&at, end);
    size_t arguments = strtoul(next(&at, end), NULL, 10), used = 0;
    char **words = calloc((size_t)(end - at) + 2, sizeof *words); /* each string has its zero byte */
    if (!words) refuse("calloc");
    command.arguments = words;
    while (used < arguments) words[used++] = next(&at, end);
    command.environment = words + ++used; /* a null pointer between the two */
    while (at < end) words[used++] = next(&at, end);
}

/* ---- its users ---- */

/* The users of the command are in a namespace of their own, and in the guest others, from this one on, to whom the archive gives the
   files: the command's root has no right to the memory of init, which holds the secret of the run, and to devices. Without such users
   it is the guest's root. */
static int users; /* the namespace */

static void map_users(pid_t within, const char *kind) {
    char text[64];
    snprintf(text, sizeof text, "/proc/%ld/%s", (long)within, kind);
    int fd = open(text, O_WRONLY | O_CLOEXEC);
    int length = snprintf(text, sizeof text, "0 %u %u", command.first_user, command.first_user - 1);
    if (fd < 0 || write(fd, text, (size_t)length) < 0) refuse("a user namespace");
    close(fd);
}

static void make_users(void) {
    char path[64];
    pid_t within = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (within < 0) refuse("a user namespace");
    while (within == 0) pause();
    map_users(within, "uid_map"), map_users(within, "gid_map");
    snprintf(path, sizeof path, "/proc/%ld/ns/user", (long)within);
    users = open(path, O_RDONLY | O_CLOEXEC);
    kill(within, SIGKILL), waitpid(within, NULL, 0);
    if (users < 0) refuse("a user namespace");
}

/* ---- its files ---- */

static void mount_in_root(void) {
    static const struct { const char *type, *at; } mounts[] = {
        {"devtmpfs", ROOT "/dev"}, {"proc", ROOT "/proc"}, {"sysfs", ROOT "/sys"},
        {"tmpfs", ROOT "/dev/shm"}, {"devpts", ROOT "/dev/pts"},
    };
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        mkdir(mounts[i].at, 0755);
        mount(mounts[i].type, mounts[i].at, mounts[i].type, 0, "");
    }
}

static void in_root(char path[MOST_OF_PATH], const char *name) { snprintf(path, MOST_OF_PATH, ROOT "%s", name); }

static void remove_all(const char *path) {
    if (unlink(path) == 0 || (errno != EISDIR && errno != EPERM)) return;
    char below[MOST_OF_PATH];
    DIR *directory = opendir(path);
    struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below) remove_all(below);
    }
    if (directory) closedir(directory);
    rmdir(path);
}

static void copy_contents(const char *from, const char *to) {
    char buffer[1 << 14];
    int source = open(from, O_RDONLY | O_CLOEXEC), target = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t got = 0;
    if (source < 0 || target < 0) refuse(to);
    while ((got = read(source, buffer, sizeof buffer)) > 0)
        if (write(target, buffer, (size_t)got) != got) refuse(to);
    close(source), close(target);
}

/* Makes `to` as `from` is: a file, a symbolic link, or a directory without what is in it. */
static void copy(const char *from, const char *to) {
    char target[MOST_OF_PATH] = "";
    struct stat facts;
    if (lstat(from, &facts) != 0) refuse(from);
    if (S_ISDIR(facts.st_mode)) mkdir(to, 0700);
    else if (!S_ISLNK(facts.st_mode)) copy_contents(from, to);
    else if (readlink(from, target, sizeof target - 1) < 0 || symlink(target, to) != 0) refuse(to);
    if (lchown(to, facts.st_uid, facts.st_gid) != 0) refuse(to);
    if (!S_ISLNK(facts.st_mode) && chmod(to, facts.st_mode & 07777) != 0) refuse(to);
    utimensat(AT_FDCWD, to, (struct timespec[]){facts.st_atim, facts.st_mtim}, AT_SYMLINK_NOFOLLOW);
}

/* Whether `to` is still what `from` was: copying it again would be another file with the same contents. */
static int is_unchanged(const char *from, const char *to) {
    struct stat before, now;
    return lstat(from, &before) == 0 && lstat(to, &now) == 0 && S_ISDIR(before.st_mode) && S_ISDIR(now.st_mode);
}

/* Puts back what the command changes, so that each run begins alike. Paths are in order: a directory precedes what is in it. */
static void restore(void) {
    static char *all, *end;
    char from[MOST_OF_PATH], to[MOST_OF_PATH];
    if (!all) all = read_whole("/program/changed", &end);
    for (char *at = all; at < end;) {
        const char *number = next(&at, end), *path = next(&at, end);
        in_root(to, path);
        snprintf(from, sizeof from, KEPT "%s", number);
        if (*number != '-' && is_unchanged(from, to)) continue;
        remove_all(to);
        if (*number != '-') copy(from, to);
    }
}

/* ---- a run ---- */

/* Early users of random numbers would wait for entropy, by executing a billion instructions. These have none and need none. */
static void seed(void) {
    struct { struct rand_pool_info info; unsigned char bytes[64]; } pool = {.info = {.entropy_count = 512, .buf_size = 64}};
    int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
    memset(pool.bytes, 0x5a, sizeof pool.bytes);
    if (fd < 0) return;
    ioctl(fd, RNDADDENTROPY, &pool);
    close(fd);
}

static void redirect(int fd, const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file >= 0 && file != fd) dup2(file, fd), close(file);
}

static uint64_t own_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits until that process sleeps: nothing else is to run once the command does. The pages that this touches are few, since the
   execve of the command takes them away. */
static void wait_for_sleep(const char *path) {
    char line[128], *name_end;
    for (char state = '\0'; state != 'S';) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = file < 0 ? -1 : read(file, line, sizeof line - 1);
        if (got < 0) refuse(path);
        close(file);
        line[got] = '\0';
        name_end = strchr(line, ')');
        state = name_end ? name_end[2] : 'S';
        if (state != 'S') usleep(1000);
    }
}

static char launcher[64]; /* the file about the command's parent */

/* Becomes the command. Addresses are the same in each run: where things lie decides how much is done to find them. */
static void become(const void *keeps_errors) {
    wait_for_sleep(launcher);
    redirect(STDIN_FILENO, "/dev/null"), redirect(STDOUT_FILENO, "/dev/null");
    redirect(STDERR_FILENO, keeps_errors ? ERRORS : "/dev/null");
    if (keeps_errors && fchown(STDERR_FILENO, command.first_user + command.user, command.first_user + command.group) != 0) _exit(127);
    personality(ADDR_NO_RANDOMIZE);
    if (chroot(ROOT) == 0 && chdir(command.directory) == 0 && (!command.first_user || setns(users, CLONE_NEWUSER) == 0) &&
        setgroups(0, NULL) == 0 && setgid(command.group) == 0 && setuid(command.user) == 0) {
        umask(command.mask);
        shared->spent_ns = own_ns();
        pass(BEGINS);
        execve(command.file, command.arguments, command.environment);
    }
    shared->error = errno;
    _exit(127);
}

/* What a child that has ended spent. Its own clock has the nanoseconds, its usage has its children too, in microseconds. */
static uint64_t collect(pid_t pid, int *status) {
    struct rusage usage;
    struct timespec own = {0};
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) == 0) clock_gettime(clock, &own);
    wait4(pid, status, 0, &usage);
    uint64_t us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u;
    uint64_t own_ns = (uint64_t)own.tv_sec * 1000000000u + (uint64_t)own.tv_nsec;
    uint64_t all_ns = (us + (uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000u;
    return own_ns > all_ns ? own_ns : all_ns;
}

static int shell_status(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

static void say_errors(void) {
    char line[400];
    FILE *file = fopen(ERRORS, "re");
    for (int i = 0; file && i < MOST_SAID && fgets(line, sizeof line, file); i++) {
        line[strcspn(line, "\n")] = '\0';
        printf("said 0 %s\n", line);
    }
    if (file) fclose(file);
}

/* Waits for the command and all that it started, and ends what is left when it has ended. Orphans come to this process. */
static uint64_t wait_for_all(pid_t first, int *status) {
    uint64_t spent = 0;
    for (;;) {
        siginfo_t ended;
        int unused;
        int done = waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT);
        if (done != 0 && errno == ECHILD) return spent;
        if (done != 0) continue;
        pass(ended.si_pid == first ? ENDED : LAUNCHES);
        spent += collect(ended.si_pid, ended.si_pid == first ? status : &unused);
        if (ended.si_pid == first) kill(-1, SIGKILL);
    }
}

static void run(int keeps_errors, int counts) {
    int status = 0;
    restore();
    *shared = (struct told){0};
    wait_for_sleep("/proc/1/stat");
    pid_t pid = fork();
    if (pid < 0) refuse("fork");
    if (pid == 0 && counts) count_command(become, NULL, ROOT);
    if (pid == 0) become(keeps_errors ? "" : NULL), _exit(127);
    uint64_t spent = wait_for_all(pid, &status);
    if (shared->error) errno = shared->error, refuse(command.file);
    if (keeps_errors) say_errors();
    printf("ran %d %llu\n", shell_status(status), counts ? 0ull : (unsigned long long)(spent - shared->spent_ns));
    fflush(stdout);
}

int serve_program(void) {
    char line[64];
    umask(022);
    read_command();
    seed();
    mount_in_root();
    if (command.first_user) make_users();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make_marks();
    snprintf(launcher, sizeof launcher, "/proc/%ld/stat", (long)getpid());
    if (shared == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) refuse("mmap");
    if (!fgets(line, sizeof line, stdin)) return 0; /* the channel's first line */
    printf("ready pid=%ld\n", (long)getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        run(strcmp(line, "run errors") == 0, strcmp(line, "count") == 0);
    }
    return 0;
}
#endif
