#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_positions.py FILE.safetensors: vision transformers on pictures of other sizes than their positions were learned for, in float64.

Towers are those of make_goldens.py; their tables of positions are interpolated by interpolate_pos_encoding of the transformers package's CLIP and SigLIP. Needs transformers."""
import sys
import types

import make_goldens as goldens
import torch
from safetensors.torch import save_file
from transformers.models.clip.modeling_clip import CLIPVisionEmbeddings
from transformers.models.siglip.modeling_siglip import SiglipVisionEmbeddings

# The side that positions are learned for, and a tower for pictures of another one.
CASES = {
    "larger": (12, CLIPVisionEmbeddings, dict(image=20, patch=4, width=8, layers=1, heads=2, embedding=5, pre_norm=True)),
    "smaller": (20, SiglipVisionEmbeddings, dict(image=12, patch=4, width=8, layers=1, heads=2, embedding=5, pool="mean", patch_bias=True)),
}


class Table:
    """The embedding that holds the table, as a module has it."""

    def __init__(self, weight):
        self.weight = weight


def main():
    random, file = goldens.Random(20), {}
    for name, (learned, embeddings, c) in CASES.items():
        P = goldens.starts(goldens.tower_shapes(dict(c, image=learned)), random, matrix=0.6, vector=0.1)
        batch = goldens.make_batch(c, random, samples=2)
        rows = P["embed.position"].shape[0]
        holder = types.SimpleNamespace(position_embedding=Table(P["embed.position"]), position_ids=None, patch_size=c["patch"], num_patches=rows, num_positions=rows)
        patches = (c["image"] // c["patch"]) ** 2 + (1 if "embed.class" in P else 0)
        resized = embeddings.interpolate_pos_encoding(holder, torch.empty(1, patches, c["width"]), c["image"], c["image"])
        goldens.store_batch(file, name, batch)
        goldens.gradients(file, name, P, goldens.tower(dict(P, **{"embed.position": resized[0]}), c, batch), random)
    save_file({key: value.detach().float().contiguous() if value.is_floating_point() else value for key, value in file.items()}, sys.argv[1])


main()
