/* experiment/attention/attention_data.c - samples of the attention experiment, made from the plan's
 * seed.
 *
 * Tokens belong to topics; a query of a topic looks for keys of the same topic. Some tokens are
 * filler: every query has a part that points away from their keys, so nobody looks for them. Values
 * have a part of their topic and noise. Everything is integers turned into numbers by operations
 * that round the same way everywhere, so no library's logarithm can make two machines differ. */
#include "experiment/attention/attention_plan.h"

#include <math.h>

#include "stats/describe/rng.h"

/* With these a query meets keys of its topic at a logit of about 4, those of others around 0, and
 * filler at about -4, for any dimension: noise adds about 0.9 to each. */
#define MATCH     4.0
#define AWAY      4.0
#define NOISE     0.7
#define OWN_VALUE 1.0

enum stream { STREAM_LENGTH = 1, STREAM_TOKENS, STREAM_TOPICS, STREAM_KEYS, STREAM_QUERIES };

static void begin(struct as_rng *rng, const struct as_attention_plan *plan, uint64_t sample_id,
                  uint64_t stream)
{
    uint64_t seed = plan->seed;

    seed = (seed ^ sample_id * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ seed >> 29 ^ stream * 0x94d049bb133111ebu) * 0xd6e8feb86659fd93u;
    as_rng_seed(rng, seed ^ seed >> 32);
}

/* Bell-shaped around 0 with standard deviation 1: four evenly spread numbers from one draw. */
static double noise(struct as_rng *rng)
{
    uint64_t bits = as_rng_next(rng);
    uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);

    return ((double)sum - 131070.0) * (1.7320508075688772 / 65535.0);
}

static double sign(struct as_rng *rng)
{
    return as_rng_next(rng) >> 63 ? 1.0 : -1.0;
}

/* ---- lengths ---- */

static bool is_short(const struct as_attention_plan *plan, uint64_t sample_id)
{
    uint64_t all = plan->n_short + plan->n_long;

    return (sample_id + 1) * plan->n_short / all > sample_id * plan->n_short / all;
}

void as_attention_shape(const struct as_attention_plan *plan, uint64_t sample_id,
                        struct assay_attn_shape *shape)
{
    bool few = is_short(plan, sample_id);
    uint64_t low = few ? plan->short_min : plan->long_min;
    uint64_t high = few ? plan->short_max : plan->long_max;
    struct as_rng rng;

    begin(&rng, plan, sample_id, STREAM_LENGTH);
    *shape = (struct assay_attn_shape){
        .batch = 1,
        .heads = (size_t)plan->heads,
        .kv_heads = (size_t)plan->kv_heads,
        .seq_len = (size_t)(low + as_rng_below(&rng, high - low + 1)),
        .dim = (size_t)plan->dim,
        .causal = plan->causal,
    };
}

/* ---- numbers ---- */

/* The sign that the direction of a topic has in dimension d. Topic `topics` stands for the
 * direction that all queries share. */
static double direction(const struct as_attention_plan *plan, uint64_t sample_id, uint64_t head,
                        uint64_t topic, uint64_t d)
{
    struct as_rng rng;

    begin(&rng, plan, sample_id, STREAM_TOPICS + 16 + ((head * 1025 + topic) * 1024 + d) * 8);
    return sign(&rng);
}

/* The topic of the next token; `topics` for filler. Cuts run between the first and the last token,
 * which may be filler as any other: then a cut is cheap. */
static uint64_t next_topic(const struct as_attention_plan *plan, struct as_rng *rng)
{
    double at = as_rng_unit(rng);
    uint64_t topic = as_rng_below(rng, plan->topics);

    return at < plan->filler ? plan->topics : topic;
}

/* The signs of all directions in one dimension. */
struct head_table {
    double at[1025]; /* by topic; the direction all queries share comes last */
};

static void fill_table(struct head_table *t, const struct as_attention_plan *plan,
                       uint64_t sample_id, uint64_t head, uint64_t d)
{
    for (uint64_t topic = 0; topic <= plan->topics; topic++)
        t->at[topic] = direction(plan, sample_id, head, topic, d);
}

/* A number times the square root of 1 / sqrt(dim), so that products over dim scale as wanted: a
 * logit is the sum over dim of q * k, divided by sqrt(dim). */
static double part_of(double logit, uint64_t dim)
{
    return sqrt(logit / sqrt((double)dim));
}

void as_attention_keys(const struct as_attention_plan *plan, uint64_t sample_id, float *k, float *v)
{
    struct assay_attn_shape shape;
    struct head_table table;
    const double match = part_of(MATCH, plan->dim), away = part_of(AWAY, plan->dim);

    as_attention_shape(plan, sample_id, &shape);
    for (uint64_t h = 0; h < plan->kv_heads; h++)
        for (uint64_t d = 0; d < plan->dim; d++) {
            struct as_rng tokens, rng;

            fill_table(&table, plan, sample_id, h, d);
            begin(&tokens, plan, sample_id, STREAM_TOKENS);
            begin(&rng, plan, sample_id, STREAM_KEYS + 8 * (1 + h * plan->dim + d));
            for (uint64_t i = 0; i < shape.seq_len; i++) {
                uint64_t topic = next_topic(plan, &tokens);
                bool filler = topic == plan->topics;
                size_t at = (size_t)((h * shape.seq_len + i) * plan->dim + d);
                double key = filler ? -away * table.at[topic] : match * table.at[topic];

                k[at] = (float)(key + NOISE * noise(&rng));
                v[at] = (float)(OWN_VALUE * table.at[filler ? 0 : topic] + noise(&rng));
            }
        }
}

void as_attention_queries(const struct as_attention_plan *plan, uint64_t sample_id, uint64_t step,
                          float *q)
{
    struct assay_attn_shape shape;
    struct head_table table;
    const double match = part_of(MATCH, plan->dim), away = part_of(AWAY, plan->dim);
    uint64_t group = plan->heads / plan->kv_heads;

    as_attention_shape(plan, sample_id, &shape);
    for (uint64_t h = 0; h < plan->heads; h++)
        for (uint64_t d = 0; d < plan->dim; d++) {
            struct as_rng tokens, rng, moved;
            uint64_t place = 8 * (1 + h * plan->dim + d);

            fill_table(&table, plan, sample_id, h / group, d);
            begin(&tokens, plan, sample_id, STREAM_TOKENS);
            begin(&rng, plan, sample_id, STREAM_QUERIES + place);
            begin(&moved, plan, sample_id, STREAM_QUERIES + place + (step << 40));
            for (uint64_t i = 0; i < shape.seq_len; i++) {
                uint64_t topic = next_topic(plan, &tokens);
                size_t at = (size_t)((h * shape.seq_len + i) * plan->dim + d);
                double own = topic == plan->topics ? 0 : match * table.at[topic];
                double shift = step ? plan->drift * noise(&moved) : 0;

                q[at] = (float)(own + away * table.at[plan->topics] + NOISE * noise(&rng) + shift);
            }
        }
}
