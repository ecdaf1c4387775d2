/* trace/record/memory_samples.c - samples of the process's own memory, taken by the recorder's
 * thread. Each goes to the file at once, as a block of a thread of its own: no ring, no lock but
 * the file's. */
#include "trace/record/recorder.h"

#include <assay/session.h>
#include <string.h>
#include <unistd.h>

#include "trace/record/event_code.h"

static struct {
    bool on;
    uint64_t interval_ns, due_ns, thread, sequence, random;
    uint32_t rss, anonymous; /* channels */
} samples;

static const char *take_number(const char *at, uint64_t *out)
{
    while (*at == ' ')
        at++;
    *out = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        *out = *out * 10 + (uint64_t)(*at - '0');
    return at;
}

/* "size resident shared ..." in pages. */
static bool read_pages(uint64_t *resident, uint64_t *shared)
{
    char text[128];
    const char *at = text;
    uint64_t size;

    if (!as_guest_read_proc(AS_GUEST_STATM, text, sizeof text))
        return false;
    at = take_number(at, &size);
    at = take_number(at, resident);
    take_number(at, shared);
    return *resident != 0;
}

static uint8_t *put_sample(struct as_event_coder *coder, uint64_t ticks, uint32_t channel,
                           uint64_t bytes, uint8_t *to)
{
    struct as_event sample = {ticks, channel, AS_RECORD_SAMPLE}, value = {0, 0, AS_RECORD_VALUE};
    double number = (double)bytes;

    memcpy(&value.time, &number, sizeof value.time);
    to = as_event_encode(coder, &sample, to);
    return as_event_encode(coder, &value, to);
}

static void write_sample(void)
{
    uint8_t block[3 * AS_VARINT_MAX + 8 + 4 * AS_EVENT_MAX_BYTES], *to = block;
    uint64_t ticks = as_clock_ticks(as_recorder.clock), page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct as_event_coder coder = {.time = ticks};
    uint64_t resident, shared;

    if (!read_pages(&resident, &shared))
        return;
    to = as_put_varint(to, samples.thread);
    to = as_put_varint(to, samples.sequence++);
    to = as_put_varint(to, 0);
    to = as_put_u64le(to, ticks);
    to = put_sample(&coder, ticks, samples.rss, resident * page, to);
    to = put_sample(&coder, ticks, samples.anonymous,
                    resident > shared ? (resident - shared) * page : 0, to);
    if (!as_recorder_write(AS_BLOCK_EVENTS, block, (size_t)(to - block), 4))
        atomic_fetch_add(&as_recorder.lost[AS_LOSS_WRITE], 4);
}

static void announce(void)
{
    uint8_t entry[3 * AS_VARINT_MAX + 1 + sizeof AS_MEMORY_THREAD], *to = entry;

    to = as_put_varint(to, samples.thread);
    to = as_put_varint(to, 0);
    to = as_put_varint(to, as_clock_ticks(as_recorder.clock));
    to = as_put_text(to, AS_MEMORY_THREAD, sizeof AS_MEMORY_THREAD - 1);
    as_recorder_write(AS_BLOCK_THREADS, entry, (size_t)(to - entry), 0);
}

void as_memory_samples_open(uint32_t interval_ms)
{
    samples.on = interval_ms != 0;
    if (!samples.on)
        return;
    samples.rss = assay_channel(AS_CHANNEL_RSS, "bytes");
    samples.anonymous = assay_channel(AS_CHANNEL_RSS_ANONYMOUS, "bytes");
    samples.interval_ns = (uint64_t)interval_ms * 1000000;
    samples.sequence = samples.due_ns = 0;
    samples.random = as_clock_mono_ns() | 1;
    samples.thread = as_recorder.n_threads++;
    announce();
}

/* Shifted by up to a tenth either way, so that it cannot run in step with the program. */
static uint64_t next_interval(void)
{
    uint64_t r = samples.random;

    r ^= r << 13;
    r ^= r >> 7;
    r ^= r << 17;
    samples.random = r;
    return samples.interval_ns * 9 / 10 + r % (samples.interval_ns / 5);
}

uint64_t as_memory_samples_take(uint64_t now_ns)
{
    if (!samples.on)
        return UINT64_MAX;
    if (now_ns >= samples.due_ns) {
        write_sample();
        samples.due_ns = now_ns + next_interval();
    }
    return samples.due_ns - now_ns;
}

void as_memory_samples_close(void)
{
    if (samples.on)
        write_sample();
    samples.on = false;
}

void as_memory_samples_forget(void)
{
    samples.on = false;
}
