/*
 * tour.c: a whole run by a program that stands alone, on systems that no driver runs on.
 *
 *   probe run [--time SECONDS] [OPERATION...] > result.json
 *
 * An OPERATION is an id, with its parameters in the same word ('file.lstat depth=4'), or an area ('file'); without any, all that the
 * system has are measured. Each has a worker, which is this program again and speaks the protocol. Looks, launches, blocks and
 * rounds are those of a run by syscost (engine/mod.rs), but none ends early. The file is a result (docs/format/result.md).
 */
#include "tour.h"
#include "../../areas.h"
#include "../../ground.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <libproc.h>
#endif

enum {
    MOST_LANES = 1024,
    MOST_OF_LINE = 4096,
    MOST_FACTS = 32,
    MOST_BATCHES = 32,
    LAUNCHES = 18,       /* six for each look */
    SHORT_LAUNCHES = 12, /* of the first two looks, which have half as many blocks */
    BLOCKS = 48,
    PADDING = 4096,
    ANSWER_MS = 10000,
    MOST_SECONDS = 86400,
};
static const double SLOT_NS = 200e3, LEAST_BATCH_NS = 10e3, MOST_BATCH_NS = 200e3, COLD_SLOT_NS = 50e6;

/* Text that grows, and is written at the end. */
struct text { char *bytes; size_t used, room; };

struct lane {
    const struct operation *operation;
    char params[MOST_OF_LINE / 4]; /* as they were asked for: "depth=4 entries=10" */
    int is_asked;
    pid_t pid, worker; /* of the guard that was started, or 0; and of the worker below it */
    int to, from;
    char buffer[MOST_OF_LINE];
    size_t used, at;
    double clock_cost, clock_step, displacing;
    int in_memory, is_pinned;
    uint64_t n; /* iterations per batch; 0 before the first launch */
    unsigned k, cold;
    struct text blocks, preempted;
    int slots; /* in the block that is open */
    uint64_t user_ns, system_ns, wall_ns, minor, major, samples;
    double witnessed; /* system calls per iteration that the system counted; below 0 if it does not tell */
    char failure_kind[16], failure[512];
};

struct reply { uint64_t ns[MOST_BATCHES], cpu_ns[MOST_BATCHES]; long switches[MOST_BATCHES]; unsigned used, cpu_used; };

static struct lane *lanes[MOST_LANES];
static size_t lanes_used;
static char program[PATH_MAX], facts[MOST_FACTS][2][512];
static size_t facts_used;
static uint64_t seed;
static double seconds;
static volatile sig_atomic_t stopped; /* by a signal: what was measured so far is kept */

/* ---- tools ---- */

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of xorshift64 (Marsaglia, 2003). */
static uint64_t random_below(uint64_t end) {
    static uint64_t state;
    if (!state) state = seed | 1;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % end;
}

static void add(struct text *text, const char *format, ...) {
    char some[MOST_OF_LINE];
    va_list values;
    va_start(values, format);
    size_t length = (size_t)vsnprintf(some, sizeof some, format, values);
    va_end(values);
    if (length >= sizeof some) length = sizeof some - 1;
    if (text->used + length + 1 > text->room) {
        text->room = (text->room + length) * 2 + 64;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes) fail(ENOMEM, "realloc");
    }
    memcpy(text->bytes + text->used, some, length + 1);
    text->used += length;
}

static void say_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') printf("\\%c", c);
        else if (c < 0x20 || c >= 0x7f) printf("\\u%04x", c < 0x80 ? c : '?');
        else putchar(c);
    }
    putchar('"');
}

static void stop(int number) { (void)number, stopped = 1; }

/* After a signal the workers end, too, which is no failure of theirs. */
static void give_up(struct lane *lane, const char *kind, const char *text) {
    if (stopped) return;
    snprintf(lane->failure_kind, sizeof lane->failure_kind, "%s", kind);
    snprintf(lane->failure, sizeof lane->failure, "%s", text);
}

/* ---- workers ---- */

static void end_worker(struct lane *lane) {
    if (!lane->pid) return;
    close(lane->to);
    close(lane->from);
    while (waitpid(lane->pid, NULL, 0) < 0 && errno == EINTR) continue;
    lane->pid = 0;
    lane->used = lane->at = 0;
}

/* The guard ends a worker that no longer reads. */
static void fail_lane(struct lane *lane, const char *kind, const char *text) {
    give_up(lane, kind, text);
    end_worker(lane);
}

