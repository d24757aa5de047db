/*
 * crowd.c: runs one operation concurrently. While the leader's batches are timed, companions run the same operation,
 * each on a CPU of its own.
 *
 *   private   companions are processes with a setup and a directory of their own: they share only the kernel
 *   shared    companions are threads of the leader's process: they share its objects, descriptors and memory map, and make, in
 *             the same directory, what only one can use (`own` in probe.h)
 *
 * If a companion fails, the operation fails: it reports that on the shared standard output. Calls support.c and
 * ground.c.
 */
#include "crowd.h"
#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_COMPANIONS = 1023 };

/* Shared by leader and companions; in memory that processes share too. */
static struct {
    atomic_uint set_up, running, stop;
    uint64_t n;
} *board;

static const struct operation *operation;
static uint64_t companions;
static int gate[2]; /* one byte per companion releases it; closing the pipe ends it */
static pid_t pids[MOST_COMPANIONS];
static uint64_t started;

static void pause_briefly(void) { sched_yield(); }

/* ---- CPUs ---- */

#ifdef __linux__
/* Moves companion `number`, counted from 1, to the `number`th CPU other than the leader's. */
static void take_cpu(uint64_t number, int leaders) {
    cpu_set_t one;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (cpu == leaders) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) == 0 && --number == 0) return;
    }
    fail(0, "more threads than CPUs: each needs one of its own");
}

/* The CPU that this thread is pinned to; -1 if it may use several. */
static int bound_cpu(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) != 1) return -1;
    return sched_getcpu();
}
#else
static void take_cpu(uint64_t number, int leaders) { (void)number, (void)leaders; }
static int bound_cpu(void) { return -1; }
#endif

static int leaders_cpu;

static void leave_leaders_cpu(uint64_t number) {
    if (leaders_cpu >= 0) take_cpu(number, leaders_cpu);
}

/* ---- companions ---- */

/* Waits at the gate; 0 once it is closed. A signal to the process from the end of the last batch may interrupt the wait. */
static int is_released(void) {
    char go;
    ssize_t got;
    while ((got = read(gate[0], &go, 1)) < 0 && errno == EINTR) continue;
    return got == 1;
}

/* Waits at the gate, runs batches until told to stop, and so on until the gate is closed. */
static void accompany(void) {
    atomic_fetch_add(&board->set_up, 1);
    while (is_released()) {
        atomic_fetch_add(&board->running, 1);
        while (!atomic_load(&board->stop)) {
            if (operation->prepare) operation->prepare(board->n);
            operation->run(board->n);
        }
        atomic_fetch_sub(&board->running, 1);
    }
}

static void private_companion(void) {
    char directory[32];
    close(gate[1]);
    leave_leaders_cpu(started);
    snprintf(directory, sizeof directory, "companion-%llu", (unsigned long long)started);
    CHECK(mkdir(directory, 0700) == 0 && chdir(directory) == 0);
    if (operation->setup) operation->setup();
    if (operation->own) operation->own();
    accompany();
    if (operation->teardown) operation->teardown();
}

static void *shared_companion(void *argument) {
    uint64_t number = (uint64_t)(uintptr_t)argument;
    leave_leaders_cpu(number);
    be_companion(number);
    if (operation->own) operation->own();
    accompany();
    return NULL;
}

void crowd_open(const struct operation *chosen, uint64_t threads) {
    if (threads - 1 > MOST_COMPANIONS) fail(0, "parameter threads: from 1 to 1024");
    operation = chosen;
    companions = threads - 1;
    leaders_cpu = bound_cpu();
    CHECK(pipe(gate) == 0);
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(board != MAP_FAILED);
}

static void wait_for_set_up(void) {
    while (atomic_load(&board->set_up) < companions) pause_briefly();
}

void crowd_of_processes(void) {
    for (started = 1; started <= companions; started++) pids[started - 1] = start_partner(private_companion);
    wait_for_set_up();
}

void crowd_of_threads(void) {
    for (uint64_t number = 1; number <= companions; number++) {
        pthread_t thread;
        int error = pthread_create(&thread, NULL, shared_companion, (void *)(uintptr_t)number);
        if (error) fail(error, "pthread_create");
        pthread_detach(thread);
    }
    wait_for_set_up();
}

void crowd_start(uint64_t n) {
    if (!board) return;
    board->n = n;
    atomic_store(&board->stop, 0);
    for (uint64_t i = 0; i < companions; i++) CHECK(write(gate[1], "g", 1) == 1);
    while (atomic_load(&board->running) < companions) pause_briefly();
}

void crowd_stop(void) {
    if (!board) return;
    atomic_store(&board->stop, 1);
    while (atomic_load(&board->running) > 0) pause_briefly();
}

void crowd_end(void) {
    if (!board) return;
    close(gate[1]);
    for (uint64_t i = 0; i < companions; i++)
        if (pids[i] > 0) while (waitpid(pids[i], NULL, 0) < 0 && errno == EINTR) continue;
}
