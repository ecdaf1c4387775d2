/* trace/record/memory_samples.h - samples of the process's own memory, taken by the recorder's
 * thread. Each goes to the file at once, as a block of a thread of its own: no ring, no lock but
 * the file's. */
#ifndef AS_TRACE_RECORD_MEMORY_SAMPLES_H
#define AS_TRACE_RECORD_MEMORY_SAMPLES_H

#include <stdint.h>

/* The channels: resident bytes, and those of them that no file backs. */
#define AS_CHANNEL_RSS           "rss"
#define AS_CHANNEL_RSS_ANONYMOUS "rss_anonymous"

#define AS_MEMORY_THREAD "assay-memory" /* the name their thread has in a run; its tid is 0 */

/* Before the recorder's thread starts; the session's lock is held. An interval of 0 takes none. */
void as_memory_samples_open(uint32_t interval_ms);

/* Takes one when it is due. Returns the nanoseconds until the next; UINT64_MAX: never. */
uint64_t as_memory_samples_take(uint64_t now_ns);

/* After the thread ended: the last sample, so that even a short run has two. */
void as_memory_samples_close(void);

/* In a forked child: the parent's are not its own. */
void as_memory_samples_forget(void);

#endif
