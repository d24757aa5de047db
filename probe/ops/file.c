/* file.c: calls that take a path or query a file: the path walk, and the file system's own work on names. */
#include "../probe.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#endif

static const char *path; /* of the file, by the parameters `depth` and `entries` */
static int directory, file;
OWN const char *own;            /* as `path`, of this thread's own file */
OWN char other[PATH_MAX + 16]; /* a second name in the same directory, not created */

/* ---- setup ---- */

static void setup_name(void) { path = make_path("file"); }

static void setup_file(void) {
    setup_name();
    make_file(path, 0);
}

static void own_names(void) {
    own = make_path("file");
    snprintf(other, sizeof other, "%s-other", own);
}

static void own_file(void) {
    own_names();
    make_file(own, 0);
}

static void setup_open_file(void) {
    make_file("file", 0);
    file = open("file", O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0);
}

static void setup_in_directory(void) {
    setup_file();
    directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(directory >= 0);
}

static void setup_symlink(void) {
    setup_name();
    CHECK(symlink("target", path) == 0);
}

/* ---- asking ---- */

static void run_stat(uint64_t n) {
    struct stat st;
    LOOP(n) CHECK(stat(path, &st) == 0);
}

static void run_stat_absent(uint64_t n) {
    struct stat st;
    LOOP(n) CHECK(stat(path, &st) == -1 && errno == ENOENT);
}

static void run_lstat(uint64_t n) {
    struct stat st;
    LOOP(n) CHECK(lstat(path, &st) == 0);
}

static void run_fstat(uint64_t n) {
    struct stat st;
    LOOP(n) CHECK(fstat(file, &st) == 0);
}

/* musl has it since 1.2.5. */
#ifdef STATX_BASIC_STATS
static void run_statx(uint64_t n) {
    struct statx st;
    LOOP(n) CHECK(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &st) == 0);
}
#else
#define run_statx NULL
#endif

static void run_access(uint64_t n) { LOOP(n) CHECK(access(path, R_OK) == 0); }

static void run_faccessat(uint64_t n) { LOOP(n) CHECK(faccessat(directory, path, R_OK, 0) == 0); }

static void run_readlink(uint64_t n) {
    char target[64];
    LOOP(n) CHECK(readlink(path, target, sizeof target) == 6);
}

/* ---- opening, and making and removing names ---- */

static void run_open_close(uint64_t n) {
    LOOP(n) {
        int fd;
        CHECK((fd = open(path, O_RDONLY)) >= 0);
        CHECK(close(fd) == 0);
    }
}

static void run_openat_close(uint64_t n) {
    LOOP(n) {
        int fd;
        CHECK((fd = openat(directory, path, O_RDONLY)) >= 0);
        CHECK(close(fd) == 0);
    }
}

static void run_open_absent(uint64_t n) { LOOP(n) CHECK(open(path, O_RDONLY) == -1 && errno == ENOENT); }

static void run_creat_unlink(uint64_t n) {
    LOOP(n) {
        int fd;
        CHECK((fd = creat(own, 0600)) >= 0);
        CHECK(close(fd) == 0);
        CHECK(unlink(own) == 0);
    }
}

static void run_link_unlink(uint64_t n) {
    LOOP(n) {
        CHECK(link(path, other) == 0);
        CHECK(unlink(other) == 0);
    }
}

static void run_symlink_unlink(uint64_t n) {
    LOOP(n) {
        CHECK(symlink("target", own) == 0);
        CHECK(unlink(own) == 0);
    }
}

static void run_rename(uint64_t n) {
    OWN int moved; /* outlives the batch: n may be odd */
    LOOP(n) {
        CHECK(rename(moved ? other : own, moved ? own : other) == 0);
        moved = !moved;
    }
}

/* ---- changing a file's metadata; alternating, so that every call has something to change ---- */

static void run_chmod(uint64_t n) {
    OWN mode_t mode = 0600;
    LOOP(n) CHECK(chmod(path, mode ^= 0040) == 0);
}

static void run_truncate(uint64_t n) {
    OWN off_t length;
    LOOP(n) CHECK(truncate(path, length ^= 4096) == 0);
}

static void run_utimensat(uint64_t n) { LOOP(n) CHECK(utimensat(AT_FDCWD, path, NULL, 0) == 0); }

#ifdef __linux__
#define ATTRIBUTE "user.syscost"

static void setup_attribute(void) {
    setup_file();
    CHECK(setxattr(path, ATTRIBUTE, "12345678", 8, 0) == 0);
}

