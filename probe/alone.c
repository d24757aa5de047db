/* alone.c: see alone.h. */
#include "alone.h"
#include "ground.h"

#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#else
#include <sys/param.h>
#if __has_include(<sys/sysctl.h>)
#define HAS_SYSCTL 1
#include <sys/mount.h>
#include <sys/sysctl.h>
#endif
#endif

static void (*put_bytes)(const char *text, size_t length);

static void put_line(const char *format, ...) {
    char line[PATH_MAX + 256];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof line - 1, format, values);
    va_end(values);
    if (length < 0) return;
    if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    for (int i = 0; i < length; i++)
        if (line[i] == '\n') line[i] = ' ';
    line[length] = '\n';
    put_bytes(line, (size_t)length + 1);
}

/* ---- the CPU ---- */

/* Pins this process to the CPU that `wanted` names; returns it, or -1 for none. */
static int pin(const char *wanted) {
#ifdef __linux__
    cpu_set_t allowed, one;
    int cpu = -1;
    if (strncmp(wanted, "none", 4) == 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
    if (strncmp(wanted, "last", 4) != 0) cpu = atoi(wanted);
    for (int i = 0; i < CPU_SETSIZE && strncmp(wanted, "last", 4) == 0; i++)
        if (CPU_ISSET(i, &allowed)) cpu = i;
    if (cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &allowed)) fail(EINVAL, "cpu: not one that the probe may use there");
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0 ? cpu : -1;
#else
    (void)wanted;
    return -1;
#endif
}

/* ---- a directory of its own ---- */

static char own_directory[PATH_MAX];

