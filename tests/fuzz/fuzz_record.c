/* Any bytes as a line of a corpus: refused with a reason, or a record of strings that are there. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/text/document/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    for (int kind = KS_CORPUS_TEXT; kind <= KS_CORPUS_CHAT; kind++) {
        struct ks_record r = {0};
        struct ks_error err = {0};
        if (ks_record_parse((enum ks_corpus_kind)kind, (const char *)bytes, len, &r, &err)) {
            if (err.code == KS_OK || !err.text[0])
                abort();
            continue;
        }
        if (kind == KS_CORPUS_TEXT ? r.text[r.len] != '\0' : r.n_messages == 0)
            abort();
        for (size_t i = 0; i < r.n_messages; i++) {
            if (strlen(r.messages[i].role) + strlen(r.messages[i].content) > len)
                abort();
        }
        ks_record_finish(&r);
    }
    return 0;
}
