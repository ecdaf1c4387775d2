/* tests/unit/study_kit.h - what tests of pages ask of each of them. */
#ifndef AS_TESTS_STUDY_KIT_H
#define AS_TESTS_STUDY_KIT_H

#include "unit.h"

#include <stdio.h>

#include "base/text/utf8.h"
#include "probe/system/topology.h"

static inline void kit_expect_width(const char *text, unsigned width)
{
    for (const char *line = text; *line;) {
        size_t size = strcspn(line, "\n");

        if (as_utf8_width(line, size) > width)
            fail_msg("longer than %u: %.*s", width, (int)size, line);
        line += size + (line[size] == '\n');
    }
}

/* `text` has the key, followed by anything but null when `wanted`. */
static inline void kit_expect_key(const char *text, const char *key, bool wanted)
{
    char quoted[80];
    const char *at;

    assert_true(snprintf(quoted, sizeof quoted, "\"%s\": ", key) > 0);
    at = strstr(text, quoted);
    if (!at || (wanted && strncmp(at + strlen(quoted), "null", 4) == 0))
        fail_msg("%s is missing", key);
}

static inline struct as_topology kit_topology(void)
{
    return (struct as_topology){
        .cpu.model = "A processor \x1b[31m of \xff bytes", .n_cores = 2, .n_usable = 2};
}

#endif