static void make_directory(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(own_directory, sizeof own_directory, "%s/syscost-probe-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(own_directory)) fail(errno, "mkdtemp: no directory can be made there (TMPDIR names another)");
    if (chdir(own_directory) != 0) fail(errno, "chdir to the directory that was made");
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where) {
    (void)about, (void)type, (void)where;
    remove(path);
    return 0;
}

static void remove_directory(void) {
    if (own_directory[0] && chdir("/") == 0) nftw(own_directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the guard ---- */

static int bell[2]; /* a signal writes its number into it */

static void ring(int number) {
    int before = errno;
    char byte = (char)number;
    if (write(bell[1], &byte, 1) < 0) errno = before;
    errno = before;
}

static void listen_to(int number) {
    struct sigaction action = {.sa_handler = ring};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Waits until the worker has ended, which returns its status, or `ms` are over or the input has ended, which returns -1. */
static int wait_for(pid_t worker, int ms, int watches_input) {
#ifdef POLLRDHUP
    enum { HANGUP = POLLRDHUP };
#else
    enum { HANGUP = 0 }; /* POLLHUP is always reported */
#endif
    for (;;) {
        struct pollfd watched[] = {{.fd = bell[0], .events = POLLIN}, {.fd = STDIN_FILENO, .events = HANGUP}};
        char number = 0;
        int status, ready = poll(watched, watches_input ? 2 : 1, ms);
        if (ready < 0 && errno != EINTR) return -1;
        if (ready > 0 && watched[0].revents && read(bell[0], &number, 1) != 1) return -1;
        if (waitpid(worker, &status, WNOHANG) == worker) return status;
        if (ready == 0 || (number != 0 && number != SIGCHLD)) return -1;
        if (watches_input && ready > 0 && watched[1].revents) return -1;
    }
}

/* Outlives the worker. Ends it when the input has ended: by itself, it may be stuck in an operation. */
static _Noreturn void guard(pid_t worker) {
    enum { PATIENCE_MS = 2000 };
    int status = wait_for(worker, -1, 1);
    if (status < 0) status = wait_for(worker, PATIENCE_MS, 0);
    kill(-worker, SIGKILL); /* its partners, too */
    while (status < 0)
        if (waitpid(worker, &status, 0) < 0 && errno != EINTR) break;
    remove_directory();
    if (WIFSIGNALED(status)) fprintf(stderr, "the probe was killed by signal %d\n", WTERMSIG(status));
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* Returns in a new process, with the guard as its parent. */
static void start_guard(void) {
    if (pipe(bell) != 0) fail(errno, "pipe");
    static const int heard[] = {SIGCHLD, SIGHUP, SIGINT, SIGTERM};
    for (size_t i = 0; i < COUNT(heard); i++) listen_to(heard[i]);
    pid_t guardian = getpid(), worker = fork();
    if (worker < 0) fail(errno, "fork");
    if (worker > 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, 0); /* whoever started it may end first, and the directory would stay */
#endif
        setpgid(worker, worker);
        guard(worker);
    }
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != guardian) _exit(0);
    for (size_t i = 0; i < COUNT(heard); i++) signal(heard[i], SIG_DFL);
    close(bell[0]);
    close(bell[1]);
}

/* ---- hello ---- */

static const char *word_after(const char *line, const char *name) {
    const char *at = strstr(line, name);
    if (!at) fail(0, "a request is not of the form 'hello cpu=CPU guard=N at=PATH'");
    return at + strlen(name);
}

static void hello(const char *line) {
    const char *cpu = word_after(line, "cpu="), *at = word_after(line, "at=");
    int guarded = *word_after(line, "guard=") == '1';
    if (!*at || chdir(at) != 0) make_directory();
    if (guarded || own_directory[0]) start_guard();
    int pinned = pin(cpu);
    put_line(pinned < 0 ? "hello pid=%ld own=%d cpu=none" : "hello pid=%ld own=%d cpu=%d", (long)getpid(),
             own_directory[0] != '\0', pinned);
}

/* ---- facts ---- */

static void put_fact(const char *name, const char *text) {
    if (text && *text) put_line("fact %s=%s", name, text);
}

static void put_number(const char *name, long long value) {
    if (value > 0) put_line("fact %s=%lld", name, value);
}

#ifdef HAS_SYSCTL
/* The CPU's name, by whatever this system calls it. */
static void put_cpu_name(void) {
    char name[256] = "";
    size_t size = sizeof name - 1;
#ifdef __APPLE__
    if (sysctlbyname("machdep.cpu.brand_string", name, &size, NULL, 0) != 0) return;
#else
    int model[] = {CTL_HW, HW_MODEL};
    if (sysctl(model, 2, name, &size, NULL, 0) != 0) return;
#endif
    put_fact("cpu", name);
}
#endif

static void put_file_system(void) {
#ifdef __linux__
    struct statfs about;
    if (statfs(".", &about) == 0) put_number("file_system_magic", (long long)(uint32_t)about.f_type);
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__OpenBSD__)
    struct statfs about;
    if (statfs(".", &about) == 0) put_fact("file_system", about.f_fstypename);
#endif
}

static void facts(void) {
    struct utsname names;
    if (uname(&names) >= 0) {
        put_fact("system", names.sysname);
        put_fact("kernel", names.release);
        put_fact("kernel_version", names.version);
        put_fact("architecture", names.machine);
        put_fact("name", names.nodename);
    }
#ifdef _SC_NPROCESSORS_ONLN
    put_number("cpus", sysconf(_SC_NPROCESSORS_ONLN));
#endif
#ifdef _SC_PHYS_PAGES
    put_number("memory_mib", (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) >> 20);
#endif
#ifdef HAS_SYSCTL
    put_cpu_name();
#endif
    put_file_system();
#ifdef __VERSION__
    put_fact("compiler", "compiler " __VERSION__);
#endif
    put_fact("user", geteuid() == 0 ? "root" : "user");
    put_line("facts");
}

/* ---- files ---- */

static void show_file(const char *path) {
    enum { MOST = 128 << 10 };
    static char bytes[MOST];
    size_t used = 0;
    struct stat about;
    /* What a namespace is, its link says. */
    ssize_t length = strstr(path, "/ns/") ? readlink(path, bytes, MOST) : -1;
    int fd = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (length > 0) used = (size_t)length;
    if (fd < 0 && !used) return;
    for (ssize_t got = 1; used < MOST && got > 0; used += got > 0 ? (size_t)got : 0)
        got = read(fd, bytes + used, MOST - used);
    close(fd);
    put_line("file %zu %s", used, path);
    put_bytes(bytes, used);
    put_bytes("\n", 1);
}

static void show(const char *pattern) {
    enum { MOST_FILES = 4096 };
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < (size_t)found.gl_pathc && i < MOST_FILES; i++) show_file(found.gl_pathv[i]);
        globfree(&found);
    }
    put_line("shown");
}

int serve_before_operation(const char *line, void (*put)(const char *text, size_t length)) {
    put_bytes = put;
    if (strncmp(line, "hello ", 6) == 0)
        hello(line + 6);
    else if (strcmp(line, "facts") == 0)
        facts();
    else if (strncmp(line, "show ", 5) == 0)
        show(line + 5);
    else
        return 0;
    return 1;
}
