/* probe/process/process_descriptors.c - how many files a process has open. */
#include "probe/process/process_descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file/file_open.h"

int as_process_descriptors_open(const char *folder)
{
    return as_open(folder, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
}

bool as_process_descriptors_sized(void)
{
    struct stat st;

    return stat("/proc/self/fd", &st) == 0 && st.st_size > 0;
}

static bool count_entries(uint64_t *out, int fd)
{
    int again = as_open_at(fd, ".", O_RDONLY | O_DIRECTORY); /* from its beginning */
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *entry;
    uint64_t n = 0;

    if (!dir) {
        if (again >= 0)
            close(again);
        return false;
    }
    while (n < AS_DESCRIPTORS_MAX_COUNTED && (entry = readdir(dir)) != NULL)
        n += entry->d_name[0] != '.';
    closedir(dir);
    *out = n;
    return true;
}

bool as_process_descriptors_count(uint64_t *out, int fd, bool sized)
{
    struct stat st;

    if (!sized)
        return count_entries(out, fd);
    if (fstat(fd, &st) != 0 || st.st_size < 0)
        return false;
    *out = (uint64_t)st.st_size;
    return true;
}
