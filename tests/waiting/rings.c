/* Requests of io_uring: eight that complete at once, one for which data comes later, and three that a worker does. 3 where the system has
 * no io_uring. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES 16

static int ring;
static char *own;
static struct io_uring_params params;
static struct io_uring_sqe *entries;

static unsigned *word(unsigned offset)
{
	return (unsigned *)(own + offset);
}

static void add(int operation, int descriptor, void *to, int bytes, int flags)
{
	unsigned tail = *word(params.sq_off.tail), at = tail & (ENTRIES - 1);
	memset(&entries[at], 0, sizeof *entries);
	entries[at].opcode = operation;
	entries[at].fd = descriptor;
	entries[at].addr = (unsigned long)to;
	entries[at].len = bytes;
	entries[at].flags = flags;
	word(params.sq_off.array)[at] = at;
	__atomic_store_n(word(params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
}

static void submit(int number)
{
	if (syscall(SYS_io_uring_enter, ring, number, number, IORING_ENTER_GETEVENTS, 0, 0) != number) exit(1);
	*word(params.cq_off.head) += number;
}

int main(int argc, char **argv)
{
	struct timespec moment = {.tv_nsec = 20000000};
	char bytes[16];
	unsigned bytes_of_ring;
	int ends[2], file = argc > 1 ? open(argv[1], O_RDWR) : -1;
	ring = syscall(SYS_io_uring_setup, ENTRIES, &params);
	if (ring < 0 || !(params.features & IORING_FEAT_SINGLE_MMAP)) return 3;
	bytes_of_ring = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	if (bytes_of_ring < params.sq_off.array + params.sq_entries * 4) bytes_of_ring = params.sq_off.array + params.sq_entries * 4;
	own = mmap(0, bytes_of_ring, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	entries = mmap(0, ENTRIES * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (own == MAP_FAILED || (void *)entries == MAP_FAILED || pipe(ends)) return 1;
	for (int i = 0; i < 8; i++) add(IORING_OP_NOP, -1, 0, 0, 0);
	submit(8);
	if (fork() == 0) {
		nanosleep(&moment, 0);
		_exit(write(ends[1], "x", 1) != 1);
	}
	add(IORING_OP_READ, ends[0], bytes, 1, 0);
	submit(1);
	for (int i = 0; i < 3; i++) add(IORING_OP_FSYNC, file, 0, 0, IOSQE_ASYNC);
	submit(3);
	return 0;
}
