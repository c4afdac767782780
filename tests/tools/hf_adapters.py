# SPDX-License-Identifier: Apache-2.0
"""Adapters that learn against the peft package: losses, gradient norms, three steps of AdamW, and the folder that is written, of drawn models and products.

hf_adapters.py --compiler C++ --include DIR [--flags "..."] [--libraries "..."] [--first N] [--shapes N] [--seed N] ROOT
Status 77 when transformers or peft is not there."""
import argparse
import os
import random
import subprocess
import sys
import tempfile

try:
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

arguments = argparse.ArgumentParser()
arguments.add_argument("--compiler", default="c++")
arguments.add_argument("--include", required=True)
arguments.add_argument("--flags", default="-O1")
arguments.add_argument("--libraries", default="")
arguments.add_argument("--shapes", type=int, default=1)
arguments.add_argument("--first", type=int, default=0)
arguments.add_argument("--seed", type=int, default=1)
arguments.add_argument("root")
given = arguments.parse_args()
torch.set_num_threads(1)
names = {"q_proj": "queries", "k_proj": "keys", "v_proj": "values", "o_proj": "out", "gate_proj": "gate", "up_proj": "up", "down_proj": "down"}


def make(which):
    draw = random.Random(given.seed * 1000 + which)
    kv_heads, head = draw.randint(1, 3), 2 * draw.randint(2, 8)
    heads = kv_heads * draw.randint(1, 3)
    shape = dict(vocab_size=draw.randint(20, 200), hidden_size=draw.randint(8, 60) if which % 2 else heads * head, intermediate_size=draw.randint(5, 90), num_hidden_layers=draw.randint(1, 3),
                 num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=head, max_position_embeddings=30, tie_word_embeddings=draw.random() < 0.4)
    torch.manual_seed(which)
    model = (Qwen3ForCausalLM(Qwen3Config(**shape)) if which % 2 else LlamaForCausalLM(LlamaConfig(**shape))).eval()
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, 1.0 if "norm" in name else 0.0, 0.3 if parameter.dim() == 1 else 1.0 / parameter.shape[1] ** 0.5)
    products = draw.sample(sorted(names), draw.randint(1, 7)) if which else sorted(names)
    config = LoraConfig(r=draw.randint(1, 6), lora_alpha=draw.randint(1, 12), target_modules=products, init_lora_weights=False, task_type="CAUSAL_LM")
    samples = [[draw.randrange(shape["vocab_size"]) for _ in range(draw.randint(2, 30))] for _ in range(5)]
    return model, config, samples


def build(source, output, *folders):
    command = [given.compiler, "-std=c++20", *given.flags.split(), f"-I{given.include}", *[f"-I{f}" for f in folders], os.path.join(given.root, source), "-o", output]
    subprocess.run(command + ["-pthread"] + given.libraries.split(), check=True)


def loss_of(model, samples):
    asked = sum(len(each) - 1 for each in samples)
    return sum(torch.nn.functional.cross_entropy(model(input_ids=torch.tensor([each])).logits[0, :-1], torch.tensor(each[1:]), reduction="sum") for each in samples) / asked


def require(what, error, most):
    print(f"{what:40s} {error:.2e}", flush=True)
    if not error <= most:
        sys.exit("too far")


def apart(got, want):
    return ((got - want).norm() / want.norm()).item()


with tempfile.TemporaryDirectory() as work:
    import_hf = os.path.join(work, "import_hf")
    build("examples/import_hf.cpp", import_hf)
    export_hf = os.path.join(work, "export_hf")
    build("examples/export_hf.cpp", export_hf)
    for which in range(given.first, given.shapes):
        model, config, samples = make(which)
        base, adapters, headers, written, text, program, run, merged, beside, apart_from_it = (os.path.join(work, f"{name}{which}") for name in (
            "base", "adapters", "headers", "written", "text", "steps", "run", "merged", "beside", "apart"))
        model.save_pretrained(base)
        adapted = get_peft_model(model, config)
        for parameter in adapted.parameters():
            if parameter.requires_grad:
                torch.nn.init.normal_(parameter, 0.0, 0.3)
        adapted.save_pretrained(adapters)
        chosen = {names[each] for each in config.target_modules}
        os.makedirs(headers)
        with open(os.path.join(headers, "imported_model.hpp"), "wb") as header:
            header.write(subprocess.run([import_hf, base], check=True, stdout=subprocess.PIPE).stdout)
        with open(os.path.join(headers, "adapted_model.hpp"), "w", encoding="utf-8") as header:
            fields = ", ".join(f".{each} = {str(each in chosen).lower()}" for each in ("queries", "keys", "values", "out", "gate", "up", "down"))
            header.write(f"""#include "imported_model.hpp"
inline constexpr motet::decoder_config adapted_model = [] {{
  motet::decoder_config c = imported_model::text_config;
  c.adapters = {{.rank = {config.r}, .alpha = {config.lora_alpha}, {fields}}};
  return c;
}}();
""")
        with open(text, "w", encoding="utf-8") as lines:
            lines.writelines(" ".join(map(str, each)) + "\n" for each in samples)
        build("tests/tools/peft_steps.cpp", program, headers)
        said = subprocess.run([program, base, adapters, text, written, run], check=True, stdout=subprocess.PIPE, text=True).stdout
        adapted.double()
        learned = [each for each in adapted.parameters() if each.requires_grad]
        start = [each.detach().clone() for each in learned]
        optimizer = torch.optim.AdamW(learned, lr=1e-2, betas=(0.9, 0.95), eps=1e-2, weight_decay=0.1)
        for step, line in enumerate(said.splitlines()):
            got_loss, got_norm = map(float, line.split())
            optimizer.zero_grad()
            loss = loss_of(adapted, samples)
            loss.backward()
            norm = torch.stack([each.grad.norm() for each in learned]).norm().item()
            require(f"shape {which} step {step} loss {loss.item():.6f}", abs(got_loss - loss.item()) / loss.item(), 1e-6)
            require(f"shape {which} step {step} gradient norm {norm:.6f}", abs(got_norm - norm) / norm, 1e-5)
            optimizer.step()
        again = PeftModel.from_pretrained(type(model).from_pretrained(base), written, is_trainable=True).double()
        found = [each for each in again.parameters() if each.requires_grad]
        moved = torch.cat([(a - b).flatten() for a, b in zip(learned, start)])
        require(f"shape {which} {len(learned)} adapters after steps", apart(torch.cat([(a - b).flatten() for a, b in zip(found, start)]), moved), 1e-4)
        with torch.no_grad():
            ids = torch.tensor([samples[0]])
            require(f"shape {which} logits of what was written", apart(again(input_ids=ids).logits, adapted(input_ids=ids).logits), 1e-5)
            want = adapted(input_ids=ids).logits
            subprocess.run([export_hf, "--checkpoint", run, "--output", merged], check=True, stdout=subprocess.DEVNULL)
            require(f"shape {which} exported, merged", apart(type(model).from_pretrained(merged).double()(input_ids=ids).logits, want), 1e-5)
            subprocess.run([export_hf, "--checkpoint", run, "--output", beside, "--adapters", apart_from_it], check=True, stdout=subprocess.DEVNULL)
            exported = PeftModel.from_pretrained(type(model).from_pretrained(beside), apart_from_it).double()
            require(f"shape {which} exported, adapters beside", apart(exported(input_ids=ids).logits, want), 1e-5)
