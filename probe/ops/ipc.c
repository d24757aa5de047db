/* ipc.c: a message to another process and back, by every mechanism for two processes. The partner echoes what it
   receives and exits at the end of its input. Everything with a descriptor shares one body: only the setups differ. */
#include "../probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#ifdef __linux__
#include <mqueue.h>
#include <sys/eventfd.h>
#define LINUX_ONLY(hook) hook
#else
#define LINUX_ONLY(hook) NULL
#endif

/* A message of MOST_BYTES fits into the buffers of every kind, so that one call sends it and one receives it. */
enum { MOST_BYTES = 16384, MOST_PROCESSES = 1024 };

struct end {
    int in, out;
};

/* With `shared`, each thread has partners of its own, but those of a message queue. */
OWN struct end mine, its; /* the descriptors of this process and of its partner */
OWN char data[MOST_BYTES];
OWN size_t size;
OWN pid_t partners[MOST_PROCESSES];
OWN size_t partners_used;

static void set_size(void) { size = (size_t)param_within("size", 1, sizeof data); }

/* A partner that has exited must be an error, not a signal. */
static void start(void (*body)(void)) {
    signal(SIGPIPE, SIG_IGN);
    partners[partners_used] = start_partner(body);
    partners_used++;
}

static void teardown(void) {
    while (partners_used > 0) stop_partner(partners[--partners_used]);
}

/* ---- bytes through descriptors ---- */

/* Whether `size` bytes were received; 0 at the end of input. */
static int receive(int fd) {
    size_t received = 0;
    while (received < size) {
        ssize_t got = read(fd, data + received, size - received);
        CHECK(got >= 0);
        if (got == 0) return 0;
        received += (size_t)got;
    }
    return 1;
}

static void run_bytes(uint64_t n) {
    LOOP(n) {
        CHECK(write(mine.out, data, size) == (ssize_t)size);
        if (!receive(mine.in)) fail(0, "the partner process has ended");
    }
}

static void close_end(struct end end) {
    CHECK(close(end.in) == 0);
    if (end.out != end.in) CHECK(close(end.out) == 0);
}

static void echo_bytes(void) {
    close_end(mine);
    while (receive(its.in)) CHECK(write(its.out, data, size) == (ssize_t)size);
}

/* Once the partner has answered, it has started. */
static void start_echo(void) {
    start(echo_bytes);
    close_end(its);
    run_bytes(1);
}

static void start_echo_on(int fd, int partner_fd) {
    mine = (struct end){fd, fd};
    its = (struct end){partner_fd, partner_fd};
    start_echo();
}

static void make_pipe(int *in, int *out) {
    int fds[2];
    CHECK(pipe(fds) == 0);
    *in = fds[0];
    *out = fds[1];
}

static void own_pipe(void) {
    set_size();
    make_pipe(&its.in, &mine.out);
    make_pipe(&mine.in, &its.out);
    start_echo();
}

#ifdef __linux__
/* The 8 bytes of an eventfd are a number that write() adds to and read() takes. */
static void own_eventfd(void) {
    uint64_t one = 1;
    size = sizeof one;
    memcpy(data, &one, size);
    CHECK((mine.out = its.in = eventfd(0, 0)) >= 0);
    CHECK((mine.in = its.out = eventfd(0, 0)) >= 0);
    struct end copies = {dup(its.in), dup(its.out)}; /* each process closes the other's descriptors */
    CHECK(copies.in >= 0 && copies.out >= 0);
    its = copies;
    start_echo();
}
#endif

/* ---- sockets ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_un un;
};

/* A socket bound to the file `path`; if that is NULL, to a port of 127.0.0.1 that the kernel chooses. */
static int bound_socket(int type, const char *path, union address *address, socklen_t *length) {
    memset(address, 0, sizeof *address);
    if (path) {
        address->un.sun_family = AF_UNIX;
        strcpy(address->un.sun_path, own_name(path));
        *length = sizeof address->un;
    } else {
        address->in.sin_family = AF_INET;
        address->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        *length = sizeof address->in;
    }
    int fd;
    CHECK((fd = socket(address->any.sa_family, type, 0)) >= 0);
    CHECK(bind(fd, &address->any, *length) == 0);
    CHECK(getsockname(fd, &address->any, length) == 0);
    return fd;
}

