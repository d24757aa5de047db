/* Small services with one fault each: services NAME PORT SECONDS. Built with -DFIXED, the same services without it. Each listens on
 * loopback, answers requests (protocol.h) for that many seconds, and ends. Files are made in the working directory. No name is that of
 * a call or a fault: `why` shows names. */
#define _GNU_SOURCE
#include "protocol.h"
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#ifdef FIXED
#define FAULTY 0
#else
#define FAULTY 1
#endif

static int listening;

/* Reads all of a message; 0 if the connection ended before. */
static int receive(int from, char *to, int bytes)
{
	for (int have = 0; have < bytes;) {
		int got = recv(from, to + have, bytes - have, 0);
		if (got <= 0) return 0;
		have += got;
	}
	return 1;
}

static void respond(int to)
{
	char response[RESPONSE] = "response";
	if (send(to, response, sizeof response, MSG_NOSIGNAL) < 0) return;
}

/* Each request is appended to a journal, and flushed to disk. */
static int journal;

static void open_journal(void)
{
	CHECK(journal = open("journal", O_CREAT | O_WRONLY | O_APPEND, 0600));
}

static void append_to_journal(int to)
{
	char entry[REQUEST] = "entry\n";
	CHECK(write(journal, entry, sizeof entry));
	if (FAULTY) CHECK(fsync(journal));
	respond(to);
}

/* An account is locked while a slow call is made. */
static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;

static void book(int to)
{
	if (!FAULTY) pause_us(3000);
	pthread_mutex_lock(&account);
	if (FAULTY) pause_us(3000);
	pthread_mutex_unlock(&account);
	respond(to);
}

/* Header and body are two small messages on a connection with Nagle's algorithm. */
static void send_in_two(int to)
{
	char header[60] = "header", body[RESPONSE - sizeof header] = "body";
	if (!FAULTY) {
		respond(to);
		return;
	}
	if (send(to, header, sizeof header, MSG_NOSIGNAL) < 0) return;
	if (send(to, body, sizeof body, MSG_NOSIGNAL) < 0) return;
}

/* A response is sent byte by byte. */
static void send_bytes(int to)
{
	int on = 1;
	if (!FAULTY) {
		respond(to);
		return;
	}
	setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	for (int i = 0; i < RESPONSE; i++)
		if (send(to, "x", 1, MSG_NOSIGNAL) < 0) return;
}

/* The configuration is read again for each request. */
#define CONFIGURATION 65536
static char configuration[CONFIGURATION];

static void read_configuration(void)
{
	int from = open("service.conf", O_RDONLY);
	CHECK(from);
	for (int at = 0; at < CONFIGURATION; at += 4096) CHECK(read(from, configuration + at, 4096));
	close(from);
}

static void make_configuration(void)
{
	int to = open("service.conf", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	CHECK(to);
	CHECK(write(to, configuration, sizeof configuration));
	close(to);
	read_configuration();
}

static void configure(int to)
{
	if (FAULTY) read_configuration();
	respond(to);
}

/* Each request is logged to a pipe, which a child reads slowly. */
static int logs;

static void read_logs(int from)
{
	static char some[65536];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "logger");
	while (read(from, some, FAULTY ? 4096 : sizeof some) > 0) pause_us(FAULTY ? 8000 : 1000);
	exit(0);
}

static void start_logger(void)
{
	int ends[2];
	CHECK(pipe(ends));
	int child = fork();
	CHECK(child);
	if (child == 0) {
		close(ends[1]);
		close(listening);
		read_logs(ends[0]);
	}
	close(ends[0]);
	logs = ends[1];
}

static void log_request(int to)
{
	char line[2048] = "a request";
	CHECK(write(logs, line, sizeof line));
	respond(to);
}

/* The heap is grown for each request, and given back. */
static void build(int to)
{
	static char *kept[8];
	for (int i = 0; i < 8; i++) {
		if (!kept[i]) kept[i] = malloc(100000);
		memset(kept[i], to, 100000);
	}
	for (int i = 7; i >= 0 && FAULTY; i--) {
		free(kept[i]);
		kept[i] = 0;
	}
	respond(to);
}

/* As a compiler of code that runs at once: pages are made writable and executable in turn, by all threads. */
static void compile(int to)
{
	static __thread char *page;
	if (!page) {
		page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED) exit(1);
	}
	for (int i = 0; i < 300; i++) {
		if (FAULTY) CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE));
		*(volatile char *)page = i;
		if (FAULTY) CHECK(mprotect(page, 4096, PROT_READ));
	}
	respond(to);
}

/* Two locks are taken in either order: after a second, two threads wait for each other. */
static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, orders = PTHREAD_MUTEX_INITIALIZER;

