/*
 * How each kind of vocabulary cuts text, as llama.cpp does for the same name.
 *
 * The models' own expressions tell cased letters and marks apart; llama.cpp runs most of them on
 * collapsed categories, where every letter is alike (an ASCII one has its case) and a mark is a
 * letter only where the expression is written so below. That is kept: ids must equal llama.cpp's.
 *
 * Repeats are possessive wherever nothing that follows could make them give back, so that matching
 * needs neither deep stacks nor long backtracking on any text.
 */
#include "engine/text/split/pre.h"

#include <string.h>

/* Members of a bracket expression. */
#define L "A-Za-z\\xD2"
#define N "0-9\\xD1"
#define P "!-#%-*,\\-./:;?@\\[\\\\\\]_{}\\xD3"
#define M "\\xD4"
#define S "$+<=>^`|~\\xD5"

#define LOWER_SUFFIX "'(?:[stmd]|re|ve|ll)"
#define ANY_SUFFIX   "'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL])"
#define LEAD         "[^\\r\\n" L N "]?"
#define NOT_WORDS    " ?[^\\s" L N "]++"
#define SPACES       "\\s*[\\r\\n]++|\\s+(?!\\S)|\\s++"

#define GPT2_WORDS LOWER_SUFFIX "| ?[" L "]++| ?[" N "]++|" NOT_WORDS "|\\s+(?!\\S)"
#define LLAMA3_WORDS(digits, spaces)                                                               \
    ANY_SUFFIX "|" LEAD "[" L "]++|[" N "]" digits "|" NOT_WORDS "[\\r\\n]*+|" spaces
#define CASED_WORDS(upper, lower, suffix)                                                          \
    LEAD "[" upper "]*[" lower "]++" suffix "|" LEAD "[" upper "]++[" lower "]*+" suffix
#define CASED_REST(digits)  "|[" N "]" digits "|" NOT_WORDS "[\\r\\n/]*+|" SPACES
#define MARKED_REST(digits) LEAD "[" L M "]++(?:" ANY_SUFFIX ")?" CASED_REST(digits)
#define DEEPSEEK_WORDS                                                                             \
    "[!-/:-@\\[-`{-~][A-Za-z]++|[^\\r\\n" L P S "]?[" L M "]++| ?[" P S "]++[\\r\\n]*+|" SPACES

#define PATTERN(text)                                                                              \
    {                                                                                              \
        .kind = KS_STEP_PATTERN, .pattern = (text)                                                 \
    }
#define WORDS(text)                                                                                \
    {                                                                                              \
        .kind = KS_STEP_PATTERN, .pattern = (text), .plain = KS_PLAIN_ANY                          \
    }
#define CASED(text)                                                                                \
    {                                                                                              \
        .kind = KS_STEP_PATTERN, .pattern = (text), .plain = KS_PLAIN_CASED                        \
    }
#define SET_PATTERN(s, t)                                                                          \
    {                                                                                              \
        .kind = KS_STEP_PATTERN, .pattern = (t), .set = &(s)                                       \
    }
#define SET_WORDS(s, t)                                                                            \
    {                                                                                              \
        .kind = KS_STEP_PATTERN, .pattern = (t), .set = &(s), .plain = KS_PLAIN_ANY                \
    }
#define END                                                                                        \
    {                                                                                              \
        .kind = KS_STEP_END                                                                        \
    }

