/* mem.c: mappings, page faults, and shared memory segments. */
#include "../probe.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>
#include <fcntl.h>
#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#endif
#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

enum { PAGES = 512 }; /* for operations that use up a page per iteration */

static size_t page;
OWN char *region;

/* ---- setup: whether the kernel splits and merges mappings depends on a mapping's neighbours ---- */

static char *map(size_t bytes, int protection) {
    char *at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

/* `bytes` of memory with an inaccessible page on either side, so that it is never merged with a neighbour. */
static char *map_apart(size_t bytes) {
    page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = map(bytes + 2 * page, PROT_NONE) + page;
    CHECK(mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0);
    return at;
}

static void touch_pages(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) region[i * page] = 1;
}

static void own_page(void) {
    region = map_apart((size_t)sysconf(_SC_PAGESIZE));
    touch_pages(1);
}

/* ---- mapping and unmapping ---- */

static size_t size;

static void run_mmap_munmap(uint64_t n) {
    LOOP(n) {
        void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) fail(errno, "parameter size: mmap()");
        CHECK(munmap(at, size) == 0);
    }
}

static void setup_mmap_munmap(void) {
    size = (size_t)param_within("size", 1, SIZE_MAX / 2);
    run_mmap_munmap(1);
}

/* A hole of `size` bytes: nothing is read through the mapping, so the file needs no blocks. */
static int mapped_file;

static void run_mmap_file(uint64_t n) {
    LOOP(n) {
        void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, mapped_file, 0);
        if (at == MAP_FAILED) fail(errno, "parameter size: mmap()");
        CHECK(munmap(at, size) == 0);
    }
}

static void setup_mmap_file(void) {
    size = (size_t)param_within("size", 1, SIZE_MAX / 2);
    make_file("file", 0);
    CHECK((mapped_file = open("file", O_RDWR | O_CLOEXEC)) >= 0);
    if (ftruncate(mapped_file, (off_t)size) != 0) fail(errno, "parameter size: ftruncate()");
    run_mmap_file(1);
}

static void run_mprotect(uint64_t n) {
    OWN int protection = PROT_READ | PROT_WRITE;
    LOOP(n) CHECK(mprotect(region, page, protection ^= PROT_WRITE) == 0);
}

static void run_mlock_munlock(uint64_t n) {
    LOOP(n) {
        CHECK(mlock(region, page) == 0);
        CHECK(munlock(region, page) == 0);
    }
}

/* ---- page faults: not a system call, but a kernel entry for every page ---- */

/* Places for mappings, as many as a batch needs. */
enum { MAPPINGS = 16 };
/* Huge pages of 2 MiB, as many as a batch needs; aligned, or the first fault would map a small page. */
enum { HUGE_PAGES = 8, HUGE_BYTES = 2 << 20 };

#ifdef __linux__
/* One write to each of the first n pages. */
static void run_write_pages(uint64_t n) {
    volatile char *at = region;
    LOOP(n) {
        *at = 1;
        at += page;
    }
}

/* Pages of the base size, whose page tables exist. */
static void own_pages(void) {
    region = map_apart(PAGES * (size_t)sysconf(_SC_PAGESIZE));
    CHECK(madvise(region, PAGES * page, MADV_NOHUGEPAGE) == 0 || errno == EINVAL); /* kernels without huge pages */
    touch_pages(PAGES);
}

static void prepare_absent(uint64_t n) {
    (void)n;
    CHECK(madvise(region, PAGES * page, MADV_DONTNEED) == 0);
}

/* The next one to be written to. All are in turn, so that none is in a cache because it was zeroed a moment ago. */
OWN uint64_t next_huge;

static char *huge(uint64_t i) { return region + (next_huge + i) % HUGE_PAGES * HUGE_BYTES; }

static void run_write_huge(uint64_t n) {
    LOOP(n) {
        *(volatile char *)huge(0) = 1;
        next_huge++;
    }
}

static void own_huge(void) {
    char *apart = map_apart((HUGE_PAGES + 1) * (size_t)HUGE_BYTES);
    region = apart + (HUGE_BYTES - (uintptr_t)apart % HUGE_BYTES) % HUGE_BYTES;
    CHECK(madvise(region, HUGE_PAGES * (size_t)HUGE_BYTES, MADV_HUGEPAGE) == 0);
    run_write_huge(HUGE_PAGES);
}

/* Each fault made the whole of its huge page resident. */
static void prepare_huge(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        unsigned char resident;
        CHECK(mincore(huge(i) + HUGE_BYTES - page, page, &resident) == 0);
        if (!(resident & 1)) fail(0, "no huge page: see /sys/kernel/mm/transparent_hugepage/enabled, and free memory");
        CHECK(madvise(huge(i), HUGE_BYTES, MADV_DONTNEED) == 0);
    }
}

