#!/usr/bin/env python3
"""Renders conversations with the models' own templates, for what the Lua formats must give.

usage: make_expected.py FOLDER   (writes expected.json here)

FOLDER has the published templates, under the names below. They are run as transformers runs them:
jinja2, trim_blocks and lstrip_blocks, no generation prompt, bos_token empty (it is the vocabulary's
to add), strftime_now fixed to the day that the format's file tells. Needs jinja2.
"""
import json
import os
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

PLAIN = [("user", "Name a colour."), ("assistant", "Blue.")]
CONVERSATIONS = {
    "plain": PLAIN,
    "system": [("system", "Be brief.")] + PLAIN + [("user", "Another"), ("assistant", "Red café")],
    "turns": PLAIN + [("user", "Another?"), ("assistant", "Green,\n\nof course.")],
    "spaces": [("user", "  Two spaces \n"), ("assistant", "\n\n lines \t\n")],
    "open": PLAIN + [("user", "And now?")],
    "thoughts": [("user", "6 * 7?"), ("assistant", "<think>\nSix sevens.\n</think>\n\n42"),
                 ("user", "Sure?"), ("assistant", "<think>\n\nAgain: 42.\n\n</think>\n\nYes.")],
    "lone thought": [("user", "1?"), ("assistant", "a </think> b"), ("user", "2?"),
                     ("assistant", "c <think> d </think> e </think>\n f")],
    "no_think": [("system", "Short. /no_think ")] + PLAIN,
    "override": [("system", "Only this. /system_override")] + PLAIN,
    "thought channel": [("user", "6 * 7?"), ("assistant", "<|channel>thought\nhm<channel|> 42 "),
                        ("user", "Sure?"), ("assistant", "Yes.")],
}
MOST = ["plain", "turns", "spaces"]

# Format: what ends a turn, the day, and which template renders which conversations.
FORMATS = {
    "chatml": ("<|im_end|>", "", [("LFM2-8B-A1B", MOST + ["system", "open"]),
                                  ("Qwen-Qwen2.5-7B-Instruct", ["system"])]),
    "llama3": ("<|eot_id|>", "", [("Llama-3", MOST + ["system"])]),
    "llama3.1": ("<|eot_id|>", "26 Jul 2024",
                 [("meta-llama-Llama-3.1-8B-Instruct", MOST + ["system", "open"]),
                  ("meta-llama-Llama-3.2-3B-Instruct", MOST + ["system", "open"]),
                  ("meta-llama-Llama-3.3-70B-Instruct", ["system"])]),
    "gemma": ("<end_of_turn>", "", [("gemma-7b-it", MOST), ("google-gemma-2-2b-it", MOST + ["open"]),
                                    ("google-gemma-3-4b-it", MOST + ["system", "open"])]),
    "gemma4": ("<turn|>", "", [("google-gemma-4-31B-it",
                                MOST + ["system", "open", "thought channel"])]),
    "mistral-v1": ("</s>", "", [("Mistral-7B-Instruct-v0.2", MOST + ["system", "open"])]),
    "mistral-v3": ("</s>", "", [("Mistral-Large-Instruct-2407", MOST + ["open"])]),
    "mistral-tekken": ("</s>", "", [("mistralai-Mistral-Nemo-Instruct-2407", MOST + ["open"])]),
    "mistral-v7": ("</s>", "", [("Mistral-Large-Instruct-2411", MOST + ["system", "open"])]),
    "mistral-v7-tekken": ("</s>", "", [("Mistral-Small-3.2-24B-Instruct-2506", ["system"]),
                                       ("mistralai-Ministral-3-14B-Reasoning-2512", ["system"])]),
    "phi3": ("<|end|>", "", [("microsoft-Phi-3.5-mini-instruct", MOST + ["system", "open"]),
                             ("Phi-3-mini", MOST), ("Phi-3-medium", MOST)]),
    "phi4-mini": ("<|end|>", "", [("Phi-4-mini-instruct", MOST + ["system", "open"])]),
    "phi4": ("<|im_end|>", "", [("phi-4", MOST + ["system"])]),
    "granite": ("<|end_of_text|>", "", [("ibm-granite-granite-3.3-2B-Instruct", ["system"]),
                                        ("granite-3.0-8b-instruct", MOST + ["system", "open"])]),
    "qwen3": ("<|im_end|>", "", [("Qwen-Qwen3-0.6B",
                                  MOST + ["system", "open", "thoughts", "lone thought"])]),
    "qwen3.5": ("<|im_end|>", "", [("Qwen3.5-4B",
                                    MOST + ["system", "open", "thoughts", "lone thought"])]),
    "smollm3": ("<|im_end|>", "08 July 2025",
                [("SmolLM3-3B", MOST + ["system", "open", "no_think", "override", "thoughts"])]),
    "harmony": ("<|return|>", "2025-08-05", [("openai-gpt-oss-120b", MOST + ["system", "open"])]),
}


# What some templates put behind every conversation, asked for an answer or not.
PROMPTS = {"Llama-3": "<|start_header_id|>assistant<|end_header_id|>\n\n"}


class Generation(jinja2.ext.Extension):
    """transformers' own block around what the assistant says."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_all"), [], [], body).set_lineno(line)

    def _all(self, caller):
        return caller()


def refuse(why):
    raise jinja2.exceptions.TemplateError(why)


def render(template, messages, date, eos):
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.globals.update(raise_exception=refuse, strftime_now=lambda _: date)
    return env.from_string(template).render(messages=messages, add_generation_prompt=False,
                                            bos_token="", eos_token=eos)


def main():
    out = {"conversations": {}, "formats": {}}
    for name, turns in CONVERSATIONS.items():
        out["conversations"][name] = [{"role": r, "content": c} for r, c in turns]
    for name, (end, date, templates) in FORMATS.items():
        cases = []
        for template, conversations in templates:
            with open(os.path.join(sys.argv[1], template + ".jinja")) as f:
                text = f.read()
            for conversation in conversations:
                messages = out["conversations"][conversation]
                eos = "</s>" if name.startswith("mistral") else ""
                rendered = render(text, messages, date, eos).removesuffix(PROMPTS.get(template, "\0"))
                cases.append({"template": template, "conversation": conversation, "text": rendered})
        out["formats"][name] = {"end": end, "cases": cases}
    with open("expected.json", "w") as f:
        json.dump(out, f, indent=1, ensure_ascii=True)
        f.write("\n")


main()
