/* Counts the system calls of traced tasks, in the kernel, at its tracepoints. The loader is src/kernel/bpf.
 *
 * A task's state is a value of map `tasks`, an open-addressing hash table by the address of its task_struct that the
 * programs keep themselves: finding it takes an inlined array lookup and one comparison, where task storage takes a
 * call. It holds for whatever CPU the task is on, so that a switch that no program saw spoils the time of one call but
 * no count. An entry is made at fork (or when a marked process is first seen) and given up at exit; map `marks`, in
 * task storage, is how user space names tasks: by process file descriptor.
 *
 * A call is counted when it returns: its number and arguments are then still in the task's registers. Programs at
 * tracepoints run with preemption disabled and do not interrupt each other, so that a task's state and a CPU's window
 * need no locks.
 *
 * No function is a call for the verifier: all are inlined. */
#include "kernel.h"
#include "layout.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Written by the loader before the programs are loaded, then constant. */
const volatile struct config config SEC(".rodata");
struct globals globals SEC(".bss");

/* The loader sets the sizes of `tasks` and `windows`. */
struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct task);
} tasks SEC(".maps");

/* By CPU. An array, because its lookup is inlined by all kernels, and user space may read it meanwhile. */
struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct window);
} windows SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 32768);
	MAP_TYPE(key, struct key);
	MAP_TYPE(value, struct counted);
} calls SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 32768);
	MAP_TYPE(key, struct duration_key);
	MAP_TYPE(value, u64);
} durations SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 8192);
	MAP_TYPE(key, struct group_key);
	MAP_TYPE(value, u64);
} groups SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 8192);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct used);
} usage SEC(".maps");

/* For these five, the loader sets sizes: no more than an entry if they are not needed. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 8192);
	MAP_TYPE(key, struct object_key);
	MAP_TYPE(value, struct counted);
} objects SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 8192);
	MAP_TYPE(key, struct stack_key);
	MAP_TYPE(value, struct counted);
} stack_counts SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_STACK_TRACE);
	MAP_NUMBER(max_entries, 16384);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct stack);
} stacks SEC(".maps");

/* By hash. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 8192);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct name);
} names SEC(".maps");

/* By CPU. */
struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct details);
} details SEC(".maps");

/* What user space says about a process, in the storage of its first thread: STATE_HELD, STATE_LIVE for one all of whose
 * threads are to be traced, or STATE_EXCLUDED. */
struct {
	MAP_NUMBER(type, MAP_TASK_STORAGE);
	MAP_NUMBER(map_flags, 1);
	MAP_TYPE(key, s32);
	MAP_TYPE(value, u64);
} marks SEC(".maps");

#define ADD(counter, amount) ((void)__sync_fetch_and_add(&(counter), amount))

INLINE struct window *this_window(void)
{
	u32 cpu = get_smp_processor_id();
	return map_lookup(&windows, &cpu);
}

/* `value`, of which the verifier then knows nothing: it would otherwise check what follows once for each value that it
 * may have, such as after a loop or a chain of comparisons. */
INLINE u64 forget(struct window *w, u64 value)
{
	*(volatile u64 *)&w->scratch = value;
	return *(volatile u64 *)&w->scratch;
}

/* floor(log2(value)); 0 of 0. */
INLINE u32 log2_of(u64 value)
{
	u32 log = 0;
	if (value >> 32) value >>= 32, log += 32;
	if (value >> 16) value >>= 16, log += 16;
	if (value >> 8) value >>= 8, log += 8;
	if (value >> 4) value >>= 4, log += 4;
	if (value >> 2) value >>= 2, log += 2;
	return log + (value >> 1);
}

/* Tasks -------------------------------------------------------------------------------------------------------------- */

/* Places that are searched for a task. */
#define PROBES 16
#define FREED 1

INLINE u32 place_of(void *task)
{
	/* Half of the address: arithmetic on pointers is not for programs, but their lower words are numbers. */
	return (u32)(unsigned long)task / 64 * 0x9e3779b1u >> 8;
}

/* The state of a task; null if it is not traced. */
INLINE struct task *find(void *of)
{
	u32 place = place_of(of), at = place & config.task_mask;
	struct task *task = map_lookup(&tasks, &at);
	if (!task || LIKELY(task->owner == (u64)of)) return task;
	if (task->owner == 0) return 0;
#pragma clang loop unroll(disable)
	for (u32 step = 1; step < PROBES; step++) {
		at = (place + step) & config.task_mask;
		task = map_lookup(&tasks, &at);
		if (!task || task->owner == (u64)of) return task;
		if (task->owner == 0) return 0;
	}
	return 0;
}

/* A place for a task that is not traced, empty but for its owner; null, and an event lost, if there is none. */
INLINE struct task *make(void *of)
{
	u32 place = place_of(of);
#pragma clang loop unroll(disable)
	for (u32 step = 0; step < PROBES; step++) {
		u32 at = (place + step) & config.task_mask;
		struct task *task = map_lookup(&tasks, &at);
		if (!task) break;
		u64 owner = task->owner;
		if (owner <= FREED) owner = __sync_val_compare_and_swap(&task->owner, owner, (u64)of);
		/* Somebody else just did the same. */
		if (owner == (u64)of) return 0;
		if (owner > FREED) continue;
		__builtin_memset((char *)task + sizeof task->owner, 0, sizeof *task - sizeof task->owner);
		return task;
	}
	ADD(globals.lost, 1);
	return 0;
}

