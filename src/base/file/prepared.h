/* base/file/prepared.h - outputs that are opened while the process still may make files. Afterwards
 * as_new_file_open() gives them out under their paths, and another process, which kept the right,
 * puts them in place: it can do nothing else with them, whatever becomes of this one. */
#ifndef AS_BASE_FILE_PREPARED_H
#define AS_BASE_FILE_PREPARED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/file/new_file.h"

/* Opens what is to stand at `path`. False when that cannot be done now, or need not: a device, a
 * pipe. It is then opened when it is written, and that says why not. */
bool as_prepared_add(const char *path);

/* How many there are. */
size_t as_prepared_count(void);

/* From now on they are given out, and `ask` has the i-th published. */
void as_prepared_use(int (*ask)(size_t i, struct assay_error *err));

/* What `ask` leads to, in the process that kept the right. */
AS_MUST_USE int as_prepared_publish(size_t i, struct assay_error *err);

/* There, at the end: drops what was not published. */
void as_prepared_drop(void);

/* For new_file.c. The one of that path, once; false: there is none. */
bool as_prepared_take(struct as_new_file *file, const char *path);
AS_MUST_USE int as_prepared_ask(size_t i, struct assay_error *err);

#endif
