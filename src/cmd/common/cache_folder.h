/* cmd/common/cache_folder.h - where things are kept that can always be made again. */
#ifndef AS_CMD_COMMON_CACHE_FOLDER_H
#define AS_CMD_COMMON_CACHE_FOLDER_H

#include <limits.h>
#include <stdbool.h>

/* XDG_CACHE_HOME/assay, or HOME/.cache/assay when HOME is there; false and "" otherwise. Nothing is
 * made. */
bool as_cache_folder(char folder[PATH_MAX]);

#endif
