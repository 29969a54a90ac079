/*
 * The engine's public face: what lua/ and tui/ may know of it.
 *
 *   ks_model     a GGUF opened and checked. Immutable, reference-counted, any thread.
 *   ks_plan      what a run shall do: reference, corpora, arms, window. Plain data, one owner.
 *   ks_run       the one mutable state: owns a plan, computes on threads of its own.
 *   ks_snapshot  what a run has found so far. Immutable, reference-counted, any thread; everything
 *                that screens, hooks and reports show is read from one.
 *
 * Errors are values (base/error.h): int functions return 0 or -1, pointer functions NULL. Nothing
 * here prints, exits or touches a terminal.
 */
#ifndef KS_ENGINE_ENGINE_H
#define KS_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/error.h"

/* ------------------------------------------------------------------ models */

struct ks_model;

/*
 * path: the file to open (any part of a split). shown: how messages and reports name it (NULL: as
 * path). convert_to: NULL, or a type's name ("F16"): every quantized matrix is decoded and encoded
 * in memory to that type, so that any file can be a reference. The returned reference is the
 * caller's.
 */
struct ks_model *ks_model_open(const char *path, const char *shown, const char *convert_to,
                               struct ks_error *err);
/*
 * The same file for looking at and tokenizing alone: an architecture that is not known, tensors
 * that are missing or ill-shaped, a vocabulary without weights are no errors here. What cannot be
 * told of it is 0 in the info. ks_model_logits and a run refuse such a model with the words that
 * ks_model_open would have used.
 */
struct ks_model *ks_model_peek(const char *path, const char *shown, struct ks_error *err);
struct ks_model *ks_model_ref(struct ks_model *m);
void ks_model_unref(struct ks_model *m); /* accepts NULL */

/*
 * A model's file stays mapped. If it shrinks, or its disk fails, while it is read, the reader gets
 * a SIGBUS; only the owner of the process can catch that. This is for its handler: the path of the
 * file whose mapping holds the address, NULL if none does. Async-signal-safe.
 */
const char *ks_model_file_at(const void *address);

struct ks_model_info {
    const char *path, *shown; /* as given to open */
    const char *name;         /* general.name, or the file's base name */
    const char *architecture;
    uint32_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, context;
    bool tied;              /* the head is the embedding table */
    uint64_t bytes;         /* sum of tensor data, as converted */
    uint64_t elements;      /* weights in all tensors */
    double bits_per_weight; /* 8 bytes / elements */
    uint64_t file_bytes;
    size_t n_tensors;
    const char *tokenizer_model; /* tokenizer.ggml.model, "" if absent */
    const char *tokenizer_pre;   /* tokenizer.ggml.pre, "" if absent */
    const char *chat_family;     /* the format of its chat template: "chatml", "llama3.1"; NULL if
                                    there is none that we know */
    const char *refusal;         /* why it can't be computed; NULL if it can */
};
/* Owned by the model. */
const struct ks_model_info *ks_model_info(const struct ks_model *m);

struct ks_tensor_info {
    const char *name;
    const char *type;
    uint32_t n_dims;
    uint64_t dims[4]; /* dims[0] contiguous */
    uint64_t bytes;
};
struct ks_tensor_info ks_model_tensor_info(const struct ks_model *m, size_t i);

/* What the model's architecture comes to, in words: which layers see what, their rope, norms, MLPs
 * and scales. text is filled, cut where it does not fit. false past the end, and for a model that
 * can't be computed. */
bool ks_model_trait(const struct ks_model *m, size_t i, const char **name, char *text, size_t size);

/* Metadata in file order for people: key, type name, value as text cut to a line. Valid until the
 * next call with the same buffer. false past the end. */
bool ks_model_metadata(const struct ks_model *m, size_t i, const char **key, const char **type,
                       char *text, size_t text_size);

