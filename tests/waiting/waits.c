/* Programs of which it is known what they wait for. The last line of output is the kernel's accounting of the thread: time
 * on CPUs, time runnable without one, turns. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t hogs[2];

/* All of this program, and what it starts, on the CPU that it is on. */
static void on_one_cpu(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
}

/* Two processes that compute on that CPU until `leave`, or until this one ends. */
static void compete(void)
{
	for (int i = 0; i < 2; i++) {
		hogs[i] = fork();
		if (hogs[i]) continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile unsigned long n = 0;; n++);
	}
}

/* A process of the name `calling` on that CPU, which makes calls that wake nobody until `leave`. */
static void call_beside(void)
{
	hogs[0] = fork();
	if (hogs[0]) return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "calling");
	for (;;) getppid();
}

static void leave(void)
{
	for (int i = 0; i < 2; i++)
		if (hogs[i]) kill(hogs[i], SIGKILL);
	while (wait(0) > 0);
}

static void pauses(int count)
{
	for (int i = 0; i < count; i++) {
		struct timespec time = {0, 5000000};
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, 0);
	}
}

/* A call that computes: it fills the same memory with zeros 63 times, until 0.6 s of CPU time are gone. Each takes several ticks of the scheduler: kernels
   that preempt at a call's exit first, and inside of it only at the next tick, would otherwise do it outside of the calls. */
static void compute_in_calls(void)
{
	size_t size = 32 << 20;
	char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct iovec parts[63];
	for (int i = 0; i < 63; i++) parts[i] = (struct iovec){memory, size};
	int zeros = open("/dev/zero", O_RDONLY);
	struct timespec used = {0, 0};
	while (used.tv_sec == 0 && used.tv_nsec < 600000000) {
		if (readv(zeros, parts, 63) < 0) exit(1);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	}
}

static void write_to_disk(const char *path)
{
	char block[4096] = {1};
	int file = open(path, O_CREAT | O_RDWR, 0600);
	for (int i = 0; i < 200; i++)
		if (pwrite(file, block, sizeof block, 0) < 0 || fdatasync(file)) exit(1);
	unlink(path);
}

static void with_a_partner(void)
{
	int there[2], back[2];
	char byte = 0;
	if (pipe(there) || pipe(back)) exit(1);
	if (fork() == 0) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1)
			if (write(back[1], &byte, 1) != 1) break;
		_exit(0);
	}
	for (int i = 0; i < 3000; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) exit(1);
	close(there[1]);
	wait(0);
}

static void pause_ms(int ms)
{
	struct timespec time = {0, ms * 1000000};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, 0);
}

/* Asks a process of the name `answering` on the loopback address, which takes its time. Prints that address. */
static void ask(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;
	int listening = socket(AF_INET, SOCK_STREAM, 0), asking = socket(AF_INET, SOCK_STREAM, 0);
	char byte = 0;
	if (bind(listening, (void *)&address, length) || listen(listening, 1)) exit(1);
	if (getsockname(listening, (void *)&address, &length)) exit(1);
	if (fork() == 0) {
		prctl(PR_SET_NAME, "answering");
		int connection = accept(listening, 0, 0);
		pause_ms(100);
		int failed = write(connection, &byte, 1) != 1;
		pause_ms(50);
		_exit(failed);
	}
	if (connect(asking, (void *)&address, length) || recv(asking, &byte, 1, 0) != 1) exit(1);
	wait(0);
	printf("127.0.0.1:%d\n", ntohs(address.sin_port));
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *unused)
{
	prctl(PR_SET_NAME, "holding");
	pthread_mutex_lock(&lock);
	pause_ms(100);
	pthread_mutex_unlock(&lock);
	/* The end of the thread wakes who waits for it. */
	pause_ms(20);
	return unused;
}

static void wait_for_a_lock(void)
{
	pthread_t thread;
	if (pthread_create(&thread, 0, hold, 0)) exit(1);
	pause_ms(20);
	pthread_mutex_lock(&lock);
	pthread_join(thread, 0);
}