/* Notes the kernel's accounting of a task that ran before it is traced. */
INLINE void note_base(struct task *task, struct task_struct *of, u64 now)
{
	task->base[0] = of->utime;
	task->base[1] = of->stime;
	task->base[2] = of->min_flt;
	task->base[3] = of->maj_flt;
	task->base[4] = of->nvcsw;
	task->base[5] = of->nivcsw;
	task->on_since = now;
}

INLINE void add_usage(struct used *sum, struct task *task, struct task_struct *of)
{
	ADD(sum->accounting[0], of->utime - task->base[0]);
	ADD(sum->accounting[1], of->stime - task->base[1]);
	ADD(sum->accounting[2], of->min_flt - task->base[2]);
	ADD(sum->accounting[3], of->maj_flt - task->base[3]);
	ADD(sum->accounting[4], of->nvcsw - task->base[4]);
	ADD(sum->accounting[5], of->nivcsw - task->base[5]);
	ADD(sum->ran, task->ran);
}

/* Gives a task the number of its process's group. */
INLINE void number_group(struct task *task, struct task_struct *of)
{
	struct group_key key = {};
	u64 *number;
	probe_read_kernel_str(key.name, sizeof key.name, of->group_leader->comm);
	if (config.group_by == GROUP_PROCESS) key.id = of->tgid;
	if (config.group_by == GROUP_CGROUP) key.id = of->cgroups->dfl_cgrp->kn->id;
	number = map_lookup(&groups, &key);
	if (!number) {
		u64 next = __sync_fetch_and_add(&globals.groups, 1) + 1;
		map_update(&groups, &key, &next, UPDATE_NOEXIST);
		number = map_lookup(&groups, &key);
	}
	task->group = number ? *number : 0;
	if (!number) ADD(globals.nameless, 1);
}

/* The state in task_struct: 0 for running or ready to run. */
INLINE u64 state_of(struct task_struct *task)
{
	if (FIELD_EXISTS(task->__state)) return task->__state;
	return ((struct task_struct___before_5_14 *)task)->state;
}

/* Levels of cgroups that are searched. */
#define CGROUP_DEPTH 32

INLINE int in_cgroup(struct task_struct *task)
{
	struct cgroup_subsys_state *state = &task->cgroups->dfl_cgrp->self;
#pragma clang loop unroll(disable)
	for (u32 level = 0; level < CGROUP_DEPTH && state; level++) {
		if (state->cgroup->kn->id == config.cgroup) return 1;
		state = state->parent;
	}
	return 0;
}

/* Whether a task that is not traced belongs to the scope. */
INLINE int is_wanted(struct task_struct *task)
{
	u64 *mark = task_storage_get(&marks, task->group_leader, 0, 0);
	if (config.scope < SCOPE_CGROUP || !globals.begun) return mark && *mark == STATE_LIVE;
	if (mark && *mark == STATE_EXCLUDED) return 0;
	return config.scope == SCOPE_SYSTEM || in_cgroup(task);
}

/* Concurrency -------------------------------------------------------------------------------------------------------- */

INLINE u64 weight(u32 run)
{
	return run == RUN_ON_CPU ? 1 : run == RUN_WAITING ? 1ull << 32 : 0;
}

/* Adds to the numbers of tasks on CPUs and waiting for one. All CPUs do this without a lock, so that the time of a change
 * may go to the state before or after it. Returns the time during which all were blocked if that ends now. */
INLINE u64 change_running(u64 by, u64 now)
{
	if (!config.concurrency || !by) return 0;
	u64 before = __sync_fetch_and_add(&globals.running, by), after = before + by;
	u64 since = __sync_lock_test_and_set(&globals.changed, now);
	u64 both = (u32)after + (after >> 32);
	u32 on_cpu = before;
	if (both > globals.peak) globals.peak = both;
	if (!since || (s64)(now - since) <= 0) return 0;
	if (on_cpu) {
		u32 level = on_cpu < LEVELS ? on_cpu - 1 : LEVELS - 1;
		ADD(globals.on_cpu[level & (LEVELS - 1)], now - since);
		return 0;
	}
	if (before) {
		ADD(globals.waiting, now - since);
		return 0;
	}
	ADD(globals.blocked, now - since);
	return now - since;
}

/* What setting `task->run` adds to `globals.running`. */
INLINE u64 set_run(struct task *task, u32 run)
{
	u64 by = weight(run) - weight(task->run);
	task->run = run;
	return by;
}

/* Begins to trace a task. */
INLINE struct task *begin(struct task_struct *of, u32 state, u32 run, u64 now)
{
	struct task *task = make(of);
	if (!task) return 0;
	note_base(task, of, run == RUN_ON_CPU ? now : 0);
	number_group(task, of);
	ADD(globals.live, 1);
	if (of->pid == of->tgid) ADD(globals.processes, 1);
	else ADD(globals.threads, 1);
	change_running(set_run(task, run), now);
	task->state = state;
	return task;
}

/* Begins to trace the running task if it belongs to the scope. */
INLINE struct task *adopt(struct task_struct *current, struct window *w)
{
	struct task *task = 0;
	if (!w || w->stranger == (u64)current) return 0;
	if (is_wanted(current)) task = begin(current, STATE_LIVE, RUN_ON_CPU, ktime_get_ns());
	if (!task) w->stranger = (u64)current;
	return task;
}

/* A held command begins with its execve. */
INLINE struct task *begin_command(struct task_struct *current, u32 state)
{
	u64 *mark = task_storage_get(&marks, current, 0, 0);
	if (!mark || *mark != STATE_HELD) return 0;
	return begin(current, state, RUN_ON_CPU, ktime_get_ns());
}

/* Calls and their arguments ------------------------------------------------------------------------------------------ */

