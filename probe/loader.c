/* loader.c: programs that need a dynamic loader, on systems that may have none. Called by operations that start one, and by
   the protocol of a static probe. */
#include "loader.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <link.h>

/* The loader that an ELF program of this probe's word size names (PT_INTERP of elf(5)); 0 if it names none. */
static int loader_of(const char *program, char path[PATH_MAX]) {
    ElfW(Ehdr) header;
    ElfW(Phdr) part = {0};
    int file = open(program, O_RDONLY | O_CLOEXEC), found = 0;
    if (file < 0) return 0;
    if (pread(file, &header, sizeof header, 0) == sizeof header && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        header.e_phentsize == sizeof part)
        for (unsigned i = 0; i < header.e_phnum && !found; i++)
            found = pread(file, &part, sizeof part, (off_t)(header.e_phoff + i * sizeof part)) == sizeof part &&
                    part.p_type == PT_INTERP;
    found = found && part.p_filesz > 0 && part.p_filesz < PATH_MAX &&
            pread(file, path, part.p_filesz, (off_t)part.p_offset) == (ssize_t)part.p_filesz;
    if (found) path[part.p_filesz] = '\0';
    close(file);
    return found;
}

void need_loader(const char *program) {
    char loader[PATH_MAX], line[PATH_MAX + 64];
    if (!loader_of(program, loader) || access(loader, F_OK) == 0) return;
    snprintf(line, sizeof line, "no dynamic loader %.200s", loader);
    fail(errno, line);
}
#else
void need_loader(const char *program) { (void)program; }
#endif

void become_dynamic(const char *line) {
    char program[PATH_MAX + 64];
    snprintf(program, sizeof program, "%s", beside_probe("probe-dynamic"));
    if (access(program, X_OK) != 0) fail(errno, "this build has no dynamic probe");
    need_loader(program);
    execl(program, program, "--begin", line, (char *)NULL);
    fail(errno, "execve of probe-dynamic");
}
