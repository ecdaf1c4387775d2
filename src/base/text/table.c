/* base/text/table.c - one table, printed for a terminal or as Markdown from the same cells. */
#include "base/text/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/name_fit.h"
#include "base/text/utf8.h"

#define AS_TABLE_GAP        2                 /* blanks between two columns */
#define AS_TABLE_BAR_WIDTH  10                /* of a bar whose column states no width */
#define AS_TABLE_LEAST      8                 /* a shrinkable column that states no least width */
#define AS_TABLE_MOST       AS_TERM_WIDTH_MAX /* a single hostile name shall not pad every row */
#define AS_TABLE_MARK_WIDTH 60                /* Markdown is padded to this at most */
#define AS_TABLE_NAME       28                /* columns a name gets before optional columns do */
#define AS_TABLE_MIN_PREFIX 4                 /* a shorter common prefix stays */

/* Text is kept as the terminal may show it, so both forms say the same. */
struct as_table_cell {
    const char *text; /* NULL: a bar, or empty when the share is 0 */
    size_t size, width;
    double share;
    enum as_style style;
};

struct as_table_row {
    struct as_table_row *next;
    struct as_table_cell *cells; /* NULL: a rule */
};

struct layout {
    size_t width[AS_TABLE_MAX_COLUMNS];
    size_t least[AS_TABLE_MAX_COLUMNS]; /* of columns that shrink; equal to the width of others */
    bool shown[AS_TABLE_MAX_COLUMNS];
    int n_dropped;
};

static void set_text(struct as_table *t, struct as_table_cell *cell, const char *text, size_t size)
{
    cell->text = as_utf8_safe(&t->arena, text, size);
    if (!cell->text) {
        t->nomem = true;
        return;
    }
    cell->size = strlen(cell->text);
    cell->width = as_utf8_width(cell->text, cell->size);
}

void as_table_init(struct as_table *t, const struct as_table_column *columns, size_t n_columns)
{
    assert(n_columns > 0 && n_columns <= AS_TABLE_MAX_COLUMNS);
    *t = (struct as_table){
        .columns = columns,
        .n_columns = n_columns < AS_TABLE_MAX_COLUMNS ? n_columns : AS_TABLE_MAX_COLUMNS,
    };
    t->titles = as_arena_zero(&t->arena, t->n_columns, sizeof *t->titles);
    t->nomem = !t->titles;
    for (size_t c = 0; c < t->n_columns && !t->nomem; c++) {
        const char *title = columns[c].title ? columns[c].title : "";

        t->titles[c].style = AS_STYLE_HEADING;
        set_text(t, &t->titles[c], title, strlen(title));
    }
}

void as_table_fini(struct as_table *t)
{
    as_arena_fini(&t->arena);
    *t = (struct as_table){.nomem = t->nomem};
}

static void add_row(struct as_table *t, bool is_rule)
{
    struct as_table_row *row = as_arena_zero(&t->arena, 1, sizeof *row);

    if (row && !is_rule)
        row->cells = as_arena_zero(&t->arena, t->n_columns, sizeof *row->cells);
    if (!row || (!is_rule && !row->cells)) {
        t->nomem = true;
        return;
    }
    if (t->last)
        t->last->next = row;
    else
        t->first = row;
    t->last = row;
    t->n_rows += !is_rule;
    t->n_cells_in_row = is_rule ? t->n_columns : 0;
}

void as_table_row(struct as_table *t)
{
    add_row(t, false);
}

void as_table_rule(struct as_table *t)
{
    add_row(t, true);
}

/* The next cell of the row, or NULL when there is no room for one. */
static struct as_table_cell *add_cell(struct as_table *t, enum as_style style)
{
    struct as_table_cell *cell;

    if (t->nomem)
        return NULL;
    assert(t->last && t->last->cells && t->n_cells_in_row < t->n_columns);
    if (!t->last || !t->last->cells || t->n_cells_in_row >= t->n_columns)
        return NULL;
    cell = &t->last->cells[t->n_cells_in_row];
    cell->style = style == AS_STYLE_NONE ? t->columns[t->n_cells_in_row].style : style;
    t->n_cells_in_row++;
    return cell;
}