static void own_socketpair(void) {
    int fds[2];
    set_size();
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    start_echo_on(fds[0], fds[1]);
}

/* Small messages are sent at once; closing resets the connection, which leaves nothing in TIME_WAIT. */
static void set_up_tcp(int fd) {
    int one = 1;
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
}

static void setup_stream(const char *path) {
    union address address;
    socklen_t length;
    set_size();
    int listener = bound_socket(SOCK_STREAM, path, &address, &length), caller, called;
    CHECK(listen(listener, 1) == 0);
    CHECK((caller = socket(address.any.sa_family, SOCK_STREAM, 0)) >= 0);
    CHECK(connect(caller, &address.any, length) == 0);
    CHECK((called = accept(listener, NULL, NULL)) >= 0);
    CHECK(close(listener) == 0);
    if (!path) set_up_tcp(caller);
    if (!path) set_up_tcp(called);
    start_echo_on(caller, called);
}

static void setup_datagram(const char *path, const char *partner_path) {
    union address a, b;
    socklen_t a_length, b_length;
    set_size();
    int one = bound_socket(SOCK_DGRAM, path, &a, &a_length);
    int other = bound_socket(SOCK_DGRAM, partner_path, &b, &b_length);
    CHECK(connect(one, &b.any, b_length) == 0);
    CHECK(connect(other, &a.any, a_length) == 0);
    start_echo_on(one, other);
}

static void own_unix_stream(void) { setup_stream("stream"); }
static void own_tcp(void) { setup_stream(NULL); }
static void own_unix_datagram(void) { setup_datagram("datagram-0", "datagram-1"); }
static void own_udp(void) { setup_datagram(NULL, NULL); }

/* ---- message queues ---- */

static int queue = -1;
OWN struct {
    long type; /* 1: to the partner, 2: from it */
    char data[MOST_BYTES];
} message;

static void send_sysv(long type) {
    message.type = type;
    CHECK(msgsnd(queue, &message, size, 0) == 0);
}

static void receive_sysv(long type) { CHECK(msgrcv(queue, &message, sizeof message.data, type, 0) == (ssize_t)size); }

static void echo_sysv(void) {
    for (;;) {
        receive_sysv(1);
        send_sysv(2);
    }
}

static void run_sysv_queue(uint64_t n) {
    LOOP(n) {
        send_sysv(1);
        receive_sysv(2);
    }
}

static int make_queue(key_t key) { return msgget(key, IPC_CREAT | IPC_EXCL | 0600); }

static void setup_sysv_queue(void) {
    set_size();
    CHECK((queue = make_object(make_queue)) >= 0);
    start(echo_sysv);
    run_sysv_queue(1);
}

static void teardown_sysv_queue(void) {
    teardown();
    if (queue >= 0) msgctl(queue, IPC_RMID, NULL);
}

#ifdef __linux__
static mqd_t asked, answered;

/* The name is free again at once: the queue exists until its last descriptor is closed. */
static mqd_t open_queue(void) {
    enum { ATTEMPTS = 1000 };
    struct mq_attr form = {.mq_maxmsg = 1, .mq_msgsize = (long)size};
    mqd_t opened = (mqd_t)-1;
    const char *name;
    for (int i = 0; i < ATTEMPTS; i++) {
        name = queue_name(i);
        opened = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &form);
        if (opened != (mqd_t)-1 || errno != EEXIST) break;
    }
    CHECK(opened != (mqd_t)-1);
    CHECK(mq_unlink(name) == 0);
    return opened;
}

static void echo_posix(void) {
    for (;;) {
        CHECK(mq_receive(asked, data, size, NULL) == (ssize_t)size);
        CHECK(mq_send(answered, data, size, 0) == 0);
    }
}

static void run_posix_queue(uint64_t n) {
    LOOP(n) {
        CHECK(mq_send(asked, data, size, 0) == 0);
        CHECK(mq_receive(answered, data, size, NULL) == (ssize_t)size);
    }
}

static void setup_posix_queue(void) {
    set_size();
    asked = open_queue();
    answered = open_queue();
    start(echo_posix);
    run_posix_queue(1);
}
#endif

/* ---- the ring ---- */

OWN volatile uint64_t *working_set;
OWN size_t working_words;

