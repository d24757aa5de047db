/* io.c: moving bytes between a process and files that are in the page cache, and between files; the C library's
   streams for comparison. */
#include "../probe.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#endif

enum {
    MOST = 1 << 20,     /* bytes per call */
    LARGEST = 64 << 20, /* bytes per call by position, and of the file that such calls go through */
    TURNS = 64,         /* calls to go through a whole file, or a stream's buffer; see x1/64 in the table */
    STREAM = 4096,      /* bytes of a stream's buffer for reading lines or characters; see x1/4096 in the table */
    LINE = 64,          /* bytes of a line in a file of make_file() */
    LINES = 1024,       /* lines of the file that fgets() reads; see x1/1024 in the table */
};

static uint64_t size, whole; /* bytes of a call, and of the file */
static int file;
OWN char *buffer;
OWN int own;       /* a descriptor with a position */
OWN unsigned turn; /* outlives the batch, like that position */

/* ---- setup ---- */

static int open_checked(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0) fail(errno, path);
    return fd;
}

static char *make_buffer(size_t bytes) {
    void *made;
    errno = posix_memalign(&made, 4096, bytes);
    CHECK(errno == 0);
    return memset(made, 'x', bytes);
}

static void setup_size(void) { size = param_within("size", 1, MOST); }

static void own_buffer(void) { buffer = make_buffer(size); }

static void setup_zero(void) {
    setup_size();
    file = open_checked("/dev/zero", O_RDONLY);
}

static void setup_null(void) {
    setup_size();
    file = open_checked("/dev/null", O_WRONLY);
}

static void open_file(uint64_t bytes) {
    make_file("file", whole = bytes);
    file = open_checked("file", O_RDWR);
}

static void setup_file_of_turns(void) {
    setup_size();
    open_file(size * TURNS);
}

/* As many turns as the largest file has room for. */
static void setup_huge_file(void) {
    size = param_within("size", 1, LARGEST);
    open_file(size * (size * TURNS <= LARGEST ? TURNS : LARGEST / size));
}

static void own_position(void) {
    own_buffer();
    own = open_checked("file", O_RDWR);
}

/* A file that is emptied. */
static void own_file(void) {
    const char *name = own_name("file");
    own_buffer();
    make_file(name, 0);
    own = open_checked(name, O_RDWR);
}

/* ---- read and write ---- */

static void run_read(uint64_t n) { LOOP(n) CHECK(read(file, buffer, size) == (ssize_t)size); }

static void run_write(uint64_t n) { LOOP(n) CHECK(write(file, buffer, size) == (ssize_t)size); }

static inline void rewind_after_turns(void) {
    if (++turn < TURNS) return;
    turn = 0;
    CHECK(lseek(own, 0, SEEK_SET) == 0);
}

static void run_read_file(uint64_t n) {
    LOOP(n) {
        CHECK(read(own, buffer, size) == (ssize_t)size);
        rewind_after_turns();
    }
}

static void run_write_file(uint64_t n) {
    LOOP(n) {
        CHECK(write(own, buffer, size) == (ssize_t)size);
        rewind_after_turns();
    }
}

/* Where the next `size` bytes begin: by position or not, files are gone through alike, so that costs are of the same
   bytes in the same caches. Each thread has a place of its own, or `shared` would measure the sharing of this number. */
static inline off_t next_part(void) {
    static _Thread_local uint64_t next;
    uint64_t at = next;
    next = at + size < whole ? at + size : 0;
    return (off_t)at;
}

static void run_pread(uint64_t n) { LOOP(n) CHECK(pread(file, buffer, size, next_part()) == (ssize_t)size); }

static void run_pwrite(uint64_t n) { LOOP(n) CHECK(pwrite(file, buffer, size, next_part()) == (ssize_t)size); }

/* The file is emptied before each batch: a call of its own for each batch, not for each iteration. */
static void prepare_append(uint64_t n) {
    (void)n;
    CHECK(ftruncate(own, 0) == 0);
    CHECK(lseek(own, 0, SEEK_SET) == 0);
}

static void run_append(uint64_t n) { LOOP(n) CHECK(write(own, buffer, size) == (ssize_t)size); }

/* ---- through a pipe or an event counter, both ends in this process ---- */

static int ends[2];

static void setup_pipe(void) {
    size = param_within("size", 1, 65536); /* what a pipe holds */
    CHECK(pipe(ends) == 0);
}

static void run_pipe(uint64_t n) {
    LOOP(n) {
        CHECK(write(ends[1], buffer, size) == (ssize_t)size);
        CHECK(read(ends[0], buffer, size) == (ssize_t)size);
    }
}

