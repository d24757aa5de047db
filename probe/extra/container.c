/* container.c: a part of confine.c that starts a program by a runtime of containers (runc, crun), as engines do: in a bundle with a
   config.json of the OCI runtime specification. */
#include "confine.h"

#include "../probe.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

#define ROOT "root"
#define STATE "state"
#define CGROUPS "/sys/fs/cgroup"

enum { MOUNT_SETATTR = 442, RECURSIVE = 0x8000, READ_ONLY = 1 };

static void put_text(FILE *file, const char *text) {
    putc('"', file);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at < ' ' || *at == '"' || *at == '\\') fprintf(file, "\\u%04x", *at);
        else putc(*at, file);
    putc('"', file);
}

static void put_list(FILE *file, const char *name, char **texts) {
    fprintf(file, "\"%s\": [", name);
    for (size_t i = 0; texts[i]; i++) {
        if (i) putc(',', file);
        put_text(file, texts[i]);
    }
    fprintf(file, "]");
}

/* The program may write in this directory only. */
static void put_writable(FILE *file, const char *directory) {
    fprintf(file, ",{\"type\": \"bind\", \"options\": [\"rbind\", \"rw\"], \"destination\": ");
    put_text(file, directory);
    fprintf(file, ", \"source\": ");
    put_text(file, directory);
    fprintf(file, "}");
}

#define CAPABILITIES                                                                                                   \
    "[\"CAP_CHOWN\",\"CAP_DAC_OVERRIDE\",\"CAP_FSETID\",\"CAP_FOWNER\",\"CAP_SETGID\",\"CAP_SETUID\",\"CAP_SETPCAP\"," \
    "\"CAP_NET_BIND_SERVICE\",\"CAP_KILL\",\"CAP_SETFCAP\",\"CAP_SYS_CHROOT\"]"

/* Those of `runc spec` without /sys. */
#define MOUNTS                                                                                                         \
    "{\"destination\": \"/proc\", \"type\": \"proc\", \"source\": \"proc\"},"                                          \
    "{\"destination\": \"/dev\", \"type\": \"tmpfs\", \"source\": \"tmpfs\", \"options\": [\"nosuid\", \"mode=755\"]},"   \
    "{\"destination\": \"/dev/pts\", \"type\": \"devpts\", \"source\": \"devpts\", \"options\": [\"newinstance\"]},"     \
    "{\"destination\": \"/dev/shm\", \"type\": \"tmpfs\", \"source\": \"shm\", \"options\": [\"mode=1777\"]}"

static void put_config(FILE *file, char **program, char *const *writable) {
    char here[PATH_MAX];
    uid_t user = geteuid();
    if (!getcwd(here, sizeof here)) cannot("getcwd");
    fprintf(file, "{\"ociVersion\": \"1.0.2\", \"process\": {\"user\": {\"uid\": 0, \"gid\": 0}, \"noNewPrivileges\": true, "
                  "\"capabilities\": {\"bounding\": " CAPABILITIES ", \"effective\": " CAPABILITIES ", \"permitted\": " CAPABILITIES
                  "}, \"cwd\": ");
    put_text(file, here);
    fprintf(file, ", ");
    put_list(file, "args", program);
    fprintf(file, ", ");
    put_list(file, "env", environ);
    fprintf(file, "}, \"root\": {\"path\": \"" ROOT "\", \"readonly\": true}, "
                  "\"mounts\": [" MOUNTS);
    for (size_t i = 0; writable[i]; i++) put_writable(file, writable[i]);
    fprintf(file, "], \"linux\": {\"namespaces\": [{\"type\": \"pid\"}, {\"type\": \"mount\"}, {\"type\": \"ipc\"}, {\"type\": \"uts\"}, "
                  "{\"type\": \"network\"}");
    if (user != 0)
        fprintf(file, ", {\"type\": \"user\"}], \"uidMappings\": [{\"containerID\": 0, \"hostID\": %u, \"size\": 1}], "
                      "\"gidMappings\": [{\"containerID\": 0, \"hostID\": %u, \"size\": 1}",
                user, getegid());
    fprintf(file, "]}}\n");
}

/* No group is made that would be left behind if the runtime were killed. runc goes on without one where it may not make any; crun,
   which is told to make none, refuses to start where it sees both versions of control groups. */
static void hide_cgroups(const char *runtime) {
    struct {
        uint64_t set, clear, propagation, user_namespace;
    } changes = {.set = READ_ONLY};
    if (strcmp(runtime, "crun") == 0) {
        DO(mount("none", CGROUPS, "tmpfs", MS_RDONLY, NULL));
        return;
    }
    if (syscall(MOUNT_SETATTR, AT_FDCWD, CGROUPS, RECURSIVE, &changes, sizeof changes) != 0 && errno != ENOENT)
        cannot("mount_setattr(" CGROUPS "), since Linux 5.12");
}

/* The root is this system's, where mounts of the runtime do not reach. */
static void make_root(const char *root) {
    if (mkdir(root, 0700) != 0 && errno != EEXIST) cannot(root);
    DO(mount("/", root, NULL, MS_BIND | MS_REC, NULL));
}

/* DIRECTORY WRITABLE RUNTIME [OPTION...]: the bundle's directory, another that the program may write, and the runtime. */
char **container(char **arguments, char **program) {
    static char *words[24];
    char path[PATH_MAX], id[32];
    if (!arguments[0] || !arguments[1] || !arguments[2]) fail(0, "confine: container needs DIRECTORY WRITABLE RUNTIME...");
    char *writable[] = {arguments[0], arguments[1], NULL};
    snprintf(path, sizeof path, "%s/" ROOT, arguments[0]);
    own_mount_namespace();
    hide_cgroups(arguments[2]);
    make_root(path);
    snprintf(path, sizeof path, "%s/config.json", arguments[0]);
    FILE *file = fopen(path, "we");
    if (!file) cannot(path);
    put_config(file, program, writable);
    if (fclose(file) != 0) cannot(path);
    size_t used = 0;
    for (char **option = arguments + 2; *option && used < 12; option++) words[used++] = *option;
    snprintf(path, sizeof path, "%s/" STATE, arguments[0]);
    snprintf(id, sizeof id, "syscost-%d", (int)getpid());
    char *const rest[] = {"--root", strdup(path), "run", "--bundle", arguments[0], strdup(id)};
    for (size_t i = 0; i < COUNT(rest); i++) words[used++] = rest[i];
    return words;
}
#endif
