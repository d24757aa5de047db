/* socket.c: calls on sockets within one process, so that nothing waits: the cost of the network code itself. */
#include "../probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd;                                          /* a TCP socket bound to a port of 127.0.0.1 */
static struct sockaddr_in address = {.sin_family = AF_INET}; /* its address */

static int bound(struct sockaddr_in *at) {
    socklen_t length = sizeof *at;
    int made;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK((made = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    CHECK(bind(made, (struct sockaddr *)at, length) == 0);
    CHECK(getsockname(made, (struct sockaddr *)at, &length) == 0);
    return made;
}

static void setup_bound(void) { fd = bound(&address); }

static void run_socket_close(uint64_t n) {
    LOOP(n) {
        int made;
        CHECK((made = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
        CHECK(close(made) == 0);
    }
}

/* ---- connections ---- */

/* The accepted sockets inherit the listener's SO_LINGER of 0 seconds: their close() resets the connection, so that
   none stays in TIME_WAIT; otherwise the ephemeral ports would soon run out. */
static int listening(struct sockaddr_in *at) {
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    int made = bound(at);
    CHECK(setsockopt(made, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    CHECK(listen(made, 16) == 0);
    return made;
}

OWN int listener;
OWN struct sockaddr_in listened = {.sin_family = AF_INET};

static void own_listener(void) { listener = listening(&listened); }

static void run_connect_accept_close(uint64_t n) {
    LOOP(n) {
        int caller, called;
        CHECK((caller = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
        CHECK(connect(caller, (struct sockaddr *)&listened, sizeof listened) == 0);
        CHECK((called = accept(listener, NULL, NULL)) >= 0);
        CHECK(close(called) == 0);
        CHECK(close(caller) == 0);
    }
}

/* ---- one call of a connection alone; all its sockets are closed by reset ---- */

enum { MOST_CONNECTIONS = 16 };
OWN int callers[MOST_CONNECTIONS], called[MOST_CONNECTIONS]; /* -1 for none */

static int new_caller(void) {
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    int caller = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(caller >= 0);
    CHECK(setsockopt(caller, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    return caller;
}

static void own_connections(void) {
    own_listener();
    CHECK(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
    for (int i = 0; i < MOST_CONNECTIONS; i++) callers[i] = called[i] = -1;
}

/* Closes what the last batch has left. Makes as many calls whatever that was (some fail), so that they cancel when
   entries per iteration are counted. */
static void close_connections(void) {
    for (int i = 0; i < MOST_CONNECTIONS; i++) {
        close(accept(listener, NULL, NULL));
        close(called[i]);
        close(callers[i]);
        callers[i] = called[i] = -1;
    }
}

static void prepare_connect(uint64_t n) {
    close_connections();
    for (uint64_t i = 0; i < n; i++) callers[i] = new_caller();
}

static void prepare_accept(uint64_t n) {
    prepare_connect(n);
    for (uint64_t i = 0; i < n; i++) CHECK(connect(callers[i], (struct sockaddr *)&listened, sizeof listened) == 0);
}

static void run_connect(uint64_t n) {
    const int *next = callers;
    LOOP(n) CHECK(connect(*next++, (struct sockaddr *)&listened, sizeof listened) == 0);
}

static void run_accept(uint64_t n) {
    int *next = called;
    LOOP(n) CHECK((*next++ = accept(listener, NULL, NULL)) >= 0);
}

static void prepare_close(uint64_t n) {
    prepare_accept(n);
    run_accept(n);
}

static void run_close(uint64_t n) {
    int *next = called;
    LOOP(n) {
        CHECK(close(*next) == 0);
        *next++ = -1;
    }
}

/* ---- querying and setting options ---- */

static void run_getsockname(uint64_t n) {
    struct sockaddr_in name;
    LOOP(n) {
        socklen_t length = sizeof name;
        CHECK(getsockname(fd, (struct sockaddr *)&name, &length) == 0);
    }
}

static void run_getsockopt(uint64_t n) {
    int value;
    LOOP(n) {
        socklen_t length = sizeof value;
        CHECK(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, &length) == 0);
    }
}

static void run_setsockopt(uint64_t n) {
    int one = 1;
    LOOP(n) CHECK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0);
}

/* ---- sending ---- */

static int pair[2];

static void run_socketpair_close(uint64_t n) {
    LOOP(n) {
        int made[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, made) == 0);
        CHECK(close(made[0]) == 0);
        CHECK(close(made[1]) == 0);
    }
}

static size_t size;
OWN char *buffer;

static void set_size(uint64_t most) { size = (size_t)param_within("size", 1, most); }

static void own_buffer(void) {
    CHECK((buffer = calloc(1, size)) != NULL);
}

static void setup_pair(void) {
    set_size(65536);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
}

static void setup_tcp(void) {
    int one = 1;
    set_size(65536);
    own_listener();
    pair[0] = new_caller();
    CHECK(setsockopt(pair[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    CHECK(connect(pair[0], (struct sockaddr *)&listened, sizeof listened) == 0);
    CHECK((pair[1] = accept(listener, NULL, NULL)) >= 0);
}

static void setup_udp(void) {
    socklen_t length = sizeof address;
    set_size(32768);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK((pair[0] = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
    CHECK((pair[1] = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
    CHECK(bind(pair[1], (struct sockaddr *)&address, length) == 0);
    CHECK(getsockname(pair[1], (struct sockaddr *)&address, &length) == 0);
    CHECK(connect(pair[0], (struct sockaddr *)&address, sizeof address) == 0);
}

static void run_send_recv(uint64_t n) {
    LOOP(n) {
        CHECK(send(pair[0], buffer, size, 0) == (ssize_t)size);
        CHECK(recv(pair[1], buffer, size, MSG_WAITALL) == (ssize_t)size);
    }
}

OWN struct iovec part;
OWN struct msghdr message;

static void own_message(void) {
    own_buffer();
    part = (struct iovec){buffer, size};
    message = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
}

static void run_sendmsg_recvmsg(uint64_t n) {
    LOOP(n) {
        CHECK(sendmsg(pair[0], &message, 0) == (ssize_t)size);
        CHECK(recvmsg(pair[1], &message, MSG_WAITALL) == (ssize_t)size);
    }
}

#define SIZE(most) .params = "size=1:bytes a call, from 1 to " most
#define SEND_RECV .enters = "sendto/send/socketcall x1 recvfrom/recv/socketcall x1"
/* `prepare` of a batch also closes what the last one left: calls that do not depend on the number of iterations. */
#define NEW_CALLERS "socket/socketcall x1 setsockopt/socketcall x1"
#define CONNECTION .systems = "posix", .limit = MOST_CONNECTIONS, .own = own_connections

const struct operation socket_operations[] = {
    {.id = "socket.socket_close", .what = "socket() for TCP over IPv4, and close() of it",
     .enters = "socket/socketcall x1 close x1", .systems = "posix", .run = run_socket_close},
    {.id = "socket.connect_accept_close",
     .what = "a TCP connection on 127.0.0.1 within one process: socket(), connect(), accept(), close() of both ends, "
             "by reset",
     .enters = "socket/socketcall x1 connect/socketcall x1 accept/accept4/socketcall x1 close x2", .systems = "posix",
     .own = own_listener, .run = run_connect_accept_close},
    {.id = "socket.connect", .what = "connect() of a TCP socket to a listener on 127.0.0.1, both ends of the handshake "
     "included; accepted untimed", .enters = "connect/socketcall x1", .prepares = NEW_CALLERS, CONNECTION,
     .prepare = prepare_connect, .run = run_connect},
    {.id = "socket.accept", .what = "accept() of a TCP connection that is waiting, on 127.0.0.1; connected untimed",
     .enters = "accept/accept4/socketcall x1", .prepares = NEW_CALLERS " connect/socketcall x1", CONNECTION,
     .prepare = prepare_accept, .run = run_accept},
    {.id = "socket.close", .what = "close() of one end of a TCP connection on 127.0.0.1, by reset; connected untimed",
     .enters = "close x1", .prepares = NEW_CALLERS " connect/socketcall x1 accept/accept4/socketcall x1", CONNECTION,
     .prepare = prepare_close, .run = run_close},
    {.id = "socket.socketpair_close", .what = "socketpair() of unix stream sockets, and close() of both",
     .enters = "socketpair/socketcall x1 close x2", .systems = "posix", .run = run_socketpair_close},
    {.id = "socket.getsockname", .what = "getsockname() of a bound TCP socket", .enters = "getsockname/socketcall x1",
     .systems = "posix", .setup = setup_bound, .run = run_getsockname},
    {.id = "socket.getsockopt", .what = "getsockopt(SO_RCVBUF) of a TCP socket", .enters = "getsockopt/socketcall x1",
     .systems = "posix", .setup = setup_bound, .run = run_getsockopt},
    {.id = "socket.setsockopt", .what = "setsockopt(SO_REUSEADDR) of a TCP socket",
     .enters = "setsockopt/socketcall x1", .systems = "posix", .setup = setup_bound, .run = run_setsockopt},
    {.id = "socket.send_recv", .what = "send() and recv() of `size` bytes through a unix socketpair() in one process",
     SEND_RECV, SIZE("64K"), .systems = "posix", .setup = setup_pair, .own = own_buffer, .run = run_send_recv},
    {.id = "socket.sendmsg_recvmsg", .what = "sendmsg() and recvmsg() of `size` bytes through a unix socketpair() in "
     "one process", .enters = "sendmsg/socketcall x1 recvmsg/socketcall x1", SIZE("64K"), .systems = "posix",
     .setup = setup_pair, .own = own_message, .run = run_sendmsg_recvmsg},
    {.id = "socket.tcp_send_recv", .what = "send() and recv() of `size` bytes through a TCP connection on 127.0.0.1, "
     "in one process", SEND_RECV, SIZE("64K"), .systems = "posix", .setup = setup_tcp, .own = own_buffer, .run = run_send_recv},
    {.id = "socket.udp_send_recv", .what = "send() and recv() of `size` bytes through UDP sockets on 127.0.0.1, in "
     "one process", SEND_RECV, SIZE("32K"), .systems = "posix", .setup = setup_udp, .own = own_buffer, .run = run_send_recv},
    {0},
};
