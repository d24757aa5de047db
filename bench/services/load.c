/* The load of a service on loopback: load PORT SECONDS CLIENTS PAUSE_US [each]. Each client asks, waits for the response, and pauses;
 * with `each`, on a connection of its own for each request. Ends with the service or after that many seconds, and prints the number
 * of responses. */
#include "protocol.h"
#include <pthread.h>

static const char *port;
static long pause_length, responses;
static int each, is_over;

/* Another connection than the first is not tried again: the service has ended. */
static int connected(int is_first)
{
	struct sockaddr_in to = loopback(port);
	struct timeval patience = {.tv_usec = 300000};
	for (int tries = 0; tries < 200 && (is_first || !tries); tries++) {
		int with = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(with);
		setsockopt(with, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		if (connect(with, (void *)&to, sizeof to) == 0) return with;
		close(with);
		pause_us(100000);
	}
	return -1;
}

static int has_answer(int with)
{
	char response[RESPONSE];
	for (int have = 0; have < RESPONSE;) {
		int got = recv(with, response + have, RESPONSE - have, 0);
		if (got < 0 && errno == EAGAIN && !is_over) continue;
		if (got <= 0) return 0;
		have += got;
	}
	return 1;
}

static void *client(void *unused)
{
	char request[REQUEST] = "request";
	int with = connected(1);
	while (!is_over && send(with, request, sizeof request, MSG_NOSIGNAL) == sizeof request && has_answer(with)) {
		__sync_fetch_and_add(&responses, 1);
		pause_us(pause_length);
		if (!each) continue;
		close(with);
		with = connected(0);
	}
	close(with);
	return unused;
}

static void *end_after(void *seconds)
{
	sleep((long)seconds);
	is_over = 1;
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[64], end;
	if (argc < 5) return 2;
	port = argv[1];
	pause_length = atol(argv[4]);
	each = argc > 5;
	int clients = atoi(argv[3]) > 64 ? 64 : atoi(argv[3]);
	CHECK(-pthread_create(&end, 0, end_after, (void *)atol(argv[2])));
	for (int i = 0; i < clients; i++) CHECK(-pthread_create(&threads[i], 0, client, 0));
	for (int i = 0; i < clients; i++) pthread_join(threads[i], 0);
	printf("%ld\n", responses);
}
