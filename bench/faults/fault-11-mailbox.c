/* One thread hands 300 numbers to another through a one-place mailbox. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int full;
static int slot;
static long sum;

static void *reader(void *arg)
{
    for (int i = 0; i < 300; i++) {
        while (!atomic_load(&full))
            usleep(1000);
        sum += slot;
        atomic_store(&full, 0);
    }
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, reader, 0);
    for (int i = 0; i < 300; i++) {
        while (atomic_load(&full))
            usleep(1000);
        slot = i;
        atomic_store(&full, 1);
    }
    pthread_join(t, 0);
    printf("%ld\n", sum);
    return 0;
}