/* What a value of metadata, or an item of its array, is. Strings may hold any bytes. */
enum ks_datum_kind {
    KS_DATUM_UNSIGNED,
    KS_DATUM_SIGNED,
    KS_DATUM_REAL,
    KS_DATUM_BOOL,
    KS_DATUM_STRING
};
struct ks_datum {
    enum ks_datum_kind kind;
    union {
        uint64_t u;
        int64_t i;
        double f;
        bool b;
        struct {
            const char *bytes; /* owned by the model, not NUL-terminated */
            size_t len;
        } s;
    };
};
/* Whether entry i is an array; *n its items, 1 where it is none. */
bool ks_model_metadata_is_array(const struct ks_model *m, size_t i, uint64_t *n);
/* Item `item` of entry i, item < *n above. */
struct ks_datum ks_model_metadata_datum(const struct ks_model *m, size_t i, uint64_t item);

/* ------------------------------------------------------------------ differences of models */

enum ks_difference_kind {
    KS_DIFFERENCE_METADATA,  /* a key */
    KS_DIFFERENCE_TOKENIZER, /* what a run of A as the reference and B as an arm would say */
    KS_DIFFERENCE_TENSOR,
};

#define KS_NOWHERE SIZE_MAX

struct ks_difference {
    enum ks_difference_kind kind;
    const char *name; /* the key or tensor; "" of a tokenizer */
    size_t a, b;      /* which entry or tensor of each model that is; KS_NOWHERE: it has none */
    const char *text; /* TOKENIZER: a sentence */
    /* METADATA that both have, in one type and with as many items: how many differ, and the first
     * that does; else 0. */
    uint64_t items, first_item;
    /* TENSOR that both have in one shape, in types that decode: d = the values in B - those in A */
    bool values;
    uint64_t unequal;    /* values where d is not 0 */
    double rms_relative; /* sqrt(sum d^2 / sum of A's squares): infinite where A is all 0, NaN where
                            a value is not finite */
    double max_abs;      /* the greatest |d|; NaN likewise */
};

/*
 * Tells what differs between the contents of two models, as they are in their files: keys in order
 * of A and then those of B alone, the tokenizers, tensors likewise. Order is no difference, and
 * neither are what files are called, how they are aligned or split. tell returns non-zero to end it
 * with -1 (it fills err); what it gets is valid until it returns. *n: how many were told. A hash is
 * not trusted with it: bytes are compared.
 */
int ks_model_diff(struct ks_model *a, struct ks_model *b,
                  int (*tell)(void *ctx, const struct ks_difference *d, struct ks_error *err),
                  void *ctx, size_t *n, struct ks_error *err);

enum {
    KS_PARSE_SPECIAL = 1, /* as KS_TOKENIZE_SPECIAL */
    KS_ADD_SPECIAL = 2,   /* as KS_TOKENIZE_ADD */
};
/* *ids (n) is the caller's to free(). pre: overrides the file's, or NULL. */
int ks_model_tokenize(struct ks_model *m, const char *pre, const char *text, size_t len,
                      unsigned flags, int32_t **ids, size_t *n, struct ks_error *err);
/* The bytes of a token, owned by the model; NULL with *err for an id outside the vocabulary or a
 * vocabulary that is refused. */
const char *ks_model_token_bytes(struct ks_model *m, int32_t id, size_t *len, struct ks_error *err);

/* Feeds ids as they are from position 0 and calls row with each position's logits (vocab), in
 * order; a row that returns non-zero ends it with -1 (it fills err). threads 0: what is allowed. */
int ks_model_logits(struct ks_model *m, const int32_t *ids, size_t n, int threads,
                    int (*row)(void *ctx, size_t position, const float *logits, size_t vocab,
                               struct ks_error *err),
                    void *ctx, struct ks_error *err);

/* Every preset, and every type that a tensor can be quantized to, in the order of the help; NULL
 * past the end. */
const char *ks_preset_name(size_t i);
const char *ks_type_name(size_t i);
/* Every type that keys and values can be kept in, F32 (nothing is lost) first; NULL past the end.
 */
const char *ks_kv_type_name(size_t i);
/* The preset that a name in any case or a short form ("q4_k" is Q4_K_M) means; NULL if there is
 * none. */
const char *ks_preset_named(const char *name);

/* ------------------------------------------------------------------ importance matrices */

struct ks_imatrix;

/*
 * Reads an importance matrix as llama-imatrix writes it, in GGUF or in its older form. shown: how
 * messages and reports name it (NULL: as path). The returned reference is the caller's.
 */
