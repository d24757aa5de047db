/* bsd.c: what macOS and the BSDs have in place of calls of Linux. Only in probes that stand alone. */
#include "../../probe.h"

/* Not for NetBSD: zig's headers declare a kevent() that its library for NetBSD 10 lacks. */
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__OpenBSD__)
#include <fcntl.h>
#include <spawn.h>
#include <sys/event.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/clonefile.h>
#define MACOS_ONLY(hook) hook
#else
#define MACOS_ONLY(hook) NULL
#endif

static const struct timespec at_once;
static int queue, ends[2], ready; /* events that kevent() reports */

static void change(int what) {
    struct kevent one;
    EV_SET(&one, (uintptr_t)ends[0], EVFILT_READ, what, 0, 0, 0);
    CHECK(kevent(queue, &one, 1, NULL, 0, NULL) == 0);
}

static void setup_pipe(void) { CHECK(pipe(ends) == 0 && (queue = kqueue()) >= 0); }

static void setup_none(void) {
    setup_pipe();
    change(EV_ADD);
}

static void setup_one(void) {
    setup_none();
    CHECK(write(ends[1], "x", 1) == 1);
    ready = 1;
}

static void run_kevent(uint64_t n) {
    struct kevent event;
    LOOP(n) CHECK(kevent(queue, NULL, 0, &event, 1, &at_once) == ready);
}

static void run_add_delete(uint64_t n) {
    LOOP(n) {
        change(EV_ADD);
        change(EV_DELETE);
    }
}

static void run_create_close(uint64_t n) {
    LOOP(n) {
        int made = kqueue();
        CHECK(made >= 0);
        CHECK(close(made) == 0);
    }
}

static const char *program;

static void setup_spawn(void) { program = beside_probe("tiny-dynamic"); }

static void run_spawn(uint64_t n) {
    static char name[] = "tiny", *arguments[] = {name, NULL}, *no_environment[] = {NULL};
    LOOP(n) {
        pid_t child;
        int status;
        CHECK((errno = posix_spawn(&child, program, NULL, NULL, arguments, no_environment)) == 0);
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
}

#ifdef __APPLE__
static int file;

static void setup_file(void) {
    make_file("file", 4096);
    CHECK((file = open("file", O_RDWR)) >= 0);
}

static void run_full_fsync(uint64_t n) {
    LOOP(n) {
        CHECK(pwrite(file, "x", 1, 0) == 1);
        CHECK(fcntl(file, F_FULLFSYNC) == 0);
    }
}

static void run_clonefile(uint64_t n) {
    LOOP(n) {
        CHECK(clonefile("file", "clone", 0) == 0);
        CHECK(unlink("clone") == 0);
    }
}
#endif

#define BSD .systems = "macos freebsd openbsd"
#define MACOS .systems = "macos", .flags = MACHINE | HISTORY, .setup = MACOS_ONLY(setup_file)

const struct operation bsd_operations[] = {
    {.id = "event.kevent_none", .what = "kevent() of a queue with an empty pipe, timeout 0", .enters = "kevent x1", .family = "poll",
     BSD, .setup = setup_none, .run = run_kevent},
    {.id = "event.kevent_one", .what = "kevent() of a queue with a pipe that is ready, timeout 0", .enters = "kevent x1",
     .family = "poll", BSD, .setup = setup_one, .run = run_kevent},
    {.id = "event.kevent_add_delete", .what = "kevent() that adds a pipe to a queue, and kevent() that deletes it",
     .enters = "kevent x2", BSD, .setup = setup_pipe, .run = run_add_delete},
    {.id = "event.kqueue_close", .what = "kqueue() and close()", .enters = "kqueue x1 close x1", BSD, .run = run_create_close},
    {.id = "process.posix_spawn_dynamic", .what = "posix_spawn() of a dynamic program that does nothing, and waitpid()",
     .enters = "posix_spawn x1 wait4 x1", .family = "exec", .flags = CHILDREN | SWITCHES, BSD, .setup = setup_spawn, .run = run_spawn},
    {.id = "io.full_fsync", .what = "pwrite() of a byte, and fcntl(F_FULLFSYNC), which also empties the drive's cache",
     .enters = "pwrite x1 fcntl x1", .family = "fsync", MACOS, .run = MACOS_ONLY(run_full_fsync)},
    {.id = "file.clonefile", .what = "clonefile() of a file of 4 KiB, and unlink() of the clone", .enters = "clonefile x1 unlink x1",
     MACOS, .run = MACOS_ONLY(run_clonefile)},
    {0},
};
#else
const struct operation bsd_operations[] = {{0}};
#endif
