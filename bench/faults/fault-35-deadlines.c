/* Evaluates 200000 expressions, each of which may take two seconds at most. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile sig_atomic_t late;

static void too_late(int signal)
{
    late = signal;
}

static unsigned evaluate(unsigned x)
{
    for (int i = 0; i < 300 && !late; i++)
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    return x;
}

static void deadline(int seconds)
{
    struct itimerval timer = {.it_value.tv_sec = seconds};
    setitimer(ITIMER_REAL, &timer, 0);
}

int main(void)
{
    unsigned sum = 0;
    signal(SIGALRM, too_late);
    for (int i = 0; i < 200000; i++) {
#ifdef FIXED
        if (i % 1000 == 0)
            deadline(2);
        sum += evaluate(i);
#else
        deadline(2);
        sum += evaluate(i);
        deadline(0);
#endif
    }
    deadline(0);
    printf("%u\n", sum);
    return 0;
}
