/* A program with 192 MiB of data forks once, so that the child writes a steady copy while it goes on. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    size_t count = (192u << 20) / sizeof(unsigned);
    unsigned *data = malloc(count * sizeof *data);
    for (size_t i = 0; i < count; i++)
        data[i] = (unsigned)i;
    int null = open("/dev/null", O_WRONLY);
    pid_t pid = fork();
    if (pid == 0) {
        unsigned sum = 0;
        for (size_t at = 0; at < count; at += 1 << 16) {
            for (size_t i = at; i < at + (1 << 16); i++)
                sum = sum * 31u + data[i];
            if (write(null, data + at, sizeof *data << 16) < 0)
                _exit(2);
        }
        _exit(sum == 0);
    }
    unsigned x = 1;
    for (int i = 0; i < 20000; i++) {
        x = x * 1664525u + 1013904223u;
        data[x % count] += 1;
    }
    int status;
    waitpid(pid, &status, 0);
    printf("%d\n", status);
    free(data);
    return 0;
}