/* The registers of a 32-bit call are other ones on x86. */
#if defined(__TARGET_ARCH_x86)
#define X32_BIT 0x40000000
INLINE u32 gate_of(struct task_struct *task, u32 *number)
{
	if (task->thread_info.status & 2) return GATE_COMPAT; /* TS_COMPAT of asm/thread_info.h */
	if (LIKELY(!(*number & X32_BIT))) return GATE_OWN;
	*number &= ~X32_BIT;
	return GATE_X32;
}

INLINE u32 number_of(struct pt_regs *regs)
{
	return regs->orig_ax;
}

INLINE u64 argument_of(struct pt_regs *regs, u32 gate, u32 position)
{
	if (gate == GATE_COMPAT) {
		u64 value = position == 0   ? regs->bx
			    : position == 1 ? regs->cx
			    : position == 2 ? regs->dx
			    : position == 3 ? regs->si
			    : position == 4 ? regs->di
					    : regs->bp;
		return (u32)value;
	}
	if (position == 0) return regs->di;
	if (position == 1) return regs->si;
	if (position == 2) return regs->dx;
	if (position == 3) return regs->r10;
	return position == 4 ? regs->r8 : regs->r9;
}
#else
#define TIF_32BIT (1 << 22)
INLINE u32 gate_of(struct task_struct *task, u32 *number)
{
	(void)number;
	return task->thread_info.flags & TIF_32BIT ? GATE_COMPAT : GATE_OWN;
}

INLINE u32 number_of(struct pt_regs *regs)
{
	return regs->syscallno;
}

INLINE u64 argument_of(struct pt_regs *regs, u32 gate, u32 position)
{
	u64 value;
	if (position == 0) value = regs->orig_x0;
	else if (position == 1) value = regs->regs[1];
	else if (position == 2) value = regs->regs[2];
	else if (position == 3) value = regs->regs[3];
	else value = position == 4 ? regs->regs[4] : regs->regs[5];
	return gate == GATE_COMPAT ? (u32)value : value;
}
#endif

INLINE int is_exec(u32 number, u32 gate)
{
	gate &= 1;
	return number == config.exec[gate][0] || number == config.exec[gate][1];
}

/* Majors of terminals: 4 (consoles, serial lines), 5 (/dev/tty), 136 to 143 (pseudo-terminals);
 * Documentation/admin-guide/devices.txt. Inside the kernel, device numbers have 20 bits of minor. */
#define MINOR_BITS 20
/* Since 6.16, anonymous inodes are regular files with this flag (S_ANON_INODE). */
#define ANONYMOUS_FLAG (1 << 19)

INLINE u32 kind_of_inode(u32 mode, u32 flags, u32 device)
{
	u32 kind = mode >> 12, major = device >> MINOR_BITS;
	if (kind == 0 || (kind == KIND_REGULAR && flags & ANONYMOUS_FLAG)) return KIND_ANONYMOUS;
	if (kind != KIND_CHARACTER) return kind;
	return major == 4 || major == 5 || major >> 3 == 136 >> 3 ? KIND_TERMINAL : kind;
}

/* The kind of descriptor `number` of the running task. */
INLINE u32 descriptor_kind(struct task_struct *current, u32 number)
{
	struct fdtable *table = current->files->fdt;
	if (number >= table->max_fds) return KIND_CLOSED;
	void *at = table->fd + number;
	if (config.has_cast) {
		struct list_head *pointer = bpf_rdonly_cast(at, KERNEL_TYPE_ID(struct list_head));
		void *opened = pointer->next;
		if (!opened) return KIND_CLOSED;
		struct file *file = bpf_rdonly_cast(opened, KERNEL_TYPE_ID(struct file));
		struct inode *inode = file->f_inode;
		return kind_of_inode(inode->i_mode, inode->i_flags, inode->i_rdev);
	}
	struct file *file = 0;
	struct inode *inode = 0;
	u16 mode = 0;
	u32 flags = 0, device = 0;
	probe_read_kernel(&file, sizeof file, at);
	if (!file) return KIND_CLOSED;
	probe_read_kernel(&inode, sizeof inode, &file->f_inode);
	probe_read_kernel(&mode, sizeof mode, &inode->i_mode);
	probe_read_kernel(&flags, sizeof flags, &inode->i_flags);
	probe_read_kernel(&device, sizeof device, &inode->i_rdev);
	return kind_of_inode(mode, flags, device);
}

#define REPEATED(byte) (0x0101010101010101ull * (byte))

/* Names in the `length` bytes of w->path: bytes other than a slash that follow a slash, or stand first. Eight bytes at
 * a time; slashes appended to the end fill the last word. */
INLINE u32 names_in(struct window *w, long length)
{
	u64 before = 0, names = 0;
	if (length < 1 || length > PATH_BYTES) return VALUE_UNKNOWN;
	*(u64 *)(w->path + length - 1) = REPEATED('/');
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < PATH_BYTES; at += 8) {
		if (at >= length - 1) break;
		u64 word = *(u64 *)(w->path + at) ^ REPEATED('/');
		/* The top bit of each byte that is no slash. */
		u64 other = (((word & REPEATED(0x7f)) + REPEATED(0x7f)) | word) & REPEATED(0x80);
		u64 begins = other & ~(other << 8 | before);
		before = other >> 56;
		names += (begins >> 7) * REPEATED(1) >> 56;
	}
	names = forget(w, names);
	return names < VALUE_UNKNOWN ? names : VALUE_UNKNOWN - 1;
}

/* Objects ------------------------------------------------------------------------------------------------------------ */

INLINE struct details *these_details(void)
{
	u32 cpu = get_smp_processor_id();
	return map_lookup(&details, &cpu);
}

