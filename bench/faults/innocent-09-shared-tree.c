/* Two threads do long private work and add each result to a shared list under a lock. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static unsigned sorted[4096];
static int count;

static void *work(void *arg)
{
    unsigned long x = (unsigned long)arg;
    for (int item = 0; item < 2000; item++) {
        for (int i = 0; i < 60000; i++)
            x = x * 6364136223846793005UL + 1442695040888963407UL;
        unsigned v = (unsigned)(x >> 33);
        pthread_mutex_lock(&m);
        int at = count++;
        while (at > 0 && sorted[at - 1] > v) {
            sorted[at] = sorted[at - 1];
            at--;
        }
        sorted[at] = v;
        pthread_mutex_unlock(&m);
    }
    return 0;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, work, (void *)1);
    pthread_create(&b, 0, work, (void *)2);
    pthread_join(a, 0);
    pthread_join(b, 0);
    printf("%d %u\n", count, sorted[2000]);
    return 0;
}
