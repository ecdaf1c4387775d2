/* cmd/machine/machine_study.h - the two studies of `assay machine`: of operations, and of our own
 * overhead. Each is measured, made a run and shown. */
#ifndef AS_CMD_MACHINE_MACHINE_STUDY_H
#define AS_CMD_MACHINE_MACHINE_STUDY_H

#include "cmd/common/show_options.h"
#include "probe/system/topology.h"

AS_MUST_USE int as_study_operations(const struct as_show *show, const struct as_cmd_line *line,
                                    const struct as_topology *topology, struct assay_error *err);
AS_MUST_USE int as_study_overhead(const struct as_show *show, const struct as_cmd_line *line,
                                  const struct as_topology *topology, struct assay_error *err);

#endif
