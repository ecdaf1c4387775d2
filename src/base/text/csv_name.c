/* base/text/csv_name.c - a text from outside as a field of a CSV file.
 * Such files are looked at on terminals too: what one would obey is shown instead. */
#include "base/text/csv_name.h"

#include <string.h>

#include "base/arena.h"
#include "base/text/utf8.h"

static bool is_harmless(const char *text)
{
    while (*text >= 0x20 && *text < 0x7f)
        text++;
    return *text == '\0';
}

/* Text from outside: a CSV file is looked at on terminals too. NULL is an empty field. */
void as_csv_name(struct as_csv_writer *w, const char *text)
{
    struct as_arena scratch = {0};
    const char *safe;

    if (!text || is_harmless(text)) {
        as_csv_text(w, text);
        return;
    }
    safe = as_utf8_safe(&scratch, text, strlen(text));
    w->out->nomem |= !safe;
    as_csv_text(w, safe);
    as_arena_fini(&scratch);
}
