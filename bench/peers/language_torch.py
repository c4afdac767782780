#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of bench_language and bench_seeing: one training step of a Llama-like language model in plain PyTorch, as a good user would write it; of
model say-small one that sees, with CLIP's eye and two products, as LLaVA has it.

Modes: eager, samples padded to the longest, as the transformers package does it; compile, the same compiled; packed, rows of all samples one after
the other and attention sample by sample, so that nothing is computed for padding. Prints one JSON line. --paced: after the warm-up prints "ready",
then takes one step for each line on standard input and prints its seconds, so that alternate.py can take turns with another program.
FLOPs: 6 x (weights that multiply) x rows + 12 x layers x width x sum(len^2), of rows that are not padding.
"""
import argparse, json, resource, statistics, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F

MODELS = {"lm-small": dict(vocab=8192, context=600, width=512, layers=8, heads=8, hidden=1408)}
MODELS["say-small"] = dict(MODELS["lm-small"], eye=dict(image=64, patch=8, width=384, layers=6, heads=6))


def lengths(batch):
    return [64 + (s * 197) % 537 for s in range(batch)]


def pictures_of(sample, length):
    return min(sample % 4, (length - 16) // 64)


def turn(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-high, low], -1) * sin


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        w, self.h = c["width"], c["heads"]
        self.n1, self.n2 = nn.RMSNorm(w, 1e-6), nn.RMSNorm(w, 1e-6)
        self.qkv, self.out = nn.Linear(w, 3 * w, bias=False), nn.Linear(w, w, bias=False)
        self.wide, self.down = nn.Linear(w, 2 * c["hidden"], bias=False), nn.Linear(c["hidden"], w, bias=False)

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, x, cos, sin, counts):
        w = x.shape[-1]
        q, k, v = self.qkv(self.n1(x)).unflatten(-1, (3, self.h, w // self.h)).movedim(-3, 0)
        if counts is None:  # (batch, length, heads, width)
            q, k, v = (each.transpose(1, 2) for each in (q, k, v))
            a = self.attend(turn(q, cos, sin), turn(k, cos, sin), v).transpose(1, 2).flatten(-2)
        else:  # (rows, heads, width)
            q, k = turn(q, cos, sin), turn(k, cos, sin)
            parts = [self.attend(*(each[None].transpose(1, 2) for each in some)).transpose(1, 2)[0] for some in zip(q.split(counts), k.split(counts), v.split(counts))]
            a = torch.cat(parts).flatten(-2)
        x = x + self.out(a)
        gate, up = self.wide(self.n2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class EyeBlock(nn.Module):
    def __init__(self, w, heads):
        super().__init__()
        self.h = heads
        self.n1, self.n2 = nn.LayerNorm(w), nn.LayerNorm(w)
        self.qkv, self.out = nn.Linear(w, 3 * w), nn.Linear(w, w)
        self.up, self.down = nn.Linear(w, 4 * w), nn.Linear(4 * w, w)

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).unflatten(-1, (3, self.h, x.shape[-1] // self.h)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Eye(nn.Module):
    """(pictures, 3, side, side) to the rows that words see, of their width."""

    def __init__(self, c, out):
        super().__init__()
        w = c["width"]
        self.patch = nn.Conv2d(3, w, c["patch"], c["patch"], bias=False)
        self.first = nn.Parameter(0.02 * torch.randn(1, 1, w))
        self.position = nn.Parameter(0.02 * torch.randn(1, (c["image"] // c["patch"]) ** 2 + 1, w))
        self.pre = nn.LayerNorm(w)
        self.blocks = nn.ModuleList([EyeBlock(w, c["heads"]) for _ in range(c["layers"])])
        self.glue = nn.Sequential(nn.Linear(w, out), nn.GELU(), nn.Linear(out, out))

    def forward(self, pixels):
        x = self.patch(pixels).flatten(2).transpose(1, 2)
        x = self.pre(torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.position)
        for block in self.blocks:
            x = block(x)
        return self.glue(x[:, 1:])


class Talk(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.eye = Eye(c["eye"], c["width"]) if "eye" in c else None
        self.token = nn.Embedding(c["vocab"], c["width"])
        self.blocks = nn.ModuleList([Block(c) for _ in range(c["layers"])])
        self.norm, self.head = nn.RMSNorm(c["width"], 1e-6), nn.Linear(c["width"], c["vocab"], bias=False)

    def forward(self, ids, targets, cos, sin, counts, pixels=None):
        x = self.token(ids.clamp(min=0))
        if pixels is not None:  # rows without a token are those of pictures
            x = x.masked_scatter((ids < 0)[..., None], self.eye(pixels).to(x.dtype))
        for block in self.blocks:
            x = block(x, cos, sin, counts)
        return F.cross_entropy(self.head(self.norm(x)).float().flatten(0, -2), targets.flatten(), ignore_index=-100)


def flops(c, counts):
    w, rows = c["width"], sum(counts)
    products = c["layers"] * (4 * w * w + 3 * w * c["hidden"]) + w * c["vocab"]
    total = 6 * products * rows + 12 * c["layers"] * w * sum(n * n for n in counts)
    if "eye" in c:
        e, shown = c["eye"], sum(pictures_of(s, n) for s, n in enumerate(counts))
        v, r = e["width"], (e["image"] // e["patch"]) ** 2 + 1
        weights = e["layers"] * 12 * v * v + 3 * e["patch"] ** 2 * v + v * w + w * w
        total += shown * (6 * weights * r + 12 * e["layers"] * v * r * r)
    return total


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="lm-small", choices=MODELS)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--precision", default="fp32", choices=["fp32", "bf16"])
    p.add_argument("--mode", default="eager", choices=["eager", "compile", "packed"])
    p.add_argument("--device", default="cpu")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--warmup", type=int, default=3)
    p.add_argument("--paced", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    c = MODELS[a.model]
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    model = Talk(c).to(a.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.1, fused=True)
    run = torch.compile(model) if a.mode == "compile" else model
    counts = lengths(a.batch)
    samples = [torch.randint(0, c["vocab"], (n,)) for n in counts]
    asked = [torch.cat([s[1:], torch.tensor([-100])]) for s in samples]
    pixels = None
    if "eye" in c:
        seen = 0
        for s, (ids, targets) in enumerate(zip(samples, asked)):
            shown = pictures_of(s, len(ids))
            seen += shown
            ids[: shown * 64] = -1
            targets[: len(ids) - (len(ids) - shown * 64) // 2 - 1] = -100
        pixels = torch.randn(seen, 3, c["eye"]["image"], c["eye"]["image"])
    half = c["width"] // c["heads"] // 2
    angle = torch.outer(torch.arange(c["context"]).float(), 10000.0 ** (-torch.arange(half).float() / half))
    cos, sin = angle.cos().repeat(1, 2), angle.sin().repeat(1, 2)
    if a.mode == "packed":
        ids, targets = torch.cat(samples), torch.cat(asked)
        cos, sin = (torch.cat([each[:n] for n in counts])[:, None] for each in (cos, sin))
    else:  # A causal mask sees no padding that comes behind.
        ids = nn.utils.rnn.pad_sequence(samples, batch_first=True)
        targets = nn.utils.rnn.pad_sequence(asked, batch_first=True, padding_value=-100)
        cos, sin, counts_given = cos[: ids.shape[1]], sin[: ids.shape[1]], None
    if a.mode == "packed":
        counts_given = counts
    ids, targets, cos, sin = (each.to(a.device) for each in (ids, targets, cos, sin))
    more = () if pixels is None else (pixels.to(a.device),)
    sync = torch.cuda.synchronize if a.device == "cuda" else (lambda: None)

    def step():
        with torch.autocast(a.device, torch.bfloat16, enabled=a.precision == "bf16"):
            loss = run(ids, targets, cos, sin, counts_given, *more)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    for _ in range(a.warmup):
        step()
    times = []
    if a.paced:
        print("ready", flush=True)
    for _ in sys.stdin if a.paced else range(a.steps):
        sync()
        began = time.perf_counter()
        loss = step()
        sync()
        times.append(time.perf_counter() - began)
        if a.paced:
            print(times[-1], flush=True)
    s = statistics.median(times)
    memory = torch.cuda.max_memory_allocated() if a.device == "cuda" else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(dict(peer="pytorch " + torch.__version__, model=a.model, device=a.device, precision=a.precision, mode=a.mode, batch=a.batch,
                          threads=a.threads, seconds=round(s, 5), samples_per_second=round(a.batch / s, 1), tflops=round(flops(c, counts) / s / 1e12, 4),
                          gemm_tflops=0, peak_bytes=memory, idle_bytes=idle, loss=round(loss.item(), 4))))


if __name__ == "__main__":
    main()