/* A fault on a page of a file also maps up to 15 neighbours, but none beyond its mapping: making every other page
   inaccessible leaves mappings of one page each. */
static void setup_file_pages(void) {
    page = (size_t)sysconf(_SC_PAGESIZE);
    make_file("file", 2 * PAGES * page);
}

static void own_file_pages(void) {
    int fd;
    CHECK((fd = open("file", O_RDONLY | O_CLOEXEC)) >= 0);
    region = mmap(NULL, 2 * PAGES * page, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(region != MAP_FAILED);
    for (size_t i = 1; i < 2 * PAGES; i += 2) CHECK(mprotect(region + i * page, page, PROT_NONE) == 0);
    for (size_t i = 0; i < 2 * PAGES; i += 2) (void)*(volatile char *)(region + i * page);
}

static void prepare_file_pages(uint64_t n) {
    (void)n;
    CHECK(madvise(region, 2 * PAGES * page, MADV_DONTNEED) == 0);
}

static void run_read_file_pages(uint64_t n) {
    const volatile char *at = region;
    LOOP(n) {
        CHECK(*at == 'a');
        at += 2 * page;
    }
}

/* The child that shares the pages: it reports that it has started, and sleeps until it is killed. */
OWN pid_t sharer;
OWN int sharer_is_there[2];

static void own_shared(void) {
    own_pages();
    CHECK(pipe(sharer_is_there) == 0);
}

static void share_pages(void) {
    CHECK(write(sharer_is_there[1], "x", 1) == 1);
    for (;;) pause();
}

static void stop_sharer(void) {
    stop_partner(sharer);
    sharer = 0;
}

static void prepare_shared(uint64_t n) {
    char byte;
    (void)n;
    stop_sharer();
    sharer = start_partner(share_pages);
    CHECK(read(sharer_is_there[0], &byte, 1) == 1);
    usleep(100); /* so that it has reached pause() and uses no CPU time during the batch */
}

/* ---- returning, moving and growing memory ---- */

static void run_madvise(uint64_t n) {
    char *at = region;
    LOOP(n) {
        CHECK(madvise(at, page, MADV_DONTNEED) == 0);
        at += page;
    }
}

/* Places for as many mappings as a batch needs, with an inaccessible page between them, so that none are merged. */
static size_t stride;

static void setup_mappings(void) {
    size = param_memory("size", 1, MAPPINGS);
    if (size == 0) fail(EINVAL, "parameter size: at least 1");
    page = (size_t)sysconf(_SC_PAGESIZE);
    size = (size + page - 1) / page * page;
    stride = size + page;
}

static void setup_file_mappings(void) {
    setup_mappings();
    make_file("file", size);
    CHECK((mapped_file = open("file", O_RDONLY | O_CLOEXEC)) >= 0);
}

static void own_mappings(void) {
    region = map(MAPPINGS * stride + page, PROT_NONE) + page;
}

static void touch_mapping(volatile char *at) {
    for (size_t i = 0; i < size; i += page) at[i] = 1;
}

static void read_mapping(const volatile char *at) {
    for (size_t i = 0; i < size; i += page) CHECK(at[i] == 'a');
}

static void prepare_munmap(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        char *at = region + i * stride;
        CHECK(mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
        CHECK(madvise(at, size, MADV_NOHUGEPAGE) == 0 || errno == EINVAL);
        touch_mapping(at);
    }
}

static void run_munmap(uint64_t n) {
    char *at = region;
    LOOP(n) {
        CHECK(munmap(at, size) == 0);
        at += stride;
    }
}

static void own_madvise_range(void) {
    own_mappings();
    prepare_munmap(MAPPINGS);
}

static void prepare_madvise_range(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) touch_mapping(region + i * stride);
}

/* Whose page tables exist. */
static void own_file_range(void) {
    own_mappings();
    for (uint64_t i = 0; i < MAPPINGS; i++) {
        char *at = region + i * stride;
        CHECK(mmap(at, size, PROT_READ, MAP_SHARED | MAP_FIXED, mapped_file, 0) == at);
        read_mapping(at);
    }
}

static void prepare_fault_range(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) CHECK(madvise(region + i * stride, size, MADV_DONTNEED) == 0);
}

static void run_fault_range(uint64_t n) {
    char *at = region;
    LOOP(n) {
        touch_mapping(at);
        at += stride;
    }
}

static void run_fault_file_range(uint64_t n) {
    const char *at = region;
    LOOP(n) {
        read_mapping(at);
        at += stride;
    }
}

static void run_madvise_range(uint64_t n) {
    char *at = region;
    LOOP(n) {
        CHECK(madvise(at, size, MADV_DONTNEED) == 0);
        at += stride;
    }
}

