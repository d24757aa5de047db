/* A request has a fixed length, and so has a response: a connection is a dialogue of both. */
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define REQUEST 64
#define RESPONSE 400

#define CHECK(result)                                     \
	do {                                              \
		if ((result) < 0) {                       \
			perror(#result);                  \
			exit(1);                          \
		}                                         \
	} while (0)

static struct sockaddr_in loopback(const char *port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return to;
}

static void pause_us(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};
	nanosleep(&time, 0);
}
