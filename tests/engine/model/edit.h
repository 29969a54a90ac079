/*
 * GGUF files with something changed, for tests of what a model must refuse.
 */
#ifndef KS_TESTS_ENGINE_MODEL_EDIT_H
#define KS_TESTS_ENGINE_MODEL_EDIT_H

#include <stddef.h>
#include <stdint.h>

enum edit_kind {
    EDIT_END,           /* ends a list */
    EDIT_DROP_KEY,      /* key `name` */
    EDIT_SET_U32,       /* key `name` to `u`, added where it is absent */
    EDIT_SET_F32,       /* key `name` to `f` */
    EDIT_SET_STRING,    /* key `name` to `text` */
    EDIT_SET_FALSE,     /* key `name` to false */
    EDIT_DROP_TENSOR,   /* tensor `name` */
    EDIT_RENAME_TENSOR, /* tensor `name` to `text` */
    EDIT_ADD_VECTOR,    /* F32 tensor `name` of `u` elements, each `f` */
    EDIT_RESHAPE,       /* tensor `name` to dims `u` x `rows`, as many elements as it has */
    EDIT_FILL,          /* every element of F32 tensor `name` to `f` */
    EDIT_POKE,          /* element `u` of F32 tensor `name` to `f` */
};

struct edit {
    enum edit_kind kind;
    const char *name;
    uint32_t u, rows;
    float f;
    const char *text;
};

/*
 * Writes source's content with the edits (up to EDIT_END) to a new temporary file and returns its
 * path, which is valid until the next call; the file is removed by it, or by edit_finish. Fails the
 * test where an edit hits nothing.
 */
const char *edited(const char *source, const struct edit *edits);
void edit_finish(void);

#endif
