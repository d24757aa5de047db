/*
 * sync.c: locks and other ways for threads to wait for each other. All operations run in a process with a second
 * thread, because libc takes shortcuts without atomic instructions in single-threaded ones. Threads end with the
 * process.
 */
#include "../probe.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#define LINUX_ONLY(hook) hook
#else
#define LINUX_ONLY(hook) NULL
#endif

/* CHECK for calls that return their error. */
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        int error_ = (call);                                                                                           \
        if (__builtin_expect(error_ != 0, 0)) fail(error_, #call);                                                     \
    } while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void start_thread(void *(*body)(void *), void *argument) {
    pthread_t thread;
    OK(pthread_create(&thread, NULL, body, argument));
    OK(pthread_detach(thread));
}

/* ---- uncontended ---- */

static void *sleep_for_ever(void *unused) {
    for (;;) pause();
    return unused;
}

static void setup_sleeper(void) {
    start_thread(sleep_for_ever, NULL);
    CHECK(usleep(20000) == 0); /* its start-up, including pause(), is over before the first batch */
}

static void run_mutex(uint64_t n) {
    LOOP(n) {
        OK(pthread_mutex_lock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
    }
}

static sem_t semaphore;

static void setup_semaphore(void) {
    setup_sleeper();
    CHECK(sem_init(&semaphore, 0, 0) == 0);
}

static void run_semaphore(uint64_t n) {
    LOOP(n) {
        CHECK(sem_post(&semaphore) == 0);
        CHECK(sem_wait(&semaphore) == 0);
    }
}

/* ---- a contended mutex ---- */

/* Two threads, 0 and 1, and what they wait for. With `shared`, each thread has a partner and a pair of its own. */
struct pair {
    pthread_mutex_t mutex;
    _Atomic int asking, holding;
    pthread_cond_t turn_came[2];
    int turn;
    _Atomic uint32_t tokens[2]; /* the token that thread 0 or 1 waits for */
};

OWN struct pair *pair;

static void make_pair(void) {
    CHECK((pair = calloc(1, sizeof *pair)) != NULL);
    OK(pthread_mutex_init(&pair->mutex, NULL));
    for (int i = 0; i < 2; i++) OK(pthread_cond_init(&pair->turn_came[i], NULL));
}

/* The threads take turns. The holder unlocks only when the other is about to lock, and continues only when the other holds
   the mutex, so that its own next lock finds it taken. Both wait for that by yielding the CPU. */
static void ask_and_lock(struct pair *of, int me) {
    of->asking = me;
    OK(pthread_mutex_lock(&of->mutex));
    of->holding = me;
}

static void hand_over_mutex(struct pair *of, int me) {
    while (of->asking == me) CHECK(sched_yield() == 0);
    OK(pthread_mutex_unlock(&of->mutex));
    while (of->holding == me) CHECK(sched_yield() == 0);
    ask_and_lock(of, me);
}

static void *contend(void *of) {
    ask_and_lock(of, 1);
    for (;;) hand_over_mutex(of, 1);
    return NULL;
}

static void run_mutex_contended(uint64_t n) { LOOP(n) hand_over_mutex(pair, 0); }

static void own_mutex_contended(void) {
    make_pair();
    ask_and_lock(pair, 0);
    start_thread(contend, pair);
    run_mutex_contended(1); /* once the thread has answered, it has started */
}

/* ---- a token protected by a mutex, with condition variables ---- */

static void hand_over_turn(struct pair *of, int me) {
    OK(pthread_mutex_lock(&of->mutex));
    of->turn = !me;
    OK(pthread_cond_signal(&of->turn_came[!me]));
    while (of->turn != me) OK(pthread_cond_wait(&of->turn_came[me], &of->mutex));
    OK(pthread_mutex_unlock(&of->mutex));
}

static void *return_turns(void *of) {
    for (;;) hand_over_turn(of, 1);
    return NULL;
}

static void run_cond_pingpong(uint64_t n) { LOOP(n) hand_over_turn(pair, 0); }

static void own_cond_pingpong(void) {
    make_pair();
    start_thread(return_turns, pair);
    run_cond_pingpong(1);
}

/* ---- futex() itself ---- */

#ifdef __linux__
#ifndef SYS_futex
#define SYS_futex SYS_futex_time64
#endif

static long futex(_Atomic uint32_t *word, int operation, uint32_t value) {
    return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static _Atomic uint32_t word;

static void run_futex_wake(uint64_t n) { LOOP(n) CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 1) == 0); }

static void run_futex_wait_fails(uint64_t n) {
    LOOP(n) CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 1) == -1 && errno == EAGAIN);
}

/* As pthread_cond_timedwait() waits: until a time, which has passed here; relative ones would add the timer slack. */
static void run_futex_wait_timeout(uint64_t n) {
    static const struct timespec past = {.tv_nsec = 1};
    LOOP(n) CHECK(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &past, NULL,
                          FUTEX_BITSET_MATCH_ANY) == -1 && errno == ETIMEDOUT);
}

static void give_token(struct pair *of, int to) {
    of->tokens[to] = 1;
    CHECK(futex(&of->tokens[to], FUTEX_WAKE_PRIVATE, 1) >= 0);
}

