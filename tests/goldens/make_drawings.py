#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_drawings.py FILE.safetensors: a diffusion transformer written anew in PyTorch, as DiT has it (Peebles and Xie, ICCV'23), its loss of a rectified flow, and all gradients, in float64. Noise, times and forgotten
classes are drawn here by Philox in Python, so that the file also says what a seed, a step and a place make. Names of tensors are those of make_goldens.py."""
import math
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

MASK = 0xFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15


def philox(seed, name, counter):
    c = [counter & MASK, counter >> 32 & MASK, name & MASK, name >> 32]
    k = [seed & MASK, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & MASK, (p >> 32) ^ c[3] ^ k[1], p & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


class Stream:
    def __init__(self, name, seed, step):
        h = 0xCBF29CE484222325
        for c in name.encode():
            h = (h ^ c) * 0x100000001B3 & (1 << 64) - 1
        self.seed, self.name = seed, h ^ (step + 1) * GOLDEN & (1 << 64) - 1

    def uniform(self, i):
        return (philox(self.seed, self.name, i // 4)[i % 4] >> 8) * 2.0**-24

    def normal(self, i):
        b = philox(self.seed, self.name, i // 2)
        u, v = (b[i % 2 * 2] + 1) * 2.0**-32, b[i % 2 * 2 + 1] * 2.0**-32
        return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


def linear(P, at, x):
    return F.linear(x, P[at + "weight"], P[at + "bias"])


def modulate(x, shift, scale):
    return F.layer_norm(x, (x.shape[-1],), eps=1e-6) * (1 + scale[:, None]) + shift[:, None]


def attention(P, at, x, heads):
    B, L, W = x.shape
    q, k, v = linear(P, at + "qkv.", x).reshape(B, L, 3, heads, W // heads).permute(2, 0, 3, 1, 4)
    return linear(P, at + "out.", F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, L, W))


def block(P, at, x, c, heads):
    shift, scale, gate = linear(P, at + "attention.modulation.", F.silu(c)).chunk(3, 1)
    x = x + gate[:, None] * attention(P, at + "attention.", modulate(x, shift, scale), heads)
    shift, scale, gate = linear(P, at + "mlp.modulation.", F.silu(c)).chunk(3, 1)
    hidden = F.gelu(linear(P, at + "mlp.up.", modulate(x, shift, scale)), approximate="tanh")
    return x + gate[:, None] * linear(P, at + "mlp.down.", hidden)


def patches(x, patch):
    B, C, S, _ = x.shape
    return x.reshape(B, C, S // patch, patch, S // patch, patch).permute(0, 2, 4, 1, 3, 5).reshape(B, -1, C * patch * patch)


def positions(across, width):
    q = width // 4
    angle = torch.arange(across)[:, None].double() * 10000.0 ** (-torch.arange(q).double() / q)
    one = torch.cat([angle.sin(), angle.cos()], 1)
    return torch.cat([one[:, None].expand(-1, across, -1), one[None].expand(across, -1, -1)], 2).reshape(across * across, width)


def velocity(P, rows, across, time, told, layers, heads, heard=None):
    angle = 1000 * time[:, None] * 10000.0 ** (-torch.arange(128).double() / 128)
    c = linear(P, "embed.time.down.", F.silu(linear(P, "embed.time.up.", torch.cat([angle.cos(), angle.sin()], 1))))
    c = c + P["embed.class"][told]
    if heard is not None:
        c = c + F.linear(heard, P["embed.heard.weight"])
    x = linear(P, "embed.patch.", rows) + positions(across, c.shape[1])
    for i in range(layers):
        x = block(P, f"blocks.{i}.", x, c, heads)
    shift, scale = linear(P, "last.modulation.", F.silu(c)).chunk(2, 1)
    return linear(P, "last.out.", modulate(x, shift, scale))


generator = torch.Generator().manual_seed(6)


def draw(*shape, scale=1.0):
    return (torch.randn(*shape, generator=generator) * scale).double()


def starts(shapes):
    return {n: draw(*s, scale=0.3 if len(s) == 1 else 0.7 / math.sqrt(s[-1])).float().double().requires_grad_() for n, s in shapes.items()}


def product(name, out, inputs):
    return {name + ".weight": (out, inputs), name + ".bias": (out,)}


def shapes_of_block(at, width, hidden):
    out = {}
    for each in [("attention.modulation", 3 * width, width), ("attention.qkv", 3 * width, width), ("attention.out", width, width), ("mlp.modulation", 3 * width, width), ("mlp.up", hidden, width), ("mlp.down", width, hidden)]:
        out |= product(at + each[0], each[1], each[2])
    return out


def with_gradients(name, P, y, dy):
    grown = torch.autograd.grad((y * dy).sum(), list(P.values()))
    found = {f"{name}/y": y.detach(), f"{name}/dy": dy}
    for (key, value), g in zip(P.items(), grown):
        found |= {f"{name}/w/{key}": value.detach(), f"{name}/g/{key}": g}
    return found


tensors = {}
# A block alone: the first row of each of three samples is its condition.
P = starts(shapes_of_block("", 12, 10))
x, dy = draw(3, 5, 12).float().double().requires_grad_(), draw(3, 5, 12).float().double()
y = torch.cat([x[:, :1], block(P, "", x[:, 1:], x[:, 0], 3)], 1)
tensors["block/dx"] = torch.autograd.grad((y * dy).sum(), x, retain_graph=True)[0].reshape(-1, 12)
tensors["block/x"] = x.detach().reshape(-1, 12)
tensors |= with_gradients("block", P, y.reshape(-1, 12), dy.reshape(-1, 12))

# A whole net and its loss: places 3 to 8 of step 2, a class less than none for one of them.
side, patch, channels, width, layers, heads, classes, seed, step, first, forgotten = 8, 4, 3, 16, 2, 2, 4, 11, 2, 3, 0.4
numbers, count = channels * patch * patch, 6
P = starts(product("embed.patch", width, numbers) | product("embed.time.up", width, 256) | product("embed.time.down", width, width) | {"embed.class": (classes + 1, width)}
           | shapes_of_block("blocks.0.", width, 24) | shapes_of_block("blocks.1.", width, 24) | product("last.modulation", 2 * width, width) | product("last.out", numbers, width))
pixels, own = draw(count, channels, side, side).float().double(), torch.tensor([0, 3, -1, 2, 1, 3])
places = range(first, first + count)
time = torch.tensor([Stream("time", seed, step).uniform(p) for p in places]).double()
forgets = [Stream("class", seed, step).uniform(p) < torch.tensor(forgotten).float().item() for p in places]
assert any(forgets) and not all(forgets)
told = torch.tensor([classes if f or c < 0 else c for f, c in zip(forgets, own.tolist())])
size = channels * side * side
noise = torch.tensor([[Stream("noise", seed, step).normal(p * size + i) for i in range(size)] for p in places]).float().double().reshape(count, -1, numbers)
clean = patches(pixels, patch)
noised = (1 - time[:, None, None]) * clean + time[:, None, None] * noise
said = velocity(P, noised, side // patch, time, told, layers, heads)
losses = ((said - (noise - clean)) ** 2).mean((1, 2)) * 0.2
tensors |= with_gradients("net", P, losses[:, None], draw(count, 1).float().double())
tensors |= {"net/pixels": pixels.float(), "net/classes": own.int(), "net/times": time.float(), "net/told": told.int()}
# What the net says of pictures that came noised.
given = draw(count, channels, side, side).float().double()
tensors |= {"velocity/pixels": given.float(), "velocity/y": velocity(P, patches(given, patch), side // patch, time, told, layers, heads).detach().reshape(-1, numbers)}
# A net that is fed: each of four samples hears the mean of the rows that enter it, and one hears none.
offsets, count, fed = [0, 2, 2, 6, 7], 4, 10
P = starts(product("embed.patch", width, numbers) | product("embed.time.up", width, 256) | product("embed.time.down", width, width) | {"embed.class": (1, width), "embed.heard.weight": (width, fed)}
           | shapes_of_block("blocks.0.", width, 24) | shapes_of_block("blocks.1.", width, 24) | product("last.modulation", 2 * width, width) | product("last.out", numbers, width))
pixels, x, dy = draw(count, channels, side, side).float().double(), draw(offsets[-1], fed).float().double().requires_grad_(), draw(count, 1).float().double()
heard = torch.stack([x[a:b].mean(0) if b > a else torch.zeros(fed).double() for a, b in zip(offsets, offsets[1:])])
clean, noise, time = patches(pixels, patch), noise[:count], time[:count]
noised = (1 - time[:, None, None]) * clean + time[:, None, None] * noise
said = velocity(P, noised, side // patch, time, torch.zeros(count).long(), layers, heads, heard)
losses = ((said - (noise - clean)) ** 2).mean((1, 2))[:, None] * 0.25
tensors["fed/dx"] = torch.autograd.grad((losses * dy).sum(), x, retain_graph=True)[0]
tensors |= {"fed/pixels": pixels.float(), "fed/x": x.detach()} | with_gradients("fed", P, losses, dy)
save_file({name: value.contiguous() if value.dtype != torch.float64 or "/y" in name or "/g/" in name or "/dx" in name else value.contiguous().float() for name, value in tensors.items()}, sys.argv[1])
