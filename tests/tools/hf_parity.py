# SPDX-License-Identifier: Apache-2.0
"""Hugging Face CLIP models of odd shapes, in and out: import_hf and embed against CLIPModel, export_hf against the weights that came in.

hf_parity.py --compiler C++ --include DIR [--flags "..."] [--libraries "..."] [--first N] [--shapes N] [--seed N] ROOT
Status 77 when transformers is not there."""
import argparse
import copy
import filecmp
import os
import random
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import CLIPConfig, CLIPModel
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)
try:
    import peft
except ImportError:
    peft = None

arguments = argparse.ArgumentParser()
arguments.add_argument("--compiler", default="c++")
arguments.add_argument("--include", required=True)
arguments.add_argument("--flags", default="-O1")
arguments.add_argument("--libraries", default="")
arguments.add_argument("--shapes", type=int, default=2)
arguments.add_argument("--first", type=int, default=0)
arguments.add_argument("--seed", type=int, default=1)
arguments.add_argument("root")
given = arguments.parse_args()
torch.set_num_threads(1)
draw = random.Random(given.seed)


def shape(which):
    """The first is small and plain, the second has every oddity that the format allows, the rest are drawn."""
    if which == 0:
        return (dict(hidden_size=48, intermediate_size=100, num_hidden_layers=3, num_attention_heads=4, image_size=30, patch_size=6),
                dict(hidden_size=40, intermediate_size=96, num_hidden_layers=2, num_attention_heads=5, vocab_size=99, max_position_embeddings=11, eos_token_id=98), 24)
    if which == 1:
        return (dict(hidden_size=66, intermediate_size=131, num_hidden_layers=1, num_attention_heads=3, image_size=37, patch_size=7, num_channels=1, hidden_act="gelu", layer_norm_eps=1e-6),
                dict(hidden_size=33, intermediate_size=70, num_hidden_layers=4, num_attention_heads=1, vocab_size=513, max_position_embeddings=19, eos_token_id=2, hidden_act="gelu_new"), 17)
    heads = [draw.randint(1, 6), draw.randint(1, 6)]
    acts = ["quick_gelu", "gelu", "gelu_pytorch_tanh", "relu", "silu"]
    patch = draw.randint(2, 9)
    vocabulary = draw.randint(5, 700)
    return (dict(hidden_size=heads[0] * draw.randint(1, 30), intermediate_size=draw.randint(1, 200), num_hidden_layers=draw.randint(1, 4), num_attention_heads=heads[0],
                 image_size=patch * draw.randint(1, 6) + draw.randint(0, patch - 1), patch_size=patch, num_channels=draw.randint(1, 4), hidden_act=draw.choice(acts)),
            dict(hidden_size=heads[1] * draw.randint(1, 30), intermediate_size=draw.randint(1, 200), num_hidden_layers=draw.randint(1, 4), num_attention_heads=heads[1],
                 vocab_size=vocabulary, max_position_embeddings=draw.randint(1, 40), eos_token_id=draw.choice([2, vocabulary - 1]), hidden_act=draw.choice(acts)),
            draw.randint(2, 90))


def make(which):
    vision, text, projection = shape(which)
    torch.manual_seed(which)
    model = CLIPModel(CLIPConfig(vision_config=vision, text_config=text, projection_dim=projection)).eval()
    # Fresh norms and biases are ones and zeros, which would hide a mistake.
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, 1.0 if "norm" in name and name.endswith("weight") else 0.0, 0.3)
    return model


def build(sources, output, *folders):
    command = [given.compiler, "-std=c++20", *given.flags.split(), f"-I{given.include}", *[f"-I{f}" for f in folders], *[os.path.join(given.root, each) for each in sources], "-o", output]
    subprocess.run(command + ["-pthread"] + given.libraries.split(), check=True)


def inputs(model, path, side=0):
    vision, text = model.config.vision_config, model.config.text_config
    samples, length = 7, text.max_position_embeddings
    pixels = torch.randn(samples, vision.num_channels, side or vision.image_size, side or vision.image_size)
    ids = torch.randint(0, text.vocab_size, (samples, length))
    if text.eos_token_id != 2:
        ids[ids == text.eos_token_id] = 0
        for sample in range(samples - 1):  # the last caption has no end
            ids[sample, torch.randint(0, length, ())] = text.eos_token_id
    save_file({"pixel_values": pixels, "input_ids": ids}, path)
    with torch.no_grad():
        # In double precision, so that the difference is ours alone.
        want = model.double()(input_ids=ids, pixel_values=pixels.double(), interpolate_pos_encoding=side > 0)
    model.float()
    return {"image_embeds": want.image_embeds, "text_embeds": want.text_embeds}