struct ks_imatrix *ks_imatrix_open(const char *path, const char *shown, struct ks_error *err);
struct ks_imatrix *ks_imatrix_ref(struct ks_imatrix *m);
void ks_imatrix_unref(struct ks_imatrix *m); /* accepts NULL */

/* ------------------------------------------------------------------ plans */

struct ks_message {
    const char *role, *content; /* NUL-terminated UTF-8 */
};

/* Bytes [start, end) of a text. */
struct ks_span {
    size_t start, end;
};

/* A chat as text. Memory is malloc'ed, the receiver's. */
struct ks_rendered {
    char *text; /* (len) */
    size_t len;
    /* What the assistant says and the marks that end its turns, in order (n_spans); only where
     * `told`. */
    struct ks_span *spans;
    size_t n_spans;
    bool told;
};

enum ks_corpus_kind { KS_CORPUS_TEXT, KS_CORPUS_CHAT };

/* Strings are owned by the plan (malloc), NULL where optional. */
struct ks_corpus_spec {
    char *name;
    enum ks_corpus_kind kind;
    char **paths; /* (n_paths) to open */
    char **shown; /* (n_paths) as the scenario wrote them */
    size_t n_paths;
    size_t max_documents; /* of each file, before the shuffle; 0: all */
    size_t max_tokens;    /* cuts the last document; 0: all */
    bool file_order;      /* order = "file" */
    bool skip_short;      /* short = "skip" */
    bool parse_special;   /* text: control tokens in the text are parsed; chat always does */
    bool assistant_only;  /* chat: score = "assistant" */
    /* chat: NULL: ChatML, of a model whose family that is. Called on the thread that loads the
     * corpus. */
    int (*render)(void *ctx, const struct ks_message *messages, size_t n, struct ks_rendered *out,
                  struct ks_error *err);
    void *render_ctx; /* lives as long as the plan; the plan's hooks own it */
    char *where;      /* "file.lua:12", for messages; NULL from the command line */
};

struct ks_override_spec {
    char *regex, *type;
};

/* What becomes of activations before they are multiplied by weights. F32: nothing. Q8: llama.cpp's
 * CPU kernels are followed, which round them to blocks of 8-bit levels before quantized weights, to
 * halves before halves. */
enum ks_activations { KS_ACTIVATIONS_F32, KS_ACTIVATIONS_Q8 };

struct ks_arm_spec {
    char *name;
    char *preset; /* or NULL */
    struct ks_override_spec *overrides;
    size_t n_overrides;
    bool overrides_ordered; /* given as a list: the first match wins */
    bool pure;              /* the preset's base type everywhere, head and embedding too */
    struct ks_model *model; /* another GGUF as the arm, a reference owned by the plan; or NULL */
    struct ks_imatrix *imatrix; /* by which preset and overrides quantize, likewise; or NULL */
    char *kv_keys, *kv_values;  /* what attention's keys and values are kept in, a ks_kv_type_name;
                                   NULL: F32, as the reference's are */
    enum ks_activations activations;
    char **tags;
    size_t n_tags;
    char *where;
};

struct ks_run;
struct ks_snapshot;

/* Called on the run's thread, in window order. A hook that takes long holds up the run; the owner
 * sees to its own time limit. */
struct ks_hooks {
    void *ctx;
    void (*on_start)(void *ctx, struct ks_run *run, const struct ks_snapshot *now);
    void (*on_window)(void *ctx, struct ks_run *run, const struct ks_snapshot *now);
    void (*on_done)(void *ctx, struct ks_run *run, const struct ks_snapshot *now);
    void (*destroy)(void *ctx); /* with the plan; NULL if nothing is owned */
};

/* Where the output head runs. AUTO: on a GPU where there is one that is faster at this model's
 * head, measured at start; never on a CPU device. VULKAN: on the device, however fast. A device
 * that is missing or fails is no error of a run: the CPU does it, and the log says why. */
enum ks_head_choice { KS_HEAD_AUTO, KS_HEAD_CPU, KS_HEAD_VULKAN };

/* How a device multiplies: one way for all positions and all heads of a run. AUTO: the fastest that
 * every head of the run has. A way that some head lacks counts as a device that is missing. */
