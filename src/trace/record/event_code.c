/* trace/record/event_code.c - events packed for the file: about four bytes each instead of sixteen.
 * A decoder never reads past its cursor and refuses what an encoder would not have written. */
#include "trace/record/event_code.h"

#include "trace/run/run_format.h"

_Static_assert(AS_RECORD_COUNT <= 32, "a kind has five bits in a file");

uint8_t *as_event_encode(struct as_event_coder *coder, const struct as_event *event, uint8_t *to)
{
    uint8_t *control = to++;
    unsigned form = event->site == 0 ? 0u : event->site == coder->site ? 1u : 2u;

    *control = (uint8_t)(event->kind | form << 5);
    if (form == 2) {
        to = as_put_varint(to, event->site);
        coder->site = event->site;
    }
    if (as_event_has_bits(event->kind))
        return as_put_u64le(to, event->time);
    if (!as_kind_is_timed(event->kind))
        return as_put_varint(to, event->time);
    if (event->time < coder->time) {
        *control |= 0x80;
        to = as_put_varint(to, coder->time - event->time);
    } else {
        to = as_put_varint(to, event->time - coder->time);
    }
    coder->time = event->time;
    return to;
}
