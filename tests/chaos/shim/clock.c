/* The wall clock, as far off as the file named by CHAOS_CLOCK says (seconds); other clocks are as they were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define READ_EVERY_NS (50 * SECOND / 1000)

static char *clock_file;

__attribute__((constructor)) static void start(void)
{
    const char *setting = getenv("CHAOS_CLOCK");
    if (setting)
        clock_file = strdup(setting);  /* a copy: PostgreSQL writes its process title over the environment */
}

static int real_clock(clockid_t clock, struct timespec *now)
{
    static __typeof__(clock_gettime) *real;
    if (!real)
        real = (__typeof__(clock_gettime) *)dlsym(RTLD_NEXT, "clock_gettime");
    return real(clock, now);
}

static int64_t read_offset(void)
{
    char text[64];
    int fd = open(clock_file, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return 0;  /* no file, no jump */
    text[got] = 0;
    return (int64_t)(strtod(text, NULL) * SECOND);
}

static int64_t offset_ns(void)
{
    static _Atomic int64_t offset, read_again_at;
    struct timespec now;
    int saved = errno;
    real_clock(CLOCK_MONOTONIC_COARSE, &now);
    int64_t here = now.tv_sec * SECOND + now.tv_nsec;
    if (here >= read_again_at) {
        read_again_at = here + READ_EVERY_NS;
        offset = read_offset();
    }
    errno = saved;
    return offset;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int answer = real_clock(clock, now);
    if (answer || !clock_file || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE && clock != CLOCK_TAI))
        return answer;
    int64_t offset = offset_ns(), jumped = now->tv_nsec + offset % SECOND;
    now->tv_sec += offset / SECOND;
    now->tv_sec += jumped >= SECOND ? 1 : jumped < 0 ? -1 : 0;
    now->tv_nsec = (jumped + SECOND) % SECOND;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;  /* obsolete: nobody asks for it */
    int answer = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return answer;
}

time_t time(time_t *where)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME_COARSE, &exact);
    if (where)
        *where = exact.tv_sec;
    return exact.tv_sec;
}
