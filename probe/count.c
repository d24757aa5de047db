/*
 * count.c: how instructions are counted (count.h): in batches of two lengths, whose difference is free of what starts and ends a
 * batch.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "count.h"

#include <stdlib.h>
#ifndef __linux__
_Noreturn void count_instructions(void (*live)(const void *), const char *line) { live(line), exit(1); }
#else
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TIMES = 4,  /* how many times longer the longer batch is */
    /* Calls after which kernels for arm64 make new random numbers, of which each entry takes one to shift its stack (2,800
       instructions in 6.1). Batches of so many iterations, times any number, have their share of them exactly. */
    CYCLE = 48,
    PAIRS = 32, /* most in a round */
    BATCHES = 1 + PAIRS,
    MOST_OF_LINE = 8192,
};
/* Instructions of a round's longer batches, above which it has only two pairs. */
static const uint64_t MOST = 500000000;
/* Most instructions between both readings of the clock beside the iterations. If there seem to be more, or fewer than none, then
   an iteration did not cost the same in short and long batches: some calls depend on the time of day, or of the last interrupt. */
static const double BESIDE = 200;
/* The share of equal differences that ends counting. */
static const double AGREE = 0.5;

struct length {
    uint64_t batch; /* instructions of the longer batch */
    int rounds;     /* most rounds of pairs of batches, each of which starts afresh */
    uint64_t pairs; /* fewest in a round, if one is not very long */
    uint64_t round; /* instructions of a round's longer batches: shorter ones, of an operation with a limit, make more pairs */
};
/* Short beside the time between two timer interrupts (4 million instructions at 250 Hz): most batches have none, so many agree. */
static const struct length SHORT = {400000, 3, 8, 3200000};
/* For operations that leave work for later, such as freeing memory: long beside the time that it waits, which is some timer
   interrupts, so that each batch has its share of it. */
static const struct length LONG = {40000000, 1, 3, 120000000};

/* What was counted: pairs of batches of `iterations[0]` and `iterations[1]`. */
static struct {
    uint64_t iterations[2], used, taken[2][BATCHES];
} counted;

/* ---- the child ---- */

static pid_t child;
static FILE *requests, *replies;

/* Lets the child end, and ends as it does. */
static _Noreturn void end(void) {
    int status = 0;
    fflush(stdout);
    fclose(requests);
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) signal(WTERMSIG(status), SIG_DFL), raise(WTERMSIG(status));
    _exit(WEXITSTATUS(status));
}

static _Noreturn void refuse(const char *why) {
    printf("error %s\n", why);
    exit(0);
}

static char *next_line(void) {
    static char line[MOST_OF_LINE];
    if (!fgets(line, sizeof line, replies)) end();
    return line;
}

/* Runs k batches of n iterations after a first one, which also does what the request started. */
static void request(uint64_t n, uint64_t k, uint64_t *taken) {
    fprintf(requests, "%" PRIu64 " %" PRIu64 "\n", n, k + 1);
    fflush(requests);
    for (uint64_t i = 0;;) {
        char *line = next_line(), *after;
        if (strncmp(line, "total ", 6) == 0) return;
        if (strncmp(line, "cpu ", 4) == 0) continue;
        uint64_t value = strtoull(line, &after, 10);
        if (after == line || *after != ' ' || i > k) fputs(line, stdout), end();
        if (i > 0) taken[i - 1] = value;
        i++;
    }
}

static void start(void (*live)(const void *), const char *greeting) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0 || (child = fork()) < 0) refuse("- no process to count");
    if (child == 0) {
        close(to[1]), close(from[0]);
        dup2(to[0], STDIN_FILENO), dup2(from[1], STDOUT_FILENO);
        close(to[0]), close(from[1]);
        live(greeting);
        _exit(126);
    }
    close(to[0]), close(from[1]);
    requests = fdopen(to[1], "w"), replies = fdopen(from[0], "r");
    fprintf(requests, "%s\n", greeting);
    fflush(requests);
}

/* ---- counting ---- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(void) {
    double each[PAIRS], iterations = (double)(counted.iterations[1] - counted.iterations[0]);
    for (uint64_t i = 0; i < counted.used; i++)
        each[i] = ((double)counted.taken[1][i] - (double)counted.taken[0][i]) / iterations;
    qsort(each, counted.used, sizeof *each, ascending);
    return each[counted.used / 2];
}

/* Whether the median difference is that of many pairs: then interrupts are only in the others. */
static int agree(void) {
    double each = median();
    uint64_t same = 0;
    for (uint64_t i = 0; i < counted.used; i++) {
        double few = (double)counted.taken[0][i] - (double)counted.iterations[0] * each;
        double many = (double)counted.taken[1][i] - (double)counted.iterations[1] * each;
        double apart = few > many ? few - many : many - few;
        same += apart < 0.5 && few >= 0 && few <= BESIDE;
    }
    return (double)same >= AGREE * (double)counted.used;
}

static uint64_t between(uint64_t value, uint64_t least, uint64_t most) {
    return value < least ? least : value > most ? most : value;
}

/* Iterations of both batches, of which the longer one has at most `most`. */
static void choose_lengths(uint64_t most) {
    uint64_t cycles = most / TIMES / CYCLE;
    counted.iterations[0] = cycles ? cycles * CYCLE : between(most / TIMES, 1, most);
    counted.iterations[1] = cycles ? cycles * CYCLE * TIMES : most;
}

/* Counts in batches of that length; `one` is the length of one iteration. Whether many pairs agree. */
static int count_in(const struct length *length, uint64_t one, uint64_t limit) {
    uint64_t most = between(length->batch / one, TIMES, 1 << 24);
    choose_lengths(most < limit ? most : limit);
    uint64_t longest = one * counted.iterations[1];
    uint64_t fewest = longest * length->pairs > MOST ? 2 : length->pairs;
    counted.used = between(length->round / longest, fewest, PAIRS);
    for (int round = 0; round < length->rounds; round++) {
        for (int which = 0; which < 2; which++) request(counted.iterations[which], counted.used, counted.taken[which]);
        if (agree()) return 1;
    }
    return 0;
}

_Noreturn void count_instructions(void (*live)(const void *), const char *line) {
    char kind[16] = "", first[MOST_OF_LINE];
    uint64_t limit = 0, one;
    int greeting = 0;
    if (!fgets(first, sizeof first, stdin) || sscanf(line, "count %" SCNu64 " %15s %n", &limit, kind, &greeting) != 2)
        refuse("- not of the form 'count LIMIT own GREETING'");
    if (limit == 0) limit = UINT64_MAX;
    if (limit == 1) refuse("ENOTSUP one iteration per batch: there are no two lengths whose difference could be taken");
    start(live, line + greeting);
    char *ready = next_line();
    fputs(ready, stdout);
    fflush(stdout);
    if (strncmp(ready, "ready ", 6) != 0) end();
    /* The first iteration also does what is done once, so the second decides. */
    request(1, 1, &one);
    if (one == 0) one = 1;
    if (strcmp(kind, "deferred") == 0 || !count_in(&SHORT, one, limit)) count_in(&LONG, one, limit);
    printf("counted %" PRIu64 " %" PRIu64, counted.iterations[0], counted.iterations[1]);
    for (uint64_t i = 0; i < counted.used; i++) printf(" %" PRIu64 ":%" PRIu64, counted.taken[0][i], counted.taken[1][i]);
    puts("");
    end();
}
#endif