INLINE u64 mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* The hash of the path of `length` bytes in w->path, which names_in() has seen, and whose name is noted. */
INLINE u64 note_path(struct window *w, long length)
{
	struct details *d = these_details();
	u64 hash;
	/* names_in() left it with as many ranges as its loop has ends. */
	length = forget(w, length);
	hash = length;
	if (!d || length < 1 || length > PATH_BYTES) return 0;
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < PATH_BYTES; at += 8) {
		if (at >= length - 1) break;
		hash = mix(hash, *(u64 *)(w->path + at));
	}
	hash = forget(w, hash | 1);
	if (map_lookup(&names, &hash)) return hash;
	w->path[length - 1] = 0;
	d->name.inode = d->name.device = d->name.kind = 0;
	d->name.length = length;
	probe_read_kernel_str(d->name.text, TEXT_BYTES, w->path);
	map_update(&names, &hash, &d->name, UPDATE_NOEXIST);
	return hash;
}

INLINE struct inode *inode_of(struct file *file)
{
	struct inode *inode = 0;
	probe_read_kernel(&inode, sizeof inode, &file->f_inode);
	return inode;
}

/* Notes the names of a file and of the directories around it, outwards until the root of its file system. */
INLINE void note_parts(struct details *d, struct dentry *at)
{
	struct dentry *parent;
	const unsigned char *text;
	u64 count = 0;
#pragma clang loop unroll(disable)
	for (u32 part = 0; part < PARTS; part++) {
		text = 0;
		parent = 0;
		probe_read_kernel(&text, sizeof text, &at->d_name.name);
		probe_read_kernel_str(d->name.text + part * PART_BYTES, PART_BYTES, text);
		count += 1;
		probe_read_kernel(&parent, sizeof parent, &at->d_parent);
		if (!parent || parent == at) break;
		at = parent;
	}
	d->name.length = count;
}

/* The hash of what a descriptor of the running task refers to, whose name is noted; 0 if it is not open. The first bytes
 * of the name are part of the hash, because all anonymous files share an inode. */
INLINE u64 note_descriptor(struct window *w, struct task_struct *current, u32 number)
{
	struct details *d = these_details();
	struct fdtable *table = current->files->fdt;
	struct file *file = 0;
	struct super_block *of = 0;
	struct dentry *dentry = 0;
	const unsigned char *text = 0;
	u64 inode_number = 0, head[2] = {}, hash;
	u32 device = 0, flags = 0, special = 0;
	u16 mode = 0;
	if (!d || number >= table->max_fds) return 0;
	probe_read_kernel(&file, sizeof file, table->fd + number);
	if (!file) return 0;
	struct inode *inode = inode_of(file);
	probe_read_kernel(&inode_number, sizeof inode_number, &inode->i_ino);
	probe_read_kernel(&of, sizeof of, &inode->i_sb);
	probe_read_kernel(&device, sizeof device, &of->s_dev);
	probe_read_kernel(&dentry, sizeof dentry, &file->f_path.dentry);
	probe_read_kernel(&text, sizeof text, &dentry->d_name.name);
	probe_read_kernel_str(head, sizeof head, text);
	hash = mix(mix(mix(mix(device, inode_number), head[0]), head[1]), 0);
	hash = forget(w, hash | 1);
	if (map_lookup(&names, &hash)) return hash;
	probe_read_kernel(&mode, sizeof mode, &inode->i_mode);
	probe_read_kernel(&flags, sizeof flags, &inode->i_flags);
	probe_read_kernel(&special, sizeof special, &inode->i_rdev);
	d->name.inode = inode_number;
	d->name.device = device;
	d->name.kind = kind_of_inode(mode, flags, special);
	note_parts(d, dentry);
	map_update(&names, &hash, &d->name, UPDATE_NOEXIST);
	return hash;
}

INLINE u32 size_class(u64 size)
{
	return size ? log2_of(size) + 1 : 0;
}

/* Counting ----------------------------------------------------------------------------------------------------------- */

/* A call that is to be counted. The words of its key are numbers, because bytes that are stored one by one and loaded
 * as a word make the processor wait. */
struct call {
	u64 first; /* group, number, error */
	u64 second; /* operation, gate, kind, value */
	u64 elapsed, on_cpu, blocked, preempted, stalled;
	u64 bytes;
	u64 unfinished;
	/* Whether the elapsed time is that of the whole call. */
	u64 whole;
	/* The hash of what it was made on; 0 if that is not known or not wanted. */
	u64 object;
};

INLINE u64 first_word(u32 group, u32 number, u32 error)
{
	return group | (u64)(u16)number << 32 | (u64)error << 48;
}

INLINE u64 second_word(u32 operation, u32 gate, u32 kind, u32 value)
{
	return operation | (u64)gate << 32 | (u64)kind << 40 | (u64)value << 48;
}

INLINE void add_counted(struct counted *sum, struct counted *more)
{
	ADD(sum->calls, more->calls);
	ADD(sum->unfinished, more->unfinished);
	ADD(sum->on_cpu, more->on_cpu);
	ADD(sum->blocked, more->blocked);
	ADD(sum->preempted, more->preempted);
	ADD(sum->stalled, more->stalled);
	ADD(sum->bytes, more->bytes);
}

/* Adds a window's entry to the shared map. */
INLINE void flush(struct entry *entry)
{
	struct counted *sum = map_lookup(&calls, &entry->key);
	if (!sum) {
		struct counted none = {};
		map_update(&calls, &entry->key, &none, UPDATE_NOEXIST);
		sum = map_lookup(&calls, &entry->key);
	}
	if (!sum) {
		ADD(globals.lost, 1);
		return;
	}
	add_counted(sum, &entry->counted);
}

