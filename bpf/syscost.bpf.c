/* Counts the system calls of traced tasks, in the kernel, at its tracepoints. The loader is crates/sys/src/bpf.
 *
 * A task's state is a value of map `tasks`, an open-addressing hash table by the address of its task_struct that the
 * programs keep themselves: finding it takes an inlined array lookup and one comparison, where task storage takes a
 * call. It holds for whatever CPU the task is on, so that a switch that no program saw spoils the time of one call but
 * no count. An entry is made at fork (or when a marked process is first seen) and given up at exit; map `marks`, in
 * task storage, is how user space names tasks: by process file descriptor.
 *
 * A call is counted when it returns: its number and arguments are then still in the task's registers. Programs at
 * tracepoints run with preemption disabled and do not interrupt each other, so that a task's state and a CPU's window need
 * no locks.
 *
 * No function is a call for the verifier: all are inlined. */
#include "concurrency.h"
#include "counting.h"
#include "locks.h"
#include "rings.h"
#include "samples.h"
#include "sections.h"
#include "stacks.h"
#include "waits.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Where tracepoints leave preemption enabled (since Linux 7.2), the kernel skips a program for all other tasks on a CPU while
 * one is preempted in it. There perf attaches the programs, since it disables preemption around them: they get the record of
 * the event. */
INLINE struct pt_regs *registers_of(u64 *ctx, struct task_struct *current)
{
	return config.preemptible ? task_pt_regs(current) : (void *)ctx[0];
}

INLINE s64 result_of(u64 *ctx)
{
	s64 result;
	if (!config.preemptible) return ctx[1];
	result = ctx[2];
	/* Keeps the compiler from merging the loads: the verifier takes no arithmetic on ctx. */
	__asm__ volatile("" : "+r"(result));
	return result;
}

/* A call is entered. The clock is read last. */
SEC("tp_btf/sys_enter")
int syscost_enter(u64 *ctx)
{
	struct task_struct *current = get_current_task_btf();
	struct pt_regs *regs = registers_of(ctx, current);
	u32 number = ctx[1];
	struct task *task = find(current);
	if (!task) {
		if (config.scope == SCOPE_COMMAND && is_exec(number, GATE_OWN)) task = begin_command(current, STATE_HELD);
		if (config.scope >= SCOPE_CGROUP) task = adopt(current, this_window());
		if (!task) return 0;
	}
	if (UNLIKELY(ended)) return 0;
	if (UNLIKELY(task->state != STATE_LIVE)) {
		if (task->state == STATE_BORN) task->state = STATE_LIVE;
		else if (!is_exec(number, GATE_OWN)) return 0;
	}
	u32 gate = gate_of(current, &number);
	task->inside = INSIDE;
	task->restarts = 0;
	task->number = number;
	task->gate = gate;
	if (number == config.close[gate & 1]) {
		task->kind = descriptor_kind(current, argument_of(regs, gate, 0));
		if (config.descriptors) {
			struct window *w = this_window();
			task->object = w ? note_descriptor(w, current, argument_of(regs, gate, 0)) : 0;
		}
	}
	if (config.times) {
		task->blocked = task->woken = task->preempted = task->stalled = task->off_since = 0;
		if (config.waits) task->waker = 0;
		task->start = ktime_get_ns();
	}
	return 0;
}

/* The words of a call's key, from the registers of the task, and the bytes that it moved. If the call has not returned,
 * the task is not the running one. */