/* `error ENOENT lstat: No such file or directory`, as the driver reads it. */
static void fail_by_answer(struct lane *lane, char *line) {
    static const char *const lacks[] = {"ENOSYS", "EPERM", "EACCES", "EOPNOTSUPP", "ENOTSUP"};
    char text[512];
    const char *kind = "failed";
    char *error = line + strlen("error ");
    if (strncmp(line, "error ", 6) != 0) return fail_lane(lane, "crashed", "the probe's answer is not part of the protocol");
    char *call = strchr(error, ' ');
    if (!call) call = error + strlen(error);
    else *call++ = '\0';
    for (size_t i = 0; i < COUNT(lacks); i++)
        if (strcmp(lacks[i], error) == 0) kind = "unsupported";
    if (strcmp(error, "-") == 0) snprintf(text, sizeof text, "%.400s", call);
    else snprintf(text, sizeof text, "%.32s: %.400s", error, call);
    fail_lane(lane, kind, text);
}

/* One line without its end; 0 if there is none, which fails the lane. */
static int answer(struct lane *lane, char line[MOST_OF_LINE]) {
    for (size_t length = 0; length + 1 < MOST_OF_LINE;) {
        if (lane->at == lane->used) {
            struct pollfd ready = {.fd = lane->from, .events = POLLIN};
            int is_ready = poll(&ready, 1, ANSWER_MS);
            if (is_ready < 0 && errno == EINTR) continue;
            if (is_ready == 0) return fail_lane(lane, "timeout", "no answer within 10 s"), 0;
            ssize_t got = read(lane->from, lane->buffer, sizeof lane->buffer);
            if (got <= 0) return fail_lane(lane, "crashed", "the probe ended without an answer"), 0;
            lane->at = 0, lane->used = (size_t)got;
        }
        char c = lane->buffer[lane->at++];
        if (c == '\n') return line[length] = '\0', 1;
        line[length++] = c;
    }
    return fail_lane(lane, "crashed", "the probe's answer is too long"), 0;
}

static void ask(struct lane *lane, const char *format, ...) {
    char line[MOST_OF_LINE];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof line - 1, format, values);
    va_end(values);
    line[length] = '\n';
    if (lane->pid && write(lane->to, line, (size_t)length + 1) != length + 1) fail_lane(lane, "crashed", "the probe does not read");
}

static double number_after(const char *line, const char *name) {
    const char *at = strstr(line, name);
    return at ? strtod(at + strlen(name), NULL) : 0;
}

static int start_worker(struct lane *lane) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) return give_up(lane, "start", "pipe: too many open files"), 0;
    fcntl(to[1], F_SETFD, FD_CLOEXEC), fcntl(from[0], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    if (pid == 0) {
        static char padding[PADDING + 1];
        memset(padding, 'x', random_below(PADDING));
        setenv("SYSCOST_PADDING", padding, 1);
        if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0) _exit(126);
        close(to[0]), close(from[1]);
        const char *under = getenv("SYSCOST_UNDER"); /* e.g. qemu-aarch64: execve() would leave it */
        if (under) execlp(under, under, program, (char *)NULL);
        else execl(program, program, (char *)NULL);
        _exit(127);
    }
    close(to[0]), close(from[1]);
    if (pid < 0) return close(to[1]), close(from[0]), give_up(lane, "start", "fork"), 0;
    lane->pid = pid, lane->to = to[1], lane->from = from[0];
    random_below(2); /* the child's */
    return 1;
}

static void note_facts(struct lane *lane) {
    char line[MOST_OF_LINE];
    ask(lane, "facts");
    while (lane->pid && answer(lane, line) && strcmp(line, "facts") != 0) {
        char *value = strchr(line, '=');
        if (strncmp(line, "fact ", 5) != 0 || !value || facts_used == MOST_FACTS) continue;
        *value++ = '\0';
        snprintf(facts[facts_used][0], sizeof facts[0][0], "%.500s", line + 5);
        snprintf(facts[facts_used++][1], sizeof facts[0][1], "%.500s", value);
    }
}

