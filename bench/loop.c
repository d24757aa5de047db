/*
 * loop.c: what some system calls cost by a plain loop, to hold syscost's figures against. Written from the definition of
 * the measurement alone and shares nothing with the probe.
 *
 *     loop CPU SECONDS OPERATION      prints the median over batches, in nanoseconds per call
 *
 * A batch is as many calls as take about 20 microseconds between two readings of the clock. CPU is the number of the
 * processor to stay on, or "none".
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { BATCH_NS = 20000, MOST_BATCHES = 1 << 18, WARM_UP = 1000 };

static double cost[MOST_BATCHES];

#define NAME "file"
static int zero, ends[2];

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static _Noreturn void stop(const char *text) {
    fprintf(stderr, "loop: %s\n", text);
    exit(2);
}

static void call_getppid(uint64_t n) {
    while (n--) getppid();
}

static void call_umask(uint64_t n) {
    while (n--) umask(022);
}

static void call_fstat(uint64_t n) {
    static struct stat facts;
    while (n--) fstat(0, &facts);
}

static void call_lstat(uint64_t n) {
    static struct stat facts;
    while (n--) lstat(NAME, &facts);
}

static void call_open_close(uint64_t n) {
    while (n--) close(open(NAME, O_RDONLY));
}

static void call_read_zero(uint64_t n) {
    static char byte;
    while (n--)
        if (read(zero, &byte, 1) != 1) stop("cannot read /dev/zero");
}

static void call_pipe(uint64_t n) {
    static char byte;
    while (n--)
        if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) stop("cannot use a pipe");
}

static void call_clock_gettime(uint64_t n) {
    static struct timespec t;
    while (n--) clock_gettime(CLOCK_MONOTONIC, &t);
}

static const struct {
    const char *name;
    void (*calls)(uint64_t n);
} operations[] = {
    {"id.getppid", call_getppid},
    {"id.umask", call_umask},
    {"file.fstat", call_fstat},
    {"file.lstat", call_lstat},
    {"file.open_close", call_open_close},
    {"io.read_zero", call_read_zero},
    {"io.pipe_write_read", call_pipe},
    {"time.clock_gettime", call_clock_gettime},
};

static void (*calls_of(const char *name))(uint64_t) {
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(operations[i].name, name) == 0) return operations[i].calls;
    stop("unknown operation");
}

static void stay_on(const char *cpu) {
    cpu_set_t set;
    if (strcmp(cpu, "none") == 0) return;
    CPU_ZERO(&set);
    CPU_SET((size_t)atoi(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) stop("cannot stay on that CPU");
}

/* Standard input becomes an ordinary file in the current directory, since that is what syscost's file.fstat looks at. */
static void open_files(void) {
    int file = open(NAME, O_RDWR | O_CREAT, 0600);
    if (file < 0 || write(file, "a line\n", 7) != 7 || dup2(file, 0) != 0) stop("cannot make a file");
    if ((zero = open("/dev/zero", O_RDONLY)) < 0 || pipe(ends) != 0) stop("cannot open what is read");
}

/* The number of calls that take BATCH_NS, from the quickest of some trials. */
static uint64_t batch_size(void (*calls)(uint64_t)) {
    double best = 1;
    for (int trial = 0; trial < 20; trial++) {
        double start = seconds();
        calls(WARM_UP);
        double took = seconds() - start;
        if (took < best) best = took;
    }
    double n = BATCH_NS * 1e-9 / (best / WARM_UP);
    return n < 1 ? 1 : (uint64_t)n;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 4) stop("usage: loop CPU SECONDS OPERATION");
    void (*calls)(uint64_t) = calls_of(argv[3]);
    stay_on(argv[1]);
    open_files();
    uint64_t n = batch_size(calls);
    size_t batches = 0;
    for (double end = seconds() + atof(argv[2]); batches < MOST_BATCHES && seconds() < end; batches++) {
        double start = seconds();
        calls(n);
        cost[batches] = (seconds() - start) / (double)n * 1e9;
    }
    if (batches == 0) stop("too little time");
    qsort(cost, batches, sizeof cost[0], ascending);
    printf("%.4f\n", cost[batches / 2]);
    return 0;
}
