/* cmd/help/explain_words.h - what the words on assay's pages mean: terms, columns and the rules
 * behind recommendations. */
#ifndef AS_CMD_HELP_EXPLAIN_WORDS_H
#define AS_CMD_HELP_EXPLAIN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct as_explained {
    const char *word, *kind, *meaning; /* kind: "term", "column" or "rule" */
    const char *also;                  /* other names, separated by |; NULL: none */
    const char *group;                 /* of terms; else NULL */
};

/* The i-th; NULL after the last. `space` is used for those that are made on the way. */
const struct as_explained *as_explained_at(size_t i, struct as_explained *space);

/* The i-th term, in the order of their groups; NULL after the last. */
const struct as_explained *as_glossary_at(size_t i, struct as_explained *space);

/* Whether that word, or another name of it, is asked for: letter case, blanks, hyphens and
 * underscores do not matter. */
bool as_explains(const struct as_explained *e, const char *asked);

/* Whether anything explains it. */
bool as_is_explained(const char *asked);

#endif
