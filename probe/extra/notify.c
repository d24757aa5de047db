/*
 * notify.c: a supervisor that the kernel asks for each open(), openat() and openat2() of the program (seccomp_unotify(2)), as sandboxes
 * of agents and container managers have it. It permits all of them. Called by confine.c.
 *
 * The supervisor is a helper: it ends when no process is behind the filter any more.
 */
#include "confine.h"
#include "filters.h"

#include "../probe.h"

#ifdef __linux__
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef SECCOMP_USER_NOTIF_FLAG_CONTINUE
/* Larger than the kernel's structures will be for long. */
enum { ROOM = 1024 };

static _Noreturn void answer_all(int listener) {
    static union {
        struct seccomp_notif call;
        char room[ROOM];
    } question;
    struct seccomp_notif_resp answer;
    struct pollfd asked = {.fd = listener, .events = POLLIN};
    for (;;) {
        if (poll(&asked, 1, -1) < 0 && errno != EINTR) _exit(1);
        if (asked.revents & (POLLHUP | POLLERR | POLLNVAL)) _exit(0);
        if (!(asked.revents & POLLIN)) continue;
        memset(&question, 0, sizeof question);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) continue; /* who asked was killed meanwhile */
        memset(&answer, 0, sizeof answer);
        answer.id = question.call.id, answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

/* A message of one byte, with a descriptor. */
union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

static struct msghdr message_of(union control *control) {
    static char byte;
    static struct iovec part = {&byte, 1};
    memset(control, 0, sizeof *control);
    return (struct msghdr){.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control->room};
}

static int supervise(void *pair) {
    const int *ends = pair;
    union control control;
    struct msghdr message = message_of(&control);
    int listener;
    leave_pipes();
    close(ends[1]);
    if (recvmsg(ends[0], &message, 0) != 1 || message.msg_controllen == 0) _exit(1); /* the launcher has ended */
    memcpy(&listener, CMSG_DATA(&control.header), sizeof listener);
    close(ends[0]);
    answer_all(listener);
}

void notify(char **arguments) {
    (void)arguments;
    int ends[2];
    union control control;
    DO(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
    start_untraced(supervise, ends);
    int listener = ask_for_opens();
    struct msghdr message = message_of(&control);
    control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof listener)};
    memcpy(CMSG_DATA(&control.header), &listener, sizeof listener);
    DO(sendmsg(ends[1], &message, 0));
    close(ends[0]), close(ends[1]), close(listener);
}
#else
void notify(char **arguments) {
    (void)arguments;
    fail(ENOSYS, "notifications of a filter, since Linux 5.5");
}
#endif
#endif