#define SET(name, ...)                                                                             \
    static const struct ks_code_range name##_ranges[] = {__VA_ARGS__};                             \
    static const struct ks_code_set name = {name##_ranges,                                         \
                                            sizeof name##_ranges / sizeof name##_ranges[0], 0}

/* clang-format off */

/* The cased letters (Lu, Ll, Lt) of an older Unicode, as DeepSeek spells them out. */
SET(cased_letters,
    {0xB5, 0xB5}, {0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0x1BA}, {0x1BC, 0x1BF}, {0x1C4, 0x293},
    {0x295, 0x2AF}, {0x370, 0x373}, {0x376, 0x377}, {0x37B, 0x37D}, {0x37F, 0x37F},
    {0x386, 0x386}, {0x388, 0x38A}, {0x38C, 0x38C}, {0x38E, 0x3A1}, {0x3A3, 0x3F5},
    {0x3F7, 0x481}, {0x48A, 0x52F}, {0x531, 0x556}, {0x10A0, 0x10C5}, {0x13A0, 0x13F5},
    {0x13F8, 0x13FD}, {0x1C90, 0x1CBA}, {0x1CBD, 0x1CBF}, {0x1D00, 0x1D2B}, {0x1D6B, 0x1D77},
    {0x1D79, 0x1D9A}, {0x1E00, 0x1F15}, {0x1F18, 0x1F1D}, {0x1F20, 0x1F45}, {0x1F48, 0x1F4D},
    {0x1F50, 0x1F57}, {0x1F59, 0x1F59}, {0x1F5B, 0x1F5B}, {0x1F5D, 0x1F5D}, {0x1F5F, 0x1F7D},
    {0x1F80, 0x1FB4}, {0x1FB6, 0x1FBC}, {0x1FBE, 0x1FBE}, {0x1FC2, 0x1FC4}, {0x1FC6, 0x1FCC},
    {0x1FD0, 0x1FD3}, {0x1FD6, 0x1FDB}, {0x1FE0, 0x1FEC}, {0x1FF2, 0x1FF4}, {0x1FF6, 0x1FFC},
    {0x2102, 0x2102}, {0x2107, 0x2107}, {0x210A, 0x2113}, {0x2115, 0x2115}, {0x2119, 0x211D},
    {0x2124, 0x2124}, {0x2126, 0x2126}, {0x2128, 0x2128}, {0x212A, 0x212D}, {0x212F, 0x2134},
    {0x2139, 0x2139}, {0x213C, 0x213F}, {0x2145, 0x2149}, {0x214E, 0x214E}, {0x2183, 0x2184},
    {0x2C00, 0x2C7B}, {0x2C7E, 0x2CE4}, {0x2CEB, 0x2CEE}, {0x2CF2, 0x2CF3}, {0xA640, 0xA66D},
    {0xA680, 0xA69B}, {0xA722, 0xA76F}, {0xA771, 0xA787}, {0xA78B, 0xA78E}, {0xAB70, 0xABBF},
    {0xFB00, 0xFB06}, {0xFB13, 0xFB17}, {0xFF21, 0xFF3A}, {0xFF41, 0xFF5A}, {0x10400, 0x1044F},
    {0x104B0, 0x104D3}, {0x104D8, 0x104FB}, {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2},
    {0x118A0, 0x118DF}, {0x1E900, 0x1E943});
SET(wide_punctuation, {0x2018, 0x201F}, {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E});
SET(east_asian, {0x0800, 0x9FA5}, {0xAC00, 0xD7FF});
SET(han_kana, {0x3040, 0x30FF}, {0x4E00, 0x9FA5});
SET(full_stops, {0x60C, 0x60C}, {0x6D4, 0x6D4}, {0x964, 0x964}, {0x2026, 0x2026},
    {0x3001, 0x3002}, {0xFF0C, 0xFF0C});
SET(no_word_scripts, {0xE40, 0xE7F}, {0xE80, 0xEFF}, {0x1000, 0x109F}, {0x1100, 0x11FF},
    {0x1780, 0x17FF}, {0x2F00, 0x2FDF}, {0x3040, 0x30FF}, {0x3400, 0x4DBF}, {0x4E00, 0x9FFF},
    {0xA9E0, 0xA9FF}, {0xAA60, 0xAA7F}, {0xAC00, 0xD7AF}, {0xF900, 0xFAFF}, {0xFF65, 0xFF9F});
SET(hangul, {0x3131, 0x318E}, {0xAC00, 0xD7A3});
SET(cjk_punctuation, {0x2014, 0x2014}, {0x2018, 0x2019}, {0x201C, 0x201D}, {0x2026, 0x2026},
    {0x3001, 0x303F}, {0xFE30, 0xFE4F}, {0xFF01, 0xFF01}, {0xFF0C, 0xFF0C}, {0xFF1A, 0xFF1B});
SET(bopomofo, {0x3105, 0x312F});
static const struct ks_code_range han_ranges[] = {
    {0x3400, 0x4DBF}, {0x4E00, 0x9FFF}, {0xF900, 0xFAFF}, {0x20000, 0x2A6DF},
    {0x2A700, 0x2EBEF}, {0x2F800, 0x2FA1F},
};
static const struct ks_code_set han = {han_ranges, sizeof han_ranges / sizeof han_ranges[0], 1};

static const struct ks_step gpt2[] = {WORDS(GPT2_WORDS), END};
/* Numbers one by one and then GPT-2's words between them; in one step, so that a number ends runs of
 * blanks as a piece's end does. */
static const struct ks_step starcoder[] = {
    WORDS(LOWER_SUFFIX "|[" N "]| ?[" L "]++|" NOT_WORDS "|\\s+(?![^\\s" N "])"), END};
static const struct ks_step plain[] = {
    PATTERN("[$+<=>^~|" P "]++"), WORDS(GPT2_WORDS), PATTERN("[" N "]++"),
    PATTERN("[0-9][0-9][0-9]"), END};
static const struct ks_step falcon[] = {
    PATTERN("[$+<=>^~|`" P "]++"), WORDS(GPT2_WORDS), PATTERN("[0-9][0-9][0-9]"), END};
static const struct ks_step llama3[] = {WORDS(LLAMA3_WORDS("{1,3}+", SPACES)), END};
static const struct ks_step minicpm5[] = {
    PATTERN("[" N "]{1,3}+"), WORDS(LLAMA3_WORDS("++", SPACES)), END};
/* Behind a blank that is no newline a run of blanks holds none: the look-behind saves a long run
 * from being searched for one again at every cut. */
static const struct ks_step jais2[] = {
    WORDS(LLAMA3_WORDS("{1,3}+",
        "(?<![^\\S\\r\\n])\\s*[\\r\\n]++|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)"
        "|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s")), END};
static const struct ks_step qwen2[] = {WORDS(LLAMA3_WORDS("", SPACES)), END};
static const struct ks_step qwen35[] = {
    WORDS(ANY_SUFFIX "|" LEAD "[" L M "]++|[" N "]| ?[^\\s" L M N "]++[\\r\\n]*+|" SPACES), END};
static const struct ks_step seed_coder[] = {
    WORDS(ANY_SUFFIX "|" LEAD "[" L "]++|[" N "]|" NOT_WORDS "|" SPACES), END};
static const struct ks_step laguna[] = {
    PATTERN("[^\\n]++|\\n++"), WORDS(LLAMA3_WORDS("", SPACES)), END};
static const struct ks_step exaone_moe[] = {
    PATTERN(ANY_SUFFIX "|" LEAD "(?:[" L "][" M "]*+(?: [" L "][" M "]*+)*+)++|[" N "]|" NOT_WORDS
        "[\\r\\n/]?+|\\s*[\\r\\n]|\\s+(?!\\S)|\\s++"), END};
static const struct ks_step tekken[] = {
    CASED(CASED_WORDS("A-Z\\xD2", "a-z\\xD2", "") CASED_REST("")), END};
static const struct ks_step gpt_4o[] = {
    CASED(CASED_WORDS("A-Z\\xD2", "a-z\\xD2", "(?:" ANY_SUFFIX ")?") CASED_REST("{1,3}+")), END};
static const struct ks_step granite_embed[] = {
    CASED(CASED_WORDS("A-Z\\xD2\\xD4", "a-z\\xD2\\xD4", "(?:" ANY_SUFFIX ")?")
        CASED_REST("{1,3}+")), END};
static const struct ks_step tiny_aya[] = {
    {.kind = KS_STEP_NUMBER_GROUPS}, WORDS(MARKED_REST("{1,3}+")), END};
static const struct ks_step youtu[] = {
    SET_PATTERN(hangul, "\\x80++"), SET_PATTERN(cjk_punctuation, "\\x80++"),
    SET_PATTERN(bopomofo, "\\x80++"), SET_PATTERN(han_kana, "\\x80++"),
    WORDS(MARKED_REST("")), END};
static const struct ks_step kimi_k2[] = {
    SET_WORDS(han, "\\x80++|[^\\r\\n\\x80" L N "]?[" L "]++(?:" ANY_SUFFIX ")?|[" N "]{1,3}+"
        "| ?[^\\s\\x80" L N "]++[\\r\\n]*+|" SPACES), END};
static const struct ks_step deepseek_llm[] = {
    PATTERN("[\\r\\n]"), SET_WORDS(cased_letters, "\\s?[A-Za-z\\x80]++"),
    SET_PATTERN(wide_punctuation, "\\s?[!-/:-~\\x80]++"), PATTERN("\\s+$"),
    SET_PATTERN(east_asian, "\\x80++"), PATTERN("[" N "]++"), END};
static const struct ks_step deepseek_coder[] = {
    PATTERN("[\\r\\n]"), WORDS("\\s?[" L "]++"), PATTERN("\\s?[" P "]++"),
    SET_PATTERN(east_asian, "\\x80++"), PATTERN("[" N "]"), END};
static const struct ks_step deepseek_v3[] = {
    PATTERN("[" N "]{1,3}+"), SET_PATTERN(han_kana, "\\x80++"), WORDS(DEEPSEEK_WORDS), END};
static const struct ks_step afmoe[] = {
    {.kind = KS_STEP_NUMBER_GROUPS}, SET_PATTERN(no_word_scripts, "\\x80++"),
    WORDS(DEEPSEEK_WORDS), END};
static const struct ks_step bloom[] = {SET_PATTERN(full_stops, " ?[^(\\s|.,!?\\x80)]++"), END};
static const struct ks_step viking[] = {
    SET_PATTERN(full_stops, " ?[^(\\s|.,!?\\x80)]++"), PATTERN("[" N "]"), END};
static const struct ks_step superbpe[] = {
    PATTERN("[" N "]++"), {.kind = KS_STEP_DIGIT_GROUPS}, END};
static const struct ks_step chameleon[] = {
    PATTERN("<sentinel:[0-9]++>"), PATTERN("IMGIMG[A-I]{1,4}Z"), PATTERN("[\\t\\n]|    |  "),
    PATTERN("[" N "]"), PATTERN("[" P "!-/:-@\\[-`{-~]"), WORDS(GPT2_WORDS), END};
static const struct ks_step lines[] = {PATTERN("[^\\n]++|\\n++"), END};
static const struct ks_step not_spaces[] = {PATTERN("\\S++"), END};

#define LLAMA3 llama3, KS_PRE_WHOLE_WORDS | KS_PRE_ADDS_BOS
#define GEMMA4 lines, KS_PRE_RAW | KS_PRE_ESCAPES | KS_PRE_NEWLINES | KS_PRE_FORCES_BOS

static const struct ks_pre table[] = {
    {"a.x-4.0", gpt2, 0},
    {"afmoe", afmoe, 0},
    {"bailingmoe", qwen2, 0},
    {"bailingmoe2", qwen2, 0},
    {"bloom", bloom, 0},
    {"chameleon", chameleon, KS_PRE_ADDS_BOS},
    {"chatglm-bpe", llama3, KS_PRE_NO_BOS},
    {"codeshell", starcoder, 0},
    {"cohere2moe", tiny_aya, 0},
    {"command-r", starcoder, 0},
    {"dbrx", llama3, 0},
    {"deepseek-coder", deepseek_coder, 0},
    {"deepseek-llm", deepseek_llm, 0},
    {"deepseek-r1-qwen", qwen2, 0},
    {"deepseek-v3", deepseek_v3, 0},
    {"default", plain, 0},
    {"exaone", starcoder, 0},
    {"exaone-moe", exaone_moe, 0},
    {"exaone4", gpt2, 0},
    {"f2llmv2", qwen2, 0},
    {"falcon", falcon, 0},
    {"falcon-h1", LLAMA3},
    {"falcon3", LLAMA3},
    {"gemma4", GEMMA4},
    {"gigachat", gpt2, 0},
    {"glm4", llama3, KS_PRE_NO_BOS},
    {"gpt-2", gpt2, 0},
    {"gpt-4o", gpt_4o, 0},
    {"gpt3-finnish", bloom, 0},
    {"granite-docling", gpt2, 0},
    {"granite-embed-multi-311m", GEMMA4},
    {"granite-embed-multi-97m", granite_embed, KS_PRE_WHOLE_WORDS},
    {"grok-2", qwen2, 0},
    {"hunyuan", qwen2, 0},
    {"hunyuan-dense", deepseek_v3, 0},
    {"jais", gpt2, 0},
    {"jais-2", jais2, 0},
    {"jina-de", gpt2, 0},
    {"jina-es", gpt2, 0},
    {"jina-v1-en", gpt2, 0},
    {"jina-v2-code", gpt2, 0},
    {"jina-v2-de", gpt2, 0},
    {"jina-v2-es", gpt2, 0},
    {"jina-v5-nano", LLAMA3},
    {"joyai-llm", deepseek_v3, 0},
    {"kanana2", gpt_4o, 0},
    {"kimi-k2", kimi_k2, 0},
    {"kormo", qwen2, 0},
    {"laguna", laguna, 0},
    {"lfm2", LLAMA3},
    {"llada-moe", qwen2, 0},
    {"llama-bpe", LLAMA3},
    {"llama-v3", LLAMA3},
    {"llama3", LLAMA3},
    {"llama4", gpt_4o, 0},
    {"megrez", qwen2, 0},
    {"mellum", gpt2, 0},
    {"mellum2", starcoder, 0},
    {"midm-2.0", LLAMA3},
    {"minerva-7b", starcoder, 0},
    {"minicpm5", minicpm5, KS_PRE_WHOLE_WORDS},
    {"minimax-m2", gpt_4o, 0},
    {"modern-bert", gpt2, 0},
    {"mpt", gpt2, 0},
    {"olmo", gpt2, 0},
    {"phi-2", gpt2, 0},
    {"pixtral", LLAMA3},
    {"poro-chat", bloom, 0},
    {"qwen2", qwen2, 0},
    {"qwen35", qwen35, 0},
    {"refact", starcoder, 0},
    {"roberta-bpe", gpt2, 0},
    {"sarvam-moe", lines, KS_PRE_RAW | KS_PRE_ESCAPES},
    {"seed-coder", seed_coder, 0},
    {"smaug-bpe", llama3, 0},
    {"smollm", starcoder, 0},
    {"solar-open", qwen2, 0},
    {"stablelm2", qwen2, 0},
    {"starcoder", starcoder, 0},
    {"superbpe", superbpe, 0},
    {"talkie", gpt_4o, 0},
    {"tekken", tekken, KS_PRE_WHOLE_WORDS | KS_PRE_ADDS_BOS},
    {"tiny_aya", tiny_aya, 0},
    {"trillion", gpt2, 0},
    {"viking", viking, 0},
    {"whitespace", not_spaces, KS_PRE_RAW},
    {"youtu", youtu, KS_PRE_WHOLE_WORDS},
};

/* clang-format on */

const struct ks_pre *ks_pre_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0)
            return &table[i];
    }
    return NULL;
}

const struct ks_pre *ks_pre_at(size_t i)
{
    return i < sizeof table / sizeof table[0] ? &table[i] : NULL;
}