/* Every process of the ring has pages of its own: they are written to after fork(). */
static void make_working_set(void) {
    size_t bytes = param_memory("ws", 1 << 10, param("procs"));
    if (bytes == 0) return;
    CHECK((working_set = malloc(bytes)) != NULL);
    memset((void *)working_set, 1, bytes);
    working_words = bytes / sizeof *working_set;
}

static void read_working_set(void) {
    for (size_t i = 0; i < working_words; i += 64 / sizeof *working_set) (void)working_set[i];
}

static void pass_on(void) {
    close_end(mine);
    make_working_set();
    while (receive(its.in)) {
        read_working_set();
        CHECK(write(its.out, data, size) == (ssize_t)size);
    }
}

static void run_ring(uint64_t n) {
    LOOP(n) {
        read_working_set();
        CHECK(write(mine.out, data, size) == (ssize_t)size);
        if (!receive(mine.in)) fail(0, "a process of the ring has ended");
    }
}

/* Each partner reads from the process before it; the pipe of the last one leads back to this process. */
static void own_ring(void) {
    uint64_t processes = param_within("procs", 1, MOST_PROCESSES);
    param_memory("ws", 1 << 10, processes); /* checked here, not by each process */
    size = 1;
    make_pipe(&mine.in, &mine.out);
    for (uint64_t i = 1; i < processes; i++) {
        its.in = mine.in;
        make_pipe(&mine.in, &its.out);
        start(pass_on);
        close_end(its);
    }
    make_working_set();
    run_ring(1);
}

#define SIZE "size=1:bytes each way, at most 16K"
#define QUEUE_SIZE SIZE " and the system's limit, which is 8K unless set otherwise"
#define ROUND_TRIP(name, text, enter, parameters, where, begin, mine, body, end)                                             \
    {.id = "ipc." name, .what = text, .enters = enter, .params = parameters, .systems = where, .family = "round_trip", \
     .flags = SWITCHES, .setup = begin, .own = mine, .run = body, .teardown = end}
#define BY_BYTES(name, text, begin)                                                                                    \
    ROUND_TRIP(name, "`size` bytes to another process and back " text, "write x2 read x2", SIZE, "posix", NULL,        \
               begin, run_bytes, teardown)

const struct operation ipc_operations[] = {
    BY_BYTES("pipe", "through two pipes", own_pipe),
    BY_BYTES("socketpair", "through a socketpair() of unix stream sockets", own_socketpair),
    BY_BYTES("unix_stream", "through unix stream sockets connected by a name in the working directory",
             own_unix_stream),
    BY_BYTES("unix_datagram", "through connected unix datagram sockets with names in the working directory",
             own_unix_datagram),
    BY_BYTES("tcp", "through a TCP connection on 127.0.0.1 with TCP_NODELAY", own_tcp),
    BY_BYTES("udp", "through connected UDP sockets on 127.0.0.1", own_udp),
    ROUND_TRIP("eventfd", "a count of 1 to another process and back through two eventfds", "write x2 read x2", NULL,
               "linux", NULL, LINUX_ONLY(own_eventfd), LINUX_ONLY(run_bytes), LINUX_ONLY(teardown)),
    ROUND_TRIP("sysv_queue", "`size` bytes to another process and back through one System V message queue",
               "msgsnd/ipc x2 msgrcv/ipc x2", QUEUE_SIZE, "posix", setup_sysv_queue, set_size, run_sysv_queue,
               teardown_sysv_queue),
    ROUND_TRIP("posix_queue", "`size` bytes to another process and back through two POSIX message queues",
               "mq_timedsend/mq_timedsend_time64 x2 mq_timedreceive/mq_timedreceive_time64 x2", QUEUE_SIZE,
               "linux", LINUX_ONLY(setup_posix_queue), set_size, LINUX_ONLY(run_posix_queue), LINUX_ONLY(teardown)),
    ROUND_TRIP("ring", "a byte once round `procs` processes and pipes; each reads its memory, then passes the byte on",
               "write x{procs} read x{procs}",
               "procs=2:processes in the ring, at most 1024; ws=0:KiB of memory that each reads, a word in 64 bytes",
               "posix", NULL, own_ring, run_ring, teardown),
    {0},
};
