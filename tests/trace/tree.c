/* A process tree that makes a known number of getppid calls, in every way that a process can come to be: what
   tests/trace.rs counts. `tree` makes 20,000, or ten times EACH; `tree leaf N` makes N; other words are for other tests. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef EACH
#define EACH 2000
#endif
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

static char *self;
static char *leaf[] = {"tree", "leaf", TEXT(EACH), NULL};
extern char **environ;

static void calls(int n) {
    for (int i = 0; i < n; i++) syscall(SYS_getppid);
}

static void *in_thread(void *unused) {
    calls(EACH);
    return unused;
}

static void *exec_in_thread(void *unused) {
    execv(self, leaf);
    return unused;
}

static void wait_for(pid_t pid) {
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) exit(9);
}

static void forked(void (*body)(void)) {
    pid_t pid = fork();
    if (pid == 0) {
        body();
        _exit(0);
    }
    wait_for(pid);
}

static void plain(void) { calls(EACH); }
static void replaced(void) { execv(self, leaf); }

/* The thread that executes is not the first: its number changes. */
static void replaced_by_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, exec_in_thread, NULL);
    for (;;) pause();
}

/* Ends at once; its child is an orphan in a session of its own. */
static void abandons(void) {
    if (fork() == 0) {
        setsid();
        calls(EACH);
        _exit(0);
    }
}

/* Calls that come when the root has long ended. */
static void late(void) {
    if (fork() == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        calls(EACH);
        _exit(0);
    }
}

static int tree(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, in_thread, NULL);
    calls(EACH);
    forked(plain);
    forked(replaced);
    forked(replaced_by_thread);
    forked(abandons);
    forked(late);
    pid_t pid = vfork();
    if (pid == 0) {
        execv(self, leaf);
        _exit(1);
    }
    wait_for(pid);
    if (posix_spawn(&pid, self, NULL, NULL, leaf, environ) != 0) return 9;
    wait_for(pid);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}

/* Forks n times, up to 50 at once. */
static int forks(int n) {
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0) return 9;
        if (pid == 0) {
            calls(1);
            _exit(0);
        }
        if (i >= 50) wait(NULL);
    }
    while (wait(NULL) > 0) {}
    return 0;
}

static volatile sig_atomic_t caught;
static void on_signal(int signal) { caught += signal == SIGRTMIN + 3 || signal == SIGUSR1; }

/* Signals arrive, stops last until they are continued, and waits of the parent see both. */
static int signals(void) {
    int status;
    signal(SIGRTMIN + 3, on_signal);
    signal(SIGUSR1, on_signal);
    raise(SIGRTMIN + 3);
    raise(SIGUSR1);
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGSTOP);
        _exit(3);
    }
    if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status)) return 10;
    calls(10);
    if (waitpid(pid, &status, WNOHANG) != 0) return 11;
    kill(pid, SIGCONT);
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3) return 12;
    return caught == 2 ? 0 : 13;
}

/* One byte read from each of these, errors, and a path of three names. */
static int classes(void) {
    int pipes[2];
    char byte;
    if (pipe(pipes) != 0) return 9;
    int zero = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 10; i++) {
        if (write(pipes[1], "x", 1) != 1 || read(pipes[0], &byte, 1) != 1 || read(zero, &byte, 1) != 1) return 10;
    }
    for (int i = 0; i < 7; i++) read(-1, &byte, 1);
    for (int i = 0; i < 5; i++) access("/nosuch/a/b", F_OK);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    return 0;
}

static long cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void computes(void) {
    while (cpu_ms() < 100) {}
}

/* 100 ms of CPU time each: a child that is waited for, one that is not, an orphan. */
static int accounts(void) {
    forked(computes);
    pid_t pid = fork();
    if (pid == 0) {
        computes();
        if (fork() == 0) {
            while (cpu_ms() < 100) {}
        }
        _exit(0);
    }
    siginfo_t info;
    return waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
}

static void *without_end(void *unused) {
    for (;;) {
        syscall(SYS_getppid);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return unused;
}

static int ends(const char *how) {
    if (strcmp(how, "killed") == 0) kill(getpid(), SIGKILL);
    /* Says who it is, so that others can find it. */
    if (strcmp(how, "endless") == 0) {
        pthread_t thread;
        calls(1);
        pthread_create(&thread, NULL, without_end, NULL);
        printf("%d\n", (int)getpid());
        fflush(stdout);
        without_end(NULL);
    }
    /* Is interrupted, and leaves somebody running. */
    if (strcmp(how, "straggler") == 0) {
        signal(SIGINT, SIG_IGN);
        if (fork() == 0) {
            for (;;) pause();
        }
        signal(SIGINT, SIG_DFL);
        printf("%d\n", (int)getpid());
        fflush(stdout);
        for (;;) pause();
    }
    return 9;
}

int main(int count, char **words) {
    self = "/proc/self/exe";
    if (count < 2) return tree();
    if (strcmp(words[1], "leaf") == 0) return calls(atoi(words[2])), 0;
    if (strcmp(words[1], "forks") == 0) return forks(atoi(words[2]));
    if (strcmp(words[1], "signals") == 0) return signals();
    if (strcmp(words[1], "classes") == 0) return classes();
    if (strcmp(words[1], "accounts") == 0) return accounts();
    if (strcmp(words[1], "euid") == 0) return printf("%d\n", (int)geteuid()), 0;
    return ends(words[1]);
}
