#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_whisper.py FILE.safetensors: a small WhisperForConditionalGeneration of the transformers package, in float64: logits, the loss of samples of unlike lengths, and all gradients, also those of what was heard.

Weights are w.NAME and gradients g.NAME by that package's names; sample k has features_k, ids_k, targets_k and logits_k. Needs transformers."""
import sys

import torch
from safetensors.torch import save_file
from transformers import WhisperConfig, WhisperForConditionalGeneration

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
config = WhisperConfig(num_mel_bins=3, max_source_positions=5, d_model=12, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=10, decoder_layers=2,
                       decoder_attention_heads=3, decoder_ffn_dim=14, max_target_positions=7, vocab_size=17, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                       decoder_start_token_id=1, attn_implementation="eager")
model = WhisperForConditionalGeneration(config).eval().double()
for name, parameter in model.named_parameters():
    if "encoder.embed_positions" in name:
        continue
    torch.nn.init.normal_(parameter, 1.0 if parameter.dim() == 1 and "norm" in name and name.endswith("weight") else 0.0, 0.3)
    parameter.data = parameter.data.float().double()

file, lost, asked = {}, 0, 8
for k, length in enumerate((4, 1, 7)):
    features = torch.randn(1, 3, 10).float().double()
    ids, targets = torch.randint(17, (1, length)), torch.randint(17, (length,))
    targets[0 if length > 1 else 1:1 if length > 1 else 1] = -100
    targets[5:] = -100
    logits = model(input_features=features, decoder_input_ids=ids, use_cache=False).logits[0]
    lost = lost + torch.nn.functional.cross_entropy(logits, targets, ignore_index=-100, reduction="sum") / asked
    file |= {f"features_{k}": features[0].T.contiguous(), f"ids_{k}": ids[0].int(), f"targets_{k}": targets.int(), f"logits_{k}": logits}
lost.backward()
file["loss"] = lost.reshape(1)
for name, parameter in model.named_parameters():
    file["w." + name] = parameter.data
    if parameter.grad is not None:
        file["g." + name] = parameter.grad
save_file({name: value.detach().contiguous().float() if value.is_floating_point() else value.detach().contiguous() for name, value in file.items()}, sys.argv[1])
