/* ticks.h: a clock for single calls: the processor's own counter where there is one that user mode may read at a constant
   rate, else CLOCK_MONOTONIC in nanoseconds. */
#ifndef SYSCOST_TICKS_H
#define SYSCOST_TICKS_H
#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
/* LFENCE lets everything before it complete first, so that no work crosses a reading (Intel's Software Developer's Manual,
   volume 2B, RDTSC). */
static inline uint64_t ticks(void) {
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
/* ISB does the same for the generic timer's counter (Arm Architecture Reference Manual, CNTVCT_EL0). */
static inline uint64_t ticks(void) {
    uint64_t value;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(value)::"memory");
    return value;
}
#else
#include <time.h>
static inline uint64_t ticks(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#endif

/* Nanoseconds per tick. The first call compares both clocks for 10 ms. */
double ns_per_tick(void);

/* The median difference between two readings with nothing between them, in ticks. */
uint64_t ticks_of_reading(void);
#endif
