/* On one processor, a producer thread gives 60000 small numbers to a consumer. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#define ITEMS 60000
#ifdef FIXED
#define ROOM 4096
#else
#define ROOM 1
#endif

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ring[ROOM], head, tail;

static void *consume(void *out)
{
    long *sum = out;
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (head == tail)
            pthread_cond_wait(&changed, &m);
        *sum += ring[tail++ % ROOM];
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&m);
    }
    return 0;
}

int main(void)
{
    long sum = 0;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pthread_t t;
    pthread_create(&t, 0, consume, &sum);
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (head - tail == ROOM)
            pthread_cond_wait(&changed, &m);
        ring[head++ % ROOM] = i;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&m);
    }
    pthread_join(t, 0);
    printf("%ld\n", sum);
    return 0;
}
