/* How many traced tasks are on a CPU, waiting for one, or blocked, and for how long. */
#pragma once
#include "tasks.h"

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

/* Zero if `then` is later: where tracing ended a moment before. */
INLINE u64 since(u64 then, u64 now)
{
	return now > then ? now - then : 0;
}

/* Time since `task->run` changed counts. */
INLINE void spend(struct task *task, u64 now)
{
	task->spent[task->run & 3] += since(task->run_since, now);
	task->run_since = now;
}

/* What setting `task->run` adds to `globals.running`. */
INLINE u64 set_run(struct task *task, u32 run, u64 now)
{
	u64 by = weight(run) - weight(task->run);
	spend(task, now);
	task->run = run;
	return by;
}

/* Begins to trace a task. */
INLINE struct task *begin(struct task_struct *of, u32 state, u32 run, u64 now)
{
	struct task *task = make(of);
	if (!task) return 0;
	note_base(task, of, now);
	number_group(task, of);
	ADD(globals.live, 1);
	if (of->pid == of->tgid) ADD(globals.processes, 1);
	else ADD(globals.threads, 1);
	change_running(set_run(task, run, now), now);
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
	struct task *task = begin(current, state, RUN_ON_CPU, ktime_get_ns());
	/* Its name before the execve is that of the tracer. */
	if (task) task->fresh = 1;
	return task;
}
