/* Where calls are made from: exact counts by site, and for a sample of calls of each site the registers and a copy of the stack,
 * which user space unwinds. What processes map goes the same way, so that it is known even of those that end at once. */
#pragma once
#include "python.h"

/* Of a command, waits are told by function once it has threads or clients: else no table has these. */
INLINE int wants_stacks(void)
{
	return config.stacks == STACKS_OF_CALLS || config.stacks == STACKS_OF_CLASSES ||
	       (config.stacks && (config.scope != SCOPE_COMMAND || globals.threads || globals.connections));
}

#define CAN_EXECUTE 4 /* PROT_EXEC of linux/mman.h */
#define NO_FILE 0x20 /* MAP_ANONYMOUS */
#define PAGE_SHIFT 12
enum { AVAILABLE_DATA, RING_SIZE }; /* BPF_RB_AVAIL_DATA and BPF_RB_RING_SIZE of linux/bpf.h */

/* Bytes of the longest name of a file, with its 0. */
#define FILE_NAME_BYTES 256
#define DEEPEST 64

/* Notes the names of a file and of the directories around it, outwards until the root of its file system. Returns the bytes
 * of all, 0 if they do not fit. */
INLINE u64 note_names(char *text, struct dentry *at)
{
	u64 used = 0;
#pragma clang loop unroll(disable)
	for (u32 depth = 0; depth < DEEPEST; depth++) {
		const unsigned char *name = 0;
		struct dentry *parent = 0;
		probe_read_kernel(&name, sizeof name, &at->d_name.name);
		probe_read_kernel(&parent, sizeof parent, &at->d_parent);
		if (used > MAPPED_BYTES - FILE_NAME_BYTES) return 0;
		long length = probe_read_kernel_str(text + used, FILE_NAME_BYTES, name);
		if (length < 1 || length > FILE_NAME_BYTES) return 0;
		used += length;
		if (!parent || parent == at) return used;
		at = parent;
	}
	return 0;
}

INLINE struct inode *inode_of(struct file *file)
{
	struct inode *inode = 0;
	probe_read_kernel(&inode, sizeof inode, &file->f_inode);
	return inode;
}

INLINE void note_mapped_file(struct mapped_file *to, struct file *file)
{
	struct inode *inode = inode_of(file);
	struct super_block *of = 0;
	probe_read_kernel(&to->inode, sizeof to->inode, &inode->i_ino);
	probe_read_kernel(&to->size, sizeof to->size, &inode->i_size);
	probe_read_kernel(&to->generation, sizeof to->generation, &inode->i_generation);
	probe_read_kernel(&of, sizeof of, &inode->i_sb);
	probe_read_kernel(&to->device, sizeof to->device, &of->s_dev);
}

/* If the call that returned mapped a file as code, says so. The number of an unknown gate is none of these. */
INLINE void note_mapping(struct task_struct *current, struct pt_regs *regs, u32 number, u64 address)
{
	u32 gate = gate_of(current, &number);
	if (gate > GATE_COMPAT || number != config.mmap[gate & 1]) return;
	u32 of = argument_of(regs, gate, 4);
	if (!(argument_of(regs, gate, 2) & CAN_EXECUTE) || argument_of(regs, gate, 3) & NO_FILE) return;
	struct file *file = file_of(current, of);
	if (!file) return;
	struct mapped *m = ring_reserve(&events, sizeof *m, 0);
	if (!m) {
		ADD(globals.mappings_lost, 1);
		return;
	}
	begin_event(&m->event, EVENT_MAPPED, current);
	note_mapped_file(&m->file, file);
	m->start = address;
	m->end = address + argument_of(regs, gate, 1);
	m->offset = argument_of(regs, gate, 5) << (gate == GATE_COMPAT ? PAGE_SHIFT : 0);
	m->length = note_names(m->path, name_of(file));
	/* The file can be opened through the process as long as that lives. */
	ring_submit(m, RING_FORCE_WAKEUP);
}

/* Says what program has just been executed. */
INLINE void note_program(struct task_struct *current)
{
	struct mm_struct *mm = current->mm;
	struct executed *e = ring_reserve(&events, sizeof *e, 0);
	struct super_block *of;
	if (!e) {
		ADD(globals.mappings_lost, 1);
		return;
	}
	begin_event(&e->event, EVENT_EXECUTED, current);
	struct file *file = mm->exe_file;
	note_mapped_file(&e->file, file);
	probe_read_kernel(e->auxv, sizeof e->auxv, &mm->saved_auxv);
	struct dentry *root = current->fs->root.dentry;
	of = root->d_sb;
	e->root_device = of->s_dev;
	e->mounts = current->nsproxy->mnt_ns->ns.inum;
	e->length = note_names(e->path, name_of(file));
	e->root_length = note_names(e->root, root);
	ring_submit(e, RING_FORCE_WAKEUP);
}

