/* event.c: waiting for many descriptors, asking for events, and io_uring. */
#include "../probe.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/io_uring.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#endif

enum {
    WATCHES = 4096, /* events that inotify may have to report; far below the limit of its queue */
    FEW = 500,      /* pipes for whose descriptors the usual limit of 1024 is enough */
};

/* ---- the descriptors to wait for: the reading ends of empty pipes, of which `_one` writes to the last ---- */

static struct pollfd *polled;
static nfds_t polled_used;
OWN struct pollfd *asked; /* a copy: the kernel writes to it */
static int ready; /* how many of them a call must report */

static void allow_descriptors(void) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* Out of the numbers that select() can name. */
static int move_up(int fd) {
    int moved = fcntl(fd, F_DUPFD, FD_SETSIZE);
    CHECK(moved >= 0);
    CHECK(close(fd) == 0);
    return moved;
}

/* Opens `count` pipes; returns the writing end of the last. If they are many, the low numbers are left to the reading ends. */
static int open_pipes(uint64_t count) {
    int ends[2] = {-1, -1};
    allow_descriptors();
    polled = calloc(count + 1, sizeof *polled);
    CHECK(polled != NULL);
    for (polled_used = 0; polled_used < count; polled_used++) {
        CHECK(pipe(ends) == 0);
        if (count > FEW) ends[1] = move_up(ends[1]);
        polled[polled_used] = (struct pollfd){.fd = ends[0], .events = POLLIN};
    }
    return ends[1];
}

static uint64_t wanted(void) { return param_within("fds", 1, 1 << 20); }

static void setup_poll_none(void) { open_pipes(wanted()); }

static void setup_poll_one(void) {
    CHECK(write(open_pipes(wanted()), "x", 1) == 1);
    ready = 1;
}

static void own_polled(void) {
    CHECK((asked = calloc(polled_used, sizeof *asked)) != NULL);
    memcpy(asked, polled, polled_used * sizeof *asked);
}

static void run_poll(uint64_t n) { LOOP(n) CHECK(poll(asked, polled_used, 0) == ready); }

/* ---- select: the set is both input and output, so each call needs a fresh one ---- */

static fd_set selected;
static int selected_end;

static void fill_selected(void) {
    FD_ZERO(&selected);
    for (nfds_t i = 0; i < polled_used; i++) {
        if (polled[i].fd >= FD_SETSIZE) fail(EINVAL, "parameter fds: more than select() can name");
        FD_SET(polled[i].fd, &selected);
        selected_end = polled[i].fd + 1;
    }
}

static void setup_select_none(void) {
    setup_poll_none();
    fill_selected();
}

static void setup_select_one(void) {
    setup_poll_one();
    fill_selected();
}

static void run_select(uint64_t n) {
    LOOP(n) {
        fd_set set = selected;
        struct timeval at_once = {0, 0};
        CHECK(select(selected_end, &set, NULL, NULL, &at_once) == ready);
    }
}

#ifdef __linux__

/* ---- epoll ---- */

static int epoll = -1;

static void change_epoll(int change, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
    CHECK(epoll_ctl(epoll, change, fd, &event) == 0);
}

static void add_to_epoll(void) {
    epoll = epoll_create1(EPOLL_CLOEXEC);
    CHECK(epoll >= 0);
    for (nfds_t i = 0; i < polled_used; i++) change_epoll(EPOLL_CTL_ADD, polled[i].fd);
}

static void setup_epoll_none(void) {
    setup_poll_none();
    add_to_epoll();
}

static void setup_epoll_one(void) {
    setup_poll_one();
    add_to_epoll();
}

/* An epoll instance with `fds` - 1 other pipes, and one pipe that is added and removed. */
OWN int added[2];

static void setup_epoll_add_del(void) {
    open_pipes(wanted() - 1);
    add_to_epoll();
}

static void own_added(void) { CHECK(pipe(added) == 0); }

static void run_epoll_wait(uint64_t n) {
    struct epoll_event events[64];
    LOOP(n) CHECK(epoll_wait(epoll, events, COUNT(events), 0) == ready);
}

static void run_epoll_add_del(uint64_t n) {
    LOOP(n) {
        change_epoll(EPOLL_CTL_ADD, added[0]);
        change_epoll(EPOLL_CTL_DEL, added[0]);
    }
}

static void run_epoll_mod(uint64_t n) { LOOP(n) change_epoll(EPOLL_CTL_MOD, polled[polled_used - 1].fd); }

