/*
 * Programs with a fault that advice names, and the same work without it.
 *
 *     faults FAULT faulty|fixed N     does the work N times, in the current directory
 *
 * tests/tracers/advice.rs traces both; bench/faults/check compares the time that the advice promises with the difference of the two.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) ((what) ? (void)0 : fail(#what))

static int fixed;
static long count;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int open_new(const char *name) {
    int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0);
    return file;
}

/* Work on data in user mode that both variants do. */
static unsigned sum;
static void use(unsigned char byte) { sum = sum * 31 + byte; }

/* A journal of 512 bytes for each transaction: created and removed, or kept and emptied. */
static void temporary_files(void) {
    char record[512] = {0};
    unlink("journal"); /* of an earlier run */
    int kept = fixed ? open_new("journal") : -1;
    for (long i = 0; i < count; i++) {
        int file = fixed ? kept : open("journal", O_RDWR | O_CREAT | O_EXCL, 0600);
        CHECK(file >= 0 && pwrite(file, record, sizeof record, 0) == sizeof record);
        if (fixed) CHECK(ftruncate(file, 0) == 0);
        else CHECK(close(file) == 0 && unlink("journal") == 0);
    }
}

/* A file of `count` bytes, byte by byte; or 4 KiB at a time. */
static void small_reads(void) {
    unsigned char buffer[4096];
    int file = open_new("data");
    CHECK(ftruncate(file, count) == 0);
    size_t size = fixed ? sizeof buffer : 1;
    for (ssize_t got; (got = read(file, buffer, size)) > 0;) {
        for (ssize_t i = 0; i < got; i++) use(buffer[i]);
    }
}

static void small_writes(void) {
    unsigned char buffer[4096];
    size_t filled = 0, size = fixed ? sizeof buffer : 1;
    int file = open_new("data");
    for (long i = 0; i < count; i++) {
        buffer[filled++] = (unsigned char)i;
        use((unsigned char)i);
        if (filled < size) continue;
        CHECK(write(file, buffer, filled) == (ssize_t)filled);
        filled = 0;
    }
    CHECK(write(file, buffer, filled) == (ssize_t)filled);
}

/* The same four files again and again; or each once. */
static void stat_storm(void) {
    static const char *const names[] = {"a.h", "b.h", "c.h", "d.h"};
    struct stat found[4];
    for (int i = 0; i < 4; i++) close(open_new(names[i]));
    for (long i = 0; i < count; i++) {
        if (!fixed || i < 4) CHECK(stat(names[i % 4], &found[i % 4]) == 0);
        use((unsigned char)found[i % 4].st_mode);
    }
}

/* A header that is in the last of twelve directories of a search path; or found where it was the last time. */
static void search_path(void) {
    char name[64];
    int found = -1;
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "include-%d", i);
        CHECK(mkdir(name, 0700) == 0 || errno == EEXIST);
    }
    close(open_new("include-11/x.h"));
    for (long i = 0; i < count; i++) {
        int file = -1;
        for (int at = fixed && found >= 0 ? found : 0; file < 0; at++) {
            snprintf(name, sizeof name, "include-%d/x.h", at);
            file = open(name, O_RDONLY);
            if (file >= 0) found = at;
        }
        CHECK(close(file) == 0);
    }
}

static void real_clock(void) {
    struct timespec now;
    for (long i = 0; i < count; i++) {
        if (fixed) clock_gettime(CLOCK_MONOTONIC, &now);
        else syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
        use((unsigned char)now.tv_nsec);
    }
}

static void identity(void) {
    pid_t cached = getpid();
    for (long i = 0; i < count; i++) use((unsigned char)(fixed ? cached : (pid_t)syscall(SYS_getpid)));
}

/* Eight looks for input that is not there before each message; or one that waits for it. */
static void empty_polls(void) {
    int ends[2];
    char message = 1;
    CHECK(pipe(ends) == 0);
    struct pollfd input = {.fd = ends[0], .events = POLLIN};
    for (long i = 0; i < count; i++) {
        for (int look = 0; !fixed && look < 8; look++) CHECK(poll(&input, 1, 0) == 0);
        CHECK(write(ends[1], &message, 1) == 1 && poll(&input, 1, -1) == 1 && read(ends[0], &message, 1) == 1);
    }
}

/* Reads until nothing is left, as edge-triggered loops do; or until a read is short. */
static void empty_reads(void) {
    int ends[2];
    char buffer[4096];
    CHECK(pipe2(ends, O_NONBLOCK) == 0);
    for (long i = 0; i < count; i++) {
        CHECK(write(ends[1], buffer, 256) == 256);
        while (read(ends[0], buffer, sizeof buffer) > 0 && !fixed) {}
    }
}