enum ks_head_path {
    KS_HEAD_PATH_AUTO,
    KS_HEAD_PATH_FEW,    /* few rows */
    KS_HEAD_PATH_MANY,   /* many rows */
    KS_HEAD_PATH_MATRIX, /* matrix cores */
};

/* As ks_model_logits, with the head on a device, named as in ks_plan. KS_UNSUPPORTED where there is
 * none or it can't: nothing falls back to the CPU. */
int ks_model_logits_on_device(struct ks_model *m, const int32_t *ids, size_t n, int threads,
                              const char *device, enum ks_head_path path,
                              int (*row)(void *ctx, size_t position, const float *logits,
                                         size_t vocab, struct ks_error *err),
                              void *ctx, struct ks_error *err);

#define KS_MAX_THREADS 1024

/* How texts are cut into windows, and what is scored. WINDOW: every position with a successor, once
 * (see context_min). LLAMA: as llama-perplexity does, so that its numbers can be compared: all
 * corpora are one text, documents in order with a blank line behind each (a .txt that is all there
 * is stays as it is), cut into whole windows that don't overlap; of each the positions window / 2
 * .. window - 2 are scored, and what is left over at the end isn't. */
enum ks_scoring { KS_SCORING_WINDOW, KS_SCORING_LLAMA };

/*
 * A part of a run: of its windows w = 0, 1, .. those with w mod of = number - 1. The rest of the
 * run, documents and their order above all, is as for the whole. of 0 or 1: all windows.
 */
struct ks_shard {
    uint32_t number, of; /* 1 <= number <= of */
};

struct ks_plan {
    char *name;     /* of the scenario, for people */
    char *scenario; /* the path as given, or NULL from the command line */
    struct ks_model *reference;
    struct ks_corpus_spec *corpora;
    size_t n_corpora;
    struct ks_arm_spec *arms;
    size_t n_arms;
    uint32_t window; /* tokens, 2..context; 0: 512 (or the context, if smaller) */
    enum ks_scoring scoring;
    uint32_t
        context_min; /* c of the window rule, 1..window-1; 0: window / 2, as it is with LLAMA */
    int top_k;       /* 1..32; 0: 10 */
    uint64_t seed;   /* of the document shuffle */
    bool file_order; /* no shuffle */
    int threads;     /* up to KS_MAX_THREADS; 0: what is allowed */
    enum ks_head_choice head;
    char *device; /* index, UUID or part of a name; NULL: the best that is no CPU */
    enum ks_head_path head_path;
    struct ks_shard shard;
    char *out;   /* the run file (engine/runfile/README.md); NULL: none is kept */
    bool resume; /* goes on with that file, if it is there; else one that is there is refused */
    bool out_optional; /* where the file cannot be made the run goes on without, and says so */
    bool no_cache;     /* quantizes all arms anew and keeps none, as KLDSCOPE_CACHE=off does */
    struct ks_hooks hooks;
};

/* An empty plan with every default; NULL when out of memory. */
struct ks_plan *ks_plan_create(struct ks_error *err);
void ks_plan_destroy(struct ks_plan *plan); /* accepts NULL */
/* Append one, zeroed; the pointer is valid until the next append. NULL when out of memory. */
struct ks_corpus_spec *ks_plan_add_corpus(struct ks_plan *plan, struct ks_error *err);
struct ks_arm_spec *ks_plan_add_arm(struct ks_plan *plan, struct ks_error *err);
/* Free what one outside a plan owns, and zero it. Both accept a zeroed one. */
void ks_corpus_spec_finish(struct ks_corpus_spec *corpus);
void ks_arm_spec_finish(struct ks_arm_spec *arm);

/* ------------------------------------------------------------------ numbers */

/* Bin b of a KLD histogram counts 10^(KS_HIST_MIN + b/10) <= kld < 10^(KS_HIST_MIN + (b+1)/10). */
#define KS_HIST_BINS 160
#define KS_HIST_MIN  (-12)

struct ks_corpus_numbers {
    size_t n;
    double kld_mean, kld_p99, ppl_arm;
};

