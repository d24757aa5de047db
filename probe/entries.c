/*
 * entries.c: counts the system calls of a process and of all that it starts, by ptrace, from one reply to the next. The driver
 * does the same on its own system (crates/sys/src/ptrace.rs). Nothing here is measured. Called by init.c in a guest.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "entries.h"

#include <stdlib.h>

#ifndef __linux__
_Noreturn void count_entries(void (*live)(const void *), const void *data) { (void)live, (void)data, exit(126); }
_Noreturn void count_command(void (*live)(const void *), const void *data, const char *root) { (void)root, count_entries(live, data); }
#else
#include <errno.h>
#include <linux/audit.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground.h"
#include "missing.h"

/* PTRACE_GET_SYSCALL_INFO (ptrace(2), Linux 5.3), which C libraries name differently or not at all. */
#define GET_SYSCALL_INFO 0x420e
enum { AT_ENTRY = 1, AT_EXIT = 2 };

struct stop {
    uint8_t op;
    uint8_t pad[3];
    uint32_t architecture;
    uint64_t instruction_pointer, stack_pointer;
    union {
        struct { uint64_t number, arguments[6]; }; /* at an entry */
        int64_t result;                            /* at an exit */
    };
    uint64_t rest[4];
};

enum { MOST_CALLS = 128 };

static struct {
    uint32_t architecture;
    uint64_t number, times;
    int64_t result; /* the last one, if it has returned */
    int has_returned;
} calls[MOST_CALLS];
static size_t calls_used;
/* Which of them tracees are in: more than these are not remembered, so that their results are missing. */
static struct { pid_t tracee; size_t call; } inside[64];
static size_t inside_used;
static size_t tracees = 1, stops;
static pid_t replying;     /* inside a write to the standard output, or 0 */
static struct stat output; /* that pipe */
static int is_command;     /* whether a command is counted, as a whole, */
static int has_begun;      /* and whether it runs yet */

static void put(const char *line, size_t length) {
    if (write(STDOUT_FILENO, line, length) < 0) _exit(126); /* init is gone */
}

static _Noreturn void refuse(const char *what) {
    char line[128];
    int used = snprintf(line, sizeof line, "error %s %s: %s\n", errno_name(errno), what, strerror(errno));
    put(line, (size_t)used < sizeof line ? (size_t)used : sizeof line - 1);
    _exit(126);
}

static void enter(pid_t tracee, size_t call) {
    size_t i = 0;
    while (i < inside_used && inside[i].tracee != tracee) i++;
    if (i == sizeof inside / sizeof inside[0]) return;
    if (i == inside_used) inside_used++;
    inside[i].tracee = tracee, inside[i].call = call;
}

static void leave(pid_t tracee, int64_t result) {
    for (size_t i = 0; i < inside_used; i++) {
        if (inside[i].tracee != tracee) continue;
        calls[inside[i].call].result = result, calls[inside[i].call].has_returned = 1;
        inside[i] = inside[--inside_used];
        return;
    }
}

static size_t count(const struct stop *stop) {
    size_t i = 0;
    while (i < calls_used && (calls[i].architecture != stop->architecture || calls[i].number != stop->number)) i++;
    if (i == MOST_CALLS) {
        errno = EOVERFLOW;
        refuse("more than 128 kinds of system calls");
    }
    if (i == calls_used) {
        calls[i].architecture = stop->architecture;
        calls[i].number = stop->number;
        calls[i].times = 0, calls[i].has_returned = 0;
        calls_used++;
    }
    calls[i].times++;
    return i;
}

static void say_counts(void) {
    char line[MOST_CALLS * 72] = "entries";
    size_t used = strlen(line);
    for (size_t i = 0; i < calls_used; i++) {
        used += (size_t)snprintf(line + used, sizeof line - used, " %x:%llu=%llu", calls[i].architecture,
                                 (unsigned long long)calls[i].number, (unsigned long long)calls[i].times);
        if (calls[i].has_returned)
            used += (size_t)snprintf(line + used, sizeof line - used, ":%lld", (long long)calls[i].result);
    }
    line[used++] = '\n';
    put(line, used);
    calls_used = inside_used = 0;
}

