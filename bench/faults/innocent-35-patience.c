/* Waits for each of 40 answers of a device for 8 ms at most. Half of them never come. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static int line[2];

static void gone(int signal)
{
    (void)signal;
}

static void *device(void *unused)
{
    for (int i = 0; i < 20; i++) {
        usleep(10000);
        if (write(line[1], "x", 1) != 1)
            return "failed";
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    sigset_t alarms;
    struct sigaction action = {.sa_handler = gone};
    int came = 0, missed = 0;
    if (pipe(line))
        return 1;
    sigaction(SIGALRM, &action, 0);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, 0);
    pthread_create(&thread, 0, device, 0);
    pthread_sigmask(SIG_UNBLOCK, &alarms, 0);
    while (came < 20) {
        char answer;
        struct itimerval limit = {.it_value.tv_usec = 8000, .it_interval.tv_usec = 8000}, off = {0};
        setitimer(ITIMER_REAL, &limit, 0);
        ssize_t got = read(line[0], &answer, 1);
        setitimer(ITIMER_REAL, &off, 0);
        if (got < 0 && errno != EINTR)
            return 2;
        *(got == 1 ? &came : &missed) += 1;
    }
    pthread_join(thread, 0);
    printf("%d\n", missed > 0);
    return 0;
}
