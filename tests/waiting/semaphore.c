/* Waits for a semaphore in a function that is inlined. */
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t jobs;

static inline __attribute__((always_inline)) void fetch(void)
{
	sem_wait(&jobs);
}

int main(void)
{
	alarm(60);
	puts("ready");
	fflush(stdout);
	fetch();
	return 0;
}
