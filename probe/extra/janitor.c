/*
 * janitor.c: creates the run's directory, and removes everything that the run leaves behind, however it ends.
 *
 *     janitor PARENT      PARENT is an absolute path without symbolic links
 *
 * First it removes what dead runs of the same user left in PARENT. Then it creates a directory there and prints its
 * name, or "error TEXT". The driver keeps the janitor's standard input open; when that is closed (at the end of the
 * run, by ^C, by kill -9 of the driver), the janitor kills the run's processes and removes its kernel objects and its
 * directory, in this order: as long as the directory exists, another janitor knows that something may be left. Input:
 * "+PGID" when a process group is started; "-PGID" when it has ended, before its number can be reused; "@" when the
 * driver is about to take the terminal that is its standard output, "~" when it has given it back, each answered by a line.
 *
 * The directory's name contains the run's number, which names all kernel objects that the run may create (objects.h).
 * If the file "containers" is there, podman may keep containers of the run; they have the label "syscost=DIRECTORY".
 * Nothing else found inside the directory is trusted. A run is alive as long as its driver and its janitor hold a lock
 * on the file "lock" in its directory: unlike a PID, a lock means the same in every PID namespace and after a reboot.
 * Rejected: flock(2), because a child that was forked just before the kill would keep the lock.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "../objects.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#endif

#define NAME "syscost-run-%08x"
#define LOCK "lock"
#define CONTAINERS "containers"

struct run {
    uint32_t number;
    char name[32];
    int directory, lock;
};

static int parent;
static const char *parent_path;

static int has_containers(const struct run *run) { return faccessat(run->directory, CONTAINERS, F_OK, 0) == 0; }

static void pause_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

/* ---- process groups reported by the driver ---- */

enum { MOST_GROUPS = 8192 };
static pid_t groups[MOST_GROUPS];
static size_t groups_used;

static void note_group(const char *line) {
    pid_t group = (pid_t)atol(line + 1);
    if (group <= 1) return;
    if (line[0] == '+' && groups_used < MOST_GROUPS) groups[groups_used++] = group;
    if (line[0] != '-') return;
    for (size_t i = 0; i < groups_used; i++)
        if (groups[i] == group) groups[i--] = groups[--groups_used];
}

static int has_group(void) {
    for (size_t i = 0; i < groups_used; i++)
        if (kill(-groups[i], 0) == 0) return 1;
    return 0;
}

/* ---- the terminal ---- */

static int terminal = -1;
static struct termios modes;

static void give_back_terminal(void) {
    if (terminal >= 0) close(terminal);
    terminal = -1;
}

static void take_terminal(void) {
    char path[64];
    give_back_terminal();
    snprintf(path, sizeof path, "/proc/%ld/fd/1", (long)getppid());
    terminal = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (terminal >= 0 && tcgetattr(terminal, &modes) != 0) give_back_terminal();
}

/* As a driver that was killed would have. Modes that are not raw were set by somebody else since: a shell. */
static void restore_terminal(void) {
    static const char leave[] = "\033[?25h\033[?1049l";
    struct termios now;
    if (terminal < 0) return;
    if (tcgetattr(terminal, &now) == 0 && !(now.c_lflag & (ICANON | ECHO | ISIG)) && !(now.c_oflag & OPOST))
        tcsetattr(terminal, TCSANOW, &modes);
    if (write(terminal, leave, sizeof leave - 1) < 0) return;
    give_back_terminal();
}

static void answer(const char *line) {
    if (line[0] == '+' || line[0] == '-') return note_group(line);
    if (line[0] == '@') take_terminal();
    else give_back_terminal();
    printf("done\n");
    fflush(stdout);
}

/* ---- the run's process groups ---- */

/* A driver that was killed has closed its workers' input too, so they end by themselves. Those that a container runtime
   has started get time for that, because only the runtime can remove what it keeps elsewhere. */
enum { GRACE_MS = 1500, GRACE_OF_PODMAN_MS = 5000 };

/* The driver reaps a leader only after reporting its end: these numbers were still in use when the input was closed. */
static void end_groups(const struct run *run) {
    int grace = has_containers(run) ? GRACE_OF_PODMAN_MS : GRACE_MS;
    for (int waited = 0; waited < grace && has_group(); waited += 10) pause_ms(10);
    for (size_t i = 0; i < groups_used; i++) kill(-groups[i], SIGKILL);
    groups_used = 0;
}

