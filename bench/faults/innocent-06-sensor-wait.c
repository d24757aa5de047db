/* Waits with poll for readings that a sensor process sends every 15 ms. */
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int s[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s))
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < 30; i++) {
            usleep(15000);
            send(s[1], &i, sizeof i, 0);
        }
        _exit(0);
    }
    int got = 0, late = 0;
    while (got < 30) {
        struct pollfd p = {.fd = s[0], .events = POLLIN};
        int value;
        if (poll(&p, 1, 100) == 0)
            late++;
        else if (recv(s[0], &value, sizeof value, 0) == sizeof value)
            got++;
    }
    waitpid(pid, 0, 0);
    printf("%d\n", got);
    return late > 1000;
}
