/* Threads that are in sections of their own, in their creator's, or in none. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void mark(const char *which, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/.syscost/%s/%s", which, name);
	access(path, F_OK);
}

static void call(int times)
{
	while (times--) syscall(SYS_getppid);
}

static void *own(void *name)
{
	mark("begin", name);
	call(7);
	pid_t child = vfork();
	if (!child) _exit(0);
	waitpid(child, 0, 0);
	mark("end", name);
	call(3);
	return 0;
}

static void *inherited(void *unused)
{
	call(5);
	pid_t child = fork();
	if (!child) {
		call(2);
		_exit(0);
	}
	waitpid(child, 0, 0);
	return unused;
}

int main(void)
{
	pthread_t threads[4];
	sigset_t ends_of_children;
	/* One that another thread waits for interrupts none. */
	sigemptyset(&ends_of_children);
	sigaddset(&ends_of_children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends_of_children, 0);
	pthread_create(&threads[0], 0, own, "a");
	pthread_create(&threads[1], 0, own, "b");
	mark("begin", "main");
	pthread_create(&threads[2], 0, inherited, 0);
	pthread_create(&threads[3], 0, own, "b");
	mark("end", "main");
	for (int at = 0; at < 4; at++) pthread_join(threads[at], 0);
	return 0;
}