static void move(int to)
{
	static int number;
	static time_t began;
	int is_odd = __sync_fetch_and_add(&number, 1) & 1;
	if (!began) began = time(0);
	int swaps = FAULTY && is_odd && time(0) - began > 1;
	pthread_mutex_lock(swaps ? &orders : &stock);
	pause_us(500);
	pthread_mutex_lock(swaps ? &stock : &orders);
	pthread_mutex_unlock(&orders);
	pthread_mutex_unlock(&stock);
	respond(to);
}

struct service {
	const char *name;
	void (*prepare)(void);
	void (*answer)(int to);
	/* Serves all connections; none: a thread for each. */
	void (*serve)(const struct service *of);
};

struct connection {
	const struct service *of;
	int with;
};

static void *converse(void *given)
{
	struct connection connection = *(struct connection *)given;
	char request[REQUEST];
	free(given);
	while (receive(connection.with, request, sizeof request)) connection.of->answer(connection.with);
	close(connection.with);
	return 0;
}

static void serve_by_threads(const struct service *of)
{
	for (;;) {
		struct connection *connection = malloc(sizeof *connection);
		pthread_t thread;
		*connection = (struct connection){of, accept(listening, 0, 0)};
		CHECK(connection->with);
		CHECK(-pthread_create(&thread, 0, converse, connection));
		pthread_detach(thread);
	}
}

/* One thread waits for all connections; the faulty asker asks again and again without waiting. */
static void serve_by_poll(const struct service *of)
{
	struct pollfd sockets[64] = {{.fd = listening, .events = POLLIN}};
	int count = 1, timeout = FAULTY && !strcmp(of->name, "asker") ? 0 : -1;
	char request[REQUEST];
	for (;;) {
		poll(sockets, count, timeout);
		if (sockets[0].revents && count < 64) sockets[count++] = (struct pollfd){.fd = accept(listening, 0, 0), .events = POLLIN};
		for (int i = 1; i < count; i++) {
			if (!sockets[i].revents) continue;
			if (receive(sockets[i].fd, request, sizeof request)) {
				of->answer(sockets[i].fd);
				continue;
			}
			close(sockets[i].fd);
			sockets[i--] = sockets[--count];
		}
	}
}

/* All threads wait for the socket that connections come in at; each connection wakes all of them, and one gets it. */
static void *take_turns(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN | (FAULTY ? 0 : EPOLLEXCLUSIVE)};
	int events = epoll_create1(0);
	char request[REQUEST];
	CHECK(epoll_ctl(events, EPOLL_CTL_ADD, listening, &event));
	for (;;) {
		if (epoll_wait(events, &event, 1, -1) < 1) continue;
		int with = accept4(listening, 0, 0, 0);
		if (with < 0) continue;
		if (receive(with, request, sizeof request)) respond(with);
		close(with);
	}
	return unused;
}

static void serve_by_herd(const struct service *of)
{
	fcntl(listening, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 64; i++) {
		pthread_t thread;
		CHECK(-pthread_create(&thread, 0, take_turns, (void *)of));
	}
	pause();
}

static const struct service SERVICES[] = {
	{"journal", open_journal, append_to_journal, serve_by_threads},
	{"account", 0, book, serve_by_threads},
	{"crowd", 0, respond, serve_by_herd},
	{"letters", 0, send_in_two, serve_by_poll},
	{"drops", 0, send_bytes, serve_by_threads},
	{"settings", make_configuration, configure, serve_by_threads},
	{"asker", 0, respond, serve_by_poll},
	{"reporter", start_logger, log_request, serve_by_threads},
	{"builder", 0, build, serve_by_poll},
	{"compiler", 0, compile, serve_by_threads},
	{"store", 0, move, serve_by_threads},
};

static void *end_after(void *seconds)
{
	sleep((long)seconds);
	exit(0);
}

int main(int argc, char **argv)
{
	const int on = 1;
	pthread_t end;
	if (argc < 4) return 2;
	struct sockaddr_in at = loopback(argv[2]);
	CHECK(listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	CHECK(bind(listening, (void *)&at, sizeof at));
	CHECK(listen(listening, 128));
	CHECK(-pthread_create(&end, 0, end_after, (void *)atol(argv[3])));
	for (unsigned i = 0; i < sizeof SERVICES / sizeof *SERVICES; i++) {
		const struct service *service = &SERVICES[i];
		if (strcmp(service->name, argv[1])) continue;
		if (service->prepare) service->prepare();
		service->serve(service);
	}
	fprintf(stderr, "no service %s\n", argv[1]);
	return 2;
}
