/* A finished run as reports see it, with one arm of every kind. Numbers are invented. */
#ifndef KS_TESTS_REPORT_SAMPLE_H
#define KS_TESTS_REPORT_SAMPLE_H

#include <math.h>
#include <string.h>

#include "engine/engine.h"

enum { Q8, Q4, OTHER, TWIN, BROKEN, FAILED, DROPPED, N_ARMS };

struct sample {
    struct ks_snapshot snapshot;
    struct ks_facts facts;
    struct ks_arm_facts arm_facts[N_ARMS];
    struct ks_arm_snapshot arms[N_ARMS];
    struct ks_corpus_facts corpora[2];
    struct ks_corpus_numbers corpus_numbers[N_ARMS][2];
    struct ks_document_facts documents[3];
};

/* Numbers of the size that an arm with this mean would have. */
static inline struct ks_numbers sample_numbers(double mean)
{
    return (struct ks_numbers){
        .n = 71732,
        .kld_mean = mean,
        .kld_sem = mean / 83,
        .kld_median = mean * 0.62,
        .kld_p90 = mean * 2.3,
        .kld_p95 = mean * 3.1,
        .kld_p99 = mean * 6.5,
        .kld_p999 = mean * 14.2,
        .kld_max = mean * 36,
        .kld_reverse_mean = mean * 1.01,
        .top1_agreement = 1 - sqrt(mean) / 2,
        .topk_overlap = 1 - sqrt(mean) / 1.6,
        .ppl_ref = 6.055997579512933,
        .ppl_arm = 6.055997579512933 * exp(mean * 0.7),
        .ppl_arm_sem = 0.0485,
        .ln_ppl_ratio = mean * 0.7,
        .ln_ppl_ratio_sem = mean / 50,
        .delta_p_mean = -mean / 10,
        .delta_p_rms = sqrt(mean) / 5,
    };
}

static inline void sample_nothing(struct ks_numbers *s)
{
    double mean = NAN;
    *s = sample_numbers(mean);
    s->n = 0;
    s->ppl_ref = s->ppl_arm = s->ppl_arm_sem = NAN;
}

static inline void sample_fill_facts(struct sample *s)
{
    static const char *const names[N_ARMS] = {
        "q8_0",    "q4_k_m", "4 bits, with an awfully long name", "zwilling \xC3\xBC", "broken",
        "missing", "q2_k"};
    static const char *const recipes[N_ARMS] = {
        "Q8_0", "Q4_K_M", "file published/other.Q4_K_M.gguf", "", "Q2_K", "file gone.gguf", "Q2_K"};
    s->documents[0] = (struct ks_document_facts){0, "corpora/stories.jsonl", 1};
    s->documents[1] = (struct ks_document_facts){1, "corpora/chat.jsonl", 3};
    s->documents[2] = (struct ks_document_facts){1, "corpora/letter.txt", 0};
    s->corpora[0] = (struct ks_corpus_facts){
        "stories", "text", 1, 40001, 40000, 2, "0123456789abcdef0123456789abcdef"};
    s->corpora[1] = (struct ks_corpus_facts){
        "chat", "chat", 2, 31734, 31732, 0, "fedcba9876543210fedcba9876543210"};
    for (int i = 0; i < N_ARMS; i++) {
        s->arm_facts[i] = (struct ks_arm_facts){.name = names[i],
                                                .recipe = recipes[i],
                                                .bytes = 6140928,
                                                .bits_per_weight = 8.5,
                                                .hash = "00112233445566778899aabbccddeeff"};
    }
    s->arm_facts[Q4].bytes = 3645952;
    s->arm_facts[Q4].bits_per_weight = 5.046;
    s->arm_facts[OTHER].bytes = 3645952;
    s->arm_facts[OTHER].bits_per_weight = 5.046;
    s->arm_facts[OTHER].file = "published/other.Q4_K_M.gguf";
    s->arm_facts[FAILED].hash = NULL;
    s->facts = (struct ks_facts){
        .numerics = 1,
        .name = "quickstart",
        .scenario = "quickstart.lua",
        .reference_file = "models/scope-6m.f16.gguf",
        .reference_name = "scope 6m",
        .reference_hash = "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb",
        .tokenizer_hash = "ccccccccccccccccdddddddddddddddd",
        .architecture = "llama",
        .reference_bytes = 11580000,
        .reference_bits = 16.02,
        .vocab = 4096,
        .scoring = "window",
        .order = "shuffled",
        .seed = 7,
        .window = 512,
        .context_min = 256,
        .top_k = 10,
        .threads = 2,
        .isa = "avx512",
        .backend_body = "cpu",
        .backend_head = "cpu",
        .documents = 3,
        .tokens = 71735,
        .n = 71732,
        .windows = 281,
        .arms = s->arm_facts,
        .n_arms = N_ARMS,
        .corpora = s->corpora,
        .n_corpora = 2,
        .document = s->documents,
    };
}

static inline void sample_init(struct sample *s)
{
    memset(s, 0, sizeof *s);
    sample_fill_facts(s);
    static const double means[N_ARMS] = {
        0.00029624026903211096, 0.034133405987891662, 0.0338, 0, 0.412, NAN, 0.45};
    for (int i = 0; i < N_ARMS; i++) {
        s->arms[i] = (struct ks_arm_snapshot){KS_ARM_DONE, "", sample_numbers(means[i])};
        s->corpus_numbers[i][0] = (struct ks_corpus_numbers){40000, means[i] * 0.8, means[i], 5.5};
        s->corpus_numbers[i][1] = (struct ks_corpus_numbers){31732, means[i] * 1.2, means[i], 6.5};
        s->arms[i].numbers.corpora = s->corpus_numbers[i];
    }
    struct ks_numbers *broken = &s->arms[BROKEN].numbers;
    broken->n = 71720;
    broken->nonfinite = 12;
    broken->infinite = 1;
    broken->kld_mean = broken->kld_max = broken->kld_reverse_mean = INFINITY;
    broken->kld_sem = NAN;
    broken->first_nonfinite_document = 1;
    broken->first_nonfinite_offset = 395;
    sample_nothing(&s->arms[FAILED].numbers);
    s->arms[FAILED].numbers.corpora = s->corpus_numbers[FAILED];
    s->corpus_numbers[FAILED][0] = s->corpus_numbers[FAILED][1] =
        (struct ks_corpus_numbers){0, NAN, NAN, NAN};
    s->arms[FAILED].state = KS_ARM_FAILED;
    s->arms[FAILED].why =
        "gone.gguf: cannot be opened: No such file or directory; name a file that "
        "is there, or drop the arm";
    s->arms[DROPPED].state = KS_ARM_DROPPED;
    s->arms[DROPPED].why = "hopeless";
    s->arms[DROPPED].numbers.n = 8160;
    s->snapshot = (struct ks_snapshot){
        .serial = 9,
        .state = KS_RUN_DONE,
        .doing = "",
        .failure = "",
        .facts = &s->facts,
        .windows = 281,
        .positions = 71732,
        .tokens = 143000,
        .elapsed_ns = 20000000000,
        .flops = 4e12,
        .arms = s->arms,
    };
    s->snapshot.reference =
        (struct ks_numbers){.n = 71732, .ppl_ref = 6.055997579512933, .ppl_ref_sem = 0.0483};
}

#endif
