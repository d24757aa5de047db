/*
 * confine.c: starts a program where system calls cost more (or less): behind a filter, under a tracer, in namespaces, on
 * another file system. Environments put it before the program, in the directory where the program is to work.
 *
 *     confine WAY [ARGUMENT...] -- PROGRAM [ARGUMENT...]
 *
 * It waits until there is input for the program: a tracer can attach before anything has been done, and a refusal answers
 * the first line, as the protocol's `error ERRNO call: text`. Then it does one thing and becomes the program. Where that
 * is not possible (`namespaces`, `ptrace`), it starts the program, ends with it and as it, and takes it along if killed.
 *
 * If SYSCOST_HOLD is set, it waits for no input, but before it becomes the program: it reports a byte on descriptor 4 and waits
 * for one on descriptor 3 (crates/sys/src/launch.rs). What it did until then is no part of the time of the program.
 *
 * Nothing is left behind: a mount is in a mount namespace of its own, which ends with its last process; a loop device is
 * detached by its last user (LO_FLAGS_AUTOCLEAR), and its image has no name any more.
 */
#include "confine.h"
#include "filters.h"

#include "../probe.h"

#ifdef __linux__
#include <fcntl.h>
#include <linux/loop.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- failure ---- */

/* Asked before any user namespace, in which everybody may be root. */
static int began_as_root;

_Noreturn void cannot(const char *call) {
    static const int lacking[] = {EINVAL, ENODEV, ENOENT, ENOTTY, ENXIO, EUSERS};
    char text[200];
    for (size_t i = 0; i < COUNT(lacking); i++) {
        if (errno != lacking[i]) continue;
        snprintf(text, sizeof text, "%s: %s", call, strerror(errno));
        fail(ENOTSUP, text);
    }
    if (errno != EPERM && errno != EACCES) fail(errno, call);
    snprintf(text, sizeof text, "%s: %s", began_as_root ? "not permitted here, even for root"
                                                        : "this takes root, or the capability for it", call);
    fail(errno, text);
}

/* ---- processes ---- */

static void die_with_parent(void) { DO(prctl(PR_SET_PDEATHSIG, SIGKILL)); }

static int wait_for(pid_t process) {
    int status;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR) cannot("waitpid");
    return status;
}

/* Ends like another process. */
static _Noreturn void end_like(int status) {
    if (WIFSIGNALED(status)) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* it was not this program that crashed */
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

#define HOLD "SYSCOST_HOLD"
enum { WAITING = 3, REPORTING = 4 };

void leave_pipes(void) {
    int null = open("/dev/null", O_RDWR);
    die_with_parent();
    if (getenv(HOLD)) close(WAITING), close(REPORTING);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) _exit(127);
}

static int become_helper(void *command) {
    char **words = command;
    leave_pipes();
    execvp(words[0], words);
    perror(words[0]);
    _exit(127);
}

int start_untraced(int (*body)(void *), void *data) {
    enum { SIZE = 1 << 16 };
    static char stack[SIZE] __attribute__((aligned(64)));
    int child = clone(body, stack + SIZE, CLONE_UNTRACED | SIGCHLD, data); /* stacks grow downwards */
    DO(child);
    return child;
}

/* 127 as in a shell. */
static _Noreturn void helper_failed(const char *name, int status) {
    char text[200];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        snprintf(text, sizeof text, "%s cannot be started", name);
        fail(ENOTSUP, text);
    }
    const char *how = WIFSIGNALED(status) ? "was killed by signal" : "ended with status";
    snprintf(text, sizeof text, "%s %s %d", name, how, WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    fail(EIO, text);
}

/* ---- filters and the CPU's speculation ---- */

static void seccomp(char **arguments) {
    if (!filter_calls(arguments[0], arguments[0] ? arguments[1] : NULL)) fail(0, "confine: no such filter");
}

#ifndef PR_SET_SPECULATION_CTRL
#define PR_SET_SPECULATION_CTRL 53
#define PR_SPEC_STORE_BYPASS 0
#define PR_SPEC_DISABLE (1UL << 2)
#endif
#ifndef PR_SPEC_INDIRECT_BRANCH
#define PR_SPEC_INDIRECT_BRANCH 1
#endif