/* Of a thread, process and parent are the same. */
INLINE void note_fork(struct task_struct *parent, struct task_struct *child)
{
	struct forked f = {};
	u32 from = parent->tgid, to = child->tgid;
	struct python *python = map_lookup(&pythons, &from);
	if (python && from != to) map_update(&pythons, &to, python, UPDATE_ANY);
	begin_event(&f.event, EVENT_FORKED, child);
	f.parent = parent->tgid;
	if (ring_output(&events, &f, sizeof f, RING_NO_WAKEUP)) ADD(globals.mappings_lost, 1);
}

#if defined(__TARGET_ARCH_x86)
#define INSTRUCTION(regs) ((regs)->ip)
#define FRAME_POINTER(regs) ((regs)->bp)
#define LINK(regs) 0
#else
#define INSTRUCTION(regs) ((regs)->pc)
#define FRAME_POINTER(regs) ((regs)->regs[29])
#define LINK(regs) ((regs)->regs[30])
#endif

/* A larger distance from the beginning of the process's first stack is another stack. */
#define LARGEST_STACK (64 << 20)

/* Where the process's first stack begins, if that is the one in use; else 0. */
INLINE u64 end_of_stack(struct task_struct *current, u64 sp)
{
	u64 end = current->mm->start_stack;
	return end >= sp && end - sp < LARGEST_STACK ? end : 0;
}

/* A hash of the program, the instruction in its page and the bytes on the stack, which are the same in each process of a program
 * wherever its parts are mapped; never 0. On stacks of further threads, the stack pointer in its page. */
INLINE u64 site_of(struct task_struct *current, struct pt_regs *regs, u64 end)
{
	u64 sp = regs->sp, depth = end ? end - sp : 1ull << 32 | (sp & (PAGE_BYTES - 1));
	u64 where = depth << PAGE_SHIFT | (INSTRUCTION(regs) & (PAGE_BYTES - 1));
	return mix(current->mm->exe_file->f_inode->i_ino, where) | 1;
}

/* Copies the stack from `sp` up to `end`, or as far as memory goes, page by page. Returns the bytes. */
INLINE u32 copy_stack(char *to, u64 sp, u64 end)
{
	u64 copied = 0;
#pragma clang loop unroll(disable)
	for (u32 page = 0; page < STACK_BYTES / PAGE_BYTES; page++) {
		u64 at = sp + copied, bytes = PAGE_BYTES - (at & (PAGE_BYTES - 1));
		if (end && at + bytes > end) bytes = end - at;
		if (bytes < 1 || bytes > PAGE_BYTES || copied > STACK_BYTES - PAGE_BYTES) break;
		if (probe_read_user(to + copied, bytes, (void *)at)) break;
		copied += bytes;
		if (at + bytes == end) break;
	}
	return copied;
}

INLINE struct sampled *this_sample(void)
{
	u32 cpu = get_smp_processor_id();
	return map_lookup(&samples, &cpu);
}

/* Sends the stack of a call to user space. */
INLINE void send_stack(struct task_struct *current, struct pt_regs *regs, struct stack_key *key, u64 end, u64 weight, u32 slow)
{
	struct sampled *to = this_sample();
	if (!to) return;
	if (ring_query(&events, AVAILABLE_DATA) > ring_query(&events, RING_SIZE) / 4 * 3) {
		ADD(globals.samples_lost, 1);
		return;
	}
	struct sample *s = &to->sample;
	begin_event(&s->event, EVENT_STACK, current);
	s->key = *key;
	s->weight = weight;
	s->ip = INSTRUCTION(regs);
	s->sp = regs->sp;
	s->fp = FRAME_POINTER(regs);
	s->lr = LINK(regs);
	s->vdso = (u64)current->mm->context.vdso;
	s->slow = slow;
	u64 length = copy_stack(to->stack, s->sp, end);
	if (length > STACK_BYTES) return;
	if (ring_output(&events, to, sizeof *s + length, RING_NO_WAKEUP)) ADD(globals.samples_lost, 1);
}

/* How many calls the next one stands for, after `calls` of which the first 2^bits are all in the sample; 0 if it is not in it. Without
 * a branch for each power of two, which the verifier would follow to the end of the program. */
INLINE u64 sampled(u64 calls, u32 bits)
{
	u64 weight = calls >> (bits - 1);
	if (weight < 2) return 1;
	return (u64)get_random() * (u32)weight >> 32 ? 0 : weight;
}