/* Starts a worker and waits until it is ready. */
static void launch(struct lane *lane) {
    char line[MOST_OF_LINE];
    end_worker(lane);
    if (!start_worker(lane)) return;
    ask(lane, "hello cpu=last guard=1 at=");
    if (!lane->pid || !answer(lane, line)) return;
    if (strncmp(line, "hello ", 6) != 0) return fail_by_answer(lane, line);
    lane->worker = (pid_t)number_after(line, "pid=");
    lane->is_pinned = strstr(line, "cpu=none") == NULL;
    if (facts_used == 0) note_facts(lane);
    ask(lane, "op %s%s%s", lane->operation->id, *lane->params ? " " : "", lane->params);
    if (!lane->pid || !answer(lane, line)) return;
    if (strncmp(line, "ready ", 6) != 0) return fail_by_answer(lane, line);
    lane->clock_cost = number_after(line, "clock_cost_ns=");
    lane->clock_step = number_after(line, "clock_step_ns=");
    lane->displacing = number_after(line, "displacing_ns=");
    lane->in_memory = strstr(line, "storage=memory") != NULL;
}

/* 0 if there is no whole answer, which fails the lane. */
static int request(struct lane *lane, uint64_t n, unsigned k, struct reply *reply) {
    char line[MOST_OF_LINE];
    memset(reply, 0, sizeof *reply);
    ask(lane, "%llu %u", (unsigned long long)n, k);
    while (lane->pid && answer(lane, line)) {
        unsigned long long a, b, c, d;
        long switches;
        if (strncmp(line, "cpu ", 4) == 0) {
            char *at = line + 4;
            while (*at && reply->cpu_used < MOST_BATCHES) reply->cpu_ns[reply->cpu_used++] = strtoull(at, &at, 10);
        } else if (sscanf(line, "total %llu %llu %llu %llu", &a, &b, &c, &d) == 4) {
            lane->user_ns += a, lane->system_ns += b, lane->minor += c, lane->major += d;
            if (reply->used == k) return 1;
            fail_lane(lane, "crashed", "the probe answered for fewer batches");
        } else if (reply->used < MOST_BATCHES && sscanf(line, "%llu %ld", &a, &switches) == 2) {
            reply->ns[reply->used] = a, reply->switches[reply->used++] = switches;
            lane->wall_ns += a;
        } else {
            fail_by_answer(lane, line);
        }
    }
    return 0;
}

/* ---- how many iterations a batch has (engine/batch_size.rs) ---- */

static double clamped(double value, double least, double most) { return value < least ? least : value > most ? most : value; }

/* The nanoseconds of a batch of about that length, whose iterations are *n; 0 if the worker failed. */
static double grow(struct lane *lane, uint64_t *n, double target) {
    uint64_t most = lane->operation->limit ? lane->operation->limit : (uint64_t)1 << 32;
    struct reply reply;
    for (*n = *n < most ? *n : most;;) {
        if (!request(lane, *n, 2, &reply)) return 0;
        double ns = (double)(reply.ns[0] < reply.ns[1] ? reply.ns[0] : reply.ns[1]);
        if (ns < 1) ns = 1;
        if (ns >= 0.8 * target || *n == most) {
            double fitted = clamped((double)*n * target / ns + 0.5, 1, (double)most);
            ns *= (double)(uint64_t)fitted / (double)*n;
            return *n = (uint64_t)fitted, ns;
        }
        double next = (double)*n * clamped(target / ns, 1.5, 100) + 1;
        *n = next < (double)most ? (uint64_t)next : most;
    }
}

static void calibrate(struct lane *lane) {
    enum { COLD_CALLS = 8, COLD_BATCHES = 16, MOST_IN_SLOT = 4 };
    double target = 500 * lane->clock_cost > 1000 * lane->clock_step ? 500 * lane->clock_cost : 1000 * lane->clock_step;
    uint64_t n = 1, limit = lane->operation->limit;
    if (lane->displacing > 0) {
        double calls = COLD_SLOT_NS / lane->displacing;
        lane->n = (uint64_t)clamped(calls, 1, limit && limit < COLD_CALLS ? (double)limit : COLD_CALLS);
        lane->k = (unsigned)clamped(calls / (double)lane->n, 1, COLD_BATCHES);
        return;
    }
    target = clamped(target, LEAST_BATCH_NS, MOST_BATCH_NS);
    if (grow(lane, &n, target) == 0) return;
    n = n > 1 ? n / 2 : 1;
    double ns = grow(lane, &n, target);
    if (ns == 0) return;
    lane->n = n;
    lane->k = (unsigned)clamped(SLOT_NS / ns, 1, MOST_IN_SLOT);
    lane->cold = !(n == 1 && ns >= target);
}

