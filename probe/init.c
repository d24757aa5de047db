/*
 * init.c: a guest's first process: prepares a bare kernel for operations, then serves several probes over one console.
 * Nothing here is measured. Calls ground.c.
 *
 * Lines on the console that begin with @ are the protocol, all others are the kernel's messages. `@N TEXT` is a line of
 * channel N, to it or from it. In a machine, the secret of the run is between @ and N: a program that writes to the console cannot
 * answer for a channel. It is the first line of the question (question.h), with the way that channels are confined (confined.h) behind
 * a space, if any, and what follows is a plan: first lines to channels, which
 * start one after the other by themselves, numbered from 1. The first line to a channel starts its process, which then speaks the
 * probe's protocol.
 *
 *       < @0 guest 6.1.0-54-cloud-amd64      the guest has settled
 *       > @1 op id.getppid
 *       < @1 ready pid=63 ...
 *       > @0 close 1                         end of input for channel 1
 *       < @1 ended exit status 0             also without `close`, if it ends by itself; the channel may start again
 *       > @2 run snippet-0                   another program of the root directory, which speaks the protocol on 3 and 4
 *       > @3 trace op id.getppid             or `trace run ...`: a line of kernel entries follows each reply (entries.h)
 *       < @3 ready pid=65 ...
 *       < @3 entries c000003e:0=1 ...
 *       > @5 count 0 own op id.getppid       or `count 0 own run ...`: counts its instructions (count.h)
 *       < @5 counted 192 768 63291:252747 ...
 *       > @4 program                         runs a command of the user's (program.c)
 *       > @0 kill 1                          kills it; `ended` follows
 *       > @0 read /proc/cmdline              the lines of a file
 *       < @0 : console=ttyS0 quiet
 *       < @0 end                             or: @0 error ENOENT /proc/cmdline: No such file or directory
 *       > @0 write 0 /proc/sys/kernel/kptr_restrict
 *       < @0 end
 *       > @0 kallsyms                        the kernel's functions: how far behind the one before, and name; takes seconds
 *       < @0 : ffffffff81000000 _text 50 secondary_startup_64
 *       < @0 end
 *       > @0 poweroff
 *
 * The kernel's command line may set SYSCOST_SETTLE_S, the seconds to wait before the guest counts as settled; SYSCOST_TMPFS, options
 * of the file system that operations work in; SYSCOST_DISK, the type of the one on the machine's disk, which takes its place;
 * SYSCOST_AUDIT_RULES, rules of audit that each call is compared with and none matches; and SYSCOST_KEPT, that the state of the
 * machine may be kept: without a question in a file, `@0 quiet` is said once it has settled, and it goes on when a question is in
 * the device.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "init.h"
#include "confined.h"
#include "count.h"
#include "entries.h"
#include "ground.h"
#include "program.h"
#include "question.h"

#include <string.h>

#ifndef __linux__
#include <stdlib.h>
int is_guest(int argc, char **argv) { return (void)argc, (void)argv, 0; }
_Noreturn void be_init(int (*serve)(void), int (*launch)(char **)) { (void)launch, exit(serve()); }
#else
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/random.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CHANNELS = 4096, MOST_OF_LINE = 8192 };

/* What a channel's first line may begin with. */
#define RUN "run "
#define TRACE "trace "
#define COUNTED "count "
#define PROGRAM "program"

struct lines {
    char text[MOST_OF_LINE];
    size_t used;
};

struct channel {
    pid_t pid; /* 0: none */
    int to, from;
    struct lines lines;
};

static struct channel *channels[MOST_CHANNELS]; /* by number; 0 is init itself */

int is_guest(int argc, char **argv) {
    return (getpid() == 1 && strcmp(argv[0], "/init") == 0) || (argc == 2 && strcmp(argv[1], "--init") == 0);
}

/* ---- the end ---- */

static _Noreturn void power_off(void) {
    if (getpid() != 1) _exit(0);
    tcdrain(STDOUT_FILENO);
    reboot(RB_POWER_OFF);
    reboot(RB_AUTOBOOT); /* without a way to power off; the emulator ends at a reboot */
    for (;;) pause();
}

