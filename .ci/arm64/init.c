/* init.c: the first process of the machine in which .ci/release runs syscost for aarch64. Runs it, with each document that it
 * writes on the console after a line with its name, and powers the machine off. With an argument: what is traced. */
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACE(tracer) {tracer, "/syscost", "trace", "--tracer", tracer, "--counts", "--quiet", "--format", "json", "--report", \
    "/dev/console", "--", "/init", "calls"}

static char *commands[][20] = {
    {"tour", "/syscost", "run", "id", "file", "io", "call", "--time", "20", "--quiet", "--out", "-"},
    TRACE("bpf"),
    TRACE("ptrace"),
};

/* Among them the first calls of new processes, which a tracer sees without a return from their parent's fork. */
static int calls(void) {
    for (int child = 0; child < 5; child++)
        if (syscall(SYS_clone, 17 /* SIGCHLD */, 0, 0, 0, 0) == 0) {
            for (int call = 0; call < 100; call++) syscall(SYS_getppid);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    return 0;
}

static void run(char **command) {
    int status;
    printf("\n== %s\n", command[0]);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execv(command[1], command + 1);
        perror(command[1]);
        _exit(127);
    }
    waitpid(child, &status, 0);
}

int main(int count, char **words) {
    (void)words;
    if (count > 1) return calls();
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
    for (unsigned command = 0; command < sizeof commands / sizeof *commands; command++) run(commands[command]);
    /* The console is emptied by an interrupt. */
    sleep(1);
    return reboot(RB_POWER_OFF);
}
