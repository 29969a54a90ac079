/* The tree against each net run alone: the same bits, whatever residuals may take, and as few
 * layers as there are different ones. */
#include "tests/testing.h"

#include <string.h>

#include "engine/run/arms/tree.h"

#define WINDOWS 3
#define ROWS    48

struct fixture {
    struct ks_model *model;
    struct ks_cpu *cpu;
    struct ks_body *body;
    struct ks_net nets[6];
    struct ks_matrix *tensors[6];
    float *changed[6][2];
    size_t n;
    int32_t ids[ROWS];
};

static const size_t starts[WINDOWS + 1] = {0, 16, 17, ROWS};
static const size_t scored_rows[] = {0, 3, 15, 16, 20, 47};
#define N_SCORED (sizeof scored_rows / sizeof *scored_rows)

static int set_up_model(void **state, const char *path)
{
    struct ks_error err;
    struct fixture *f = calloc(1, sizeof *f);
    enum ks_isa isa;
    f->model = ks_model_open(path, NULL, NULL, &err);
    if (!f->model || ks_isa_choose(&isa, &err))
        return -1;
    f->cpu = ks_cpu_create(2, isa, &err);
    f->body = ks_body_create(f->cpu, ks_model_hparams(f->model), ROWS, &err);
    uint64_t random = 3;
    for (size_t i = 0; i < ROWS; i++)
        f->ids[i] = (int32_t)ks_random_below(&random, 320);
    *state = f;
    return f->body ? 0 : -1;
}

static int set_up(void **state)
{
    return set_up_model(state, test_data("model/llama-untied.gguf"));
}

static int set_up_deep(void **state) /* six layers */
{
    return set_up_model(state, test_data("../../scenarios/models/scope-6m.f16.gguf"));
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < f->n; i++) {
        ks_net_finish(&f->nets[i]);
        free(f->tensors[i]);
        free(f->changed[i][0]);
        free(f->changed[i][1]);
    }
    ks_body_destroy(f->body);
    ks_cpu_destroy(f->cpu);
    ks_model_unref(f->model);
    free(f);
    return 0;
}

/* The tensors are the model's, but for those of the names (NULL: none), which are it times 1.5. */
static void add_net_of(struct fixture *f, const char *const names[2])
{
    struct ks_error err;
    size_t n = ks_model_n_tensors(f->model), found = 0;
    struct ks_matrix *t = calloc(n, sizeof *t);
    assert_non_null(t);
    for (size_t i = 0; i < n; i++) {
        t[i] = *ks_model_tensor(f->model, i);
        const char *name = ks_model_tensor_name(f->model, i);
        if (!(names[0] && strcmp(name, names[0]) == 0) &&
            !(names[1] && strcmp(name, names[1]) == 0))
            continue;
        assert_int_equal(t[i].type, KS_F32);
        size_t values = t[i].rows * t[i].cols;
        float *changed = ks_alloc_aligned(values, sizeof *changed);
        for (size_t v = 0; v < values; v++)
            changed[v] = 1.5f * ((const float *)(const void *)t[i].data)[v];
        t[i].data = (const uint8_t *)changed;
        f->changed[f->n][found++] = changed;
    }
    assert_int_equal(found, (names[0] != NULL) + (names[1] != NULL));
    f->tensors[f->n] = t;
    assert_int_equal(ks_net_bind(&f->nets[f->n], f->model, t, ROWS, &err), 0);
    f->n++;
}

static void add_net(struct fixture *f, const char *name)
{
    add_net_of(f, (const char *const[2]){name, NULL});
}

static void run_alone(struct fixture *f, size_t net, float *hidden)
{
    struct ks_error err;
    struct ks_batch batch = {.ids = f->ids, .starts = starts, .n_sequences = WINDOWS};
    const struct ks_hparams *h = ks_model_hparams(f->model);
    float *x = ks_alloc_aligned(ROWS * h->hidden, sizeof *x);
    assert_int_equal(ks_body_embed(f->body, &f->nets[net], &batch, x, &err), 0);
    for (size_t l = 0; l < h->layers; l++)
        assert_int_equal(ks_body_layer(f->body, &f->nets[net], &batch, l, x, &err), 0);
    assert_int_equal(ks_body_norm(f->body, &f->nets[net], x, ROWS, x, &err), 0);
    for (size_t i = 0; i < N_SCORED; i++)
        memcpy(hidden + i * h->hidden, x + scored_rows[i] * h->hidden, h->hidden * sizeof *x);
    free(x);
}

/* Runs the fixture's nets as a tree that may keep so many residuals and compares each net's rows
 * with its own run. */
