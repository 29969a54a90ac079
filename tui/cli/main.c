#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/nearest.h"
#include "tui/cli/cli.h"

static const struct cli_command commands[] = {
    {"run",
     "[run] SCENARIO.lua [OPTION]...\n"
     "       kldscope run REFERENCE.gguf --arm PRESET|FILE... --corpus FILE... [OPTION]...",
     "Measure quantized arms against a reference, live",
     "A scenario names a reference model, arms and a corpus. Without a scenario the embedded\n"
     "quickstart runs. In a terminal the workbench opens; in a pipe, or with --headless, --json "
     "or\n"
     "--plain, progress goes to standard error and the table to standard output at the end.\n\n"
     "Without Lua: name the reference, arms by preset (Q4_K_M) or file, and text files (.txt is\n"
     "one document, .jsonl one a line).\n\n"
     "Ctrl-C, SIGTERM or a closed terminal end a run after the windows in flight, with all of "
     "them\n"
     "in its file and exit status 130; --resume goes on there. A second Ctrl-C ends it at once.\n"
     "Under nohup, or with --detach-on-hangup, a run outlives its terminal.",
     cli_run},
    {"watch", "watch RUN.kld [OPTION]...", "Look on at a run of another process, live",
     "The workbench over a run file: of a run that another process is writing this moment, or that\n"
     "is over. Nothing is changed or steered, and leaving it leaves the run alone. In a pipe, or "
     "with\n"
     "--plain, progress goes to standard error and the table to standard output when the run "
     "ends.\n\n"
     "A run that outlives its terminal:\n"
     "  nohup kldscope run X.lua --headless --out X.kld > X.txt 2> X.log &\n"
     "  kldscope watch X.kld",
     cli_watch},
    {"report", "report RUN.kld [OPTION]...", "Show what a run file holds",
     "The table or the JSON that the run printed at its end, from its file: of a run that is "
     "over,\n"
     "was interrupted, or is going on this moment.",
     cli_report},
    {"merge", "merge SHARD.kld... -o OUT.kld", "Join the run files of shards into one",
     "run --shard 1/3 of a scenario, 2/3 and 3/3, on three machines or one, make three files. "
     "They\n"
     "are joined into the file that one run would have made: its report has the same bytes. Files\n"
     "of different manifests, windows that are missing or in two files, arms that were dropped,\n"
     "and damaged files are refused, with what is wrong; a partial file is never made.",
     cli_merge},
    {"inspect",
     "inspect MODEL.gguf [OPTION]...\n"
     "       kldscope inspect --diff A.gguf B.gguf [OPTION]...",
     "Show what a model file holds, or how two differ",
     "Architecture, metadata, tensors with their types and shapes, bits a weight. With --diff:\n"
     "the keys, tokens and tensors of A that differ in B; of tensors of one shape how far their\n"
     "values are apart, as the root of the mean square of B - A over that of A. In JSON a text "
     "that\n"
     "is no UTF-8 stands as {\"hex\": \"...\"}.",
     cli_inspect},
    {"tokens", "tokens MODEL.gguf [OPTION]...", "Show the token ids of a text",
     "Reads bytes from standard input, or from --file, and prints their ids on one line.",
     cli_tokens},
    {"logits", "logits MODEL.gguf --ids FILE | --file TEXT -o OUT [OPTION]...",
     "Write a model's logits for a text",
     "Feeds the ids as they are from position 0 and writes every position's logits as rows of\n"
     "little-endian f32: raw (positions, vocabulary), or NumPy's format where OUT ends in .npy.",
     cli_logits},
    {"quantize",
     "quantize MODEL.gguf PRESET -o OUT.gguf [OPTION]...\n"
     "       kldscope quantize SCENARIO.lua ARM -o OUT.gguf [OPTION]...",
     "Write an arm as a GGUF file",
     "The file has the model's metadata and the tensor bytes that llama-quantize would write.\n"
     "Types of very few bits want an importance matrix (--imatrix).",
     cli_quantize},
    {"imatrix",
     "imatrix SCENARIO.lua -o OUT.gguf [OPTION]...\n"
     "       kldscope imatrix MODEL.gguf --corpus FILE... -o OUT.gguf [OPTION]...",
     "Make an importance matrix from a corpus",
     "Runs the reference over the corpus and sums, for every matrix of its layers, the squares of\n"
     "what it multiplies, by column: what quantize --imatrix, a scenario's imatrix and\n"
     "llama-quantize take.",
     cli_imatrix},
    {"cache", "cache [OPTION]...", "Show, limit or clear the cache of quantized arms",
     "Tensors that arms were quantized to are kept, so that the next run over them begins at "
     "once.\n"
     "What was used longest ago goes first when the limit is reached. run --no-cache, or\n"
     "KLDSCOPE_CACHE=off, neither uses nor fills it.",
     cli_cache},
    {"doctor", "doctor [OPTION]...", "Show what this machine has and what would be used",
     "CPU paths, GPU, memory, terminal, versions: what would be used and why.", cli_doctor},
    {"bench", "bench [GROUP] [OPTION]...", "Measure the kernels on this machine",
     "Each line is a kernel's speed beside the limit it is held against, measured in this run. It\n"
     "takes some minutes; a group alone takes less:\n"
     "  limits      multiply-adds in registers, and memory: what the others are held against\n"
     "  types       decoding and quantizing, for each type of tensor\n"
     "  matmul      products, for each type and the widths of real models\n"
     "  attention   one layer's, over a window\n"
     "  rows        norms, activations, rotations\n"
     "  ruler       comparing two rows of logits\n"
     "  tokenizer   text to tokens\n"
     "  pipeline    whole runs, and the memory they take\n"
     "  gpu         the output head on a GPU",
     cli_bench},
};

