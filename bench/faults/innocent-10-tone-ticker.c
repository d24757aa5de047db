/* Every millisecond, on time, makes the next 48 sound samples and hands them to a player process. */
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    int p[2];
    if (pipe(p))
        return 1;
    pid_t pid = fork();
    short block[48];
    if (pid == 0) {
        close(p[1]);
        long n = 0, got;
        while ((got = read(p[0], block, sizeof block)) > 0)
            n += got;
        _exit(n == 600 * (long)sizeof block ? 0 : 1);
    }
    close(p[0]);
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    unsigned phase = 0;
    for (int tick = 0; tick < 600; tick++) {
        for (int i = 0; i < 48; i++) {
            int v = 0;
            for (unsigned k = 1; k < 60; k++)
                v += (int)(((phase * k) >> 16) & 0xff) - 128;
            block[i] = (short)v;
            phase += 601;
        }
        t.tv_nsec += 1000000;
        if (t.tv_nsec >= 1000000000) {
            t.tv_nsec -= 1000000000;
            t.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
        if (write(p[1], block, sizeof block) != sizeof block)
            return 1;
    }
    close(p[1]);
    int status;
    waitpid(pid, &status, 0);
    printf("%d\n", status);
    return 0;
}
