/* engine/kernels/text/kern_text.h - the kernel of texts with a file of its own. */
#ifndef AS_ENGINE_KERNELS_TEXT_KERN_TEXT_H
#define AS_ENGINE_KERNELS_TEXT_KERN_TEXT_H

#include "engine/kernel.h"

int as_kern_tfidf(struct as_kernel_ctx *k); /* kern_tfidf.c */

#endif
