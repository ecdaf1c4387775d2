/* cmd/common/operand_hint.c - what to type instead, when an operand is a file of another kind. */
#include "cmd/common/operand_hint.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file/file_open.h"
#include "base/file/file_read.h"
#include "base/text/text.h"
#include "base/units.h"
#include "format/model_file.h"
#include "model/zoo/zoo.h"
#include "trace/run/run_format.h"

static const struct as_zoo_entry *find_zoo(const char *name)
{
    const struct as_zoo_entry *entry;
    size_t size = strcspn(name, ":");

    for (size_t i = 0; (entry = as_zoo_at(i)) != NULL; i++)
        if (strlen(entry->name) == size && memcmp(entry->name, name, size) == 0)
            break;
    return entry;
}

/* The built-in model whose name is most like `name`; NULL: none is. */
static const char *nearest_zoo(const char *name)
{
    const char *names[64];
    size_t n = 0;

    while (n < AS_COUNT_OF(names) && as_zoo_at(n)) {
        names[n] = as_zoo_at(n)->name;
        n++;
    }
    return as_text_nearest(name, names, n);
}

/* A JSON document that assay printed: it says so near its beginning. */
static bool is_document(const char *path)
{
    char head[257] = "";
    int fd = as_open(path, O_RDONLY | O_NONBLOCK);

    if (fd < 0)
        return false;
    if (as_read_some(fd, head, sizeof head - 1) < 0)
        head[0] = '\0';
    close(fd);
    return head[0] == '{' && strstr(head, "\"assay.");
}

static bool is_run(const char *path)
{
    char magic[sizeof AS_RUN_MAGIC - 1];
    int fd = as_open(path, O_RDONLY | O_NONBLOCK);
    bool same;

    if (fd < 0)
        return false;
    same = as_read_some(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
           memcmp(magic, AS_RUN_MAGIC, sizeof magic) == 0;
    close(fd);
    return same;
}

/* A hint with a name in it; one that does not fit whole is left out. */
AS_PRINTF(2, 3) static void add(struct assay_error *err, const char *fmt, ...)
{
    char hint[160];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(hint, sizeof hint, fmt, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof hint)
        as_error_add(err, hint);
}

void as_operand_hint(const struct as_cmd_line *line, struct assay_error *err)
{
    enum as_operand_kind kind = line->cmd->operand_kind;
    const char *path = line->n_operands ? line->operand[0] : NULL;
    const char *what;

    if (!path || kind == AS_OPERAND_OTHER || err->code == ASSAY_ERR_USAGE)
        return;
    if (access(path, F_OK) != 0) {
        if (kind == AS_OPERAND_MODEL && find_zoo(path))
            add(err, "; the built-in model is zoo:%s", path);
        else if (kind == AS_OPERAND_MODEL && nearest_zoo(path))
            add(err, "; did you mean the built-in model zoo:%s?", nearest_zoo(path));
    } else if (kind == AS_OPERAND_MODEL) {
        if (is_run(path))
            add(err, "; it is a run: assay report %s", path);
        else if (is_document(path))
            add(err, "; it is a document of assay: assay report %s", path);
    } else if (!is_run(path) && (what = as_model_file_kind(path)) != NULL) {
        add(err, "; it is a model (%s): assay inspect %s", what, path);
    }
}