/* The window's entry of a key; another one in its place is flushed. */
INLINE struct counted *entry_of(struct window *w, u64 first, u64 second)
{
	u64 hash = (first * 0x9e3779b97f4a7c15ull ^ second) * 0xd6e8feb86659fd93ull;
	struct entry *entry = &w->entries[hash >> (64 - ENTRY_BITS)];
	u64 *key = (u64 *)&entry->key;
	if (LIKELY(key[0] == first && key[1] == second)) return &entry->counted;
	/* Readers in user space compare the number before and after. */
	*(volatile u64 *)&w->flushes += 1;
	if (entry->counted.calls | entry->counted.unfinished) flush(entry);
	__builtin_memset(&entry->counted, 0, sizeof entry->counted);
	key[0] = first;
	key[1] = second;
	*(volatile u64 *)&w->flushes += 1;
	return &entry->counted;
}

INLINE void share_durations(u32 number, u32 gate, u32 bucket, u64 count)
{
	struct duration_key key = {.number = number, .gate = gate, .bucket = bucket};
	u64 none = 0, *sum = map_lookup(&durations, &key);
	if (!sum) {
		map_update(&durations, &key, &none, UPDATE_NOEXIST);
		sum = map_lookup(&durations, &key);
	}
	if (sum) ADD(*sum, count);
	else ADD(globals.lost, 1);
}

/* Exact below 2^STEP_BITS, then 2^STEP_BITS buckets per power of two. */
INLINE u32 bucket_of(struct window *w, u64 ns)
{
	u32 log = log2_of(ns), bucket = ns;
	if (log >= STEP_BITS) bucket = ((log - STEP_BITS) << STEP_BITS) + (u32)(ns >> (log - STEP_BITS));
	bucket = forget(w, bucket);
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

INLINE void count_duration(struct window *w, u32 number, u32 gate, u64 ns)
{
	u32 bucket = bucket_of(w, ns), at = number + gate * NUMBERS;
	if (number < NUMBERS && gate < 2) {
		u32 histogram = w->histogram_of[at & (2 * NUMBERS - 1)];
		if (UNLIKELY(!histogram) && w->histograms_used < HISTOGRAMS)
			histogram = w->histogram_of[at & (2 * NUMBERS - 1)] = ++w->histograms_used;
		if (LIKELY(histogram - 1 < HISTOGRAMS)) {
			u32 *count = &w->histograms[histogram - 1][bucket];
			if (UNLIKELY(++*count == 0)) share_durations(number, gate, bucket, 1ull << 32);
			return;
		}
	}
	share_durations(number, gate, bucket, 1);
}

INLINE void count(struct window *w, struct call *call)
{
	struct counted *sums = entry_of(w, call->first, call->second);
	sums->calls += 1;
	sums->unfinished += call->unfinished;
	sums->bytes += call->bytes;
	if (!config.times) return;
	sums->on_cpu += call->on_cpu;
	sums->blocked += call->blocked;
	sums->preempted += call->preempted;
	sums->stalled += call->stalled;
	if (call->whole) count_duration(w, (u16)(call->first >> 32), (u8)(call->second >> 32), call->elapsed);
}

/* Adds a call to a sum that all CPUs share. */
INLINE void add_call(struct counted *sum, struct call *call)
{
	ADD(sum->calls, 1);
	ADD(sum->bytes, call->bytes);
	if (!config.times) return;
	ADD(sum->on_cpu, call->on_cpu);
	ADD(sum->blocked, call->blocked);
	ADD(sum->preempted, call->preempted);
	ADD(sum->stalled, call->stalled);
}

/* The bits of the second word that say the gate. */
#define GATE_BITS (0xffull << 32)

/* Counts a call by what it was made on. */
INLINE void count_object(struct call *call)
{
	struct object_key key = {.object = call->object};
	struct counted *sum;
	((u64 *)&key.key)[0] = call->first;
	((u64 *)&key.key)[1] = call->second & GATE_BITS;
	sum = map_lookup(&objects, &key);
	if (!sum) {
		struct counted none = {};
		map_update(&objects, &key, &none, UPDATE_NOEXIST);
		sum = map_lookup(&objects, &key);
	}
	if (sum) add_call(sum, call);
	else ADD(globals.objects_dropped, 1);
}

/* Counts a call by the user stack that it was made from, and returns that: negative if there is no room. */
INLINE s32 count_stack(void *context, struct task_struct *current, struct call *call)
{
	struct stack_key key = {.process = current->tgid};
	struct counted *sum = 0;
	s64 stack = get_stackid(context, &stacks, USER_STACK);
	key.stack = stack;
	((u64 *)&key.key)[0] = call->first & 0xffffffffffffull;
	((u64 *)&key.key)[1] = call->second & GATE_BITS;
	if (stack >= 0) sum = map_lookup(&stack_counts, &key);
	if (stack >= 0 && !sum) {
		struct counted none = {};
		map_update(&stack_counts, &key, &none, UPDATE_NOEXIST);
		sum = map_lookup(&stack_counts, &key);
	}
	if (sum) add_call(sum, call);
	else ADD(globals.stacks_dropped, 1);
	return stack;
}

/* Keeps a call if it is one of the slowest on this CPU: in the place of the shortest that is kept. */
INLINE void keep_slow(struct window *w, struct task_struct *current, struct call *call, u64 start, s32 stack)
{
	struct details *d = these_details();
	/* The shortest time, and in the lower bits its place. */
	u64 least = -1ull;
	if (!d || LIKELY(call->elapsed <= d->floor)) return;
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < SLOWEST; at++) {
		u64 each = d->slowest[at].elapsed * SLOWEST + at;
		if (each < least) least = each;
	}
	least = forget(w, least);
	d->floor = least / SLOWEST;
	if (call->elapsed <= d->floor) return;
	struct slow *slow = &d->slowest[least & (SLOWEST - 1)];
	((u64 *)&slow->key)[0] = call->first;
	((u64 *)&slow->key)[1] = call->second;
	slow->start = start;
	slow->elapsed = call->elapsed;
	slow->blocked = call->blocked;
	slow->process = current->tgid;
	slow->stack = stack;
}