/* Documentation/userspace-api/spec_ctrl.rst of Linux has the meaning of each errno. */
static void disable_speculation(unsigned long kind) {
    if (prctl(PR_SET_SPECULATION_CTRL, kind, PR_SPEC_DISABLE, 0, 0) == 0) return;
    /* EPERM: of indirect branches, that the kernel has no mitigation switched on. */
    if (errno == ENXIO || errno == EPERM)
        fail(ENOTSUP, "prctl(PR_SET_SPECULATION_CTRL): this kernel does not let processes choose ('syscost doctor' lists its mitigations)");
    cannot("prctl(PR_SET_SPECULATION_CTRL)");
}

static void no_store_bypass(char **arguments) { (void)arguments, disable_speculation(PR_SPEC_STORE_BYPASS); }
static void no_indirect_branches(char **arguments) { (void)arguments, disable_speculation(PR_SPEC_INDIRECT_BRANCH); }

/* ---- namespaces ---- */

/* For comparison: started as by the other ways. */
static void nothing(char **arguments) { (void)arguments; }

static void write_text(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, text, strlen(text)) < 0) cannot(path);
    close(file);
}

/* The one ID that an ordinary user may map (user_namespaces(7)): its own, to itself. */
static void map_own(const char *path, unsigned id) {
    char line[64];
    snprintf(line, sizeof line, "%u %u 1\n", id, id);
    write_text(path, line);
}

static void own_user_namespace(int others) {
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER | others) != 0) {
        if (errno == ENOSPC) fail(EPERM, "unshare(CLONE_NEWUSER): user.max_user_namespaces permits no more");
        cannot("unshare(CLONE_NEWUSER)");
    }
    write_text("/proc/self/setgroups", "deny");
    map_own("/proc/self/uid_map", uid);
    map_own("/proc/self/gid_map", gid);
}

static void user_namespace(char **arguments) { (void)arguments, own_user_namespace(0); }

/* What is mounted from now on does not reach other namespaces; what is unmounted there is unmounted here too. */
static void keep_mounts_here(void) { DO(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL)); }

/* On this CPU alone; `none`: wherever it is. What started it stays where that is. */
static void stay_on(const char *cpu) {
    cpu_set_t only;
    char *end;
    if (!cpu || strcmp(cpu, "none") == 0) return;
    long number = strtol(cpu, &end, 10);
    if (*end || number < 0 || number >= CPU_SETSIZE) fail(EINVAL, cpu);
    CPU_ZERO(&only);
    CPU_SET((size_t)number, &only);
    DO(sched_setaffinity(0, sizeof only, &only));
}

static void pinned(char **arguments) { stay_on(arguments[0]); }

static void namespaces(char **arguments) {
    (void)arguments;
    own_user_namespace(CLONE_NEWNS | CLONE_NEWPID);
    keep_mounts_here();
    pid_t program = fork(); /* only children are in the new PID namespace */
    DO(program);
    if (program > 0) end_like(wait_for(program));
    die_with_parent();
    DO(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
}

/* ---- a tracer ---- */

/* Resumes a tracee until its next system call. A group stop is left to last (ptrace(2), PTRACE_LISTEN). */
static void resume(pid_t tracee, int status) {
    int event = status >> 16, signal = WSTOPSIG(status);
    if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
        ptrace(PTRACE_LISTEN, tracee, 0, 0);
        return;
    }
    ptrace(PTRACE_SYSCALL, tracee, 0, event || signal == (SIGTRAP | 0x80) ? 0 : signal);
}

/* A tracee that was killed meanwhile is not there to be resumed: its end comes next. */
static _Noreturn void stop_at_calls(pid_t program) {
    int status, last = 0;
    for (;;) {
        pid_t tracee = waitpid(-1, &status, __WALL);
        if (tracee < 0 && errno != EINTR) end_like(last);
        if (tracee > 0 && WIFSTOPPED(status)) resume(tracee, status);
        if (tracee == program && !WIFSTOPPED(status)) last = status;
    }
}

