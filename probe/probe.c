/*
 * probe.c: "n in, nanoseconds out". One process measures one operation; the caller decides all sampling policy.
 *
 *   probe --list               the catalogue, one operation per line, fields separated by tabs
 *   probe --launch PROGRAM...  waits for a line, then becomes another program that speaks the protocol (languages)
 *   probe --begin LINE         the protocol, after its line `op`, which the static probe was sent (loader.c)
 *   probe --init               several of it over one console, in directories here, see init.c; also as PID 1 and /init, of a guest
 *   probe run [OPERATION...]   a whole run, if it is built to stand alone (extra/alone/tour.c)
 *   probe                      the protocol, on standard input and output:
 *
 *       > hello ..., facts, show ..., list   before `op`, for a probe by itself: see alone.h; list prints the catalogue
 *                                           and a line `listed`
 *       > op file.lstat depth=4
 *       < ready pid=42 bits=64 ...          or: error ENOENT lstat: No such file or directory
 *       > 1000 3                            3 batches of 1000 iterations
 *       < 101233 0                          elapsed nanoseconds, involuntary context switches; one line per batch
 *       < cpu 98120 97003 99871             CPU nanoseconds of each batch, with those of children and partners; only for
 *                                           operations that switch by themselves, where the system tells
 *       < total 250000 52000 0 0            CPU nanoseconds in user and system mode, minor and major page faults
 *       > sample 40                         sample where a timer interrupts the operation, for 40 ms of CPU time
 *       < sampled 120 1500                  ticks in user mode and in kernel mode; 0 0 if it cannot be sampled
 *       > count 1000                        prepare 1000 iterations
 *       < prepared                          the caller reads counters of this process
 *       > run                               run them
 *       < counted                           the caller reads the counters again
 *       > single 100000 200                 time up to 100000 calls one by one, for at most 200 ms
 *       < all 104 5321                      a bucket of a histogram, see single.h
 *       < singles timer_ns=17.3 ...         facts
 *       end of input: tear down and exit
 *
 * Replies are written after the last batch, so that the protocol's own calls are never inside one.
 *
 * Layers, each calling only those before it: ground.c (failure, parameters), loader.c, alone.c, support.c (files, partners), sampler.c,
 * single.c, crowd.c and cold.c, the operations in ops/, and the protocol here.
 */
#include "alone.h"
#include "areas.h"
#include "cold.h"
#include "confined.h"
#include "crowd.h"
#include "ground.h"
#include "init.h"
#include "loader.h"
#include "sampler.h"
#include "single.h"
#include "support.h"
#include "ticks.h"
#ifdef SYSCOST_STANDS_FOR
#include "extra/alone/tour.h"
#endif

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#endif
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#ifdef RUSAGE_THREAD
#define USAGE_OF_PROBE RUSAGE_THREAD
#else
#define USAGE_OF_PROBE RUSAGE_SELF
#endif

enum { MOST_BATCHES = 4096, MOST_OF_LINE = 4096 };

static const struct operation *operation;
static struct { uint64_t ns, cpu_ns; long switches; } batches[MOST_BATCHES];

/* In a machine that is emulated instruction by instruction, the processor's counter is that of its instructions; the kernel's
   clock is made of it, but with a rate that the kernel has measured. The guest's command line asks for it. */
static int counts_instructions;

static uint64_t now_ns(void) {
    struct timespec t;
    if (counts_instructions) return ticks();
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- usage ---- */

static long involuntary_switches(void) {
    struct rusage usage;
    getrusage(USAGE_OF_PROBE, &usage);
    return usage.ru_nivcsw;
}

struct totals {
    uint64_t user_ns, system_ns, minor_faults, major_faults;
};

static uint64_t timeval_ns(struct timeval t) {
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static void add_usage(struct totals *sum, int who) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0) return;
    sum->user_ns += timeval_ns(usage.ru_utime);
    sum->system_ns += timeval_ns(usage.ru_stime);
    sum->minor_faults += (uint64_t)usage.ru_minflt;
    sum->major_faults += (uint64_t)usage.ru_majflt;
}

