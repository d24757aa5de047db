/* Runs 24 hook programs, none of which may inherit the caller's files. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    struct rlimit rl;
    getrlimit(RLIMIT_NOFILE, &rl);
    rl.rlim_cur = rl.rlim_max < 20000 ? rl.rlim_max : 20000;
    setrlimit(RLIMIT_NOFILE, &rl);
    int ok = 0;
    for (int i = 0; i < 24; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
#ifdef FIXED
            close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
#else
            for (int fd = 3, max = (int)sysconf(_SC_OPEN_MAX); fd < max; fd++)
                fcntl(fd, F_SETFD, FD_CLOEXEC);
#endif
            execl("/bin/true", "true", (char *)0);
            _exit(127);
        }
        int status;
        waitpid(pid, &status, 0);
        ok += status == 0;
    }
    printf("%d hooks ran\n", ok);
    return 0;
}