OWN char *place, *free_place;

/* Two locations for one page, each with inaccessible neighbours; the second is left unmapped. */
static void own_mremap(void) {
    page = (size_t)sysconf(_SC_PAGESIZE);
    char *start = map(5 * page, PROT_NONE);
    region = place = start + page;
    free_place = start + 3 * page;
    CHECK(mprotect(place, page, PROT_READ | PROT_WRITE) == 0);
    CHECK(munmap(free_place, page) == 0);
    touch_pages(1);
}

static void run_mremap(uint64_t n) {
    LOOP(n) {
        char *from = place;
        CHECK(mremap(from, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, free_place) == free_place);
        place = free_place;
        free_place = from;
    }
}

/* The raw call, since not every C library lets a program move the break. Returns the current break. */
static char *heap_end;

static void setup_brk(void) {
    page = (size_t)sysconf(_SC_PAGESIZE);
    heap_end = (char *)syscall(SYS_brk, NULL);
}

static inline void move_break(char *to) {
    if ((char *)syscall(SYS_brk, to) != to) fail(ENOMEM, "brk");
}

static void run_brk(uint64_t n) {
    LOOP(n) {
        move_break(heap_end + page);
        move_break(heap_end);
    }
}

static void run_memfd_create_close(uint64_t n) {
    LOOP(n) {
        int fd;
        CHECK((fd = memfd_create("syscost", MFD_CLOEXEC)) >= 0);
        CHECK(close(fd) == 0);
    }
}

/* A segment whose creator is killed before removing it would stay for ever, and recording its id would be timed in
   every iteration; so the process creates them in an IPC namespace of its own, which ends with it. */
static void setup_own_segments(void) {
    if (unshare(CLONE_NEWIPC) == 0) return;
    CHECK(unshare(CLONE_NEWUSER | CLONE_NEWIPC) == 0);
}
#endif

/* ---- System V shared memory ---- */

static int segment = -1;

static int make_segment(key_t key) { return shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600); }

static void setup_segment(void) { CHECK((segment = make_object(make_segment)) >= 0); }

static void remove_segment(void) {
    if (segment >= 0) shmctl(segment, IPC_RMID, NULL);
}

static void run_shmat_shmdt(uint64_t n) {
    LOOP(n) {
        void *at = shmat(segment, NULL, 0);
        CHECK(at != (void *)-1);
        CHECK(shmdt(at) == 0);
    }
}

#ifdef __linux__
static void run_shmget_rmid(uint64_t n) {
    LOOP(n) {
        int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
        CHECK(id >= 0);
        CHECK(shmctl(id, IPC_RMID, NULL) == 0);
    }
}
#endif

