/* report/profile/profile_kind.c - profiles of models: from the run to its page, JSON and CSV. */
#include "base/alloc.h"
#include "report/profile/profile_report.h"
#include "report/profile/roofline_plot.h"
#include "report/run/show.h"

struct shown {
    struct as_profile_data data;
    struct as_profile_report report;
};

static const char *sort_at(size_t i)
{
    return as_profile_sort_at(i);
}

static void drop(struct shown *s)
{
    as_profile_free(s->report.profile);
    as_free(s);
}

static int analyze(struct shown **out, struct as_run *run, const struct as_show *show,
                   struct assay_error *err)
{
    struct shown *s = as_alloc_zero(1, sizeof *s);
    int rc;

    *out = NULL;
    if (!s)
        return as_fail_nomem(err);
    rc = as_profile_data_get(&s->data, run, err);
    if (rc == ASSAY_OK)
        rc = as_profile_new(&s->report.profile, &s->data, show->scope_depth, err);
    if (rc < 0) {
        drop(s);
        return rc;
    }
    s->report.sections = as_show_sections(show, as_profile_section_at);
    s->report.top = show->top;
    s->report.sort = as_show_word(show->sort, sort_at, 0);
    s->report.wide = show->wide;
    s->report.markdown = show->markdown;
    *out = s;
    return ASSAY_OK;
}

static int page(struct as_run *run, const struct as_show *show, struct as_out *out,
                const struct as_term *term, struct assay_error *err)
{
    struct shown *s;
    int rc = analyze(&s, run, show, err);

    if (rc < 0)
        return rc;
    rc = as_profile_page(&s->report, out, term, err);
    drop(s);
    return rc;
}

static int json(struct as_run *run, const struct as_show *show, struct as_json_writer *w,
                struct assay_error *err)
{
    struct shown *s;
    int rc = analyze(&s, run, show, err);

    if (rc < 0)
        return rc;
    rc = as_profile_json(&s->report, w, err);
    drop(s);
    return rc;
}

static int roofline(struct as_run *run, const struct as_show *show, struct as_out *out,
                    struct assay_error *err)
{
    struct shown *s;
    int rc = analyze(&s, run, show, err);

    if (rc < 0)
        return rc;
    rc = as_roofline_svg(s->report.profile, out, err);
    drop(s);
    return rc;
}

static int csv(struct as_run *run, const struct as_show *show, const struct as_csv_target *to,
               struct assay_error *err)
{
    struct shown *s;
    int rc = analyze(&s, run, show, err);

    if (rc < 0)
        return rc;
    rc = as_profile_csv(&s->report, to, err);
    drop(s);
    return rc;
}

const struct as_run_kind as_kind_profile = {
    .name = "profile",
    .schema_version = 2,
    .section_at = as_profile_section_at,
    .sort_at = sort_at,
    .page = page,
    .json = json,
    .document = &as_profile_document_shape,
    .csv = csv,
    .roofline = roofline,
};