/*
 * An arm's numbers against the reference, as docs and reports name them. Divergences in nats,
 * agreements and probabilities as fractions of 1. Over n positions where both rows are
 * measurements. A value that does not exist yet is NaN. The reference's own numbers fill n,
 * ppl_ref, ppl_ref_sem alone.
 */
struct ks_numbers {
    size_t n;
    double kld_mean, kld_sem;
    double kld_median, kld_p90, kld_p95, kld_p99, kld_p999, kld_max;
    double kld_reverse_mean;
    double top1_agreement, topk_overlap;
    double ppl_ref, ppl_ref_sem;
    double ppl_arm, ppl_arm_sem;           /* sem = ppl * sem of the mean negative log-likelihood */
    double ln_ppl_ratio, ln_ppl_ratio_sem; /* ln(ppl_arm / ppl_ref) */
    double delta_p_mean, delta_p_rms;
    size_t nonfinite; /* positions kept out: NaN, +inf or all -inf in either row */
    size_t infinite;  /* positions with KLD = +inf; kld_mean is then +inf */
    uint32_t first_nonfinite_document, first_nonfinite_offset; /* valid where nonfinite > 0 */
    uint64_t hist[KS_HIST_BINS];
    uint64_t hist_zero;                /* exactly 0 (and the rounding below it) */
    uint64_t hist_below;               /* above 0, under the first bin */
    uint64_t hist_above;               /* past the last bin, +inf included */
    struct ks_corpus_numbers *corpora; /* (n_corpora of the run) */
    float *trend;                      /* p99 of each window so far (n_trend), NaN: no position */
    size_t n_trend;
};

/* ------------------------------------------------------------------ runs */

struct ks_arm_facts {
    const char *name;
    const char *recipe;       /* "Q4_K_M", "Q4_K_M + output.weight=Q8_0", "file other.gguf",
                                 "Q8_0 + kv Q8_0/Q4_0 + activations q8" */
    const char *file;         /* as the scenario wrote it; NULL for an arm made here */
    const char *imatrix_hash; /* 32 hex digits of the importance matrix; NULL without one */
    uint64_t bytes;           /* sum of tensor data */
    double bits_per_weight;
    const char *hash;         /* 32 hex digits of the content, and of what keys and values are kept
                                 in and activations rounded to, where that is not F32 */
    const char *const *types; /* (n_types) each tensor's type name, in the reference's file order;
                                 NULL for a file arm */
    size_t n_types;
};

struct ks_corpus_facts {
    const char *name;
    const char *kind; /* "text", "chat" */
    size_t documents, tokens, n;
    size_t skipped_short;
    const char *hash;
};

struct ks_document_facts {
    uint32_t corpus;
    const char *file; /* as the scenario wrote it */
    uint32_t line;    /* 0 for a .txt */
};

/* What is fixed once a run is prepared. Shared by all its snapshots. */
struct ks_facts {
    int numerics; /* KS_NUMERICS_VERSION of the program that computed */
    const char *name, *scenario;
    const char *reference_file, *reference_name, *reference_hash, *tokenizer_hash;
    const char *architecture;
    uint64_t reference_bytes;
    double reference_bits;
    uint32_t layers, hidden, vocab;
    const char *scoring; /* "window", "llama" */
    const char *order;   /* "shuffled", "file" */
    uint64_t seed;
    uint32_t window, context_min;
    int top_k;
    bool bos;
    int threads;
    const char *isa;
    const char *backend_body, *backend_head; /* "cpu", "vulkan NVIDIA H200 (matrix cores)" */
    const char *head_note;                   /* for people: why not a GPU, "" where it's used */
    double peak_flops; /* operations a second of multiply-adds on registers alone, all threads; 0
                          where a device does the heads, which has other limits */
    double head_gain;  /* the device's speed at the head over the CPU's; NaN: not measured */
    uint64_t quantized_bytes;    /* of the tensors that arms were quantized to, each once */
    struct ks_shard shard;       /* of 1: the whole */
    size_t documents, tokens, n; /* of the whole corpora */
    size_t windows;              /* that this run computes */
    size_t all_windows;          /* of the whole corpora; more than `windows` for a shard */
    size_t to_compute; /* token rows that its windows evaluate; a snapshot's `tokens` goes to it */
    const struct ks_arm_facts *arms;
    size_t n_arms;
    const struct ks_corpus_facts *corpora;
    size_t n_corpora;
    const struct ks_document_facts *document; /* (documents), in the run's order */
};

