/* A program with a 256 MiB cache in memory runs 60 short commands. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(void)
{
    size_t size = 256u << 20;
    char *cache = malloc(size);
    for (size_t i = 0; i < size; i += 4096)
        cache[i] = (char)(i >> 12);
    int ok = 0;
    for (int i = 0; i < 60; i++) {
#ifdef FIXED
        pid_t pid;
        char *args[] = {"true", 0};
        if (posix_spawn(&pid, "/bin/true", 0, 0, args, environ))
            return 1;
#else
        pid_t pid = fork();
        if (pid == 0) {
            execl("/bin/true", "true", (char *)0);
            _exit(127);
        }
#endif
        int status;
        waitpid(pid, &status, 0);
        ok += status == 0;
    }
    printf("%d %d\n", ok, cache[8192]);
    free(cache);
    return 0;
}