void as_table_text_n(struct as_table *t, enum as_style style, const char *text, size_t size)
{
    struct as_table_cell *cell = add_cell(t, style);

    if (cell)
        set_text(t, cell, text, size);
}

void as_table_text(struct as_table *t, enum as_style style, const char *text)
{
    as_table_text_n(t, style, text, strlen(text));
}

void as_table_printf(struct as_table *t, enum as_style style, const char *fmt, ...)
{
    char *text;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    text = n < 0 ? NULL : as_arena_alloc(&t->arena, (size_t)n + 1);
    if (!text) {
        t->nomem = true;
        return;
    }
    va_start(args, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    as_table_text_n(t, style, text, (size_t)n);
}

void as_table_bar(struct as_table *t, enum as_style style, double share)
{
    struct as_table_cell *cell = add_cell(t, style);

    if (cell) {
        cell->share = share;
        cell->width = t->columns[cell - t->last->cells].min_width;
        if (cell->width == 0)
            cell->width = AS_TABLE_BAR_WIDTH;
    }
}

void as_table_empty(struct as_table *t)
{
    (void)add_cell(t, AS_STYLE_NONE);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The width a column would like. */
static size_t natural_width(const struct as_table *t, size_t c)
{
    const struct as_table_column *column = &t->columns[c];
    size_t width = larger(column->min_width, t->titles[c].width);

    for (const struct as_table_row *row = t->first; row; row = row->next) {
        if (row->cells)
            width = larger(width, row->cells[c].width);
    }
    return smaller(width, column->max_width ? column->max_width : AS_TABLE_MOST);
}

static bool shrinks(const struct as_table_column *column)
{
    return column->may_shrink || column->identity;
}

/* Names of a column, rows below a rule (totals) left out; NULL without memory. */
static const char **list_names(struct as_table *t, size_t c, size_t *n)
{
    const char **names = as_arena_zero(&t->arena, t->n_rows + 1, sizeof *names);

    *n = 0;
    for (const struct as_table_row *row = t->first; names && row && row->cells; row = row->next)
        if (row->cells[c].text)
            names[(*n)++] = row->cells[c].text;
    return names;
}

/* The least width a column can be given. */
static size_t least_width(struct as_table *t, size_t c, size_t natural, const char *ellipsis)
{
    const struct as_table_column *column = &t->columns[c];
    size_t floor = smaller(natural, column->min_width ? column->min_width : AS_TABLE_LEAST);
    const char **names;
    size_t n;

    if (!shrinks(column))
        return natural;
    if (!column->identity)
        return floor;
    names = list_names(t, c, &n);
    if (!names)
        return floor;
    return larger(as_name_least_width(names, n, floor, natural, ellipsis),
                  smaller(natural, AS_TABLE_NAME));
}

/* Columns of the whole line when no shrinkable column is wider than `cap`. */
static size_t line_width(const struct as_table *t, const struct layout *lay, size_t cap)
{
    size_t total = 0;

    for (size_t c = 0; c < t->n_columns; c++) {
        size_t width = lay->width[c];

        if (!lay->shown[c] || width == 0)
            continue;
        if (shrinks(&t->columns[c]))
            width = smaller(width, larger(cap, lay->least[c]));
        total += width + (total > 0 ? AS_TABLE_GAP : 0);
    }
    return total;
}

/* The widest columns give way first: the greatest cap that fits, and what is left over goes to the
 * first columns. */
static void shrink(const struct as_table *t, struct layout *lay, size_t width)
{
    size_t low = 0, high = AS_TABLE_MOST, used, left;

    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;

        if (line_width(t, lay, middle) <= width)
            low = middle;
        else
            high = middle - 1;
    }
    used = line_width(t, lay, low);
    left = width > used ? width - used : 0;
    for (size_t c = 0; c < t->n_columns; c++) {
        size_t natural = lay->width[c];

        if (!lay->shown[c] || !shrinks(&t->columns[c]))
            continue;
        lay->width[c] = smaller(natural, larger(low, lay->least[c]));
        if (left > 0 && lay->width[c] < natural) {
            lay->width[c]++;
            left--;
        }
    }
}

/* Hides the column that matters least, the last of several; false when all must stay. */
static bool drop_one(const struct as_table *t, struct layout *lay)
{
    size_t victim = t->n_columns;
    unsigned highest = 1;

    for (size_t c = 0; c < t->n_columns; c++) {
        if (lay->shown[c] && t->columns[c].drop >= highest) {
            highest = t->columns[c].drop;
            victim = c;
        }
    }
    if (victim == t->n_columns)
        return false;
    lay->shown[victim] = false;
    lay->n_dropped++;
    return true;
}

static void lay_out(struct as_table *t, struct layout *lay, const struct as_term *term)
{
    const char *ellipsis = as_term_glyph(term, AS_GLYPH_ELLIPSIS);

    *lay = (struct layout){.n_dropped = 0};
    for (size_t c = 0; c < t->n_columns; c++) {
        lay->width[c] = natural_width(t, c);
        lay->least[c] = least_width(t, c, lay->width[c], ellipsis);
        lay->shown[c] = true;
    }
    while (line_width(t, lay, 0) > term->width && drop_one(t, lay))
        continue;
    if (line_width(t, lay, 0) > term->width) /* nothing else can go: now names may be cut */
        for (size_t c = 0; c < t->n_columns; c++)
            if (t->columns[c].identity)
                lay->least[c] =
                    smaller(lay->width[c], larger(t->columns[c].min_width, AS_TABLE_LEAST));
    shrink(t, lay, term->width);
}

/* Of names that list all parts of a fused layer the last part stays, indented as it was; false when
 * there are none. */
static bool make_brief(struct as_table *t, size_t c)
{
    const char **names, **brief;
    size_t n, i = 0;
    bool shorter = false;

    names = list_names(t, c, &n);
    brief = as_arena_zero(&t->arena, n + 1, sizeof *brief);
    t->nomem |= !names || !brief || as_names_brief(names, n, brief) < 0;
    for (const struct as_table_row *row = t->first; !t->nomem && row && row->cells;
         row = row->next) {
        struct as_table_cell *cell = &row->cells[c];
        const char *text = cell->text ? brief[i] : NULL;
        size_t indent = text ? strspn(cell->text, " ") : 0;
        size_t size = text ? strlen(text) : 0;
        char *line;

        i += text != NULL;
        if (!text || text == cell->text)
            continue;
        line = as_arena_alloc(&t->arena, indent + size + 1);
        t->nomem |= !line;
        if (!line)
            return false;
        memset(line, ' ', indent);
        memcpy(line + indent, text, size);
        line[indent + size] = '\0';
        set_text(t, cell, line, indent + size);
        shorter = true;
    }
    return shorter;
}

/* Takes the prefix that all names of the column share off them; false when there is none. */
static bool strip_prefix(struct as_table *t, size_t c)
{
    size_t n, size;
    const char **names = list_names(t, c, &n);
    char *prefix;

    size = names ? as_name_common_prefix(names, n) : 0;
    prefix = size >= AS_TABLE_MIN_PREFIX ? as_arena_alloc(&t->arena, size + 1) : NULL;
    if (!prefix)
        return false;
    memcpy(prefix, names[0], size);
    prefix[size] = '\0';
    for (struct as_table_row *row = t->first; row && row->cells; row = row->next)
        if (row->cells[c].text)
            set_text(t, &row->cells[c], row->cells[c].text + size,
                     strlen(row->cells[c].text + size));
    t->prefix = prefix;
    return true;
}

/* Lays out; of names that do not fit, once more with their last part alone, and without their
 * prefix. */
static void lay_out_names(struct as_table *t, struct layout *lay, const struct as_term *term)
{
    lay_out(t, lay, term);
    for (size_t c = 0; c < t->n_columns; c++) {
        if (!t->columns[c].identity || lay->width[c] >= natural_width(t, c))
            continue;
        if (make_brief(t, c))
            lay_out(t, lay, term);
        if (lay->width[c] < natural_width(t, c) && strip_prefix(t, c))
            lay_out(t, lay, term);
        return;
    }
}

/* Shortens names that are wider than their column. */
static void fit_names(struct as_table *t, const struct layout *lay, const struct as_term *term)
{
    const char *ellipsis = as_term_glyph(term, AS_GLYPH_ELLIPSIS);

    for (size_t c = 0; c < t->n_columns; c++) {
        if (!t->columns[c].identity)
            continue;
        for (struct as_table_row *row = t->first; row; row = row->next) {
            struct as_table_cell *cell = row->cells ? &row->cells[c] : NULL;

            if (!cell || !cell->text || cell->width <= lay->width[c])
                continue;
            cell->text = as_name_fit(&t->arena, cell->text, lay->width[c], ellipsis);
            t->nomem |= !cell->text;
            cell->size = cell->text ? strlen(cell->text) : 0;
            cell->width = cell->text ? as_utf8_width(cell->text, cell->size) : 0;
        }
    }
}

/* Where printing stands in a line. Blanks wait until something follows them, so no line ends with
 * one. */
struct line {
    struct as_out *out;
    const struct as_term *term;
    size_t blanks;
};

static void put_blanks(struct as_out *out, size_t n)
{
    while (n-- > 0)
        as_out_char(out, ' ');
}

static void begin_styled(struct line *line, enum as_style style)
{
    put_blanks(line->out, line->blanks);
    line->blanks = 0;
    as_out_text(line->out, as_term_style(line->term, style));
}

static void put_text(struct line *line, const struct as_table_cell *cell, size_t width,
                     enum as_align align)
{
    const char *ellipsis = as_term_glyph(line->term, AS_GLYPH_ELLIPSIS);
    struct as_utf8_cut cut =
        as_utf8_cut(cell->text, cell->size, width, as_utf8_width(ellipsis, strlen(ellipsis)));
    size_t pad = width - cut.width;

    if (align == AS_ALIGN_RIGHT)
        line->blanks += pad;
    if (cut.width > 0) {
        begin_styled(line, cell->style);
        as_out_put(line->out, cell->text, cut.head);
        if (cut.head < cut.tail)
            as_out_text(line->out, ellipsis);
        as_out_put(line->out, cell->text + cut.tail, cell->size - cut.tail);
        as_out_text(line->out, as_term_style_end(line->term, cell->style));
    }
    if (align != AS_ALIGN_RIGHT)
        line->blanks += pad;
}

static void put_cell(struct line *line, const struct as_table_cell *cell, size_t width,
                     enum as_align align)
{
    unsigned used = 0;

    if (cell->text) {
        put_text(line, cell, width, align);
        return;
    }
    if (cell->share > 0) {
        begin_styled(line, cell->style);
        used =
            as_term_bar(line->term, line->out, cell->share, (unsigned)smaller(cell->width, width));
        as_out_text(line->out, as_term_style_end(line->term, cell->style));
    }
    line->blanks += width - used;
}

static void print_rule(const struct as_table *t, const struct layout *lay, struct line *line)
{
    bool first = true;

    for (size_t c = 0; c < t->n_columns; c++) {
        if (!lay->shown[c] || lay->width[c] == 0)
            continue;
        line->blanks += first ? 0 : AS_TABLE_GAP;
        begin_styled(line, AS_STYLE_DIM);
        for (size_t i = 0; i < lay->width[c]; i++)
            as_out_text(line->out, as_term_glyph(line->term, AS_GLYPH_DASH));
        as_out_text(line->out, as_term_style_end(line->term, AS_STYLE_DIM));
        first = false;
    }
    line->blanks = 0;
    as_out_char(line->out, '\n');
}

static void print_cells(const struct as_table *t, const struct layout *lay,
                        const struct as_table_cell *cells, struct line *line)
{
    bool first = true;

    for (size_t c = 0; c < t->n_columns; c++) {
        if (!lay->shown[c] || lay->width[c] == 0)
            continue;
        line->blanks += first ? 0 : AS_TABLE_GAP;
        put_cell(line, &cells[c], lay->width[c], t->columns[c].align);
        first = false;
    }
    line->blanks = 0;
    as_out_char(line->out, '\n');
}

static bool has_titles(const struct as_table *t)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        if (t->titles[c].size > 0)
            return true;
    }
    return false;
}