/* ---- a witness ---- */

/* All system calls of a process so far; below 0 if this system does not count them for an ordinary user. */
static double calls_of(pid_t pid) {
#ifdef __APPLE__
    struct proc_taskinfo info;
    if (proc_pidinfo(pid, PROC_PIDTASKINFO, 0, &info, sizeof info) != (int)sizeof info) return -1;
    return (double)(uint32_t)info.pti_syscalls_unix + (double)(uint32_t)info.pti_syscalls_mach;
#else
    return (void)pid, -1;
#endif
}

static void call_witness(struct lane *lane) {
    enum { ITERATIONS = 1000 };
    uint64_t limit = lane->operation->limit, n = limit && limit < ITERATIONS ? limit : ITERATIONS;
    char line[MOST_OF_LINE];
    lane->witnessed = -1;
    if (calls_of(lane->worker) < 0) return;
    ask(lane, "count %llu", (unsigned long long)n);
    if (!lane->pid || !answer(lane, line)) return;
    if (strcmp(line, "prepared") != 0) return fail_by_answer(lane, line);
    double before = calls_of(lane->worker);
    ask(lane, "run");
    if (!lane->pid || !answer(lane, line)) return;
    if (strcmp(line, "counted") != 0) return fail_by_answer(lane, line);
    lane->witnessed = (calls_of(lane->worker) - before) / (double)n;
}

/* ---- rounds ---- */

/* Least share of its time that a batch of an operation that switches is on a CPU, if nothing else had that (engine/lane.rs). */
static int waited(const struct lane *lane, const struct reply *reply, unsigned batch) {
    double share = lane->is_pinned ? 0.8 : 0.4;
    return lane->operation->flags & SWITCHES && batch < reply->cpu_used &&
           (double)reply->cpu_ns[batch] < share * (double)reply->ns[batch];
}

static void slot(struct lane *lane) {
    struct reply reply;
    int used = 0;
    if (!request(lane, lane->n, lane->k + lane->cold, &reply)) return;
    add(&lane->blocks, lane->slots++ ? ",[" : "[");
    for (unsigned i = lane->cold; i < reply.used; i++) {
        int is_preempted = lane->operation->flags & SWITCHES ? waited(lane, &reply, i) : reply.switches[i] > 0;
        struct text *to = is_preempted ? &lane->preempted : &lane->blocks;
        int is_first = is_preempted ? to->used == 0 : used++ == 0;
        add(to, is_first ? "%llu" : ",%llu", (unsigned long long)reply.ns[i]);
        lane->samples += !is_preempted;
    }
    add(&lane->blocks, "]");
}

static void block(unsigned launched, double until) {
    size_t order[MOST_LANES];
    for (size_t i = 0; i < lanes_used; i++) {
        order[i] = i;
        lanes[i]->slots = 0;
        add(&lanes[i]->blocks, "%s{\"launch\":%u,\"slots\":[", lanes[i]->blocks.used ? "," : "", launched);
    }
    int has_run;
    do {
        has_run = 0;
        for (size_t i = lanes_used; i > 1; i--) {
            size_t other = (size_t)random_below(i), last = order[i - 1];
            order[i - 1] = order[other], order[other] = last;
        }
        for (size_t i = 0; i < lanes_used; i++)
            if (lanes[order[i]]->pid && !stopped) slot(lanes[order[i]]), has_run = 1;
    } while (has_run && now_s() < until);
    for (size_t i = 0; i < lanes_used; i++) add(&lanes[i]->blocks, "]}");
}

static void measure(void) {
    double began = 0;
    unsigned blocks = 0;
    for (unsigned launched = 0; launched < LAUNCHES && !stopped; launched++) {
        if (isatty(STDERR_FILENO)) fprintf(stderr, "\rprobe: %u%%", launched * 100 / LAUNCHES);
        for (size_t i = 0; i < lanes_used; i++) {
            if (*lanes[i]->failure || stopped) continue;
            launch(lanes[i]);
            if (!lanes[i]->pid || lanes[i]->n > 0) continue;
            calibrate(lanes[i]);
            if (lanes[i]->pid) call_witness(lanes[i]);
        }
        if (launched == 0) began = now_s(); /* the first launch calibrates */
        for (unsigned i = 0; i < (launched < SHORT_LAUNCHES ? 2u : 4u); i++)
            block(launched, began + seconds * ++blocks / BLOCKS);
    }
    for (size_t i = 0; i < lanes_used; i++) end_worker(lanes[i]);
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r            \r");
}

