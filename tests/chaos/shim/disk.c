/*
 * The calls that change files below the live folder: each first tells the journal what it is about to destroy, and
 * fails when the disk is "full". Directories are left alone: a name that was made, moved or removed is on disk at once,
 * which is kinder than the worst disk (there it takes a sync of the directory).
 */
#include "journal.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) \
        real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

struct change {
    struct slot *slot;  /* locked; NULL: not a file of ours */
    bool is_synced;     /* the descriptor, or the call, waits for the disk */
};

static char *full_flag;

__attribute__((constructor)) static void start(void)
{
    const char *setting = getenv("CHAOS_DISK_FULL");
    if (setting)
        full_flag = strdup(setting);
}

static bool is_full(bool extends)
{
    struct stat flag;
    return full_flag && !stat(full_flag, &flag) && (extends || flag.st_size > 0);
}

static struct slot *locked_slot(int fd, struct stat *found)
{
    if (!journal_is_on() || fstat(fd, found) || !S_ISREG(found->st_mode))
        return NULL;
    struct slot *slot = journal_find(found->st_dev, found->st_ino);
    if (slot) {
        journal_lock(slot);
        fstat(fd, found);  /* its size, now that nobody else changes it */
    }
    return slot;
}

#define HERE (-1)

static bool may_write(struct change *change, int fd, off_t offset, size_t length, int call_flags)
{
    struct stat found;
    int saved = errno;
    change->slot = locked_slot(fd, &found);
    if (change->slot) {
        int flags = fcntl(fd, F_GETFL);
        if (flags & O_APPEND)
            offset = found.st_size;  /* even for pwrite: see its manual page */
        else if (offset == HERE)
            offset = lseek(fd, 0, SEEK_CUR);
        off_t end = offset + (off_t)length;
        if (is_full(end > found.st_size)) {
            journal_unlock(change->slot);
            errno = ENOSPC;
            return false;
        }
        change->is_synced = flags & O_DSYNC || call_flags & (RWF_DSYNC | RWF_SYNC);  /* O_SYNC holds O_DSYNC's bit */
        journal_save(change->slot, fd, offset, end);
    }
    errno = saved;
    return true;
}

static void has_written(struct change *change, int fd)
{
    struct stat found;
    int saved = errno;
    if (change->slot) {
        if (change->is_synced && !fstat(fd, &found))
            journal_synced(change->slot, found.st_size);
        journal_unlock(change->slot);
    }
    errno = saved;
}

static size_t total(const struct iovec *parts, int count)
{
    size_t bytes = 0;
    for (int place = 0; place < count; place++)
        bytes += parts[place].iov_len;
    return bytes;
}

#define WRITES(name, parameters, arguments, fd, offset, length, flags) \
    ssize_t name parameters \
    { \
        struct change change; \
        REAL(name); \
        if (!may_write(&change, fd, offset, length, flags)) \
            return -1; \
        ssize_t done = real arguments; \
        has_written(&change, fd); \
        return done; \
    }

WRITES(write, (int fd, const void *data, size_t size), (fd, data, size), fd, HERE, size, 0)
WRITES(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), fd, HERE, total(parts, count), 0)
WRITES(pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at), fd, at, size, 0)
WRITES(pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at), fd, at, size, 0)
WRITES(pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at),
       fd, at, total(parts, count), 0)
WRITES(pwritev64, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at),
       fd, at, total(parts, count), 0)
WRITES(pwritev2, (int fd, const struct iovec *parts, int count, off_t at, int flags), (fd, parts, count, at, flags),
       fd, at, total(parts, count), flags)
WRITES(pwritev64v2, (int fd, const struct iovec *parts, int count, off64_t at, int flags),
       (fd, parts, count, at, flags), fd, at, total(parts, count), flags)
WRITES(sendfile, (int fd, int from, off_t *at, size_t size), (fd, from, at, size), fd, HERE, size, 0)
WRITES(sendfile64, (int fd, int from, off64_t *at, size_t size), (fd, from, at, size), fd, HERE, size, 0)
WRITES(copy_file_range, (int from, off64_t *from_at, int fd, off64_t *at, size_t size, unsigned flags),
       (from, from_at, fd, at, size, flags), fd, at ? *at : HERE, size, 0)

static bool may_resize(struct change *change, int fd, off_t size)
{
    struct stat found;
    change->is_synced = false;
    change->slot = locked_slot(fd, &found);
    if (change->slot && size < found.st_size)
        journal_save(change->slot, fd, size, found.st_size);
    return true;
}

static bool may_allocate(struct change *change, int fd, int mode, off_t at, off_t size)
{
    struct stat found;
    change->is_synced = false;
    change->slot = locked_slot(fd, &found);
    if (change->slot && !(mode & FALLOC_FL_PUNCH_HOLE) && is_full(at + size > found.st_size)) {
        journal_unlock(change->slot);
        errno = ENOSPC;
        return false;
    }
    if (change->slot && mode & ~FALLOC_FL_KEEP_SIZE)  /* holes, zeros, pieces taken out: nothing behind `at` is safe */
        journal_save(change->slot, fd, at, found.st_size);
    return true;
}