const struct operation mem_operations[] = {
    {.id = "mem.mmap_munmap", .what = "mmap() and munmap() of `size` bytes of anonymous memory, none of them touched",
     .enters = "mmap/mmap2 x1 munmap x1", .params = "size=4K:bytes of the mapping", .systems = "posix",
     .setup = setup_mmap_munmap, .run = run_mmap_munmap},
    {.id = "mem.mmap_file_munmap", .what = "mmap() and munmap() of `size` bytes of a file, read-only and private, none "
     "of them touched", .enters = "mmap/mmap2 x1 munmap x1", .params = "size=4K:bytes of the mapping",
     .systems = "posix", .setup = setup_mmap_file, .run = run_mmap_file},
    {.id = "mem.munmap_touched", .what = "munmap() of `size` bytes of anonymous memory, every page of which was "
     "written to (untimed)", .enters = "munmap x1", .prepares = "mmap/mmap2 x1 madvise x1",
     .params = "size=64K:bytes of the mapping", .systems = "linux", .limit = MAPPINGS,
     .setup = LINUX_ONLY(setup_mappings), .own = LINUX_ONLY(own_mappings), .prepare = LINUX_ONLY(prepare_munmap), .run = LINUX_ONLY(run_munmap)},
    {.id = "mem.fault_anonymous", .what = "first write to a fresh page of anonymous memory: a page fault, and a zeroed page",
     .enters = "", .systems = "linux", .family = "fault", .flags = FAULTS, .limit = PAGES,
     .own = LINUX_ONLY(own_pages), .prepare = LINUX_ONLY(prepare_absent), .run = LINUX_ONLY(run_write_pages)},
    {.id = "mem.fault_huge", .what = "first write to a transparent huge page (THP) of 2 MiB: a page fault, and 512 zeroed pages",
     .enters = "", .prepares = "mincore x1 madvise x1", .systems = "linux", .flags = FAULTS, .limit = HUGE_PAGES,
     .own = LINUX_ONLY(own_huge), .prepare = LINUX_ONLY(prepare_huge), .run = LINUX_ONLY(run_write_huge)},
    {.id = "mem.fault_file", .what = "first read of a page of a file mapping, the page being in the page cache: a page "
     "fault that maps this page alone", .enters = "", .systems = "linux", .family = "fault", .flags = FAULTS,
     .limit = PAGES, .setup = LINUX_ONLY(setup_file_pages), .own = LINUX_ONLY(own_file_pages), .prepare = LINUX_ONLY(prepare_file_pages),
     .run = LINUX_ONLY(run_read_file_pages)},
    {.id = "mem.fault_cow", .what = "first write, after fork(), to a page shared with the living child: a page fault, "
     "and a copy of the page", .enters = "", .systems = "linux", .family = "fault", .flags = FAULTS, .limit = PAGES,
     .own = LINUX_ONLY(own_shared), .prepare = LINUX_ONLY(prepare_shared), .run = LINUX_ONLY(run_write_pages),
     .teardown = LINUX_ONLY(stop_sharer)},
    {.id = "mem.fault_range", .what = "first write to each fresh page of `size` bytes of anonymous memory: a page fault for "
     "each, and a zeroed page (study fresh-memory compares recycled ones)", .enters = "", .prepares = "madvise x1", .params = "size=64K:bytes of the range", .systems = "linux",
     .flags = FAULTS, .limit = MAPPINGS, .setup = LINUX_ONLY(setup_mappings), .own = LINUX_ONLY(own_madvise_range),
     .prepare = LINUX_ONLY(prepare_fault_range), .run = LINUX_ONLY(run_fault_range)},
    {.id = "mem.fault_file_range", .what = "first read of each page of `size` bytes of a file mapping, all in the page "
     "cache: a page fault maps neighbours too", .enters = "", .prepares = "madvise x1",
     .params = "size=64K:bytes of the range", .systems = "linux", .flags = FAULTS, .limit = MAPPINGS,
     .setup = LINUX_ONLY(setup_file_mappings), .own = LINUX_ONLY(own_file_range),
     .prepare = LINUX_ONLY(prepare_fault_range), .run = LINUX_ONLY(run_fault_file_range)},
    {.id = "mem.mprotect", .what = "mprotect() of a mapping of one page, touched: to read-only, and to writable the "
     "next time", .enters = "mprotect x1", .systems = "posix", .own = own_page, .run = run_mprotect},
    {.id = "mem.brk", .what = "the raw brk system call twice: one page of heap more, untouched, and back",
     .enters = "brk x2", .systems = "linux", .setup = LINUX_ONLY(setup_brk), .run = LINUX_ONLY(run_brk)},
    {.id = "mem.madvise", .what = "madvise(MADV_DONTNEED) of a page that was written to (untimed): gives it back",
     .enters = "madvise x1", .systems = "linux", .limit = PAGES, .own = LINUX_ONLY(own_pages),
     .prepare = LINUX_ONLY(touch_pages), .run = LINUX_ONLY(run_madvise)},
    {.id = "mem.madvise_range", .what = "madvise(MADV_DONTNEED) of `size` bytes, every page of which was written to "
     "(untimed)", .enters = "madvise x1", .params = "size=64K:bytes of the range", .systems = "linux",
     .limit = MAPPINGS, .setup = LINUX_ONLY(setup_mappings), .own = LINUX_ONLY(own_madvise_range), .prepare = LINUX_ONLY(prepare_madvise_range),
     .run = LINUX_ONLY(run_madvise_range)},
    {.id = "mem.mremap", .what = "mremap() that moves a touched page to another address, and back the next time",
     .enters = "mremap x1", .systems = "linux", .own = LINUX_ONLY(own_mremap), .run = LINUX_ONLY(run_mremap)},
    {.id = "mem.mlock_munlock", .what = "mlock() and munlock() of a mapping of one page, touched",
     .enters = "mlock x1 munlock x1", .systems = "posix", .own = own_page, .run = run_mlock_munlock},
    {.id = "mem.memfd_create_close", .what = "memfd_create() and close()", .enters = "memfd_create x1 close x1",
     .systems = "linux", .run = LINUX_ONLY(run_memfd_create_close)},
    {.id = "mem.shmat_shmdt", .what = "shmat() and shmdt() of a System V segment of 4 KiB, untouched",
     .enters = "shmat x1 shmdt x1", .systems = "posix", .setup = setup_segment, .run = run_shmat_shmdt,
     .teardown = remove_segment},
    {.id = "mem.shmget_rmid", .what = "shmget() of a new System V segment of 4 KiB and shmctl(IPC_RMID), in an IPC "
     "name space of its own", .enters = "shmget x1 shmctl x1", .systems = "linux",
     .setup = LINUX_ONLY(setup_own_segments), .run = LINUX_ONLY(run_shmget_rmid)},
    {0},
};