/* ---- what is measured ---- */

/* What every run measures: the machine's speed (PANEL in model/case.rs). */
static const char *const panel[] = {
    "call.empty_loop", "call.direct", "call.spin",    "sync.mutex",            "id.getppid",        "id.umask",
    "id.uname",        "file.lstat",  "fd.dup_close", "io.read_zero", "time.clock_gettime_raw", "signal.sigprocmask",
};

static void add_lane(const struct operation *operation, const char *params, int is_asked) {
    for (size_t i = 0; i < lanes_used; i++)
        if (lanes[i]->operation == operation && strcmp(lanes[i]->params, params) == 0) return;
    struct lane *lane = lanes_used < MOST_LANES ? calloc(1, sizeof *lane) : NULL;
    if (!lane) fail(ENOMEM, "too many operations");
    lane->operation = operation, lane->is_asked = is_asked;
    snprintf(lane->params, sizeof lane->params, "%s", params);
    if (!operation->run) give_up(lane, "unsupported", operation->systems);
    lanes[lanes_used++] = lane;
}

/* Of an id, an area, or, for "", all. 0 if there is none. */
static int add_matching(const char *text, int is_asked) {
    size_t length = strcspn(text, " ");
    const char *params = text[length] ? text + length + 1 : "";
    int found = 0;
    for (size_t a = 0; areas[a]; a++)
        for (const struct operation *o = areas[a]; o->id; o++) {
            int is_named = strncmp(o->id, text, length) == 0 && (o->id[length] == '\0' || o->id[length] == '.' || length == 0);
            if (is_named) add_lane(o, params, is_asked), found = 1;
        }
    return found;
}

/* ---- the file ---- */

static const char *fact(const char *name) {
    for (size_t i = 0; i < facts_used; i++)
        if (strcmp(facts[i][0], name) == 0) return facts[i][1];
    return NULL;
}

static void say_facts(void) {
    static const char *const texts[] = {"name", "system", "kernel", "kernel_version", "architecture", "cpu", "file_system", "user"};
    static const char *const numbers[] = {"cpus", "memory_mib"};
    for (size_t i = 0; i < COUNT(texts); i++)
        if (fact(texts[i])) printf("\"%s\":", texts[i]), say_text(fact(texts[i])), putchar(',');
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (fact(numbers[i])) printf("\"%s\":%s,", numbers[i], fact(numbers[i]));
}

/* "depth=4 entries=10", or what a declaration says: "depth=1:components; entries=0:other files". */
static void say_params(const char *text, const char *end, const char *without) {
    int is_first = 1;
    putchar('{');
    while (text && *text) {
        size_t name = strcspn(text, "=");
        char own[64];
        snprintf(own, sizeof own, "%.*s=", (int)name, text);
        char *unit;
        unsigned long long value = text[name] ? strtoull(text + name + 1, &unit, 10) : 0;
        if (text[name] && *unit == 'K') value <<= 10;
        if (text[name] && *unit == 'M') value <<= 20;
        if (!without || !strstr(without, own)) printf("%s\"%.*s\":%llu", is_first ? "" : ",", (int)name, text, value), is_first = 0;
        text += strcspn(text, end);
        text += strspn(text, end);
        text += strspn(text, " ");
    }
    putchar('}');
}

static void say_record(const struct lane *lane) {
    const struct operation *o = lane->operation;
    printf("{\"operation\":\"%s\",\"environment\":\"native\",\"params\":", o->id);
    say_params(lane->params, " ", NULL);
    printf(",\"defaults\":");
    say_params(o->params, ";", lane->params);
    printf(",\"role\":\"%s\",\"entries\":null,\"entries_status\":\"unverified\",\"entries_reason\":", lane->is_asked ? "asked" : "baseline");
    say_text(*lane->failure ? "the operation failed" : "nothing counts kernel entries for a probe that stands alone");
    if (*lane->failure || lane->samples == 0) {
        const char *kind = stopped ? "interrupted" : "failed";
        const char *why = stopped ? "interrupted before it was measured" : "something else had its CPU in every batch";
        printf(",\"error\":{\"kind\":\"%s\",\"message\":", *lane->failure ? lane->failure_kind : kind);
        say_text(*lane->failure ? lane->failure : why);
        printf("}}");
        return;
    }
    if (lane->witnessed >= 0)
        printf(",\"warnings\":[\"the system counted %.3f system calls per iteration, those that ask for it included\"]", lane->witnessed);
    printf(",\"samples\":{\"iterations\":%llu,\"clock_step_ns\":%.1f,\"blocks\":[%s],", (unsigned long long)lane->n, lane->clock_step,
           lane->blocks.bytes);
    printf("\"cpu\":{\"user_ns\":%llu,\"system_ns\":%llu,\"wall_ns\":%llu},\"preempted_ns\":[%s],", (unsigned long long)lane->user_ns,
           (unsigned long long)lane->system_ns, (unsigned long long)lane->wall_ns, lane->preempted.used ? lane->preempted.bytes : "");
    printf("\"minor_faults\":%llu,\"major_faults\":%llu,\"switches\":%s,\"history\":%s}}", (unsigned long long)lane->minor,
           (unsigned long long)lane->major, o->flags & SWITCHES ? "true" : "false",
           o->flags & HISTORY && !lane->in_memory ? "true" : "false");
}

