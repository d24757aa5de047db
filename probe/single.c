/*
 * single.c: times calls one by one.
 *
 * Slow calls are told apart by what hit them. After a slow call, outside the timed part, its thread's involuntary context
 * switches and the interrupts of its CPU are read; what rose since they were last read hit this call. That holds because
 * they are read after a slow gap between two calls too: an interrupt makes either slow. Rejected: reading them around
 * every call, which would cost more than most calls and take their place in the caches.
 *
 * An operation that blocks, switches threads or waits for a device has switches and interrupts of its own, so there
 * nothing is told apart.
 */
#include "single.h"

#include "ticks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

#ifdef RUSAGE_THREAD
#define USAGE_OF_CALLER RUSAGE_THREAD
#else
#define USAGE_OF_CALLER RUSAGE_SELF
#endif

/* ---- histograms: one bucket per nanosecond below FINE, then FINE / 2 per power of two ---- */

enum { FINE = 1024, HALF = FINE / 2, MOST_SHIFT = 30, BUCKETS = (MOST_SHIFT + 2) * HALF };

enum class { ALL, PREEMPTED, INTERRUPTED, CLASSES };

static const char *const class_names[CLASSES] = {"all", "preempted", "interrupted"};
static uint64_t counts[CLASSES][BUCKETS];

static size_t bucket_of(uint64_t ns) {
    unsigned shift = 0;
    while (ns >> shift >= FINE) shift++;
    return shift <= MOST_SHIFT ? shift * HALF + (size_t)(ns >> shift) : BUCKETS - 1;
}

/* The largest value of a bucket. */
static uint64_t end_of(size_t bucket) {
    if (bucket < FINE) return bucket;
    size_t shift = bucket / HALF - 1;
    return ((uint64_t)(bucket - shift * HALF + 1) << shift) - 1;
}

/* ---- what else happened on this CPU ---- */

static struct {
    int told_apart;           /* whether slow calls are */
    int column;               /* of this CPU in /proc/interrupts; -1 if unknown */
    long preempted, waited;   /* context switches at the last look */
    uint64_t interrupts;      /* at the last look */
    uint64_t ticks, budget;   /* spent on looks, and how many may be */
    uint64_t looks, unseen;   /* slow calls after which interrupts were read, and those after which they were not */
    uint64_t waits;           /* slow calls with a voluntary switch only */
} watch;

/* What /proc/interrupts held when it was last read; of a machine with so many CPUs that it is longer, its beginning. */
static char text[1 << 20];

static size_t read_interrupts(void) {
    size_t length = 0;
    int fd = open("/proc/interrupts", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    for (ssize_t got; length + 1 < sizeof text && (got = read(fd, text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    close(fd);
    text[length] = '\0';
    return length;
}

/* The number in a column of a line "NAME: 1 2 3 words"; 0 if it has fewer. */
static uint64_t in_column(const char *line, int column) {
    uint64_t number = 0;
    const char *at = strchr(line, ':');
    for (at = at ? at + 1 : ""; column >= 0; column--) {
        while (*at == ' ') at++;
        if (*at < '0' || *at > '9') return 0;
        for (number = 0; *at >= '0' && *at <= '9'; at++) number = number * 10 + (uint64_t)(*at - '0');
    }
    return number;
}

/* Interrupts that the CPU of `column` has had. */
static uint64_t interrupts(int column) {
    uint64_t sum = 0;
    if (read_interrupts() == 0) return 0;
    for (char *line = strchr(text, '\n'), *next; line; line = next) {
        next = strchr(++line, '\n');
        if (next) *next = '\0';
        sum += in_column(line, column);
    }
    return sum;
}

/* The column of the only CPU that the caller may run on; -1 if there are several, or no such file. */
static int own_column(void) {
#ifdef __linux__
    cpu_set_t allowed;
    int cpu = sched_getcpu(), column = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) != 1 || cpu < 0) return -1;
    if (read_interrupts() == 0) return -1;
    text[strcspn(text, "\n")] = '\0';
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " "), column++)
        if (strncmp(word, "CPU", 3) == 0 && atoi(word + 3) == cpu) return column;
#endif
    return -1;
}

/* What happened since the last look. */
static enum class look(void) {
    struct rusage usage;
    uint64_t before = ticks(), seen = watch.interrupts;
    getrusage(USAGE_OF_CALLER, &usage);
    if (watch.column >= 0 && watch.ticks <= watch.budget) {
        seen = interrupts(watch.column);
        watch.looks++;
    } else if (watch.column >= 0) {
        watch.unseen++;
    }
    int switched = usage.ru_nivcsw > watch.preempted, waited = usage.ru_nvcsw > watch.waited;
    int interrupted = seen > watch.interrupts;
    watch.preempted = usage.ru_nivcsw;
    watch.waited = usage.ru_nvcsw;
    watch.interrupts = seen;
    watch.ticks += ticks() - before;
    watch.waits += !switched && waited;
    return switched ? PREEMPTED : interrupted ? INTERRUPTED : ALL;
}

/* ---- single calls ---- */

