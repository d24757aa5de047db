/* An event loop that answers 60000 requests of a peer over a socket pair. */
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2];

static void *peer(void *unused)
{
    char batch[64] = {0};
    for (int i = 0; i < 60000; i += 60)
        if (write(pair[1], batch, 60) != 60 || recv(pair[1], batch, 60, MSG_WAITALL) != 60)
            return "failed";
    return unused;
}

int main(void)
{
    pthread_t thread;
    struct epoll_event wanted = {.events = EPOLLIN}, happened;
    int loop = epoll_create1(0), requests = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || epoll_ctl(loop, EPOLL_CTL_ADD, pair[0], &wanted))
        return 1;
    pthread_create(&thread, 0, peer, 0);
    while (requests < 60000) {
        char request;
        if (epoll_wait(loop, &happened, 1, -1) != 1 || read(pair[0], &request, 1) != 1)
            return 2;
#ifndef FIXED
        wanted.events = EPOLLIN | EPOLLOUT;
        epoll_ctl(loop, EPOLL_CTL_MOD, pair[0], &wanted);
        wanted.events = EPOLLIN;
        epoll_ctl(loop, EPOLL_CTL_MOD, pair[0], &wanted);
#endif
        if (write(pair[0], &request, 1) != 1)
            return 3;
        requests++;
    }
    pthread_join(thread, 0);
    printf("%d\n", requests);
    return 0;
}
