/* ground.c: failure and parameters of an operation. The lowest layer: it calls nothing else in the probe. */
#include "ground.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PARAMS = 16 };

struct setting {
    char name[32];
    uint64_t value;
};

volatile sig_atomic_t sampled;

static void (*failure_hook)(void);
static const char *declarations; /* the operation's `params` */
static struct setting settings[MOST_PARAMS];
static size_t settings_used;

/* ---- failure ---- */

const char *errno_name(int error) {
    static char unknown[24];
    switch (error) {
#define NAME(e)                                                                                                        \
    case e: return #e;
        NAME(E2BIG) NAME(EACCES) NAME(EADDRINUSE) NAME(EADDRNOTAVAIL) NAME(EAFNOSUPPORT) NAME(EAGAIN) NAME(EBADF)
        NAME(EBADMSG) NAME(EBUSY) NAME(ECHILD) NAME(ECONNREFUSED) NAME(ECONNRESET) NAME(EDEADLK) NAME(EDOM)
        NAME(EEXIST) NAME(EFAULT) NAME(EFBIG) NAME(EINTR) NAME(EINVAL) NAME(EIO) NAME(EISDIR) NAME(ELOOP)
        NAME(EMFILE) NAME(EMLINK) NAME(EMSGSIZE) NAME(ENAMETOOLONG) NAME(ENFILE) NAME(ENOBUFS)
        NAME(ENODEV) NAME(ENOENT) NAME(ENOEXEC) NAME(ENOLCK) NAME(ENOMEM) NAME(ENOSPC) NAME(ENOSYS) NAME(ENOTCONN)
        NAME(ENOTDIR) NAME(ENOTEMPTY) NAME(ENOTSOCK) NAME(ENOTSUP) NAME(ENOTTY) NAME(ENXIO) NAME(EOVERFLOW)
        NAME(EPERM) NAME(EPIPE) NAME(EPROTO) NAME(EPROTONOSUPPORT) NAME(ERANGE) NAME(EROFS) NAME(ESPIPE)
        NAME(ESRCH) NAME(ETIMEDOUT) NAME(ETXTBSY) NAME(EXDEV)
#ifdef ENODATA /* not on every BSD */
        NAME(ENODATA)
#endif
#undef NAME
    }
    snprintf(unknown, sizeof unknown, "errno%d", error);
    return unknown;
}

void at_failure(void (*hook)(void)) { failure_hook = hook; }

_Noreturn void fail(int error, const char *call) {
    char line[512];
    int length = error ? snprintf(line, sizeof line, "error %s %s: %s\n", errno_name(error), call, strerror(error))
                       : snprintf(line, sizeof line, "error - %s\n", call);
    if (length > (int)sizeof line - 1) length = sizeof line - 1;
    if (write(STDOUT_FILENO, line, (size_t)length) < 0) _exit(2);
    void (*hook)(void) = failure_hook;
    failure_hook = NULL; /* the hook may fail too */
    if (hook) hook();
    _exit(1);
}

/* ---- parameters ---- */

/* Parses a whole number, with K, M or G for powers of 1024. Whether it is one, and fits. */
static int parse_size(const char *text, uint64_t *value) {
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || errno != 0) return 0;
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if (unit) end++;
    if (*value > UINT64_MAX >> shift) return 0;
    *value <<= shift;
    return *end == '\0' || *end == ':'; /* a default ends at the colon before its text */
}

/* The declared default of `name` in "name=default:text; ...", or NULL if it is not declared. */
static const char *declared(const char *name) {
    size_t length = strlen(name);
    const char *at = declarations;
    while (at && *at) {
        if (strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
        at = strchr(at, ';');
        if (at) at += strspn(at, "; ");
    }
    return NULL;
}

/* Whether every operation has this parameter: how many run it at once, whether on the same objects, what is displaced
   between calls. */
static int crowds(const char *name) {
    return strcmp(name, "threads") == 0 || strcmp(name, "shared") == 0 || strcmp(name, "cold") == 0;
}

int param_given(const char *name) {
    for (size_t i = 0; i < settings_used; i++)
        if (strcmp(settings[i].name, name) == 0) return 1;
    return 0;
}

uint64_t param(const char *name) {
    for (size_t i = 0; i < settings_used; i++)
        if (strcmp(settings[i].name, name) == 0) return settings[i].value;
    if (crowds(name)) return 0;
    const char *value = declared(name);
    if (!value) fail(0, "an operation asked for a parameter that it does not declare");
    uint64_t number;
    if (!parse_size(value, &number)) fail(0, "an operation declares a default that is not a number");
    return number;
}

void declare_params(const char *text) { declarations = text; }

void set_param(char *word) {
    char *value = strchr(word, '=');
    if (!value || settings_used == MOST_PARAMS || (size_t)(value - word) >= sizeof settings[0].name)
        fail(0, "a parameter is not of the form name=value");
    *value++ = '\0';
    if (!declared(word) && !crowds(word)) fail(0, "the operation has no such parameter");
    struct setting *setting = &settings[settings_used];
    if (!parse_size(value, &setting->value)) {
        char line[80];
        snprintf(line, sizeof line, "parameter %.31s: not a 64-bit whole number", word);
        fail(EINVAL, line);
    }
    strcpy(setting->name, word);
    settings_used++;
}

/* As short as possible: 1M for 1048576. */
static const char *size_text(uint64_t size, char text[24]) {
    const char *units = "\0KMG";
    while (units[1] && size >= 1024 && size % 1024 == 0) size /= 1024, units++;
    snprintf(text, 24, "%llu%.1s", (unsigned long long)size, units);
    return text;
}

static _Noreturn void refuse(const char *name, const char *least, const char *most, const char *why) {
    char line[160];
    snprintf(line, sizeof line, "parameter %s: from %s to %s%s", name, least, most, why);
    fail(EINVAL, line);
}

uint64_t param_within(const char *name, uint64_t least, uint64_t most) {
    uint64_t value = param(name);
    char from[24], to[24];
    if (value < least || value > most) refuse(name, size_text(least, from), size_text(most, to), "");
    return value;
}

static uint64_t half_of_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t half = pages > 0 && page > 0 ? (uint64_t)pages / 2 * (uint64_t)page : UINT64_C(1) << 30;
    return half < SIZE_MAX / 2 ? half : SIZE_MAX / 2;
}

size_t param_memory(const char *name, uint64_t unit, uint64_t copies) {
    uint64_t most = half_of_memory() / unit / copies;
    if (param(name) > most) {
        char to[24]; /* in other units, 4K would seem to be 4 KiB */
        snprintf(to, sizeof to, "%llu", (unsigned long long)most);
        if (unit == 1) size_text(most >> 20 ? most >> 20 << 20 : most, to);
        refuse(name, "0", to, ", half of this machine's memory");
    }
    return (size_t)(param(name) * unit);
}
