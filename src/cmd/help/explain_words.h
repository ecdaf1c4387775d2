/* cmd/help/explain_words.h - what the words on assay's pages mean: terms, columns and the rules
 * behind recommendations. */
#ifndef AS_CMD_HELP_EXPLAIN_WORDS_H
#define AS_CMD_HELP_EXPLAIN_WORDS_H

#include <stddef.h>

struct as_explained {
    const char *word, *kind, *meaning; /* kind: "term", "column" or "rule" */
};

/* The i-th; NULL after the last. `space` is used for those that are made on the way. */
const struct as_explained *as_explained_at(size_t i, struct as_explained *space);

#endif