/* CPU of the program. */
static void traced(char **arguments) {
    int go[2];
    char byte;
    DO(pipe(go));
    pid_t program = fork();
    DO(program);
    if (program == 0) {
        die_with_parent();
        close(go[1]);
        DO(read(go[0], &byte, 1)); /* until it is closed */
        close(go[0]);
        stay_on(arguments[0]);
        return;
    }
    DO(ptrace(PTRACE_SEIZE, program, 0,
              PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL));
    DO(ptrace(PTRACE_INTERRUPT, program, 0, 0));
    close(go[0]);
    close(go[1]);
    stop_at_calls(program);
}

/* ---- file systems ---- */

#define PLACE "mounted"
/* What is there from the beginning, if anything is. */
#define FILES "files"

static void make(const char *directory) {
    if (mkdir(directory, 0700) != 0 && (errno != EEXIST || strcmp(directory, FILES) != 0)) cannot(directory);
}

void own_mount_namespace(void) {
    if (unshare(CLONE_NEWNS) != 0) {
        if (errno != EPERM) cannot("unshare(CLONE_NEWNS)");
        own_user_namespace(CLONE_NEWNS);
    }
    keep_mounts_here();
}

static void own_mounts(void) {
    own_mount_namespace();
    make(PLACE);
}

static void mount_here(const char *source, const char *type, const char *options) {
    char call[100];
    if (mount(source, PLACE, type, 0, options) != 0) {
        snprintf(call, sizeof call, "mount of %s%s", type, errno == ENODEV ? ", which this kernel does not have" : "");
        cannot(call);
    }
    DO(chdir(PLACE));
}

/* [OPTION] of its own. */
static void tmpfs(char **arguments) {
    char options[100];
    snprintf(options, sizeof options, "mode=0700%s%s", arguments[0] ? "," : "", arguments[0] ? arguments[0] : "");
    own_mounts();
    mount_here("tmpfs", "tmpfs", options);
}

static void overlay(char **arguments) {
    (void)arguments;
    own_mounts();
    make(FILES), make("upper"), make("work");
    mount_here("overlay", "overlay", "lowerdir=" FILES ",upperdir=upper,workdir=work");
}

#define IMAGE "image"

