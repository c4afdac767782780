# SPDX-License-Identifier: Apache-2.0
"""Hugging Face language models that see, of odd shapes: import_hf, embed and export_hf against LlavaForConditionalGeneration.

hf_seeing.py --compiler C++ --include DIR [--flags "..."] [--libraries "..."] [--first N] [--shapes N] [--seed N] ROOT
Shape N has an eye of CLIP or SigLIP in turns, and words of Llama, Qwen2 or Qwen3. Status 77 when transformers is not there."""
import argparse
import os
import random
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration, Qwen2Config, Qwen3Config, SiglipVisionConfig
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
arguments.add_argument("--shapes", type=int, default=3)
arguments.add_argument("--first", type=int, default=0)
arguments.add_argument("--seed", type=int, default=1)
arguments.add_argument("root")
given = arguments.parse_args()
torch.set_num_threads(1)


def make(which):
    draw = random.Random(given.seed * 1000 + which)
    siglip = which % 2 == 1
    heads, patch = draw.randint(1, 3), draw.randint(2, 4)
    layers = draw.randint(2, 3)
    # A side that patches do not divide: what is left over is seen by nobody.
    image = patch * draw.randint(2, 3) + draw.randint(0, 1)
    eye = (SiglipVisionConfig if siglip else CLIPVisionConfig)(
        hidden_size=heads * 2 * draw.randint(2, 8), intermediate_size=draw.randint(3, 60), num_hidden_layers=layers, num_attention_heads=heads,
        image_size=image, patch_size=patch, hidden_act=draw.choice(["quick_gelu", "gelu", "gelu_pytorch_tanh"]),
        layer_norm_eps=draw.choice([1e-5, 1e-6]), **({"vision_use_head": False} if siglip else {}))
    family = (LlamaConfig, Qwen2Config, Qwen3Config)[which % 3]
    kv_heads = draw.randint(1, 2)
    head, query = 2 * draw.randint(2, 8), kv_heads * draw.randint(1, 3)
    words = family(vocab_size=draw.randint(20, 300), hidden_size=query * head, intermediate_size=draw.randint(3, 90), num_hidden_layers=draw.randint(1, 3),
                   num_attention_heads=query, num_key_value_heads=kv_heads, max_position_embeddings=60, head_dim=head,
                   **({"attention_bias": draw.random() < 0.5} if family is LlamaConfig else {}))
    config = LlavaConfig(vision_config=eye, text_config=words, image_token_index=words.vocab_size - 2, projector_hidden_act=draw.choice(["gelu", "relu"]),
                         multimodal_projector_bias=draw.random() < 0.7, vision_feature_layer=draw.choice([-1, -2]),
                         vision_feature_select_strategy="full" if siglip else draw.choice(["default", "full"]))
    torch.manual_seed(which)
    model = LlavaForConditionalGeneration(config).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:  # fresh norms and biases would hide a mistake
            torch.nn.init.normal_(parameter, 1.0 if "norm" in name and name.endswith("weight") else 0.0, 0.3)
        elif parameter.dim() == 2:
            torch.nn.init.normal_(parameter, 0.0, 1.0 / parameter.shape[1] ** 0.5)
    return model


def build(sources, output, *folders):
    command = [given.compiler, "-std=c++20", *given.flags.split(), f"-I{given.include}", *[f"-I{f}" for f in folders], *[os.path.join(given.root, each) for each in sources], "-o", output]
    subprocess.run(command + ["-pthread"] + given.libraries.split(), check=True)


