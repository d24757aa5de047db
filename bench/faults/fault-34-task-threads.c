/* Runs 12000 small tasks beside the main thread, one after another. */
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>

static void *task(void *number)
{
    uint32_t x = (uint32_t)(uintptr_t)number;
    for (int i = 0; i < 500; i++)
        x = x * 1664525u + 1013904223u;
    return (void *)(uintptr_t)x;
}

int main(void)
{
    uintptr_t sum = 0;
    for (uintptr_t i = 0; i < 12000; i++) {
        void *value;
#ifdef FIXED
        value = task((void *)i);
#else
        pthread_t thread;
        if (pthread_create(&thread, 0, task, (void *)i))
            return 1;
        pthread_join(thread, &value);
#endif
        sum += (uintptr_t)value;
    }
    printf("%lu\n", (unsigned long)sum);
    return 0;
}
