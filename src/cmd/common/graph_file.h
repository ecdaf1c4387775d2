/* cmd/common/graph_file.h - `assay inspect --graph FILE`: the picture of a model's graph. */
#ifndef AS_CMD_COMMON_GRAPH_FILE_H
#define AS_CMD_COMMON_GRAPH_FILE_H

#include "analyze/model/inspect.h"

/* For the `opts` of a command. */
#define AS_OPT_GRAPH                                                                               \
    {                                                                                              \
        .name = "graph", .kind = AS_OPT_FILE, .argument = "FILE.svg|FILE.dot",                     \
        .help = "write a picture of the graph, colored by MACs, repeated blocks drawn once",       \
        .group = AS_GROUP_OUTPUT                                                                   \
    }

/* Whether the name ends in .svg or .dot; NULL is fine. USAGE otherwise. */
AS_MUST_USE int as_graph_file_check(const char *path, struct assay_error *err);

/* Writes it; nothing when `path` is NULL. */
AS_MUST_USE int as_graph_file_write(const char *path, const struct as_inspection *inspection,
                                    const char *title, struct assay_error *err);

#endif
