/* Throws 400000 dice with the kernel's random numbers and counts the sixes. */
#include <stdio.h>
#include <sys/random.h>

static unsigned next(void)
{
    static unsigned pool[64];
    static int left;
    if (!left) {
        if (getrandom(pool, sizeof pool, 0) != sizeof pool)
            return 0;
        left = 64;
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