#ifdef __linux__
static void own_eventfd(void) { CHECK((own = eventfd(0, EFD_CLOEXEC)) >= 0); }

static void run_eventfd(uint64_t n) {
    uint64_t count = 1;
    LOOP(n) {
        CHECK(write(own, &count, sizeof count) == sizeof count);
        CHECK(read(own, &count, sizeof count) == sizeof count && count == 1);
    }
}
#endif

/* ---- several buffers in one call ---- */

OWN struct iovec *parts;
OWN int parts_used;
OWN ssize_t parts_size;

static void own_parts(void) {
    uint64_t count = param_within("iovcnt", 1, 1024), each = param_within("size", 1, MOST);
    parts = calloc(count, sizeof *parts);
    CHECK(parts != NULL);
    buffer = make_buffer(count * each);
    for (uint64_t i = 0; i < count; i++) parts[i] = (struct iovec){buffer + i * each, each};
    parts_used = (int)count;
    parts_size = (ssize_t)(count * each);
}

static void setup_readv(void) { file = open_checked("/dev/zero", O_RDONLY); }

static void setup_writev(void) { file = open_checked("/dev/null", O_WRONLY); }

static void run_readv(uint64_t n) { LOOP(n) CHECK(readv(file, parts, parts_used) == parts_size); }

static void run_writev(uint64_t n) { LOOP(n) CHECK(writev(file, parts, parts_used) == parts_size); }

/* ---- between two descriptors, bypassing the process's memory ---- */

#ifdef __linux__
static int target;

static void setup_file(void) {
    setup_size();
    open_file(size);
}

static void setup_file_and_null(void) {
    setup_file();
    target = open_checked("/dev/null", O_WRONLY);
}

static void setup_two_files(void) {
    setup_file();
    make_file("target", size);
    target = open_checked("target", O_RDWR);
}

OWN int between[2];

static void own_pipe(void) {
    CHECK(pipe2(between, O_CLOEXEC) == 0);
    if (size > 65536) CHECK(fcntl(between[1], F_SETPIPE_SZ, (int)size) >= (int)size);
}

static void run_sendfile(uint64_t n) {
    LOOP(n) {
        off_t from = 0;
        CHECK(sendfile(target, file, &from, size) == (ssize_t)size);
    }
}

static void run_splice(uint64_t n) {
    LOOP(n) {
        loff_t from = 0;
        CHECK(splice(file, &from, between[1], NULL, size, 0) == (ssize_t)size);
        CHECK(splice(between[0], NULL, target, NULL, size, 0) == (ssize_t)size);
    }
}

static void run_copy_file_range(uint64_t n) {
    LOOP(n) {
        loff_t from = 0, to = 0;
        CHECK(copy_file_range(file, &from, target, &to, size, 0) == (ssize_t)size);
    }
}
#endif

/* ---- to the device ---- */

static void setup_sync(void) {
    size = 4096;
    open_file(size);
}

static void setup_append(void) { size = 4096; }

static void run_fsync(uint64_t n) {
    LOOP(n) {
        CHECK(pwrite(file, buffer, size, 0) == (ssize_t)size);
        CHECK(fsync(file) == 0);
    }
}

#ifndef __APPLE__ /* which has the call, but neither declares nor documents it */
static void run_fdatasync(uint64_t n) {
    LOOP(n) {
        CHECK(pwrite(file, buffer, size, 0) == (ssize_t)size);
        CHECK(fdatasync(file) == 0);
    }
}

/* The file grows by each write, so that the file system has its new size and blocks to record too. */
static void run_fdatasync_append(uint64_t n) {
    LOOP(n) {
        CHECK(write(own, buffer, size) == (ssize_t)size);
        CHECK(fdatasync(own) == 0);
    }
}
#endif

/* ---- by memory alone ---- */

static const char *mapped;

static void setup_mmap_read(void) {
    setup_huge_file();
    mapped = mmap(NULL, whole, PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) fail(errno, "parameter size: mmap()");
}

static void own_mmap_read(void) {
    own_buffer();
    for (uint64_t i = 0; i < whole / size; i++) memcpy(buffer, mapped + next_part(), size); /* takes the page faults */
}

static void run_mmap_read(uint64_t n) { LOOP(n) memcpy(buffer, mapped + next_part(), size); }

/* ---- streams, with buffer sizes set here, so that the number of system calls is known ---- */

static FILE *stream;

