/* dir.c: directories: listing and creating them, and the working directory. */
#include "../probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

/* ---- listing ---- */

#define LISTED "listed"
/* Listing names of 9 characters takes 32 bytes per entry: this many fill one buffer of the C library (32 KiB), so
   that the number of getdents64 calls does not depend on `entries`. */
enum { MOST_ENTRIES = 1000, ROOM_FOR_ENTRY = 64 };

static uint64_t entries;

static void make_directory(void) {
    char path[64];
    entries = param_entries();
    CHECK(mkdir(LISTED, 0700) == 0);
    for (uint64_t i = 0; i < entries; i++) {
        snprintf(path, sizeof path, LISTED "/f%08llu", (unsigned long long)i);
        make_file(path, 0);
    }
}

static void setup_readdir(void) {
    if (param("entries") > MOST_ENTRIES) fail(EINVAL, "parameter entries: at most 1000, one buffer of the C library");
    make_directory();
}

static void run_opendir_readdir_closedir(uint64_t n) {
    LOOP(n) {
        DIR *directory;
        CHECK((directory = opendir(LISTED)) != NULL);
        uint64_t found = 0;
        while (readdir(directory)) found++;
        CHECK(found == entries + 2); /* "." and ".." */
        CHECK(closedir(directory) == 0);
    }
}

#ifdef __linux__
OWN int listed; /* with a position */
OWN char *listing;
OWN size_t room;
OWN long listing_size; /* of the whole directory: every iteration must get as much */

static void own_getdents64(void) {
    room = (size_t)(entries + 2) * ROOM_FOR_ENTRY;
    CHECK((listing = malloc(room)) != NULL);
    CHECK((listed = open(LISTED, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
    CHECK((listing_size = syscall(SYS_getdents64, listed, listing, room)) > 0);
    if (syscall(SYS_getdents64, listed, listing, room) != 0)
        fail(0, "this file system does not return a whole directory in one getdents64");
}

static void run_getdents64(uint64_t n) {
    LOOP(n) {
        CHECK(lseek(listed, 0, SEEK_SET) == 0);
        CHECK(syscall(SYS_getdents64, listed, listing, room) == listing_size);
    }
}
#endif

/* ---- making and entering ---- */

OWN const char *made;

static void own_made(void) { made = own_name("made"); }

static void run_mkdir_rmdir(uint64_t n) {
    LOOP(n) {
        CHECK(mkdir(made, 0700) == 0);
        CHECK(rmdir(made) == 0);
    }
}

/* ---- to the device: a changed name, and the directory that holds it ---- */

static int directory;
OWN const char *one, *other;

static void own_names(void) {
    one = own_name("one");
    other = own_name("other");
    make_file(one, 0);
}

static void setup_fsync(void) {
    CHECK((directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
}

static void run_fsync(uint64_t n) {
    OWN int moved; /* outlives the batch: n may be odd */
    LOOP(n) {
        CHECK(rename(moved ? other : one, moved ? one : other) == 0);
        CHECK(fsync(directory) == 0);
        moved = !moved;
    }
}

static void run_chdir(uint64_t n) { LOOP(n) CHECK(chdir(".") == 0); }

static void run_getcwd(uint64_t n) {
    char path[PATH_MAX];
    LOOP(n) CHECK(getcwd(path, sizeof path) != NULL);
}

/* 32: few enough for the smaller buffers of other C libraries too. */
#define ENTRIES_PARAM "entries=32:empty files in the directory"

const struct operation dir_operations[] = {
    {.id = "dir.getdents64", .what = "lseek() to the start and one getdents64() that returns all of `entries` files",
     .enters = "lseek/_llseek x1 getdents64 x1", .params = ENTRIES_PARAM, .systems = "linux",
     .setup = make_directory, .own = LINUX_ONLY(own_getdents64), .run = LINUX_ONLY(run_getdents64)},
    {.id = "dir.opendir_readdir_closedir", .what = "opendir(), readdir() of all of `entries` files, closedir()",
     .enters = "openat/open x1 newfstatat/fstat/fstat64/fstatat64/statx x1 getdents64/getdents x2 close x1",
     .params = ENTRIES_PARAM " (at most 1000)", .systems = "posix", .setup = setup_readdir,
     .run = run_opendir_readdir_closedir},
    /* MACHINE: file systems that return a freed block to the device at once (ext4 with -o discard and without a
       journal) wait for it in rmdir(). */
    {.id = "dir.mkdir_rmdir", .what = "mkdir() and rmdir() of an empty directory (some file systems wait for the disk)",
     .enters = "mkdir/mkdirat x1 rmdir/unlinkat x1", .systems = "posix", .flags = MACHINE | HISTORY,
     .own = own_made, .run = run_mkdir_rmdir},
    {.id = "dir.fsync", .what = "rename() of a file to another name in its directory, and fsync() of the directory",
     .enters = "rename/renameat/renameat2 x1 fsync x1", .systems = "posix", .flags = MACHINE | HISTORY,
     .setup = setup_fsync, .own = own_names, .run = run_fsync},
    {.id = "dir.chdir", .what = "chdir(\".\"): to the working directory itself", .enters = "chdir x1",
     .systems = "posix", .run = run_chdir},
    {.id = "dir.getcwd", .what = "getcwd() of the operation's own working directory", .enters = "getcwd x1",
     .systems = "posix", .run = run_getcwd},
    {0},
};
