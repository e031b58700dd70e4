/* The thinnest producer of the Kafka protocol, so that a server is measured and not a client library.
 *
 *   raw_client HOST PORT TOPIC WINDOW REQUESTS RECORDS_PER_BATCH VALUE_SIZE ACKS [USER PASSWORD]
 *
 * One connection, one partition, an idempotent producer's sequences, WINDOW requests in flight. Writes one line
 * of JSON. Produce version 12, as clients of today send; topic names of up to 126 bytes. A login is SASL PLAIN.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PRODUCE = 0, SASL_HANDSHAKE = 17, INIT_PRODUCER_ID = 22, SASL_AUTHENTICATE = 36, HEADER_SIZE = 61 };

static void fail(const char *what) {
    fprintf(stderr, "raw_client: %s (%s)\n", what, errno ? strerror(errno) : "no system error");
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* ---- bytes ---- */

static uint8_t *put_int(uint8_t *at, int64_t value, int size) {
    for (int i = size - 1; i >= 0; i--) *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

static int64_t get_int(const uint8_t *at, int size) {
    int64_t value = (int8_t)at[0];
    for (int i = 1; i < size; i++) value = value << 8 | at[i];
    return value;
}

static uint8_t *put_string(uint8_t *at, const char *text) {
    size_t length = strlen(text);
    at = put_int(at, (int64_t)length, 2);
    memcpy(at, text, length);
    return at + length;
}

static uint8_t *put_uvarint(uint8_t *at, uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static uint8_t *put_varint(uint8_t *at, int64_t value) {
    return put_uvarint(at, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static uint32_t crc_table[8][256];

static void make_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        crc_table[0][i] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (int i = 0; i < 256; i++)
            crc_table[slice][i] = crc_table[slice - 1][i] >> 8 ^ crc_table[0][crc_table[slice - 1][i] & 0xff];
}

static uint32_t crc32c(const uint8_t *data, size_t size) {
    uint32_t crc = 0xffffffffu;
    for (; size >= 8; size -= 8, data += 8) {
        uint32_t low = crc ^ ((uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24);
        crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^ crc_table[5][low >> 16 & 0xff] ^
              crc_table[4][low >> 24] ^ crc_table[3][data[4]] ^ crc_table[2][data[5]] ^ crc_table[1][data[6]] ^
              crc_table[0][data[7]];
    }
    while (size--) crc = crc >> 8 ^ crc_table[0][(crc ^ *data++) & 0xff];
    return ~crc;
}

/* ---- messages ---- */

static size_t make_batch(uint8_t *batch, int records, int value_size) {
    uint8_t *at = batch + HEADER_SIZE;
    int64_t timestamp = (int64_t)time(NULL) * 1000;
    uint8_t *record = malloc((size_t)value_size + 64);
    if (!record) fail("memory");
    for (int i = 0; i < records; i++) {
        uint8_t *body = record;
        *body++ = 0;                       /* attributes */
        body = put_varint(body, 0);        /* timestamp delta */
        body = put_varint(body, i);        /* offset delta */
        body = put_varint(body, -1);       /* no key */
        body = put_varint(body, value_size);
        for (int n = 0; n < value_size; n++) *body++ = (uint8_t)('a' + (n * 7 + i) % 26);
        body = put_varint(body, 0);        /* no headers */
        at = put_varint(at, body - record);
        memcpy(at, record, (size_t)(body - record));
        at += body - record;
    }
    free(record);
    put_int(batch, 0, 8);                              /* base offset */
    put_int(batch + 8, at - batch - 12, 4);            /* length */
    put_int(batch + 12, -1, 4);                        /* leader epoch */
    batch[16] = 2;                                     /* magic; the checksum follows */
    put_int(batch + 21, 0, 2);                         /* attributes */
    put_int(batch + 23, records - 1, 4);               /* last offset delta */
    put_int(batch + 27, timestamp, 8);
    put_int(batch + 35, timestamp, 8);
    put_int(batch + 57, records, 4);
    return (size_t)(at - batch);
}

static void number_batch(uint8_t *batch, size_t size, int64_t producer_id, int64_t epoch, int64_t sequence) {
    put_int(batch + 43, producer_id, 8);
    put_int(batch + 51, epoch, 2);
    put_int(batch + 53, sequence & 0x7fffffff, 4);
    put_int(batch + 17, crc32c(batch + 21, size - 21), 4);
}

static uint8_t *put_header(uint8_t *at, int api_key, int version, int64_t correlation_id) {
    at = put_int(at, api_key, 2);
    at = put_int(at, version, 2);
    at = put_int(at, correlation_id, 4);
    return put_string(at, "bench");
}

/* ---- connection ---- */

static int dial(const char *host, const char *port) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *address;
    if (getaddrinfo(host, port, &hints, &address)) fail("address");
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || connect(fd, address->ai_addr, address->ai_addrlen)) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    freeaddrinfo(address);
    return fd;
}

static void send_all(int fd, const uint8_t *data, size_t size) {
    while (size) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0) fail("send");
        data += sent;
        size -= (size_t)sent;
    }
}