static uint64_t performed; /* calls, those that are not counted included */

static void nothing(uint64_t n) {
    LOOP(n);
}

static const struct operation empty = {.run = nothing};

/* One iteration: how long it took, and the time between the one before and it, in ticks. */
struct single {
    uint64_t call, gap, end;
};

/* Not inlined, so that the empty operation is timed by the same code. */
static NOINLINE struct single time_one(const struct operation *operation, uint64_t previous_end) {
    performed++;
    if (operation->prepare) operation->prepare(1);
    void (*run)(uint64_t) = operation->run;
    uint64_t start = ticks();
    run(1);
    uint64_t end = ticks();
    return (struct single){end - start, start - previous_end, end};
}

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t median(uint64_t *values, size_t count) {
    qsort(values, count, sizeof values[0], by_size);
    return values[count / 2];
}

/* The medians of a call and a gap, over up to a thousand calls. They also warm the caches. */
static struct single warm_up(const struct operation *operation, uint64_t most_calls, uint64_t most_ticks) {
    enum { MOST = 1000 };
    static uint64_t calls[MOST], gaps[MOST];
    size_t used = 0, most = most_calls < MOST ? (size_t)most_calls : MOST;
    struct single last = {0, 0, ticks()};
    for (uint64_t start = last.end; used < most && (used == 0 || last.end - start < most_ticks); used++) {
        last = time_one(operation, last.end);
        calls[used] = last.call;
        gaps[used] = last.gap;
    }
    return (struct single){median(calls, used), median(gaps, used), last.end};
}

/* Slow: four times the median and a microsecond more, far beyond what calls do among themselves, below what most
   interrupts take. */
static struct single slow_from(struct single medians, double ns_per_tick) {
    uint64_t microsecond = (uint64_t)(1000 / ns_per_tick);
    return (struct single){4 * medians.call + microsecond, 4 * medians.gap + microsecond, 0};
}

/* A few calls after a look, which took the caches. */
static uint64_t settle(const struct operation *operation) {
    struct single last = {0, 0, ticks()};
    for (int i = 0; i < 4; i++) last = time_one(operation, last.end);
    return last.end;
}

static void count(struct single one, enum class class, double rate) {
    size_t bucket = bucket_of((uint64_t)((double)one.call * rate + 0.5));
    counts[ALL][bucket]++;
    if (class != ALL) counts[class][bucket]++;
}

/* Times calls until there are enough or the time is up; returns the ticks that were spent. */
static uint64_t time_all(const struct operation *operation, uint64_t calls, uint64_t most_ticks, double rate) {
    uint64_t start = ticks();
    struct single slow = slow_from(warm_up(operation, calls / 10 + 1, most_ticks / 10), rate);
    watch.told_apart = !(operation->flags & (SWITCHES | CHILDREN | MACHINE));
    watch.column = watch.told_apart ? own_column() : -1;
    watch.budget = most_ticks / 2;
    look();
    watch.looks = watch.unseen = watch.waits = watch.ticks = 0;
    uint64_t end = settle(operation);
    for (uint64_t done = 0; done < calls && (done == 0 || end - start < most_ticks); done++) {
        struct single one = time_one(operation, end);
        int is_slow = watch.told_apart && (one.call > slow.call || one.gap > slow.gap);
        enum class class = is_slow ? look() : ALL;
        count(one, one.call > slow.call ? class : ALL, rate);
        end = is_slow ? settle(operation) : one.end;
    }
    return end - start;
}

/* The median of the same two readings around nothing, in nanoseconds. */
static double timer_ns(double rate) {
    enum { READINGS = 10001 };
    static uint64_t cost[READINGS];
    for (size_t i = 0; i < READINGS; i++) cost[i] = time_one(&empty, 0).call;
    return (double)median(cost, READINGS) * rate;
}

void time_singles(const struct operation *operation, uint64_t calls, uint64_t ms,
                  void (*put)(const char *text, size_t length)) {
    static int done;
    char line[256];
    if (done++) fail(0, "single calls were timed already"); /* the histograms are not empty any more */
    double rate = ns_per_tick(), timer = timer_ns(rate);
    performed = 0;
    uint64_t spent = time_all(operation, calls, (uint64_t)((double)ms * 1e6 / rate), rate);
    for (int class = 0; class < CLASSES; class++)
        for (size_t bucket = 0; bucket < BUCKETS; bucket++)
            if (counts[class][bucket] > 0)
                put(line, (size_t)snprintf(line, sizeof line, "%s %llu %llu\n", class_names[class],
                                           (unsigned long long)end_of(bucket),
                                           (unsigned long long)counts[class][bucket]));
    put(line, (size_t)snprintf(line, sizeof line,
                               "singles timer_ns=%.2f tick_ns=%.4f spent_ns=%.0f switches=%d interrupts=%d waits=%llu "
                               "unseen=%llu performed=%llu\n",
                               timer, rate, (double)spent * rate, watch.told_apart, watch.column >= 0,
                               (unsigned long long)watch.waits, (unsigned long long)watch.unseen,
                               (unsigned long long)performed));
}