def samples(model):
    """Two pictures, one, none; words around them."""
    config = model.config
    eye = config.vision_config
    rows = (eye.image_size // eye.patch_size) ** 2
    if eye.model_type == "clip_vision_model" and config.vision_feature_select_strategy == "full":
        rows += 1
    length = 2 * rows + 5
    placeholder = config.image_token_index
    ids = torch.randint(0, config.text_config.vocab_size - 2, (3, length))
    ids[0, 1 : 1 + rows] = placeholder
    ids[0, 3 + rows : 3 + 2 * rows] = placeholder
    ids[1, length - rows :] = placeholder
    return ids, torch.randn(3, 3, eye.image_size, eye.image_size)


def far(got, want, note, most):
    error = ((got - want).norm() / want.norm()).item()
    print(f"{note:44s} {tuple(want.shape)} relative error {error:.2e}", flush=True)
    if not error <= most:
        sys.exit("too far")


with tempfile.TemporaryDirectory() as work:
    import_hf, export_hf = os.path.join(work, "import_hf"), os.path.join(work, "export_hf")
    build(["examples/import_hf.cpp"], import_hf)
    build(["examples/export_hf.cpp"], export_hf)
    for which in range(given.first, given.shapes):
        model = make(which)
        config = model.config
        folder, headers = os.path.join(work, f"model{which}"), os.path.join(work, f"headers{which}")
        model.save_pretrained(folder)
        os.makedirs(headers)
        with open(os.path.join(headers, "imported_model.hpp"), "wb") as header:
            header.write(subprocess.run([import_hf, folder], check=True, stdout=subprocess.PIPE).stdout)
        embed = os.path.join(work, f"embed{which}")
        build(["examples/embed.cpp", "examples/embed/imported.cpp"], embed, headers)
        ids, pixels = samples(model)
        source, output = os.path.join(work, "x.safetensors"), os.path.join(work, "y.safetensors")
        save_file({"input_ids": ids, "pixel_values": pixels}, source)

        def logits_of(of, ids=ids):
            with torch.no_grad():  # in double precision, so that the difference is ours alone
                side = of.config.vision_config.image_size  # an export says how much whole patches cover
                return of.double()(input_ids=ids, pixel_values=pixels[..., :side, :side].double()).logits.flatten(0, 1)

        want = logits_of(model)
        model.float()
        note = f"shape {which} {config.vision_config.model_type} {config.text_config.model_type} {config.vision_feature_select_strategy}"
        subprocess.run([embed, "--weights", folder, "--input", source, "--output", output, "--threads", "2", "--batch", "2"], check=True)
        far(load_file(output)["logits"].double(), want, note, 1e-5)
        if peft is not None:  # adapters of all its parts, also of layers of the eye that nobody sees
            adapted = peft.get_peft_model(LlavaForConditionalGeneration.from_pretrained(folder), peft.LoraConfig(
                r=2, lora_alpha=3, init_lora_weights=False, target_modules=["q_proj", "fc1", "linear_1", "up_proj", "lm_head"]))
            adapters = os.path.join(work, f"adapters{which}")
            adapted.save_pretrained(adapters)
            subprocess.run([embed, "--weights", folder, "--adapters", adapters, "--input", source, "--output", output, "--threads", "2"], check=True)
            changed = logits_of(adapted)
            if (changed - want).norm() < 0.1 * want.norm():
                sys.exit("adapters that change nothing show nothing")
            far(load_file(output)["logits"].double(), changed, note + " adapted", 1e-5)
        # Out again, from a checkpoint as training writes it. There the placeholder is a token of its own behind the vocabulary.
        to_checkpoint, run, exported = (os.path.join(work, f"{name}{which}") for name in ("to_checkpoint", "run", "exported"))
        build(["tests/tools/hf_to_checkpoint.cpp"], to_checkpoint, headers)
        subprocess.run([to_checkpoint, folder, run], check=True)
        said = subprocess.run([export_hf, "--checkpoint", os.path.join(run, "three"), "--output", exported], capture_output=True, text=True)
        if said.returncode != 0:
            sys.exit(said.stderr)
        if config.vision_config.model_type == "clip_vision_model" and config.vision_feature_select_strategy == "full":
            continue  # a checkpoint does not say that the class token was shown, and exports say that it is not
        again, loading = LlavaForConditionalGeneration.from_pretrained(exported, dtype=torch.float64, output_loading_info=True)
        if loading["missing_keys"] or loading["unexpected_keys"]:
            sys.exit(f"from_pretrained says {loading}")
        moved = ids.clone()
        moved[ids == config.image_token_index] = again.config.image_token_index
        far(logits_of(again, moved)[:, :-1], want, f"shape {which} exported", 1e-9)
        # A placeholder too few, a picture too many.
        spoilt = ids.clone()
        spoilt[1, -1] = 0
        for tensors, part in (({"input_ids": spoilt, "pixel_values": pixels}, "placeholders from token"), ({"input_ids": ids, "pixel_values": pixels[:2].contiguous()}, "pictures came")):
            save_file(tensors, source)
            said = subprocess.run([embed, "--weights", folder, "--input", source, "--output", os.path.join(work, "none")], capture_output=True, text=True)
            if said.returncode not in (2, 3) or part not in said.stderr:
                sys.exit(f"{part}: {said.returncode} {said.stderr}")
