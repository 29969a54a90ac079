/*
 * Reads everything that an open file hands out, so that a sanitizer sees a wrong pointer, and
 * checks what the contract promises of any file that opened.
 */
#ifndef KS_TESTS_ENGINE_GGUF_TOUCH_H
#define KS_TESTS_ENGINE_GGUF_TOUCH_H

#include "engine/gguf/gguf.h"

/* Returns a sum of what was read; aborts where the contract is broken. */
unsigned touch_all(const struct ks_gguf *g);

#endif
