/* Two processes draw 4000 numbered tickets each from one file, under a lock. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static int draw(const char *path)
{
    int file = open(path, O_RDWR);
    unsigned x = 1;
    for (int i = 0; i < 4000; i++) {
        unsigned ticket;
        flock(file, LOCK_EX);
        if (pread(file, &ticket, sizeof ticket, 0) != sizeof ticket)
            return 1;
        ticket++;
        if (pwrite(file, &ticket, sizeof ticket, 0) != sizeof ticket)
            return 1;
        flock(file, LOCK_UN);
        for (int work = 0; work < 20000; work++)
            x = x * 1664525u + ticket;
    }
    return x == 0;
}

int main(void)
{
    char path[4096];
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/tickets-XXXXXX", tmp ? tmp : "/tmp");
    int file = mkstemp(path);
    unsigned drawn = 0;
    if (file < 0 || write(file, &drawn, sizeof drawn) != sizeof drawn)
        return 1;
    pid_t child = fork();
    if (child == 0)
        _exit(draw(path));
    int status = draw(path), other;
    waitpid(child, &other, 0);
    if (status || other || pread(file, &drawn, sizeof drawn, 0) != sizeof drawn)
        return 2;
    unlink(path);
    printf("%u\n", drawn);
    return 0;
}
