/* Maps the files in its arguments as code; calls getppid from many places. With a PID first, stops that process before it maps. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, noipa))
#define CALL sink += syscall(SYS_getppid);
#define EIGHT(what) what what what what what what what what

static volatile long sink;

#ifdef JUMPS
/* DW_CFA_def_cfa_expression: DW_OP_breg7 8; DW_OP_skip -3, for ever. */
#define ENTRY __asm__(".cfi_escape 0x0f, 5, 0x77, 8, 0x2f, 0xfd, 0xff");
#else
#define ENTRY
#endif

APART void inner(void)
{
	ENTRY
	EIGHT(EIGHT(EIGHT(CALL)))
}

int main(int argc, char **argv)
{
	int server = argc > 1 ? atoi(argv[1]) : 0, at = server ? 2 : 1, files[16], count = 0;
	for (; at < argc; at++) files[count++] = open(argv[at], O_RDONLY);
	if (server) kill(server, SIGSTOP);
	while (count > 0)
		if (mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, files[--count], 0) == MAP_FAILED) return 1;
	inner();
	return 0;
}
