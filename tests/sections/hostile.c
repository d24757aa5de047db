/* Marks that no sensible program makes: how many calls remain is printed. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void ask(const char *which, const char *name)
{
	char path[5000];
	snprintf(path, sizeof path, "/.syscost/%s/%s", which, name);
	access(path, F_OK);
}

int main(void)
{
	char name[4000];
	ask("begin", "\033[31m red\n\xff |`");
	syscall(SYS_getppid);
	ask("end", "\033[31m red\n\xff |`");
	ask("begin", "");
	ask("other", "name");
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = 0;
	ask("begin", name);
	syscall(SYS_getppid);
	ask("end", name);
	ask("end", "never begun/99999999999999999999");
	for (int at = 0; at < 6000; at++) {
		snprintf(name, sizeof name, "%d", at);
		ask("begin", name);
		syscall(SYS_getppid);
		ask("end", name);
	}
	for (int at = 0; at < 100; at++) {
		ask("begin", "deeper");
		syscall(SYS_getppid);
	}
	for (int at = 0; at < 99; at++) ask("end", "deeper/999999999999");
	return 0;
}
