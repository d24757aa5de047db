/* Programs of several threads, of which it is known what each does. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define REQUESTS 200

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, 0);
}

/* Prints the scheduler's accounting of the thread: time on CPUs, time runnable without one, turns. */
static void *compute(void *unused)
{
	char line[100];
	for (int turn = 0; turn < 20; turn++) {
		struct timespec from, now;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < 5000000);
		pause_ms(1);
	}
	FILE *accounting = fopen("/proc/thread-self/schedstat", "r");
	sched_yield(); /* to read and to end within one turn, whose wait is still read */
	if (!accounting || !fgets(line, sizeof line, accounting)) exit(1);
	fputs(line, stdout);
	return unused;
}

static void compute_in_threads(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], 0, compute, 0)) exit(1);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
}

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, orders = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

__attribute__((noinline)) static void transfer(pthread_mutex_t *from, pthread_mutex_t *to)
{
	pthread_mutex_lock(from);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(to);
	pthread_mutex_unlock(to);
}

static void *transfer_back(void *unused)
{
	transfer(&orders, &stock);
	return unused;
}

static void deadlock(void)
{
	pthread_t other;
	if (pthread_barrier_init(&both, 0, 2) || pthread_create(&other, 0, transfer_back, 0)) exit(1);
	puts("ready");
	fflush(stdout);
	transfer(&stock, &orders);
}

static int parked = -1;

/* As a thread that Rust parks: no lock, although the highest bit of its word is set. */
static void *park(void *unused)
{
	syscall(SYS_futex, &parked, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, -1, 0, 0, FUTEX_BITSET_MATCH_ANY);
	return unused;
}

static void unpark(void)
{
	pthread_t thread;
	if (pthread_create(&thread, 0, park, 0)) exit(1);
	pause_ms(100);
	parked = 0;
	syscall(SYS_futex, &parked, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
	pthread_join(thread, 0);
}

static volatile int is_protected;
static volatile long looks;

static void *look_on(void *unused)
{
	while (!is_protected) looks++;
	return unused;
}

/* Its threads are on several CPUs while pages change. */
static void protect(void)
{
	pthread_t thread;
	char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || pthread_create(&thread, 0, look_on, 0)) exit(1);
	for (int together = 0; together < 100;) {
		long before = looks;
		*page = before;
		if (mprotect(page, 4096, PROT_READ) || mprotect(page, 4096, PROT_READ | PROT_WRITE)) exit(1);
		together += looks != before;
	}
	is_protected = 1;
	pthread_join(thread, 0);
}

static void *forget_pages(void *unused)
{
	char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED) exit(1);
	for (int i = 0; i < 100000; i++) {
		*page = 1;
		if (madvise(page, 4096, MADV_DONTNEED)) exit(1);
	}
	return unused;
}

/* Each of two threads interrupts the other's CPU, which may be interrupting its own. */
static void interrupt_each_other(void)
{
	pthread_t thread;
	if (pthread_create(&thread, 0, forget_pages, 0)) exit(1);
	forget_pages(0);
	pthread_join(thread, 0);
}

static struct sockaddr_in address;

/* Asks on one connection. */
static void *ask(void *unused)
{
	char byte = 0;
	int asking = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(asking, (void *)&address, sizeof address)) exit(1);
	for (int i = 0; i < REQUESTS; i++)
		if (send(asking, &byte, 1, 0) != 1 || recv(asking, &byte, 1, 0) != 1) exit(1);
	close(asking);
	return unused;
}

/* Answers as long as there are connections. Another process asks, on a connection after the other if it is to go on. */
static void serve(int forever)
{
	socklen_t length = sizeof address;
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0x700000001};
	int listening = socket(AF_INET, SOCK_STREAM, 0), set = epoll_create1(0);
	char byte;
	address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(listening, (void *)&address, length) || listen(listening, 8)) exit(1);
	if (getsockname(listening, (void *)&address, &length)) exit(1);
	if (epoll_ctl(set, EPOLL_CTL_ADD, listening, &event)) exit(1);
	printf("127.0.0.1:%d\n", ntohs(address.sin_port));
	fflush(stdout);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, 9);
		do {
			pause_ms(50);
			ask(0);
		} while (forever);
		_exit(0);
	}
	do {
		if (epoll_wait(set, &event, 1, -1) != 1) exit(1);
		int client = accept(listening, 0, 0);
		while (recv(client, &byte, 1, 0) == 1)
			if (send(client, &byte, 1, MSG_NOSIGNAL) != 1) break;
		close(client);
	} while (forever);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	alarm(60);
	if (!strcmp(what, "compute")) compute_in_threads();
	else if (!strcmp(what, "deadlock")) deadlock();
	else if (!strcmp(what, "protect")) protect();
	else if (!strcmp(what, "interrupt")) interrupt_each_other();
	else if (!strcmp(what, "park")) unpark();
	else if (!strcmp(what, "serve")) serve(0);
	else if (!strcmp(what, "serve-on")) serve(1);
	else return 2;
	return 0;
}
