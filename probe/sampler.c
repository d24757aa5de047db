/*
 * sampler.c: measures how an operation's time splits into user and kernel mode, by sampling where a timer interrupts
 * it. Calls ground.c only.
 *
 * A signal that arrives while the kernel works is delivered when the kernel returns, so its handler sees the program
 * counter just after the system call instruction, or at it if the call is restarted (SA_RESTART); one that arrives in
 * user mode sees it anywhere else. Ticks at a fixed interval are thus samples of the mode. Rejected: getrusage(), whose
 * split is based on a few hundred ticks per second and counts everything before the first one as user time; perf_event,
 * which containers and guests refuse.
 *
 * What would bias the counts, and how that is handled:
 * - A signal of the operation's own, delivered at the same return as the tick, would hide the interrupted place behind
 *   its handler. Linux delivers SIGSYS and other synchronous signals first, so the tick sees the place before them, and
 *   its handler's mask blocks the others until then. (Real-time signals are delivered last: rejected.) A tick that
 *   arrives while the kernel sets up a handler call sees that handler's first instruction: that is kernel mode too.
 * - Ticks that arrive while the kernel does not return, or in the handler, are delivered as one, with a count of the
 *   others (si_overrun). If iterations are longer than the interval, they belong to the operation and are counted; if
 *   not, they belong to something else (another guest, say) and the tick counts as one.
 * - The timer keeps running while the process sleeps or waits for its CPU: a batch with a context switch is discarded.
 * - Preparing a batch is not part of the operation: the signal is blocked then, and unblocked before run() begins.
 * - A tick makes some calls return early (getdents64, poll, splice, ...): CHECK tolerates that, see probe.h.
 * - One percent of the ticks in a loop of getppid() arrive when the system call instruction is next, and count as
 *   kernel mode, since they cannot be told from a call to be restarted.
 * - A tick leaves cold caches and, in a guest, takes up to 20 us: the interval must be much longer than that.
 */
#include "sampler.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(SIGEV_THREAD_ID)
#include <sys/syscall.h>
#include <ucontext.h>
#ifndef sigev_notify_thread_id /* older C libraries have the field, but no name for it */
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum {
    SIGNAL = SIGSYS, /* only seccomp sends it too; its signal ends the process as it would without a handler */
    INTERVAL_NS = 53000,
    BATCH_NS = 300000, /* minimum; shorter than a scheduler's time slice */
};

static volatile sig_atomic_t with_overrun; /* also count the ticks that overran */
static volatile struct mode_ticks ticks;   /* of this batch */
static uintptr_t handlers[64];             /* addresses of the operation's signal handlers */

/* ---- the place where a tick came ---- */

#ifdef __x86_64__
enum { LENGTH = 2 }; /* of a system call instruction */

static uintptr_t program_counter(const ucontext_t *context) { return (uintptr_t)context->uc_mcontext.gregs[REG_RIP]; }

static int is_system_call(uintptr_t at) {
    const unsigned char *code = (const unsigned char *)at;
    return (code[0] == 0x0f && code[1] == 0x05) || (code[0] == 0xcd && code[1] == 0x80); /* syscall, int $0x80 */
}
#else
enum { LENGTH = 4 };

static uintptr_t program_counter(const ucontext_t *context) { return (uintptr_t)context->uc_mcontext.pc; }

static int is_system_call(uintptr_t at) { return *(const uint32_t *)at == 0xd4000001; /* svc #0 */ }
#endif

/* Whether the 8 aligned bytes around an address are readable: the kernel copies them before it rejects the -1. Code
   may be execute-only (the vsyscall page is), and there may be no memory before a page's first instruction. */
static int is_readable(uintptr_t address) {
    return syscall(SYS_rt_sigprocmask, -1, address & ~(uintptr_t)7, NULL, 8) != 0 && errno == EINVAL;
}

static int is_handler(uintptr_t at) {
    for (size_t i = 0; i < COUNT(handlers); i++)
        if (handlers[i] == at) return 1;
    return 0;
}

/* A tick that cannot be classified counts for neither mode. */
static void count(uintptr_t at, uint64_t weight) {
    if (is_handler(at)) {
        ticks.system += weight;
    } else if (is_readable(at - LENGTH) && is_readable(at - 1) && is_readable(at + LENGTH - 1)) {
        if (is_system_call(at - LENGTH) || is_system_call(at))
            ticks.system += weight;
        else
            ticks.user += weight;
    }
}

