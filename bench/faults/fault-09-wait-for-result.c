/* On one processor, the main thread waits on a pipe for another thread's result. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
#ifdef FIXED
#define TIMEOUT -1
#else
#define TIMEOUT 0
#endif

static int ends[2];

static void *compute(void *arg)
{
    unsigned long x = 1;
    for (long i = 0; i < 150000000; i++)
        x = x * 6364136223846793005UL + 1442695040888963407UL;
    if (write(ends[1], &x, sizeof x) != sizeof x)
        return 0;
    return arg;
}

int main(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_t t;
    unsigned long result;
    if (pipe(ends))
        return 1;
    pthread_create(&t, 0, compute, 0);
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    while (poll(&p, 1, TIMEOUT) == 0)
        ;
    if (read(ends[0], &result, sizeof result) != sizeof result)
        return 1;
    pthread_join(t, 0);
    printf("%lu\n", result);
    return 0;
}
