/*
 * What is not on disk yet, for all processes of an installation: a table in shared memory and, per file, the old
 * content of the blocks that were overwritten and not synced. journal.py reads the same layout.
 *
 * An undo journal and not a second copy of the folder: it costs nothing for what is appended, which is nearly all that
 * a WAL does, and nothing to begin; and it goes by inode, so that renaming and linking need no care.
 */
#pragma once
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BLOCK 4096            /* what reaches a disk as a whole; PostgreSQL's pages of 8 KiB may be torn */
#define SLOTS 8192            /* files that were opened for writing; a cluster has about 1,000 */
#define BITS_BYTES 32768      /* one bit a block: files of up to 1 GiB, as long as PostgreSQL's get */
#define HEAD_BYTES 4096

struct slot {
    _Atomic uint64_t inode;   /* 0: free */
    int64_t born_s, born_ns;  /* an inode's number is given again when its file is gone */
    int64_t durable;          /* bytes: the length that is on disk */
    uint32_t low, high;       /* blocks with a bit are in [low, high) */
    uint8_t unused[24];
    pthread_mutex_t mutex;    /* held from before the old content is read until the write has happened */
    uint8_t rest[64 - sizeof(pthread_mutex_t)];
};

bool journal_is_on(void);
struct slot *journal_claim(int fd);                 /* the slot of a file just opened; NULL: not a file below the folder */
struct slot *journal_find(dev_t device, ino_t inode);
void journal_lock(struct slot *slot);
void journal_unlock(struct slot *slot);
void journal_save(struct slot *slot, int fd, off_t from, off_t to);  /* keeps what [from, to) holds on disk */
void journal_synced(struct slot *slot, off_t size);                  /* all of the file is on disk */