/* The running task has been on a CPU since `now`: the time off it, within a call, was spent waiting or preempted. */
INLINE void settle(struct task *task, u64 now)
{
	u64 off = now - task->off_since;
	if (!task->off_since) return;
	if (task->waits) task->blocked += off;
	else task->preempted += off;
	task->off_since = 0;
}

/* Divides the time of the call that the task was in until `now`. */
INLINE void divide(struct task *task, u64 now, struct call *call)
{
	if (UNLIKELY(task->off_since)) {
		/* Its return to the CPU was missed. */
		ADD(globals.unseen, 1);
		ADD(globals.unseen_ns, now - task->start);
		settle(task, now);
	}
	call->elapsed = now - task->start;
	call->whole = task->inside == INSIDE;
	call->blocked = task->blocked;
	call->preempted = task->preempted;
	call->stalled = task->stalled;
	call->on_cpu = call->elapsed - call->blocked - call->preempted;
}

/* The programs ------------------------------------------------------------------------------------------------------- */

/* A call is entered. The clock is read last. */
SEC("tp_btf/sys_enter")
int syscost_enter(u64 *ctx)
{
	struct task_struct *current = get_current_task_btf();
	struct pt_regs *regs = (void *)ctx[0];
	u32 number = ctx[1];
	struct task *task = find(current);
	if (!task) {
		if (config.scope == SCOPE_COMMAND && is_exec(number, GATE_OWN)) task = begin_command(current, STATE_HELD);
		if (config.scope >= SCOPE_CGROUP) task = adopt(current, this_window());
		if (!task) return 0;
	}
	if (UNLIKELY(task->state != STATE_LIVE)) {
		if (task->state == STATE_BORN) task->state = STATE_LIVE;
		else if (!is_exec(number, GATE_OWN)) return 0;
	}
	task->inside = INSIDE;
	task->restarts = 0;
	task->number = number;
	if (number == config.close[0] || number == config.close[1]) {
		u32 gate = gate_of(current, &number);
		if (number == config.close[gate & 1]) task->kind = descriptor_kind(current, argument_of(regs, gate, 0));
		if (config.descriptors) {
			struct window *w = this_window();
			task->object = w ? note_descriptor(w, current, argument_of(regs, gate, 0)) : 0;
		}
	}
	if (config.times) {
		task->blocked = task->preempted = task->stalled = task->off_since = 0;
		task->start = ktime_get_ns();
	}
	return 0;
}

/* The words of a call's key, from the registers of the task, and the bytes that it moved. If the call has not returned,
 * the task is not the running one. */
INLINE void classify(struct window *w, struct task *task, struct task_struct *current, struct pt_regs *regs, u32 number,
		     s64 result, int returned, struct call *call)
{
	u32 gate = gate_of(current, &number), error = 0, kind = 0, value = 0, operation = 0;
	if (UNLIKELY(result < 0 && result >= -ERRNO_MAX)) {
		error = -result;
		result = 0;
	}
	if (LIKELY(number < NUMBERS && gate < 2)) {
		const volatile struct row *row = &config.calls[(number + gate * NUMBERS) & (2 * NUMBERS - 1)];
		u32 what = row->what;
		if (row->operation != NO_ARGUMENT) operation = argument_of(regs, gate, row->operation) & row->mask;
		if (what) {
			u64 argument = argument_of(regs, gate, row->argument);
			if (config.descriptors && returned && (what == WHAT_BYTES || what == WHAT_DESCRIPTOR))
				call->object = note_descriptor(w, current, argument);
			if (what == WHAT_BYTES) {
				kind = descriptor_kind(current, argument);
				value = size_class(result);
				call->bytes = result;
			} else if (what == WHAT_DESCRIPTOR) {
				kind = descriptor_kind(current, argument);
			} else if (what == WHAT_PATH || (what == WHAT_EXEC && error)) {
				long length = returned ? probe_read_user_str(w->path, PATH_BYTES, (void *)argument) : 0;
				value = names_in(w, length);
				if (config.paths) call->object = note_path(w, length);
			} else if (what == WHAT_LENGTH) {
				value = size_class(argument);
			} else if (what == WHAT_SET) {
				value = size_class((u32)argument);
			} else if (what == WHAT_EXEC) {
				value = returned ? task->value : VALUE_UNKNOWN;
				if (config.paths) call->object = task->object;
			} else if (what == WHAT_CLOSE) {
				kind = task->kind;
				if (config.descriptors && config.enters) call->object = task->object;
			} else if (what == WHAT_RENAME && returned && current->pid == current->tgid) {
				number_group(task, current);
			}
		}
	} else if (number > NUMBER_UNKNOWN) {
		number = NUMBER_UNKNOWN;
	}
	call->first = forget(w, first_word(task->group, number, error));
	call->second = forget(w, second_word(operation, gate, kind, value));
}

/* A call returns. The clock is read first. A return without an entry is that of a child from its parent's fork, or of a
 * call that a seccomp filter or a debugger answered: that one entered the kernel; how long it took is not known. */
