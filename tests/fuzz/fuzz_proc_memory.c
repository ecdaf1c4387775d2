/* tests/fuzz/fuzz_proc_memory.c - any bytes as the kernel's texts of a process's memory.
 * What is taken is a whole number of its unit; what is not stays unknown. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "probe/process/memory_probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_unit(uint64_t bytes, uint64_t unit)
{
    if (bytes != ASSAY_UNKNOWN && bytes % unit != 0)
        abort();
}

static void check_status(const char *text)
{
    struct assay_memory_snapshot s;

    as_memory_snapshot_clear(&s);
    as_memory_parse_status(&s, text);
    as_memory_parse_rollup(&s, text);
    check_unit(s.rss_bytes, 1024);
    check_unit(s.peak_rss_bytes, 1024);
    check_unit(s.anonymous_bytes, 1024);
    check_unit(s.swap_bytes, 1024);
    check_unit(s.pss_bytes, 1024);
    check_unit(s.uss_bytes, 1024);
    if (s.rss_bytes != ASSAY_UNKNOWN && !strstr(text, "VmRSS"))
        abort();
}

static void check_rest(const char *text)
{
    struct assay_memory_snapshot s;

    as_memory_snapshot_clear(&s);
    as_memory_parse_statm(&s, text, 4096);
    check_unit(s.rss_bytes, 4096);
    check_unit(s.virtual_bytes, 4096);
    as_memory_parse_stat(&s, text);
    if (s.minor_faults != ASSAY_UNKNOWN && !strchr(text, ')'))
        abort();
    if (s.major_faults != ASSAY_UNKNOWN && s.minor_faults == ASSAY_UNKNOWN)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = as_alloc(size + 1); /* of its own size, so that reading past it is seen */

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    check_status(text);
    check_rest(text);
    as_free(text);
    return 0;
}