static void run_getxattr(uint64_t n) {
    char value[16];
    LOOP(n) CHECK(getxattr(path, ATTRIBUTE, value, sizeof value) == 8);
}

static void run_getxattr_absent(uint64_t n) {
    char value[16];
    LOOP(n) CHECK(getxattr(path, ATTRIBUTE, value, sizeof value) == -1 && errno == ENODATA);
}
#endif

/* ---- a call alone: what it needs is made, and what it makes is removed, before each batch ---- */

enum { MOST_FILES = 64, MOST_BYTES = 1 << 20 };

OWN char *numbered[MOST_FILES]; /* names in the directory of `path` */
OWN int opened[MOST_FILES];     /* descriptors; -1 for none */
static uint64_t size;           /* of each file */
static char *bytes;

static void own_numbered(void) {
    own_names();
    for (int i = 0; i < MOST_FILES; i++) {
        size_t room = strlen(own) + sizeof ".99";
        CHECK((numbered[i] = malloc(room)) != NULL);
        snprintf(numbered[i], room, "%s.%d", own, i);
        opened[i] = -1;
    }
}

/* Makes as many calls whatever n is (some fail), so that they cancel when entries per iteration are counted. */
static void prepare_create(uint64_t n) {
    (void)n;
    for (int i = 0; i < MOST_FILES; i++) {
        close(opened[i]);
        unlink(numbered[i]);
        opened[i] = -1;
    }
}

static void run_create(uint64_t n) {
    int i = 0;
    LOOP(n) {
        CHECK((opened[i] = open(numbered[i], O_WRONLY | O_CREAT | O_EXCL, 0600)) >= 0);
        i++;
    }
}

static void prepare_close(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) CHECK((opened[i] = open(path, O_RDONLY)) >= 0);
}

static void run_close(uint64_t n) {
    const int *next = opened;
    LOOP(n) CHECK(close(*next++) == 0);
}

static void setup_size(void) {
    size = param_within("size", 0, MOST_BYTES);
    CHECK((bytes = calloc(1, size + 1)) != NULL);
}

static void prepare_unlink(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        int fd;
        CHECK((fd = open(numbered[i], O_WRONLY | O_CREAT, 0600)) >= 0);
        CHECK(write(fd, bytes, size) == (ssize_t)size);
        CHECK(close(fd) == 0);
    }
}

static void run_unlink(uint64_t n) {
    char *const *next = numbered;
    LOOP(n) CHECK(unlink(*next++) == 0);
}