/* ---- the console ---- */

static void put(const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, text, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) power_off();
        text += written;
        length -= (size_t)written;
    }
}

static char beginning[64] = "@"; /* of the protocol's lines */

__attribute__((format(printf, 2, 3))) static void say(size_t channel, const char *format, ...) {
    char line[MOST_OF_LINE + 96];
    va_list arguments;
    int used = snprintf(line, sizeof line, "%s%zu ", beginning, channel);
    va_start(arguments, format);
    used += vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    va_end(arguments);
    if (used > (int)sizeof line - 2) used = sizeof line - 2;
    line[used] = '\n';
    put(line, (size_t)used + 1);
}

static void say_error(const char *what) {
    int error = errno;
    say(0, "error %s %s: %s", errno_name(error), what, strerror(error));
}

/* As a line discipline for people it would echo, and translate line ends. */
static void make_raw(void) {
    struct termios settings;
    if (tcgetattr(STDIN_FILENO, &settings) != 0) return;
    cfmakeraw(&settings);
    settings.c_cflag |= CLOCAL;
    tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

/* Reads what there is and calls `line` for each whole line. 0 at the end of input. */
static int read_lines(int fd, struct lines *lines, void (*line)(size_t, char *), size_t channel) {
    ssize_t got = read(fd, lines->text + lines->used, sizeof lines->text - lines->used);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return 1;
    if (got <= 0) return 0;
    lines->used += (size_t)got;
    char *start = lines->text, *end;
    while ((end = memchr(start, '\n', (size_t)(lines->text + lines->used - start)))) {
        *end = '\0';
        line(channel, start);
        start = end + 1;
    }
    lines->used -= (size_t)(start - lines->text);
    memmove(lines->text, start, lines->used);
    return lines->used < sizeof lines->text; /* a line that does not fit is no line */
}

/* ---- what operations expect of a system ---- */

static void mount_all(void) {
    static const struct { const char *type, *at; } mounts[] = {
        {"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}, {"tmpfs", "/tmp"}, {"tmpfs", "/dev/shm"},
        {"devpts", "/dev/pts"}, {"mqueue", "/dev/mqueue"}, {"tmpfs", "/run"},
    };
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        mkdir(mounts[i].at, 0755);
        mount(mounts[i].type, mounts[i].at, mounts[i].type, 0, ""); /* what fails is missed by the operation that needs it */
    }
}

/* Until a kernel has gathered enough entropy, each random number takes a slow path, and each file that is created needs one. Without
   this, such operations would cost less once another one has waited for the entropy. */
static void fill_random_pool(void) {
    struct { struct rand_pool_info info; uint32_t words[8]; } pool = {{8 * sizeof pool.words, sizeof pool.words}, {0}};
    int random = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
    if (random >= 0) ioctl(random, RNDADDENTROPY, &pool), close(random); /* what is refused costs as before */
}

/* What was asked for and cannot be had would be measured as something else. */
static _Noreturn void give_up(const char *what) {
    printf("%s: %s\n", what, strerror(errno));
    fflush(stdout);
    power_off();
}

static void mount_tmp(void) {
    const char *options = getenv("SYSCOST_TMPFS"), *type = getenv("SYSCOST_DISK");
    if (options && mount("tmpfs", "/tmp", "tmpfs", 0, options) != 0) give_up("a tmpfs with these options");
    if (type && mount("/dev/nvme0n1", "/tmp", type, 0, "") != 0) give_up("the file system on the disk");
}

static void raise_loopback(void) {
    struct ifreq request = {.ifr_name = "lo"};
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    if (s < 0) return;
    if (ioctl(s, SIOCGIFFLAGS, &request) == 0) {
        request.ifr_flags |= IFF_UP;
        ioctl(s, SIOCSIFFLAGS, &request);
    }
    close(s);
}

/* As `auditctl -a always,exit -S all -F uid=NOBODY` adds it (audit.rules(7); linux/audit.h). */
static int add_audit_rule(int s, uint32_t nobody) {
    struct {
        struct nlmsghdr header;
        struct audit_rule_data rule;
    } message = {.header = {sizeof message, AUDIT_ADD_RULE, NLM_F_REQUEST | NLM_F_ACK, 0, 0}};
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
        char rest[sizeof message];
    } answer;
    message.rule.flags = AUDIT_FILTER_EXIT, message.rule.action = AUDIT_ALWAYS, message.rule.field_count = 1;
    message.rule.fields[0] = AUDIT_UID, message.rule.values[0] = nobody, message.rule.fieldflags[0] = AUDIT_EQUAL;
    memset(message.rule.mask, 0xff, sizeof message.rule.mask);
    if (send(s, &message, sizeof message, 0) < 0 || recv(s, &answer, sizeof answer, 0) < 0) return 0;
    errno = -answer.error.error;
    return errno == 0;
}