static void check_tree_with(struct fixture *f, uint64_t residuals, size_t leaves, size_t layers)
{
    struct ks_error err;
    struct ks_tree_net nets[6];
    float *hidden[6] = {0};
    size_t values = N_SCORED * ks_model_hparams(f->model)->hidden;
    for (size_t i = 0; i < f->n; i++)
        nets[i] = (struct ks_tree_net){.net = &f->nets[i], .body = f->body};
    uint64_t budget = residuals * ROWS * ks_model_hparams(f->model)->hidden * sizeof(float);
    struct ks_tree *t = ks_tree_create(nets, f->n, ROWS, budget, &err);
    assert_non_null(t);
    assert_int_equal(ks_tree_leaves(t), leaves);
    assert_int_equal(ks_tree_layers(t), layers);
    for (size_t i = 0; i < leaves; i++)
        hidden[i] = ks_alloc_aligned(values, sizeof **hidden);
    struct ks_batch batch = {.ids = f->ids, .starts = starts, .n_sequences = WINDOWS};
    struct ks_tree_rows rows = {.rows = scored_rows, .n = N_SCORED};
    assert_int_equal(ks_tree_run(t, &batch, &rows, hidden, &err), 0);
    float *alone = ks_alloc_aligned(values, sizeof *alone);
    for (size_t i = 0; i < f->n; i++) {
        run_alone(f, i, alone);
        assert_memory_equal(hidden[ks_tree_leaf(t, i)], alone, values * sizeof *alone);
    }
    free(alone);
    for (size_t i = 0; i < leaves; i++)
        free(hidden[i]);
    ks_tree_destroy(t);
}

static void check_tree(struct fixture *f, size_t leaves, size_t layers)
{
    check_tree_with(f, ks_tree_most_residuals(leaves), leaves, layers);
}

static void an_unchanged_arm_costs_nothing(void **state)
{
    struct fixture *f = *state;
    add_net(f, NULL);
    add_net(f, NULL);
    check_tree(f, 1, ks_model_hparams(f->model)->layers);
}

static void arms_that_change_the_head_share_the_body(void **state)
{
    struct fixture *f = *state;
    add_net(f, NULL);
    add_net(f, "output.weight");
    add_net(f, "output_norm.weight");
    check_tree(f, 3, ks_model_hparams(f->model)->layers);
}

static void an_arm_starts_at_the_layer_it_changes(void **state)
{
    struct fixture *f = *state;
    size_t layers = ks_model_hparams(f->model)->layers;
    char name[64];
    snprintf(name, sizeof name, "blk.%zu.ffn_up.weight", layers - 1);
    add_net(f, NULL);
    add_net(f, name);
    check_tree(f, 2, layers + 1);
}

static void arms_branch_anywhere(void **state)
{
    struct fixture *f = *state;
    size_t layers = ks_model_hparams(f->model)->layers;
    char last[64];
    snprintf(last, sizeof last, "blk.%zu.attn_q.weight", layers - 1);
    add_net(f, "token_embd.weight");
    add_net(f, last);
    add_net(f, NULL);
    add_net(f, "blk.0.attn_norm.weight");
    add_net(f, NULL);
    add_net(f, "output.weight");
    /* embedding arm, reference body with its last layer twice, blk.0 arm */
    check_tree(f, 5, layers + (layers + 1) + layers);
}

/* The longer branch goes last, on its parent's residual: one copy is enough at any depth. */
static void a_sweep_over_the_layers_needs_two_residuals(void **state)
{
    struct fixture *f = *state;
    char name[64];
    add_net(f, NULL);
    for (int layer = 1; layer < 6; layer++) {
        snprintf(name, sizeof name, "blk.%d.ffn_norm.weight", layer);
        add_net(f, name);
    }
    check_tree_with(f, 2, 6, 6 + 5 + 4 + 3 + 2 + 1);
}

static void what_the_budget_does_not_hold_is_computed_again(void **state)
{
    struct fixture *f = *state;
    add_net(f, NULL);
    add_net(f, "blk.1.attn_norm.weight");
    add_net(f, "blk.4.attn_norm.weight");
    add_net_of(f, (const char *const[2]){"blk.1.attn_norm.weight", "blk.3.attn_norm.weight"});
    add_net(f, "blk.2.attn_norm.weight");
    add_net(f, "output_norm.weight");
    /* 0; 1; 2 3; 4 5 twice; 2..5 of the arm at 2; 1 2 of the two at 1; 3 4 5 of both */
    check_tree_with(f, 9, 6, 1 + 1 + 2 + 2 * 2 + 4 + 2 + 2 * 3);
    check_tree_with(f, 3, 6, 20);
    check_tree_with(f, 2, 6, 20 + 2);
    check_tree_with(f, 1, 6, 30);
    check_tree_with(f, 0, 6, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_unchanged_arm_costs_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(arms_that_change_the_head_share_the_body, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_arm_starts_at_the_layer_it_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(arms_branch_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sweep_over_the_layers_needs_two_residuals, set_up_deep,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_the_budget_does_not_hold_is_computed_again,
                                        set_up_deep, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
