/* socket.c: calls on sockets within one process, so that nothing waits: the cost of the network code itself. */
#include "../probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd;                                          /* a TCP socket bound to a port of 127.0.0.1 */
static struct sockaddr_in address = {.sin_family = AF_INET}; /* its address */

static void setup_bound(void) {
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK((fd = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    CHECK(bind(fd, (struct sockaddr *)&address, length) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
}

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
static void setup_listener(void) {
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setup_bound();
    CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0);
    CHECK(listen(fd, 16) == 0);
}

static void run_connect_accept_close(uint64_t n) {
    LOOP(n) {
        int caller, called;
        CHECK((caller = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
        CHECK(connect(caller, (struct sockaddr *)&address, sizeof address) == 0);
        CHECK((called = accept(fd, NULL, NULL)) >= 0);
        CHECK(close(called) == 0);
        CHECK(close(caller) == 0);
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

/* ---- sending a byte ---- */

static int pair[2];

static void setup_pair(void) { CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0); }

static void run_send_recv(uint64_t n) {
    char byte = 1;
    LOOP(n) {
        CHECK(send(pair[0], &byte, 1, 0) == 1);
        CHECK(recv(pair[1], &byte, 1, 0) == 1);
    }
}

const struct operation socket_operations[] = {
    {.id = "socket.socket_close", .what = "socket() for TCP over IPv4, and close() of it",
     .enters = "socket/socketcall x1 close x1", .systems = "posix", .run = run_socket_close},
    {.id = "socket.connect_accept_close",
     .what = "a TCP connection on 127.0.0.1 within one process: socket(), connect(), accept(), close() of both ends, "
             "by reset",
     .enters = "socket/socketcall x1 connect/socketcall x1 accept/accept4/socketcall x1 close x2", .systems = "posix",
     .setup = setup_listener, .run = run_connect_accept_close},
    {.id = "socket.getsockname", .what = "getsockname() of a bound TCP socket", .enters = "getsockname/socketcall x1",
     .systems = "posix", .setup = setup_bound, .run = run_getsockname},
    {.id = "socket.getsockopt", .what = "getsockopt(SO_RCVBUF) of a TCP socket", .enters = "getsockopt/socketcall x1",
     .systems = "posix", .setup = setup_bound, .run = run_getsockopt},
    {.id = "socket.setsockopt", .what = "setsockopt(SO_REUSEADDR) of a TCP socket",
     .enters = "setsockopt/socketcall x1", .systems = "posix", .setup = setup_bound, .run = run_setsockopt},
    {.id = "socket.send_recv", .what = "send() and recv() of one byte through a unix socketpair() in one process",
     .enters = "sendto/send/socketcall x1 recvfrom/recv/socketcall x1", .systems = "posix", .setup = setup_pair,
     .run = run_send_recv},
    {0},
};