static void on_tick(int number, siginfo_t *info, void *context) {
    int error = errno;
    if (info->si_code != SI_TIMER) {
        signal(number, SIG_DFL);
        raise(number);
    } else if (sampled) {
        count(program_counter(context), with_overrun ? 1 + (uint64_t)info->si_overrun : 1);
    }
    errno = error;
}

/* ---- batches ---- */

static uint64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Nanoseconds that run() took; 0 if it left its CPU meanwhile. */
static uint64_t batch(const struct operation *operation, uint64_t n, const sigset_t *signals) {
    if (operation->prepare) operation->prepare(n);
    sigprocmask(SIG_UNBLOCK, signals, NULL);
    long before = switches();
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    ticks.user = ticks.system = 0;
    sampled = 1;
    operation->run(n);
    sampled = 0;
    uint64_t took = clock_ns(CLOCK_MONOTONIC) - start;
    int whole = switches() == before;
    sigprocmask(SIG_BLOCK, signals, NULL);
    return whole ? took : 0;
}

/* When to stop, in nanoseconds of two clocks: sleeping and waiting for the CPU take wall time only. */
struct deadline {
    uint64_t cpu, wall;
};

static int is_over(struct deadline deadline) {
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) >= deadline.cpu || clock_ns(CLOCK_MONOTONIC) >= deadline.wall;
}

/* Iterations of a batch that is long enough, found without the timer, which also warms the operation up; 0 if not
   found in time. */
static uint64_t calibrate(const struct operation *operation, const sigset_t *signals, struct deadline deadline) {
    uint64_t most = operation->limit ? operation->limit : UINT64_MAX;
    for (uint64_t n = 1; !is_over(deadline);) {
        uint64_t took = batch(operation, n, signals);
        if (took == 0) continue;
        with_overrun = took / n >= INTERVAL_NS;
        if (took >= BATCH_NS || n > most / 2) return n;
        n *= 2;
    }
    return 0;
}

/* ---- the timer ---- */

static void remember_handlers(void) {
    for (size_t i = 0; i < COUNT(handlers); i++) {
        struct sigaction action;
        int set = sigaction((int)i + 1, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
                  action.sa_handler != SIG_IGN;
        handlers[i] = set ? (uintptr_t)action.sa_sigaction : 0;
    }
}

static int start_timer(timer_t *timer, struct sigaction *before) {
    struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL};
    struct itimerspec often = {.it_value = {.tv_nsec = INTERVAL_NS}, .it_interval = {.tv_nsec = INTERVAL_NS}};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    sigfillset(&action.sa_mask);
    if (timer_create(CLOCK_MONOTONIC, &event, timer) != 0) return 0;
    if (sigaction(SIGNAL, &action, before) == 0 && timer_settime(*timer, 0, &often, NULL) == 0) return 1;
    timer_delete(*timer);
    return 0;
}

/* The last tick may still be pending: it must be delivered while its handler is installed. */
static void stop_timer(timer_t timer, const struct sigaction *before, const sigset_t *signals) {
    timer_delete(timer);
    sigprocmask(SIG_UNBLOCK, signals, NULL);
    sigaction(SIGNAL, before, NULL);
}

static struct mode_ticks sample(const struct operation *operation, uint64_t ms, const sigset_t *signals) {
    struct mode_ticks sum = {0, 0};
    struct sigaction before;
    timer_t timer;
    uint64_t ns = ms * 1000000u;
    struct deadline deadline = {clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns, clock_ns(CLOCK_MONOTONIC) + 2 * ns};
    uint64_t n = calibrate(operation, signals, deadline);
    remember_handlers();
    if (n == 0 || !start_timer(&timer, &before)) return sum;
    while (!is_over(deadline)) {
        if (batch(operation, n, signals) == 0) continue;
        sum.user += ticks.user;
        sum.system += ticks.system;
    }
    stop_timer(timer, &before, signals);
    return sum;
}

struct mode_ticks sample_modes(const struct operation *operation, uint64_t ms) {
    sigset_t signals, before;
    sigemptyset(&signals);
    sigaddset(&signals, SIGNAL);
    sigprocmask(SIG_BLOCK, &signals, &before);
    struct mode_ticks sum = sample(operation, ms, &signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return sum;
}
#else
struct mode_ticks sample_modes(const struct operation *operation, uint64_t ms) {
    (void)operation;
    (void)ms;
    return (struct mode_ticks){0, 0};
}
#endif
