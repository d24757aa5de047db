/* The number and arguments of a call, by architecture and gate, and what follows from them: kinds of descriptors, names in
 * a path. */
#pragma once
#include "maps.h"

/* The registers of a 32-bit call are other ones on x86. */
#if defined(__TARGET_ARCH_x86)
#define X32_BIT 0x40000000
/* Whether a new task is seen to return from its parent's fork. */
#define CHILD_RETURNS 1
INLINE u32 gate_of(struct task_struct *task, u32 *number)
{
	if (task->thread_info.status & 2) return GATE_COMPAT; /* TS_COMPAT of asm/thread_info.h */
	if (LIKELY(!(*number & X32_BIT)) || *number == (u32)-1) return GATE_OWN;
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
#define CHILD_RETURNS 0
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

/* The call that a task is in or returns from, and its gate. An execve changes what the registers and the task's flags show,
 * so that what was noted of the call counts. A return from a signal handler leaves no number: of 32-bit programs, all count
 * as rt_sigreturn. Only a call whose number is -1 leaves that too, and fails with ENOSYS. */
INLINE u32 call_of(struct task *task, struct task_struct *of, struct pt_regs *regs, s64 result, u32 *gate)
{
	u32 number;
	if (task->inside) {
		*gate = task->gate;
		return task->number;
	}
	number = number_of(regs);
	*gate = gate_of(of, &number);
	return number == (u32)-1 && result != -ENOSYS ? config.sigreturn[*gate & 1] : number;
}

/* A number as a key has it. */
INLINE u32 short_number(u32 number)
{
	if (LIKELY(number < NUMBER_NONE)) return number;
	return number == (u32)-1 ? NUMBER_NONE : NUMBER_UNKNOWN;
}

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
	struct fdtable *table = plain(current)->files->fdt;
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

/* Fills a piece with slashes from `at` on. */
INLINE void fill_piece(char *at)
{
	for (u32 word = 0; word < PIECE_WORDS; word++) ((u64 *)at)[word] = REPEATED('/');
}

/* A place in a path. Linux 6.1's verifier forgets the bound of what was spilled to the stack: it is applied anew. */
INLINE u32 bounded(u32 at)
{
	__asm__ volatile("" : "+r"(at));
	return at & (PATH_BYTES - 1);
}

/* Names in the `length` bytes of w->path: bytes other than a slash that follow a slash, or stand first. Eight bytes at
 * a time; slashes appended to the end fill the last piece. The verifier follows each turn of a loop, so one is four words. */
INLINE u32 names_in(struct window *w, long length)
{
	u64 before = 0, names = 0;
	if (length < 1 || length > PATH_BYTES) return VALUE_UNKNOWN;
	fill_piece(w->path + bounded(length - 1));
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < PATH_BYTES; at += PIECE_BYTES) {
		if (at >= length - 1) break;
#pragma clang loop unroll(full)
		for (u32 next = 0; next < PIECE_WORDS; next++) {
			u64 word = ((u64 *)(w->path + at))[next] ^ REPEATED('/');
			/* The top bit of each byte that is no slash. */
			u64 other = (((word & REPEATED(0x7f)) + REPEATED(0x7f)) | word) & REPEATED(0x80);
			u64 begins = other & ~(other << 8 | before);
			before = other >> 56;
			names += (begins >> 7) * REPEATED(1) >> 56;
		}
	}
	names = forget(w, names);
	return names < VALUE_UNKNOWN ? names : VALUE_UNKNOWN - 1;
}
