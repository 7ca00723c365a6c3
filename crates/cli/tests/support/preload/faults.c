// Lets one I/O call on the files below a directory fail.
//
// FAULT_DIRECTORY  the directory
// FAULT_TRACE      a file of 8 bytes, in which the calls are counted, and one byte for the kind of each call: 'l' for
//                  a write to the log, 'w' for another one, 's' for a sync, 'r' for a read, 'o' for any other
// FAULT_AT         the number of the call that fails; 0 for none
// FAULT_KIND       "EIO" or "ENOSPC": the call does nothing and fails; "short": a write takes only half of its
//                  bytes; "lost": a write says that it succeeded and does nothing

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NONE, FAIL, SHORT, LOST };

static char directory[4096];
static size_t directory_length;
static uint64_t *counter;
static char *trace;
static size_t trace_bytes;
static uint64_t fault_at;
static enum kind kind;
static int error_number;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *under = getenv("FAULT_DIRECTORY");
    const char *count = getenv("FAULT_TRACE");
    const char *at = getenv("FAULT_AT");
    const char *name = getenv("FAULT_KIND");
    if (!under || !count || !at || !name) {
        return;
    }
    int file = REAL(open)(count, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    trace_bytes = lseek(file, 0, SEEK_END);
    void *map = mmap(NULL, trace_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (map == MAP_FAILED) {
        return;
    }
    fault_at = strtoull(at, NULL, 10);
    kind = !strcmp(name, "short") ? SHORT : !strcmp(name, "lost") ? LOST : FAIL;
    error_number = !strcmp(name, "ENOSPC") ? ENOSPC : EIO;
    snprintf(directory, sizeof directory, "%s/", under);
    directory_length = strlen(directory);
    trace = map;
    counter = map;
}

static int is_below(const char *path) {
    return counter != NULL && strncmp(path, directory, directory_length) == 0;
}

// Whether the path is below the directory, and in the log.
static int place_of(int file, int *in_log) {
    *in_log = 0;
    if (counter == NULL) {
        return 0;
    }
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) {
        return 0;
    }
    path[length] = 0;
    *in_log = strstr(path, "/log/") != NULL;
    return is_below(path);
}

// What is to happen to this call.
static enum kind count(char call) {
    uint64_t number = __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    if (sizeof *counter + number < trace_bytes) {
        trace[sizeof *counter + number] = call;
    }
    return number == fault_at ? kind : NONE;
}

static enum kind next_on(int file, char call) {
    int in_log;
    if (!place_of(file, &in_log)) {
        return NONE;
    }
    return count(call == 'w' && in_log ? 'l' : call);
}

static enum kind next_at(const char *path) {
    return is_below(path) ? count('o') : NONE;
}

static int fail(void) {
    errno = error_number;
    return -1;
}

// A whole number of blocks, as a file system would.
static size_t half(size_t bytes) {
    return bytes > 1024 ? bytes / 1024 * 512 : bytes / 2;
}

#define WRITE_CALL(name, parameters, arguments, shortened)                 \
    ssize_t name parameters {                                              \
        switch (next_on(file, 'w')) {                               \
        case FAIL: return fail();                                          \
        case LOST: return bytes;                                           \
        case SHORT:                                                        \
            if (half(bytes) == 0) {                                        \
                return REAL(name) arguments;                               \
            }                                                              \
            return REAL(name) shortened;                                   \
        default: return REAL(name) arguments;                              \
        }                                                                  \
    }

WRITE_CALL(write, (int file, const void *from, size_t bytes), (file, from, bytes),
           (file, from, half(bytes)))
WRITE_CALL(pwrite, (int file, const void *from, size_t bytes, off_t at), (file, from, bytes, at),
           (file, from, half(bytes), at))
WRITE_CALL(pwrite64, (int file, const void *from, size_t bytes, off64_t at),
           (file, from, bytes, at), (file, from, half(bytes), at))

#define OTHER_CALL(name, parameters, arguments, what_happens)              \
    int name parameters {                                                  \
        enum kind what = what_happens;                                     \
        return what == FAIL ? fail() : REAL(name) arguments;               \
    }

OTHER_CALL(fsync, (int file), (file), next_on(file, 's'))
OTHER_CALL(fdatasync, (int file), (file), next_on(file, 's'))
OTHER_CALL(ftruncate, (int file, off_t length), (file, length), next_on(file, 'w'))
OTHER_CALL(ftruncate64, (int file, off64_t length), (file, length), next_on(file, 'w'))
OTHER_CALL(rename, (const char *from, const char *to), (from, to), next_at(from))
OTHER_CALL(unlink, (const char *path), (path), next_at(path))

static int creates(int flags) {
    return (flags & O_CREAT) != 0;
}

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = creates(flags) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return next_at(path) == FAIL ? fail() : REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = creates(flags) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return next_at(path) == FAIL ? fail() : REAL(open64)(path, flags, mode);
}

ssize_t pread64(int file, void *into, size_t bytes, off64_t at) {
    return next_on(file, 'r') == FAIL ? fail() : REAL(pread64)(file, into, bytes, at);
}

ssize_t read(int file, void *into, size_t bytes) {
    return next_on(file, 'r') == FAIL ? fail() : REAL(read)(file, into, bytes);
}