enum ks_run_state {
    KS_RUN_PREPARING, /* reading, tokenizing, quantizing: see `doing`; facts may be NULL */
    KS_RUN_RUNNING,
    KS_RUN_PAUSED,
    KS_RUN_DONE,
    KS_RUN_STOPPED, /* asked to; what was measured stays */
    KS_RUN_FAILED,  /* `failure` says why */
};

enum ks_arm_state {
    KS_ARM_WAITING, /* not built yet */
    KS_ARM_RUNNING,
    KS_ARM_DONE,
    KS_ARM_STOPPED, /* the run ended before it was done; its numbers so far stay */
    KS_ARM_DROPPED, /* by a hook or a person; `why` */
    KS_ARM_FAILED,  /* `why`; the others go on */
};

struct ks_arm_snapshot {
    enum ks_arm_state state;
    const char *why; /* "" unless dropped or failed */
    struct ks_numbers numbers;
};

enum ks_log_level { KS_LOG_INFO, KS_LOG_WARNING, KS_LOG_ERROR };

struct ks_log_line {
    int64_t unix_ns; /* wall clock */
    enum ks_log_level level;
    const char *text;
};

struct ks_snapshot {
    uint64_t serial; /* grows with each */
    enum ks_run_state state;
    const char *doing;   /* "quantizing q4_k_m, 31 of 43 tensors", "" while running */
    const char *failure; /* "" unless failed */
    enum ks_code failure_code;
    const struct ks_facts *facts; /* NULL until prepared */
    size_t windows;               /* done */
    size_t positions;             /* scored positions done, of the reference */
    size_t tokens;                /* token rows evaluated, of facts->to_compute */
    int64_t elapsed_ns;           /* of computing windows, pauses excluded */
    int64_t cpu_ns;               /* that all threads of the process ran meanwhile */
    int64_t prepare_ns;           /* from the start to the first window; 0 until then */
    size_t windows_on_cpu;        /* whose head the CPU did because the chosen device failed */
    double flops;                 /* useful: 2 * weights in matmuls * positions, + attention */
    struct ks_numbers reference;
    struct ks_arm_snapshot *arms; /* (facts->n_arms) */
    struct ks_log_line *log;      /* oldest first, at most 256 */
    size_t n_log;
    uint64_t log_lost; /* lines that stood before log[0] and had to make room */
};

/* Takes the plan over, in success and failure. Checks what can be checked without reading the
 * corpora. Computes nothing yet. */
struct ks_run *ks_run_create(struct ks_plan *plan, struct ks_error *err);
/* Starts the run's own thread: prepare, windows, done. Once. */
int ks_run_start(struct ks_run *run, struct ks_error *err);
/* Asks for an end after the windows in flight. Any thread, any time. */
void ks_run_stop(struct ks_run *run, const char *why);
void ks_run_pause(struct ks_run *run, bool paused); /* any thread; after the windows in flight */
/* Stops measuring arm i of facts->arms; its numbers so far stay. Any thread. */
void ks_run_drop(struct ks_run *run, size_t arm, const char *why);
/* A line for the log pane. Any thread. */
void ks_run_note(struct ks_run *run, enum ks_log_level level, const char *text);
/* Waits for the run's thread. 0 when done or stopped; -1 with *err when it failed. */
int ks_run_join(struct ks_run *run, struct ks_error *err);
/* The path of the run's file, owned by the run; NULL where none is kept. */
const char *ks_run_file(const struct ks_run *run);
/* Stops, joins, frees. Accepts NULL. Snapshots that are held live on. */
void ks_run_destroy(struct ks_run *run);

/* The newest snapshot; release it. Never NULL. Any thread. */
const struct ks_snapshot *ks_run_snapshot(struct ks_run *run);
void ks_snapshot_release(const struct ks_snapshot *s); /* accepts NULL */
/* A file descriptor that polls readable when a snapshot newer than the last ks_run_snapshot is
 * there. Owned by the run. */
int ks_run_wake_fd(const struct ks_run *run);