/* Kernels update a running thread's accounting only at ticks and context switches; reading its CPU clock updates it
   at once (Linux: task_sched_runtime). Without that, a request shorter than a tick would seem to take no CPU time. */
static void update_accounting(void) {
    struct timespec t;
    clock_gettime(operation->flags & (CHILDREN | SWITCHES) ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &t);
}

static struct totals usage_so_far(void) {
    struct totals sum = {0, 0, 0, 0};
    update_accounting();
    add_usage(&sum, operation->flags & (CHILDREN | SWITCHES) ? RUSAGE_SELF : USAGE_OF_PROBE);
    if (operation->flags & CHILDREN) add_usage(&sum, RUSAGE_CHILDREN);
    return sum;
}

/* ---- the CPU time of a batch ---- */

/* An operation that switches by itself has involuntary switches of its own, so they do not show that something else had
   the CPU. CPU time does: while the operation runs, this process, its children or its partners are on a CPU. */
static int cpu_is_known;

static uint64_t own_cpu_ns(void) {
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0) return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Some systems count CPU time by ticks (gVisor does): they cannot tell that of a batch. */
static int cpu_clock_is_fine(void) {
    enum { TRIES = 5, SPIN_NS = 50000 };
    for (int i = 0; i < TRIES; i++) {
        uint64_t cpu = own_cpu_ns(), start = now_ns();
        while (now_ns() - start < SPIN_NS) continue;
        uint64_t took = own_cpu_ns() - cpu;
        if (took > SPIN_NS / 2 && took < 2 * SPIN_NS) return 1;
    }
    return 0;
}

static void find_out_about_cpu_time(void) {
    uint64_t partners;
    int switches = operation->flags & SWITCHES && !(operation->flags & MACHINE);
    if (is_shared()) return; /* the process's CPU time is also that of its other threads */
    cpu_is_known = switches && !is_cold() && cpu_of_partners(&partners) && cpu_clock_is_fine();
}

/* Of this process, its children that were waited for, and its partners. */
static uint64_t cpu_so_far(void) {
    struct totals children = {0, 0, 0, 0};
    uint64_t partners;
    if (!cpu_is_known) return 0;
    cpu_is_known = cpu_of_partners(&partners);
    add_usage(&children, RUSAGE_CHILDREN);
    return own_cpu_ns() + children.user_ns + children.system_ns + partners;
}

/* ---- batches ---- */

/* Where much is displaced, a switch falls into the displacing, which is not timed: it is not counted. */
static void single_calls(uint64_t n, size_t index) {
    long before = involuntary_switches();
    batches[index].ns = cold_batch(n);
    batches[index].switches = cold_displaces() ? 0 : involuntary_switches() - before;
}

static void batch(uint64_t n, size_t index) {
    if (is_cold()) {
        single_calls(n, index);
        return;
    }
    if (operation->prepare) operation->prepare(n);
    uint64_t cpu = cpu_so_far();
    long before = involuntary_switches();
    uint64_t start = now_ns();
    operation->run(n);
    uint64_t end = now_ns();
    batches[index].ns = end - start;
    batches[index].switches = involuntary_switches() - before;
    batches[index].cpu_ns = cpu_so_far() - cpu;
}

static void put(const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, text, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) _exit(2);
        text += written;
        length -= (size_t)written;
    }
}

static void reply(size_t k, struct totals before, struct totals after) {
    static char text[MOST_BATCHES * 72 + 128]; /* three 64-bit numbers per batch */
    size_t used = 0;
    for (size_t i = 0; i < k; i++)
        used += (size_t)sprintf(text + used, "%llu %ld\n", (unsigned long long)batches[i].ns, batches[i].switches);
    if (cpu_is_known) {
        used += (size_t)sprintf(text + used, "cpu");
        for (size_t i = 0; i < k; i++)
            used += (size_t)sprintf(text + used, " %llu", (unsigned long long)batches[i].cpu_ns);
        used += (size_t)sprintf(text + used, "\n");
    }
    used += (size_t)sprintf(text + used, "total %llu %llu %llu %llu\n",
                            (unsigned long long)(after.user_ns - before.user_ns),
                            (unsigned long long)(after.system_ns - before.system_ns),
                            (unsigned long long)(after.minor_faults - before.minor_faults),
                            (unsigned long long)(after.major_faults - before.major_faults));
    put(text, used);
}

