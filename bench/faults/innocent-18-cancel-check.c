/* Computes for a while and looks between its steps whether a cancel message has come. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    int p[2];
    if (pipe(p))
        return 1;
    unsigned long x = 1;
    int step;
    for (step = 0; step < 400; step++) {
        struct pollfd look = {.fd = p[0], .events = POLLIN};
        if (poll(&look, 1, 0) > 0)
            break;
        for (int i = 0; i < 700000; i++)
            x = x * 6364136223846793005UL + 1442695040888963407UL;
    }
    printf("%d %lu\n", step, x);
    return 0;
}
