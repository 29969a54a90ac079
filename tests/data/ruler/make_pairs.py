"""Expected values for pairs of logit rows, at 60 digits. See README.md."""

from mpmath import exp, fsum, log, mp, mpf, nstr

mp.dps = 60
MASK = (1 << 64) - 1


def splitmix(state):
    """Yields SplitMix64's sequence for a seed."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def signed24(u):
    """The top 24 bits as -2^23 .. 2^23 - 1: exact in f32 under any power of two."""
    return (u >> 40) - (1 << 23)


def draw(seed, width, spread, noise):
    """Logits in [-2^spread, 2^spread) and the same on a grid of 2^noise, disturbed."""
    source = splitmix(seed)
    reference, arm = [], []
    for _ in range(width):
        r = signed24(next(source)) >> 12  # 12 bits, so that sums below are exact in f32
        n = signed24(next(source)) >> 15
        reference.append(mpf(r) * mpf(2) ** (spread - 11))
        arm.append(reference[-1] + mpf(n) * mpf(2) ** (noise - 8))
    return reference, arm, next(source) % width


def order(row):
    return sorted(range(len(row)), key=lambda i: (-row[i], i))


def measure(reference, arm, target):
    lse_r = log(fsum(exp(l) for l in reference))
    lse_a = log(fsum(exp(l) for l in arm))
    p = [l - lse_r for l in reference]
    q = [l - lse_a for l in arm]
    kld = fsum(exp(a) * (a - b) for a, b in zip(p, q))
    reverse = fsum(exp(b) * (b - a) for a, b in zip(p, q))
    entropy = -fsum(exp(a) * a for a in p)
    top_r, top_a = order(reference), order(arm)
    return [nstr(v, 25) for v in (kld, reverse, p[target], q[target], entropy)] + [
        str(top_r.index(target) + 1),
        str(top_a.index(target) + 1),
        str(len(set(top_r[:10]) & set(top_a[:10]))),
    ]


def main():
    print("# seed width spread noise target kld reverse logprob_ref logprob_arm entropy"
          " rank_ref rank_arm overlap")
    widths = [64, 65, 79, 96, 127, 128, 200, 256, 257, 311, 400, 511, 512]
    # (spread, noise): flat rows, peaked ones, and those where most of e^x underflows
    cases = [(2, -3), (3, -6), (3, -1), (4, -4), (4, 1), (10, 3)]
    seed = 1
    for width in widths:
        for spread, noise in cases[seed % 2::2]:
            reference, arm, target = draw(seed, width, spread, noise)
            print(seed, width, spread, noise, target, *measure(reference, arm, target))
            seed += 1


main()
