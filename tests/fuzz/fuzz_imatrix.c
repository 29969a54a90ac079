/* Any bytes as an importance matrix: refused with a reason, or each tensor's weights are there. */
#include <math.h>
#include <string.h>

#include "engine/imatrix/imatrix.h"
#include "tests/fuzz/target.h"

/* The size is told only by asking for one; a few that small files may have. */
static void find_all(const struct ks_imatrix *m)
{
    struct ks_error err;
    struct ks_importance found;
    for (size_t i = 0; i < ks_imatrix_n(m); i++)
        for (uint64_t cols = 1; cols < 300; cols++)
            if (ks_imatrix_find(m, ks_imatrix_name(m, i), cols, 1, &found, &err) > 0)
                for (uint64_t c = 0; c < cols; c++)
                    if (!(isfinite(found.weights[c]) && found.weights[c] >= 0))
                        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct ks_error err = {0};
    struct ks_imatrix *m = ks_imatrix_parse("fuzz.dat", bytes, len, &err);
    if (m)
        find_all(m);
    else if (err.code == KS_OK || strncmp(err.text, "fuzz.dat: ", 10) != 0)
        abort();
    ks_imatrix_unref(m);
    return 0;
}