/* Parses the number at `*at` and moves `*at` past it; 0, which is never valid, if there is none. */
static uint64_t number_at(const char **at) {
    char *end;
    if (**at < '0' || **at > '9') return 0;
    errno = 0;
    uint64_t number = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0 ? number : 0;
}

static void serve_request(const char *line) {
    uint64_t n = number_at(&line);
    line += *line == ' ';
    uint64_t k = number_at(&line);
    if (n == 0 || k == 0 || k > MOST_BATCHES || *line != '\0') fail(0, "a request is not of the form 'n k'");
    if (operation->limit && n > operation->limit) fail(0, "a request has more iterations than the operation's limit");
    cold_start();
    crowd_start(n);
    struct totals before = usage_so_far();
    for (size_t i = 0; i < k; i++) batch(n, i);
    struct totals after = usage_so_far();
    crowd_stop();
    cold_stop();
    if (cold_displaces()) before = after; /* the displacing's, not the operation's */
    reply(k, before, after);
}

/* ---- samples of the mode ---- */

static void serve_sample(const char *text) {
    enum { MOST_MS = 60000 };
    char line[64];
    uint64_t ms = number_at(&text);
    if (ms == 0 || ms > MOST_MS || *text != '\0') fail(0, "a request is not of the form 'sample MILLISECONDS'");
    struct mode_ticks ticks = {0, 0};
    if (!(operation->flags & (SWITCHES | CHILDREN | FAULTS))) ticks = sample_modes(operation, ms);
    snprintf(line, sizeof line, "sampled %llu %llu\n", (unsigned long long)ticks.user,
             (unsigned long long)ticks.system);
    put(line, strlen(line));
}

/* ---- iterations between two readings of counters ---- */

static int read_line(char *line, size_t size);

static void serve_count(const char *text) {
    char line[64];
    uint64_t n = number_at(&text);
    if (n == 0 || *text != '\0') fail(0, "a request is not of the form 'count N'");
    if (operation->limit && n > operation->limit) fail(0, "a request has more iterations than the operation's limit");
    if (operation->prepare) operation->prepare(n);
    put("prepared\n", strlen("prepared\n"));
    if (!read_line(line, sizeof line)) return;
    operation->run(n);
    put("counted\n", strlen("counted\n"));
}

/* ---- single calls ---- */

static void serve_single(const char *text) {
    enum { MOST_CALLS = 1000000000, MOST_MS = 3600000 };
    uint64_t calls = number_at(&text);
    text += *text == ' ';
    uint64_t ms = number_at(&text);
    if (calls == 0 || calls > MOST_CALLS || ms == 0 || ms > MOST_MS || *text != '\0')
        fail(0, "a request is not of the form 'single CALLS MILLISECONDS'");
    crowd_start(1);
    time_singles(operation, calls, ms, put);
    crowd_stop();
}

static void serve_line(const char *line) {
    static const char sample[] = "sample ", count[] = "count ", single[] = "single ";
    if (strncmp(line, sample, sizeof sample - 1) == 0)
        serve_sample(line + sizeof sample - 1);
    else if (strncmp(line, count, sizeof count - 1) == 0)
        serve_count(line + sizeof count - 1);
    else if (strncmp(line, single, sizeof single - 1) == 0)
        serve_single(line + sizeof single - 1);
    else
        serve_request(line);
}

