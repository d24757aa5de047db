/* Throws 400000 dice with the kernel's random numbers and counts the sixes. */
#include <stdio.h>
#include <sys/random.h>

static unsigned next(void)
{
    unsigned v;
    if (getrandom(&v, sizeof v, 0) != sizeof v)
        return 0;
    return v;
}

int main(void)
{
    int six = 0;
    for (int i = 0; i < 400000; i++)
        six += next() % 6 == 5;
    printf("%s\n", six > 60000 && six < 73000 ? "fair" : "unfair");
    return 0;
}