static void own_ftruncate(void) {
    own_numbered();
    for (int i = 0; i < MOST_FILES; i++)
        CHECK((opened[i] = open(numbered[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) >= 0);
}

static void prepare_ftruncate(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) CHECK(pwrite(opened[i], bytes, size, 0) == (ssize_t)size);
}

static void run_ftruncate(uint64_t n) {
    const int *next = opened;
    LOOP(n) CHECK(ftruncate(*next++, 0) == 0);
}

/* ---- the owner: to the one that it has, which everybody may do ---- */

static void run_chown(uint64_t n) {
    uid_t user = geteuid();
    gid_t group = getegid();
    LOOP(n) CHECK(chown(path, user, group) == 0);
}

static void run_fchown(uint64_t n) {
    uid_t user = geteuid();
    gid_t group = getegid();
    LOOP(n) CHECK(fchown(file, user, group) == 0);
}

#ifdef __linux__
static void run_statfs(uint64_t n) {
    struct statfs fs;
    LOOP(n) CHECK(statfs(path, &fs) == 0);
}
#endif

/* ---- names of any length, and in another case ---- */

#ifdef __linux__
#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000 /* since Linux 5.2 */
#endif

static char named[16 + NAME_MAX];
static int found; /* what lstat() of it returns */

/* Only an empty directory may be marked, where the file system was made, or mounted, to permit it. */
static void make_folding(const char *name) {
    int flags = 0;
    CHECK(mkdir(name, 0700) == 0);
    int marked = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(marked >= 0);
    if (ioctl(marked, FS_IOC_GETFLAGS, &flags) != 0 || (flags |= FS_CASEFOLD_FL, ioctl(marked, FS_IOC_SETFLAGS, &flags) != 0))
        fail(ENOTSUP, "parameter folds: ioctl(FS_IOC_SETFLAGS, FS_CASEFOLD_FL), in a directory of a file system that can ignore case");
    close(marked);
}

static void setup_letters(void) {
    size_t letters = (size_t)param_within("size", 1, NAME_MAX);
    int folds = (int)param_within("folds", 0, 1), asked = (int)param_within("other", 0, folds);
    int before = snprintf(named, sizeof named, "names/");
    char *name = named + before;
    if (folds) make_folding("names");
    else CHECK(mkdir("names", 0700) == 0);
    for (size_t i = 0; i < letters; i++) name[i] = (char)('a' + i % 26);
    found = param_within("absent", 0, 1) ? -1 : 0;
    make_entries("names/", param_entries());
    if (found == 0) make_file(named, 0);
    for (size_t i = 0; asked && i < letters; i++) name[i] = (char)('A' + i % 26);
}

static void run_name(uint64_t n) {
    struct stat st;
    LOOP(n) CHECK(lstat(named, &st) == found);
}
#endif

#define A_PATH "a path with `depth` components in a directory of `entries` other files"
#define PATH_PARAMS "depth=1:components of the path; entries=0:other files in the directory"
#define BY_PATH .params = PATH_PARAMS
#define BY_SIZE(by_default) .params = PATH_PARAMS "; size=" by_default ":bytes of each file, at most 1M"

const struct operation file_operations[] = {
    {.id = "file.stat", .what = "stat() of " A_PATH, .enters = "newfstatat/stat/stat64/fstatat64/statx x1", BY_PATH,
     .systems = "posix", .family = "stat", .setup = setup_file, .run = run_stat},
    {.id = "file.stat_absent", .what = "stat() of " A_PATH ", where there is no file of that name: fails with ENOENT",
     .enters = "newfstatat/stat/stat64/fstatat64/statx x1", BY_PATH, .systems = "posix", .family = "stat",
     .setup = setup_name, .run = run_stat_absent},
    {.id = "file.lstat", .what = "lstat() of " A_PATH, .enters = "newfstatat/lstat/lstat64/fstatat64/statx x1", BY_PATH,
     .systems = "posix", .family = "stat", .setup = setup_file, .run = run_lstat},
    {.id = "file.lstat_name", .what = "lstat() of a file by a name of `size` letters in an own directory, which may ignore case",
     .enters = "newfstatat/lstat/lstat64/fstatat64/statx x1",
     .params = "size=8:letters of the name, at most 255; folds=0:1 for a directory that ignores case, where the file system "
     "has such; other=0:1 for the name in the other case, with folds=1; entries=0:other files in the directory; "
     "absent=0:1 for a name that no file has", .systems = "linux", .setup = LINUX_ONLY(setup_letters), .run = LINUX_ONLY(run_name)},
    {.id = "file.fstat", .what = "fstat() of an open file", .enters = "newfstatat/fstat/fstat64/fstatat64/statx x1",
     .systems = "posix", .family = "stat", .setup = setup_open_file, .run = run_fstat},
    {.id = "file.statx", .what = "statx() of " A_PATH ", for what stat() returns", .enters = "statx x1", BY_PATH,
     .systems = "linux", .family = "stat", .setup = setup_file, .run = LINUX_ONLY(run_statx)},
    {.id = "file.access", .what = "access(R_OK) of " A_PATH, .enters = "access/faccessat x1", BY_PATH,
     .systems = "posix", .family = "access", .setup = setup_file, .run = run_access},
    {.id = "file.faccessat", .what = "faccessat(R_OK), from a directory's descriptor, of " A_PATH,
     .enters = "faccessat2/faccessat x1", BY_PATH, .systems = "posix", .family = "access", .setup = setup_in_directory,
     .run = run_faccessat},
    {.id = "file.readlink", .what = "readlink() of a symbolic link of 6 bytes at " A_PATH,
     .enters = "readlink/readlinkat x1", BY_PATH, .systems = "posix", .setup = setup_symlink, .run = run_readlink},
    {.id = "file.open_close", .what = "open(O_RDONLY) of " A_PATH ", and close()", .enters = "openat/open x1 close x1",
     BY_PATH, .systems = "posix", .family = "open", .setup = setup_file, .run = run_open_close},
    {.id = "file.openat_close", .what = "openat(O_RDONLY), from a directory's descriptor, of " A_PATH ", and close()",
     .enters = "openat x1 close x1", BY_PATH, .systems = "posix", .family = "open", .setup = setup_in_directory,
     .run = run_openat_close},
    {.id = "file.open_absent", .what = "open(O_RDONLY) of " A_PATH ", where there is no file of that name: fails with "
     "ENOENT", .enters = "openat/open x1", BY_PATH, .systems = "posix", .family = "open", .setup = setup_name,
     .run = run_open_absent},
    {.id = "file.close", .what = "close() of the only descriptor of a file, which was opened read-only (untimed)",
     .enters = "close x1", .prepares = "openat/open x1", BY_PATH, .systems = "posix", .limit = MOST_FILES,
     .setup = setup_file, .prepare = prepare_close, .run = run_close},
    {.id = "file.create", .what = "open(O_WRONLY | O_CREAT | O_EXCL) of a new file at " A_PATH "; closed and removed "
     "untimed", .enters = "openat/open x1", BY_PATH, .systems = "posix", .flags = HISTORY, .limit = MOST_FILES,
     .own = own_numbered, .prepare = prepare_create, .run = run_create},
    {.id = "file.unlink", .what = "unlink() of a file of `size` bytes, just written (untimed), at " A_PATH,
     .enters = "unlink/unlinkat x1", .prepares = "openat/open x1 write x1 close x1", BY_SIZE("4K"), .systems = "posix",
     .flags = HISTORY, .limit = MOST_FILES, .setup = setup_size, .own = own_numbered, .prepare = prepare_unlink,
     .run = run_unlink},
    {.id = "file.creat_unlink", .what = "creat() of an empty file at " A_PATH ", close(), unlink()",
     .enters = "creat/openat/open x1 close x1 unlink/unlinkat x1", BY_PATH, .systems = "posix", .flags = HISTORY,
     .own = own_names, .run = run_creat_unlink},
    {.id = "file.link_unlink", .what = "link() of " A_PATH " to another name there, and unlink() of that",
     .enters = "link/linkat x1 unlink/unlinkat x1", BY_PATH, .systems = "posix", .flags = HISTORY, .setup = setup_file,
     .own = own_names, .run = run_link_unlink},
    {.id = "file.symlink_unlink", .what = "symlink() at " A_PATH ", and unlink()",
     .enters = "symlink/symlinkat x1 unlink/unlinkat x1", BY_PATH, .systems = "posix", .flags = HISTORY,
     .own = own_names, .run = run_symlink_unlink},
    {.id = "file.rename", .what = "rename() of " A_PATH " to another name there, and back the next time",
     .enters = "rename/renameat/renameat2 x1", BY_PATH, .systems = "posix", .flags = HISTORY, .own = own_file,
     .run = run_rename},
    {.id = "file.chmod", .what = "chmod() of " A_PATH ", to mode 0640 and 0600 in turn", .enters = "chmod/fchmodat x1",
     BY_PATH, .systems = "posix", .setup = setup_file, .run = run_chmod},
    {.id = "file.truncate", .what = "truncate() of " A_PATH ", to 4096 bytes (a hole) and 0 in turn",
     .enters = "truncate/truncate64 x1", BY_PATH, .systems = "posix", .setup = setup_file, .run = run_truncate},
    {.id = "file.ftruncate", .what = "ftruncate() to 0 of an open file of `size` bytes, just written (untimed)",
     .enters = "ftruncate/ftruncate64 x1", .prepares = "pwrite64 x1", BY_SIZE("4K"), .systems = "posix",
     .flags = HISTORY, .limit = MOST_FILES, .setup = setup_size, .own = own_ftruncate, .prepare = prepare_ftruncate,
     .run = run_ftruncate},
    {.id = "file.chown", .what = "chown() of " A_PATH " to the owner and group that it has",
     .enters = "chown/chown32/fchownat x1", BY_PATH, .systems = "posix", .setup = setup_file, .run = run_chown},
    {.id = "file.fchown", .what = "fchown() of an open file to the owner and group that it has",
     .enters = "fchown/fchown32 x1", .systems = "posix", .setup = setup_open_file, .run = run_fchown},
    {.id = "file.statfs", .what = "statfs() of " A_PATH, .enters = "statfs/statfs64 x1", BY_PATH, .systems = "linux",
     .setup = setup_file, .run = LINUX_ONLY(run_statfs)},
    {.id = "file.utimensat", .what = "utimensat() of " A_PATH ": both times to now",
     .enters = "utimensat/utimensat_time64 x1", BY_PATH, .systems = "posix", .setup = setup_file, .run = run_utimensat},
    {.id = "file.getxattr", .what = "getxattr() of an 8-byte user attribute of " A_PATH, .enters = "getxattr x1",
     BY_PATH, .systems = "linux", .family = "getxattr", .setup = LINUX_ONLY(setup_attribute),
     .run = LINUX_ONLY(run_getxattr)},
    {.id = "file.getxattr_absent", .what = "getxattr() of a user attribute that is not there, of " A_PATH
     ": fails with ENODATA", .enters = "getxattr x1", BY_PATH, .systems = "linux", .family = "getxattr",
     .setup = setup_file, .run = LINUX_ONLY(run_getxattr_absent)},
    {0},
};