def compare(embed, folder, input_path, want, note, work, *more):
    output = os.path.join(work, "y.safetensors")
    subprocess.run([embed, "--weights", folder, "--input", input_path, "--output", output, "--threads", "2", "--batch", "3", *more], check=True)
    got = load_file(output)
    for name, values in want.items():
        error = ((got[name].double() - values).norm() / values.norm()).item()
        print(f"{note:40s} {name:13s} {tuple(values.shape)} relative error {error:.2e}", flush=True)
        if not error <= 1e-5:
            sys.exit("too far")


with tempfile.TemporaryDirectory() as work:
    import_hf, export_hf = os.path.join(work, "import_hf"), os.path.join(work, "export_hf")
    build(["examples/import_hf.cpp"], import_hf)
    build(["examples/export_hf.cpp"], export_hf)
    for which in range(given.first, given.shapes):
        model = make(which)
        folder, headers = os.path.join(work, f"model{which}"), os.path.join(work, f"headers{which}")
        model.save_pretrained(folder)
        os.makedirs(headers)
        with open(os.path.join(headers, "imported_model.hpp"), "wb") as header:
            header.write(subprocess.run([import_hf, folder], check=True, stdout=subprocess.PIPE).stdout)
        embed, to_checkpoint = os.path.join(work, f"embed{which}"), os.path.join(work, f"to_checkpoint{which}")
        build(["examples/embed.cpp", "examples/embed/imported.cpp"], embed, headers)
        build(["tests/tools/hf_to_checkpoint.cpp"], to_checkpoint, headers)
        input_path = os.path.join(work, "x.safetensors")
        want = inputs(model, input_path)
        compare(embed, folder, input_path, want, f"shape {which}", work)

        if which == given.first:  # larger pictures, between the positions of these
            side = model.config.vision_config.patch_size * (model.config.vision_config.image_size // model.config.vision_config.patch_size + 2)
            others, larger = os.path.join(work, "headers_larger"), os.path.join(work, "embed_larger")
            os.makedirs(others)
            with open(os.path.join(others, "imported_model.hpp"), "wb") as header:
                header.write(subprocess.run([import_hf, folder, "--image", str(side)], check=True, stdout=subprocess.PIPE).stdout)
            build(["examples/embed.cpp", "examples/embed/imported.cpp"], larger, others)
            compare(larger, folder, input_path, inputs(model, input_path, side), f"shape {which}, pictures of {side}", work)
            want = inputs(model, input_path)

        sharded = os.path.join(work, f"sharded{which}")
        model.save_pretrained(sharded, max_shard_size="30KB")
        if not os.path.exists(os.path.join(sharded, "model.safetensors.index.json")):
            print("  (one shard was enough)")
        compare(embed, sharded, input_path, want, f"shape {which}, sharded", work)

        half = os.path.join(work, f"half{which}")
        halved = copy.deepcopy(model).half()
        halved.save_pretrained(half)
        compare(embed, half, input_path, inputs(halved.double(), input_path), f"shape {which}, from half precision", work)

        if peft is not None:
            adapted = peft.get_peft_model(CLIPModel.from_pretrained(folder), peft.LoraConfig(
                r=2, lora_alpha=3, init_lora_weights=False, target_modules=["q_proj", "out_proj", "fc2", "visual_projection"]))
            adapters = os.path.join(work, f"adapters{which}")
            adapted.save_pretrained(adapters)
            changed = inputs(adapted, input_path)
            compare(embed, folder, input_path, changed, f"shape {which}, adapted", work, "--adapters", adapters)

        run, exported = os.path.join(work, f"run{which}"), os.path.join(work, f"exported{which}")
        subprocess.run([to_checkpoint, folder, run], check=True)
        subprocess.run([export_hf, "--checkpoint", os.path.join(run, "one"), "--output", exported], check=True)
        from_parts = os.path.join(work, f"from_parts{which}")
        subprocess.run([export_hf, "--checkpoint", os.path.join(run, "three"), "--output", from_parts], check=True)
        for name in ("config.json", "model.safetensors"):
            if not filecmp.cmp(os.path.join(exported, name), os.path.join(from_parts, name), shallow=False):
                sys.exit(f"shape {which}: {name} exported from a checkpoint of three parts differs")
        again = CLIPModel.from_pretrained(exported)
        before, after = model.state_dict(), again.state_dict()
        if before.keys() != after.keys() or any(not torch.equal(before[k], after[k]) for k in before):
            sys.exit(f"shape {which}: the exported weights differ")
        # Pixels that no patch covers and the end token are not kept, so the inputs are made anew.
        compare(embed, exported, input_path, inputs(again, input_path), f"shape {which}, exported", work)
        print(f"shape {which}: exported and loaded again, {len(before)} tensors equal", flush=True)
