/* assay/scope_off.h - the marks of scope.h when ASSAY_DISABLE is defined: they do nothing. Included
 * by scope.h, inside extern "C"; not for callers. */
#ifndef ASSAY_SCOPE_OFF_H
#define ASSAY_SCOPE_OFF_H
#ifdef ASSAY_DISABLE

static inline void assay_layer_begin(uint32_t layer)
{
    (void)layer;
}
static inline void assay_layer_end(uint32_t layer)
{
    (void)layer;
}
static inline uint32_t assay_layer(const char *name)
{
    (void)name;
    return 0;
}
static inline uint32_t assay_site_named(const char *name, enum assay_category category,
                                        const char *unit)
{
    (void)name, (void)category, (void)unit;
    return 0;
}
#define ASSAY_MESSAGE_MAX 256
static inline void assay_message(const char *text)
{
    (void)text;
}
static inline void assay_instant(const char *name)
{
    (void)name;
}
static inline void assay_async_begin(const char *name, uint64_t id)
{
    (void)name, (void)id;
}
static inline void assay_async_end(const char *name, uint64_t id)
{
    (void)name, (void)id;
}
static inline void assay_flow_begin(const char *name, uint64_t id)
{
    (void)name, (void)id;
}
static inline void assay_flow_step(const char *name, uint64_t id)
{
    (void)name, (void)id;
}
static inline void assay_flow_end(const char *name, uint64_t id)
{
    (void)name, (void)id;
}
ASSAY_HOT_ void assay_begin(uint32_t layer)
{
    (void)layer;
}
ASSAY_HOT_ void assay_end(uint32_t layer)
{
    (void)layer;
}
ASSAY_HOT_ void assay_end_failed(uint32_t layer)
{
    (void)layer;
}
ASSAY_HOT_ void assay_switch(uint32_t layer)
{
    (void)layer;
}
static inline void assay_iteration(uint64_t n)
{
    (void)n;
}
static inline void assay_iteration_end(void)
{
}
static inline void assay_iteration_length(uint64_t length)
{
    (void)length;
}
static inline void assay_phase_begin(enum assay_phase phase)
{
    (void)phase;
}
static inline void assay_phase_end(enum assay_phase phase)
{
    (void)phase;
}
static inline uint32_t assay_channel(const char *name, const char *unit)
{
    (void)name, (void)unit;
    return 0;
}
static inline void assay_sample(uint32_t channel, double value)
{
    (void)channel, (void)value;
}
static inline void assay_note(const char *key, double value)
{
    (void)key, (void)value;
}

#endif
#endif