INLINE void classify(struct window *w, struct task *task, struct task_struct *current, struct pt_regs *regs, u32 number,
		     u32 gate, s64 result, int returned, struct call *call)
{
	u32 error = 0, kind = 0, value = 0, operation = 0;
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
			if (config.descriptors && returned && (what == WHAT_BYTES || what == WHAT_SENT || what == WHAT_DESCRIPTOR))
				call->object = note_descriptor(w, current, argument);
			if (what == WHAT_BYTES || what == WHAT_SENT) {
				kind = descriptor_kind(current, argument);
				value = size_class(result);
				call->bytes = result;
			} else if (what == WHAT_DESCRIPTOR) {
				kind = descriptor_kind(current, argument);
			} else if (what == WHAT_PATH || (what == WHAT_EXEC && error)) {
				/* The verifier is to check the loops once, not for each gate and error. */
				s32 from = forget(w, directory_of(regs, gate, row->directory));
				error = forget(w, error);
				long length = returned ? probe_read_user_str(w->path, PATH_BYTES, (void *)argument) : 0;
				if (UNLIKELY(is_marker(w, length))) {
					call->marker = length;
					return;
				}
				value = names_in(w, length);
				if ((config.paths || config.descriptors) && returned)
					call->object = note_path_of(w, current, row, from, argument, error, length);
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
			} else if (what == WHAT_RENAME && returned &&
				   (config.group_by == GROUP_THREAD || current->pid == current->tgid)) {
				number_group(task, current);
			}
		}
	} else {
		number = short_number(number);
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
	struct pt_regs *regs = registers_of(ctx, current);
	s64 result = result_of(ctx);
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
	if (!w || UNLIKELY(ended)) return 0;
	u32 gate, number = call_of(task, current, regs, result, &gate);
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
	int untimed = config.times && !task->inside;
	if (config.times && task->inside) divide(task, now, &call);
	/* A filter that sends a signal instead leaves the number where results are. */
	if (UNLIKELY(untimed) && (u32)result == number) result = 0;
	task->inside = OUTSIDE;
	task->gate = gate;
	classify(w, task, current, regs, number, gate, result, 1, &call);
	if (UNLIKELY(untimed)) call.second |= UNTIMED;
	if (UNLIKELY(call.marker)) {
		take_marker(w, task, current, call.marker);
		return 0;
	}
	if (UNLIKELY(result <= -ERRNO_RESTART && result >= -ERRNO_MAX)) {
		((u64 *)&task->again)[0] = call.first;
		((u64 *)&task->again)[1] = call.second;
		task->restarts = 1;
	} else if (!config.enters) {
		task->restarts = 0;
	}
	count(w, &call);
	if ((config.paths || config.descriptors) && call.object) count_object(&call);
	if (result > 0 && wants_stacks()) note_mapping(current, regs, number, result);
	u32 stack = config.stacks == STACKS_OF_CALLS ? count_stack(current, regs, &call) : 0;
	if (config.slowest && call.whole) keep_slow(w, current, &call, now - call.elapsed, stack);
	if (config.waits) {
		u32 kind = (u8)(call.second >> 40);
		task->kind = kind;
		task->object = call.object;
		w->sampled = config.stacks == STACKS_OF_CLASSES ? sampled_by_class(w, number) : 0;
		if (w->sampled || call.blocked || (kind == KIND_SOCKET && result > 0) || (result == 0 && number == config.epoll_ctl[gate & 1]))
			tail_call(ctx, &next, 0);
	}
	return 0;
}

/* The same, of a call that waited, received or sent something, or is in a sample. */
SEC("tp_btf/sys_exit")
int syscost_served(u64 *ctx)
{
	struct task_struct *current = get_current_task_btf();
	struct task *task = find(current);
	struct window *w = this_window();
	if (task && w) note_served(w, task, current, registers_of(ctx, current), result_of(ctx));
	return 0;
}

/* Whether an ending task is in a call that it never returns from, and in which. Without programs at entries, only exit and
 * exit_group can be: of all others, a signal that kills is preceded by their return. */
INLINE int is_in_last(struct task *task, struct task_struct *current, struct pt_regs *regs, u32 *number, u32 *gate)
{
	if ((config.enters || ended) && !task->inside) return 0;
	*number = call_of(task, current, regs, 0, gate);
	const volatile u16 *exits = config.exit[*gate & 1];
	return config.enters || *number == exits[0] || *number == exits[1];
}

/* A task ends: the call that it is in never returns, nor does one that was to be restarted. */
INLINE void end_call(struct task *task, struct task_struct *current, u64 now)
{
	struct pt_regs *regs = config.has_registers ? task_pt_regs(current) : 0;
	u32 number, gate;
	struct window *w = this_window();
	struct call call = {.unfinished = 1};
	if (!w) return;
	if (is_in_last(task, current, regs, &number, &gate)) {
		call.first = first_word(task->group, short_number(number), 0);
		call.second = second_word(0, gate, 0, 0);
		if (config.times) divide(task, now, &call);
		count(w, &call);
		if (config.waits && config.has_registers && call.blocked)
			count_wait(w, task, current, regs, number, gate, -1, &call);
	} else if (task->restarts) {
		entry_of(w, ((u64 *)&task->again)[0], ((u64 *)&task->again)[1])->unfinished += 1;
	}
}

