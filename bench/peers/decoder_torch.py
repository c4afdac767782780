#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of bench_gpu_decoder: a stack of decoder blocks with about a billion weights in plain PyTorch, as a good user would write it.

20 blocks of width 2,048, 16 heads of 128, causal, rotary positions, layer norms, GELU; 2,048 rows a sample; forward, backward from a given
gradient of the output, clipping and fused AdamW under bf16 autocast. Prints one JSON line. --paced: after the warm-up prints "ready", then takes
one step for each line on standard input and prints its seconds, so that alternate.py can take turns with another program.
FLOPs: 6 x (weights that multiply) x rows + 12 x layers x width x sum(len^2) / 2, as the mask is causal; no credit for recomputation.
"""
import argparse, json, statistics, sys, time
import torch
import torch.nn as nn
import torch.nn.functional as F

SIZES = {"decoder": dict(width=2048, heads=16, layers=20, length=2048), "smoke": dict(width=32, heads=2, layers=2, length=8)}


def rotary(length, width, device):
    angle = torch.outer(torch.arange(length, device=device).float(), 10000.0 ** (-torch.arange(0, width, 2, device=device).float() / width))
    return torch.cat([angle.cos(), angle.cos()], 1), torch.cat([angle.sin(), angle.sin()], 1)


def turn(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return (x * cos + torch.cat([-high, low], -1) * sin).to(x.dtype)


class Block(nn.Module):
    def __init__(self, w, h):
        super().__init__()
        self.h = h
        self.n1, self.n2 = nn.LayerNorm(w), nn.LayerNorm(w)
        self.qkv, self.out = nn.Linear(w, 3 * w), nn.Linear(w, w)
        self.up, self.down = nn.Linear(w, 4 * w), nn.Linear(4 * w, w)

    def forward(self, x, cos, sin):
        b, t, w = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.h, w // self.h).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(turn(q, cos, sin), turn(k, cos, sin), v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, w))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Stack(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.blocks = nn.ModuleList([Block(c["width"], c["heads"]) for _ in range(c["layers"])])

    def forward(self, x, cos, sin):
        for block in self.blocks:
            x = block(x, cos, sin)
        return x


def flops(c, batch):
    rows = batch * c["length"]
    return c["layers"] * (6 * rows * 12 * c["width"] ** 2 + 12 * c["width"] * rows * c["length"] / 2)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="decoder", choices=SIZES)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--precision", default="bf16", choices=["fp32", "bf16"])
    p.add_argument("--mode", default="compile", choices=["eager", "compile"])
    p.add_argument("--device", default="cuda")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--steps", type=int, default=10)
    p.add_argument("--warmup", type=int, default=4)
    p.add_argument("--paced", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    if a.device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    c = SIZES[a.model]
    m = Stack(c).to(a.device)
    opt = torch.optim.AdamW(m.parameters(), lr=1e-5, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.2, fused=True)
    f = torch.compile(m) if a.mode == "compile" else m
    x = torch.randn(a.batch, c["length"], c["width"], device=a.device)
    dy = torch.randn_like(x) / (a.batch * c["length"])
    cos, sin = rotary(c["length"], c["width"] // c["heads"], a.device)
    sync = torch.cuda.synchronize if a.device == "cuda" else (lambda: None)

    def step():
        with torch.autocast(a.device, torch.bfloat16, enabled=a.precision == "bf16"):
            y = f(x, cos, sin)
        opt.zero_grad(set_to_none=True)
        y.backward(dy.to(y.dtype))
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()

    for _ in range(a.warmup):
        step()
    times = []
    if a.paced:
        print("ready", flush=True)
    for _ in (sys.stdin if a.paced else range(a.steps)):
        sync()
        began = time.perf_counter()
        step()
        sync()
        times.append(time.perf_counter() - began)
        if a.paced:
            print(times[-1], flush=True)
    s = statistics.median(times)
    memory = torch.cuda.max_memory_allocated() if a.device == "cuda" else 0
    print(json.dumps(dict(peer="pytorch " + torch.__version__, model=a.model, device=a.device, precision=a.precision, mode=a.mode, batch=a.batch,
                          weights=sum(each.numel() for each in m.parameters()), seconds=round(s, 5),
                          tokens_per_second=round(a.batch * c["length"] / s), tflops=round(flops(c, a.batch) / s / 1e12, 3), peak_bytes=memory,
                          idle_bytes=0)))


if __name__ == "__main__":
    main()
