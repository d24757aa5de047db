/* further NAME: programs that were written when the rules were done, and judged once. Those with a fault are built twice. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef FIXED
#define FIXED_IS 1
#else
#define FIXED_IS 0
#endif

static unsigned long work(unsigned long x, long n)
{
    while (n--)
        x = x * 6364136223846793005UL + 1442695040888963407UL;
    return x;
}

/* A small compiler writes 60000 instructions into memory that may not be writable while it is executable. */
static unsigned long emitter(void)
{
    char *code = mmap(0, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 60000; i++) {
        if (!FIXED_IS || i == 0)
            mprotect(code, 65536, PROT_READ | PROT_WRITE);
        code[i] = (char)work(i, 20);
        if (!FIXED_IS || i == 59999)
            mprotect(code, 65536, PROT_READ | PROT_EXEC);
    }
    return (unsigned char)code[777];
}

/* The same, a block of its own for each of 300 functions, which take time to compile. */
static unsigned long functions(void)
{
    unsigned long x = 1;
    for (int i = 0; i < 300; i++) {
        char *code = mmap(0, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int j = 0; j < 16384; j += 8)
            x = *(unsigned long *)(code + j) = work(x, 60);
        mprotect(code, 16384, PROT_READ | PROT_EXEC);
    }
    return x;
}

static int bound(int kind, struct sockaddr_in *at)
{
    socklen_t size = sizeof *at;
    int fd = socket(AF_INET, kind, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bind(fd, (struct sockaddr *)at, size);
    getsockname(fd, (struct sockaddr *)at, &size);
    return fd;
}

/* 100000 readings go out as datagrams of 48 bytes, which nobody waits for. */
static unsigned long readings(void)
{
    struct sockaddr_in at;
    int in = bound(SOCK_DGRAM, &at), out = socket(AF_INET, SOCK_DGRAM, 0);
    char text[48] = "reading";
    struct iovec part = {text, sizeof text};
    struct mmsghdr many[100];
    for (int i = 0; i < 100; i++)
        many[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &at, .msg_namelen = sizeof at, .msg_iov = &part, .msg_iovlen = 1}};
    for (int i = 0; i < 100000; i += FIXED_IS ? 100 : 1) {
        if (FIXED_IS)
            sendmmsg(out, many, 100, 0);
        else
            sendto(out, text, sizeof text, 0, (struct sockaddr *)&at, sizeof at);
    }
    return in;
}

/* Two processes play: each datagram is the answer to the one before. */
static unsigned long game(void)
{
    struct sockaddr_in one, two;
    int a = bound(SOCK_DGRAM, &one), b = bound(SOCK_DGRAM, &two);
    connect(a, (struct sockaddr *)&two, sizeof two);
    connect(b, (struct sockaddr *)&one, sizeof one);
    pid_t child = fork();
    unsigned long move = 1;
    if (child && send(a, &move, sizeof move, 0) < 0)
        return 0;
    for (int i = 0; i < 8000 && recv(child ? a : b, &move, sizeof move, 0) > 0; i++) {
        move = work(move, 500);
        send(child ? a : b, &move, sizeof move, 0);
    }
    if (!child)
        _exit(0);
    wait(0);
    return move;
}

/* A client asks 4000 questions, on a new connection each; or, as `doors`, looks once at each of 15 servers. */
static unsigned long questions(int servers)
{
    struct sockaddr_in at[15];
    int listener[15], fd = -1;
    unsigned long x = 1;
    for (int i = 0; i < servers; i++)
        listen(listener[i] = bound(SOCK_STREAM, &at[i]), 64);
    pid_t child = fork();
    for (int i = 0; i < (servers > 1 ? servers : 4000); i++) {
        int s = i % servers;
        if (fd < 0 || !FIXED_IS || servers > 1) {
            if (fd >= 0)
                close(fd);
            if (child)
                connect(fd = socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&at[s], sizeof at[s]);
            else
                fd = accept(listener[s], 0, 0);
        }
        if (child && write(fd, &x, sizeof x) < 0)
            return 0;
        if (read(fd, &x, sizeof x) < 0)
            return 0;
        x = work(x, servers > 1 ? 20000000 / servers : 1);
        if (!child && write(fd, &x, sizeof x) < 0)
            return 0;
    }
    if (!child)
        _exit(0);
    wait(0);
    return x;
}

/* A budget of CPU time is looked at after each of 200000 steps, or of 150 large ones. */
static unsigned long budget(long steps, long size)
{
    struct rusage used;
    unsigned long x = 1;
    for (long i = 0; i < steps; i++) {
        x = work(x, size);
        if (!FIXED_IS || i % 1000 == 0)
            getrusage(RUSAGE_SELF, &used);
    }
    return x + (used.ru_utime.tv_sec > 100);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    unsigned long x = !strcmp(name, "emitter")     ? emitter()
                      : !strcmp(name, "functions") ? functions()
                      : !strcmp(name, "readings")  ? readings()
                      : !strcmp(name, "game")      ? game()
                      : !strcmp(name, "questions") ? questions(1)
                      : !strcmp(name, "doors")     ? questions(15)
                      : !strcmp(name, "budget")    ? budget(200000, 100)
                                                   : budget(150, 1000000);
    printf("%lu\n", x);
    return 0;
}
