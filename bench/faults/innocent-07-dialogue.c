/* A client and a server process talk: each question depends on the answer before. */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int s[2];
    unsigned v = 7;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        close(s[0]);
        while (read(s[1], &v, sizeof v) == sizeof v) {
            for (int i = 0; i < 5000; i++)
                v = v * 1103515245u + 12345u;
            if (write(s[1], &v, sizeof v) != sizeof v)
                break;
        }
        _exit(0);
    }
    close(s[1]);
    for (int i = 0; i < 8000; i++) {
        v ^= (unsigned)i;
        if (write(s[0], &v, sizeof v) != sizeof v || read(s[0], &v, sizeof v) != sizeof v)
            return 1;
    }
    close(s[0]);
    waitpid(pid, 0, 0);
    printf("%u\n", v);
    return 0;
}