static void make_image(const char *mebibytes, char **command) {
    size_t words = 0;
    char *with_image[16] = {NULL};
    int image = open(IMAGE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (image < 0 || ftruncate(image, (off_t)atol(mebibytes) << 20) != 0) cannot(IMAGE);
    close(image);
    for (; command[words] && words < COUNT(with_image) - 2; words++) with_image[words] = command[words];
    with_image[words] = IMAGE;
    int status = wait_for(start_untraced(become_helper, with_image));
    if (status != 0) helper_failed(command[0], status);
}

static void enable_controllers(void) {
    static const char *const controllers[] = {"+memory", "+cpu"};
    for (size_t i = 0; i < COUNT(controllers); i++) write_text("cgroup.subtree_control", controllers[i]);
}

static int has_groups(void) {
    char line[4096];
    int has = 0;
    FILE *mounts = fopen("/proc/self/mounts", "re");
    if (!mounts) cannot("/proc/self/mounts");
    while (fgets(line, sizeof line, mounts)) has |= strstr(line, " cgroup") != NULL;
    fclose(mounts);
    return has;
}

/* DEPTH: into a control group so many levels below the root, each with the controllers of memory and CPU time. A group outlives its
   processes: only where nobody else has groups, in a machine that ends with the program. */
static void cgroup(char **arguments) {
    int depth = arguments[0] ? atoi(arguments[0]) : 1, here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (has_groups()) fail(ENOTSUP, "control groups: in an emulated machine only");
    DO(here);
    own_mounts();
    mount_here("cgroup2", "cgroup2", NULL);
    for (int level = 0; level < depth; level++) {
        enable_controllers();
        if (mkdir("level", 0700) != 0 && errno != EEXIST) cannot("mkdir of a control group");
        DO(chdir("level"));
    }
    write_text("cgroup.procs", "0");
    DO(fchdir(here));
    close(here);
}

/* A free loop device with the image, which has no name any more; its path in `path`. */
static int attach_image(int control, char path[32]) {
    struct loop_config config = {.info.lo_flags = LO_FLAGS_AUTOCLEAR};
    int image = open(IMAGE, O_RDWR | O_CLOEXEC), device, free_one;
    DO(image);
    config.fd = (unsigned)image;
    for (;;) {
        DO(free_one = ioctl(control, LOOP_CTL_GET_FREE));
        snprintf(path, 32, "/dev/loop%d", free_one);
        if ((device = open(path, O_RDWR | O_CLOEXEC)) < 0) cannot(path);
        if (ioctl(device, LOOP_CONFIGURE, &config) == 0) break;
        if (errno != EBUSY) cannot("ioctl(LOOP_CONFIGURE), since Linux 5.8"); /* else another process was faster */
        close(device);
    }
    close(image);
    DO(unlink(IMAGE));
    return device;
}

/* TYPE MEBIBYTES MKFS...: a file system that MKFS made in a file. */
static void loop(char **arguments) {
    char path[32];
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (!arguments[0] || !arguments[1] || !arguments[2]) fail(0, "confine: loop needs TYPE MEBIBYTES MKFS...");
    if (control < 0) cannot("/dev/loop-control");
    own_mounts();
    make_image(arguments[1], arguments + 2);
    int device = attach_image(control, path);
    close(control);
    mount_here(path, arguments[0], NULL);
    close(device); /* the mount keeps it */
}

/* Since Linux 5.2 and 5.12; the same on all architectures. */
enum { OPEN_TREE = 428, MOVE_MOUNT = 429, MOUNT_SETATTR = 442 };
enum { CLONE_TREE = 1, FROM_EMPTY_PATH = 4, MAP_IDS = 0x100000 };

/* As `struct mount_attr`. */
struct mount_changes {
    uint64_t set, clear, propagation, user_namespace;
};

static int hold_user_namespace(void *made) {
    die_with_parent();
    own_user_namespace(0);
    if (write(*(int *)made, "", 1) == 1) pause();
    _exit(1);
}

/* The descriptor of a new user namespace, in which the own user ID is mapped to itself. */
static int new_user_namespace(void) {
    int made[2];
    char path[64], byte;
    DO(pipe2(made, O_CLOEXEC));
    pid_t holder = start_untraced(hold_user_namespace, &made[1]);
    close(made[1]);
    if (read(made[0], &byte, 1) != 1) _exit(1); /* it has said why */
    close(made[0]);
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)holder);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0) cannot(path);
    kill(holder, SIGKILL);
    wait_for(holder);
    return namespace;
}

/* The working directory again, on a mount that maps the IDs of its files as a user namespace does; and in that. */
static void idmapped(char **arguments) {
    (void)arguments;
    DO(unshare(CLONE_NEWNS));
    keep_mounts_here();
    make(PLACE);
    int namespace = new_user_namespace();
    struct mount_changes changes = {.set = MAP_IDS, .user_namespace = (uint64_t)namespace};
    int tree = (int)syscall(OPEN_TREE, AT_FDCWD, ".", CLONE_TREE | O_CLOEXEC);
    if (tree < 0) cannot("open_tree");
    if (syscall(MOUNT_SETATTR, tree, "", AT_EMPTY_PATH, &changes, sizeof changes) != 0)
        cannot("mount_setattr(MOUNT_ATTR_IDMAP), since Linux 5.12 and where the file system permits it");
    if (syscall(MOVE_MOUNT, tree, "", AT_FDCWD, PLACE, FROM_EMPTY_PATH) != 0) cannot("move_mount");
    close(tree);
    DO(chdir(PLACE));
    DO(setns(namespace, CLONE_NEWUSER));
    close(namespace);
}

static int is_mounted(void) {
    struct stat above, there;
    return stat(".", &above) == 0 && stat(PLACE, &there) == 0 && above.st_dev != there.st_dev;
}

