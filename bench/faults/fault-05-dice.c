/* Throws 400000 dice with the kernel's random numbers and counts the sixes. */
#include <stdio.h>
#include <sys/random.h>
#ifdef FIXED
#define POOL 64
#else
#define POOL 1
#endif

static unsigned next(void)
{
    static unsigned pool[POOL];
    static int left;
    if (!left) {
        if (getrandom(pool, sizeof pool, 0) != sizeof pool)
            return 0;
        left = POOL;
    }
    return pool[--left];
}

int main(void)
{
    int six = 0;
    for (int i = 0; i < 400000; i++)
        six += next() % 6 == 5;
    printf("%s\n", six > 60000 && six < 73000 ? "fair" : "unfair");
    return 0;
}
