/*
 * hook.c: a BPF program that does nothing, at functions of the kernel (kprobe, kretprobe, fentry, fexit), tracepoints (raw_tp) or
 * hooks of security modules (lsm): the least that such a hook costs. Called by confine.c; attached as agent.c does it.
 *
 * Functions and hooks of security modules are named to the kernel by their number in the description of its types (BTF;
 * Documentation/bpf/btf.rst).
 */
#include "confine.h"

#include "../probe.h"

#ifdef __linux__
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 8, RETURN_PROBE = 1 };

/* Where a hook is if nothing else is named: getppid() and each open pass one of the functions once, in all kernels. */
#define FUNCTIONS {"__do_sys_getppid", "security_file_open"}

static const struct kind {
    const char *name;
    unsigned type, attach;
    int is_probe, is_return;
    char *usual[3];
} kinds[] = {
    {"raw_tp", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, 0, {"sys_enter"}},
    {"kprobe", BPF_PROG_TYPE_KPROBE, 0, 1, 0, FUNCTIONS},
    {"kretprobe", BPF_PROG_TYPE_KPROBE, 0, 1, RETURN_PROBE, FUNCTIONS},
    {"fentry", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, 0, 0, FUNCTIONS},
    {"fexit", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, 0, 0, FUNCTIONS},
    {"lsm", BPF_PROG_TYPE_LSM, BPF_LSM_MAC, 0, 0, {"file_open"}},
};

static const struct kind *kind;
static struct {
    const char *name;
    int program, attached; /* -1: not attached */
} hooks[MOST];
static size_t used;

static int bpf(int command, union bpf_attr *attributes) {
    return (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

/* ---- types ---- */

struct header {
    uint16_t magic;
    uint8_t version, flags;
    uint32_t length, types, types_size, texts, texts_size;
};

struct type {
    uint32_t name, info, size;
};

enum { KIND_FUNCTION = 12 };

/* Bytes after a type of this kind, once and for each of its members. */
static const uint8_t once[] = {[1] = 4, [3] = 12, [14] = 4, [17] = 4},
                     each[] = {[4] = 12, [5] = 12, [6] = 8, [13] = 8, [15] = 12, [19] = 12};

static const char *read_types(void) {
    static const char path[] = "/sys/kernel/btf/vmlinux";
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &facts) != 0) cannot(path);
    char *types = malloc((size_t)facts.st_size);
    if (!types) fail(ENOMEM, path);
    for (off_t done = 0; done < facts.st_size;) {
        ssize_t got = read(file, types + done, (size_t)(facts.st_size - done));
        if (got <= 0) cannot(path);
        done += got;
    }
    close(file);
    return types;
}

static unsigned number_of_function(const char *name) {
    const char *all = read_types();
    const struct header *header = (const struct header *)all;
    const char *at = all + header->length + header->types, *end = at + header->types_size;
    const char *texts = all + header->length + header->texts;
    for (unsigned number = 1; at < end; number++) {
        const struct type *type = (const struct type *)at;
        unsigned of_kind = type->info >> 24 & 31, members = type->info & 0xffff;
        if (of_kind == KIND_FUNCTION && strcmp(texts + type->name, name) == 0) return free((void *)all), number;
        at += sizeof *type + (of_kind < COUNT(once) ? once[of_kind] : 0);
        at += of_kind < COUNT(each) ? each[of_kind] * members : 0;
    }
    errno = ENOENT;
    cannot(name);
}

/* ---- programs ---- */

static int load(const char *name) {
    static const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
    union bpf_attr attributes;
    char hook[128];
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = kind->type, attributes.expected_attach_type = kind->attach;
    attributes.insns = (uintptr_t)nothing, attributes.insn_cnt = COUNT(nothing);
    attributes.license = (uintptr_t) "Dual MIT/GPL";
    snprintf(hook, sizeof hook, "%s%s", kind->type == BPF_PROG_TYPE_LSM ? "bpf_lsm_" : "", name);
    if (kind->attach) attributes.attach_btf_id = number_of_function(hook);
    int fd = bpf(BPF_PROG_LOAD, &attributes);
    if (fd < 0) cannot("bpf(BPF_PROG_LOAD)");
    return fd;
}

/* Of the kind of perf event that probes are. */
static unsigned probe_type(void) {
    static const char path[] = "/sys/bus/event_source/devices/kprobe/type";
    unsigned type;
    FILE *file = fopen(path, "re");
    if (!file && errno == ENOENT) fail(ENOTSUP, "kprobe/type is not in /sys/bus/event_source/devices; bpf:fentry needs no kprobes");
    if (!file || fscanf(file, "%u", &type) != 1) cannot(path);
    fclose(file);
    return type;
}

static int attach_probe(const char *name, int program) {
    struct perf_event_attr attributes = {.size = sizeof attributes, .type = probe_type()};
    attributes.config = (uint64_t)kind->is_return, attributes.kprobe_func = (uintptr_t)name;
    int event = (int)syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0) cannot("perf_event_open of a kprobe");
    DO(ioctl(event, PERF_EVENT_IOC_SET_BPF, program));
    DO(ioctl(event, PERF_EVENT_IOC_ENABLE, 0));
    return event;
}

static int attach_link(const char *name, int program) {
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.raw_tracepoint.name = kind->attach ? 0 : (uintptr_t)name;
    attributes.raw_tracepoint.prog_fd = (unsigned)program;
    int link = bpf(BPF_RAW_TRACEPOINT_OPEN, &attributes);
    if (link < 0) cannot("bpf(BPF_RAW_TRACEPOINT_OPEN)");
    return link;
}

static void attach(void) {
    for (size_t i = 0; i < used; i++)
        if (hooks[i].attached < 0) hooks[i].attached = (kind->is_probe ? attach_probe : attach_link)(hooks[i].name, hooks[i].program);
}

static void detach(void) {
    for (size_t i = 0; i < used; i++) {
        if (hooks[i].attached >= 0) close(hooks[i].attached);
        hooks[i].attached = -1;
    }
}

void bpf_hook(char **arguments) {
    struct rlimit before, most = {RLIM_INFINITY, RLIM_INFINITY};
    for (kind = kinds; kind < kinds + COUNT(kinds); kind++)
        if (arguments[0] && strcmp(kind->name, arguments[0]) == 0) break;
    if (kind == kinds + COUNT(kinds)) fail(0, "confine: bpf needs raw_tp, kprobe, kretprobe, fentry, fexit or lsm");
    int limited = getrlimit(RLIMIT_MEMLOCK, &before) == 0 && setrlimit(RLIMIT_MEMLOCK, &most) == 0;
    for (char *const *name = arguments[1] ? arguments + 1 : kind->usual; *name && used < MOST; name++, used++) {
        hooks[used].name = *name, hooks[used].attached = -1;
        hooks[used].program = load(*name);
    }
    if (limited) DO(setrlimit(RLIMIT_MEMLOCK, &before));
    attach_during_requests(attach, detach);
}
#endif