static void receive_exactly(int fd, uint8_t *data, size_t size) {
    while (size) {
        ssize_t got = recv(fd, data, size, 0);
        if (got <= 0) fail("the server closed the connection");
        data += got;
        size -= (size_t)got;
    }
}

/* Send the request that ends at `end` and check the error code that its answer begins with. */
static void ask(int fd, uint8_t *request, uint8_t *end, const char *what) {
    uint8_t answer[4096];
    put_int(request, end - request - 4, 4);
    send_all(fd, request, (size_t)(end - request));
    receive_exactly(fd, answer, 4);
    int64_t size = get_int(answer, 4);
    if (size < 6 || size > (int64_t)sizeof answer) fail(what);
    receive_exactly(fd, answer, (size_t)size);
    if (get_int(answer + 4, 2)) fail(what);
}

static void log_in(int fd, const char *user, const char *password) {
    uint8_t request[1024];
    if (strlen(user) + strlen(password) > 900) fail("the login is too long");
    ask(fd, request, put_string(put_header(request + 4, SASL_HANDSHAKE, 1, 0), "PLAIN"), "SaslHandshake is refused");
    uint8_t *at = put_header(request + 4, SASL_AUTHENTICATE, 0, 0), *token = at + 4;
    uint8_t *end = token + 1;              /* nobody to act for */
    *token = 0;
    end = (uint8_t *)stpcpy((char *)end, user) + 1;
    end = (uint8_t *)stpcpy((char *)end, password);
    put_int(at, end - token, 4);
    ask(fd, request, end, "the login is refused");
}

static void init_producer_id(int fd, int64_t *producer_id, int64_t *epoch) {
    for (int attempt = 0; attempt < 100; attempt++) {
        uint8_t request[64], response[64], *at = put_header(request + 4, INIT_PRODUCER_ID, 1, 0);
        at = put_int(at, -1, 2);           /* no transactional id */
        at = put_int(at, 60000, 4);
        put_int(request, at - request - 4, 4);
        send_all(fd, request, (size_t)(at - request));
        receive_exactly(fd, response, 4);
        int64_t size = get_int(response, 4);
        if (size < 20 || size > (int64_t)sizeof response) fail("an odd answer to InitProducerId");
        receive_exactly(fd, response, (size_t)size);
        if (get_int(response + 8, 2) == 0) {
            *producer_id = get_int(response + 10, 8);
            *epoch = get_int(response + 18, 2);
            return;
        }
        usleep(100000);                    /* the first one after a start may have to wait for a block of ids */
    }
    fail("no producer id");
}

/* ---- the run ---- */

typedef struct {
    uint8_t *bytes, *batch;
    size_t size, batch_size;
    int records;
} produce_request;

static produce_request make_request(const char *topic, int records, int value_size, int acks) {
    size_t room = (size_t)records * ((size_t)value_size + 32) + strlen(topic) + 256;
    produce_request made = {.bytes = malloc(room), .records = records};
    if (!made.bytes) fail("memory");
    size_t topic_length = strlen(topic);
    if (topic_length > 126) fail("the topic's name is too long");
    uint8_t *at = put_header(made.bytes + 4, PRODUCE, 12, 0);
    *at++ = 0;                             /* the header's tags */
    *at++ = 0;                             /* no transactional id */
    at = put_int(at, acks, 2);
    at = put_int(at, 30000, 4);
    *at++ = 1 + 1;                         /* topics */
    *at++ = (uint8_t)(topic_length + 1);
    memcpy(at, topic, topic_length);
    at += topic_length;
    *at++ = 1 + 1;                         /* partitions */
    at = put_int(at, 0, 4);
    made.batch_size = make_batch(at, records, value_size);
    uint8_t length[8];
    size_t length_size = (size_t)(put_uvarint(length, made.batch_size + 1) - length);
    made.batch = at + length_size;
    memmove(made.batch, at, made.batch_size);
    memcpy(at, length, length_size);
    at = made.batch + made.batch_size;
    memset(at, 0, 3);                      /* tags of the partition, the topic, the request */
    made.size = (size_t)(at + 3 - made.bytes);
    put_int(made.bytes, (int64_t)made.size - 4, 4);
    return made;
}

