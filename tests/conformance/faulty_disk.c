/* Loaded before the C library: calls on files whose path contains $FAULTY_PATH fail with EIO while the file $FAULTY_WHILE exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int fails(int fd) {
    const char *path = getenv("FAULTY_PATH"), *while_there = getenv("FAULTY_WHILE");
    char link[64], target[4096];
    if (!path || !while_there || access(while_there, F_OK) != 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0)
        return 0;
    target[length] = 0;
    if (!strstr(target, path))
        return 0;
    errno = EIO;
    return 1;
}

#define FAULTY(type, name, fd, parameters, arguments)                                                                  \
    type name parameters {                                                                                             \
        static type(*real) parameters;                                                                                 \
        if (!real)                                                                                                     \
            real = dlsym(RTLD_NEXT, #name);                                                                            \
        return fails(fd) ? -1 : real arguments;                                                                        \
    }

FAULTY(ssize_t, pread, fd, (int fd, void *buffer, size_t count, off_t at), (fd, buffer, count, at))
FAULTY(ssize_t, pread64, fd, (int fd, void *buffer, size_t count, off_t at), (fd, buffer, count, at))
FAULTY(ssize_t, preadv2, fd, (int fd, const struct iovec *to, int count, off_t at, int flags), (fd, to, count, at, flags))
FAULTY(ssize_t, preadv64v2, fd, (int fd, const struct iovec *to, int count, off_t at, int flags), (fd, to, count, at, flags))
FAULTY(ssize_t, read, fd, (int fd, void *buffer, size_t count), (fd, buffer, count))
FAULTY(ssize_t, sendfile, from, (int to, int from, off_t *at, size_t count), (to, from, at, count))
FAULTY(ssize_t, sendfile64, from, (int to, int from, off_t *at, size_t count), (to, from, at, count))
FAULTY(ssize_t, pwrite, fd, (int fd, const void *buffer, size_t count, off_t at), (fd, buffer, count, at))
FAULTY(ssize_t, pwrite64, fd, (int fd, const void *buffer, size_t count, off_t at), (fd, buffer, count, at))
FAULTY(int, fsync, fd, (int fd), (fd))
FAULTY(int, fdatasync, fd, (int fd), (fd))
