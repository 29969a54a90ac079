/*
 * Classes of characters, as splits see them.
 *
 * A split never needs more of a character than which class it is in. So before patterns run, every
 * code point of the text becomes one byte: ASCII stays as it is, everything else becomes the byte
 * of its class. Patterns then are plain byte patterns, the text's n bytes are its n code points,
 * and text that is all ASCII needs no copy.
 *
 * Categories are utf8proc's (Unicode general categories).
 */
#ifndef KS_ENGINE_TEXT_SPLIT_CLASSES_H
#define KS_ENGINE_TEXT_SPLIT_CLASSES_H

#include <stddef.h>
#include <stdint.h>

enum {
    KS_CLASS_SPACE = 0x0B, /* white space beyond ASCII: a vertical tab is as good as any */
    KS_CLASS_SET = 0x80,   /* in the set a step asks for */
    KS_CLASS_OTHER = 0xD0,
    KS_CLASS_NUMBER = 0xD1,      /* N */
    KS_CLASS_LETTER = 0xD2,      /* L */
    KS_CLASS_PUNCTUATION = 0xD3, /* P */
    KS_CLASS_MARK = 0xD4,        /* M */
    KS_CLASS_SYMBOL = 0xD5,      /* S */
};

/* A set of code points: ranges in ascending order, ends included. White space in it stays
 * KS_CLASS_SPACE. */
struct ks_code_range {
    uint32_t first, last;
};
struct ks_code_set {
    const struct ks_code_range *ranges;
    size_t n;
    int over_categories; /* what is outside keeps its category's class, not KS_CLASS_OTHER */
};

/* The class of cp >= 0x80; set may be NULL: categories only. */
unsigned char ks_class_of(uint32_t cp, const struct ks_code_set *set);

#endif
