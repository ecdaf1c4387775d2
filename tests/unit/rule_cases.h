/* tests/unit/rule_cases.h - tables of single nodes and the types that come out of them.
 * A case that ends in !words expects a conflict whose message holds them. */
#ifndef AS_TESTS_RULE_CASES_H
#define AS_TESTS_RULE_CASES_H

#include "rule_kit.h"

/* One node each: inputs a, b, c ... by their specs ("-" left out), outputs x, y, z, w. */
struct rule_case {
    int64_t opset;
    const char *op;       /* with @domain */
    const char *inputs;   /* specs with ; between */
    const char *attrs;    /* or "" */
    const char *expected; /* "1x2; 3" for the outputs, or "!words" of the message */
};

static inline void kit_graph_of(const struct rule_case *c, char *text, size_t capacity)
{
    char specs[512], list[128] = "", *save = specs, *spec;
    size_t size = 0;
    char name = 'a';

    snprintf(specs, sizeof specs, "%s", c->inputs);
    for (; (spec = kit_word(&save, "; ")); name++) {
        bool none = strcmp(spec, "-") == 0;
        bool constant = strchr(spec, '{') || strchr(spec, '=');
        size_t at = strlen(list);

        snprintf(list + at, sizeof list - at, "%s%c", at ? "," : "", none ? '-' : name);
        if (!none)
            size += (size_t)snprintf(text + size, capacity - size, "%s %c %s\n",
                                     constant ? "const" : "in", name, spec);
    }
    snprintf(text + size, capacity - size, "%s %s -> x,y,z,w %s", c->op, list, c->attrs);
}

static inline void kit_check(const struct rule_case *c)
{
    static const struct as_infer_options open = {.keep_unknown = true};
    static const char *const outs[] = {"x", "y", "z", "w"};
    struct rule_kit k;
    char text[1024], expected[256], *save = expected, *one;
    int rc, i = 0;

    kit_graph_of(c, text, sizeof text);
    rc = kit_infer(&k, c->opset, text, &open);
    if (c->expected[0] == '!') {
        if (rc != ASSAY_ERR_FORMAT || !strstr(k.err.msg, c->expected + 1))
            fail_msg("%s %s %s: %d %s", c->op, c->inputs, c->attrs, rc, k.err.msg);
        kit_free(&k);
        return;
    }
    if (rc != ASSAY_OK)
        fail_msg("%s %s %s: %s", c->op, c->inputs, c->attrs, k.err.msg);
    snprintf(expected, sizeof expected, "%s", c->expected);
    for (; (one = kit_word(&save, ";")); i++) {
        one += strspn(one, " ");
        (void)as_type_text(text, sizeof text, &kit_value(&k, outs[i])->type);
        if (strcmp(text, one) != 0)
            fail_msg("%s %s %s: output %d is %s, not %s", c->op, c->inputs, c->attrs, i, text, one);
    }
    kit_free(&k);
}

#endif