static FILE *open_stream(const char *path, const char *mode, size_t buffered) {
    FILE *opened = fopen(path, mode);
    CHECK(opened != NULL);
    CHECK(setvbuf(opened, make_buffer(buffered), _IOFBF, buffered) == 0);
    return opened;
}

OWN FILE *lines; /* with a position */

static void setup_fgets(void) { make_file("file", LINE * LINES); }

static void own_fgets(void) {
    buffer = make_buffer(LINE + 1);
    lines = open_stream("file", "r", STREAM);
}

static void run_fgets(uint64_t n) {
    LOOP(n) {
        CHECK(fgets(buffer, LINE + 1, lines) == buffer && buffer[LINE - 1] == '\n');
        if (++turn < LINES) continue;
        turn = 0;
        rewind(lines);
    }
}

static void setup_getc(void) { stream = open_stream("/dev/zero", "r", STREAM); }

static void run_getc(uint64_t n) { LOOP(n) CHECK(getc(stream) == 0); }

static void setup_fread(void) {
    setup_size();
    stream = open_stream("/dev/zero", "r", size * TURNS);
}

static void setup_fwrite(void) {
    setup_size();
    stream = open_stream("/dev/null", "w", size * TURNS);
}

static void run_fread(uint64_t n) { LOOP(n) CHECK(fread(buffer, 1, size, stream) == size); }

static void run_fwrite(uint64_t n) { LOOP(n) CHECK(fwrite(buffer, 1, size, stream) == size); }

#define SIZE(by_default) "size=" by_default ":bytes a call, from 1 to 1M"
#define HUGE_SIZE "size=4K:bytes a call, from 1 to 64M (fewer calls than 64 go through the file if it would exceed 64M)"
#define IOVEC "iovcnt=8:buffers a call; size=64:bytes of each"

