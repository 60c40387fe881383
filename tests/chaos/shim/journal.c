/* See journal.h. Every step leaves a journal that is right when the process is killed after it. */
#include "journal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct table {
    struct { uint64_t is_ready; pthread_mutex_t claims; } head;
    uint8_t rest[HEAD_BYTES - sizeof(uint64_t) - sizeof(pthread_mutex_t)];
    struct slot slots[SLOTS];
    uint8_t bits[SLOTS][BITS_BYTES];
};
_Static_assert(sizeof(struct slot) == 128 && sizeof(struct table) == HEAD_BYTES + SLOTS * (128 + BITS_BYTES),
               "journal.py reads this layout");

static char *live, *folder;  /* without a slash at the end */
static dev_t live_device;
static struct table *table;

/* A journal with a gap would show losses that no disk makes, or hide some: rather no process at all. */
static void die(const char *why)
{
    char text[256];
    int length = snprintf(text, sizeof text, "chaos shim: %s: %s\n", why, strerror(errno));
    syscall(SYS_write, 2, text, (size_t)length);
    abort();
}

static void lock(pthread_mutex_t *mutex)
{
    int error = pthread_mutex_lock(mutex);
    if (error == EOWNERDEAD)  /* killed while it held it: what it left is right, see above */
        error = pthread_mutex_consistent(mutex);
    if (error) {
        errno = error;
        die("lock");
    }
}

/* System calls and not libc's functions, for those are ours. */
static int open_raw(const char *path, int flags, int mode)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

static void initialise(int fd)
{
    pthread_mutexattr_t robust;
    flock(fd, LOCK_EX);  /* the first process of all makes the mutexes */
    if (!table->head.is_ready) {
        pthread_mutexattr_init(&robust);
        pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&table->head.claims, &robust);
        for (int number = 0; number < SLOTS; number++)
            pthread_mutex_init(&table->slots[number].mutex, &robust);
        table->head.is_ready = 1;
    }
    flock(fd, LOCK_UN);
}

__attribute__((constructor)) static void start(void)
{
    const char *setting = getenv("CHAOS_DURABLE");
    char path[PATH_MAX];
    struct stat found;
    int fd;
    if (!setting || !strchr(setting, '='))
        return;
    live = strdup(setting);  /* a copy: PostgreSQL writes its process title over the environment */
    folder = strchr(live, '=');
    *folder++ = 0;
    snprintf(path, sizeof path, "%s/table", folder);
    if (stat(live, &found) || (fd = open_raw(path, O_RDWR, 0)) < 0)
        die(path);
    live_device = found.st_dev;
    table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED)
        die("mmap");
    initialise(fd);
    close(fd);
}

bool journal_is_on(void)
{
    return table;
}

static struct slot *probe(uint64_t inode)
{
    size_t number = inode * 0x9E3779B97F4A7C15u >> 32;
    for (int tried = 0; tried < SLOTS; tried++) {
        struct slot *slot = &table->slots[(number + tried) % SLOTS];
        if (!slot->inode || slot->inode == inode)
            return slot;
    }
    errno = ENOSPC;
    die("too many files");
    return NULL;
}

struct slot *journal_find(dev_t device, ino_t inode)
{
    struct slot *slot = device == live_device ? probe(inode) : NULL;
    return slot && slot->inode ? slot : NULL;
}

static bool is_below(int fd)
{
    char link[32], path[PATH_MAX];
    size_t length = strlen(live);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t got = readlink(link, path, sizeof path - 1);
    return got > (ssize_t)length && !memcmp(path, live, length) && path[length] == '/';
}

static void forget(struct slot *slot)
{
    if (slot->low < slot->high)
        memset(table->bits[slot - table->slots] + slot->low / 8, 0, (slot->high - 1) / 8 - slot->low / 8 + 1);
    slot->low = UINT32_MAX;
    slot->high = 0;
}

struct slot *journal_claim(int fd)
{
    struct stat found;
    struct statx birth;
    if (!table || fstat(fd, &found) || !S_ISREG(found.st_mode) || found.st_dev != live_device || !is_below(fd))
        return NULL;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &birth))
        die("statx");
    if (!(birth.stx_mask & STATX_BTIME))
        memset(&birth.stx_btime, 0, sizeof birth.stx_btime);
    lock(&table->head.claims);
    struct slot *slot = probe(found.st_ino);
    lock(&slot->mutex);
    if (!slot->inode || slot->born_s != birth.stx_btime.tv_sec || slot->born_ns != birth.stx_btime.tv_nsec) {
        forget(slot);
        /* What it holds is what it held when the journal began: nobody has written through us yet. */
        slot->durable = found.st_size;
        slot->born_s = birth.stx_btime.tv_sec;
        slot->born_ns = birth.stx_btime.tv_nsec;
        slot->inode = found.st_ino;
    }
    pthread_mutex_unlock(&slot->mutex);
    pthread_mutex_unlock(&table->head.claims);
    return slot;
}

void journal_lock(struct slot *slot)
{
    lock(&slot->mutex);
}

void journal_unlock(struct slot *slot)
{
    pthread_mutex_unlock(&slot->mutex);
}

static int open_before(struct slot *slot)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%d", folder, (int)(slot - table->slots));
    int fd = open_raw(path, O_RDWR | O_CREAT, 0666);
    if (fd < 0)
        die(path);
    return fd;
}

/* The program's own descriptor may be for writing only, or want aligned buffers. */
static int open_to_read(int fd)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int own = open_raw(link, O_RDONLY, 0);
    if (own < 0)
        die("reading what a write replaces");
    return own;
}

static void save_block(int from, int to, off_t block)
{
    char old[BLOCK];
    ssize_t got = syscall(SYS_pread64, from, old, sizeof old, block * BLOCK);
    if (got < 0 || syscall(SYS_pwrite64, to, old, (size_t)got, block * BLOCK) != got)
        die("saving a block");
}

void journal_save(struct slot *slot, int fd, off_t from, off_t to)
{
    uint8_t *bits = table->bits[slot - table->slots];
    int reading = -1, before = -1;
    if (to > slot->durable)
        to = slot->durable;  /* what lies beyond is not on disk: cutting it off is enough */
    for (off_t block = from / BLOCK; block * BLOCK < to; block++) {
        if (block >= BITS_BYTES * 8) {
            errno = EFBIG;
            die("a file over 1 GiB");
        }
        if (bits[block / 8] >> block % 8 & 1)
            continue;  /* what is there now is not on disk either */
        if (before < 0) {
            before = open_before(slot);
            reading = open_to_read(fd);
        }
        save_block(reading, before, block);
        if (block < slot->low)
            slot->low = (uint32_t)block;
        if (block >= slot->high)
            slot->high = (uint32_t)block + 1;
        bits[block / 8] |= (uint8_t)(1 << block % 8);
    }
    if (before >= 0) {
        syscall(SYS_close, before);
        syscall(SYS_close, reading);
    }
}

void journal_synced(struct slot *slot, off_t size)
{
    forget(slot);
    slot->durable = size;
}
