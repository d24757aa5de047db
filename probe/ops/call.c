/* call.c: what is not a system call, or is one by an unusual gate: the yardsticks that all other areas are read against. */
#include "../probe.h"

#include <unistd.h>

static void run_empty_loop(uint64_t n) { LOOP(n); }

static NOINLINE void empty(void) { keep(); }

static void run_direct(uint64_t n) { LOOP(n) empty(); }

/* A chain of dependent additions, about 100 ns on a 3 GHz machine: nothing but user-mode instructions. */
static void run_spin(uint64_t n) {
    uint64_t x = 1;
    LOOP(n) {
        for (int i = 0; i < 320; i++) {
            x += 1;
            __asm__ volatile("" : "+r"(x));
        }
    }
    __asm__ volatile("" ::"r"(x));
}

const struct operation call_operations[] = {
    {.id = "call.empty_loop", .what = "an iteration of the measuring loop with an empty body", .enters = "",
     .systems = "posix", .run = run_empty_loop},
    {.id = "call.direct", .what = "call of an empty function in the same file", .enters = "", .systems = "posix",
     .run = run_direct},
    {.id = "call.spin", .what = "320 dependent additions: user-mode work that no kernel can change", .enters = "",
     .systems = "posix", .run = run_spin},
    {0},
};
