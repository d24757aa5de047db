/*
 * loop.c: times the code of a snippet, C. The protocol is that of languages/README.md, on descriptors 3 and 4.
 *
 * The set-up and the body are in main(), the prelude is at file scope. The headers below are for one-liners.
 * keep(value) makes the compiler believe that the value is used. Every iteration ends in a barrier that emits no
 * instruction but may read and write all memory, so nothing that touches memory is hoisted out of the loop or merged.
 * As with any such harness, arithmetic on local variables alone may be: hide their values with a volatile.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The value is copied first: an expression may be of any type that can be assigned. */
#define keep(...)                                                   \
    do {                                                            \
        __auto_type syscost_kept = (__VA_ARGS__);                   \
        __asm__ volatile("" : : "r,m"(syscost_kept) : "memory");    \
    } while (0)

#ifdef RUSAGE_THREAD
#define SYSCOST_THREAD RUSAGE_THREAD
#else
#define SYSCOST_THREAD RUSAGE_SELF
#endif

enum { SYSCOST_MOST_BATCHES = 4096 };

struct syscost_batch {
    uint64_t ns;
    long switches;
};

static struct syscost_batch syscost_batches[SYSCOST_MOST_BATCHES];
static size_t syscost_n, syscost_k; /* the request: iterations and batches */
static struct rusage syscost_before;

static inline void syscost_barrier(void) { __asm__ volatile("" : : : "memory"); }

static void syscost_fail(const char *why) {
    fprintf(stderr, "loop: %s\n", why);
    exit(1);
}

/* Nanoseconds; with -DSYSCOST_INSTRUCTIONS the processor's counter, for machines in which that counts instructions. */
static uint64_t syscost_now(void) {
#if defined(SYSCOST_INSTRUCTIONS) && defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
#elif defined(SYSCOST_INSTRUCTIONS) && defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(value) : : "memory");
    return value;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

static long syscost_switches(void) {
    struct rusage usage;
    getrusage(SYSCOST_THREAD, &usage);
    return usage.ru_nivcsw;
}

/* For the whole process, so the body's threads count too. Linux updates the accounting of a process when it is queried,
   that of a thread only at ticks and switches. */
static struct rusage syscost_usage(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

static void syscost_put(const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(4, text, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) syscost_fail("the reply could not be written");
        text += written;
        length -= (size_t)written;
    }
}

static void syscost_ready(void) {
    char line[64];
    syscost_put(line, (size_t)sprintf(line, "ready pid=%ld bits=%d\n", (long)getpid(), (int)sizeof(void *) * 8));
}

/* Reads a request; 0 at the end of input. */
static int syscost_request(void) {
    static FILE *requests;
    char line[64];
    if (!requests && !(requests = fdopen(3, "r"))) syscost_fail("descriptor 3 is not open");
    if (!fgets(line, sizeof line, requests)) return 0;
    if (sscanf(line, "%zu %zu", &syscost_n, &syscost_k) != 2 || !syscost_n || !syscost_k ||
        syscost_k > SYSCOST_MOST_BATCHES)
        syscost_fail("a request is not of the form 'N K'");
    syscost_before = syscost_usage();
    return 1;
}

static unsigned long long syscost_ns(struct timeval from, struct timeval to) {
    return (unsigned long long)(to.tv_sec - from.tv_sec) * 1000000000u + (unsigned long long)(to.tv_usec * 1000LL) -
           (unsigned long long)(from.tv_usec * 1000LL);
}

static void syscost_reply(void) {
    static char text[SYSCOST_MOST_BATCHES * 32 + 128];
    struct rusage before = syscost_before, after = syscost_usage();
    size_t used = 0;
    for (size_t i = 0; i < syscost_k; i++)
        used += (size_t)sprintf(text + used, "%llu %ld\n", (unsigned long long)syscost_batches[i].ns,
                                syscost_batches[i].switches);
    used += (size_t)sprintf(text + used, "total %llu %llu %ld %ld\n", syscost_ns(before.ru_utime, after.ru_utime),
                            syscost_ns(before.ru_stime, after.ru_stime), after.ru_minflt - before.ru_minflt,
                            after.ru_majflt - before.ru_majflt);
    syscost_put(text, used);
}

#line 1 "prelude"
{{prelude}}
#line 1 "loop.c"

int main(void) {
#line 1 "setup"
    {{setup}}
#line 1 "loop.c"
    ;
    syscost_ready();
    while (syscost_request()) {
        for (size_t syscost_b = 0; syscost_b < syscost_k; syscost_b++) {
            size_t syscost_i, syscost_end = syscost_n;
            long syscost_switched = syscost_switches();
            uint64_t syscost_start = syscost_now();
            /* The barrier is here, not after the body, where a `continue` would skip it. */
#if defined(__GNUC__) && !defined(__clang__) /* gcc 14 unrolls the empty loop, and no other */
#pragma GCC unroll 1
#endif
            for (syscost_i = 0; syscost_i < syscost_end; syscost_barrier(), syscost_i++) {
#line 1 "body"
                {{body}}
#line 1 "loop.c"
            }
            syscost_batches[syscost_b].ns = syscost_now() - syscost_start;
            syscost_batches[syscost_b].switches = syscost_switches() - syscost_switched;
            if (syscost_i < syscost_end) syscost_fail("the body left the loop around it");
        }
        syscost_reply();
    }
    return 0;
}
