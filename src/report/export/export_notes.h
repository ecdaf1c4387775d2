/* report/export/export_notes.h - what is said beside an export: what a limit left out, and what the
 * run itself lacks. Sentences without a full stop, for standard error and for the places formats
 * have for them. */
#ifndef AS_REPORT_EXPORT_EXPORT_NOTES_H
#define AS_REPORT_EXPORT_EXPORT_NOTES_H

#include "report/export/export.h"

#define AS_EXPORT_TEXT 400

/* "left out 4,990 of 5,000 spans, ...": what the limit cost; "" when nothing. Returns the length.
 */
size_t as_export_cut_text(char out[AS_EXPORT_TEXT], const struct as_export_result *result);

/* "the run is not whole: 12 events were lost, ...": losses and damage; "" for a run that is whole.
 */
size_t as_export_health_text(char out[AS_EXPORT_TEXT], const struct as_run *run,
                             const struct as_export_result *result);

#endif
