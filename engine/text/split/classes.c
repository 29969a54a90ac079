#include "engine/text/split/classes.h"

#include <stdbool.h>
#include <utf8proc.h>

/* The Unicode property White_Space, beyond ASCII. */
static bool is_space(uint32_t cp)
{
    return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) ||
           cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

static unsigned char category_class(uint32_t cp)
{
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return KS_CLASS_LETTER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return KS_CLASS_MARK;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return KS_CLASS_NUMBER;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
        return KS_CLASS_PUNCTUATION;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
        return KS_CLASS_SYMBOL;
    default:
        return KS_CLASS_OTHER;
    }
}

static bool is_member(uint32_t cp, const struct ks_code_set *set)
{
    size_t low = 0, high = set->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (cp > set->ranges[mid].last)
            low = mid + 1;
        else if (cp < set->ranges[mid].first)
            high = mid;
        else
            return true;
    }
    return false;
}

unsigned char ks_class_of(uint32_t cp, const struct ks_code_set *set)
{
    if (is_space(cp))
        return KS_CLASS_SPACE;
    if (!set)
        return category_class(cp);
    if (is_member(cp, set))
        return KS_CLASS_SET;
    return set->over_categories ? category_class(cp) : KS_CLASS_OTHER;
}
