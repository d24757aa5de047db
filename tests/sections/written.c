#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

#define MARK(what) access("/.syscost/" what, F_OK)

int main(void)
{
	char name[] = "written-XXXXXX", block[100] = "";
	int file = mkstemp(name);
	/* Pages of one size. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	char *pages = mmap(0, 1000 * 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file < 0 || unlink(name) || pages == MAP_FAILED) return 1;

	MARK("begin/write");
	for (int i = 0; i < 5; i++)
		if (pwrite(file, block, sizeof block, 0) != sizeof block) return 1;
	MARK("end/write/5");

	MARK("begin/remove");
	for (int i = 0; i < 7; i++) unlink("/nowhere/at/all");
	MARK("end/remove/7");

	MARK("begin/sleep");
	for (int i = 0; i < 3; i++) clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 10000000}, 0);
	MARK("end/sleep");

	MARK("begin/touch");
	for (int i = 0; i < 1000; i++) pages[i * 4096L] = 1;
	MARK("end/touch/1000");
	return 0;
}
