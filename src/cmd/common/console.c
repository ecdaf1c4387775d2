/* cmd/common/console.c - where results go, and what the terminal there can do. */
#include "cmd/common/console.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "base/units.h"

/* The locale's name decides, without loading the locale: that takes longer than most commands. */
static bool locale_is_utf8(void)
{
    static const char *const variable[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < AS_COUNT_OF(variable); i++) {
        const char *value = getenv(variable[i]);

        if (value && value[0])
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

static unsigned window_columns(int fd)
{
    struct winsize size = {0};

    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

struct as_term as_console_term_of(const struct as_cmd_line *line, int fd)
{
    struct as_term_inputs in = {
        .is_tty = fd >= 0 && isatty(fd),
        .utf8_locale = locale_is_utf8(),
        .no_color = getenv("NO_COLOR"),
        .clicolor_force = getenv("CLICOLOR_FORCE"),
        .term = getenv("TERM"),
        .columns = getenv("COLUMNS"),
        .color = (enum as_color_choice)as_opt_word(line, "color", AS_COLOR_AUTO),
        .glyphs = (enum as_glyph_choice)as_opt_word(line, "glyphs", AS_GLYPHS_AUTO),
        .width = (unsigned)as_opt_number(line, "width", 0),
    };

    if (in.is_tty)
        in.window_columns = window_columns(fd);
    return as_term_from(&in);
}

struct as_term as_console_term(const struct as_cmd_line *line)
{
    return as_console_term_of(line, as_opt_given(line, "output") ? -1 : STDOUT_FILENO);
}

int as_console_open(struct as_console *console, const struct as_cmd_line *line,
                    struct assay_error *err)
{
    const char *path = as_opt_text(line, "output");

    console->path = path && strcmp(path, "-") != 0 ? path : NULL;
    console->line = line;
    console->term = as_console_term_of(line, console->path ? -1 : STDOUT_FILENO);
    if (console->path)
        return as_out_file(&console->out, console->path, err);
    return as_out_fd(&console->out, STDOUT_FILENO, "standard output", err);
}

int as_console_close(struct as_console *console, int rc, struct assay_error *err)
{
    int closed = ASSAY_OK;

    if (rc < 0)
        as_out_drop(&console->out);
    else
        closed = as_out_close(&console->out, err);
    if (rc >= 0 && closed == ASSAY_OK && console->path)
        as_console_note(console->line, "wrote %s", console->path);
    return closed < 0 ? closed : rc;
}

static void tell(const char *before, const char *text)
{
    struct as_out out;

    if (as_out_fd(&out, STDERR_FILENO, "standard error", NULL) < 0) {
        as_write_all(STDERR_FILENO, "assay: out of memory\n", 21);
        return;
    }
    as_out_text(&out, before);
    as_utf8_put_safe(&out, text, strlen(text));
    as_out_char(&out, '\n');
    if (as_out_close(&out, NULL) < 0)
        return; /* there is nowhere left to say so */
}

void as_console_note(const struct as_cmd_line *line, const char *fmt, ...)
{
    char text[512];
    va_list args;

    if (as_opt_given(line, "quiet"))
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tell("", text);
}

void as_console_fail(const char *msg)
{
    tell("assay: ", msg);
}