/* Requests to another thread, which answers: handed over one by one; or 64 at once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long asked, answered;
static void *answer(void *unused) {
    pthread_mutex_lock(&lock);
    while (answered < count) {
        while (asked == answered) pthread_cond_wait(&changed, &lock);
        while (answered < asked) use((unsigned char)answered++);
        pthread_cond_signal(&changed);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}
static void futex_traffic(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, answer, NULL) == 0);
    pthread_mutex_lock(&lock);
    while (asked < count) {
        asked += fixed && count - asked >= 64 ? 64 : 1;
        pthread_cond_signal(&changed);
        while (answered < asked) pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* The same on one CPU: which CPU a thread wakes up on no longer decides what that costs. */
static void futex_one_cpu(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    futex_traffic();
}

/* A buffer of 160 KiB that is mapped, used and unmapped each time; or kept by malloc. */
static void small_maps(void) {
    mallopt(M_MMAP_THRESHOLD, fixed ? 1 << 24 : 1 << 17);
    mallopt(M_TRIM_THRESHOLD, 1 << 26);
    for (long i = 0; i < count; i++) {
        size_t size = 160 << 10;
        volatile unsigned char *buffer = malloc(size);
        CHECK(buffer != NULL);
        for (size_t at = 0; at < size; at += 4096) buffer[at] = 1;
        use(buffer[4096]);
        free((void *)buffer);
    }
}

static void touch(volatile char *memory, size_t size) {
    for (size_t at = 0; at < size; at += 4096) memory[at] = 1;
}

/* Memory that each request uses, given back after each; or kept. */
static void discards(void) {
    size_t size = 256 << 10;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    for (long i = 0; i < count; i++) {
        touch(memory, size);
        if (!fixed) CHECK(madvise(memory, size, MADV_DONTNEED) == 0);
    }
}

/* The same of the heap. */
static void trims(void) {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, fixed ? 1 << 30 : 4096);
    for (long i = 0; i < count; i++) {
        char *memory = malloc(256 << 10);
        CHECK(memory != NULL);
        touch(memory, 256 << 10);
        free(memory);
    }
}

/* A place to jump to for each of many steps, with the signal mask; or without. */
static void signal_masks(void) {
    sigjmp_buf place;
    for (volatile long i = 0; i < count; i++) CHECK(sigsetjmp(place, !fixed) == 0);
}

/* Reads of a pipe whose other end is closed; or one. */
static void end_of_input(void) {
    int ends[2];
    char byte;
    CHECK(pipe(ends) == 0 && close(ends[1]) == 0);
    for (long i = 0; i < (fixed ? 1 : count); i++) CHECK(read(ends[0], &byte, 1) == 0);
}

/* A directory that is watched again for each file; or once. */
static void watches(void) {
    int watcher = inotify_init();
    CHECK(watcher >= 0);
    for (long i = 0; i < (fixed ? 1 : count); i++) CHECK(inotify_add_watch(watcher, ".", IN_CREATE) >= 0);
}

/* Files that are looked at four times; or once. */
static void four_looks(void) {
    char name[32];
    struct stat found;
    for (long i = 0; i < count; i++) {
        snprintf(name, sizeof name, "file-%ld", i);
        CHECK(close(open_new(name)) == 0);
    }
    for (long i = 0; i < (fixed ? 1 : 2) * count; i++) {
        snprintf(name, sizeof name, "file-%ld", i % count);
        CHECK((fixed || access(name, R_OK) == 0) && stat(name, &found) == 0);
    }
}

/* A process of 256 MiB that starts small programs: by fork and exec; or by posix_spawn. */
static void fork_for_exec(void) {
    extern char **environ;
    size_t size = 256 << 20;
    char *words[] = {"true", NULL}, *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && (madvise(memory, size, MADV_NOHUGEPAGE) == 0 || errno == EINVAL));
    memset(memory, 1, size);
    for (long i = 0; i < count; i++) {
        pid_t child;
        if (fixed) CHECK(posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) == 0);
        else if ((child = fork()) == 0) {
            execv("/bin/true", words);
            _exit(127);
        }
        CHECK(child > 0 && waitpid(child, NULL, 0) == child);
    }
}

/* A log that is on the disk after each record; or after each ten. */
static void sync_per_record(void) {
    char record[128] = {0};
    int log = open_new("log");
    for (long i = 0; i < count; i++) {
        CHECK(write(log, record, sizeof record) == sizeof record);
        if (!fixed || i % 10 == 9) CHECK(fdatasync(log) == 0);
    }
}

/* 512 descriptors of which one is ready: a poll of all; or epoll. */
static void large_poll_sets(void) {
    enum { MOST = 512 };
    static struct pollfd set[MOST];
    struct rlimit limit = {4096, 4096};
    struct epoll_event ready[8];
    int ends[2], epoll = epoll_create1(0);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < MOST; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = i};
        CHECK(pipe(ends) == 0);
        set[i] = (struct pollfd){.fd = ends[0], .events = POLLIN};
        CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
    }
    CHECK(write(ends[1], "x", 1) == 1);
    for (long i = 0; i < count; i++) {
        CHECK((fixed ? epoll_wait(epoll, ready, 8, -1) : poll(set, MOST, -1)) == 1);
        CHECK(read(ends[0], ready, 1) == 1 && write(ends[1], "x", 1) == 1);
    }
}