/* Calls futex() even if the token is already there: the number of calls does not depend on scheduling. */
static void take_token(struct pair *of, int me) {
    do {
        CHECK(futex(&of->tokens[me], FUTEX_WAIT_PRIVATE, 0) == 0 || errno == EAGAIN);
    } while (!of->tokens[me]);
    of->tokens[me] = 0;
}

static void *return_tokens(void *of) {
    for (;;) {
        take_token(of, 1);
        give_token(of, 0);
    }
    return NULL;
}

static void run_futex_pingpong(uint64_t n) {
    LOOP(n) {
        give_token(pair, 1);
        take_token(pair, 0);
    }
}

static void own_futex_pingpong(void) {
    make_pair();
    start_thread(return_tokens, pair);
    run_futex_pingpong(1);
}

/* Threads inherit the CPU. */
static void stay_on(uint64_t cpu, const char *call) {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(cpu, &here);
    if (sched_setaffinity(0, sizeof here, &here) != 0) fail(errno, call);
}

/* On one CPU the other thread can run only after a switch. */
static void own_context_switch(void) {
    int cpu;
    CHECK((cpu = sched_getcpu()) >= 0);
    stay_on((uint64_t)cpu, "sched_setaffinity()");
    own_futex_pingpong();
}

static void own_context_switch_cpus(void) {
    stay_on(param_within("to", 0, CPU_SETSIZE - 1), "parameter to: sched_setaffinity()");
    own_futex_pingpong();
    stay_on(param_within("from", 0, CPU_SETSIZE - 1), "parameter from: sched_setaffinity()");
}
#endif

const struct operation sync_operations[] = {
    {.id = "sync.futex_wake", .what = "futex(FUTEX_WAKE) on a word that nobody waits for",
     .enters = "futex/futex_time64 x1", .systems = "linux", .setup = setup_sleeper, .run = LINUX_ONLY(run_futex_wake)},
    {.id = "sync.futex_wait_fails", .what = "futex(FUTEX_WAIT) on a word that has another value: EAGAIN at once",
     .enters = "futex/futex_time64 x1", .systems = "linux", .setup = setup_sleeper,
     .run = LINUX_ONLY(run_futex_wait_fails)},
    {.id = "sync.futex_wait_timeout", .what = "futex(FUTEX_WAIT_BITSET) until a time that has passed: ETIMEDOUT as "
     "soon as a timer has expired",
     .enters = "futex/futex_time64 x1", .systems = "linux", .flags = SWITCHES | MACHINE, .setup = setup_sleeper,
     .run = LINUX_ONLY(run_futex_wait_timeout)},
    {.id = "sync.mutex", .what = "pthread_mutex_lock() and unlock of a free mutex in a process with two threads",
     .enters = "", .systems = "posix", .family = "mutex", .setup = setup_sleeper, .run = run_mutex},
    {.id = "sync.mutex_contended",
     .what = "two threads take a mutex in turn, once each, every lock finding it held; holder and waiter meet by "
             "sched_yield(); threads=N makes N such pairs, each with a mutex of its own",
     .enters = "futex/futex_time64 x? sched_yield x?", .systems = "posix", .family = "mutex", .flags = SWITCHES,
     .own = own_mutex_contended, .run = run_mutex_contended},
    {.id = "sync.semaphore", .what = "sem_post() and sem_wait() of a semaphore that nobody waits for", .enters = "",
     .systems = "posix", .setup = setup_semaphore, .run = run_semaphore},
    {.id = "sync.cond_pingpong",
     .what = "a token to another thread and back, each way by a mutex, pthread_cond_signal() and pthread_cond_wait()",
     .enters = "futex/futex_time64 x?", .systems = "posix", .family = "round_trip", .flags = SWITCHES,
     .own = own_cond_pingpong, .run = run_cond_pingpong},
    {.id = "sync.futex_pingpong",
     .what = "a token to another thread and back, each way by futex(FUTEX_WAKE) and futex(FUTEX_WAIT)",
     .enters = "futex/futex_time64 x4", .systems = "linux", .family = "round_trip", .flags = SWITCHES,
     .own = LINUX_ONLY(own_futex_pingpong), .run = LINUX_ONLY(run_futex_pingpong)},
    {.id = "sync.context_switch",
     .what = "two context switches: to another thread on the same CPU and back, each way by futex(FUTEX_WAKE) and "
             "futex(FUTEX_WAIT)",
     .enters = "futex/futex_time64 x4", .systems = "linux", .family = "round_trip", .flags = SWITCHES,
     .own = LINUX_ONLY(own_context_switch), .run = LINUX_ONLY(run_futex_pingpong)},
    {.id = "sync.context_switch_cpus",
     .what = "a token to a thread on another CPU and back, each way by futex(FUTEX_WAKE), futex(FUTEX_WAIT) and a context "
             "switch; the CPUs may be siblings or on other cores or sockets (lscpu -e)",
     .enters = "futex/futex_time64 x4", .params = "from=0:CPU of the thread that is timed; to=1:CPU of the other thread",
     .systems = "linux", .family = "round_trip", .flags = SWITCHES | SEVERAL,
     .own = LINUX_ONLY(own_context_switch_cpus), .run = LINUX_ONLY(run_futex_pingpong)},
    {0},
};
