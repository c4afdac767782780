#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which roundings of mixed_bf16 move the norm of the gradient, and by how much: the tables of docs/precision.md.

    python3 tests/goldens/rounding_causes.py [--model small|wide|quick|deep] [--batch N] [--seeds N]

Two towers and their loss in float64, with the roundings of mixed_bf16 at the places where Motet has them. Each is switched on alone, then all of
them; PyTorch's autocast of the same net stands beside, linear layers in fp8 by PyTorch's casts, and the streams of bf16_streams. A row tells of the gradient's norm the mean deviation, its root mean square and the worst over
the seeds, and how long the difference of the gradients is; all in percent.
"""

import argparse
import math

import torch
import torch.nn.functional as F

from make_goldens import rounded_to_fp8

torch.set_num_threads(1)
CAUSES = {
    "weights": "weights, as operands of products",
    "patches": "pixels, as operands",
    "normed": "outputs of norms",
    "qkv": "queries, keys and values",
    "chance": "probabilities of attention, as operands",
    "mixed": "outputs of attention",
    "active": "values before and after the activation",
    "dy": "the stream's gradient, as an operand",
    "d_normed": "gradients of outputs of norms",
    "d_qkv": "gradients of queries, keys and values, and of scores",
    "d_mixed": "gradients of outputs of attention",
    "d_active": "gradients before the activation",
}
FORWARD = [each for each in CAUSES if not each.startswith("d")]
FP8 = "fp8"
STREAMS = {"stream": "the stream between blocks", "d_stream": "the stream's gradient between blocks"}
BACKWARD = [each for each in CAUSES if each.startswith("d")]
MODELS = {
    "small": dict(picture=dict(image=8, patch=4, width=16, layers=2, heads=2), caption=dict(vocabulary=20, context=6, width=8, layers=2, heads=2),
                  embedding=8, pre_norm=False, batch=6),
    "wide": dict(picture=dict(image=8, patch=4, width=64, layers=2, heads=4), caption=dict(vocabulary=20, context=6, width=64, layers=2, heads=4),
                 embedding=64, pre_norm=False, batch=32),
    "quick": dict(picture=dict(image=64, patch=8, width=128, layers=4, heads=4),
                  caption=dict(vocabulary=1024, context=32, width=128, layers=2, heads=4), embedding=128, pre_norm=True, batch=64),
    "deep": dict(picture=dict(image=8, patch=4, width=64, layers=24, heads=4), caption=dict(vocabulary=20, context=6, width=64, layers=12, heads=4),
                 embedding=64, pre_norm=True, batch=32),
}
ON = set()


def short(x, cause):
    return x.bfloat16().to(x.dtype) if cause in ON else x


class Rounded(torch.autograd.Function):
    """The value rounded for one cause, its gradient for another one."""

    @staticmethod
    def forward(ctx, x, forward, backward):
        ctx.cause = backward
        return short(x, forward)

    @staticmethod
    def backward(ctx, dy):
        return short(dy, ctx.cause), None, None


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        w = short(weight, "weights")
        if FP8 in ON and w.shape[0] % 16 == 0 and w.shape[1] % 16 == 0:
            x, w = rounded_to_fp8(x, torch.float8_e4m3fn), rounded_to_fp8(w, torch.float8_e4m3fn)
        ctx.save_for_backward(x, w)
        return F.linear(x, w, bias)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        wide, flat = short(dy, "dy"), x.reshape(-1, x.shape[-1])
        if FP8 in ON and w.shape[0] % 16 == 0 and w.shape[1] % 16 == 0:
            wide = rounded_to_fp8(wide, torch.float8_e5m2)
        return wide @ w, wide.reshape(-1, dy.shape[-1]).T @ flat, dy.reshape(-1, dy.shape[-1]).sum(0)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, mask):
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + mask
        p = scores.softmax(-1)
        ctx.save_for_backward(q, k, v, p)
        return short(p, "chance") @ v

    @staticmethod
    def backward(ctx, dy):
        q, k, v, p = ctx.saved_tensors
        dp = dy @ v.transpose(-1, -2)
        ds = short(p * (dp - (dp * p).sum(-1, keepdim=True)), "d_qkv") / math.sqrt(q.shape[-1])
        return ds @ k, ds.transpose(-1, -2) @ q, short(p, "chance").transpose(-1, -2) @ dy, None


class Gelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(short(x, "active"))
        return short(F.gelu(x), "active")

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        slope = 0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return short(dy * slope, "d_active")


class Tower:
    def __init__(self, config, embedding, pictures, pre_norm, draw):
        c, w = config, config["width"]
        self.c, self.pictures, self.pre_norm, P = config, pictures, pre_norm, {}

        def linear(name, into, out, bias=True):
            P[name + ".weight"] = draw(out, into, scale=math.sqrt(0.5 / into))
            P[name + ".bias"] = torch.zeros(out).double() if bias else None

        def norm(name):
            P[name + ".weight"], P[name + ".bias"] = torch.ones(w).double(), torch.zeros(w).double()

        if pictures:
            side = c["image"] // c["patch"]
            linear("patch", 3 * c["patch"] ** 2, w, bias=False)
            P["class"] = draw(1, 1, w, scale=0.02)
            place, step = torch.arange(side * side).double(), 10000.0 ** (-torch.arange(w // 4).double() / (w // 4))
            y, x = (place // side)[:, None] * step, (place % side)[:, None] * step
            P["position"] = F.pad(0.5 * torch.cat([y.sin(), y.cos(), x.sin(), x.cos()], 1), (0, 0, 1, 0))
            if pre_norm:
                norm("pre")
        else:
            P["token"], P["position"] = draw(c["vocabulary"], w, scale=0.02), draw(c["context"], w, scale=0.01)
        for i in range(c["layers"]):
            norm(f"{i}.first"), linear(f"{i}.qkv", w, 3 * w), linear(f"{i}.out", w, w)
            norm(f"{i}.second"), linear(f"{i}.up", w, 4 * w), linear(f"{i}.down", 4 * w, w)
        norm("norm"), linear("project", w, embedding, bias=False)
        self.P = {name: value.requires_grad_() for name, value in P.items() if value is not None}

    # Functions of autocast, or with the roundings that are on.
    def product(self, name, x):
        P, peer = self.P, self.peer
        bias = P.get(name + ".bias")
        if peer:
            return F.linear(x, P[name + ".weight"], bias)
        return Product.apply(x, P[name + ".weight"], torch.zeros((), dtype=x.dtype).expand(len(P[name + ".weight"])) if bias is None else bias)

    def norm(self, name, x, stream=False):
        y = F.layer_norm(x, x.shape[-1:], self.P[name + ".weight"], self.P[name + ".bias"])
        return y if self.peer or stream else Rounded.apply(y, "normed", "d_normed")

    def features(self, batch, peer=False):
        self.peer, c, P = peer, self.c, self.P
        keep = (lambda x, forward, backward: x) if peer else Rounded.apply
        if self.pictures:
            p, side = c["patch"], c["image"] // c["patch"]
            cut = batch.unfold(2, p, p).unfold(3, p, p).permute(0, 2, 3, 1, 4, 5).reshape(len(batch), side * side, -1)
            x = self.product("patch", keep(cut, "patches", ""))
            x = torch.cat([P["class"].expand(len(batch), 1, -1), x], 1) + P["position"]
            x = self.norm("pre", x, stream=True) if self.pre_norm else x
        else:
            x = F.embedding(batch, P["token"]) + P["position"]
        x = keep(x, "stream", "d_stream")
        b, t, w = x.shape
        mask = torch.zeros(t, t, dtype=x.dtype) if self.pictures else torch.full((t, t), -math.inf, dtype=x.dtype).triu(1)
        for i in range(c["layers"]):
            qkv = keep(self.product(f"{i}.qkv", self.norm(f"{i}.first", x)), "qkv", "d_qkv")
            q, k, v = qkv.view(b, t, 3, c["heads"], -1).permute(2, 0, 3, 1, 4)
            a = F.scaled_dot_product_attention(q, k, v, is_causal=not self.pictures) if peer else Attention.apply(q, k, v, mask)
            x = keep(x + self.product(f"{i}.out", keep(a.transpose(1, 2).reshape(b, t, w), "mixed", "d_mixed")), "stream", "d_stream")
            pre = self.product(f"{i}.up", self.norm(f"{i}.second", x))
            x = keep(x + self.product(f"{i}.down", F.gelu(pre) if peer else Gelu.apply(pre)), "stream", "d_stream")
        y = self.product("project", self.norm("norm", x[:, 0 if self.pictures else -1]))
        return F.normalize(y.float() if peer else y, dim=-1)


class Problem:
    def __init__(self, model, batch, seed):
        draws = torch.Generator().manual_seed(seed)
        draw = lambda *shape, scale=1.0: (torch.randn(*shape, generator=draws) * scale).double()
        c = model["caption"]
        self.towers = [Tower(model[name], model["embedding"], name == "picture", model["pre_norm"] and name == "picture", draw)
                       for name in ("picture", "caption")]
        self.log_scale = torch.tensor(math.log(1 / 0.07)).double().requires_grad_()
        image = model["picture"]["image"]
        self.batch = [draw(batch, 3, image, image), torch.randint(0, c["vocabulary"], (batch, c["context"]), generator=draws)]
        self.exact = None

    def weights(self):
        return [value for tower in self.towers for value in tower.P.values()] + [self.log_scale]

    def gradient(self, causes=(), exact_loss=False):
        """exact_loss: the loss sees the features without rounding, so that its gradient is the right one."""
        ON.clear(), ON.update(causes)
        f = [tower.features(x) for tower, x in zip(self.towers, self.batch)]
        if self.exact is None:
            self.exact = [each.detach() for each in f]
        if exact_loss:
            f = [each + (right - each).detach() for each, right in zip(f, self.exact)]
        return self.flat(self.loss(f, self.log_scale))

    def loss(self, f, log_scale):
        s, y = log_scale.exp() * f[0] @ f[1].T, torch.arange(len(f[0]))
        return (F.cross_entropy(s, y) + F.cross_entropy(s.T, y)) / 2

    def flat(self, loss):
        return torch.cat([g.double().reshape(-1) for g in torch.autograd.grad(loss, self.weights())])

    def peer(self):
        """PyTorch's own: weights in fp32, autocast, the loss in fp32."""
        whole = [dict(tower.P) for tower in self.towers]
        single = []
        for tower in self.towers:
            tower.P = {name: value.detach().float().requires_grad_() for name, value in tower.P.items()}
            single += tower.P.values()
        log_scale = self.log_scale.detach().float().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16):
            f = [tower.features(x.float() if x.is_floating_point() else x, peer=True) for tower, x in zip(self.towers, self.batch)]
        found = torch.cat([g.double().reshape(-1) for g in torch.autograd.grad(self.loss(f, log_scale), single + [log_scale])])
        for tower, P in zip(self.towers, whole):
            tower.P = P
        return found


