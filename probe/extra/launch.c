/*
 * launch.c: starts a command from a process that has hardly any memory, since the kernel counts the peak memory that a process had
 * before its execve for the command as well. crates/sys/src/launch.rs starts it, with these arguments:
 *
 *     WAITING REPORTING OPTIONS USER DIRECTORY PROGRAM ARGUMENTS...
 *
 * It starts a process that is its sibling (CLONE_PARENT), reports `h` and that one's number on the descriptor REPORTING, and ends.
 * The sibling reads a byte from WAITING, prepares what OPTIONS and the rest ask for, and becomes PROGRAM. If it cannot, it reports
 * the letter of the step and errno. Without ARGUMENTS, PROGRAM is a number of null calls to make. There is no C library where the
 * processor's calls are known here: that would be most of the memory.
 */
/* Of the headers of Linux: compilers for other systems bring none without a C library. */
#if defined(__x86_64__)
enum { SYS_read = 0, SYS_write = 1, SYS_close = 3, SYS_getpid = 39, SYS_clone = 56, SYS_execve = 59, SYS_fcntl = 72, SYS_chdir = 80 };
enum { SYS_setuid = 105, SYS_setgid = 106, SYS_getppid = 110, SYS_setgroups = 116, SYS_prctl = 157, SYS_exit_group = 231 };
enum { SYS_openat = 257, SYS_dup3 = 292 };
#elif defined(__aarch64__)
enum { SYS_dup3 = 24, SYS_fcntl = 25, SYS_chdir = 49, SYS_openat = 56, SYS_close = 57, SYS_read = 63, SYS_write = 64, SYS_exit_group = 94 };
enum { SYS_setgid = 144, SYS_setuid = 146, SYS_setgroups = 159, SYS_prctl = 167, SYS_getpid = 172, SYS_getppid = 173 };
enum { SYS_clone = 220, SYS_execve = 221 };
#else
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__x86_64__) || defined(__aarch64__)
enum { AT_FDCWD = -100, O_RDWR = 2, F_SETFD = 2, FD_CLOEXEC = 1, F_DUPFD_CLOEXEC = 1030, ENOEXEC = 8, SIGKILL = 9, SIGCHLD = 17 };
#endif
/* linux/sched.h, linux/prctl.h, linux/seccomp.h and linux/filter.h. */
enum { PARENT = 0x8000, SET_PDEATHSIG = 1, SET_SECCOMP = 22, SET_NO_NEW_PRIVS = 38, MODE_FILTER = 2 };
enum { LOAD = 0x20, IF_EQUAL = 0x15, RET = 6, TRACE = 0x7ff00000, ALLOW = 0x7fff0000, UPPER_IP = 12, VSYSCALL = 0xffffffff };
struct instruction {
    unsigned short code;
    unsigned char if_true, if_false;
    unsigned value;
};
struct filter {
    unsigned short length;
    struct instruction *first;
};

#if defined(__x86_64__)
static long call(long number, long a, long b, long c, long d, long e) {
    register long fourth __asm__("r10") = d, fifth __asm__("r8") = e;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth) : "rcx", "r11", "memory");
    return number;
}
__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");
#elif defined(__aarch64__)
static long call(long number, long a, long b, long c, long d, long e) {
    register long which __asm__("x8") = number, first __asm__("x0") = a, second __asm__("x1") = b, third __asm__("x2") = c,
                        fourth __asm__("x3") = d, fifth __asm__("x4") = e;
    __asm__ volatile("svc #0" : "+r"(first) : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth) : "memory");
    return first;
}
__asm__(".globl _start\n_start: mov x0, sp\n bl begin\n");
#else
static long call(long number, long a, long b, long c, long d, long e) {
    long result = syscall(number, a, b, c, d, e);
    return result < 0 ? -errno : result;
}
#endif

#define GO 'g'
#define FILTER 'f'
#define MOST_GROUPS 65536

static int waiting, reporting;

static void end(void) {
    for (;;) call(SYS_exit_group, 127, 0, 0, 0, 0);
}

static void report(char what, long number) {
    int value = (int)number;
    char line[5] = {what};
    for (int i = 0; i < 4; i++) line[1 + i] = ((char *)&value)[i];
    call(SYS_write, reporting, (long)line, sizeof line, 0, 0);
}

/* Reports a step that failed, and ends. */
static void need(char step, long result) {
    if (result >= 0) return;
    report(step, -result);
    end();
}

/* The number at the start of `text`, which then begins after it. */
static unsigned number(const char **text) {
    unsigned value = 0;
    while (**text == ' ') ++*text;
    while (**text >= '0' && **text <= '9') value = value * 10 + (unsigned)(*(*text)++ - '0');
    return value;
}

static int has(const char *options, char wanted) {
    while (*options && *options != wanted) options++;
    return *options != '\0';
}

/* One stop per call for the tracer, instead of two. A filter cannot be removed: without the tracer, each call fails with ENOSYS.
 * Without CAP_SYS_ADMIN, set-user-ID programs then run without their privilege. */