static int is_output(pid_t tracee, uint64_t descriptor) {
    char path[64];
    struct stat file;
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)tracee, (int)descriptor);
    return stat(path, &file) == 0 && file.st_dev == output.st_dev && file.st_ino == output.st_ino;
}

static void at_call_of_command(pid_t tracee, const struct stop *stop) {
    if (stop->op == AT_EXIT) return missing_at_exit(tracee, stop->result);
    if (stop->op != AT_ENTRY) return;
    has_begun |= stop->number == SYS_execve;
    if (!has_begun) return;
    count(stop);
    missing_at_entry(tracee, stop->architecture == AUDIT_ARCH_I386, stop->number, stop->arguments);
}

/* Whether `tracee` has ended a reply. */
static int at_call(pid_t tracee) {
    struct stop stop;
    if (ptrace(GET_SYSCALL_INFO, tracee, sizeof stop, &stop) < 0) {
        if (errno == ESRCH) return 0; /* killed meanwhile: its end comes next */
        refuse("PTRACE_GET_SYSCALL_INFO");
    }
    if (is_command) return at_call_of_command(tracee, &stop), 0;
    if (stop.op == AT_EXIT) leave(tracee, stop.result);
    if (stop.op == AT_EXIT && tracee == replying) return replying = 0, 1;
    if (stop.op != AT_ENTRY) return 0;
    size_t call = count(&stop);
    if (stop.number == SYS_write && is_output(tracee, stop.arguments[0])) replying = tracee;
    else enter(tracee, call);
    return 0;
}

/* A group stop is left to last (ptrace(2), PTRACE_LISTEN). A tracee that was killed meanwhile is not there to be resumed. */
static void resume(pid_t tracee, int status) {
    int event = status >> 16, signal = WSTOPSIG(status);
    if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) ptrace(PTRACE_LISTEN, tracee, 0, 0);
    else ptrace(PTRACE_SYSCALL, tracee, 0, event || signal == (SIGTRAP | 0x80) ? 0 : signal);
}

/* Whether it was the end of a reply: then the tracee is still stopped. */
static int handle(pid_t tracee, int status) {
    stops++;
    if (!WIFSTOPPED(status)) return tracees--, 0;
    int event = status >> 16;
    tracees += event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE;
    if (WSTOPSIG(status) == (SIGTRAP | 0x80) && at_call(tracee)) return 1;
    resume(tracee, status);
    return 0;
}

/* Partners may still be on their way to where they wait for the next iteration: they get there before the cut. */
static void settle(void) {
    size_t seen = 0;
    while (tracees > 1 && seen != stops) {
        int status;
        pid_t tracee;
        seen = stops;
        usleep(1000);
        while ((tracee = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
            if (handle(tracee, status)) resume(tracee, status);
    }
}

static _Noreturn void end_like(int status) {
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

/* What is left when the first one ends is killed with this process. */
static _Noreturn void follow(pid_t first) {
    for (;;) {
        int status;
        pid_t tracee = waitpid(-1, &status, __WALL);
        if (tracee < 0 && errno != EINTR) _exit(126);
        if (tracee < 0) continue;
        int replied = handle(tracee, status);
        if (tracee == first && !WIFSTOPPED(status)) {
            if (is_command) say_missing(), say_counts();
            end_like(status);
        }
        if (!replied) continue;
        settle();
        say_counts();
        resume(tracee, status);
    }
}

_Noreturn void count_entries(void (*live)(const void *), const void *data) {
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                         PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    int go[2];
    char byte;
    if (fstat(STDOUT_FILENO, &output) != 0 || pipe(go) != 0) refuse("pipe");
    pid_t first = fork();
    if (first == 0) {
        close(go[1]);
        if (read(go[0], &byte, 1) < 0) _exit(126); /* until it is closed: then it is followed */
        close(go[0]);
        live(data);
        _exit(126);
    }
    if (first < 0) refuse("fork");
    if (ptrace(PTRACE_SEIZE, first, 0, options) != 0) refuse("PTRACE_SEIZE");
    ptrace(PTRACE_INTERRUPT, first, 0, 0);
    close(go[0]), close(go[1]);
    follow(first);
}

_Noreturn void count_command(void (*live)(const void *), const void *data, const char *root) {
    is_command = 1;
    missing_below(root);
    count_entries(live, data);
}
#endif
