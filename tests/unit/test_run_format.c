/* tests/unit/test_run_format.c - headers of run files: what is packed is unpacked, one flipped bit
 * is refused. Also the writer: whole blocks or nothing. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/run/run_writer.h"

static const struct as_run_header header = {
    .major = 1,
    .minor = 2,
    .id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255},
    .salt = 0xdeadbeef};
static const struct as_block_header block = {.kind = AS_BLOCK_EVENTS,
                                             .size = 1000,
                                             .number = 77,
                                             .crc = 0x12345678,
                                             .records = 40,
                                             .salt = 0xdeadbeef};

static void a_run_header_comes_back(void **state)
{
    uint8_t bytes[AS_RUN_HEADER_BYTES];
    struct as_run_header h;

    (void)state;
    as_run_header_pack(bytes, &header);
    assert_int_equal(as_run_header_unpack(bytes, sizeof bytes, &h), AS_HEADER_GOOD);
    assert_int_equal(h.major, 1);
    assert_int_equal(h.minor, 2);
    assert_int_equal(h.salt, header.salt);
    assert_memory_equal(h.id, header.id, sizeof h.id);
}

static void a_run_header_with_one_flipped_bit_is_refused(void **state)
{
    uint8_t bytes[AS_RUN_HEADER_BYTES];
    struct as_run_header h;

    (void)state;
    as_run_header_pack(bytes, &header);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        enum as_header_verdict verdict;

        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        verdict = as_run_header_unpack(bytes, sizeof bytes, &h);
        assert_int_equal(verdict, bit < 64 ? AS_HEADER_FOREIGN : AS_HEADER_DAMAGED);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void a_run_header_cut_anywhere_is_short(void **state)
{
    uint8_t bytes[AS_RUN_HEADER_BYTES];
    struct as_run_header h;

    (void)state;
    as_run_header_pack(bytes, &header);
    assert_int_equal(as_run_header_unpack(bytes, 0, &h), AS_HEADER_FOREIGN);
    for (size_t size = 1; size < sizeof bytes; size++)
        assert_int_equal(as_run_header_unpack(bytes, size, &h), AS_HEADER_SHORT);
    assert_int_equal(as_run_header_unpack((const uint8_t *)"ASSAX", 5, &h), AS_HEADER_FOREIGN);
}

static void a_block_header_comes_back(void **state)
{
    uint8_t bytes[AS_BLOCK_BYTES];
    struct as_block_header h;

    (void)state;
    as_block_header_pack(bytes, &block);
    assert_true(as_block_header_unpack(bytes, block.salt, &h));
    assert_int_equal(h.kind, block.kind);
    assert_int_equal(h.size, block.size);
    assert_int_equal(h.number, block.number);
    assert_int_equal(h.crc, block.crc);
    assert_int_equal(h.records, block.records);
}

static void a_block_header_with_one_flipped_bit_is_refused(void **state)
{
    uint8_t bytes[AS_BLOCK_BYTES];
    struct as_block_header h;

    (void)state;
    as_block_header_pack(bytes, &block);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(as_block_header_unpack(bytes, block.salt, &h));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_false(as_block_header_unpack(bytes, block.salt + 1, &h)); /* of another run */
}

static void a_block_larger_than_the_limit_is_refused(void **state)
{
    struct as_block_header big = block, h;
    uint8_t bytes[AS_BLOCK_BYTES];

    (void)state;
    big.size = AS_BLOCK_MAX_BYTES;
    as_block_header_pack(bytes, &big);
    assert_true(as_block_header_unpack(bytes, block.salt, &h));
    big.size++;
    as_block_header_pack(bytes, &big);
    assert_false(as_block_header_unpack(bytes, block.salt, &h));
}

static void every_reason_of_loss_has_words(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < AS_LOSS_REASON_COUNT; i++)
        assert_true(strlen(as_loss_text(i)) > 0);
    assert_string_equal(as_loss_text(AS_LOSS_REASON_COUNT), "");
    assert_string_equal(as_loss_text(UINT32_MAX), "");
}

/* ---- the writer ---- */

static void a_block_that_cannot_be_written_leaves_the_file_as_it_was(void **state)
{
    char path[] = "/tmp/assay-writer-XXXXXX";
    struct rlimit kept, limit;
    struct as_run_writer w;
    char payload[300] = {0};
    struct stat st;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(as_run_writer_open(&w, fd, &header, NULL), ASSAY_OK);
    assert_true(as_run_writer_add(&w, AS_BLOCK_META, payload, sizeof payload, 0));
    assert_int_equal(w.size_bytes, AS_RUN_HEADER_BYTES + AS_BLOCK_BYTES + sizeof payload);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
    limit = kept;
    limit.rlim_cur = w.size_bytes + 100; /* the next block fits in part only */
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_false(as_run_writer_add(&w, AS_BLOCK_EVENTS, payload, sizeof payload, 5));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &kept), 0);
    assert_int_equal(w.sys, EFBIG);
    assert_int_equal(w.events, 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, w.size_bytes);
    assert_false(as_run_writer_add(&w, AS_BLOCK_META, "", 0, 0)); /* for good */
    as_run_writer_close(&w);
    as_run_writer_close(&w); /* already closed */
}

static void a_payload_past_the_limit_is_not_written(void **state)
{
    uint8_t *payload =
        mmap(NULL, AS_BLOCK_MAX_BYTES + 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct as_run_writer w;

    (void)state;
    assert_true(payload != MAP_FAILED);
    assert_int_equal(as_run_writer_open(&w, memfd_create("run", 0), &header, NULL), ASSAY_OK);
    assert_false(as_run_writer_add(&w, AS_BLOCK_META, payload, AS_BLOCK_MAX_BYTES + 1, 0));
    assert_true(as_run_writer_add(&w, AS_BLOCK_META, payload, AS_BLOCK_MAX_BYTES, 0));
    as_run_writer_close(&w);
    munmap(payload, AS_BLOCK_MAX_BYTES + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_header_comes_back),
        cmocka_unit_test(a_run_header_with_one_flipped_bit_is_refused),
        cmocka_unit_test(a_run_header_cut_anywhere_is_short),
        cmocka_unit_test(a_block_header_comes_back),
        cmocka_unit_test(a_block_header_with_one_flipped_bit_is_refused),
        cmocka_unit_test(a_block_larger_than_the_limit_is_refused),
        cmocka_unit_test(every_reason_of_loss_has_words),
        cmocka_unit_test(a_block_that_cannot_be_written_leaves_the_file_as_it_was),
        cmocka_unit_test(a_payload_past_the_limit_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
