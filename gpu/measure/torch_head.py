#!/usr/bin/env python3
"""What a GPU's own libraries do for the work of one window of kldscope, to hold ours against.

The logits of a reference and an arm, two plain f32 matrix products (TF32 off), and per position
what the ruler wants of them in f64: log-sum-exps, the target's log-probabilities, entropy, both
divergences, ranks and both top tens. Needs PyTorch with CUDA. Each line is a name and a number; the
last is one JSON object of them all.

usage: torch_head.py [POSITIONS [VOCABULARY [HIDDEN]]]      (512 151936 1024)
"""
import json
import sys
import time

import torch

WARM_S = 0.2  # an idle GPU lowers its clock
ROUNDS = 20


def median_s(work):
    """The median of some rounds, each waited for, after a warm-up."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < WARM_S:
        work()
        torch.cuda.synchronize()
    took = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - begin)
    return sorted(took)[ROUNDS // 2]


def measure_rows(reference, arm, targets):
    """A row of numbers for each position, all that comes back to the host."""
    r, a = reference.double(), arm.double()
    log_p, log_q = torch.log_softmax(r, 1), torch.log_softmax(a, 1)
    p, q = log_p.exp(), log_q.exp()
    apart = log_p - log_q
    at = targets[:, None]
    columns = [
        (p * apart).sum(1),
        -(q * apart).sum(1),
        -(p * log_p).sum(1),
        log_p.gather(1, at)[:, 0],
        log_q.gather(1, at)[:, 0],
        (reference > reference.gather(1, at)).sum(1),
        (arm > arm.gather(1, at)).sum(1),
    ]
    tops = torch.cat([reference.topk(10, 1).indices, arm.topk(10, 1).indices], 1)
    return torch.stack([c.double() for c in columns], 1).cpu(), tops.cpu()


def main():
    sizes = [int(word) for word in sys.argv[1:]]
    positions, vocabulary, hidden = sizes + [512, 151936, 1024][len(sizes):]
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(1)
    device = torch.device("cuda")
    heads = [torch.randn(vocabulary, hidden, device=device) * 0.05 for _ in range(2)]
    x = [torch.randn(positions, hidden, device=device) for _ in range(2)]
    logits = [torch.empty(positions, vocabulary, device=device) for _ in range(2)]
    targets = torch.randint(vocabulary, (positions,), device=device)
    found = {}

    def tell(name, value, unit):
        found[name] = value
        print(f"{name:36} {value:12.5g} {unit}", flush=True)

    def products():
        for i in range(2):
            torch.mm(x[i], heads[i].t(), out=logits[i])

    def window():
        products()
        return measure_rows(logits[0], logits[1], targets)

    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    one = median_s(lambda: torch.mm(x[0], heads[0].t(), out=logits[0]))
    tell("f32 product us", one * 1e6, "us")
    tell("f32 product TFLOP/s", 2e-12 * positions * vocabulary * hidden / one, "TFLOP/s")
    tell("sums us", median_s(lambda: measure_rows(logits[0], logits[1], targets)) * 1e6, "us")
    tell("both heads and sums us", median_s(window) * 1e6, "us")
    source = torch.empty(1 << 30, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copy = median_s(lambda: target.copy_(source))
    tell("copy GB/s", 2e-9 * source.numel() / copy, "GB/s")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
