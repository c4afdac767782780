# SPDX-License-Identifier: Apache-2.0
"""Hugging Face language models of odd shapes: import_hf and embed against LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM.

hf_language.py --compiler C++ --include DIR [--flags "..."] [--libraries "..."] [--first N] [--shapes N] [--seed N] ROOT
Shape N is of family N modulo 3. Status 77 when transformers is not there."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import torch
    from safetensors.torch import load_file, save_file
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM
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
families = [(LlamaConfig, LlamaForCausalLM), (Qwen2Config, Qwen2ForCausalLM), (Qwen3Config, Qwen3ForCausalLM)]


def make(which):
    draw = random.Random(given.seed * 1000 + which)
    family, causal = families[which % 3]
    kv_heads = draw.randint(1, 3)
    heads = kv_heads * draw.randint(1, 4)
    head = 2 * draw.randint(1, 12)
    turns = {"rope_type": "default", "rope_theta": draw.choice([1e4, 5e5, 1e6])}
    kind = draw.choice(["default", "linear", "llama3"])
    if kind == "linear":
        turns |= {"rope_type": "linear", "factor": 2.5}
    if kind == "llama3":
        turns |= {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
    shape = dict(vocab_size=draw.randint(5, 700), hidden_size=heads * head, intermediate_size=draw.randint(1, 150), num_hidden_layers=draw.randint(1, 4),
                 num_attention_heads=heads, num_key_value_heads=kv_heads, max_position_embeddings=draw.randint(8, 60), rms_norm_eps=draw.choice([1e-6, 1e-5]),
                 rope_parameters=turns, tie_word_embeddings=draw.random() < 0.4)
    if family is LlamaConfig:
        shape |= dict(attention_bias=draw.random() < 0.3, mlp_bias=draw.random() < 0.3)
    if family is Qwen3Config:  # heads of a width of their own
        shape |= dict(head_dim=head, hidden_size=draw.randint(4, 90), attention_bias=draw.random() < 0.3)
    torch.manual_seed(which)
    model = causal(family(**shape)).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:  # fresh norms and biases would hide a mistake
            torch.nn.init.normal_(parameter, 1.0 if "norm" in name else 0.0, 0.3)
        else:
            torch.nn.init.normal_(parameter, 0.0, 1.0 / parameter.shape[1] ** 0.5)
    return model


def build(sources, output, *folders):
    command = [given.compiler, "-std=c++20", *given.flags.split(), f"-I{given.include}", *[f"-I{f}" for f in folders], *[os.path.join(given.root, each) for each in sources], "-o", output]
    subprocess.run(command + ["-pthread"] + given.libraries.split(), check=True)


def compare(embed, folder, source, want, note, work, *more):
    output = os.path.join(work, "y.safetensors")
    subprocess.run([embed, "--weights", folder, "--input", source, "--output", output, "--threads", "2", "--batch", "3", *more], check=True)
    got = load_file(output)["logits"].double()
    error = ((got - want).norm() / want.norm()).item()
    print(f"{note:24s} {tuple(want.shape)} relative error {error:.2e}", flush=True)
    if not error <= 1e-5:
        sys.exit("too far")


with tempfile.TemporaryDirectory() as work:
    import_hf = os.path.join(work, "import_hf")
    build(["examples/import_hf.cpp"], import_hf)
    export_hf = os.path.join(work, "export_hf")
    build(["examples/export_hf.cpp"], export_hf)
    for which in range(given.first, given.shapes):
        model = make(which)
        folder, headers = os.path.join(work, f"model{which}"), os.path.join(work, f"headers{which}")
        model.save_pretrained(folder)
        os.makedirs(headers)
        with open(os.path.join(headers, "imported_model.hpp"), "wb") as header:
            header.write(subprocess.run([import_hf, folder], check=True, stdout=subprocess.PIPE).stdout)
        embed = os.path.join(work, f"embed{which}")
        build(["examples/embed.cpp", "examples/embed/imported.cpp"], embed, headers)
        source = os.path.join(work, "x.safetensors")
        ids = torch.randint(0, model.config.vocab_size, (5, model.config.max_position_embeddings))
        save_file({"input_ids": ids}, source)
        with torch.no_grad():
            # In double precision, so that the difference is ours alone.
            want = model.double()(input_ids=ids).logits.reshape(-1, model.config.vocab_size)
        model.float()
        name = model.config.model_type
        compare(embed, folder, source, want, f"shape {which} {name}", work)

        sharded = os.path.join(work, f"sharded{which}")
        model.save_pretrained(sharded, max_shard_size="30KB")
        compare(embed, sharded, source, want, f"shape {which} in shards", work)
        half = os.path.join(work, f"half{which}")
        model.bfloat16().save_pretrained(half)
        with torch.no_grad():  # loaded again, as the angles of turns were rounded, too
            rounded = type(model).from_pretrained(half, dtype=torch.float64)(input_ids=ids).logits.reshape(-1, model.config.vocab_size)
        compare(embed, half, source, rounded, f"shape {which} in bf16", work)
        if peft is not None:  # adapters, and norms that were trained beside them
            adapted = peft.get_peft_model(type(model).from_pretrained(folder), peft.LoraConfig(
                r=3, lora_alpha=5, use_rslora=which % 2 == 1, init_lora_weights=False, modules_to_save=["norm"],
                target_modules=["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"] + ([] if model.config.tie_word_embeddings else ["lm_head"])))
            for parameter in adapted.parameters():
                if parameter.requires_grad:
                    torch.nn.init.normal_(parameter, 0.0, 0.3)
            adapters = os.path.join(work, f"adapters{which}")
            adapted.save_pretrained(adapters)
            with torch.no_grad():
                changed = adapted.double()(input_ids=ids).logits.reshape(-1, model.config.vocab_size)
            if (changed - want).norm() < 0.1 * want.norm():
                sys.exit("adapters that change nothing show nothing")
            compare(embed, folder, source, changed, f"shape {which} adapted", work, "--adapters", adapters)
        # Out again, from a checkpoint as training writes it.
        to_checkpoint, run, exported = (os.path.join(work, f"{name}{which}") for name in ("to_checkpoint", "run", "exported"))
        build(["tests/tools/hf_to_checkpoint.cpp"], to_checkpoint, headers)
        subprocess.run([to_checkpoint, folder, run], check=True)
        subprocess.run([export_hf, "--checkpoint", os.path.join(run, "three"), "--output", exported], check=True, stdout=subprocess.DEVNULL)
        again = type(model).from_pretrained(exported, dtype=torch.float64)
        with torch.no_grad():
            error = ((again(input_ids=ids).logits.reshape(-1, want.shape[1]) - want).norm() / want.norm()).item()
        print(f"shape {which} exported: relative error {error:.2e}", flush=True)
        if not error <= 1e-9:
            sys.exit("too far")
        # In half precisions and several files, over what was there: rounded as PyTorch rounds, and loaded as such without being asked to.
        for precision, kind in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
            subprocess.run([export_hf, "--checkpoint", os.path.join(run, "three"), "--output", exported, "--precision", precision, "--file-bytes", "15000"], check=True, stdout=subprocess.DEVNULL)
            stored = type(model).from_pretrained(exported, dtype="auto")
            wanted = again.state_dict()
            for name, parameter in stored.state_dict().items():
                if parameter.dtype != kind or not torch.equal(parameter, wanted[name].float().to(kind)):
                    sys.exit(f"{name} is not what was exported, in {precision}")
            print(f"shape {which} exported in {precision}: {len([each for each in os.listdir(exported) if each.startswith('model-')])} files", flush=True)
        # Another model's folder, an id beyond the vocabulary.
        with open(os.path.join(half, "config.json")) as file:
            config = json.load(file)
        config["rms_norm_eps"] = 0.5
        with open(os.path.join(half, "config.json"), "w") as file:
            json.dump(config, file)
        for command, part in (([embed, "--weights", half, "--input", source], "[MT-X32]"),):
            said = subprocess.run(command + ["--output", os.path.join(work, "none")], capture_output=True, text=True)
            if said.returncode not in (2, 3) or part not in said.stderr:
                sys.exit(f"{command} said {said.returncode}: {said.stderr}")
        ids[3, 2] = model.config.vocab_size
        save_file({"input_ids": ids}, source)
        said = subprocess.run([embed, "--weights", folder, "--input", source, "--output", os.path.join(work, "none")], capture_output=True, text=True)
        if said.returncode not in (2, 3) or "token 2 of sample 3 is" not in said.stderr:
            sys.exit(f"an id beyond the vocabulary: {said.returncode} {said.stderr}")
