/*
 * landlock.c: Landlock domains (Documentation/userspace-api/landlock.rst). Each handles all accesses to files that the kernel knows
 * and allows them below the root directory, so that a check walks from the file up to there. Called by confine.c.
 */
#include "confine.h"

#include "../probe.h"

#ifdef __linux__
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since Linux 5.13; the same on all architectures. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
enum { ASK_VERSION = 1, BENEATH_PATH = 1 };

struct ruleset {
    uint64_t handled;
};

struct beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

/* The accesses to files that versions of the interface know, as bits from the first on. */
static uint64_t accesses(long version) {
    static const int bits[] = {0, 13, 14, 15, 15, 16};
    return (UINT64_C(1) << bits[(size_t)version < COUNT(bits) ? (size_t)version : COUNT(bits) - 1]) - 1;
}

static void enter_domain(uint64_t all, int root) {
    struct ruleset attributes = {all};
    struct beneath rule = {all, root};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
    if (ruleset < 0) cannot("landlock_create_ruleset");
    if (syscall(SYS_landlock_add_rule, ruleset, BENEATH_PATH, &rule, 0) != 0) cannot("landlock_add_rule");
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) cannot("landlock_restrict_self");
    close(ruleset);
}

void landlock(char **arguments) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, ASK_VERSION);
    if (version < 0) cannot("landlock_create_ruleset, since Linux 5.13 and where it is enabled");
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) cannot("open(\"/\")");
    DO(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); /* then everybody may restrict themselves */
    for (int layers = arguments[0] ? atoi(arguments[0]) : 1; layers > 0; layers--) enter_domain(accesses(version), root);
    close(root);
}
#endif
