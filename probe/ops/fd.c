/* fd.c: calls on the descriptor itself: creating, duplicating and closing it, its flags and its position. */
#include "../probe.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/syscall.h>
#endif

enum { MOST_OPEN = 256 };

/* ---- on a regular file ---- */

static int file, copy;

static void setup_file(void) {
    make_file("file", 4096);
    CHECK((file = open("file", O_RDWR | O_CLOEXEC)) >= 0);
}

static void setup_two(void) {
    setup_file();
    CHECK((copy = dup(file)) >= 0);
}

#ifdef __linux__
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

OWN uint64_t copies;

static void own_copies(void) {
    copies = param_within("fds", 1, MOST_OPEN);
    if (is_shared()) CHECK(unshare(CLONE_FILES) == 0); /* or other threads' descriptors would lie in the range */
}

/* Each copy gets the lowest free number: they are a range. */
static void run_close_range(uint64_t n) {
    LOOP(n) {
        int first, last;
        CHECK((first = last = dup(file)) >= 0);
        for (uint64_t i = 1; i < copies; i++) CHECK((last = dup(file)) > first);
        CHECK(syscall(SYS_close_range, first, last, 0) == 0);
    }
}
#endif

static void run_dup_close(uint64_t n) {
    int fd;
    LOOP(n) {
        CHECK((fd = dup(file)) >= 0);
        CHECK(close(fd) == 0);
    }
}

static void run_dup2(uint64_t n) { LOOP(n) CHECK(dup2(file, copy) == copy); }

static void run_fcntl_getfl(uint64_t n) { LOOP(n) CHECK((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDWR); }

static void run_fcntl_setfd(uint64_t n) { LOOP(n) CHECK(fcntl(file, F_SETFD, FD_CLOEXEC) == 0); }

/* The first byte of the file: taken, and given back. */
static void run_fcntl_lock(uint64_t n) {
    struct flock lock = {.l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    LOOP(n) {
        lock.l_type = F_WRLCK;
        CHECK(fcntl(file, F_SETLK, &lock) == 0);
        lock.l_type = F_UNLCK;
        CHECK(fcntl(file, F_SETLK, &lock) == 0);
    }
}

static void run_flock(uint64_t n) {
    LOOP(n) {
        CHECK(flock(file, LOCK_EX) == 0);
        CHECK(flock(file, LOCK_UN) == 0);
    }
}

#ifdef __linux__
OWN struct termios settings;

static void run_ioctl_enotty(uint64_t n) { LOOP(n) CHECK(ioctl(file, TCGETS, &settings) == -1 && errno == ENOTTY); }
#endif

static void run_lseek(uint64_t n) { LOOP(n) CHECK(lseek(file, 1024, SEEK_SET) == 1024); }

/* ---- close() only: the descriptors of a batch are created before it ---- */

OWN int opened[MOST_OPEN];

static void prepare_close(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) CHECK((opened[i] = dup(file)) >= 0);
}

static void run_close(uint64_t n) {
    const int *next = opened;
    LOOP(n) CHECK(close(*next++) == 0);
}

static void setup_close_bad(void) {
    setup_two();
    CHECK(close(copy) == 0);
}

static void run_close_bad(uint64_t n) { LOOP(n) CHECK(close(copy) == -1 && errno == EBADF); }

/* ---- descriptors that are no files ---- */

static void run_pipe_close(uint64_t n) {
    int ends[2];
    LOOP(n) {
        CHECK(pipe(ends) == 0);
        CHECK(close(ends[0]) == 0);
        CHECK(close(ends[1]) == 0);
    }
}

static int full_pipe[2];

static void setup_fionread(void) {
    CHECK(pipe(full_pipe) == 0);
    CHECK(write(full_pipe[1], "1234", 4) == 4);
}

static void run_ioctl_fionread(uint64_t n) {
    int waiting;
    LOOP(n) CHECK(ioctl(full_pipe[0], FIONREAD, &waiting) == 0 && waiting == 4);
}

#ifdef __linux__
/* A pseudo-terminal of its own; its other end stays open, or it would hang up. */
static int terminal;

static void setup_terminal(void) {
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    CHECK(master >= 0);
    CHECK(grantpt(master) == 0 && unlockpt(master) == 0);
    CHECK((terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC)) >= 0);
}

static void run_ioctl_tcgets(uint64_t n) { LOOP(n) CHECK(ioctl(terminal, TCGETS, &settings) == 0); }

