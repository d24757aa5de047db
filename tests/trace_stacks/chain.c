/* Calls getppid N times from main, outer, middle and inner. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, noipa))

static volatile long sink;

/* What follows each call keeps it from being a jump. */
APART void inner(long n)
{
	sink += syscall(SYS_getppid) + n;
}
APART void middle(long n)
{
	inner(n);
	sink += 1;
}
APART void outer(long n)
{
	middle(n);
	sink += 2;
}
/* Two ways to the same instruction, at the same depth. */
APART void often(long n)
{
	inner(n);
	sink += 3;
}
APART void seldom(long n)
{
	inner(n);
	sink += 4;
}
static void (*volatile way[4])(long) = {often, often, seldom, often};

APART void *repeat(void *count)
{
	for (long i = 0; i < (long)count; i++) outer(i);
	return 0;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0;
	const char *kind = argc > 2 ? argv[2] : "";
	pthread_t thread;
	if (!strcmp(kind, "mixed")) {
		for (long i = 0; i < count; i++) way[i % 4](i);
	} else if (!strcmp(kind, "thread")) {
		pthread_create(&thread, 0, repeat, (void *)count);
		pthread_join(thread, 0);
	} else if (!strcmp(kind, "fork")) {
		if (!fork()) {
			repeat((void *)count);
			_exit(0);
		}
		wait(0);
	} else if (!strcmp(kind, "exec")) {
		argv[2] = 0;
		execv("/proc/self/exe", argv);
	} else {
		for (long i = 0; i < count; i++) outer(i);
	}
	return 0;
}