static void add_audit_rules(void) {
    enum { NOBODY = 4242 };
    const char *rules = getenv("SYSCOST_AUDIT_RULES");
    int s = rules ? socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT) : -1;
    if (rules && s < 0) give_up("audit");
    for (int i = 0; rules && i < atoi(rules); i++)
        if (!add_audit_rule(s, NOBODY + (uint32_t)i)) give_up("a rule of audit");
    if (s >= 0) close(s);
}

static void settle(void) {
    const char *seconds = getenv("SYSCOST_SETTLE_S");
    if (seconds) sleep((unsigned)atoi(seconds));
}

/* ---- signals ---- */

static sigset_t before; /* the mask outside of waiting */

static void wake(int signal) { (void)signal; }

/* A child that ends interrupts only the wait for lines. */
static void take_signals(void) {
    struct sigaction action = {.sa_handler = wake};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    sigaction(SIGCHLD, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void restore_signals(void) {
    signal(SIGPIPE, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ---- channels ---- */

static int (*serve_channel)(void);
static int (*launch_channel)(char **arguments);

static char way[256]; /* into which the launcher of environments puts each channel, if not empty */

/* Becomes what the first line asks for. */
static void live(const void *line) {
    char path[MOST_OF_LINE];
    int runs = strncmp(line, RUN, strlen(RUN)) == 0;
    if (strcmp(line, PROGRAM) == 0 && *way) fail(ENOTSUP, "confine= is for operations and snippets, not for commands");
    if (strcmp(line, PROGRAM) == 0) exit(serve_program());
    if (runs) snprintf(path, sizeof path, "/%s", (const char *)line + strlen(RUN));
    if (*way) become_confined(way, runs ? path : NULL);
    if (!runs) exit(serve_channel());
    exit(launch_channel((char *[]){path, NULL}));
}

static _Noreturn void live_in_channel(size_t number, int input, int output, const char *line, int is_traced) {
    char directory[32];
    snprintf(directory, sizeof directory, "channel-%zu", number);
    mkdir(directory, 0700);
    if (chdir(directory) != 0 || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0) _exit(126);
    setpgid(0, 0);
    restore_signals();
    for (size_t i = 0; i < MOST_CHANNELS; i++)
        if (channels[i] && channels[i]->pid) close(channels[i]->to), close(channels[i]->from);
    if (is_traced) count_entries(live, line);
    if (strncmp(line, COUNTED, strlen(COUNTED)) == 0) count_instructions(live, line);
    live(line);
    _exit(126);
}

/* Starts it for its first line. 0 if it cannot be started. */
static int start(size_t number, const char *line, int is_traced) {
    int to[2], from[2];
    if (!channels[number]) channels[number] = calloc(1, sizeof *channels[number]);
    if (!channels[number] || pipe2(to, O_CLOEXEC) != 0) return 0;
    if (pipe2(from, O_CLOEXEC) != 0) return close(to[0]), close(to[1]), 0;
    pid_t pid = fork();
    if (pid == 0) {
        close(to[1]), close(from[0]);
        live_in_channel(number, to[0], from[1], line, is_traced);
    }
    close(to[0]), close(from[1]);
    if (pid < 0) return close(to[1]), close(from[0]), 0;
    *channels[number] = (struct channel){.pid = pid, .to = to[1], .from = from[0]};
    return 1;
}

static void say_line(size_t number, char *line) { say(number, "%s", line); }

static void end_input(struct channel *channel) {
    if (channel->to >= 0) close(channel->to);
    channel->to = -1;
}

/* Its output has ended: it has, or is about to. What it left behind in its group goes too. */
static void reap(size_t number) {
    struct channel *channel = channels[number];
    int status = 0;
    end_input(channel);
    close(channel->from);
    waitpid(channel->pid, &status, 0);
    kill(-channel->pid, SIGKILL);
    channel->pid = 0;
    if (WIFSIGNALED(status)) say(number, "ended killed by signal %d", WTERMSIG(status));
    else say(number, "ended exit status %d", WEXITSTATUS(status));
}

static struct channel *running(size_t number) {
    struct channel *channel = number > 0 && number < MOST_CHANNELS ? channels[number] : NULL;
    return channel && channel->pid ? channel : NULL;
}

static void pass_on(size_t number, const char *text) {
    if (number == 0 || number >= MOST_CHANNELS) return say(0, "error - there is no channel %zu", number);
    if (!running(number)) {
        int is_traced = strncmp(text, TRACE, strlen(TRACE)) == 0;
        if (is_traced) text += strlen(TRACE);
        if (!start(number, text, is_traced)) return say(number, "error %s channel: %s", errno_name(errno), strerror(errno));
    }
    struct channel *channel = channels[number];
    /* A pipe holds far more than a line, and whoever ended is reported when its output ends. */
    if (channel->to >= 0 && (write(channel->to, text, strlen(text)) < 0 || write(channel->to, "\n", 1) < 0)) end_input(channel);
}

/* ---- commands to init ---- */

/* Passes on the lines of `path` that `wanted` does not refuse; it may change them. 0 if there is no such file. */
static int say_lines(const char *path, int (*wanted)(char *line)) {
    char line[4096];
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (wanted(line)) say(0, ": %s", line);
    }
    fclose(file);
    return 1;
}

static void say_file(const char *path, int (*wanted)(char *line)) {
    if (say_lines(path, wanted)) say(0, "end");
    else say_error(path);
}

static int every(char *line) { return (void)line, 1; }

static int write_file(char *text, const char *path) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    int done = write(fd, text, strlen(text)) >= 0;
    close(fd);
    return done;
}

/* Each function follows the one before in a line, as how far behind it and its name: whole addresses, a line each, take three times as
   long. Padding before a function (__pfx_) is never executed. */
static void serve_kallsyms(void) {
    static const char path[] = "/proc/kallsyms", padding[] = " __pfx_";
    static char line[MOST_OF_LINE], text[MOST_OF_LINE];
    write_file("0", "/proc/sys/kernel/kptr_restrict");
    FILE *file = fopen(path, "re");
    if (!file) return say_error(path);
    uint64_t last = 0;
    size_t used = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\t\n")] = '\0';
        char *type, *name;
        uint64_t address = strtoull(line, &type, 16);
        if (*type != ' ' || !strchr("tTwW", type[1]) || type[2] != ' ') continue;
        name = type + 2;
        if (strncmp(name, padding, sizeof padding - 1) == 0) continue;
        if (used + strlen(name) + 24 > sizeof text) say(0, ":%s", text), used = 0;
        used += (size_t)snprintf(text + used, sizeof text - used, " %llx%s", (unsigned long long)(address - last), name);
        last = address;
    }
    fclose(file);
    if (used > 0) say(0, ":%s", text);
    say(0, "end");
}

static void serve_write(char *text) {
    char *path = strchr(text, ' ');
    if (!path) return say(0, "error - not of the form 'write TEXT PATH'");
    *path++ = '\0';
    if (write_file(text, path)) say(0, "end");
    else say_error(path);
}

/* A channel that has ended meanwhile is as wanted: neither of these is answered. */
static void close_channel(struct channel *channel) {
    if (channel) end_input(channel);
}

static void kill_channel(struct channel *channel) {
    if (!channel) return;
    kill(-channel->pid, SIGKILL);
    kill(channel->pid, SIGKILL);
}

static void command(char *text) {
    char *word = text + strcspn(text, " ");
    if (*word) *word++ = '\0';
    struct channel *channel = running(strtoul(word, NULL, 10));
    if (strcmp(text, "poweroff") == 0) power_off();
    else if (strcmp(text, "read") == 0) say_file(word, every);
    else if (strcmp(text, "write") == 0) serve_write(word);
    else if (strcmp(text, "kallsyms") == 0) serve_kallsyms();
    else if (strcmp(text, "close") == 0) close_channel(channel);
    else if (strcmp(text, "kill") == 0) kill_channel(channel);
    else say(0, "error - there is no command '%s'", text);
}

static void console_line(size_t unused, char *line) {
    (void)unused;
    size_t length = strlen(beginning);
    if (strncmp(line, beginning, length) != 0) return; /* noise from before the console was raw */
    char *text;
    size_t number = strtoul(line + length, &text, 10);
    if (*text++ != ' ') return say(0, "error - a line is not of the form '@N TEXT'");
    if (number == 0) command(text);
    else pass_on(number, text);
}

/* ---- the plan ---- */

static char *plan; /* what is left of it; NULL: nothing */

static void take(char *question) {
    char *first = strsep(&question, "\n");
    snprintf(beginning + 1, sizeof beginning - 1, "%s", strsep(&first, " "));
    if (first) snprintf(way, sizeof way, "%s", first);
    plan = question && *question ? question : NULL;
}

/* In a machine whose state is kept, until somebody asks. */
static void await_question(void) {
    char *question = question_in_file();
    if (question) return take(question);
    if (!getenv("SYSCOST_KEPT")) return;
    say(0, "quiet");
    question = question_in_device();
    if (!question) give_up("the emulator's configuration device");
    take(question);
}

/* Starts the next channel of the plan once the one before has ended. */
static void go_on_with_plan(void) {
    static size_t number;
    if (!plan || running(number)) return;
    char *line = strsep(&plan, "\n");
    if (*line) pass_on(++number, line);
}

/* ---- the loop ---- */

/* Waits for lines from the console and from channels, and passes each on. */
static void turn(struct lines *console) {
    static struct pollfd waiting[MOST_CHANNELS];
    static size_t numbers[MOST_CHANNELS];
    size_t used = 1;
    waiting[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (size_t i = 1; i < MOST_CHANNELS; i++) {
        if (!running(i)) continue;
        numbers[used] = i;
        waiting[used++] = (struct pollfd){.fd = channels[i]->from, .events = POLLIN};
    }
    if (ppoll(waiting, used, NULL, &before) < 0) {
        if (errno != EINTR) power_off();
        return;
    }
    for (size_t i = 1; i < used; i++) {
        struct channel *channel = channels[numbers[i]];
        if (waiting[i].revents && !read_lines(channel->from, &channel->lines, say_line, numbers[i])) reap(numbers[i]);
    }
    if (waiting[0].revents && !read_lines(STDIN_FILENO, console, console_line, 0)) power_off();
}

static int is_channel(pid_t pid) {
    for (size_t i = 1; i < MOST_CHANNELS; i++)
        if (running(i) && channels[i]->pid == pid) return 1;
    return 0;
}

/* Orphans of channels become children of PID 1. A channel's own process has its turn when its output ends, which those of its
   group that still hold it must not delay. */
static void reap_orphans(void) {
    siginfo_t ended;
    for (;;) {
        ended.si_pid = 0;
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
        if (is_channel(ended.si_pid)) {
            kill(-ended.si_pid, SIGKILL);
            return;
        }
        waitpid(ended.si_pid, NULL, 0);
    }
}

_Noreturn void be_init(int (*serve)(void), int (*launch)(char **)) {
    static struct lines console;
    struct utsname system;
    serve_channel = serve;
    launch_channel = launch;
    take_signals();
    if (getpid() == 1) {
        mount_all();
        fill_random_pool();
        raise_loopback();
        make_raw();
        add_audit_rules();
        settle();
        mount_tmp();
        if (chdir("/tmp") != 0) give_up("/tmp");
        await_question();
    }
    uname(&system);
    say(0, "guest %s", system.release);
    for (;;) {
        go_on_with_plan();
        turn(&console);
        reap_orphans();
    }
}
#endif