def main():
    line = argparse.ArgumentParser()
    line.add_argument("--model", default="small", choices=MODELS)
    line.add_argument("--batch", type=int, default=0)
    line.add_argument("--seeds", type=int, default=32)
    a = line.parse_args()
    model = MODELS[a.model]
    batch = a.batch or model["batch"]
    trials = {text: lambda p, cause=cause: p.gradient([cause]) for cause, text in CAUSES.items()}
    trials |= {
        "all forward": lambda p: p.gradient(FORWARD),
        "all backward": lambda p: p.gradient(BACKWARD),
        "all": lambda p: p.gradient(CAUSES),
        "all, but the loss sees exact features": lambda p: p.gradient(CAUSES, exact_loss=True),
        "all, and linear layers in fp8": lambda p: p.gradient([*CAUSES, FP8]),
        **{text + ", alone": lambda p, cause=cause: p.gradient([cause]) for cause, text in STREAMS.items()},
        "all, and streams in bf16": lambda p: p.gradient([*CAUSES, *STREAMS]),
        "PyTorch's autocast": lambda p: p.peer(),
    }
    found = {text: [] for text in trials}
    for seed in range(a.seeds):
        problem = Problem(model, batch, seed)
        right = problem.gradient()
        for text, run in trials.items():
            g = run(problem)
            found[text].append(((g.norm() / right.norm() - 1).item() * 100, ((g - right).norm() / right.norm()).item() * 100))
    print(f"`{a.model}`, {batch} pairs, {a.seeds} seeds\n\n| rounded | mean | root mean square | worst | difference |\n|---|---|---|---|---|")
    for text, rows in found.items():
        norm, off = [each[0] for each in rows], [each[1] for each in rows]
        square = lambda values: math.sqrt(sum(v * v for v in values) / len(values))
        print(f"| {text} | {sum(norm) / len(norm):+.2f} | {square(norm):.2f} | {max(map(abs, norm)):.2f} | {square(off):.2f} |")


if __name__ == "__main__":
    main()
