/* Calls that a seccomp filter answers. ACTION N: N madvise that it answers so, N getppid that it allows, and 5 calls numbered -1.
 * `vsyscall` N: N calls into the vsyscall page. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void ignore(int signal)
{
	(void)signal;
}

static int install(const char *action)
{
	unsigned answer = SECCOMP_RET_ERRNO | EAGAIN;
	if (!strcmp(action, "trap")) answer = SECCOMP_RET_TRAP;
	if (!strcmp(action, "kill")) answer = SECCOMP_RET_KILL_PROCESS;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	signal(SIGSYS, ignore);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int count, char **words)
{
	long each = count > 2 ? atol(words[2]) : 0, sum = 0;
	if (count > 1 && !strcmp(words[1], "vsyscall")) {
#ifdef __x86_64__
		long (*volatile from_page)(long *) = (long (*)(long *))0xffffffffff600400;
		for (long i = 0; i < each; i++) sum += from_page(0);
#endif
		return sum == 1;
	}
	if (count < 3 || install(words[1])) return 2;
	if (!strcmp(words[1], "kill")) {
		for (long i = 0; i < each; i++) {
			if (!fork()) syscall(SYS_madvise, 0, 0, 0);
			wait(0);
		}
		return 0;
	}
	for (long i = 0; i < each; i++) syscall(SYS_madvise, 0, 0, 0);
	for (long i = 0; i < each; i++) syscall(SYS_getppid);
	for (int i = 0; i < 5; i++) syscall(-1);
	return 0;
}