SEC("tp_btf/sys_exit")
int syscost_exit(u64 *ctx)
{
	struct task_struct *current = get_current_task_btf();
	struct pt_regs *regs = (void *)ctx[0];
	s64 result = ctx[1];
	struct call call = {};
	struct task *task = find(current);
	struct window *w;
	u64 now = 0;
	if (!task) {
		if (config.scope >= SCOPE_CGROUP && !config.enters) task = adopt(current, this_window());
		if (!task) return 0;
	}
	if (config.times) now = ktime_get_ns();
	w = this_window();
	if (!w) return 0;
	u32 number = config.enters && task->inside ? task->number : number_of(regs);
	if (UNLIKELY(task->state != STATE_LIVE)) {
		if (task->state == STATE_BORN) {
			task->state = STATE_LIVE;
			return 0;
		} else if (result == 0 && task->inside) {
			task->state = STATE_LIVE;
		} else {
			task->inside = OUTSIDE;
			return 0;
		}
	}
	if (UNLIKELY(number == (u32)-1)) number = config.sigreturn[0];
	if (config.times && task->inside) divide(task, now, &call);
	task->inside = OUTSIDE;
	classify(w, task, current, regs, number, result, 1, &call);
	if (UNLIKELY(result <= -ERRNO_RESTART && result >= -ERRNO_MAX)) {
		((u64 *)&task->again)[0] = call.first;
		((u64 *)&task->again)[1] = call.second;
		task->restarts = 1;
	} else if (!config.enters) {
		task->restarts = 0;
	}
	count(w, &call);
	if ((config.paths || config.descriptors) && call.object) count_object(&call);
	s32 stack = config.stacks ? count_stack(ctx, current, &call) : -1;
	if (config.slowest && call.whole) keep_slow(w, current, &call, now - call.elapsed, stack);
	return 0;
}

/* One task leaves the CPU and another one gets it. A task waits if it leaves by itself and is not runnable; a preempted
 * or yielding one stays runnable. The time from a wake-up until the task runs again counts as waiting: without the wait,
 * it would not have been spent. */
SEC("tp_btf/sched_switch")
int syscost_switch(u64 *ctx)
{
	struct task_struct *previous = (void *)ctx[1];
	struct task *task = find(previous), *next = find((void *)ctx[2]);
	u64 now, by = 0, stalled;
	if (config.scope >= SCOPE_CGROUP) {
		struct window *w = this_window();
		if (w) w->stranger = 0;
	}
	if (!task) {
		/* Keeps the compiler from merging the comparisons by arithmetic on pointers. */
		__asm__ volatile("");
		if (!next) return 0;
	}
	now = ktime_get_ns();
	if (task && task->state) {
		u64 state = config.switch_has_state ? (u32)ctx[3] : state_of(previous);
		if (task->on_since) task->ran += now - task->on_since;
		task->on_since = 0;
		task->waits = !(ctx[0] & 1) && state != 0;
		if (task->inside) task->off_since = now;
		by = set_run(task, task->waits ? RUN_BLOCKED : RUN_WAITING);
	}
	if (next && next->state) {
		next->on_since = now;
		settle(next, now);
		by += set_run(next, RUN_ON_CPU);
	}
	stalled = change_running(by, now);
	if (stalled && next && next->inside) next->stalled += stalled;
	return 0;
}

INLINE int wake(struct task_struct *of)
{
	struct task *task = config.concurrency ? find(of) : 0;
	if (task && task->state && task->run == RUN_BLOCKED) {
		u64 stalled = change_running(set_run(task, RUN_WAITING), ktime_get_ns());
		if (task->inside) task->stalled += stalled;
	}
	return 0;
}

SEC("tp_btf/sched_wakeup")
int syscost_wake(u64 *ctx)
{
	return wake((void *)ctx[0]);
}

SEC("tp_btf/sched_wakeup_new")
int syscost_wake_new(u64 *ctx)
{
	return wake((void *)ctx[0]);
}

/* The running task forked: its child is traced too. */
SEC("tp_btf/sched_process_fork")
int syscost_fork(u64 *ctx)
{
	struct task_struct *current = get_current_task_btf(), *child = (void *)ctx[1];
	struct task *parent = find(current), *task = find(child);
	/* One that is left of a task whose end was missed. */
	if (UNLIKELY(task)) task->owner = FREED;
	if (!parent && config.scope != SCOPE_COMMAND) parent = adopt(current, this_window());
	if (!parent || parent->state != STATE_LIVE) return 0;
	task = make(child);
	if (!task) return 0;
	/* A new task's accounting is all zeros, as the base is. */
	task->state = STATE_BORN;
	task->group = parent->group;
	ADD(globals.live, 1);
	if (child->pid != child->tgid) {
		ADD(globals.threads, 1);
		return 0;
	}
	ADD(globals.processes, 1);
	if (config.group_by != GROUP_NAME) number_group(task, child);
	return 0;
}

/* The kernel has just set the name of the new program. */
SEC("tp_btf/sched_process_exec")
int syscost_exec(u64 *ctx)
{
	struct task_struct *current = get_current_task_btf();
	struct linux_binprm *program = (void *)ctx[2];
	struct task *task = find(current);
	struct window *w = this_window();
	if (!w) return 0;
	if (!task && config.scope == SCOPE_COMMAND && !config.enters) task = begin_command(current, STATE_LIVE);
	if (!task) return 0;
	long length = probe_read_kernel_str(w->path, PATH_BYTES, program->filename);
	task->value = names_in(w, length);
	if (config.paths) task->object = note_path(w, length);
	number_group(task, current);
	return 0;
}