static void say_result(time_t started, double took) {
    printf("{\"schema\":\"syscost.result/1\",\"tool\":{\"name\":\"syscost\",\"version\":\"%s\",\"compiler\":", SYSCOST_VERSION);
    say_text(fact("compiler") ? fact("compiler") : "unknown");
    size_t first = 0; /* that had a worker: its clock is everybody's */
    while (first + 1 < lanes_used && lanes[first]->clock_cost == 0) first++;
    printf("},\n\"host\":{");
    say_facts();
    printf("\"clock_step_ns\":%.1f,\"clock_cost_ns\":%.1f,\"mitigations\":[]},\n", lanes[first]->clock_step, lanes[first]->clock_cost);
    printf("\"plan\":{\"seed\":%llu,\"budget_s\":%.3f,\"precision_percent\":0},\n", (unsigned long long)seed, seconds);
    printf("\"started_unix_s\":%lld,\"elapsed_s\":%.3f,\"complete\":%s,\n\"records\":[", (long long)started, took,
           stopped ? "false" : "true");
    for (size_t i = 0; i < lanes_used; i++) {
        printf(i ? ",\n" : "\n");
        say_record(lanes[i]);
    }
    printf("\n]}\n");
}

static const char usage[] =
    "Usage: probe run [--time SECONDS] [OPERATION...] > result.json\n\n"
    "An OPERATION is an id ('probe --list' shows them), with its parameters in the same word, or an area such as file.\n"
    "Without any, all operations are measured. An interrupted run keeps what it has.\n\n"
    "'syscost show result.json' reads the result, and so do 'syscost compare' and 'syscost report'.\n\n"
    "Examples:\n"
    "  probe run > result.json\n"
    "  probe run --time 20 id file.fstat 'file.lstat depth=4' > result.json\n";

static int refuse(const char *word, const char *why) {
    fprintf(stderr, "probe: %s: %s\n", word, why);
    return 2;
}

int tour(int argc, char **argv) {
    time_t started = time(NULL);
    double began = now_s(), given = 0;
    int asked = 0;
    if (!realpath(argv[0], program)) return refuse(argv[0], "not found: start it by its path, such as ./probe");
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) return fputs(usage, stdout) < 0;
        if (strcmp(argv[i], "--time") == 0) {
            given = i + 1 < argc ? strtod(argv[++i], NULL) : 0;
            if (!(given > 0 && given < MOST_SECONDS)) return refuse("--time", "not a number of seconds above 0");
        } else if (strlen(argv[i]) >= sizeof lanes[0]->params) {
            return refuse(argv[i], "too long");
        } else if (add_matching(argv[i], 1)) {
            asked = 1;
        } else {
            return refuse(argv[i], "no such operation ('probe --list' shows them)");
        }
    }
    if (isatty(STDOUT_FILENO)) return refuse("run", "name a file for the result: probe run > result.json");
    if (!asked) add_matching("", 1);
    for (size_t i = 0; i < COUNT(panel); i++) add_matching(panel[i], 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, stop), signal(SIGTERM, stop), signal(SIGHUP, stop);
    seed = (uint64_t)started * 1000003 + (uint64_t)getpid();
    seconds = given > 0 ? given : clamped(0.35 * (double)lanes_used, 2, 100);
    measure();
    say_result(started, now_s() - began);
    if (fflush(stdout) != 0) return 2;
    return stopped ? 130 : 0;
}
