/* Any bytes as a GGUF file: refused with a reason, or open with every promise of gguf.h kept. */
#include <string.h>

#include "engine/gguf/parse.h"
#include "tests/engine/gguf/touch.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct ks_error err = {0};
    struct ks_gguf *g = ks_gguf_open_memory("fuzz.gguf", bytes, len, &err);
    if (g)
        touch_all(g);
    else if (err.code == KS_OK || strncmp(err.text, "fuzz.gguf: ", 11) != 0)
        abort();
    ks_gguf_close(g);
    return 0;
}