/* ------------------------------------------------------------------ run files */

/*
 * What a run file holds, as the run's own snapshots: of a run that is over, was killed, or is being
 * written this moment by another process. The file isn't changed. Any thread may take snapshots
 * while another one refreshes; the rest belongs to one thread at a time.
 */
struct ks_saved;

/* NULL with *err: no run file, a damaged one, a newer schema than this program knows; KS_TOO_EARLY
 * where its run is still being prepared. Reads all that is there, so it takes a while for a large
 * file. */
struct ks_saved *ks_saved_open(const char *path, struct ks_error *err);
void ks_saved_close(struct ks_saved *s); /* accepts NULL */
/* Takes in what was written since; *news: whether there was anything, a new state too. Cheap where
 * there was not: a screen may ask ten times a second. On failure the last snapshot stays: KS_SYSTEM
 * and KS_NO_MEMORY may pass; else the file was removed, replaced, cut off or is damaged. */
int ks_saved_refresh(struct ks_saved *s, bool *news, struct ks_error *err);
/*
 * The newest; release it. Equal to the run's own where that is done: reports of both are the same
 * bytes. A run that is neither over nor being written was killed: it's shown as stopped.
 */
const struct ks_snapshot *ks_saved_snapshot(struct ks_saved *s);
/* Polls readable when there is a snapshot newer than the last one taken. Owned by s. */
int ks_saved_wake_fd(const struct ks_saved *s);
/* Whether the process that wrote the newest snapshot's run was killed: it's gone, and had told of
 * no end. Until another one resumes it. */
bool ks_saved_is_cut_short(const struct ks_saved *s);
/* Whether a process is writing it. */
bool ks_saved_is_written(const struct ks_saved *s);

/* ------------------------------------------------------------------ making files */

struct ks_making_hooks {
    void *ctx;
    bool (*progress)(void *ctx, size_t done, size_t n); /* false stops */
    void (*warn)(void *ctx, const char *text);
};

struct ks_quantized {
    uint64_t bytes; /* sum of tensor data */
    double bits_per_weight;
};

/*
 * Writes the arm of a model that the recipe describes as a GGUF: the model's metadata with
 * general.file_type and general.quantization_version as they are now, its tensors in the file's
 * order, their bytes those of the ecosystem's own quantizer. The file comes into being whole or not
 * at all. threads 0: what is allowed. Blocks until done; progress (tensors) and warn are called
 * from within.
 */
int ks_quantize(struct ks_model *model, const struct ks_arm_spec *recipe, const char *path,
                int threads, const struct ks_making_hooks *hooks, struct ks_quantized *out,
                struct ks_error *err);

/*
 * Tells what ks_quantize would write, and makes nothing: tensor is called for each in the file's
 * order, with the type and bytes it would have (the info's strings live as long as the model).
 * What ks_quantize would refuse in a recipe is refused here. Of hooks, warn is called.
 */
int ks_quantize_preview(struct ks_model *model, const struct ks_arm_spec *recipe,
                        const struct ks_making_hooks *hooks,
                        void (*tensor)(void *ctx, size_t i, const struct ks_tensor_info *becomes),
                        void *ctx, struct ks_quantized *out, struct ks_error *err);

/*
 * Makes an importance matrix of a plan's reference from its corpora, in GGUF as llama-imatrix has
 * it: of every matrix in the layers, the sums of the squares of what it multiplies, by column.
 * Every document counts whole, cut into windows of plan->window tokens (0: 512, or the context)
 * that do not overlap; arms and hooks of the plan are not looked at. hooks->progress gets tokens
 * done and in all. The file comes into being whole or not at all; its bytes don't depend on
 * threads.
 */
int ks_imatrix_make(const struct ks_plan *plan, const char *path,
                    const struct ks_making_hooks *hooks, struct ks_error *err);

/* ------------------------------------------------------------------ shards */

/*
 * Joins the run files of shards into `out`, which must not be there yet: the file that one run of
 * all windows would have made, with reports of the same bytes (times are summed). The files must be
 * of one manifest, each window in one of them, every arm measured in all; what is wrong is refused
 * with KS_BAD_INPUT naming files, fields and values, and no file is left. They aren't changed.
 * Blocks until done; hooks->progress gets windows done and in all, hooks->warn isn't called.
 */
