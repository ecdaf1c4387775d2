/* cmd/common/cache_folder.c - where things are kept that can always be made again. */
#include "cmd/common/cache_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Accounts of services have a home that is not meant to be there, and is not made for them. */
static bool is_there(const char *home)
{
    struct stat st;

    return stat(home, &st) == 0 && S_ISDIR(st.st_mode);
}

bool as_cache_folder(char folder[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;

    if (cache && cache[0] == '/')
        n = snprintf(folder, PATH_MAX, "%s/assay", cache);
    else if (home && home[0] == '/' && is_there(home))
        n = snprintf(folder, PATH_MAX, "%s/.cache/assay", home);
    if (n > 0 && n < PATH_MAX)
        return true;
    folder[0] = '\0';
    return false;
}