/* SERVER...: a FUSE server in the foreground that shows the directory `files` in `mounted`. It is ended with us. */
static void fuse(char **server) {
    enum { ATTEMPTS = 2000, PAUSE_NS = 5000000 };
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC), status;
    if (device < 0) cannot("/dev/fuse");
    close(device);
    own_mounts();
    make(FILES);
    pid_t helper = start_untraced(become_helper, server);
    for (int i = 0; !is_mounted(); i++) {
        if (waitpid(helper, &status, WNOHANG) == helper) helper_failed(server[0], status);
        if (i == ATTEMPTS) fail(ETIMEDOUT, "the FUSE server has not mounted anything for 10 seconds");
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    DO(chdir(PLACE));
}

/* PROCESS, a link to a directory in /proc: into the user and mount namespaces of that launcher, and where it works. */
static void join(char **arguments) {
    static const char *const parts[] = {"ns/user", "ns/mnt", "cwd"};
    char path[100];
    int files[COUNT(parts)];
    for (size_t i = 0; i < COUNT(parts); i++) {
        snprintf(path, sizeof path, "%s/%s", arguments[0] ? arguments[0] : "", parts[i]);
        if ((files[i] = open(path, O_RDONLY | O_CLOEXEC)) < 0) cannot(path);
    }
    if (setns(files[0], CLONE_NEWUSER) != 0 && errno != EINVAL) cannot("setns(CLONE_NEWUSER)"); /* EINVAL: it is the own one */
    DO(setns(files[1], CLONE_NEWNS));
    DO(fchdir(files[2]));
}

/* ---- the command line ---- */

static const struct way {
    const char *name;
    void (*enter)(char **arguments);
} ways[] = {
    {"none", nothing}, {"seccomp", seccomp}, {"ssbd", no_store_bypass}, {"spec-ib", no_indirect_branches},
    {"notify", notify}, {"landlock", landlock}, {"agent", agent}, {"bpf", bpf_hook}, {"cgroup", cgroup},
    {"userns", user_namespace}, {"namespaces", namespaces}, {"ptrace", traced}, {"idmapped", idmapped},
    {"tmpfs", tmpfs}, {"overlay", overlay}, {"loop", loop}, {"fuse", fuse}, {"pin", pinned}, {"join", join},
};

static void enter(char **way_and_arguments) {
    for (size_t i = 0; i < COUNT(ways); i++)
        if (strcmp(ways[i].name, way_and_arguments[0]) == 0) {
            ways[i].enter(way_and_arguments + 1);
            return;
        }
    fail(0, "confine: no such way (docs/options.md lists them)");
}

/* Ends the words before `--` with NULL and returns those after it. */
static char **program_of(char **words) {
    for (; *words; words++)
        if (strcmp(*words, "--") == 0) {
            *words = NULL;
            return words + 1;
        }
    return words;
}

/* The driver has the other ends: if it has ended, there is nothing to start any more. */
static void hold(void) {
    char byte = 'e';
    if (!getenv(HOLD)) return;
    unsetenv(HOLD);
    DO(write(REPORTING, &byte, 1));
    close(REPORTING);
    if (read(WAITING, &byte, 1) != 1) _exit(1);
    close(WAITING);
}

/* Input, or its end. */
static void wait_for_input(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, -1) < 0)
        if (errno != EINTR) cannot("poll");
}

int main(int argc, char **argv) {
    began_as_root = geteuid() == 0;
    die_with_parent();
    if (!getenv(HOLD)) wait_for_input();
    char **program = argc > 1 ? program_of(argv + 1) : argv;
    if (argc < 4 || !argv[1] || !*program) fail(0, "confine WAY [ARGUMENT...] -- PROGRAM [ARGUMENT...]");
    if (strcmp(argv[1], "container") == 0) program = container(argv + 2, program);
    else enter(argv + 1);
    hold();
    execvp(program[0], program);
    fail(errno, program[0]);
}
#else
int main(void) { fail(ENOSYS, "confine: it needs Linux"); }
#endif
