/* One thread hands 300 numbers to another through a one-place mailbox. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#ifdef FIXED
static sem_t full, empty;
#define AWAIT(full, empty) sem_wait(&full)
#define TELL(full, empty) sem_post(&empty)
#else
static atomic_int full, empty = 1;
#define AWAIT(full, empty) while (!atomic_load(&full)) usleep(1000)
#define TELL(full, empty) atomic_store(&full, 0), atomic_store(&empty, 1)
#endif
static int slot;
static long sum;

static void *reader(void *arg)
{
    for (int i = 0; i < 300; i++) {
        AWAIT(full, empty);
        sum += slot;
        TELL(full, empty);
    }
    return arg;
}

int main(void)
{
    pthread_t t;
#ifdef FIXED
    sem_init(&empty, 0, 1);
#endif
    pthread_create(&t, 0, reader, 0);
    for (int i = 0; i < 300; i++) {
        AWAIT(empty, full);
        slot = i;
        TELL(empty, full);
    }
    pthread_join(t, 0);
    printf("%ld\n", sum);
    return 0;
}
