/* Moves the wall clock of a program that is started with this library in LD_PRELOAD: the seconds that stand in the file
 * MOVED_CLOCK, eight bytes as the machine writes numbers, are added to what the system says. Whoever writes the file moves
 * the clocks of all programs that were started with it at once. Monotonic clocks, and so all waits, go on as they are.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *moved;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("MOVED_CLOCK");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *at = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *moved, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) abort();
    close(file);
    moved = at;
}

int clock_gettime(clockid_t which, struct timespec *time) {
    int failed = (int)syscall(SYS_clock_gettime, which, time);
    if (!failed && moved && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) time->tv_sec += *moved;
    return failed;
}