#define N_COMMANDS (sizeof commands / sizeof *commands)

static int print_help(void)
{
    printf("kldscope, the live quantization ruler: how far do quantized models move from their "
           "reference?\n\n"
           "Usage: kldscope                   the embedded quickstart\n"
           "       kldscope SCENARIO.lua      a scenario of yours\n"
           "       kldscope COMMAND ...\n\nCommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    printf("\nkldscope COMMAND --help tells more; kldscope --version tells which this is.\n");
    return cli_finish_output();
}

static const struct cli_command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* A first word that is no command: a scenario or model to run, or a slip. */
static bool looks_like_file(const char *word)
{
    return strchr(word, '/') || strchr(word, '.');
}

static int unknown(const char *word)
{
    const char *names[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    const char *near = ks_nearest_word(word, names, N_COMMANDS);
    if (near)
        cli_say("unknown command \"%s\", did you mean %s?", word, near);
    else
        cli_say("unknown command \"%s\"; kldscope --help lists them", word);
    return CLI_USAGE;
}

/* A standard stream that is closed would be the number of the next file opened: results would be
 * written into a model. It becomes one that fails at each use instead. */
static int hold_standard_streams(void)
{
    static const int wrong_way[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", wrong_way[fd]) != fd)
            return -1;
    return 0;
}

int main(int argc, char **argv)
{
    if (hold_standard_streams())
        return CLI_INTERNAL;
    setlocale(LC_CTYPE, "");
    cli_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    cli_catch_faults();
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
                     strcmp(argv[1], "help") == 0))
        return print_help();
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        printf("kldscope " KS_VERSION "\n");
        return cli_finish_output();
    }
    const struct cli_command *command = argc > 1 ? find(argv[1]) : NULL;
    if (command)
        return command->run(command, argc - 1, argv + 1);
    if (argc > 1 && argv[1][0] != '-' && !looks_like_file(argv[1]))
        return unknown(argv[1]);
    return cli_run(find("run"), argc, argv);
}
