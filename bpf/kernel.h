/* What the programs use of the kernel: the fields of its types that they read, and the helpers that they call.
 *
 * Not a dump of all its types: each struct has only the fields that are used. The compiler records every access to them
 * (preserve_access_index), and the loader (crates/sys/src/bpf/relocate.rs) replaces the offset by the one that the running
 * kernel's BTF gives for the field of that name. Three underscores and what follows are no part of a type's name: a
 * second version of a type for kernels in which it differs.
 *
 * Sources: linux/bpf.h for the numbers of helpers and kinds of maps; linux/sched.h, linux/fs.h and asm/ptrace.h of the
 * kernel for the fields. */
#ifndef SYSCOST_KERNEL_H
#define SYSCOST_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* A map is a variable in section ".maps", whose members encode what the loader needs in their types. */
#define MAP_NUMBER(name, value) int (*name)[value]
#define MAP_TYPE(name, type) type *name
enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PROGRAMS = 3, MAP_LRU_HASH = 9, MAP_RING = 27, MAP_TASK_STORAGE = 29 };
enum { MAP_MAPPABLE = 1 << 10 };
enum { RING_NO_WAKEUP = 1, RING_FORCE_WAKEUP = 2 };
enum { UPDATE_ANY = 0, UPDATE_NOEXIST = 1 };

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static u64 (*const ktime_get_ns)(void) = (void *)5;
static u32 (*const get_random)(void) = (void *)7;
static u32 (*const get_smp_processor_id)(void) = (void *)8;
static long (*const tail_call)(void *ctx, void *map, u32 index) = (void *)12;
static long (*const get_stack)(void *context, void *to, u32 size, u64 flags) = (void *)67;
static long (*const probe_read_user)(void *to, u32 size, const void *from) = (void *)112;
static long (*const probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const probe_read_user_str)(void *to, u32 size, const void *from) = (void *)114;
static long (*const probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static long (*const seq_write)(void *seq, const void *data, u32 bytes) = (void *)127;
static long (*const ring_output)(void *ring, const void *data, u64 bytes, u64 flags) = (void *)130;
static void *(*const ring_reserve)(void *ring, u64 bytes, u64 flags) = (void *)131;
static void (*const ring_submit)(void *data, u64 flags) = (void *)132;
static u64 (*const ring_query)(void *ring, u64 what) = (void *)134;
static void *(*const task_storage_get)(void *map, void *task, void *value, u64 flags) = (void *)156;
static void *(*const get_current_task_btf)(void) = (void *)158;
static void *(*const task_pt_regs)(void *task) = (void *)175; /* since 5.15 */

/* Since 6.2: makes a pointer to a kernel struct of an address; loads through it yield 0 instead of faulting. */
extern void *bpf_rdonly_cast(void *address, u32 type) __attribute__((section(".ksyms"), weak));
#define KERNEL_TYPE_ID(type) __builtin_btf_type_id(*(type *)0, 1)
#define FIELD_EXISTS(field) __builtin_preserve_field_info(field, 2)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};
struct super_block {
	u32 s_dev;
};
struct rw_semaphore {
	s64 owner;
};
struct address_space {
	struct inode *host;
};
struct inode {
	struct rw_semaphore i_rwsem;
	struct address_space i_data;
	u16 i_mode;
	u32 i_flags;
	u32 i_rdev;
	u64 i_ino, i_size;
	u32 i_generation;
	struct super_block *i_sb;
};
struct qstr {
	const unsigned char *name;
};
struct dentry {
	struct dentry *d_parent;
	struct super_block *d_sb;
	struct qstr d_name;
	struct inode *d_inode;
};
struct path {
	struct dentry *dentry;
};
struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};
struct in6_addr {
	u64 words[2];
};
struct sock_common {
	u16 skc_family, skc_num, skc_dport;
	u32 skc_daddr, skc_rcv_saddr;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};
struct sock {
	struct sock_common __sk_common;
	u32 sk_max_ack_backlog;
	u16 sk_protocol;
};
struct tcp_sock {
	u32 write_seq, snd_nxt, packets_out;
};
struct socket {
	struct sock *sk;
};
struct sockaddr_un {
	char sun_path[108];
};
struct unix_address {
	s32 len;
	struct sockaddr_un name[1];
};
struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};
struct mm_context {
	void *vdso;
};
struct mm_struct {
	struct rw_semaphore mmap_lock;
	u64 start_stack, saved_auxv[32];
	struct file *exe_file;
	struct mm_context context;
};
struct fs_struct {
	struct path root, pwd;
};
struct ns_common {
	u32 inum;
};
struct mnt_namespace {
	struct ns_common ns;
};
struct nsproxy {
	struct mnt_namespace *mnt_ns;
};
struct fdtable {
	u32 max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct signal_struct {
	u64 maxrss;
};
struct io_kiocb {
	u8 opcode;
};
struct linux_binprm {
	const char *filename, *fdpath;
};
struct kernfs_node {
	u64 id;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};
struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};

#if defined(__TARGET_ARCH_x86)
struct thread_info {
	u64 flags;
	u32 status;
};
struct pt_regs {
	u64 bp, bx, r10, r9, r8, cx, dx, si, di, orig_ax, ip, sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct thread_info {
	u64 flags;
};
struct pt_regs {
	u64 regs[31], sp, pc;
	u64 orig_x0;
	s32 syscallno;
};
#else
#error "compile with -D__TARGET_ARCH_x86 or -D__TARGET_ARCH_arm64"
#endif

struct task_struct {
	struct thread_info thread_info;
	u32 __state, flags;
	s32 pid, tgid;
	struct task_struct *group_leader, *real_parent;
	struct fs_struct *fs;
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	u64 utime, stime, min_flt, maj_flt, nvcsw, nivcsw;
	char comm[16];
	struct mm_struct *mm;
	s32 on_cpu, exit_state;
	struct css_set *cgroups;
};
struct task_struct___before_5_14 {
	s64 state;
};

#pragma clang attribute pop

/* The context of a program that is called for each task. */
struct bpf_iter_meta {
	void *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#endif
