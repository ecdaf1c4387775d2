/* assay/scope_cpp.h - scopes for C++17 that notice exceptions. Included by scope.h in C++. */
#ifndef ASSAY_SCOPE_CPP_H
#define ASSAY_SCOPE_CPP_H

#include <exception>

#include <assay/scope.h>

namespace assay
{
/* A layer from its construction to its destruction, which ends as failed when an exception leaves
 * the block, or after fail(). ASSAY_SCOPE does not ask for exceptions, which costs some
 * nanoseconds more; ASSAY_TRY_SCOPE("name") is this class with a string literal for a name. */
class scope
{
  public:
    /* `layer` from assay_layer(). */
    explicit scope(uint32_t layer) noexcept : layer_(layer), exceptions_(std::uncaught_exceptions())
    {
        assay_begin(layer_);
    }
    /* The name is looked up each time. */
    explicit scope(const char *name) noexcept : scope(assay_layer(name))
    {
    }
    explicit scope(struct assay_site *site) noexcept
        : site_(site), exceptions_(std::uncaught_exceptions())
    {
#ifndef ASSAY_DISABLE
        assay_put_site_(site_, ASSAY_KIND_BEGIN_);
#endif
    }
    scope(const scope &) = delete;
    scope &operator=(const scope &) = delete;
    ~scope()
    {
        bool failed = failed_ || std::uncaught_exceptions() > exceptions_;

#ifndef ASSAY_DISABLE
        if (site_) {
            assay_put_site_(site_, failed ? ASSAY_KIND_FAIL_ : ASSAY_KIND_END_);
            return;
        }
#else
        (void)site_;
#endif
        if (failed)
            assay_end_failed(layer_);
        else
            assay_end(layer_);
    }
    void fail() noexcept
    {
        failed_ = true;
    }

  private:
    struct assay_site *site_ = nullptr;
    uint32_t layer_ = 0;
    int exceptions_;
    bool failed_ = false;
};
} /* namespace assay */

#ifdef ASSAY_DISABLE
#define ASSAY_TRY_SCOPE(name) ((void)0)
#else
#define ASSAY_TRY_SCOPE(name) ASSAY_TRY_SCOPE_(ASSAY_JOIN_(assay_try_scope_, __COUNTER__), name)
#define ASSAY_TRY_SCOPE_(var, name)                                                                \
    ASSAY_SITE_(ASSAY_JOIN_(var, _site_), name, ASSAY_CATEGORY_LAYER);                             \
    ::assay::scope var(&ASSAY_JOIN_(var, _site_))
#endif

#endif