/* ---- facts about this process ---- */

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The clock's cost (median of back-to-back readings) and step (smallest difference that is not 0), in nanoseconds. */
static void clock_facts(double *cost, uint64_t *step) {
    enum { READINGS = 1001, INNER = 20 };
    static uint64_t cost_of[READINGS];
    *step = UINT64_MAX;
    for (size_t i = 0; i < READINGS; i++) {
        uint64_t first = now_ns(), previous = first, last = first;
        for (int j = 0; j < INNER; j++) {
            last = now_ns();
            if (last != previous && last - previous < *step) *step = last - previous;
            previous = last;
        }
        cost_of[i] = last - first;
    }
    qsort(cost_of, READINGS, sizeof cost_of[0], by_size);
    *cost = (double)cost_of[READINGS / 2] / INNER;
}

static const char *libc_name(void) {
#ifdef __GLIBC__
    static char name[64];
    snprintf(name, sizeof name, "glibc-%s", gnu_get_libc_version());
    return name;
#elif defined(__linux__)
    return "musl";
#else
    return "system";
#endif
}

/* Whether the working directory is in memory, where nothing depends on a device or its layout. */
static int is_in_memory(void) {
#ifdef __linux__
    struct statfs fs;
    return statfs(".", &fs) == 0 && ((uint32_t)fs.f_type == 0x01021994u || (uint32_t)fs.f_type == 0x858458f6u); /* tmpfs, ramfs */
#else
    return 0;
#endif
}

/* The kernel's tick moves the coarse clock. */
static unsigned long long tick_ns(void) {
    struct timespec step = {0, 0};
#ifdef CLOCK_MONOTONIC_COARSE
    clock_getres(CLOCK_MONOTONIC_COARSE, &step);
#endif
    return (unsigned long long)step.tv_sec * 1000000000u + (unsigned long long)step.tv_nsec;
}

static void announce(void) {
    find_out_about_cpu_time();
    char line[256];
    double cost;
    uint64_t step;
    clock_facts(&cost, &step);
    snprintf(line, sizeof line,
             "ready pid=%ld bits=%d libc=%s clock_cost_ns=%.1f clock_step_ns=%llu run=0x%llx displacing_ns=%llu tick_ns=%llu%s%s\n",
             (long)getpid(), (int)sizeof(void *) * 8, libc_name(), cost, (unsigned long long)step,
             (unsigned long long)(uintptr_t)operation->run, (unsigned long long)cold_displacing_ns(), tick_ns(),
             is_in_memory() ? " storage=memory" : "", operation->flags & SEVERAL ? " cpus=several" : "");
    put(line, strlen(line));
}

/* ---- the protocol ---- */

/* Reads one line into `line`; 0 at the end of input. */
static int read_line(char *line, size_t size) {
    static char buffer[4096];
    static size_t used, at;
    for (size_t length = 0; length + 1 < size;) {
        if (at == used) {
            ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return 0;
            used = (size_t)got;
            at = 0;
        }
        char c = buffer[at++];
        if (c == '\n') {
            line[length] = '\0';
            return 1;
        }
        line[length++] = c;
    }
    fail(0, "a line of the protocol is too long");
}

static void choose_operation(const char *id) {
    for (size_t a = 0; areas[a]; a++)
        for (operation = areas[a]; operation->id; operation++)
            if (strcmp(operation->id, id) == 0) return;
    operation = NULL;
    fail(0, "no such operation");
}

static void begin(char *line) {
    if (strncmp(line, "op ", 3) != 0) fail(0, "the first line is not 'op ID [name=value ...]'");
#ifdef SYSCOST_BRINGS_DYNAMIC_PROBE
    char whole[MOST_OF_LINE];
    strcpy(whole, line);
#endif
    char *word = strtok(line + 3, " ");
    choose_operation(word ? word : "");
#ifdef SYSCOST_BRINGS_DYNAMIC_PROBE
    if (operation->flags & LINKED) become_dynamic(whole);
#endif
    declare_params(operation->params);
    while ((word = strtok(NULL, " "))) set_param(word);
    if (!operation->run) fail(ENOSYS, "this system does not have it");
    uint64_t threads = param("threads");
    if (threads > 1) crowd_open(operation, threads);
    if (threads > 1 && !is_shared()) crowd_of_processes();
    at_failure(operation->teardown);
    if (operation->setup) operation->setup();
    if (operation->own) operation->own();
    if (is_shared()) crowd_of_threads();
    cold_begin(operation);
    announce();
}