static void run_ioctl_winsize(uint64_t n) {
    struct winsize window;
    LOOP(n) CHECK(ioctl(terminal, TIOCGWINSZ, &window) == 0);
}

static void run_eventfd_close(uint64_t n) {
    int fd;
    LOOP(n) {
        CHECK((fd = eventfd(0, EFD_CLOEXEC)) >= 0);
        CHECK(close(fd) == 0);
    }
}
#endif

const struct operation fd_operations[] = {
    {.id = "fd.dup_close", .what = "dup() of a regular file's descriptor and close() of the copy",
     .enters = "dup x1 close x1", .systems = "posix", .setup = setup_file, .run = run_dup_close},
    {.id = "fd.close_range", .what = "`fds` dup() of a regular file's descriptor, and close_range() of all copies",
     .enters = "dup x{fds} close_range x1", .params = "fds=16:descriptors that one call closes, from 1 to 256",
     .systems = "linux", .setup = setup_file, .own = LINUX_ONLY(own_copies), .run = LINUX_ONLY(run_close_range)},
    {.id = "fd.dup2", .what = "dup2() onto an open descriptor of the same file, which it closes",
     .enters = "dup2/dup3 x1", .systems = "posix", .setup = setup_two, .run = run_dup2},
    {.id = "fd.fcntl_getfl", .what = "fcntl(F_GETFL) of a regular file", .enters = "fcntl/fcntl64 x1",
     .systems = "posix", .setup = setup_file, .run = run_fcntl_getfl},
    {.id = "fd.fcntl_setfd", .what = "fcntl(F_SETFD, FD_CLOEXEC), which is already set", .enters = "fcntl/fcntl64 x1",
     .systems = "posix", .setup = setup_file, .run = run_fcntl_setfd},
    {.id = "fd.fcntl_lock", .what = "fcntl(F_SETLK) that locks a byte of a regular file for writing, and one that "
     "unlocks it", .enters = "fcntl/fcntl64 x2", .systems = "posix", .family = "lock_file", .setup = setup_file,
     .run = run_fcntl_lock},
    {.id = "fd.flock", .what = "flock() that locks a regular file for itself alone, and one that unlocks it",
     .enters = "flock x2", .systems = "posix", .family = "lock_file", .setup = setup_file, .run = run_flock},
    {.id = "fd.ioctl_enotty", .what = "ioctl(TCGETS) of a regular file, as isatty() does: fails with ENOTTY",
     .enters = "ioctl x1", .systems = "linux", .setup = setup_file, .run = LINUX_ONLY(run_ioctl_enotty)},
    {.id = "fd.ioctl_tcgets", .what = "ioctl(TCGETS) of a pseudo-terminal: its settings", .enters = "ioctl x1",
     .systems = "linux", .setup = LINUX_ONLY(setup_terminal), .run = LINUX_ONLY(run_ioctl_tcgets)},
    {.id = "fd.ioctl_winsize", .what = "ioctl(TIOCGWINSZ) of a pseudo-terminal: its rows and columns",
     .enters = "ioctl x1", .systems = "linux", .setup = LINUX_ONLY(setup_terminal),
     .run = LINUX_ONLY(run_ioctl_winsize)},
    {.id = "fd.ioctl_fionread", .what = "ioctl(FIONREAD) of a pipe that holds 4 bytes", .enters = "ioctl x1",
     .systems = "posix", .setup = setup_fionread, .run = run_ioctl_fionread},
    {.id = "fd.lseek", .what = "lseek() to an absolute position in a regular file", .enters = "lseek/_llseek x1",
     .systems = "posix", .setup = setup_file, .run = run_lseek},
    {.id = "fd.pipe_close", .what = "pipe() and close() of both ends", .enters = "pipe2/pipe x1 close x2",
     .systems = "posix", .run = run_pipe_close},
    {.id = "fd.eventfd_close", .what = "eventfd() and close()", .enters = "eventfd2 x1 close x1", .systems = "linux",
     .run = LINUX_ONLY(run_eventfd_close)},
    {.id = "fd.close", .what = "close() of a descriptor whose file stays open by another one (made by dup, untimed)",
     .enters = "close x1", .prepares = "dup x1", .systems = "posix", .limit = MOST_OPEN, .setup = setup_file,
     .prepare = prepare_close, .run = run_close},
    {.id = "fd.close_bad", .what = "close() of a descriptor that was closed before: fails with EBADF",
     .enters = "close x1", .systems = "posix", .setup = setup_close_bad, .run = run_close_bad},
    {0},
};