/* Until tracing ended. */
INLINE u64 time_of_trace(void)
{
	u64 end = ended;
	return end ? end : ktime_get_ns();
}

/* A signal ended the call that it was in, and it has made none since. */
INLINE void note_last(struct live *live, struct task *task)
{
	((u64 *)&live->key)[0] = first_word(task->group, short_number(task->number), 0);
	((u64 *)&live->key)[1] = second_word(0, task->gate, task->kind, 0);
	live->inside = INSIDE;
	live->value = task->interrupted_value;
	live->object = task->interrupted_object;
	live->site = task->interrupted_site;
	live->lock = task->interrupted_lock;
	live->blocked = task->blocked;
	live->elapsed = since(task->start, time_of_trace());
}

/* What a task that ends had used, and the call that it ended in. */
INLINE void keep_ended(struct task *task, struct task_struct *current)
{
	struct details *d = these_details();
	u64 number = current->pid;
	if (!d) return;
	struct live *live = &d->live;
	__builtin_memset(live, 0, sizeof *live);
	live->pid = number;
	live->process = current->tgid;
	live->key.group = task->group;
	add_usage(&live->used, task, current);
	if (task->interrupted && task->interrupted == task->start) note_last(live, task);
	probe_read_kernel_str(live->name, sizeof live->name, plain(current)->comm);
	map_update(&ended_tasks, &number, live, UPDATE_ANY);
}

/* The accounting of an ending task is added to its group's. */
INLINE void account(struct task *task, struct task_struct *current)
{
	struct window *w = this_window();
	if (config.group_by == GROUP_TREE && current->pid == current->tgid) leave_group(task);
	use(task, current);
	if (config.waits) keep_ended(task, current);
	u64 pages = plain(current)->signal->maxrss;
	if (w && pages > w->peak_pages) w->peak_pages = pages;
}

/* A task ends, at the last moment at which it is traced. */
INLINE void end_task(struct task *task, struct task_struct *current, u64 now)
{
	if (task->state != STATE_HELD) {
		spend(task, now);
		if (!config.sampled) end_call(task, current, now);
		account(task, current);
	}
	if (!ended) change_running(-weight(task->run), now);
	task->state = STATE_FREE;
	task->owner = FREED;
	ADD(globals.live, -1);
}

/* One task leaves the CPU and another one gets it. A task is blocked if it leaves by itself and is not runnable, until it
 * is woken; a preempted or yielding one stays runnable. */
#define DEAD 0x80 /* TASK_DEAD */
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
	u64 state = config.switch_has_state ? (u32)ctx[3] : state_of(previous);
	if (task && UNLIKELY(task->state == STATE_ENDING) && state & DEAD) {
		end_task(task, previous, time_of_trace());
		ADD(globals.ending, -1);
		task = 0;
	}
	if (UNLIKELY(ended)) return 0;
	now = ktime_get_ns();
	if (task && task->state) {
		task->off = !(ctx[0] & 1) && state != 0 ? OFF_BLOCKED : OFF_PREEMPTED;
		if (config.sampled) leave(task, previous, now);
		else if (task->inside) task->off_since = now;
		by = set_run(task, task->off == OFF_BLOCKED ? RUN_BLOCKED : RUN_WAITING, now);
	}
	if (next && next->state) {
		settle(next, now, RUN_ON_CPU);
		by += set_run(next, RUN_ON_CPU, now);
	}
	stalled = change_running(by, now);
	if (stalled && next && next->inside) next->stalled += stalled;
	if (config.sampled && next && next->state) come_back(next);
	return 0;
}

INLINE int wake(struct task_struct *of)
{
	struct task *task = config.concurrency || config.times || config.sampled ? find(of) : 0;
	/* One that was still on its way off the CPU does not leave it. */
	if (task && task->state && task->run == RUN_BLOCKED && !ended) {
		u64 now = ktime_get_ns(), stalled = change_running(set_run(task, RUN_WAITING, now), now);
		if (task->inside) task->stalled += stalled;
		settle(task, now, RUN_WAITING);
	}
	return 0;
}