const struct operation io_operations[] = {
    {.id = "io.read_zero", .what = "read() of `size` bytes from /dev/zero", .enters = "read x1", .params = SIZE("1"),
     .systems = "posix", .family = "read", .setup = setup_zero, .own = own_buffer, .run = run_read},
    {.id = "io.write_null", .what = "write() of `size` bytes to /dev/null, which looks at none", .enters = "write x1",
     .params = SIZE("1"), .systems = "posix", .family = "write", .setup = setup_null, .own = own_buffer, .run = run_write},
    {.id = "io.read_file", .what = "read() of the next `size` bytes of a file in the page cache; the file has 64 times "
     "as many, so only one call in 64 is followed by lseek() to its start", .enters = "read x1 lseek/_llseek x1/64", .params = SIZE("1"), .systems = "posix",
     .family = "read", .setup = setup_file_of_turns, .own = own_position, .run = run_read_file},
    {.id = "io.write_file", .what = "write() over the next `size` bytes of a file in the page cache; the file has 64 "
     "times as many, so only one call in 64 is followed by lseek() to its start", .enters = "write x1 lseek/_llseek x1/64", .params = SIZE("1"), .systems = "posix",
     .family = "write", .setup = setup_file_of_turns, .own = own_position, .run = run_write_file},
    {.id = "io.write_append", .what = "write() of `size` bytes to the end of a growing file, which is emptied before "
     "each batch of at most 64 (untimed)", .enters = "write x1", .params = SIZE("4K"), .systems = "posix",
     .flags = HISTORY, .limit = TURNS, .setup = setup_size, .own = own_file, .prepare = prepare_append, .run = run_append},
    {.id = "io.pipe_write_read", .what = "write() of `size` bytes to a pipe, and read() of them, in one process",
     .enters = "write x1 read x1", .params = "size=1:bytes a call, from 1 to 64K", .systems = "posix",
     .setup = setup_pipe, .own = own_buffer, .run = run_pipe},
    {.id = "io.eventfd_write_read", .what = "write() of 1 to an eventfd, and read() of it, in one process",
     .enters = "write x1 read x1", .systems = "linux", .own = LINUX_ONLY(own_eventfd),
     .run = LINUX_ONLY(run_eventfd)},
    {.id = "io.pread", .what = "pread() of the next `size` bytes of a file in the page cache, from its start again "
     "after every 64", .enters = "pread64 x1", .params = HUGE_SIZE, .systems = "posix", .family = "read",
     .setup = setup_huge_file, .own = own_buffer, .run = run_pread},
    {.id = "io.pwrite", .what = "pwrite() over the next `size` bytes of a file in the page cache, from its start again "
     "after every 64", .enters = "pwrite64 x1", .params = HUGE_SIZE, .systems = "posix", .family = "write",
     .setup = setup_huge_file, .own = own_buffer, .run = run_pwrite},
    {.id = "io.readv", .what = "readv() from /dev/zero into `iovcnt` buffers of `size` bytes each",
     .enters = "readv x1", .params = IOVEC, .systems = "posix", .family = "read", .setup = setup_readv, .own = own_parts,
     .run = run_readv},
    {.id = "io.writev", .what = "writev() of `iovcnt` buffers of `size` bytes each to /dev/null, which looks at none",
     .enters = "writev x1", .params = IOVEC, .systems = "posix", .family = "write", .setup = setup_writev, .own = own_parts,
     .run = run_writev},
    {.id = "io.sendfile", .what = "sendfile() of `size` bytes of a file in the page cache to /dev/null: pages are "
     "referred to, no byte is copied", .enters = "sendfile/sendfile64 x1", .params = SIZE("4K"), .systems = "linux",
     .family = "copy", .setup = LINUX_ONLY(setup_file_and_null), .run = LINUX_ONLY(run_sendfile)},
    {.id = "io.splice", .what = "splice() of `size` bytes of a file in the page cache into a pipe, and from there to "
     "/dev/null: no byte is copied", .enters = "splice x2", .params = SIZE("4K"), .systems = "linux", .family = "copy",
     .setup = LINUX_ONLY(setup_file_and_null), .own = LINUX_ONLY(own_pipe), .run = LINUX_ONLY(run_splice)},
    {.id = "io.copy_file_range", .what = "copy_file_range() of the same `size` bytes each time over those of another file, both in the "
     "page cache (bytes are copied, unless the file system shares blocks)", .enters = "copy_file_range x1",
     .params = SIZE("4K"), .systems = "linux", .family = "copy", .setup = LINUX_ONLY(setup_two_files),
     .run = LINUX_ONLY(run_copy_file_range)},
    {.id = "io.fsync", .what = "pwrite() over 4 KiB of a file, and fsync()", .enters = "pwrite64 x1 fsync x1",
     .systems = "posix", .family = "fsync", .flags = MACHINE | HISTORY, .setup = setup_sync,
     .own = own_buffer, .run = run_fsync},
    {.id = "io.fdatasync", .what = "pwrite() over 4 KiB of a file, and fdatasync()",
     .enters = "pwrite64 x1 fdatasync x1", .systems = "posix", .family = "fsync", .flags = MACHINE | HISTORY,
     .setup = setup_sync, .own = own_buffer, .run = NOT_ON_MACOS(run_fdatasync)},
    {.id = "io.fdatasync_append", .what = "write() of 4 KiB to the end of a growing file, which is emptied before each "
     "batch of at most 64 (untimed), and fdatasync()", .enters = "write x1 fdatasync x1", .systems = "posix",
     .family = "fsync", .flags = MACHINE | HISTORY, .limit = TURNS, .setup = setup_append, .own = own_file, .prepare = prepare_append,
     .run = NOT_ON_MACOS(run_fdatasync_append)},
    {.id = "io.mmap_read", .what = "memcpy() of the next `size` bytes of a file mapping whose pages are present, from its "
     "start again after every 64", .enters = "", .params = HUGE_SIZE, .systems = "posix", .family = "read",
     .setup = setup_mmap_read, .own = own_mmap_read, .run = run_mmap_read},
    {.id = "io.fgets", .what = "fgets() of a 64-byte line of a file in the page cache, by a buffer of 4 KiB; rewind() "
     "after every 1024", .enters = "read/readv x1/64 lseek/_llseek x1/1024", .systems = "posix", .setup = setup_fgets, .own = own_fgets,
     .run = run_fgets},
    {.id = "io.getc", .what = "getc() from /dev/zero by a buffer of 4 KiB", .enters = "read/readv x1/4096",
     .systems = "posix", .setup = setup_getc, .run = run_getc},
    {.id = "io.fread", .what = "fread() of `size` bytes from /dev/zero by a buffer of 64 times as much",
     .enters = "read/readv x1/64", .params = SIZE("64"), .systems = "posix", .family = "read", .setup = setup_fread, .own = own_buffer,
     .run = run_fread},
    {.id = "io.fwrite", .what = "fwrite() of `size` bytes to /dev/null by a buffer of 64 times as much",
     .enters = "write/writev x1/64", .params = SIZE("64"), .systems = "posix", .family = "write", .setup = setup_fwrite, .own = own_buffer,
     .run = run_fwrite},
    {0},
};
