/* cmd/bench/bench_interrupted.c - `assay bench` that was ended early: prints what there is, and the
 * command line that goes on from there. */
#include <string.h>
#include <unistd.h>

#include "cmd/bench/bench_work.h"
#include "cmd/common/console.h"
#include "cmd/common/interrupt.h"

/* `word` as a shell reads it back. */
static void put_word(struct as_out *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=,./:@%";

    if (word[0] && word[strspn(word, plain)] == '\0') {
        as_out_text(out, word);
        return;
    }
    as_out_char(out, '\'');
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            as_out_text(out, "'\\''");
        else
            as_out_char(out, *c);
    }
    as_out_char(out, '\'');
}

/* Our own command line with --resume behind the name of the command and without what it excludes.
 * What follows "--" belongs to the command that is measured. */
static int put_command(struct as_out *out, struct assay_error *err)
{
    struct as_arena arena = {0};
    const char **words = NULL;
    size_t n = 0, end;
    bool resumes = false;
    int rc = as_own_argv(&arena, NULL, &words, &n, err);

    for (end = 0; end < n && strcmp(words[end], "--") != 0; end++)
        resumes = resumes || strcmp(words[end], "--resume") == 0;
    for (size_t i = 0; rc == ASSAY_OK && i < n; i++) {
        if (i < end && strcmp(words[i], "--force") == 0)
            continue;
        if (i == end && !resumes)
            as_out_text(out, " --resume");
        if (i)
            as_out_char(out, ' ');
        put_word(out, words[i]);
    }
    if (end == n && !resumes)
        as_out_text(out, " --resume");
    as_arena_fini(&arena);
    return rc;
}

static int tell_resume(const struct as_bench_work *w, const struct as_interrupted_fact *early,
                       struct assay_error *err)
{
    struct as_out out;
    int rc = as_opt_given(w->line, "quiet") ? ASSAY_OK
                                            : as_out_fd(&out, STDERR_FILENO, "standard error", err);

    if (rc < 0 || as_opt_given(w->line, "quiet"))
        return rc;
    as_out_printf(&out, "interrupted; %llu of %llu samples kept in ",
                  (unsigned long long)early->done, (unsigned long long)early->planned);
    put_word(&out, w->folder);
    as_out_text(&out, "; resume with: ");
    rc = put_command(&out, err);
    as_out_char(&out, '\n');
    if (rc < 0)
        as_out_drop(&out);
    else
        rc = as_out_close(&out, err);
    return rc;
}

int as_bench_interrupted(struct as_bench_work *w, struct assay_error *err)
{
    const struct as_interrupted_fact early = {
        .done = as_bench_measured(&w->bench),
        .planned = w->bench.n_samples * w->bench.n_settings,
        .unit = "sample",
    };
    int rc;

    if (early.done == 0)
        return as_fail(err, ASSAY_ERR_STATE, "interrupted before the first sample was measured");
    rc = as_bench_make_run(w, &early, err);
    if (rc == ASSAY_OK)
        rc = as_show_print(w->run, &w->show, w->line, err);
    if (rc >= 0 && w->folder[0]) {
        int told = tell_resume(w, &early, err);

        rc = told < 0 ? told : rc;
    }
    return rc;
}
