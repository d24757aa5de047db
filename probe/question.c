/*
 * question.c: see question.h. The device is QEMU's fw_cfg (its documentation: specs/fw_cfg): a number that is written to it selects
 * an entry, whose bytes are then read one after the other. Entry 0x19 lists those with names. Calls nothing else in the probe.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "question.h"
#include "ticks.h"

#ifdef __linux__
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <sys/io.h>
#endif

#define NAME "opt/syscost"

char *question_in_file(void) {
    static const char path[] = "/question";
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    if (getdelim(&text, &size, '\0', file) < 0) text = NULL; /* all of it: it has no zero byte */
    fclose(file);
    unlink(path); /* nobody else is to read it */
    return text;
}

enum { SIGNATURE = 0, DIRECTORY = 0x19 };

#if defined(__x86_64__) || defined(__i386__)
enum { PANIC = 0x505, SELECTOR = 0x510, DATA = 0x511 };

static int open_device(void) { return ioperm(PANIC, 1, 1) == 0 && ioperm(SELECTOR, 2, 1) == 0; }
/* By the device "pvpanic" (specs/pvpanic), if the emulator was told to pause then: always after the same instruction. */
static void pause_machine(void) { outb(1, PANIC); }
static void choose(uint16_t entry) { outw(entry, SELECTOR); }
static unsigned char next(void) { return inb(DATA); }

enum { TICK = 1 };
/* Executes so many instructions, two at least. */
static void spin(uint64_t instructions) {
    __asm__ volatile("shr %0\n\tjnc 1f\n\tnop\n1:\tdec %0\n\tjnz 1b" : "+r"(instructions)::"cc");
}
#elif defined(__aarch64__)
/* Of the machine `virt`. */
enum { AT = 0x09020000, SELECTOR = 8, PAGE = 4096 };
static volatile unsigned char *device;

static int open_device(void) {
    int memory = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
    void *at = memory < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory, AT);
    if (memory >= 0) close(memory);
    device = at;
    return at != MAP_FAILED;
}
static void pause_machine(void) {} /* the emulator does it, some time after it was told that all is quiet */
static void choose(uint16_t entry) { *(volatile uint16_t *)(device + SELECTOR) = (uint16_t)(entry << 8 | entry >> 8); }
static unsigned char next(void) { return *device; }

enum { TICK = 16 };
static void spin(uint64_t instructions) { __asm__ volatile("1: subs %0, %0, #2\n\tb.gt 1b" : "+r"(instructions)::"cc"); }
#else
static int open_device(void) { return 0; }
static void pause_machine(void) {}
static void choose(uint16_t entry) { (void)entry; }
static unsigned char next(void) { return 0; }
enum { TICK = 1 };
static void spin(uint64_t instructions) { (void)instructions; }
#endif

static void take(void *bytes, size_t size) {
    for (unsigned char *at = bytes; size > 0; size--) *at++ = next();
}

static uint32_t number(void) {
    unsigned char bytes[4];
    take(bytes, sizeof bytes);
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The length of the question, which is then selected; 0 without one. */
static size_t choose_question(void) {
    choose(DIRECTORY);
    for (uint32_t entries = number(); entries > 0; entries--) {
        char name[56];
        uint32_t size = number(), entry = number() >> 16;
        take(name, sizeof name);
        if (strncmp(name, NAME, sizeof name) != 0) continue;
        choose((uint16_t)entry);
        return size;
    }
    return 0;
}

static int is_there(void) {
    char signature[4];
    if (!open_device()) return 0;
    choose(SIGNATURE);
    take(signature, sizeof signature);
    return memcmp(signature, "QEMU", sizeof signature) == 0 && choose_question() > 0;
}

enum { STEP = 1000 };

/* In ticks(), of which an emulated machine has one per nanosecond and instruction (TICK): longer than until the kernel's next timer. */
static uint64_t to_next_timer(void) {
    struct timespec timer;
    clock_getres(CLOCK_MONOTONIC_COARSE, &timer);
    return ((uint64_t)timer.tv_nsec + 4 * STEP) / TICK;
}

/* The clock of a machine that was stopped may have jumped to its next timer. Spins until that timer would have fired anyway, so that the
   kernel sees no difference. It must not sleep: the clock of an idle machine goes on too far while the emulator is busy. */
static void pass_next_timer(uint64_t begin) {
    int64_t left;
    while ((left = (int64_t)(begin - ticks()) * TICK) < 0) begin += to_next_timer();
    while ((left = (int64_t)(begin - ticks()) * TICK) > 2 * STEP) spin(STEP);
    if (left > 1) spin((uint64_t)left);
}

/* Waits for a question and writes it to `to`. A state may be saved at any instruction here, and each machine that goes on from it has a
   question of its own: what was read so far is read again. */
static void await(int to) {
    char first = '-'; /* what is there while the state is made */
    if (!is_there()) return;
    uint64_t begin = ticks() + to_next_timer();
    while (first == '-') pause_machine(), choose_question(), take(&first, 1);
    pass_next_timer(begin);
    for (size_t size = choose_question(); size > 0; size--) {
        take(&first, 1);
        if (write(to, &first, 1) != 1) return;
    }
}

/* A child asks the device: a process that may is slower at each call (Linux 5.5 checks its permissions). */
char *question_in_device(void) {
    int ends[2];
    char *text = NULL;
    size_t size = 0;
    if (pipe(ends) != 0) return NULL;
    pid_t child = fork();
    if (child == 0) await(ends[1]), _exit(0);
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    if (from && getdelim(&text, &size, '\0', from) < 0) text = NULL;
    if (from) fclose(from);
    if (child > 0) waitpid(child, NULL, 0);
    return text;
}
#endif