/* Check one answer; offsets count from behind its length. */
static void check_answer(const uint8_t *answer, int64_t correlation_id, size_t topic_length) {
    if (get_int(answer, 4) != (correlation_id & 0x7fffffff)) fail("answers out of order");
    /* correlation id, tags, one topic, its name, one partition, its number */
    int error = (int)get_int(answer + 4 + 1 + 1 + 1 + topic_length + 1 + 4, 2);
    if (error) {
        fprintf(stderr, "raw_client: error %d\n", error);
        exit(1);
    }
}

static void produce_all(int fd, produce_request request, size_t topic_length, int64_t window, int64_t requests,
                        uint32_t *latency_us) {
    uint8_t *out = malloc(request.size * (size_t)window), *in = malloc(1 << 16);
    uint64_t *sent_ns = calloc((size_t)window, sizeof *sent_ns);
    if (!out || !in || !sent_ns) fail("memory");
    int64_t producer_id, epoch, sent = 0, acknowledged = 0;
    init_producer_id(fd, &producer_id, &epoch);
    size_t have = 0;
    while (acknowledged < requests) {
        uint8_t *end = out;
        for (; sent < requests && sent - acknowledged < window; sent++) {
            put_int(request.bytes + 8, sent & 0x7fffffff, 4);
            number_batch(request.batch, request.batch_size, producer_id, epoch, sent * request.records);
            memcpy(end, request.bytes, request.size);
            end += request.size;
            sent_ns[sent % window] = now_ns();
        }
        send_all(fd, out, (size_t)(end - out));
        ssize_t got = recv(fd, in + have, (1 << 16) - have, 0);
        if (got <= 0) fail("the server closed the connection");
        have += (size_t)got;
        uint64_t now = now_ns();
        size_t used = 0;
        while (have - used >= 4 && have - used >= 4 + (size_t)get_int(in + used, 4)) {
            check_answer(in + used + 4, acknowledged, topic_length);
            latency_us[acknowledged] = (uint32_t)((now - sent_ns[acknowledged % window]) / 1000);
            acknowledged++;
            used += 4 + (size_t)get_int(in + used, 4);
        }
        memmove(in, in + used, have - used);
        have -= used;
    }
}

static int by_value(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
    if (argc != 9 && argc != 11) {
        fprintf(stderr, "usage: raw_client HOST PORT TOPIC WINDOW REQUESTS RECORDS_PER_BATCH VALUE_SIZE ACKS [USER PASSWORD]\n");
        return 2;
    }
    int64_t window = atoll(argv[4]), requests = atoll(argv[5]);
    int records = atoi(argv[6]), value_size = atoi(argv[7]);
    make_crc_table();
    produce_request request = make_request(argv[3], records, value_size, atoi(argv[8]));
    uint32_t *latency_us = calloc((size_t)requests, sizeof *latency_us);
    if (!latency_us) fail("memory");
    int fd = dial(argv[1], argv[2]);
    if (argc == 11) log_in(fd, argv[9], argv[10]);

    double cpu_before = cpu_seconds();
    uint64_t started = now_ns();
    produce_all(fd, request, strlen(argv[3]), window, requests, latency_us);
    double seconds = (double)(now_ns() - started) / 1e9;

    qsort(latency_us, (size_t)requests, sizeof *latency_us, by_value);
    printf("{\"requests\": %ld, \"record_bytes\": %ld, \"seconds\": %.4f, \"client_cpu_s\": %.3f, "
           "\"p50_ms\": %.3f, \"p99_ms\": %.3f}\n",
           (long)requests, (long)(requests * records * value_size), seconds, cpu_seconds() - cpu_before,
           latency_us[requests / 2] / 1000.0, latency_us[requests * 99 / 100] / 1000.0);
    return 0;
}