/* One byte of a file, which is opened each time; or once. */
static void open_again(void) {
    int kept = open_new("data");
    char byte = 1;
    CHECK(write(kept, &byte, 1) == 1);
    for (long i = 0; i < count; i++) {
        int file = fixed ? kept : open("data", O_RDONLY);
        CHECK(pread(file, &byte, 1, 0) == 1 && (fixed || close(file) == 0));
        use((unsigned char)byte);
    }
}

/* Small files, each mapped; or read. */
static void small_files(void) {
    char name[32], buffer[512] = {1};
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "small-%d", i);
        int file = open_new(name);
        CHECK(write(file, buffer, sizeof buffer) == sizeof buffer && close(file) == 0);
    }
    for (long i = 0; i < count; i++) {
        snprintf(name, sizeof name, "small-%ld", i % 100);
        int file = open(name, O_RDONLY);
        if (fixed) CHECK(read(file, buffer, sizeof buffer) == sizeof buffer);
        else {
            unsigned char *mapped = mmap(NULL, sizeof buffer, PROT_READ, MAP_PRIVATE, file, 0);
            CHECK(mapped != MAP_FAILED);
            use(*mapped);
            CHECK(munmap(mapped, sizeof buffer) == 0);
        }
        CHECK(close(file) == 0);
    }
}

/* All descriptors that there might be are marked, one by one; or none. */
static void descriptor_sweep(void) {
    for (long i = 3; !fixed && i < count; i++) (void)fcntl((int)i, F_SETFD, FD_CLOEXEC);
}

/* A thread that is waited for by asking; or by a join. */
static volatile int is_done;
static void *sleep_and_tell(void *unused) {
    usleep((useconds_t)count);
    is_done = 1;
    return unused;
}
static void spin(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sleep_and_tell, NULL) == 0);
    while (!fixed && !is_done) sched_yield();
    CHECK(pthread_join(thread, NULL) == 0);
}

/* A process that looks around each millisecond; or sleeps. */
static void wake_ups(void) {
    for (long i = 0; !fixed && i < count; i++) usleep(1000);
    if (fixed) usleep((useconds_t)count * 1000);
}

/* A file that is locked for each record; or once. */
static void file_locks(void) {
    int file = open_new("locked");
    struct flock region = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (long i = 0; i < count; i++) {
        region.l_type = F_WRLCK;
        if (!fixed || i == 0) CHECK(fcntl(file, F_SETLK, &region) == 0);
        use((unsigned char)i);
        region.l_type = F_UNLCK;
        if (!fixed) CHECK(fcntl(file, F_SETLK, &region) == 0);
    }
}

/* Locks as programs make them that must not run twice: a new file that holds the process id, and is removed. */
static void lock_files(void) {
    for (long i = 0; i < count; i++) {
        int file = open("lock", O_WRONLY | O_CREAT | O_EXCL, 0600);
        CHECK(file >= 0 && dprintf(file, "%d\n", (int)getpid()) > 0 && close(file) == 0 && unlink("lock") == 0);
    }
}

/* A program for each item; or one for all. */
static void processes(void) {
    for (long i = 0; i < (fixed ? 1 : count); i++) CHECK(system("exec /bin/true") == 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} FAULTS[] = {
    {"temporary-files", temporary_files},
    {"small-reads", small_reads},
    {"small-writes", small_writes},
    {"stat-storm", stat_storm},
    {"search-path", search_path},
    {"real-clock", real_clock},
    {"identity", identity},
    {"empty-polls", empty_polls},
    {"empty-reads", empty_reads},
    {"futex-traffic", futex_traffic},
    {"futex-one-cpu", futex_one_cpu},
    {"small-maps", small_maps},
    {"discards", discards},
    {"trims", trims},
    {"signal-masks", signal_masks},
    {"end-of-input", end_of_input},
    {"watches", watches},
    {"four-looks", four_looks},
    {"fork-for-exec", fork_for_exec},
    {"sync-per-record", sync_per_record},
    {"large-poll-sets", large_poll_sets},
    {"open-again", open_again},
    {"small-file-maps", small_files},
    {"descriptor-sweep", descriptor_sweep},
    {"spin", spin},
    {"wake-ups", wake_ups},
    {"locks", file_locks},
    {"lock-files", lock_files},
    {"process-per-item", processes},
};

int main(int argc, char **argv) {
    CHECK(argc == 4);
    fixed = strcmp(argv[2], "fixed") == 0;
    count = atol(argv[3]);
    for (size_t i = 0; i < sizeof FAULTS / sizeof *FAULTS; i++) {
        if (strcmp(argv[1], FAULTS[i].name) != 0) continue;
        FAULTS[i].run();
        return sum == 1 ? 2 : 0; /* so that the work is not optimized away */
    }
    fprintf(stderr, "faults: there is no '%s'\n", argv[1]);
    return 1;
}
