/* base/folder.h - makes a folder and what is missing above it.
 * A folder that is there already is fine; anything else of that name is not. */
#ifndef AS_BASE_FOLDER_H
#define AS_BASE_FOLDER_H

#include <sys/types.h>

#include "base/error.h"

/* `mode` is that of the folders made, before the umask. */
AS_MUST_USE int as_folder_make(const char *path, mode_t mode, struct assay_error *err);

#endif
