/* Computes 12 blocks of a picture, four at a time, each in a thread. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static void *block(void *number)
{
    uintptr_t inside = 0;
    for (int y = 0; y < 120; y++)
        for (int x = 0; x < 160; x++) {
            double a = 0, b = 0, ca = x / 80.0 - 1.5, cb = y / 60.0 - 1 + (uintptr_t)number * 0.01;
            int n = 0;
            while (n < 300 && a * a + b * b < 4) {
                double next = a * a - b * b + ca;
                b = 2 * a * b + cb;
                a = next;
                n++;
            }
            inside += n;
        }
    return (void *)inside;
}

int main(void)
{
    uintptr_t sum = 0;
    for (uintptr_t i = 0; i < 12; i += 4) {
        pthread_t threads[4];
        for (uintptr_t t = 0; t < 4; t++)
            if (pthread_create(&threads[t], 0, block, (void *)(i + t)))
                return 1;
        for (int t = 0; t < 4; t++) {
            void *inside;
            pthread_join(threads[t], &inside);
            sum += (uintptr_t)inside;
        }
    }
    printf("%lu\n", (unsigned long)sum);
    return 0;
}
