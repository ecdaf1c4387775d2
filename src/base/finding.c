/* base/finding.c - recommendations of all analyses: their order and their fields. */
#include "base/finding.h"

#include <math.h>

#include "base/units.h"

static const char *const confidence_name[] = {"low", "medium", "high"};
_Static_assert(AS_COUNT_OF(confidence_name) == ASSAY_CONFIDENCE_COUNT, "name every confidence");

static const struct as_json_field fields[] = {
    AS_FIELD_HELP(struct assay_finding, rule, NULL, "id of the rule, the same over versions"),
    AS_FIELD_HELP(struct assay_finding, target, NULL, "what it is about; null: the whole"),
    AS_FIELD_HELP(struct assay_finding, severity, "0..100", "how much it matters"),
    AS_FIELD_NAMED(struct assay_finding, confidence, confidence_name),
    AS_FIELD_HELP(struct assay_finding, expected_gain, "fraction",
                  "fraction of the time that following it is expected to save"),
    AS_FIELD_HELP(struct assay_finding, finding, NULL, "what was found"),
    AS_FIELD_HELP(struct assay_finding, evidence, NULL, "the metrics behind it"),
    AS_FIELD_HELP(struct assay_finding, action, NULL, "what to do"),
};
const struct as_json_shape as_finding_shape = AS_SHAPE(struct assay_finding, fields);

static bool is_before(const struct assay_finding *a, const struct assay_finding *b)
{
    double x = isnan(a->expected_gain) ? -1 : a->expected_gain;
    double y = isnan(b->expected_gain) ? -1 : b->expected_gain;

    return a->severity != b->severity ? a->severity > b->severity : x > y;
}

/* Lists are short, and ties keep their order. */
void as_findings_rank(struct assay_finding *findings, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct assay_finding moved = findings[i];
        size_t at = i;

        for (; at > 0 && is_before(&moved, &findings[at - 1]); at--)
            findings[at] = findings[at - 1];
        findings[at] = moved;
    }
}

double as_severity_of_gain(double gain, double unknown)
{
    if (isnan(gain))
        return unknown;
    return gain <= 0 ? 0 : gain >= 1 ? 100 : 100 * gain;
}

const char *as_confidence_name(enum assay_confidence confidence)
{
    return (unsigned)confidence < ASSAY_CONFIDENCE_COUNT ? confidence_name[confidence] : "";
}
