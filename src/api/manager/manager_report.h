/* api/manager/manager_report.h - the parts of a manager's JSON that its report and its dashboard
 * share. With the manager's lock held, but for the layers, which are a copy. */
#ifndef AS_API_MANAGER_MANAGER_REPORT_H
#define AS_API_MANAGER_MANAGER_REPORT_H

#include "api/manager/manager_internal.h"
#include "base/json/json_writer.h"

/* `key`: null, and `key`_why: the reason. */
void as_manager_json_none(struct as_json_writer *w, const char *key, const char *why);

/* Whether that profiler is on. */
bool as_manager_json_on(const struct assay_manager *m, enum assay_profiler_id id);

/* One object: `layer_stats`, `execution_history`, `summary`. */
void as_manager_json_layers(struct as_json_writer *w, const struct assay_layer_profile *p);
/* One object, layer by layer; one array, call by call. */
void as_manager_json_layer_stats(struct as_json_writer *w, const struct assay_layer_profile *p);
void as_manager_json_history(struct as_json_writer *w, const struct assay_layer_profile *p);

/* Under the key `memory_leaks_by_layer`. */
AS_MUST_USE int as_manager_json_layer_leaks(struct as_json_writer *w, struct assay_manager *m,
                                            struct assay_error *err);

/* Under the key `extensions`: an object each, or null with the reason. */
void as_manager_json_extensions(struct as_json_writer *w, struct assay_manager *m);

/* Under the key `backend_comparison`. */
AS_MUST_USE int as_manager_json_backends(struct as_json_writer *w, struct assay_manager *m,
                                         struct assay_error *err);

/* Under the key `anomalies`. */
AS_MUST_USE int as_manager_json_anomalies(struct as_json_writer *w, struct assay_manager *m,
                                          struct assay_error *err);

#define AS_MANAGER_NO_DEVICE "no device is read yet by this version"

/* Writes one object, and finishes. */
typedef int (*as_manager_put)(struct as_json_writer *w, struct assay_manager *m,
                              const struct assay_layer_profile *layers, struct assay_error *err);

/* What `put` writes, indented, with a line's end; without the manager's lock. */
AS_MUST_USE int as_manager_json_text(struct as_out *out, struct assay_manager *m,
                                     as_manager_put put, struct assay_error *err);

/* The two texts; written to `out`, indented. */
AS_MUST_USE int as_manager_json_report(struct as_out *out, struct assay_manager *m,
                                       struct assay_error *err);
AS_MUST_USE int as_manager_json_dashboard(struct as_out *out, struct assay_manager *m,
                                          struct assay_error *err);

#endif