/* Threads that write much to one file at once, and map and unmap memory: the kernel's locks of the file and of the address space. */
static int shared;

/* Each lock in a loop of its own: where threads wait for one, they are seldom at the other together. */
static void *use_kernel_locks(void *unused)
{
	size_t size = 16 << 20;
	char *memory = 0;
	for (int i = 0; i < 40; i++) {
		if (memory && munmap(memory, size)) exit(1);
		memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (memory == MAP_FAILED) exit(1);
	}
	for (int i = 0; i < 40; i++)
		if (pwrite(shared, memory, size, 0) < 0) exit(1);
	return unused;
}

static void wait_for_kernel_locks(const char *path)
{
	pthread_t threads[4];
	shared = open(path, O_CREAT | O_RDWR, 0600);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], 0, use_kernel_locks, 0)) exit(1);
	for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
	unlink(path);
}

#define CLIENTS 16

/* Asks 40 times, each time when it has all of the answer, and begins a bit later than the one before. */
static void ask_in_turn(struct sockaddr_in *address, int number)
{
	int asking = socket(AF_INET, SOCK_STREAM, 0);
	char answer[200];
	if (connect(asking, (void *)address, sizeof *address)) _exit(1);
	pause_ms(3 * number);
	for (int i = 0; i < 40; i++)
		if (send(asking, answer, 20, 0) != 20 || recv(asking, answer, 200, MSG_WAITALL) != 200) _exit(1);
	_exit(0);
}

/* Answers many connections in one thread, each answer in two sends. */
static void answer_in_two(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof address;
	struct pollfd connections[CLIENTS];
	char part[100];
	int listening = socket(AF_INET, SOCK_STREAM, 0), open = CLIENTS;
	if (bind(listening, (void *)&address, length) || listen(listening, CLIENTS)) exit(1);
	if (getsockname(listening, (void *)&address, &length)) exit(1);
	for (int i = 0; i < CLIENTS; i++)
		if (fork() == 0) ask_in_turn(&address, i);
	for (int i = 0; i < CLIENTS; i++) connections[i] = (struct pollfd){.fd = accept(listening, 0, 0), .events = POLLIN};
	while (open && poll(connections, CLIENTS, -1) > 0)
		for (int i = 0; i < CLIENTS; i++) {
			if (!connections[i].revents) continue;
			if (recv(connections[i].fd, part, 20, 0) > 0) {
				if (send(connections[i].fd, part, 100, 0) < 0 || send(connections[i].fd, part, 100, 0) < 0) exit(1);
				continue;
			}
			connections[i].fd = -1;
			open--;
		}
	while (wait(0) > 0);
}

int main(int argc, char **argv)
{
	char line[100];
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "sleep")) pauses(60);
	else if (!strcmp(what, "sleep-beside-hogs")) on_one_cpu(), compete(), pauses(60), leave();
	else if (!strcmp(what, "sleep-beside-calls")) on_one_cpu(), call_beside(), pauses(60), leave();
	else if (!strcmp(what, "spin-beside-hogs")) on_one_cpu(), compete(), compute_in_calls(), leave();
	else if (!strcmp(what, "disk")) write_to_disk(argv[2]);
	else if (!strcmp(what, "kernel-locks")) wait_for_kernel_locks(argv[2]);
	else if (!strcmp(what, "answer-in-two")) answer_in_two();
	else if (!strcmp(what, "ask")) ask();
	else if (!strcmp(what, "lock")) wait_for_a_lock();
	else if (!strcmp(what, "partner")) with_a_partner();
	else if (!strcmp(what, "partner-on-one-cpu")) on_one_cpu(), with_a_partner();
	else return 2;
	FILE *accounting = fopen("/proc/thread-self/schedstat", "r");
	if (accounting && fgets(line, sizeof line, accounting)) fputs(line, stdout);
	return 0;
}
