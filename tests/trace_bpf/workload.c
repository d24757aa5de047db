// Workloads whose system calls are known. The first argument says which.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifndef SYS_newfstatat
#define SYS_newfstatat SYS_fstatat64
#endif

static void check(int good, const char *what) {
    if (!good) {
        perror(what);
        exit(1);
    }
}

static void calls(long n) {
    for (long i = 0; i < n; i++) syscall(SYS_getppid);
}

static void *thread(void *n) {
    calls((long)n);
    return NULL;
}

static void threads(int count, long n) {
    pthread_t made[16];
    for (int i = 0; i < count; i++) check(!pthread_create(&made[i], NULL, thread, (void *)n), "pthread_create");
    for (int i = 0; i < count; i++) pthread_join(made[i], NULL);
}

static void leaf(const char *self, const char *n) {
    execl(self, self, "leaf", n, (char *)NULL);
    check(0, "execl");
}

static void *thread_that_execs(void *self) {
    leaf(self, "1000");
    return NULL;
}

static pid_t child(void) {
    pid_t pid = fork();
    check(pid >= 0, "fork");
    return pid;
}

// 20000 calls: 3000 here, 2 x 2000 in forks, 4 x 500 in threads, 1000 in an exec, 2000 in threads of a fork, 3000 in an
// orphan, 1000 after setsid, 1000 in a program that a thread other than the first execs, 1000 in a vforked exec, and
// 2000 in an orphan that outlives everybody.
static void tree(const char *self) {
    calls(3000);
    for (int i = 0; i < 2; i++) {
        if (!child()) { calls(2000); _exit(0); }
    }
    threads(4, 500);
    if (!child()) leaf(self, "1000");
    if (!child()) { threads(4, 500); _exit(0); }
    if (!child()) {
        if (!child()) { calls(3000); _exit(0); }
        _exit(0);
    }
    if (!child()) { setsid(); calls(1000); _exit(0); }
    if (!child()) {
        pthread_t made;
        check(!pthread_create(&made, NULL, thread_that_execs, (void *)self), "pthread_create");
        for (;;) pause();
    }
    if (!vfork()) leaf(self, "1000");
    while (wait(NULL) > 0) {}
    if (!child()) {
        if (!child()) { usleep(100000); calls(2000); _exit(0); }
        _exit(0);
    }
}

// 7 ENOENT, 5 EBADF, 3 EAGAIN, and one interrupted pause.
static void handler(int signal) { (void)signal; }
static void errors(void) {
    int ends[2];
    char byte;
    for (int i = 0; i < 7; i++) open("/nonexistent/for/syscost", O_RDONLY);
    for (int i = 0; i < 5; i++) close(-1);
    check(!pipe2(ends, O_NONBLOCK), "pipe2");
    for (int i = 0; i < 3; i++) check(read(ends[0], &byte, 1) < 0, "read");
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGALRM, &action, NULL);
    ualarm(20000, 0);
    pause();
}

static void classes(void) {
    static char buffer[65536];
    int ends[2], pair[2];
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    int directory = open("/usr/", O_RDONLY | O_DIRECTORY), event = eventfd(0, 0), poller = epoll_create1(0);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), file = open("/proc/self/exe", O_RDONLY);
    check(zero >= 0 && null >= 0 && directory >= 0 && event >= 0 && poller >= 0 && terminal >= 0 && file >= 0, "open");
    check(!pipe(ends) && !socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "pipe");
    for (int i = 0; i < 3; i++) check(read(zero, buffer, 5000) == 5000, "read");
    for (int i = 0; i < 4; i++) check(write(null, buffer, 1) == 1, "write");
    check(write(ends[1], buffer, 100) == 100 && read(ends[0], buffer, 200) == 100, "pipe");
    check(write(pair[0], buffer, 64) == 64 && read(pair[1], buffer, 64) == 64, "socket");
    unsigned long long one = 1;
    check(write(event, &one, 8) == 8, "eventfd");
    check(read(file, buffer, 16) == 16, "file");
    check(write(terminal, "", 0) == 0, "terminal");
    syscall(SYS_fsync, directory);
    syscall(SYS_fsync, 9999);
    void *memory = mmap(NULL, 40000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(memory, 40000);
    int word = 0;
    for (int i = 0; i < 6; i++) syscall(SYS_futex, &word, 129, 1, NULL, NULL, 0);
    struct pollfd set[9] = {{.fd = event, .events = POLLIN}};
    for (int i = 1; i < 9; i++) set[i].fd = -1;
    poll(set, 9, 0);
    access("/a//b/c/", F_OK);
    access("", F_OK);
    access("relative", F_OK);
    // A long path: 1000 names.
    for (int i = 0; i < 1000; i++) memcpy(buffer + 4 * i, "/abc", 4);
    buffer[4000] = 0;
    access(buffer, F_OK);
    access((char *)8, F_OK);
}