int as_table_print(struct as_table *t, struct as_out *out, const struct as_term *term,
                   struct assay_error *err)
{
    struct line line = {out, term, 0};
    struct layout lay;

    if (t->nomem)
        return as_fail_nomem(err);
    lay_out_names(t, &lay, term);
    fit_names(t, &lay, term);
    if (t->nomem)
        return as_fail_nomem(err);
    if (has_titles(t)) {
        print_cells(t, &lay, t->titles, &line);
        print_rule(t, &lay, &line);
    }
    for (const struct as_table_row *row = t->first; row; row = row->next) {
        if (row->cells)
            print_cells(t, &lay, row->cells, &line);
        else
            print_rule(t, &lay, &line);
    }
    return lay.n_dropped;
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

/* What stands for byte `i` of `text` in Markdown, or NULL for the byte itself. */
static const char *markdown_escape(const char *text, size_t size, size_t i)
{
    static const char *const escape[128] = {
        ['\\'] = "\\\\", ['`'] = "\\`",  ['*'] = "\\*",   ['['] = "\\[",
        [']'] = "\\]",   ['|'] = "\\|",  ['~'] = "\\~",   ['$'] = "\\$",
        ['<'] = "&lt;",  ['>'] = "&gt;", ['&'] = "&amp;",
    };
    unsigned char c = (unsigned char)text[i];

    /* Inside a word an underscore is plain, and names are full of them. */
    if (c == '_' && (i == 0 || i + 1 == size || !is_word(text[i - 1]) || !is_word(text[i + 1])))
        return "\\_";
    return c < 128 ? escape[c] : NULL;
}

/* Columns of a cell in Markdown; it is written when there is an `out`. */
static size_t put_markdown(struct as_out *out, const struct as_table_cell *cell)
{
    const struct as_term unicode = {.unicode = true};
    size_t width = cell->text ? as_utf8_width(cell->text, cell->size) : cell->width;

    if (!cell->text)
        return out ? as_term_bar(&unicode, out, cell->share, (unsigned)cell->width) : width;
    for (size_t i = 0; i < cell->size; i++) {
        const char *escape = markdown_escape(cell->text, cell->size, i);

        if (escape)
            width += strlen(escape) - 1;
        if (out && escape)
            as_out_text(out, escape);
        else if (out)
            as_out_char(out, cell->text[i]);
    }
    return width;
}

static void markdown_row(const struct as_table *t, const struct as_table_cell *cells,
                         const size_t *widths, struct as_out *out)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        size_t width = cells[c].text ? put_markdown(NULL, &cells[c]) : 0;
        size_t pad = widths[c] > width ? widths[c] - width : 0;
        bool right = t->columns[c].align == AS_ALIGN_RIGHT;