static void run_epoll_create_close(uint64_t n) {
    LOOP(n) {
        int fd;
        CHECK((fd = epoll_create1(EPOLL_CLOEXEC)) >= 0);
        CHECK(close(fd) == 0);
    }
}

/* ---- inotify: removing a watch is itself an event; the event queue is emptied before each batch ---- */

OWN int inotify;

static void setup_inotify(void) { make_file("file", 0); }

static void own_inotify(void) {
    inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    CHECK(inotify >= 0);
}

static void prepare_inotify(uint64_t n) {
    OWN char queued[WATCHES * sizeof(struct inotify_event)];
    (void)n;
    CHECK(read(inotify, queued, sizeof queued) > 0 || errno == EAGAIN);
}

static void run_inotify_add_rm(uint64_t n) {
    LOOP(n) {
        int watch = inotify_add_watch(inotify, "file", IN_MODIFY);
        CHECK(watch >= 0);
        CHECK(inotify_rm_watch(inotify, watch) == 0);
    }
}

/* ---- io_uring, by its raw system calls and shared memory ---- */

OWN struct {
    int fd;
    unsigned batch;
    struct io_uring_sqe *requests, request; /* every entry of a batch is a copy of `request` */
    unsigned *request_order, *request_tail, *request_mask;
    struct io_uring_cqe *results;
    unsigned *result_head, *result_tail, *result_mask;
    int expected; /* the result of each */
} uring;

static char *map_ring(off_t offset, size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring.fd, offset);
    CHECK(at != MAP_FAILED);
    return at;
}

static void map_rings(const struct io_uring_params *made) {
    const struct io_sqring_offsets *sq = &made->sq_off;
    const struct io_cqring_offsets *cq = &made->cq_off;
    char *requests = map_ring(IORING_OFF_SQ_RING, sq->array + made->sq_entries * sizeof(unsigned));
    char *results = map_ring(IORING_OFF_CQ_RING, cq->cqes + made->cq_entries * sizeof(struct io_uring_cqe));
    uring.requests = (void *)map_ring(IORING_OFF_SQES, made->sq_entries * sizeof(struct io_uring_sqe));
    uring.request_order = (unsigned *)(requests + sq->array);
    uring.request_tail = (unsigned *)(requests + sq->tail);
    uring.request_mask = (unsigned *)(requests + sq->ring_mask);
    uring.results = (struct io_uring_cqe *)(results + cq->cqes);
    uring.result_head = (unsigned *)(results + cq->head);
    uring.result_tail = (unsigned *)(results + cq->tail);
    uring.result_mask = (unsigned *)(results + cq->ring_mask);
}

static void make_uring(void) {
    struct io_uring_params made = {0};
    uring.batch = (unsigned)param_within("batch", 1, 4096);
    uring.fd = (int)syscall(SYS_io_uring_setup, uring.batch, &made);
    if (uring.fd < 0) fail(errno, "io_uring_setup");
    map_rings(&made);
}

static void own_uring_nop(void) {
    make_uring();
    uring.request = (struct io_uring_sqe){.opcode = IORING_OP_NOP};
}

enum { READ = 4096 };

static void setup_uring_read(void) { make_file("file", READ); }

static void own_uring_read(void) {
    OWN char buffer[READ];
    make_uring();
    int fd;
    CHECK((fd = open("file", O_RDONLY | O_CLOEXEC)) >= 0);
    uring.request = (struct io_uring_sqe){
        .opcode = IORING_OP_READ, .fd = fd, .addr = (uintptr_t)buffer, .len = sizeof buffer, .off = 0};
    uring.expected = sizeof buffer;
}

static void put_requests(void) {
    unsigned tail = *uring.request_tail, mask = *uring.request_mask;
    for (unsigned i = 0; i < uring.batch; i++, tail++) {
        uring.requests[tail & mask] = uring.request;
        uring.request_order[tail & mask] = tail & mask;
    }
    __atomic_store_n(uring.request_tail, tail, __ATOMIC_RELEASE);
}

static void take_results(void) {
    unsigned head = *uring.result_head, mask = *uring.result_mask;
    if (__atomic_load_n(uring.result_tail, __ATOMIC_ACQUIRE) - head != uring.batch) fail(EIO, "io_uring's results");
    for (unsigned i = 0; i < uring.batch; i++, head++) {
        int result = uring.results[head & mask].res;
        if (result != uring.expected) fail(result < 0 ? -result : EIO, "a request to io_uring");
    }
    __atomic_store_n(uring.result_head, head, __ATOMIC_RELEASE);
}

