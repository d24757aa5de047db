/* A program that is executed within a section and ends it, asking in each way for a path. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct stat facts;
	struct statx more;
	if (argc == 1) {
		syscall(SYS_openat, AT_FDCWD, "/.syscost/begin/openat", O_RDONLY, 0);
		syscall(SYS_getppid);
		syscall(SYS_newfstatat, AT_FDCWD, "/.syscost/end/openat", &facts, 0);
		syscall(SYS_statx, AT_FDCWD, "/.syscost/begin/executed", 0, 0, &more);
		execl("/proc/self/exe", argv[0], "again", (char *)0);
	}
	syscall(SYS_getppid);
	syscall(SYS_readlinkat, AT_FDCWD, "/.syscost/end/executed/12345678901", &more, sizeof more);
	syscall(SYS_faccessat, AT_FDCWD, "/.syscost/begin/faccessat", F_OK);
	syscall(SYS_getpid);
	syscall(SYS_unlinkat, AT_FDCWD, "/.syscost/end/faccessat/0", 0);
	return 0;
}
