/* Small workloads of bench/predict that no common program is: predict NAME COUNT [DIRECTORY]. Each ends by itself. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(ok) do { if (!(ok)) { perror(#ok); exit(1); } } while (0)

static long count;
static const char *directory = ".";

static void in(const char *name, char *path, size_t size) { snprintf(path, size, "%s/%s.%d", directory, name, (int)getpid()); }

static void run_files(void) {
    char path[512], byte[64];
    struct stat about;
    in("files", path, sizeof path);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0 && ftruncate(file, 1 << 20) == 0);
    for (long i = 0; i < count; i++) {
        CHECK(pread(file, byte, sizeof byte, i % (1 << 14) * 64) == sizeof byte);
        CHECK(stat(path, &about) == 0);
    }
    CHECK(unlink(path) == 0);
}

/* A record and a sync each time. */
static void sync_each(int (*sync)(int), const char *name) {
    char path[512], record[512];
    in(name, path, sizeof path);
    memset(record, 'x', sizeof record);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0);
    for (long i = 0; i < count; i++) {
        CHECK(write(file, record, sizeof record) == sizeof record);
        CHECK(sync(file) == 0);
    }
    CHECK(unlink(path) == 0);
}

static void run_fsync(void) { sync_each(fsync, "fsync"); }
static void run_fdatasync(void) { sync_each(fdatasync, "fdatasync"); }

/* Two threads hand a turn to each other. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *take_turns(void *own) {
    int me = own != NULL;
    for (long i = 0; i < count; i++) {
        pthread_mutex_lock(&mutex);
        while (turn != me) pthread_cond_wait(&changed, &mutex);
        turn = !me;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void run_turns(void) {
    pthread_t other;
    CHECK(pthread_create(&other, NULL, take_turns, &count) == 0);
    take_turns(NULL);
    CHECK(pthread_join(other, NULL) == 0);
}

static void run_socketpair(void) {
    int ends[2];
    char byte = 0;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    int own = ends[child == 0];
    for (long i = 0; i < count; i++) {
        if (child == 0) CHECK(read(own, &byte, 1) == 1);
        CHECK(write(own, &byte, 1) == 1);
        if (child != 0) CHECK(read(own, &byte, 1) == 1);
    }
    if (child == 0) _exit(0);
    CHECK(waitpid(child, NULL, 0) == child);
}

static void run_maps(void) {
    for (long i = 0; i < count; i++) {
        char *pages = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(pages != MAP_FAILED);
        for (int page = 0; page < 4; page++) pages[page << 12] = 1;
        CHECK(munmap(pages, 1 << 16) == 0);
    }
}

static void run_poll(void) {
    struct pollfd set[32];
    int pipes[32][2];
    char byte = 0;
    for (int i = 0; i < 32; i++) {
        CHECK(pipe(pipes[i]) == 0);
        set[i] = (struct pollfd){.fd = pipes[i][0], .events = POLLIN};
    }
    for (long i = 0; i < count; i++) {
        CHECK(write(pipes[i % 32][1], &byte, 1) == 1);
        CHECK(poll(set, 32, -1) == 1);
        CHECK(read(pipes[i % 32][0], &byte, 1) == 1);
    }
}

/* Each of two threads opens, reads and closes a file of its own. */
static void *open_read(void *number) {
    char path[512], name[32], bytes[4096];
    snprintf(name, sizeof name, "own%ld", (long)number);
    in(name, path, sizeof path);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0 && ftruncate(file, sizeof bytes) == 0 && close(file) == 0);
    for (long i = 0; i < count; i++) {
        CHECK((file = open(path, O_RDONLY)) >= 0);
        CHECK(read(file, bytes, sizeof bytes) == sizeof bytes);
        CHECK(close(file) == 0);
    }
    CHECK(unlink(path) == 0);
    return NULL;
}

static void run_threads(void) {
    pthread_t other;
    CHECK(pthread_create(&other, NULL, open_read, (void *)1L) == 0);
    open_read((void *)2L);
    CHECK(pthread_join(other, NULL) == 0);
}

static void run_directories(void) {
    char one[512], two[512];
    in("one", one, sizeof one);
    in("two", two, sizeof two);
    for (long i = 0; i < count; i++) {
        CHECK(mkdir(one, 0700) == 0 && rename(one, two) == 0 && rmdir(two) == 0);
    }
}

/* Sleeps of 1 ms between pieces of work. */
static void run_sleep(void) {
    for (long i = 0; i < count; i++) {
        struct timespec pause = {0, 1000000};
        for (int k = 0; k < 200; k++) (void)!access("/", R_OK);
        CHECK(nanosleep(&pause, NULL) == 0);
    }
}

static const struct { const char *name; void (*run)(void); } WORKLOADS[] = {
    {"files", run_files}, {"fsync", run_fsync}, {"fdatasync", run_fdatasync}, {"turns", run_turns},
    {"socketpair", run_socketpair}, {"maps", run_maps}, {"poll", run_poll}, {"threads", run_threads},
    {"directories", run_directories}, {"sleep", run_sleep},
};

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    count = atol(argv[2]);
    if (argc > 3) directory = argv[3];
    for (size_t i = 0; i < sizeof WORKLOADS / sizeof *WORKLOADS; i++) {
        if (strcmp(argv[1], WORKLOADS[i].name) == 0) return WORKLOADS[i].run(), 0;
    }
    return 2;
}