#define RESIZES(name, parameters, arguments, is_allowed, refusal) \
    int name parameters \
    { \
        struct change change; \
        REAL(name); \
        if (!is_allowed) \
            return refusal; \
        int answer = real arguments; \
        has_written(&change, fd); \
        return answer; \
    }

RESIZES(ftruncate, (int fd, off_t size), (fd, size), may_resize(&change, fd, size), -1)
RESIZES(ftruncate64, (int fd, off64_t size), (fd, size), may_resize(&change, fd, size), -1)
RESIZES(fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size),
        may_allocate(&change, fd, mode, at, size), -1)
RESIZES(fallocate64, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size),
        may_allocate(&change, fd, mode, at, size), -1)
RESIZES(posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size), may_allocate(&change, fd, 0, at, size), ENOSPC)
RESIZES(posix_fallocate64, (int fd, off64_t at, off64_t size), (fd, at, size),
        may_allocate(&change, fd, 0, at, size), ENOSPC)

/*
 * Counted as done when it begins: whoever is told of a commit is told after it, and a machine that dies in between may
 * have finished. sync_file_range is no promise of anything (its manual page says so) and is not here.
 */
static void sync_begins(int fd)
{
    struct stat found;
    int saved = errno;
    struct slot *slot = locked_slot(fd, &found);
    if (slot) {
        journal_synced(slot, found.st_size);
        journal_unlock(slot);
    }
    errno = saved;
}

int fsync(int fd)
{
    REAL(fsync);
    sync_begins(fd);
    return real(fd);
}

int fdatasync(int fd)
{
    REAL(fdatasync);
    sync_begins(fd);
    return real(fd);
}

static int open_at(int folder, const char *path, int flags, mode_t mode)
{
    REAL(openat);
    bool writes = (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH);
    if (!journal_is_on() || !writes)
        return real(folder, path, flags, mode);
    /* O_TRUNC would destroy before we have seen what: open first, then truncate as everybody does. */
    int fd = real(folder, path, flags & ~O_TRUNC, mode);
    struct stat found;
    int saved = errno;
    if (fd >= 0) {
        journal_claim(fd);
        if (flags & O_TRUNC && !fstat(fd, &found) && S_ISREG(found.st_mode))
            ftruncate(fd, 0);
    }
    errno = saved;
    return fd;
}

#define MODE(flags, mode) \
    mode_t mode = 0; \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

#define OPENS(name, openat_name) \
    int name(const char *path, int flags, ...) \
    { \
        MODE(flags, mode) \
        return open_at(AT_FDCWD, path, flags, mode); \
    } \
    int openat_name(int folder, const char *path, int flags, ...) \
    { \
        MODE(flags, mode) \
        return open_at(folder, path, flags, mode); \
    }

OPENS(open, openat)
OPENS(open64, openat64)

/* What programs call that were built with -D_FORTIFY_SOURCE and give no mode. */
#define OPENS_CHECKED(name, openat_name) \
    int name(const char *path, int flags); \
    int name(const char *path, int flags) \
    { \
        return open_at(AT_FDCWD, path, flags, 0); \
    } \
    int openat_name(int folder, const char *path, int flags); \
    int openat_name(int folder, const char *path, int flags) \
    { \
        return open_at(folder, path, flags, 0); \
    }

OPENS_CHECKED(__open_2, __openat_2)
OPENS_CHECKED(__open64_2, __openat64_2)

int creat(const char *path, mode_t mode)
{
    return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int creat64(const char *path, mode_t mode)
{
    return creat(path, mode);
}

static int truncate_path(const char *path, off_t size)
{
    int fd = open_at(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
    int answer = fd < 0 ? -1 : ftruncate(fd, size);
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return answer;
}

int truncate(const char *path, off_t size)
{
    return truncate_path(path, size);
}

int truncate64(const char *path, off64_t size)
{
    return truncate_path(path, size);
}

/* stdio writes where we cannot see it; that such a file is new and how long it is on disk we know from its opening. */
static FILE *open_stream(const char *path, const char *mode)
{
    int flags = strchr(mode, '+') ? O_RDWR : O_WRONLY;
    flags |= *mode == 'w' ? O_CREAT | O_TRUNC : *mode == 'a' ? O_CREAT | O_APPEND : 0;
    flags |= (strchr(mode, 'e') ? O_CLOEXEC : 0) | (strchr(mode, 'x') ? O_EXCL : 0);
    int fd = open_at(AT_FDCWD, path, flags, 0666);
    return fd < 0 ? NULL : fdopen(fd, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    REAL(fopen);
    return journal_is_on() && (*mode != 'r' || strchr(mode, '+')) ? open_stream(path, mode) : real(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    return fopen(path, mode);
}
