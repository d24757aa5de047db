/* An event loop with 8000 clients, each of which connects, sends one request, gets an answer and leaves. */
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    int loop = epoll_create1(0), answered = 0;
    for (int i = 0; i < 8000; i += 8) {
        int clients[8][2];
        for (int c = 0; c < 8; c++) {
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, clients[c]))
                return 1;
            struct epoll_event wanted = {.events = EPOLLIN, .data.u32 = c};
            epoll_ctl(loop, EPOLL_CTL_ADD, clients[c][0], &wanted);
            if (write(clients[c][1], "request", 7) != 7)
                return 2;
        }
        for (int left = 8; left > 0;) {
            struct epoll_event happened[8];
            int ready = epoll_wait(loop, happened, 8, -1);
            for (int r = 0; r < ready; r++) {
                char request[16];
                int c = happened[r].data.u32, one = clients[c][0];
                ssize_t length = read(one, request, sizeof request);
                unsigned x = i + c + 1;
                for (int work = 0; work < 5000; work++)
                    x = x * 1664525u + 1013904223u;
                answered += length == 7 && x && write(one, "answer", 6) == 6;
                epoll_ctl(loop, EPOLL_CTL_DEL, one, 0);
                close(one);
                close(clients[c][1]);
            }
            left -= ready;
        }
    }
    printf("%d\n", answered);
    return 0;
}
