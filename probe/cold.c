/*
 * cold.c: what a call costs when the program comes back from doing something else. Between two calls, and untimed, it
 * displaces what the call before left in the processor:
 *
 *   data    every line of `cold` bytes is loaded and stored, on pages of 4 KiB in pseudo-random order: displaces data
 *           caches and TLB. The memory is mapped for each request, so its place differs from slot to slot.
 *   code    the same for every size: 1024 functions, 128 KiB of code, called through pointers in pseudo-random order, with
 *           8 branches each that depend on random data: displaces instruction caches and branch predictors.
 *
 * Then one call is timed by the processor's counter (ticks.h). The reading's own cost, and that of a cold loop, are in the
 * time: call.empty_loop with the same `cold` has them too. With 0 bytes, single calls are timed and nothing is displaced.
 *
 * Memory that is displaced is not lost from a cache larger than it, nor from one shared with other CPUs. Calls ground.c and ticks.c.
 */
#include "cold.h"

#include "ground.h"
#include "ticks.h"

#include <sys/mman.h>

enum { LINE = 64, PAGE = 4096, FUNCTIONS = 1024, MOST_BYTES = 1 << 30 };

static const struct operation *operation; /* NULL without `cold` */
static size_t pages;
static unsigned char *memory;
static uint64_t displacing_ns;
static unsigned state = 2463534242u;

/* ---- code ---- */

/* The empty asm keeps the branch: a compiler could do the addition alone without one. */
#define BRANCH(bit, number)                                                                                            \
    if (x >> (bit) & 1) {                                                                                              \
        __asm__ volatile("" : "+r"(x));                                                                                \
        x += (number);                                                                                                 \
    }
#define FUNCTION(number)                                                                                               \
    static NOINLINE __attribute__((aligned(128))) unsigned f##number(unsigned x) {                                     \
        BRANCH(24, 0x##number) BRANCH(25, 0x1##number) BRANCH(26, 0x2##number) BRANCH(27, 0x3##number)                 \
        BRANCH(28, 0x4##number) BRANCH(29, 0x5##number) BRANCH(30, 0x6##number) BRANCH(31, 0x7##number)                \
        return x * 2654435761u + 0x##number;                                                                           \
    }
#define POINTER(number) f##number,
#define SIXTEEN(of, n)                                                                                                 \
    of(n##0) of(n##1) of(n##2) of(n##3) of(n##4) of(n##5) of(n##6) of(n##7)                                            \
    of(n##8) of(n##9) of(n##a) of(n##b) of(n##c) of(n##d) of(n##e) of(n##f)
#define EACH_256(of, n)                                                                                                \
    SIXTEEN(of, n##0) SIXTEEN(of, n##1) SIXTEEN(of, n##2) SIXTEEN(of, n##3)                                            \
    SIXTEEN(of, n##4) SIXTEEN(of, n##5) SIXTEEN(of, n##6) SIXTEEN(of, n##7)                                            \
    SIXTEEN(of, n##8) SIXTEEN(of, n##9) SIXTEEN(of, n##a) SIXTEEN(of, n##b)                                            \
    SIXTEEN(of, n##c) SIXTEEN(of, n##d) SIXTEEN(of, n##e) SIXTEEN(of, n##f)
#define EACH(of) EACH_256(of, 1) EACH_256(of, 2) EACH_256(of, 3) EACH_256(of, 4)

EACH(FUNCTION)
static unsigned (*const functions[FUNCTIONS])(unsigned) = {EACH(POINTER)};

/* Visits all numbers below a power of two in scattered order: a linear congruential generator of full period (Knuth, The Art
   of Computer Programming, volume 2, section 3.2.1.2, theorem A). */
static size_t scattered(size_t last, size_t mask) { return (last * 1664525u + 1013904223u) & mask; }

static void run_code(void) {
    size_t next = state;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        next = scattered(next, FUNCTIONS - 1);
        state = functions[next](state);
    }
}

/* ---- data ---- */

static void touch_page(volatile unsigned char *page, size_t first) {
    for (size_t i = 0; i < PAGE / LINE; i++) page[(i * 29 + first) % (PAGE / LINE) * LINE] += 1;
}

static void walk_data(void) {
    size_t mask = 1;
    while (mask < pages) mask <<= 1;
    mask--;
    for (size_t i = 0, next = state; i <= mask; i++) {
        next = scattered(next, mask);
        if (next < pages) touch_page(memory + next * PAGE, state);
    }
}

static void cold_displace(void) {
    if (pages == 0) return;
    walk_data();
    run_code();
}

/* ---- the memory, for one request ---- */

void cold_start(void) {
    if (pages == 0) return;
    memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail(errno, "mmap of the memory that cold displaces");
#ifdef MADV_NOHUGEPAGE
    madvise(memory, pages * PAGE, MADV_NOHUGEPAGE); /* kernels without huge pages refuse, and need not be told */
#endif
#ifdef MADV_DONTFORK
    CHECK(madvise(memory, pages * PAGE, MADV_DONTFORK) == 0); /* it would be part of the cost of a fork */
#endif
    walk_data(); /* now its pages exist */
}

void cold_stop(void) {
    if (pages > 0) CHECK(munmap(memory, pages * PAGE) == 0);
}

/* ---- calls ---- */

int is_cold(void) { return operation != NULL; }

int cold_displaces(void) { return pages > 0; }

uint64_t cold_displacing_ns(void) { return displacing_ns; }

/* Preparation comes first, since it may be a system call itself. */
uint64_t cold_batch(uint64_t n) {
    void (*run)(uint64_t) = operation->run;
    uint64_t sum = 0;
    for (; n > 0; n--) {
        if (operation->prepare) operation->prepare(1);
        cold_displace();
        uint64_t start = ticks();
        run(1);
        sum += ticks() - start;
    }
    return (uint64_t)((double)sum * ns_per_tick() + 0.5);
}

/* The shorter of two, as another program may have run during one. */
static uint64_t time_of_displacing(void) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 2; i++) {
        uint64_t start = ticks();
        cold_displace();
        uint64_t taken = ticks() - start;
        if (taken < least) least = taken;
    }
    return (uint64_t)((double)least * ns_per_tick());
}

void cold_begin(const struct operation *chosen) {
    if (!param_given("cold")) return;
    size_t bytes = (size_t)param_within("cold", 0, MOST_BYTES);
    if (bytes % PAGE != 0) fail(EINVAL, "parameter cold: a multiple of 4K");
    param_memory("cold", 1, 1);
    operation = chosen;
    pages = bytes / PAGE;
    ns_per_tick(); /* takes 10 ms, once */
    if (pages == 0) return;
    cold_start();
    cold_batch(1); /* resolves what is resolved at the first call */
    displacing_ns = time_of_displacing();
    cold_stop();
}