int ks_merge(const char *const *paths, size_t n, const char *out,
             const struct ks_making_hooks *hooks, struct ks_error *err);

/* ------------------------------------------------------------------ reports */

/*
 * The arithmetic that numbers come from, as a version: it grows when a change may move any bit of a
 * result, and results of different versions are not compared.
 */
#define KS_NUMERICS_VERSION 1

/*
 * malloc'ed text, the caller's; NULL with *err where no position was measured, as an empty run has
 * no summary (a run that failed before: its failure).
 *
 * json: the summary object, with a newline at its end. `timing` appends what depends on the moment
 * and the machine. Beyond the documented keys there is only what tells of trouble: an arm's
 * "first_nonfinite", "error" or "dropped", a run's "unfinished"; of a shard "shard", as its numbers
 * are those of its windows alone; and with llama scoring "left_over", the tokens that fill no
 * window. n counts the positions scored so far.
 *
 * table: for people, at most width columns (0: 100; never under 40), plain ASCII. Sizes are
 * decimal. +- is 1.96 standard errors.
 */
char *ks_report_json(const struct ks_snapshot *s, bool timing, struct ks_error *err);
char *ks_report_table(const struct ks_snapshot *s, int width, struct ks_error *err);

/* ------------------------------------------------------------------ the cache */

/*
 * Tensors that arms were quantized to stay on disk, so that the next run over them begins at once.
 * A folder that isn't there yet is an empty cache. All three tell what is there afterwards; any
 * thread, and runs may use the cache meanwhile: what they have found stays theirs.
 */
struct ks_cache_facts {
    char folder[4096];
    uint64_t tensors, bytes;
    uint64_t limit_bytes;   /* what it may hold; 0: nothing is kept */
    int64_t oldest_unix_ns; /* when the one that goes first was last used; 0: there is none */
};
int ks_cache_look(struct ks_cache_facts *out, struct ks_error *err);
int ks_cache_clear(struct ks_cache_facts *out, struct ks_error *err);
/* Holds from now on, for every run; what is above it goes at once. */
int ks_cache_set_limit(uint64_t bytes, struct ks_cache_facts *out, struct ks_error *err);

/* ------------------------------------------------------------------ the machine */

struct ks_machine {
    char cpu[128];     /* model name as the kernel tells it */
    int cpus, threads; /* online, and allowed to us by affinity and cgroup */
    uint64_t memory_bytes, memory_available_bytes;
    const char *isa;         /* what would be used */
    const char *isas[8];     /* built in and running here */
    const char *isas_not[8]; /* built in, not running here */
};
int ks_machine_probe(struct ks_machine *out, struct ks_error *err);

/* Opens a device (as in ks_plan), calls tell for each type that a head may have ("Q8_0"), with the
 * path that it would take there ("matrix cores") or NULL where the CPU does it, and closes it. */
int ks_head_probe(const char *device, void (*tell)(void *ctx, const char *type, const char *path),
                  void *ctx, struct ks_error *err);

/* One measured line of `kldscope bench`. */
struct ks_bench_row {
    const char *group, *name;  /* "matmul", "Q4_K 512 x 576 x 1536" */
    const char *line, *column; /* its place where the group makes a table: "Q4_K", "512 x 576 x
                                  1536"; NULL where it doesn't */
    double value;
    const char *unit;       /* "GFLOP/s", "us/row", "MB/s" */
    double limit;           /* in the same unit, NaN if none */
    const char *limit_name; /* "FMA peak", "copy" */
};
struct ks_bench_wishes {
    const char *only;           /* a group's name; NULL: all */
    const char *device;         /* which GPU its group takes; NULL: the best */
    const char *model, *corpus; /* a GGUF and a text, for the tokenizer and the pipeline; NULL: what
                                   needs one is left out */
    int threads;                /* 0: what is allowed */
};
/* Measures, and calls row for each line. */
int ks_bench(const struct ks_bench_wishes *wishes,
             void (*row)(void *ctx, const struct ks_bench_row *row), void *ctx,
             struct ks_error *err);

#endif