static const char *text_or_empty(const char *text) { return text ? text : ""; }

static int list(void) {
    for (size_t a = 0; areas[a]; a++)
        for (const struct operation *o = areas[a]; o->id; o++)
            printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%u\t%llu\t%d\n", o->id, o->what, o->enters, text_or_empty(o->prepares),
                   text_or_empty(o->params), o->systems, text_or_empty(o->family), o->flags,
                   (unsigned long long)o->limit, o->run != NULL);
    return fflush(stdout) == 0 ? 0 : 2;
}

/* What may be asked before an operation is chosen; 0 if `line` is none of it. */
static int serve_early(const char *line) {
    if (strcmp(line, "list") != 0) return serve_before_operation(line, put);
    if (list() == 0) put("listed\n", strlen("listed\n"));
    return 1;
}

/* Not before an operation: what starts a program in a container ends as soon as it runs, and until here the end of the input
 * is enough. */
static void die_with_parent(void) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

/* Measures the operation that `line` names until the input ends. */
static int serve_operation(char line[MOST_OF_LINE]) {
    die_with_parent();
    begin(line);
    while (read_line(line, MOST_OF_LINE)) serve_line(line);
    at_failure(NULL);
    crowd_end();
    if (operation->teardown) operation->teardown();
    return 0;
}

static int serve(void) {
    char line[MOST_OF_LINE];
    do {
        if (!read_line(line, sizeof line)) return 0;
    } while (serve_early(line));
    return serve_operation(line);
}

static int serve_first(const char *text) {
    char line[MOST_OF_LINE];
    if (strlen(text) >= sizeof line) fail(0, "a line of the protocol is too long");
    return serve_operation(strcpy(line, text));
}

/*
 * Becomes a program that speaks the protocol on descriptors 3 and 4, so that a user's code can use the standard streams
 * without disturbing it. Waits for a line first, so that a tracer can attach before the program's first instruction.
 */
static int launch(char **arguments) {
    char c = 0;
    while (c != '\n')
        if (read(STDIN_FILENO, &c, 1) != 1) return 0;
    die_with_parent();
    if (dup2(STDIN_FILENO, 3) < 0 || dup2(STDOUT_FILENO, 4) < 0) fail(errno, "dup2");
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) fail(errno, "/dev/null");
    close(null);
    execvp(arguments[0], arguments);
    dup2(4, STDOUT_FILENO);
    fail(errno, arguments[0]);
}

int main(int argc, char **argv) {
#ifdef SYSCOST_STANDS_FOR
    if (strcmp(argv[0], "tiny") == 0) return 0; /* started by an operation */
#endif
    remember_executable(argv[0]);
    umask(077); /* files of a run are private, whatever the user's umask */
    if (argc == 2 && strcmp(argv[1], CHANNEL) == 0) {
        counts_instructions = getenv("SYSCOST_INSTRUCTIONS") != NULL;
        return serve();
    }
    if (is_guest(argc, argv)) {
        counts_instructions = getenv("SYSCOST_INSTRUCTIONS") != NULL;
        be_init(serve, launch);
    }
#ifdef SYSCOST_STANDS_FOR
    if (argc > 1 && strcmp(argv[1], "run") == 0) return tour(argc, argv);
#endif
    if (argc == 2 && strcmp(argv[1], "--list") == 0) return list();
    if (argc == 3 && strcmp(argv[1], "--begin") == 0) return serve_first(argv[2]);
    if (argc > 2 && strcmp(argv[1], "--launch") == 0) return launch(argv + 2);
    return serve();
}
