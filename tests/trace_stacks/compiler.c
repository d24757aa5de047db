/* Compiles a function, which calls getppid 50 times by way of ask(), and leaves a map for perf as its argument says. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline, noclone)) void ask(void)
{
	sink += syscall(SYS_getppid);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "own";
	char path[64], *name = strcmp(how, "claims") ? "compiled_at_run_time" : "claimed";
	unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#if defined(__x86_64__)
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char body[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#else
	/* stp x29, x30, [sp, -16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], 16; ret */
	static const unsigned int body[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#endif
	memcpy(code, body, sizeof body);
	__builtin___clear_cache((char *)code, (char *)code + sizeof body);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	unlink(path);
	if (!strcmp(how, "fifo")) {
		mkfifo(path, 0600);
	} else if (strcmp(how, "none")) {
		const char *real = strcmp(how, "link") ? path : "/tmp/real";
		int map = open(real, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (!strcmp(how, "claims")) dprintf(map, "1 7fffffffffffffff %s\n", name);
		else dprintf(map, "%lx 1000 %s\n", (long)code, name);
		if (!strcmp(how, "large") && ftruncate(map, (64l << 20) + 1)) return 1;
		if (!strcmp(how, "foreign") && fchown(map, 12345, -1)) return 1;
		if (!strcmp(how, "link") && symlink(real, path)) return 1;
		close(map);
	}
	for (int i = 0; i < 50; i++) ((void (*)(void (*)(void)))code)(ask);
	/* Long enough for the tracer to look: it finds the map by way of the process. */
	usleep(1000000);
	return 0;
}
