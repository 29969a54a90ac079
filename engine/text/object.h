/* What a ks_tokenizer is made of. Private to engine/text. */
#ifndef KS_ENGINE_TEXT_OBJECT_H
#define KS_ENGINE_TEXT_OBJECT_H

#include "engine/text/split/split.h"
#include "engine/text/tokenizer.h"
#include "engine/text/vocab/specials.h"
#include "engine/text/vocab/vocab.h"
#include "engine/text/words.h"

struct ks_tokenizer {
    struct ks_vocab v;
    struct ks_splitter *splitter; /* NULL for SPM */
    struct ks_specials parsed;    /* with KS_TOKENIZE_SPECIAL */
    struct ks_specials always;
    struct ks_words_pool words;
    char kind[64];
};

#endif