SEC("tp_btf/sched_wakeup")
int syscost_wake(u64 *ctx)
{
	return wake((void *)ctx[0]);
}

/* Only this is where the running task is who wakes. */
SEC("tp_btf/sched_waking")
int syscost_waking(u64 *ctx)
{
	struct task_struct *of = (void *)ctx[0];
	struct task *task = find(of);
	if (task && task->inside && !ended) note_waker(task, of, get_current_task_btf());
	return 0;
}

SEC("tp_btf/contention_begin")
int syscost_want_lock(u64 *ctx)
{
	want_lock(ctx, get_current_task_btf());
	return 0;
}

SEC("tp_btf/contention_end")
int syscost_have_lock(u64 *ctx)
{
	have_lock(ctx, get_current_task_btf());
	return 0;
}

SEC("tp_btf/tlb_flush")
int syscost_shoot_down(u64 *ctx)
{
	count_shoot_down(ctx, get_current_task_btf());
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int syscost_submit(u64 *ctx)
{
	submit(ctx, get_current_task_btf());
	return 0;
}

SEC("tp_btf/io_uring_queue_async_work")
int syscost_to_worker(u64 *ctx)
{
	leave_to_worker(ctx);
	return 0;
}

SEC("tp_btf/io_uring_complete")
int syscost_complete(u64 *ctx)
{
	complete(ctx, get_current_task_btf());
	return 0;
}

/* Threads that work for a process in the kernel, such as io_uring's: PF_IO_WORKER and, since 6.4, PF_USER_WORKER
 * (linux/sched.h), which meant something else before 5.18. */
INLINE int is_worker(struct task_struct *task)
{
	return task->flags & (config.switch_has_state ? 0x4010 : 0x10);
}

/* The running task forked: its child is traced too. */
INLINE void begin_child(struct task_struct *current, struct task_struct *child)
{
	struct task *parent = find(current), *task = find(child);
	if (UNLIKELY(ended)) return;
	/* One that is left of a task whose end was missed. */
	if (UNLIKELY(task)) task->owner = FREED;
	if (!parent && config.scope != SCOPE_COMMAND) parent = adopt(current, this_window());
	if (!parent || parent->state != STATE_LIVE) return;
	task = make(child);
	if (!task) return;
	/* A new task's accounting is all zeros, as the base is. */
	task->state = CHILD_RETURNS && !config.sampled ? STATE_BORN : STATE_LIVE;
	task->group = parent->group;
	task->gate = parent->gate;
	task->from = parent->from;
	task->depth = parent->depth;
	task->section = parent->section;
	task->fresh = 1;
	task->run_since = ktime_get_ns();
	ADD(globals.live, 1);
	if (child->pid != child->tgid) {
		ADD(globals.threads, 1);
		if (wants_stacks()) note_fork(current, child);
		return;
	}
	ADD(globals.processes, 1);
	if (task->section) count_process(task->section);
	if (config.group_by == GROUP_PROCESS || config.group_by == GROUP_CGROUP) number_group(task, child);
	if (wants_stacks()) note_fork(current, child);
}

/* A new task is about to run. As at switches, interrupts are disabled here. */
SEC("tp_btf/sched_wakeup_new")
int syscost_wake_new(u64 *ctx)
{
	struct task_struct *child = (void *)ctx[0];
	if (!is_worker(child)) begin_child(get_current_task_btf(), child);
	return wake(child);
}

/* "/dev/fd/", with which the path of a program begins that is named by a descriptor. */
#define DEV_FD 0x2f64662f7665642f

/* Reads the path of a program that is executed into `w->path`. */
INLINE long program_of(u64 *ctx, struct window *w, int *relative)
{
	long length;
	if (config.preemptible) {
		length = probe_read_kernel_str(w->path, PATH_BYTES, (char *)ctx + (u16)ctx[1]);
		*relative = length > 8 && *(u64 *)w->path == DEV_FD;
	} else {
		struct linux_binprm *program = (void *)ctx[2];
		length = probe_read_kernel_str(w->path, PATH_BYTES, program->filename);
		*relative = program->fdpath != 0;
	}
	return length;
}

/* The kernel has just set the name of the new program. */
SEC("tp_btf/sched_process_exec")
int syscost_exec(u64 *ctx)
{
	struct task_struct *current = get_current_task_btf();
	struct task *task = find(current);
	int relative;
	struct window *w = this_window();
	if (!w) return 0;
	if (!task && config.scope == SCOPE_COMMAND && !config.enters) task = begin_command(current, STATE_LIVE);
	if (!task || ended) return 0;
	long length = program_of(ctx, w, &relative);
	task->value = names_in(w, length);
	/* A path relative to a descriptor is not known as such here. */
	if (config.paths) task->object = relative ? 0 : note_path(w, current, plain(current)->fs->pwd.dentry, length);
	if (!config.enters && !config.sampled) {
		/* A descriptor of a directory has only execveat. */
		task->number = config.exec[task->gate & 1][relative];
		task->inside = INSIDE;
	}
	number_group(task, current);
	if (wants_stacks()) note_program(current);
	return 0;
}

/* Since Linux 6.16 the memory is torn down after this event. That takes time, so a task ends as it leaves the CPU for the last time. */
SEC("tp_btf/sched_process_exit")
int syscost_end(void)
{
	struct task_struct *current = get_current_task_btf();
	struct task *task = find(current);
	if (!task) return 0;
	if (task->state == STATE_HELD || config.sampled || ended) {
		end_task(task, current, time_of_trace());
		return 0;
	}
	task->state = STATE_ENDING;
	ADD(globals.ending, 1);
	return 0;
}

/* A CPU's clock interrupted it: what it was in counts. It does not interrupt the other programs that write to windows, which
 * run with interrupts disabled if CPUs are sampled. */
SEC("perf_event")
int syscost_sample(struct sampled_registers *interrupted)
{
	struct task_struct *current = get_current_task_btf();
	struct window *w = this_window();
	struct task *task = find(current);
	struct call call;
	if (!w || !current->pid || ended) return 0;
	if (!task && config.scope >= SCOPE_CGROUP) task = adopt(current, w);
	if (!task || task->state != STATE_LIVE) return 0;
	if (in_user_mode(interrupted)) {
		/* The kernel returns with interrupts disabled: one that comes meanwhile is taken before the first instruction. */
		call.first = first_word(task->group, returning(interrupted), 0);
		call.second = 0;
	} else {
		call = place_of_task(task, current, NUMBER_ENTERED);
		if ((u16)(call.first >> 32) == NUMBER_ENTERED) call.second = second_word(entered_by(w, interrupted), 0, 0, 0);
	}
	entry_of(w, call.first, call.second)->calls += 1;
	return 0;
}

/* Functions begin at such an address. */
#define FUNCTION_BYTES 16

/* The same where calls are counted and timed: of their time it is known where it went, so that only samples outside of them say
 * something new. Interrupts the other programs, and writes to nothing of theirs. */
SEC("perf_event")
int syscost_sample_outside(struct sampled_registers *interrupted)
{
	struct task_struct *current = get_current_task_btf();
	struct window *w = this_window();
	struct task *task = find(current);
	struct place place = {};
	u64 one = 1, *sum;
	if (!w || !current->pid || ended || !task || task->state == STATE_FREE || task->state == STATE_HELD) return 0;
	if (in_user_mode(interrupted)) {
		if (returning(interrupted) != NUMBER_USER) {
			ADD(globals.samples_calls, 1);
			return 0;
		}
		ADD(globals.samples_user, 1);
		place.process = current->tgid;
		place.address = instruction_of(interrupted) & -FUNCTION_BYTES;
		note_script(current, &place);
	} else if (!is_worker(current)) {
		if (current_number(task_pt_regs(current)) >= 0) {
			ADD(globals.samples_calls, 1);
			return 0;
		}
		place.address = entered_by(w, interrupted);
	}
	sum = map_lookup(&places, &place);
	if (sum) ADD(*sum, 1);
	else if (map_update(&places, &place, &one, UPDATE_NOEXIST) && !place.process) ADD(globals.samples_kernel, 1);
	return 0;
}

/* Have their types described in the object, although no map has them. */
struct live *type_of_live SEC(".data.types");
struct mapped *type_of_mapped SEC(".data.types");
struct executed *type_of_executed SEC(".data.types");
struct script *type_of_script SEC(".data.types");
struct forked *type_of_forked SEC(".data.types");
struct address *type_of_address SEC(".data.types");

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
	/* The call that it may be on its way from began before. */
	task = begin(of, config.times ? STATE_BORN : STATE_LIVE, run, now);
	if (!task || !is_in_call(of, regs)) return;
	task->off = OFF_BLOCKED;
	if (config.sampled) {
		leave(task, of, now);
		return;
	}
	u32 number = number_of(regs);
	task->gate = gate_of(of, &number);
	task->number = number;
	task->start = task->off_since = now;
	task->inside = INSIDE_BEFORE;
	if (is_in_call(of, regs)) {
		task->state = STATE_LIVE;
		return;
	}
	/* It was woken meanwhile. */
	task->off_since = 0;
	task->inside = OUTSIDE;
}