static void run_uring(uint64_t n) {
    LOOP(n) {
        put_requests();
        CHECK(syscall(SYS_io_uring_enter, uring.fd, uring.batch, uring.batch, IORING_ENTER_GETEVENTS, NULL, 0) ==
              uring.batch);
        take_results();
    }
}
#endif

#define FDS "fds=1:descriptors waited for"
#define NONE "of the reading ends of `fds` empty pipes, timeout 0: none is ready"
#define ONE "of the reading ends of `fds` pipes, timeout 0: only the last is ready"
#define POLL .enters = "poll/ppoll/ppoll_time64 x1", .params = FDS, .systems = "posix", .family = "poll"
#define SELECT                                                                                                         \
    .enters = "pselect6/select/_newselect/pselect6_time64 x1", .params = FDS " (at most about 1000)",                   \
    .systems = "posix", .family = "poll"
#define EPOLL .enters = "epoll_wait/epoll_pwait x1", .params = FDS, .systems = "linux", .family = "poll"
#define URING                                                                                                          \
    .enters = "io_uring_enter x1", .params = "batch=1:requests per io_uring_enter", .systems = "linux"

const struct operation event_operations[] = {
    {.id = "event.poll_none", .what = "poll() " NONE, POLL, .setup = setup_poll_none, .own = own_polled, .run = run_poll},
    {.id = "event.poll_one", .what = "poll() " ONE, POLL, .setup = setup_poll_one, .own = own_polled, .run = run_poll},
    {.id = "event.select_none", .what = "select() " NONE, SELECT, .setup = setup_select_none, .run = run_select},
    {.id = "event.select_one", .what = "select() " ONE, SELECT, .setup = setup_select_one, .run = run_select},
    {.id = "event.epoll_wait_none", .what = "epoll_wait() " NONE, EPOLL, .setup = LINUX_ONLY(setup_epoll_none),
     .run = LINUX_ONLY(run_epoll_wait)},
    {.id = "event.epoll_wait_one", .what = "epoll_wait() " ONE, EPOLL, .setup = LINUX_ONLY(setup_epoll_one),
     .run = LINUX_ONLY(run_epoll_wait)},
    {.id = "event.epoll_add_del", .what = "epoll_ctl(EPOLL_CTL_ADD) of a pipe to an epoll of `fds` - 1 others, and "
     "EPOLL_CTL_DEL", .enters = "epoll_ctl x2", .params = "fds=1:descriptors with the one that is added",
     .systems = "linux", .setup = LINUX_ONLY(setup_epoll_add_del), .own = LINUX_ONLY(own_added), .run = LINUX_ONLY(run_epoll_add_del)},
    {.id = "event.epoll_mod", .what = "epoll_ctl(EPOLL_CTL_MOD) of one of `fds` empty pipes, to the events that it has",
     .enters = "epoll_ctl x1", .params = FDS, .systems = "linux", .setup = LINUX_ONLY(setup_epoll_none),
     .run = LINUX_ONLY(run_epoll_mod)},
    {.id = "event.epoll_create_close", .what = "epoll_create1() and close()", .enters = "epoll_create1 x1 close x1",
     .systems = "linux", .run = LINUX_ONLY(run_epoll_create_close)},
    {.id = "event.inotify_add_rm", .what = "inotify_add_watch() of a file, and inotify_rm_watch(), which "
     "queues an event", .enters = "inotify_add_watch x1 inotify_rm_watch x1", .systems = "linux", .limit = WATCHES,
     .setup = LINUX_ONLY(setup_inotify), .own = LINUX_ONLY(own_inotify), .prepare = LINUX_ONLY(prepare_inotify),
     .run = LINUX_ONLY(run_inotify_add_rm)},
    {.id = "event.uring_nop", .what = "an io_uring_enter that submits `batch` no-ops and returns when they are done",
     URING, .own = LINUX_ONLY(own_uring_nop), .run = LINUX_ONLY(run_uring)},
    {.id = "event.uring_read", .what = "an io_uring_enter that submits `batch` reads of 4 KiB of a file in the page "
     "cache and returns when they are done (by threads of the kernel, if the file system cannot but wait)", URING,
     .setup = LINUX_ONLY(setup_uring_read), .own = LINUX_ONLY(own_uring_read), .run = LINUX_ONLY(run_uring)},
    {0},
};
