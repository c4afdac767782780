#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files of tests/data that the C++ tests compare with: outputs and all gradients by PyTorch, on the CPU, in float64.

    python3 tests/goldens/make_goldens.py [OUTPUT_FOLDER]

Inputs and weights are rounded to float32 first, so that what is stored is what was computed with. A case is a group of tensors:
  CASE/x, CASE/dy          input and the gradient of the output
  CASE/y, CASE/dx          output and the gradient of the input
  CASE/w/NAME, CASE/g/NAME parameters by their names in Motet, and their gradients
"""

import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.set_num_threads(1)
RAGGED = [3, 0, 5, 1]


class Random:
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape, scale=1.0):
        return (torch.randn(*shape, generator=self.generator) * scale).double()

    def integers(self, high, *shape):
        return torch.randint(0, high, shape, generator=self.generator)


def starts(shapes, random, gain=(), matrix=1.2, vector=0.3):
    """Weights far from their starting values: {name: shape} -> {name: tensor}."""
    made = {}
    for name, shape in shapes.items():
        scale = vector if len(shape) == 1 else 0.8 if name == "embed.token" else matrix / math.sqrt(shape[-1])
        value = random.normal(*shape, scale=scale).float().double()
        if "norm" in name.split(".")[-2:-1] and name.endswith("weight") or name in gain:
            value = (value + 1).float().double()
        made[name] = value.requires_grad_()
    return made


# ---- layers, each a function of (parameters, prefix, x) on the rows of a ragged batch ----


def linear(P, at, x):
    return F.linear(x, P[at + "weight"], P.get(at + "bias"))


def layer_norm(P, at, x, eps=1e-5):
    return F.layer_norm(x, (x.shape[-1],), P[at + "weight"], P[at + "bias"], eps)


def rms_norm(P, at, x, eps=1e-6):
    return F.rms_norm(x, (x.shape[-1],), P[at + "weight"], eps)


def activation(kind, x):
    return {
        "none": lambda: x,
        "gelu": lambda: F.gelu(x),
        "gelu_tanh": lambda: F.gelu(x, approximate="tanh"),
        "quick_gelu": lambda: x * torch.sigmoid(1.702 * x),
        "relu": lambda: F.relu(x),
        "silu": lambda: F.silu(x),
    }[kind]()


def rotate(x, base):
    """(heads, length, head width), first half with second half."""
    length, width = x.shape[-2:]
    angle = torch.arange(length).double()[:, None] * base ** (-2.0 * torch.arange(width // 2).double() / width)
    cosine, sine = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    low, high = x[..., : width // 2], x[..., width // 2 :]
    return torch.cat([low * cosine - high * sine, high * cosine + low * sine], -1)


def attend(q, k, v, q_lengths, lengths, heads, kv_heads, causal, rotary=0):
    def split(rows, count):
        return rows.reshape(rows.shape[0], count, -1).transpose(0, 1)

    outputs, q_at, at = [], 0, 0
    for q_length, length in zip(q_lengths, lengths):
        if q_length > 0:
            qs, ks, vs = split(q[q_at : q_at + q_length], heads), split(k[at : at + length], kv_heads), split(v[at : at + length], kv_heads)
            if rotary:
                qs, ks = rotate(qs, rotary), rotate(ks, rotary)
            ks, vs = (t.repeat_interleave(heads // kv_heads, 0) for t in (ks, vs))
            y = F.scaled_dot_product_attention(qs[None], ks[None], vs[None], is_causal=causal)[0]
            outputs.append(y.transpose(0, 1).reshape(q_length, -1))
        q_at, at = q_at + q_length, at + length
    return torch.cat(outputs)


def self_attention(P, at, x, lengths, heads, kv_heads=0, head_width=0, causal=False, rotary=0):
    kv_heads, head_width = kv_heads or heads, head_width or x.shape[-1] // heads
    q, k, v = linear(P, at + "qkv.", x).split([heads * head_width, kv_heads * head_width, kv_heads * head_width], -1)
    return linear(P, at + "out.", attend(q, k, v, lengths, lengths, heads, kv_heads, causal, rotary))


def attention_pool(P, at, x, lengths, heads, kv_heads=0, head_width=0):
    kv_heads, head_width = kv_heads or heads, head_width or x.shape[-1] // heads
    k, v = linear(P, at + "kv.", x).split([kv_heads * head_width] * 2, -1)
    q = P[at + "query"].expand(len(lengths), -1)
    return linear(P, at + "out.", attend(q, k, v, [1] * len(lengths), lengths, heads, kv_heads, False))


def mlp(P, at, x, kind="gelu"):
    return linear(P, at + "down.", activation(kind, linear(P, at + "up.", x)))


def gated_mlp(P, at, x):
    gate, up = linear(P, at + "gate_up.", x).chunk(2, -1)
    return linear(P, at + "down.", F.silu(gate) * up)


def projection(P, at, x):
    return F.normalize(linear(P, at, x), dim=-1)


def pick(x, lengths, last):
    ends = torch.tensor(lengths).cumsum(0)
    return x[ends - 1] if last else x[ends - torch.tensor(lengths)]


def mean(x, lengths):
    return torch.stack([part.mean(0) for part in x.split(lengths)])


def attention_shapes(width, heads, kv_heads=0, head_width=0, bias=True, at=""):
    kv_heads, head_width = kv_heads or heads, head_width or width // heads
    packed = (heads + 2 * kv_heads) * head_width
    shapes = {"qkv.weight": (packed, width), "qkv.bias": (packed,), "out.weight": (width, heads * head_width), "out.bias": (width,)}
    return {at + name: shape for name, shape in shapes.items() if bias or not name.endswith("bias")}


def pool_shapes(width, heads, kv_heads=0, at=""):
    key = (kv_heads or heads) * (width // heads)
    shapes = {"query": (1, width), "kv.weight": (2 * key, width), "kv.bias": (2 * key,), "out.weight": (width, width), "out.bias": (width,)}
    return {at + name: shape for name, shape in shapes.items()}


def norm_shapes(width, at="", rms=False):
    return {at + "weight": (width,)} if rms else {at + "weight": (width,), at + "bias": (width,)}


def linear_shapes(width, out, at="", bias=True):
    return {at + "weight": (out, width), **({at + "bias": (out,)} if bias else {})}


def mlp_shapes(width, hidden, at="", gated=False, bias=True):
    if gated:
        return {**linear_shapes(width, 2 * hidden, at + "gate_up.", bias), **linear_shapes(hidden, width, at + "down.", bias)}
    return {**linear_shapes(width, hidden, at + "up."), **linear_shapes(hidden, width, at + "down.")}


def layer_cases():
    """name -> (shapes, input width, function(parameters, x))"""
    cases = {}
    for kind in ["none", "gelu", "gelu_tanh", "quick_gelu", "relu", "silu"]:
        cases["linear_" + kind] = (linear_shapes(7, 5), 7, lambda P, x, kind=kind: activation(kind, linear(P, "", x)))
        if kind != "none":
            cases["activation_" + kind] = ({}, 9, lambda P, x, kind=kind: activation(kind, x))
    cases["layer_norm"] = (norm_shapes(9), 9, lambda P, x: layer_norm(P, "", x))
    cases["rms_norm"] = (norm_shapes(9, rms=True), 9, lambda P, x: rms_norm(P, "", x))
    for name, options in {
        "attention": dict(width=12, heads=3),
        "attention_causal": dict(width=12, heads=3, causal=True),
        "attention_grouped": dict(width=12, heads=6, kv_heads=2, bias=False),
        "attention_rotary": dict(width=8, heads=2, kv_heads=1, causal=True, rotary=100.0),
        "attention_25_heads": dict(width=16, heads=25, head_width=3),
    }.items():
        shapes = {key: options[key] for key in ("width", "heads", "kv_heads", "head_width", "bias") if key in options}
        arguments = {key: value for key, value in options.items() if key not in ("width", "bias")}
        cases[name] = (attention_shapes(**shapes), options["width"], lambda P, x, a=arguments: self_attention(P, "", x, RAGGED, **a))
    cases["mlp"] = (mlp_shapes(7, 19), 7, lambda P, x: mlp(P, "", x))
    cases["gated_mlp"] = (mlp_shapes(7, 11, gated=True), 7, lambda P, x: gated_mlp(P, "", x))
    cases["residual"] = (
        {**norm_shapes(12, "norm."), **attention_shapes(12, 3)},
        12,
        lambda P, x: x + self_attention(P, "", layer_norm(P, "norm.", x), RAGGED, 3),
    )
    cases["projection"] = (linear_shapes(7, 5, bias=False), 7, lambda P, x: projection(P, "", x))
    full = [length for length in RAGGED if length > 0]
    cases["pick_first"] = (norm_shapes(8, "norm."), 8, lambda P, x: layer_norm(P, "norm.", pick(x, full, False)))
    cases["pick_last"] = (norm_shapes(8, "norm."), 8, lambda P, x: layer_norm(P, "norm.", pick(x, full, True)))
    cases["mean_pool"] = (norm_shapes(8, "norm."), 8, lambda P, x: mean(layer_norm(P, "norm.", x), full))
    cases["attention_pool"] = (pool_shapes(8, 2), 8, lambda P, x: attention_pool(P, "", x, full, 2))
    return cases


def errors_of_bf16(P, function, draws=16):
    """How far gradients by PyTorch's own autocast to bfloat16 lie from those in float64, tensor by tensor: the most that it reaches at these weights and
    at `draws` neighbours, 1 % away. One rounding says little: from neighbour to neighbour the error of a small tensor changes by a factor of four.
    `function` takes parameters and the type to compute in to a number."""
    random, most = Random(0), {}
    for draw in range(1 + draws):
        moved = {key: (value.detach() * (1 + random.normal(*value.shape, scale=0.01 if draw else 0))).float() for key, value in P.items()}
        exact = {key: value.double().requires_grad_() for key, value in moved.items()}
        floats = {key: value.requires_grad_() for key, value in moved.items()}
        wanted = torch.autograd.grad(function(exact, torch.float64), list(exact.values()))
        with torch.autocast("cpu", torch.bfloat16):
            value = function(floats, torch.float32)
        found = torch.autograd.grad(value, list(floats.values()))
        for key, g, want in zip(P, found, wanted):
            off = ((g - want).norm() / want.norm()).reshape(1)
            most[key] = torch.maximum(most.get(key, off), off)
    return most


def gradients(file, name, P, y, random, x=None):
    dy = random.normal(*y.shape).float().double()
    leaves = list(P.values()) + ([x] if x is not None else [])
    found = torch.autograd.grad(y, leaves, dy)
    file[name + "/y"], file[name + "/dy"] = y, dy
    for (key, value), g in zip(P.items(), found):
        file[f"{name}/w/{key}"], file[f"{name}/g/{key}"] = value, g
    if x is not None:
        file[name + "/x"], file[name + "/dx"] = x, found[-1]


def make_layers(random):
    file = {}
    for name, (shapes, width, function) in layer_cases().items():
        P = starts(shapes, random, gain=("weight",) if name.endswith("_norm") else ())
        x = random.normal(sum(RAGGED), width).float().double().requires_grad_()
        gradients(file, name, P, function(P, x), random, x)
    return file


# ---- towers ----


def sine_position(rows, width):
    def table(position):
        angle = position.double()[:, None] / 10000 ** (torch.arange(width // 4).double() / (width // 4))
        return torch.cat([angle.sin(), angle.cos()], -1)

    side = torch.arange(rows)
    return torch.cat([table(side.repeat_interleave(rows)), table(side.repeat(rows))], -1)


def tower_shapes(c):
    w, heads, kv, hw = c["width"], c["heads"], c.get("kv_heads", 0), c.get("head_width", 0)
    rms = c.get("rms", False)
    shapes = {}
    if "image" in c:
        shapes |= linear_shapes(3 * c["patch"] ** 2, w, "embed.patch.", c.get("patch_bias", False))
        first = c.get("pool", "first") == "first"
        rows = (c["image"] // c["patch"]) ** 2 + first
        if first:
            shapes["embed.class"] = (w,)
        if not c.get("sine"):
            shapes["embed.position"] = (rows, w)
        if c.get("pre_norm"):
            shapes |= norm_shapes(w, "embed.norm.")
    else:
        shapes["embed.token"] = (c["vocabulary"], w)
        if not c.get("rotary"):
            shapes["embed.position"] = (c["context"], w)
    for i in range(c["layers"]):
        at = f"blocks.{i}."
        shapes |= norm_shapes(w, at + "attention.norm.", rms) | attention_shapes(w, heads, kv, hw, at=at + "attention.")
        shapes |= norm_shapes(w, at + "mlp.norm.", rms) | mlp_shapes(w, c.get("hidden", 4 * w), at + "mlp.", c.get("gated", False))
    shapes |= norm_shapes(w, "norm.", rms)
    if c.get("pool") == "attention":
        shapes |= pool_shapes(w, heads, kv, "pool.")
    return shapes | {"projection.weight": (c["embedding"], w)}


def embed(P, c, batch):
    """Pictures (samples, 3, side, side), or a list of token lists. Returns rows and lengths."""
    if "image" in c:
        patch, width = c["patch"], c["width"]
        x = F.conv2d(batch, P["embed.patch.weight"].reshape(width, 3, patch, patch), P.get("embed.patch.bias"), stride=patch)
        x = x.flatten(2).transpose(1, 2)
        if c.get("sine"):
            x = x + sine_position(c["image"] // patch, width).to(batch.dtype)
        if "embed.class" in P:
            x = torch.cat([P["embed.class"].expand(x.shape[0], 1, -1), x], 1)
        if "embed.position" in P:
            x = x + P["embed.position"]
        if c.get("pre_norm"):
            x = layer_norm(P, "embed.norm.", x)
        return x.flatten(0, 1), [x.shape[1]] * x.shape[0]
    lengths = [len(ids) for ids in batch]
    x = F.embedding(torch.cat(batch), P["embed.token"])
    if "embed.position" in P:
        x = x + torch.cat([P["embed.position"][:n] for n in lengths])
    return x, lengths


def tower(P, c, batch):
    norm = rms_norm if c.get("rms") else layer_norm
    eps = c.get("epsilon", 1e-5)
    x, lengths = embed(P, c, batch)
    for i in range(c["layers"]):
        at = f"blocks.{i}."
        x = x + self_attention(P, at + "attention.", norm(P, at + "attention.norm.", x, eps), lengths, c["heads"], c.get("kv_heads", 0), c.get("head_width", 0),
                               c.get("causal", False), c.get("rotary", 0))
        h = norm(P, at + "mlp.norm.", x, eps)
        x = x + (gated_mlp(P, at + "mlp.", h) if c.get("gated") else mlp(P, at + "mlp.", h, c.get("act", "gelu")))
    pool = c.get("pool", "first" if "image" in c else "last")
    if pool in ("first", "last"):
        y = norm(P, "norm.", pick(x, lengths, pool == "last"), eps)
    else:
        x = norm(P, "norm.", x, eps)
        y = mean(x, lengths) if pool == "mean" else attention_pool(P, "pool.", x, lengths, c["heads"], c.get("kv_heads", 0))
    return projection(P, "projection.", y)


TOWERS = {
    "vit_clip": dict(image=8, patch=4, width=24, layers=2, heads=3, embedding=10, act="quick_gelu", pre_norm=True),
    "vit_mean": dict(image=12, patch=4, width=20, layers=2, heads=5, embedding=7, pool="mean", sine=True, patch_bias=True),
    "vit_pooled": dict(image=8, patch=2, width=12, layers=1, heads=4, kv_heads=2, hidden=17, embedding=5, pool="attention"),
    "vit_gated": dict(image=8, patch=4, width=12, layers=2, heads=2, hidden=21, embedding=6, gated=True, rms=True, epsilon=1e-6, patch_bias=True),
    "text_clip": dict(vocabulary=31, context=9, width=16, layers=2, heads=4, embedding=10, causal=True),
    "text_rotary": dict(vocabulary=31, context=9, width=20, layers=2, heads=5, kv_heads=1, hidden=33, embedding=8, causal=True, rotary=50.0, act="gelu_tanh"),
    "text_mean": dict(vocabulary=13, context=9, width=9, layers=2, heads=25, head_width=2, embedding=4, pool="mean"),
    "text_gated": dict(vocabulary=13, context=9, width=12, layers=2, heads=3, hidden=10, embedding=4, causal=True, rotary=100.0, gated=True, rms=True, epsilon=1e-6),
}
TEXT_LENGTHS = [5, 1, 9, 3]


def make_batch(c, random, samples=4, lengths=TEXT_LENGTHS):
    if "image" in c:
        return random.normal(samples, 3, c["image"], c["image"]).float().double()
    return [random.integers(c["vocabulary"], n) for n in lengths]


def store_batch(file, name, batch):
    if isinstance(batch, list):
        file[name + "/ids"] = torch.cat(batch).int()
        file[name + "/offsets"] = torch.tensor([0] + [len(ids) for ids in batch]).cumsum(0)
    else:
        file[name + "/pixels"] = batch


def make_towers(random):
    file = {}
    for name, c in TOWERS.items():
        P = starts(tower_shapes(c), random, matrix=0.6, vector=0.1)
        batch = make_batch(c, random)
        store_batch(file, name, batch)
        gradients(file, name, P, tower(P, c, batch), random)
        dy = file[name + "/dy"]

        def number(Q, kind, c=c, batch=batch, dy=dy):
            return (tower(Q, c, batch if isinstance(batch, list) else batch.to(kind)).to(kind) * dy.to(kind)).sum()

        file |= {f"{name}/bf16/{key}": off for key, off in errors_of_bf16(P, number).items()}
    return file


# ---- losses and training ----


def info_nce(a, b, P):
    logits = P["log_scale"].exp() * a @ b.T
    target = torch.arange(len(a))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)) / 2


def pairwise_sigmoid(a, b, P):
    logits = P["log_scale"].exp() * a @ b.T + P["bias"]
    return -F.logsigmoid(logits * (2 * torch.eye(len(a)) - 1)).sum() / len(a)


LOSSES = {"info_nce": (info_nce, {"log_scale": 1.3}), "pairwise_sigmoid": (pairwise_sigmoid, {"log_scale": 1.1, "bias": -1.5})}


def make_losses(random):
    file = {}
    for name, (loss, numbers) in LOSSES.items():
        for samples in (1, 7, 33):
            case = f"{name}_{samples}"
            a, b = (F.normalize(random.normal(samples, 6), dim=-1).float().double().requires_grad_() for _ in range(2))
            P = {key: torch.tensor([value]).double().requires_grad_() for key, value in numbers.items()}
            value = loss(a, b, P)
            found = torch.autograd.grad(value, [a, b, *P.values()])
            file |= {case + "/a": a, case + "/b": b, case + "/loss": value.reshape(1), case + "/da": found[0], case + "/db": found[1]}
            for (key, start), g in zip(P.items(), found[2:]):
                file |= {f"{case}/w/{key}": start, f"{case}/g/{key}": g}
    return file


PICTURE = dict(image=8, patch=4, width=16, layers=2, heads=2, embedding=12)
CAPTION = dict(vocabulary=17, context=6, width=12, layers=2, heads=2, embedding=12, causal=True)
CAPTION_LENGTHS = [3, 6, 1, 2, 6, 4, 5, 3]
STEPS = 20


def model_loss(P, loss, pixels, ids):
    parts = [{key[len(at) :]: value for key, value in P.items() if key.startswith(at)} for at in ("picture.", "caption.", "join.")]
    a, b = tower(parts[0], PICTURE, pixels), tower(parts[1], CAPTION, ids)
    with torch.autocast("cpu", enabled=False):
        return loss(a.to(pixels.dtype), b.to(pixels.dtype), parts[2])


def make_training(random):
    """20 steps of AdamW on a whole model of two towers, with clipping: see tests/unit/model/contrastive_step.cpp."""
    file = {}
    for name, (loss, numbers) in LOSSES.items():
        P = {"picture." + key: value for key, value in starts(tower_shapes(PICTURE), random, matrix=0.5, vector=0.05).items()}
        P |= {"caption." + key: value for key, value in starts(tower_shapes(CAPTION), random, matrix=0.5, vector=0.05).items()}
        P |= {"join." + key: torch.tensor([value]).double().requires_grad_() for key, value in numbers.items()}
        for key, value in P.items():
            file[f"{name}/start/{key}"] = value.detach().clone()
        groups = [{"params": [p for p in P.values() if (p.dim() >= 2) == decays], "weight_decay": 0.2 if decays else 0.0} for decays in (True, False)]
        optimizer = torch.optim.AdamW(groups, lr=5e-4, betas=(0.9, 0.98), eps=1e-6)
        losses, norms = [], []
        for step in range(STEPS):
            pixels, ids = make_batch(PICTURE, random, len(CAPTION_LENGTHS)), make_batch(CAPTION, random, lengths=CAPTION_LENGTHS)
            store_batch(file, f"{name}/batch/{step}", pixels)
            store_batch(file, f"{name}/batch/{step}", ids)
            value = model_loss(P, loss, pixels, ids)
            optimizer.zero_grad()
            value.backward()
            if step == 0:
                first = {key: p.grad.clone() for key, p in P.items()}
                file |= {f"{name}/g/{key}": g for key, g in first.items()}
                errors = errors_of_bf16(P, lambda Q, kind: model_loss(Q, loss, pixels.to(kind), ids))
                file |= {f"{name}/bf16/{key}": off for key, off in errors.items()}
            norms.append(torch.nn.utils.clip_grad_norm_(list(P.values()), 1.0))
            optimizer.step()
            losses.append(value.detach())
        file[name + "/losses"], file[name + "/norms"] = torch.stack(losses), torch.stack(norms)
        for key, value in P.items():
            file[f"{name}/end/{key}"] = value
    return file


def rounded_to_fp8(x, kind):
    """By PyTorch's cast, with the scale that makes the largest magnitude the format's."""
    largest = x.abs().max().float()
    scale = torch.tensor(torch.finfo(kind).max) / largest
    return (x.float() * scale).to(kind).double() * (1 / scale).double()


def make_fp8(random):
    """The three products of a linear layer: values and weights as e4m3, gradients as e5m2. Sums are exact, so rounding the operands is all that is off:
    tests/unit/backend/cuda/products/fp8.cpp. Of each product `off` has the relative error to that without rounding."""
    file = {}
    for name, rows, width, out, size in (("even", 48, 32, 64, 1.0), ("small", 16, 48, 16, 1e-7), ("large", 32, 16, 80, 1e6), ("ragged", 37, 64, 48, 1.0)):
        x, dy = random.normal(rows, width).bfloat16().double(), random.normal(rows, out, scale=size).bfloat16().double()
        weight = random.normal(out, width, scale=1 / math.sqrt(width)).float().double()
        values, weights, slopes = rounded_to_fp8(x, torch.float8_e4m3fn), rounded_to_fp8(weight, torch.float8_e4m3fn), rounded_to_fp8(dy, torch.float8_e5m2)
        file |= {f"{name}/x": x, f"{name}/weight": weight, f"{name}/dy": dy}
        found = {"y": values @ weights.T, "dx": slopes @ weights, "dweight": slopes.T @ values}
        exact = {"y": x @ weight.T, "dx": dy @ weight, "dweight": dy.T @ x}
        for key, value in found.items():
            file[f"{name}/{key}"] = value
            file[f"{name}/off/{key}"] = ((value - exact[key]).norm() / exact[key].norm()).reshape(1)
    return file


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "data"
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, make) in enumerate({"layers": make_layers, "towers": make_towers, "losses": make_losses, "training": make_training, "fp8": make_fp8}.items()):
        file = {key: (value.detach().float() if value.is_floating_point() else value).contiguous().clone() for key, value in make(Random(seed)).items()}
        save_file(file, folder / f"golden_{name}.safetensors")
        print(f"golden_{name}.safetensors: {len(file)} tensors, {sum(v.nbytes for v in file.values()) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