/* ---- other processes: those not reported in time, and daemons of snippets ---- */

#ifdef __linux__
/* Whether the environment of the process in `process`, a directory of /proc, has the run's number. */
static int belongs(int process, uint32_t number) {
    static char text[1 << 18];
    char wanted[32];
    int fd = openat(process, "environ", O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = 0;
    if (fd < 0) return 0;
    while (used < sizeof text && (got = read(fd, text + used, sizeof text - used)) > 0) used += (size_t)got;
    close(fd);
    snprintf(wanted, sizeof wanted, RUN_VARIABLE "=%08x", number);
    return memmem(text, used, wanted, strlen(wanted)) != NULL;
}

/* An open directory of /proc keeps meaning the same process, even if its PID is reused. */
static int signal_process(int proc, const char *pid, uint32_t number, int signal) {
    int process = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = 0;
    if (process < 0) return 0;
    if ((found = belongs(process, number)) && syscall(SYS_pidfd_send_signal, process, signal, NULL, 0) != 0 &&
        errno == ENOSYS)
        kill((pid_t)atol(pid), signal); /* before Linux 5.1 */
    close(process);
    return found;
}

/* Sends them `signal`, 0 for none, and returns how many there were. A dying process is counted until it can do nothing more. */
static size_t signal_strays(uint32_t number, int signal) {
    size_t found = 0;
    DIR *proc = opendir("/proc");
    if (!proc) return 0;
    for (struct dirent *entry; (entry = readdir(proc));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            found += (size_t)signal_process(dirfd(proc), entry->d_name, number, signal);
    closedir(proc);
    return found;
}

/* ---- kernel objects ---- */

static int is_own(const struct ipc_perm *object) { return object->uid == geteuid() && object->cuid == geteuid(); }

static int own_queue(int id) {
    struct msqid_ds about;
    return id >= 0 && msgctl(id, IPC_STAT, &about) == 0 && is_own(&about.msg_perm);
}

static int own_segment(int id) {
    struct shmid_ds about;
    return id >= 0 && shmctl(id, IPC_STAT, &about) == 0 && is_own(&about.shm_perm);
}

static void remove_objects(uint32_t number) {
    for (uint32_t i = 0; i < OBJECT_KEYS; i++) {
        int queue = msgget((key_t)(number | i), 0), segment = shmget((key_t)(number | i), 0, 0);
        if (own_queue(queue)) msgctl(queue, IPC_RMID, NULL);
        if (own_segment(segment)) shmctl(segment, IPC_RMID, NULL);
    }
}

/* Whether an object exists under one of the run's keys. */
static int has_objects(uint32_t number) {
    for (uint32_t i = 0; i < OBJECT_KEYS; i++)
        if (msgget((key_t)(number | i), 0) >= 0 || shmget((key_t)(number | i), 0, 0) >= 0) return 1;
    return 0;
}

static void remove_named_queues(uint32_t number) {
    char name[32];
    for (int i = 0; i < QUEUE_NAMES; i++) {
        struct stat about;
        snprintf(name, sizeof name, QUEUE_NAME, number, i);
        mqd_t queue = mq_open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (queue == (mqd_t)-1) continue;
        if (fstat(queue, &about) == 0 && about.st_uid == geteuid()) mq_unlink(name);
        mq_close(queue);
    }
}
#else
static size_t signal_strays(uint32_t number, int signal) { return (void)number, (void)signal, 0; }
static void remove_objects(uint32_t number) { (void)number; }
static int has_objects(uint32_t number) { return (void)number, 0; }
static void remove_named_queues(uint32_t number) { (void)number; }
#endif

/* ---- the directory ---- */

static int open_directory(int where, const char *name) {
    return openat(where, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Opens a directory even if its owner has no permission to. */
static int force_open(int where, const char *name) {
    struct stat about;
    if (fstatat(where, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(about.st_mode)) return -1;
    if ((about.st_mode & 0700) != 0700) fchmodat(where, name, 0700, 0);
    return open_directory(where, name);
}

/* Moves a directory up, out of its parent. Trees may be deeper than descriptors or the stack allow, so the tree
   being removed is kept at most two levels deep. */
static void move_up(int from, const char *name, int top) {
    static unsigned long moved;
    char fresh[32];
    int fd = force_open(from, name); /* moving a directory requires write permission for it */
    if (fd >= 0) close(fd);
    do snprintf(fresh, sizeof fresh, "moved-%lu", moved++);
    while (renameat(from, name, top, fresh) != 0 && (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR));
}

static int is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

static void empty_subdirectory(int top, const char *name) {
    int fd = force_open(top, name);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));)
        if (!is_dots(entry->d_name) && unlinkat(fd, entry->d_name, 0) != 0) move_up(fd, entry->d_name, top);
    closedir(entries);
}

/* Makes one pass over everything but the lock; returns whether it changed anything. */
static int empty_directory(int top) {
    int changed = 0, fd = open_directory(top, ".");
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) return 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (is_dots(entry->d_name) || strcmp(entry->d_name, LOCK) == 0) continue;
        if (unlinkat(top, entry->d_name, 0) != 0) {
            empty_subdirectory(top, entry->d_name);
            if (unlinkat(top, entry->d_name, AT_REMOVEDIR) != 0) continue;
        }
        changed = 1;
    }
    closedir(entries);
    return changed;
}

