/* format/model_sniff.c - what a file that is no model probably is, by its first bytes.
 * The most common wrong file is a mistake: a page saved under a model's name. */
#include "format/model_file.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/units.h"

enum { HEAD = 4096 }; /* bytes that are looked at */

#define MAGIC(text) (text), sizeof(text) - 1

static const struct {
    const char *magic;
    size_t size;
    const char *what;
} magics[] = {
    {MAGIC("\x89PNG\r\n\x1a\n"), "a PNG image"},
    {MAGIC("\xff\xd8\xff"), "a JPEG image"},
    {MAGIC("GIF87a"), "a GIF image"},
    {MAGIC("GIF89a"), "a GIF image"},
    {MAGIC("PK\x03\x04"), "a ZIP archive: perhaps a PyTorch checkpoint"},
    {MAGIC("PK\x05\x06"), "an empty ZIP archive"},
    {MAGIC("\x1f\x8b"), "a gzip archive: unpack it first"},
    {MAGIC("\xfd"
           "7zXZ"),
     "an xz archive: unpack it first"},
    {MAGIC("\x28\xb5\x2f\xfd"), "a zstd archive: unpack it first"},
    {MAGIC("BZh"), "a bzip2 archive: unpack it first"},
    {MAGIC("\x7f"
           "ELF"),
     "a program or library (ELF)"},
    {MAGIC("%PDF-"), "a PDF document"},
    {MAGIC("\x89HDF\r\n\x1a\n"), "an HDF5 file: perhaps a Keras model, to be exported to ONNX"},
    {MAGIC("\x80\x02"), "a Python pickle: perhaps an old PyTorch checkpoint"},
    {MAGIC("\x80\x03"), "a Python pickle"},
    {MAGIC("\x80\x04"), "a Python pickle"},
    {MAGIC("\x80\x05"), "a Python pickle"},
    {MAGIC("version https://git-lfs.github.com/"),
     "a Git LFS pointer, not the model: fetch it with git lfs pull"},
    {MAGIC("<?xml"), "an XML file"},
    {MAGIC("\x93NUMPY"), "a NumPy array"},
};

/* `word` at the start, whatever the case of its letters. */
static bool begins(const uint8_t *bytes, uint64_t size, const char *word)
{
    size_t i = 0;

    for (; word[i]; i++)
        if (i >= size || tolower(bytes[i]) != word[i])
            return false;
    return true;
}

static bool is_text(const uint8_t *bytes, uint64_t size)
{
    size_t end = (size_t)(size < HEAD ? size : HEAD);

    for (size_t i = 0; i < end; i++)
        if ((bytes[i] < 0x20 && !isspace(bytes[i])) || bytes[i] == 0x7f)
            return false;
    /* A character may be cut at the end of what is looked at. */
    for (int cut = 0; cut < 4 && end > 0; cut++, end--)
        if (as_utf8_valid((const char *)bytes, end))
            return true;
    return end == 0;
}

static const char *text_kind(const uint8_t *bytes, uint64_t size)
{
    uint64_t at = 0;

    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    while (at < size && at < HEAD && isspace(bytes[at]))
        at++;
    if (begins(bytes + at, size - at, "<!doctype html") || begins(bytes + at, size - at, "<html") ||
        begins(bytes + at, size - at, "<head"))
        return "an HTML page";
    if (begins(bytes + at, size - at, "<?xml"))
        return "an XML file";
    if (!is_text(bytes, size))
        return NULL;
    if (begins(bytes + at, size - at, "{") || begins(bytes + at, size - at, "["))
        return "a JSON file";
    return "a text file";
}

/* A long file of zeros is judged by its start, middle and end. */
static bool is_zeros(const uint8_t *bytes, uint64_t size)
{
    uint64_t starts[3] = {0, size / 2, size > HEAD ? size - HEAD : 0};

    for (int i = 0; i < 3; i++)
        for (uint64_t k = starts[i]; k < size && k < starts[i] + HEAD; k++)
            if (bytes[k] != 0)
                return false;
    return true;
}

const char *as_model_sniff(const uint8_t *bytes, uint64_t size)
{
    for (size_t i = 0; i < AS_COUNT_OF(magics); i++)
        if (size >= magics[i].size && memcmp(bytes, magics[i].magic, magics[i].size) == 0)
            return magics[i].what;
    if (is_zeros(bytes, size))
        return "nothing but zeros: perhaps a download that did not finish";
    return text_kind(bytes, size);
}
