/* Where a sampled CPU was, and what a task waits in: told by the registers with which the task entered the kernel, so that
 * nothing runs when a call is entered or returns. */
#pragma once
#include "concurrency.h"
#include "counting.h"
#include "objects.h"

/* The context of a program at a perf event: struct bpf_perf_event_data of linux/bpf_perf_event.h, whose registers are those
 * of the interrupted code, laid out as ptrace(2) has them. */
#if defined(__TARGET_ARCH_x86)
struct sampled_registers {
	u64 before_ip[16];
	u64 ip, cs;
};

INLINE int in_user_mode(struct sampled_registers *interrupted)
{
	return interrupted->cs & 3;
}

INLINE u64 instruction_of(struct sampled_registers *interrupted)
{
	return interrupted->ip;
}

/* The number of the call that returns to this place, if what is before it says so: `mov $number, %eax` or `xor %eax, %eax`,
 * and `syscall`. */
INLINE u32 returning(struct sampled_registers *interrupted)
{
	u64 before = 0;
	probe_read_user(&before, sizeof before, (void *)(interrupted->ip - sizeof before));
	if (before >> 48 != 0x050f) return NUMBER_USER;
	if ((before >> 8 & 0xff) == 0xb8) return before >> 16;
	return (before >> 32 & 0xffff) == 0xc031 ? 0 : NUMBER_RETURN;
}

/* The number of the call that a task is in, negative if it is in none. */
INLINE s32 current_number(struct pt_regs *regs)
{
	return number_of(regs);
}
#elif defined(__TARGET_ARCH_arm64)
struct sampled_registers {
	u64 regs[31];
	u64 sp, pc, pstate;
};

INLINE int in_user_mode(struct sampled_registers *interrupted)
{
	return (interrupted->pstate & 15) == 0;
}

INLINE u64 instruction_of(struct sampled_registers *interrupted)
{
	return interrupted->pc;
}

/* The same: `svc #0` leaves the number where it was. */
INLINE int is_after_svc(u64 pc)
{
	u32 before = 0;
	probe_read_user(&before, sizeof before, (void *)(pc - sizeof before));
	return before == 0xd4000001;
}

INLINE u32 returning(struct sampled_registers *interrupted)
{
	return is_after_svc(interrupted->pc) ? (u32)interrupted->regs[8] : NUMBER_USER;
}

/* An interrupt that comes as a call is entered is taken before the kernel has noted its number. */
INLINE s32 current_number(struct pt_regs *regs)
{
	s32 number = number_of(regs);
	return number < 0 && is_after_svc(regs->pc) ? (s32)regs->regs[8] : number;
}
#endif

/* Half of the address of the outermost kernel function on the stack: the one that the processor entered the kernel with. */
INLINE u32 entered_by(struct window *w, void *ctx)
{
	s64 bytes = get_stack(ctx, w->frames, sizeof w->frames, 0);
	return bytes > 0 ? w->frames[((u64)bytes / sizeof *w->frames - 1) & (FRAMES - 1)] : 0;
}

/* What a task is in, as the words of a key; `outside` if it is in no call. */
INLINE struct call place_of_task(struct task *task, struct task_struct *of, u32 outside)
{
	struct pt_regs *regs = task_pt_regs(of);
	u32 number = of->mm ? current_number(regs) : NUMBER_THREAD, gate = GATE_OWN;
	struct call call = {};
	if ((s32)number < 0) number = outside;
	else if (number != NUMBER_THREAD) gate = gate_of(of, &number);
	if (number > NUMBER_UNKNOWN) number = NUMBER_UNKNOWN;
	call.first = first_word(task->group, number, 0);
	call.second = second_word(0, gate, 0, 0);
	return call;
}

/* A task leaves its CPU: what it is in is what the time until it is back belongs to. */
INLINE void leave(struct task *task, struct task_struct *of, u64 now)
{
	struct call call = place_of_task(task, of, task->off == OFF_BLOCKED ? NUMBER_FAULT : NUMBER_USER);
	((u64 *)&task->again)[0] = call.first;
	((u64 *)&task->again)[1] = call.second;
	task->blocked = task->woken = task->preempted = task->stalled = 0;
	task->inside = INSIDE;
	task->start = task->off_since = now;
}

/* It is back on a CPU: the time is counted, and the wait as one that is over. */
INLINE void come_back(struct task *task)
{
	struct window *w = this_window();
	if (!w || task->inside == OUTSIDE) return;
	struct counted *sums = entry_of(w, ((u64 *)&task->again)[0], ((u64 *)&task->again)[1]);
	sums->unfinished += 1;
	sums->blocked += task->blocked;
	sums->woken += task->woken;
	sums->preempted += task->preempted;
	sums->stalled += task->stalled;
	task->inside = OUTSIDE;
}
