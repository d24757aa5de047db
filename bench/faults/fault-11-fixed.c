/* One thread hands 300 numbers to another through a one-place mailbox. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t full, empty;
static int slot;
static long sum;

static void *reader(void *arg)
{
    for (int i = 0; i < 300; i++) {
        sem_wait(&full);
        sum += slot;
        sem_post(&empty);
    }
    return arg;
}

int main(void)
{
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 1);
    pthread_t t;
    pthread_create(&t, 0, reader, 0);
    for (int i = 0; i < 300; i++) {
        sem_wait(&empty);
        slot = i;
        sem_post(&full);
    }
    pthread_join(t, 0);
    printf("%ld\n", sum);
    return 0;
}