/* The sum of a site; of no site if there are too many. */
INLINE struct counted *sum_of(struct stack_key *key)
{
	struct counted none = {}, *sum = map_lookup(&stack_counts, key);
	if (LIKELY(sum)) return sum;
	if (globals.sites >= SITES) {
		key->site = 0;
		sum = map_lookup(&stack_counts, key);
		if (sum) return sum;
	}
	ADD(globals.sites, 1);
	map_update(&stack_counts, key, &none, UPDATE_NOEXIST);
	return map_lookup(&stack_counts, key);
}

/* Copies the stack of a wait that is counted, if it is in the sample of its site: returns that. */
INLINE u64 sample_wait(struct window *w, struct task_struct *current, struct pt_regs *regs, struct call *call)
{
	u64 end = end_of_stack(current, regs->sp), weight;
	struct stack_key key = {.site = site_of(current, regs, end)};
	struct counted *sum;
	struct sampled *to = this_sample();
	if (!to) return 0;
	to->sample.scripts = note_scripts(w, current, &to->sample, &key.site);
	((u64 *)&key.key)[0] = call->first & CALL_BITS;
	((u64 *)&key.key)[1] = call->second & GATE_BITS;
	sum = sum_of(&key);
	weight = sum ? sampled(__sync_fetch_and_add(&sum->calls, 1), SAMPLED_WAITS) : 0;
	if (weight) send_stack(current, regs, &key, end, weight, 0);
	to->sample.scripts = 0;
	return sum ? key.site : 0;
}

#if defined(__TARGET_ARCH_x86)
#define CLONE 56
#define VFORK 58
#else
#define CLONE 220
#define VFORK 220
#endif
#define CLONE3 435

/* How many calls this one stands for; 0 if its stack is not copied. The rate follows the period. */
INLINE u64 sampled_by_class(struct window *w, u32 number)
{
	u64 now = ktime_get_ns(), rare = w->rare & 31, after = now - w->last;
	u8 *first = &w->first[number & (NUMBERS - 1)];
	if (UNLIKELY(*first < FIRST_CALLS)) {
		/* Of calls that start a process all are copied: each is worth it. */
		*first += number != CLONE3 && (number < CLONE || number > VFORK);
		return 1;
	}
	/* The clock's lower bits are as good as chance, and at hand. */
	if (mix(now, rare) >> 32 & ((1ull << rare) - 1)) return 0;
	if (after < SAMPLE_PERIOD_NS / 2 && rare < RAREST) w->rare = rare + 1;
	if (after > SAMPLE_PERIOD_NS * 2 && rare) w->rare = rare - 1;
	w->last = now;
	return 1ull << rare;
}

/* Copies the stack of a call that is in the sample of its class. */
INLINE void sample_class(struct window *w, struct task_struct *current, struct pt_regs *regs, struct call *call)
{
	struct stack_key key = {};
	struct sampled *to = this_sample();
	u64 site = 0;
	if (to) to->sample.scripts = note_scripts(w, current, &to->sample, &site);
	((u64 *)&key.key)[0] = call->first & CALL_BITS;
	((u64 *)&key.key)[1] = call->second & GATE_BITS;
	send_stack(current, regs, &key, end_of_stack(current, regs->sp), w->sampled, 0);
	if (to) to->sample.scripts = 0;
}

/* Counts a call by where it was made, and copies its stack if it is in the sample, or may be one of the slowest: returns the
 * number of the latter, else 0. */
INLINE u32 count_stack(struct task_struct *current, struct pt_regs *regs, struct call *call)
{
	u64 end = end_of_stack(current, regs->sp), calls, rare = 0;
	struct stack_key key = {.site = site_of(current, regs, end)};
	struct counted *sum;
	u32 slow = 0, in_sample = 0;
	((u64 *)&key.key)[0] = call->first & CALL_BITS;
	((u64 *)&key.key)[1] = call->second & GATE_BITS;
	sum = sum_of(&key);
	if (sum) {
		calls = sum->calls;
		add_call(sum, call);
		if (calls >> SAMPLED_BITS) rare = log2_of(calls >> SAMPLED_BITS) + 1;
		in_sample = !(get_random() & ((1ull << (rare & 31)) - 1));
	} else {
		ADD(globals.stacks_dropped, 1);
	}
	if (config.slowest && call->whole) {
		struct details *d = these_details();
		if (d && UNLIKELY(call->elapsed > d->floor)) slow = __sync_fetch_and_add(&globals.slow_stacks, 1) + 1;
	}
	if (in_sample || slow) send_stack(current, regs, &key, end, in_sample ? 1ull << (rare & 31) : 0, slow);
	return slow;
}
