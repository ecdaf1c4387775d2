/* tests/fuzz/fuzz_process_stat.c - any text as what /proc says of a process.
 * Names end within their room, and what is unknown says so. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "probe/process/process_stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct as_process_status status;
    struct as_process_stat stat;
    struct as_process_io io;
    char name[32], *text = as_alloc(size + 1);
    const char *at = text;
    uint64_t delay_ns;
    int64_t pid;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (as_process_stat_parse(&stat, text))
        must(stat.state != '\0');
    must(memchr(stat.comm, '\0', sizeof stat.comm) != NULL);
    as_process_status_parse(&status, text);
    must(!status.rss_peak_bytes.why || status.rss_peak_bytes.value == 0);
    as_process_io_parse(&io, text);
    (void)as_process_run_delay_parse(&delay_ns, at);
    (void)as_process_anon_pages_parse(&delay_ns, at);
    while (as_process_next_child(&at, &pid))
        must(pid > 0 && at <= text + size);
    as_process_command_text(name, sizeof name, text, size);
    must(strlen(name) < sizeof name && !strpbrk(name, "\n\t\033"));
    as_free(text);
    return 0;
}