        as_out_text(out, c ? " " : "| ");
        put_blanks(out, right && cells[c].text ? pad : 0);
        width = put_markdown(out, &cells[c]);
        pad = cells[c].text ? pad : widths[c] - smaller(width, widths[c]);
        put_blanks(out, right && cells[c].text ? 0 : pad);
        as_out_text(out, " |");
    }
    as_out_char(out, '\n');
}

static void markdown_line(const struct as_table *t, const size_t *widths, struct as_out *out)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        bool right = t->columns[c].align == AS_ALIGN_RIGHT;

        as_out_text(out, c ? " " : "| ");
        as_out_char(out, right ? '-' : ':');
        for (size_t i = 2; i < widths[c]; i++)
            as_out_char(out, '-');
        as_out_text(out, right ? ": |" : "- |");
    }
    as_out_char(out, '\n');
}

int as_table_markdown(const struct as_table *t, struct as_out *out, struct assay_error *err)
{
    size_t widths[AS_TABLE_MAX_COLUMNS];

    if (t->nomem)
        return as_fail_nomem(err);
    for (size_t c = 0; c < t->n_columns; c++) {
        widths[c] = larger(3, put_markdown(NULL, &t->titles[c]));
        for (const struct as_table_row *row = t->first; row; row = row->next) {
            if (row->cells)
                widths[c] = larger(widths[c], put_markdown(NULL, &row->cells[c]));
        }
        widths[c] = smaller(widths[c], AS_TABLE_MARK_WIDTH);
    }
    markdown_row(t, t->titles, widths, out);
    markdown_line(t, widths, out);
    for (const struct as_table_row *row = t->first; row; row = row->next) {
        if (row->cells)
            markdown_row(t, row->cells, widths, out);
    }
    return ASSAY_OK;
}