static long have_all_traced(void) {
    /* What the vsyscall page answers is a page fault: no other tracer sees a call there either. */
    static struct instruction trace_all[] = {
        {.code = LOAD, .value = UPPER_IP}, {.code = IF_EQUAL, .if_false = 1, .value = VSYSCALL},
        {.code = RET, .value = ALLOW},     {.code = RET, .value = TRACE},
    };
    struct filter filter = {.length = sizeof trace_all / sizeof *trace_all, .first = trace_all};
    long done = call(SYS_prctl, SET_SECCOMP, MODE_FILTER, (long)&filter, 0, 0);
    if (done >= 0) return done;
    call(SYS_prctl, SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return call(SYS_prctl, SET_SECCOMP, MODE_FILTER, (long)&filter, 0, 0);
}

/* USER is a user, a group, and all groups. */
static long become(const char *user) {
    static unsigned groups[MOST_GROUPS];
    unsigned uid = number(&user), gid = number(&user);
    long count = 0;
    for (; *user && count < MOST_GROUPS; count++) groups[count] = number(&user);
    long done = call(SYS_setgroups, count, (long)groups, 0, 0, 0);
    if (done >= 0) done = call(SYS_setgid, gid, 0, 0, 0, 0);
    return done < 0 ? done : call(SYS_setuid, uid, 0, 0, 0, 0);
}

static long become_silent(void) {
    long null = call(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDWR, 0, 0);
    for (int standard = 0; null >= 0 && standard < 3; standard++)
        if (null != standard) call(SYS_dup3, null, standard, 0, 0, 0);
    if (null >= 3) call(SYS_close, null, 0, 0, 0, 0);
    return null;
}

/* Leaves both descriptors to a launcher of environments (confine.c), where it finds them. First above those, which may be the
 * others'. */
static long hand_over(void) {
    long ends[2] = {waiting, reporting}, done = 0;
    for (int i = 0; i < 2; i++) ends[i] = call(SYS_fcntl, ends[i], F_DUPFD_CLOEXEC, 5, 0, 0);
    for (int i = 0; i < 2 && done >= 0; i++) done = call(SYS_dup3, ends[i], 3 + i, 0, 0, 0);
    return done;
}

/* By the shell, if it is a script without #!, as execvp(3) does. */
static long execute(char **words, char **environment) {
    const char *program = words[0];
    long done = call(SYS_execve, (long)program, (long)(words + 1), (long)environment, 0, 0);
    if (done != -ENOEXEC) return done;
    words[0] = "/bin/sh";
    words[1] = (char *)program;
    return call(SYS_execve, (long)words[0], (long)words, (long)environment, 0, 0);
}

/* For calibrating a tracer. */
static void make_null_calls(const char *text) {
    for (unsigned left = number(&text); left; left--) call(SYS_getppid, 0, 0, 0, 0, 0);
    call(SYS_exit_group, 0, 0, 0, 0, 0);
}

/* What the letters of steps are, crates/sys/src/launch.rs knows. */
static void become_command(char **words, char **environment) {
    const char *options = words[2], *user = words[3], *directory = words[4];
    char go = 0;
    if (call(SYS_read, waiting, (long)&go, 1, 0, 0) != 1) end();
    if (go == FILTER) need('F', have_all_traced());
    if (!words[6]) make_null_calls(words[5]);
    if (*user) need('U', become(user));
    if (has(options, 'b')) call(SYS_prctl, SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (has(options, 's')) need('N', become_silent());
    if (*directory) need('D', call(SYS_chdir, (long)directory, 0, 0, 0, 0));
    if (has(options, 'e')) need('X', hand_over());
    need('X', execute(words + 5, environment));
}

static void run(char **words, char **environment) {
    const char *texts[] = {words[0], words[1]};
    waiting = (int)number(&texts[0]);
    reporting = (int)number(&texts[1]);
    call(SYS_fcntl, waiting, F_SETFD, FD_CLOEXEC, 0, 0);
    call(SYS_fcntl, reporting, F_SETFD, FD_CLOEXEC, 0, 0);
    long sibling = call(SYS_clone, PARENT | SIGCHLD, 0, 0, 0, 0);
    if (sibling > 0) {
        report('h', sibling);
        call(SYS_exit_group, 0, 0, 0, 0, 0);
    }
    /* Where the system cannot make siblings, this one becomes the command. */
    if (sibling < 0) report('h', call(SYS_getpid, 0, 0, 0, 0, 0));
    become_command(words, environment);
}

#if defined(__x86_64__) || defined(__aarch64__)
__attribute__((used)) static void begin(long *stack) {
    char **words = (char **)(stack + 1);
    run(words + 1, words + stack[0] + 1);
    end();
}
#else
int main(int argc, char **argv) {
    extern char **environ;
    if (argc > 6) run(argv + 1, environ);
    return 127;
}
#endif
