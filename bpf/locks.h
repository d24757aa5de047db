/* Locks of the kernel that tasks sleep for, by what they are and by the stack that wanted them: since Linux 5.19, which has
 * tracepoints there. */
#pragma once
#include "counting.h"
#include "waits.h"

/* Of the tracepoints' flags: include/trace/events/lock.h. A mutex spins before it sleeps. */
enum { LOCK_SPINS = 1, LOCK_IS_MUTEX = 32 };

INLINE u64 argument_of_event(u64 *ctx, u32 position)
{
	u64 value;
	if (!config.preemptible) return ctx[position];
	value = ctx[position + 1];
	/* As in result_of(). */
	__asm__ volatile("" : "+r"(value));
	return value;
}

/* A task begins to wait for a lock. Locks that only spin may be taken by interrupts, and are left out. */
INLINE void want_lock(u64 *ctx, struct task_struct *current)
{
	u32 flags = argument_of_event(ctx, 1);
	struct task *task;
	if ((flags & (LOCK_SPINS | LOCK_IS_MUTEX)) == LOCK_SPINS) return;
	task = find(current);
	if (!task || task->state != STATE_LIVE || ended) return;
	u64 lock = argument_of_event(ctx, 0);
	/* A mutex begins twice. */
	if (task->lock == lock && task->lock_since) return;
	task->lock = lock;
	task->lock_flags = flags;
	task->lock_since = ktime_get_ns();
}

/* Whether the lock is that of an inode, which its own mapping points back to. */
INLINE int is_of_inode(u64 lock)
{
	struct inode *none = 0, *host = 0;
	u64 inode = lock - (u64)&none->i_rwsem;
	probe_read_kernel(&host, sizeof host, &((struct inode *)inode)->i_data.host);
	return (u64)host == inode;
}

INLINE u32 kind_of_lock(struct task_struct *current, u64 lock)
{
	struct mm_struct *mm = current->mm;
	if (mm && lock == (u64)mm + (u64)&((struct mm_struct *)0)->mmap_lock) return LOCK_MMAP;
	return is_of_inode(lock) ? LOCK_INODE : LOCK_OTHER;
}

/* It has the lock. Short waits count as those of calls do: see WAIT_NS. */
INLINE void have_lock(u64 *ctx, struct task_struct *current)
{
	struct task *task = find(current);
	u64 lock = argument_of_event(ctx, 0), waits = 1, ns, hash = 0;
	struct lock_wait wait = {.lock = lock}, *sum;
	struct lock_key key = {};
	if (!task || !task->lock_since || task->lock != lock || ended) return;
	ns = since(task->lock_since, ktime_get_ns());
	task->lock_since = 0;
	if (ns < WAIT_NS) {
		if (get_random() % WAIT_NS >= ns) return;
		waits = WAIT_NS / ns;
		ns = WAIT_NS;
	}
	get_stack(ctx, wait.frames, sizeof wait.frames, 0);
#pragma clang loop unroll(full)
	for (u32 at = 0; at < LOCK_FRAMES; at++) hash = mix(hash, wait.frames[at]);
	u32 number = task->inside ? task->number : NUMBER_FAULT;
	((u64 *)&key.key)[0] = first_word(task->group, short_number(number), 0);
	((u64 *)&key.key)[1] = second_word(task->lock_flags, task->inside ? task->gate : GATE_OWN, kind_of_lock(current, lock), 0);
	key.stack = hash;
	sum = map_lookup(&locks, &key);
	if (!sum) {
		map_update(&locks, &key, &wait, UPDATE_NOEXIST);
		sum = map_lookup(&locks, &key);
	}
	if (!sum) {
		ADD(globals.locks_dropped_ns, ns);
		return;
	}
	if (sum->lock != lock) sum->lock = 0;
	ADD(sum->waits, waits);
	ADD(sum->ns, ns);
}