/* What an open call waits for. */
INLINE void note_open(struct window *w, struct live *live, struct task *task, struct task_struct *of, struct pt_regs *regs,
		      u32 number, u32 gate, struct call *call)
{
	const volatile struct row *row = &config.calls[(number + (gate & 1) * NUMBERS) & (2 * NUMBERS - 1)];
	live->argument = argument_of(regs, gate, 0);
	live->ip = INSTRUCTION(regs);
	live->sp = regs->sp;
	live->fp = FRAME_POINTER(regs);
	live->lr = LINK(regs);
	live->space = (u64)of->mm;
	live->value = wait_value(w, task, regs, number, gate, -1);
	if (number < NUMBERS && row->what != WHAT_SET) live->object = hash_of_waited(w, of, regs, row, number, gate, call);
}

/* The name of a task, and the time since it began what it does. */
INLINE void note_state(struct live *live, struct task *task, struct task_struct *of, u64 now)
{
	u64 still = since(task->run_since, now);
	if (task->run == RUN_ON_CPU) live->used.ran += still;
	else if (task->run == RUN_WAITING) live->used.waited += still;
	else live->used.blocked += still;
	probe_read_kernel_str(live->name, sizeof live->name, plain(of)->comm);
}

/* Writes what there is to say of a traced task. */
INLINE void list(void *seq, struct task *task, struct task_struct *of, struct pt_regs *regs, u64 now)
{
	struct window *w = this_window();
	struct call call = {};
	struct live live = {.pid = of->pid, .process = of->tgid, .inside = task->inside};
	if (!w || task->state == STATE_HELD) return;
	live.key.group = task->group;
	add_usage(&live.used, task, of);
	note_state(&live, task, of, now);
	if (!config.enters && !config.sampled && is_in_call(of, regs)) live.inside = INSIDE;
	if (live.inside && config.has_registers) {
		u64 off = task->off_since;
		if (config.sampled) {
			call.first = ((u64 *)&task->again)[0];
			call.second = ((u64 *)&task->again)[1];
		} else {
			u32 gate, number = call_of(task, of, regs, 0, &gate);
			classify(w, task, of, regs, number, gate, 0, 0, &call);
			if (config.waits && ended) note_open(w, &live, task, of, regs, number, gate, &call);
		}
		*(u64 *)&live.key = call.first;
		*((u64 *)&live.key + 1) = call.second;
		if (config.times || config.sampled) {
			u64 still = off ? since(off, now) : 0;
			live.elapsed = since(task->start, now);
			live.blocked = task->blocked + (task->off == OFF_BLOCKED ? still : 0);
			live.woken = task->woken + (task->off == OFF_WOKEN ? still : 0);
			live.preempted = task->preempted + (task->off == OFF_PREEMPTED ? still : 0);
			live.stalled = task->stalled;
		}
	}
	seq_write(seq, &live, sizeof live);
	/* It has been counted to its end. */
	if (ended) task->state = STATE_HELD;
}

/* These two are called for each task of the system when user space reads. */
SEC("iter/task")
int syscost_begin(struct bpf_iter__task *ctx)
{
	struct task_struct *of = ctx->task;
	if (of && !find(of)) begin_there(of, config.has_registers ? task_pt_regs(of) : 0, ktime_get_ns());
	return 0;
}

SEC("iter/task")
int syscost_list(struct bpf_iter__task *ctx)
{
	struct task_struct *of = ctx->task;
	struct task *task = of ? find(of) : 0;
	if (task) list(ctx->meta->seq, task, of, config.has_registers ? task_pt_regs(of) : 0, time_of_trace());
	return 0;
}