/* Whether the name still refers to the directory that was opened, and it is ours. */
static int is_there(const struct run *run) {
    struct stat opened, named;
    return fstat(run->directory, &opened) == 0 && fstatat(parent, run->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino && opened.st_uid == geteuid();
}

/* F_RDLCK for our own run: waits while another janitor checks it. F_WRLCK for a dead one: does not wait. */
static int take_lock(struct run *run, short type) {
    struct flock whole = {.l_type = type, .l_whence = SEEK_SET};
    run->lock = openat(run->directory, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return run->lock >= 0 && fcntl(run->lock, type == F_RDLCK ? F_SETLKW : F_SETLK, &whole) == 0;
}

static int is_linked(int file) {
    struct stat about;
    return fstat(file, &about) == 0 && about.st_nlink > 0;
}

/* Removes the lock last. If there is a new one, another run has taken the directory, or another janitor removes it. */
static int remove_emptied(struct run *run, int *taken_over) {
    unlinkat(run->directory, LOCK, 0);
    if (unlinkat(parent, run->name, AT_REMOVEDIR) == 0) return 1;
    *taken_over = faccessat(run->directory, LOCK, F_OK, 0) == 0;
    return 0;
}

/* ---- a run's end ---- */

enum { MOST_ATTEMPTS = 500, MOST_PASSES = 1 << 16 };

/* A process that was just killed may still be creating files: then try again. */
static int remove_directory(struct run *run) {
    int taken_over = 0;
    fchmod(run->directory, 0700);
    for (int passes = 0, idle = 0; idle < MOST_ATTEMPTS && passes < MOST_PASSES && !taken_over && is_there(run); passes++) {
        if (empty_directory(run->directory)) continue;
        if (remove_emptied(run, &taken_over)) return 1;
        idle++;
        pause_ms(2);
    }
    return !is_there(run);
}

enum { PODMAN_MS = 4000 };
_Static_assert(GRACE_OF_PODMAN_MS + PODMAN_MS < 10000, "cleaning up takes less than ten seconds");

/* Containers whose podman was killed: it alone knows what else belongs to them. A file that somebody planted as the note
   costs a search for containers with a label that none has. */
static void remove_containers(const struct run *run) {
    char label[PATH_MAX + 64];
    int state;
    if (!has_containers(run)) return;
    snprintf(label, sizeof label, "label=syscost=%s/%s", parent_path, run->name);
    pid_t podman = fork();
    if (podman == 0) {
        int null = open("/dev/null", O_RDWR);
        for (int fd = 0; fd <= 2; fd++) dup2(null, fd);
        execlp("podman", "podman", "rm", "--all", "--force", "--time", "0", "--filter", label, (char *)NULL);
        _exit(127);
    }
    for (int waited = 0; podman > 0 && waitpid(podman, &state, WNOHANG) == 0; waited += 10) {
        if (waited >= PODMAN_MS) kill(podman, SIGKILL);
        pause_ms(10);
    }
}

/* Returns whether the directory is gone. */
static int end_run(struct run *run) {
    /* A podman that is killed while it creates a container leaves what it cannot remove later. */
    int grace = has_containers(run) ? GRACE_OF_PODMAN_MS : 0;
    for (int waited = 0; waited < grace && signal_strays(run->number, 0) > 0; waited += 50) pause_ms(50);
    for (int i = 0; i < MOST_ATTEMPTS && signal_strays(run->number, SIGKILL) > 0; i++) pause_ms(2);
    remove_containers(run);
    remove_objects(run->number);
    remove_named_queues(run->number);
    return remove_directory(run);
}

/* ---- runs that are dead ---- */

static int is_run(const char *name, struct run *run) {
    unsigned number = 0;
    int length = 0;
    if (sscanf(name, NAME "%n", &number, &length) != 1 || name[length] != '\0') return 0;
    run->number = number;
    snprintf(run->name, sizeof run->name, NAME, number);
    return number != 0 && number % OBJECT_KEYS == 0 && strcmp(name, run->name) == 0;
}

static void end_if_dead(struct run *run) {
    if (take_lock(run, F_WRLCK) && is_linked(run->lock)) end_run(run);
    if (run->lock >= 0) close(run->lock);
}

static void sweep(void) {
    struct run run;
    int fd = open_directory(parent, ".");
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (!is_run(entry->d_name, &run) || (run.directory = open_directory(parent, run.name)) < 0) continue;
        if (is_there(&run)) end_if_dead(&run);
        close(run.directory);
    }
    closedir(entries);
}

/* ---- the run itself ---- */

/* Numbers need not be secret: existing names are not taken, and objects of others are left alone. */
static uint32_t next_number(void) {
    static uint64_t state;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    state = (state + (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + (uint64_t)getpid()) *
            6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32) & ~(uint32_t)(OBJECT_KEYS - 1);
}

/* If the file system has no locks (some network file systems), no other janitor gets one either, and the directory
   is left alone. */
static int settle_in(struct run *run) {
    run->directory = open_directory(parent, run->name);
    if (run->directory < 0) return 0;
    fchmod(run->directory, 0700); /* regardless of the umask */
    take_lock(run, F_RDLCK);
    if (run->lock >= 0 && is_linked(run->lock) && is_there(run)) return 1;
    int error = run->lock < 0 ? errno : ENOENT; /* another janitor took it for a dead run before it was locked */
    close(run->directory);
    errno = error;
    return 0;
}

/* Asks the file system (ext2 to ext4) to place each worker's directory away from all others, as for home directories:
   inodes are searched for in the block group of their directory, and what others removed there lately makes the search
   longer. METHOD.md has the experiment. Other file systems refuse, which does no harm. */
static void spread_directories(const struct run *run) {
#if defined(FS_IOC_GETFLAGS) && defined(FS_IOC_SETFLAGS) && defined(FS_TOPDIR_FL)
    int flags = 0; /* an int, whatever the macro says */
    if (ioctl(run->directory, FS_IOC_GETFLAGS, &flags) != 0) return;
    flags |= FS_TOPDIR_FL;
    ioctl(run->directory, FS_IOC_SETFLAGS, &flags);
#else
    (void)run;
#endif
}

static int make_directory(struct run *run) {
    umask(077);
    for (int attempt = 0; attempt < 100; attempt++) {
        run->number = next_number();
        if (run->number == 0 || has_objects(run->number)) continue;
        snprintf(run->name, sizeof run->name, NAME, run->number);
        if (mkdirat(parent, run->name, 0700) == 0 && settle_in(run)) {
            spread_directories(run);
            return 1;
        }
        if (errno != EEXIST && errno != ENOENT) return 0;
    }
    return 0;
}

static int complain(const char *call) {
    printf("error %s: %s\n", call, strerror(errno));
    return fflush(stdout) == 0 ? 2 : 3;
}

static void go_alone(void) {
    setsid();
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTOU, SIG_IGN); /* a terminal of which this is no foreground process may be given its modes again */
#ifdef __linux__
    prctl(PR_SET_NAME, "syscost-janitor");
#endif
}

int main(int argc, char **argv) {
    struct run run = {.directory = -1};
    char line[64];
    if (argc != 2) return 2;
    go_alone();
    parent_path = argv[1];
    if ((parent = open(argv[1], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0) return complain("open");
    sweep();
    if (!make_directory(&run)) return complain("mkdir");
    printf("%s\n", run.name);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) answer(line);
    restore_terminal();
    end_groups(&run);
    return end_run(&run) ? 0 : 1;
}
