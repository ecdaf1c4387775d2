/* report/graph/graph_dot.c - the picture of a graph for Graphviz. */
#include "report/graph/graph_picture.h"

#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"

/* Between quotes: made safe, then what would end them or begin an escape is escaped. */
static void put_text(struct as_out *out, const char *text)
{
    size_t size = strlen(text), n;
    const char *piece;
    char escaped[12];

    for (size_t at = 0; at < size;) {
        at += as_utf8_next_safe(text + at, size - at, escaped, &piece, &n);
        for (size_t i = 0; i < n; i++) {
            if (piece[i] == '"' || piece[i] == '\\')
                as_out_char(out, '\\');
            as_out_char(out, piece[i]);
        }
    }
}

static void put_box(const struct as_picture *p, size_t i, struct as_out *out)
{
    const struct as_picture_box *box = &p->boxes[i];
    char color[8], text[64];

    as_picture_color(p, box, color);
    as_picture_text(box, text);
    as_out_printf(out, "  b%zu [fillcolor=\"%s\", label=\"", i, color);
    put_text(out, box->ops);
    as_out_text(out, "\\n");
    put_text(out, box->name);
    as_out_printf(out, "\\n%s\"];\n", text);
}

void as_picture_dot(const struct as_picture *p, struct as_out *out)
{
    as_out_text(out, "digraph model {\n  label=\"");
    put_text(out, p->title);
    if (p->n_left_out)
        as_out_printf(out, "\\nthe last %zu boxes are omitted", p->n_left_out);
    as_out_text(out, "\";\n  node [shape=box, style=\"filled,rounded\", fontname=\"sans-serif\", "
                     "fontsize=11];\n  edge [color=\"#777777\"];\n");
    for (size_t i = 0; i < p->n_boxes; i++)
        put_box(p, i, out);
    for (size_t i = 0; i < p->n_blocks; i++) {
        const struct as_picture_block *b = &p->blocks[i];
        char text[80];

        as_picture_block_text(b, text);
        as_out_printf(out, "  subgraph cluster_%zu {\n    label=\"%s\"; style=dashed;\n", i, text);
        for (size_t k = 0; k < b->n; k++)
            as_out_printf(out, "    b%zu;\n", b->first + k);
        as_out_text(out, "  }\n");
    }
    for (size_t i = 0; i < p->n_edges; i++)
        as_out_printf(out, "  b%zu -> b%zu;\n", p->edges[i].from, p->edges[i].to);
    as_out_text(out, "}\n");
}
