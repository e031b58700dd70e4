/* The least that a server can do for a Produce: wait, receive it, write as many bytes to a file, answer.
 *
 *   floor FILE
 *
 * Prints its port and serves one connection of raw_client after the other, one request in flight. It checks nothing and keeps
 * nothing, so what it costs is what the machine takes for being woken, for four system calls and for waking the client.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PRODUCE = 0, ROOM = 1 << 16 };

static void fail(const char *what) {
    fprintf(stderr, "floor: %s (%s)\n", what, errno ? strerror(errno) : "no system error");
    exit(1);
}

static uint32_t get_uint(const uint8_t *at, int size) {
    uint32_t value = 0;
    for (int i = 0; i < size; i++) value = value << 8 | at[i];
    return value;
}

static void put_uint(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static int listen_somewhere(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) || listen(fd, 8)) fail("listen");
    if (getsockname(fd, (struct sockaddr *)&address, &size)) fail("port");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

/* The answer in the form that raw_client reads: nothing in it but the correlation id and, for Produce, the topic's name. */
static size_t make_answer(const uint8_t *request, uint8_t *answer) {
    size_t size = 20; /* InitProducerId: correlation id, throttle time, error, producer id, epoch */
    memset(answer, 0, 256);
    if (get_uint(request + 4, 2) == PRODUCE) {
        size_t client_id = get_uint(request + 12, 2);
        const uint8_t *topic = request + 14 + client_id + 1 + 1 + 2 + 4 + 1; /* tags, transactional id, acks, timeout, topics */
        uint8_t *at = answer + 8;
        at[1] = 2; /* one topic */
        memcpy(at + 2, topic, topic[0]);
        at += 2 + topic[0];
        at[0] = 2;                                       /* one partition: */
        at[1 + 4 + 2 + 3 * 8] = 1;                       /* no records with errors */
        at += 1 + 4 + 2 + 3 * 8 + 1 + 1 + 1 + 1 + 4 + 1; /* no message, tags, throttle time, tags */
        size = (size_t)(at - answer - 4);
    }
    put_uint(answer, (uint32_t)size);
    memcpy(answer + 4, request + 8, 4);
    return 4 + size;
}

static void serve(int fd, int file) {
    static uint8_t request[ROOM], answer[512];
    int on = 1, events = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) || events < 0 || epoll_ctl(events, EPOLL_CTL_ADD, fd, &event)) fail("epoll");
    size_t have = 0;
    off_t position = 0;
    for (;;) {
        if (epoll_wait(events, &event, 1, -1) < 0) fail("epoll_wait");
        ssize_t got = recv(fd, request + have, ROOM - have, 0);
        if (got <= 0) break;
        have += (size_t)got;
        if (have < 4 || have < 4 + (size_t)get_uint(request, 4)) continue;
        if (pwrite(file, request, have, position) != (ssize_t)have) fail("write");
        position += (off_t)have;
        have = 0;
        size_t size = make_answer(request, answer);
        if (send(fd, answer, size, MSG_NOSIGNAL) != (ssize_t)size) break;
    }
    close(events);
    close(fd);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: floor FILE\n");
        return 2;
    }
    int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0) fail("file");
    for (int listener = listen_somewhere();;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0) fail("accept");
        serve(fd, file);
    }
}