/* The call that an ending task is in and never returns from: -1 if there is none. Without programs at entries, only
 * exit and exit_group can be: of all others, a signal that kills is preceded by their return. */
INLINE s64 last_call(struct task *task, struct task_struct *current, struct pt_regs *regs)
{
	if (config.enters) return task->inside ? (s64)task->number : -1;
	u32 number = number_of(regs), bare = number, gate = gate_of(current, &bare) & 1;
	return bare == config.exit[gate][0] || bare == config.exit[gate][1] ? (s64)number : -1;
}

/* A task ends: the call that it is in never returns, nor does one that was to be restarted. */
INLINE void end_call(struct task *task, struct task_struct *current, u64 now)
{
	struct pt_regs *regs = config.has_registers ? task_pt_regs(current) : 0;
	s64 number = last_call(task, current, regs);
	struct window *w = this_window();
	struct call call = {.unfinished = 1};
	if (!w) return;
	if (number >= 0) {
		u32 bare = number, gate = gate_of(current, &bare);
		call.first = first_word(task->group, bare < NUMBER_UNKNOWN ? bare : NUMBER_UNKNOWN, 0);
		call.second = second_word(0, gate, 0, 0);
		if (config.times) divide(task, now, &call);
		count(w, &call);
	} else if (task->restarts) {
		entry_of(w, ((u64 *)&task->again)[0], ((u64 *)&task->again)[1])->unfinished += 1;
	}
}

/* The accounting of an ending task is added to its group's. */
INLINE void account(struct task *task, struct task_struct *current)
{
	u64 group = task->group;
	struct window *w = this_window();
	struct used none = {}, *sum = map_lookup(&usage, &group);
	if (!sum) {
		map_update(&usage, &group, &none, UPDATE_NOEXIST);
		sum = map_lookup(&usage, &group);
	}
	if (sum) add_usage(sum, task, current);
	else ADD(globals.lost, 1);
	u64 pages = current->signal->maxrss;
	if (w && pages > w->peak_pages) w->peak_pages = pages;
}

SEC("tp_btf/sched_process_exit")
int syscost_end(u64 *ctx)
{
	struct task_struct *current = (void *)ctx[0];
	struct task *task = find(current);
	u64 now = ktime_get_ns();
	if (!task) return 0;
	if (task->state != STATE_HELD) {
		if (task->on_since) task->ran += now - task->on_since;
		end_call(task, current, now);
		account(task, current);
	}
	change_running(-weight(task->run), now);
	/* The task still runs for a moment, but is no longer traced. */
	task->state = STATE_FREE;
	task->owner = FREED;
	ADD(globals.live, -1);
	return 0;
}

/* Has the type described in the object, although no map has it. */
struct live *type_of_live SEC(".data.types");

/* Whether a task that does not run is in a call: neither in user mode nor stopped on its way there. */
#define SLEEPS 3 /* TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE */
INLINE int is_in_call(struct task_struct *task, struct pt_regs *regs)
{
	return config.has_registers && !task->on_cpu && state_of(task) & SLEEPS && (s32)number_of(regs) >= 0;
}

/* Begins to trace a task that is already there. The call that it sleeps in counts from now on. */
INLINE void begin_there(struct task_struct *of, struct pt_regs *regs, u64 now)
{
	u32 run = of->on_cpu ? RUN_ON_CPU : state_of(of) ? RUN_BLOCKED : RUN_WAITING;
	struct task *task;
	if (!of->mm || of->exit_state || !is_wanted(of)) return;
	task = begin(of, STATE_LIVE, run, now);
	if (!task || !is_in_call(of, regs)) return;
	task->number = number_of(regs);
	task->start = task->off_since = now;
	task->waits = 1;
	task->inside = INSIDE_BEFORE;
}

/* Writes what there is to say of a traced task. */
INLINE void list(void *seq, struct task *task, struct task_struct *of, struct pt_regs *regs, u64 now)
{
	struct window *w = this_window();
	struct call call = {};
	struct live live = {.pid = of->pid, .process = of->tgid, .inside = task->inside};
	if (!w || task->state != STATE_LIVE) return;
	live.key.group = task->group;
	add_usage(&live.used, task, of);
	if (task->on_since && now > task->on_since) live.used.ran += now - task->on_since;
	if (!config.enters && is_in_call(of, regs)) live.inside = INSIDE;
	if (live.inside && config.has_registers) {
		u64 off = task->off_since;
		classify(w, task, of, regs, config.enters ? task->number : number_of(regs), 0, 0, &call);
		*(u64 *)&live.key = call.first;
		*((u64 *)&live.key + 1) = call.second;
		if (config.times) {
			live.elapsed = now - task->start;
			live.blocked = task->blocked + (off && task->waits ? now - off : 0);
			live.preempted = task->preempted + (off && !task->waits ? now - off : 0);
			live.stalled = task->stalled;
		}
	}
	seq_write(seq, &live, sizeof live);
}

/* These two are called for each task of the system when user space reads. */
SEC("iter/task.begin")
int syscost_begin(struct bpf_iter__task *ctx)
{
	struct task_struct *of = ctx->task;
	if (of && !find(of)) begin_there(of, config.has_registers ? task_pt_regs(of) : 0, ktime_get_ns());
	return 0;
}

SEC("iter/task.list")
int syscost_list(struct bpf_iter__task *ctx)
{
	struct task_struct *of = ctx->task;
	struct task *task = of ? find(of) : 0;
	if (task) list(ctx->meta->seq, task, of, config.has_registers ? task_pt_regs(of) : 0, ktime_get_ns());
	return 0;
}