// Sleeps 200 ms in one call, 40 times; then a pipe read that waits for a child.
static void blocked(void) {
    struct timespec time = {0, 5000000};
    for (int i = 0; i < 40; i++) nanosleep(&time, NULL);
    volatile unsigned long spin = 0;
    for (unsigned long i = 0; i < 100000000; i++) spin += i;
}

// A child that is killed while it stands in pause().
static void killed(void) {
    pid_t pid = child();
    if (!pid) { calls(5); for (;;) pause(); }
    usleep(50000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void nothing(int number) { (void)number; }

// Replaces the program by another, found by the descriptor of a directory if that is asked for.
static const char *other;
static int by_directory;
static void *replaces(void *unused) {
    char *const words[] = {(char *)other, "leaf", "10", NULL};
    usleep(50000);
    if (by_directory) syscall(SYS_execveat, open("/", O_PATH | O_DIRECTORY), other + 1, words, environ, 0);
    else execv(other, words);
    check(0, other);
    return unused;
}

// Handles 8 signals, then waits until one of its threads is another program.
static void replaced(void) {
    pthread_t made;
    signal(SIGUSR1, nothing);
    for (int i = 0; i < 8; i++) raise(SIGUSR1);
    check(!pthread_create(&made, NULL, replaces, NULL), "pthread_create");
    for (;;) pause();
}

static void forks(long n) {
    for (long i = 0; i < n; i++) {
        pid_t pid = child();
        if (!pid) { calls(1); _exit(0); }
        waitpid(pid, NULL, 0);
    }
}

static void names(long n) {
    for (long i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "name-%ld", i);
        prctl(PR_SET_NAME, name);
        calls(2);
    }
}

// Many distinct keys, so that the caches give way: sizes, descriptors and errors of many calls.
static void wide(long n) {
    static char buffer[1 << 20];
    int null = open("/dev/null", O_WRONLY), word;
    for (long i = 0; i < n; i++) {
        for (int log = 0; log <= 20; log++) check(write(null, buffer, 1 << log) == 1 << log, "write");
        for (int log = 12; log <= 24; log++) munmap(mmap(NULL, 1 << log, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << log);
        for (int call = 0; call < 200; call++) syscall(SYS_futex, &word, call & 127, 1, 0, 0, 1);
    }
}

// 30 getppid by the gate of 32-bit programs, from a 64-bit one.
static void gates(void) {
#if defined __x86_64__
    for (int i = 0; i < 30; i++) {
        long result = 64;
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    }
#endif
    calls(10);
}

// A seccomp filter answers getppid with EPERM before the kernel's tracepoints see it entered: 25 of those.
static void refused(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};
    check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp");
    calls(25);
}

// Calls every millisecond until killed, in two threads.
static void *forever(void *nothing) {
    (void)nothing;
    for (;;) { calls(10); usleep(1000); }
}

// 500 calls on a path that is not there, 300 on one that is, 7 on one of 600 bytes.
static void details(void) {
    char longest[601] = "/";
    memset(longest + 1, 'x', 599);
    for (int i = 0; i < 500; i++) access("/nowhere/missing", F_OK);
    for (int i = 0; i < 300; i++) check(!access("/etc/", F_OK), "access");
    for (int i = 0; i < 7; i++) access(longest, F_OK);
}

// 200 reads of /dev/zero, 100 writes to a pipe, 90 to an event descriptor, 80 to a socket, 70 reads of a file; each closed.
static void descriptors(const char *self) {
    char bytes[8] = {1};
    int zero = open("/dev/zero", O_RDONLY), event = eventfd(0, 0), file = open(self, O_RDONLY), ends[2], sockets[2];
    check(zero >= 0 && event >= 0 && file >= 0 && !pipe(ends), "open");
    check(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
    for (int i = 0; i < 200; i++) check(read(zero, bytes, 4) == 4, "read");
    bytes[0] = 1;
    for (int i = 0; i < 100; i++) check(write(ends[1], bytes, 1) == 1, "write");
    for (int i = 0; i < 90; i++) check(write(event, bytes, 8) == 8, "write");
    for (int i = 0; i < 80; i++) check(write(sockets[0], bytes, 1) == 1, "write");
    for (int i = 0; i < 70; i++) check(read(file, bytes, 1) == 1, "read");
    for (int i = 0; i < 3; i++) read(999, bytes, 1);
    close(zero); close(event); close(file); close(ends[0]); close(ends[1]); close(sockets[0]); close(sockets[1]);
}

// Calls from a function of its own for 300 ms.
__attribute__((noinline)) void caller_with_a_name(void) {
    for (int i = 0; i < 300; i++) { syscall(SYS_getppid); usleep(1000); }
    __asm__ volatile("");
}

// 100 naps, then five sleeps of 20 to 60 ms.
static void slow(void) {
    for (int i = 0; i < 100; i++) usleep(10);
    for (int ms = 20; ms <= 60; ms += 10) usleep(ms * 1000);
}

// Stats of x in directories a, b and c of the directory given: relative to the working directory, to a descriptor, and by an
// absolute path; of descriptors by an empty path; and relative paths that lead nowhere.
static void directories(const char *top) {
    char path[4096];
    struct stat status;
    check(!chdir(top) && !chdir("a"), "chdir");
    for (int i = 0; i < 3; i++) check(!syscall(SYS_newfstatat, AT_FDCWD, "x", &status, 0), "x of a");
    check(!chdir("../b"), "chdir");
    for (int i = 0; i < 4; i++) check(!syscall(SYS_newfstatat, AT_FDCWD, "x", &status, 0), "x of b");
    int b = open(".", O_RDONLY | O_DIRECTORY), c = openat(b, "../c", O_RDONLY | O_DIRECTORY);
    check(b >= 0 && c >= 0, "open");
    check(!syscall(SYS_newfstatat, b, "x", &status, 0), "x of b");
    for (int i = 0; i < 6; i++) check(!syscall(SYS_newfstatat, c, "x", &status, 0), "x of c");
    snprintf(path, sizeof path, "%s/c/x", top);
    for (int i = 0; i < 7; i++) check(!syscall(SYS_newfstatat, b, path, &status, 0), "x of c");
    for (int i = 0; i < 8; i++) check(!syscall(SYS_newfstatat, c, "", &status, AT_EMPTY_PATH), "c");
    for (int i = 0; i < 9; i++) check(syscall(SYS_newfstatat, b, "", &status, 0) < 0, "empty");
    for (int i = 0; i < 10; i++) check(syscall(SYS_newfstatat, 999, "x", &status, 0) < 0, "999");
}

// Calls on 70000 paths.
static void paths(void) {
    char path[32];
    for (int i = 0; i < 70000; i++) {
        snprintf(path, sizeof path, "/nowhere/%d", i);
        access(path, F_OK);
    }
}

// Touches n MiB for the first time, in pages of the size that is asked for.
static void touch(long n, int advice) {
    size_t huge = 2 << 20, bytes = (size_t)n << 20;
    char *memory = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "mmap");
    memory = (char *)(((size_t)memory + huge - 1) & ~(huge - 1));
    madvise(memory, bytes, advice);
    for (size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
}

// n times some work in user mode; with calls, one after each.
static void compute(long n, int with_calls) {
    volatile long sum = 0;
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < 50; k++) sum += k;
        if (with_calls) syscall(SYS_getppid);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 0;
    if (!strcmp(what, "leaf")) calls(n);
    else if (!strcmp(what, "tree")) tree(argv[0]);
    else if (!strcmp(what, "errors")) errors();
    else if (!strcmp(what, "classes")) classes();
    else if (!strcmp(what, "blocked")) blocked();
    else if (!strcmp(what, "killed")) killed();
    else if (!strcmp(what, "replaced")) other = argv[2], by_directory = argc > 3, replaced();
    else if (!strcmp(what, "forks")) forks(n);
    else if (!strcmp(what, "names")) names(n);
    else if (!strcmp(what, "wide")) wide(n);
    else if (!strcmp(what, "details")) details();
    else if (!strcmp(what, "stacks")) caller_with_a_name();
    else if (!strcmp(what, "descriptors")) descriptors(argv[0]);
    else if (!strcmp(what, "slow")) slow();
    else if (!strcmp(what, "directories")) directories(argv[2]);
    else if (!strcmp(what, "paths")) paths();
    else if (!strcmp(what, "touch")) touch(n, MADV_NOHUGEPAGE);
    else if (!strcmp(what, "touch-huge")) touch(n, MADV_HUGEPAGE);
    else if (!strcmp(what, "compute")) compute(n, 0);
    else if (!strcmp(what, "mixture")) compute(n, 1);
    else if (!strcmp(what, "gates")) gates();
    else if (!strcmp(what, "refused")) refused();
    else if (!strcmp(what, "signal")) raise(SIGTERM);
    else if (!strcmp(what, "forever")) {
        pthread_t made;
        pthread_create(&made, NULL, forever, NULL);
        forever(NULL);
    } else return 2;
    return 0;
}
