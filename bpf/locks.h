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

/* TLB_REMOTE_SEND_IPI of linux/mm_types.h. */
#define INTERRUPTS_OTHERS 4

INLINE struct lock_wait *lock_wait_of(struct lock_key *key, struct lock_wait *new)
{
	struct lock_wait *sum = map_lookup(&locks, key);
	if (sum) return sum;
	map_update(&locks, key, new, UPDATE_NOEXIST);
	return map_lookup(&locks, key);
}

/* The key of what the task does. */
INLINE struct lock_key key_of_lock(struct task *task, u32 flags, u32 kind)
{
	struct lock_key key = {};
	((u64 *)&key.key)[0] = first_word(task->group, short_number(task->inside ? task->number : NUMBER_FAULT), 0);
	((u64 *)&key.key)[1] = second_word(flags, task->inside ? task->gate : GATE_OWN, kind, 0);
	return key;
}

/* The running task has other CPUs, on which its threads are, forget addresses. */
INLINE void count_shoot_down(u64 *ctx, struct task_struct *current)
{
	struct task *task = find(current);
	struct lock_wait none = {}, *sum;
	if ((u32)argument_of_event(ctx, 0) != INTERRUPTS_OTHERS || !task || task->state != STATE_LIVE || ended) return;
	struct lock_key key = key_of_lock(task, 0, LOCK_TLB);
	sum = lock_wait_of(&key, &none);
	if (sum) ADD(sum->waits, 1);
}

/* It has the lock. Short waits count as those of calls do: see WAIT_NS. */
INLINE void have_lock(u64 *ctx, struct task_struct *current)
{
	struct task *task = find(current);
	u64 lock = argument_of_event(ctx, 0), waits = 1, ns, hash = 0;
	struct lock_wait wait = {.lock = lock}, *sum;
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
	struct lock_key key = key_of_lock(task, task->lock_flags, kind_of_lock(current, lock));
	key.stack = hash;
	sum = lock_wait_of(&key, &wait);
	if (!sum) {
		ADD(globals.locks_dropped_ns, ns);
		return;
	}
	if (sum->lock != lock) sum->lock = 0;
	ADD(sum->waits, waits);
	ADD(sum->ns, ns);
}
