/* id.c: calls that ask or set one number of the calling process. The cheapest real system calls there are. */
#include "../probe.h"

#include <unistd.h>

static void run_getppid(uint64_t n) { LOOP(n) CHECK(getppid() >= 0); }

const struct operation id_operations[] = {
    {.id = "id.getppid", .what = "getppid(): the parent's process id", .enters = "getppid x1", .systems = "posix",
     .run = run_getppid},
    {0},
};
