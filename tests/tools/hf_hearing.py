# SPDX-License-Identifier: Apache-2.0
"""Whisper of odd shapes: import_hf and embed against WhisperModel and WhisperForConditionalGeneration, the encoder's rows and logits.

hf_hearing.py --compiler C++ --include DIR [--flags "..."] [--libraries "..."] [--first N] [--shapes N] [--seed N] ROOT
Status 77 when transformers is not there."""
import argparse
import copy
import json
import os
import random
import subprocess
import sys
import tempfile
import wave

try:
    import numpy as np
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file
    from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperModel
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
arguments.add_argument("--shapes", type=int, default=1)
arguments.add_argument("--first", type=int, default=0)
arguments.add_argument("--seed", type=int, default=1)
arguments.add_argument("root")
given = arguments.parse_args()
torch.set_num_threads(1)


def make(which):
    draw = random.Random(given.seed * 1000 + which)
    heads = draw.randint(1, 4)
    width = heads * 2 * draw.randint(2, 12)
    config = WhisperConfig(
        num_mel_bins=draw.choice([3, 80, 128]), max_source_positions=draw.randint(1, 40), d_model=width, encoder_layers=draw.randint(1, 3),
        encoder_attention_heads=heads, encoder_ffn_dim=draw.randint(3, 90), activation_function=draw.choice(["gelu", "gelu", "relu"]),
        decoder_layers=draw.randint(1, 3), decoder_attention_heads=draw.choice([h for h in (1, 2, heads) if width % h == 0]), decoder_ffn_dim=draw.randint(3, 70),
        max_target_positions=draw.randint(6, 20), vocab_size=draw.randint(20, 90), tie_word_embeddings=which % 4 != 3, scale_embedding=draw.random() < 0.5,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    torch.manual_seed(which)
    model = (WhisperForConditionalGeneration if which % 2 == 1 else WhisperModel)(config).eval()
    for name, parameter in model.named_parameters():
        if "embed_positions" in name:
            continue
        if parameter.dim() == 1:  # fresh norms and biases would hide a mistake
            torch.nn.init.normal_(parameter, 1.0 if "norm" in name and name.endswith("weight") else 0.0, 0.3)
        elif parameter.dim() >= 2:
            torch.nn.init.normal_(parameter, 0.0, 1.0 / parameter[0].numel() ** 0.5)
    return model


def build(sources, output, *folders):
    command = [given.compiler, "-std=c++20", *given.flags.split(), f"-I{given.include}", *[f"-I{f}" for f in folders], *[os.path.join(given.root, each) for each in sources], "-o", output]
    subprocess.run(command + ["-pthread"] + given.libraries.split(), check=True)


def rows_of(model, features):
    with torch.no_grad():  # in double precision, so that the difference is ours alone
        rows = model.get_encoder().double()(features.double()).last_hidden_state
    model.float()
    return rows


def refused(command, part):
    said = subprocess.run(command, capture_output=True, text=True)
    if said.returncode not in (2, 3) or part not in said.stderr:
        sys.exit(f"{part}: {said.returncode} {said.stderr}")


with tempfile.TemporaryDirectory() as work:
    import_hf = os.path.join(work, "import_hf")
    build(["examples/import_hf.cpp"], import_hf)
    export_hf = os.path.join(work, "export_hf")
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
        source, output = os.path.join(work, "x.safetensors"), os.path.join(work, "y.safetensors")
        features = torch.randn(5, config.num_mel_bins, 2 * config.max_source_positions)
        save_file({"input_features": features}, source)

        def compare(of, weights, note, *more):
            want = rows_of(of, features)
            subprocess.run([embed, "--weights", weights, "--input", source, "--output", output, "--threads", "2", "--batch", "2", *more], check=True)
            got = load_file(output)["last_hidden_state"].double()
            error = ((got - want).norm() / want.norm()).item()
            print(f"shape {which} {note:12s} {tuple(want.shape)} relative error {error:.2e}", flush=True)
            if got.shape != want.shape or not error <= 1e-5:
                sys.exit("too far")
            return want

        plain = compare(model, folder, type(model).__name__)

        # What the decoder says of sounds, all of one length; a model without a head has that of its table.
        def compare_logits(of, weights, note):
            ids = torch.randint(config.vocab_size, (5, min(6, config.max_target_positions)))
            said = os.path.join(work, "said.safetensors")
            save_file({"input_features": features, "input_ids": ids}, said)
            with torch.no_grad():
                of.double()
                whole = getattr(of, "model", of)
                last = whole(input_features=features.double(), decoder_input_ids=ids, use_cache=False).last_hidden_state
                want = of.proj_out(last) if hasattr(of, "proj_out") else last @ whole.decoder.embed_tokens.weight.T
                of.float()
            want = want.reshape(-1, config.vocab_size)
            subprocess.run([embed, "--weights", weights, "--input", said, "--output", output, "--threads", "2", "--batch", "2"], check=True)
            got = load_file(output)["logits"].double()
            error = ((got - want).norm() / want.norm()).item()
            print(f"shape {which} {note:12s} logits {tuple(want.shape)} relative error {error:.2e}", flush=True)
            if got.shape != want.shape or not error <= 1e-5:
                sys.exit("too far")

        if config.tie_word_embeddings or hasattr(model, "proj_out"):
            compare_logits(model, folder, type(model).__name__)
            # Out again, from a checkpoint of three ranks: the same model there, read here and there.
            to_checkpoint, run, exported = (os.path.join(work, f"{name}{which}") for name in ("to_checkpoint", "run", "exported"))
            build(["tests/tools/hf_to_checkpoint.cpp"], to_checkpoint, headers)
            subprocess.run([to_checkpoint, folder, run], check=True)
            subprocess.run([export_hf, "--checkpoint", os.path.join(run, "three"), "--output", exported], check=True)
            again, told = WhisperForConditionalGeneration.from_pretrained(exported, output_loading_info=True)
            if any(told[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys")):
                sys.exit(f"exported: {told}")
            ids = torch.randint(config.vocab_size, (5, 4))
            with torch.no_grad():
                mine = again.eval().model(input_features=features, decoder_input_ids=ids, use_cache=False).last_hidden_state
                theirs = getattr(model, "model", model)(input_features=features, decoder_input_ids=ids, use_cache=False).last_hidden_state
            # Positions of sounds are written as they are here, in single precision not to the bit those of the package.
            if not (mine - theirs).norm() <= 1e-5 * theirs.norm() or not torch.equal(again.proj_out.weight, getattr(model, "proj_out", getattr(model, "model", model).decoder.embed_tokens).weight):
                sys.exit(f"exported: off by {(mine - theirs).abs().max()}")
            compare_logits(again, exported, "exported")
        half = os.path.join(work, f"half{which}")
        halved = copy.deepcopy(model).half()
        halved.save_pretrained(half)
        halved.get_encoder().embed_positions.weight.data = model.get_encoder().embed_positions.weight.data  # a constant here, whatever is stored
        compare(halved.float(), half, "from halves")
        if peft is not None:
            adapted = peft.get_peft_model(type(model).from_pretrained(folder), peft.LoraConfig(
                r=2, lora_alpha=3, init_lora_weights=False, target_modules=["q_proj", "k_proj", "fc2"]))
            adapters = os.path.join(work, f"adapters{which}")
            adapted.save_pretrained(adapters)
            if (compare(adapted.base_model.model, folder, "adapted", "--adapters", adapters) - plain).norm() < 0.1 * plain.norm():
                sys.exit("adapters that change nothing show nothing")
        if which > given.first:
            continue
        # Files of sounds: two as they are, one at another rate, one cut short, one that is none.
        sounds = os.path.join(work, "sounds")
        os.makedirs(os.path.join(sounds, "b"))
        count = 2 * config.max_source_positions * 160
        heard = []
        for name, rate in (("a.wav", 16000), ("b/c.wav", 16000), ("fast.wav", 22050), ("short.wav", 16000)):
            numbers = (torch.randn(count // 2 + 37) * 3000).short()
            with wave.open(os.path.join(sounds, name), "wb") as file:
                file.setparams((1, 2, rate, len(numbers), "NONE", None))
                file.writeframes(numbers.numpy().tobytes())
            padded = np.zeros((1, count), np.float32)
            padded[0, : len(numbers)] = numbers.numpy() / 32768
            heard.append(torch.tensor(WhisperFeatureExtractor(feature_size=config.num_mel_bins)._np_extract_fbank_features(padded, "cpu")))
        with open(os.path.join(sounds, "short.wav"), "r+b") as file:
            file.truncate(100)
        with open(os.path.join(sounds, "none.flac"), "wb") as file:
            file.write(b"no sound")
        said = subprocess.run([embed, "--weights", folder, "--sounds", sounds, "--output", output], check=True, capture_output=True, text=True)
        with safe_open(output, "pt") as file:
            listed, rows = json.loads(file.metadata()["files"]), file.get_tensor("last_hidden_state").double()
        if listed != ["a.wav", "b/c.wav", "fast.wav"] or "2 of 5 sounds skipped" not in said.stdout:
            sys.exit(f"{listed} {said.stdout}")
        for part in ("fast.wav has 22050 numbers a second", "short.wav", "WAV: it ends after 56 of", "none.flac", "begin like neither WAV nor FLAC"):
            if part not in said.stderr:
                sys.exit(f"{part}: {said.stderr}")
        want = rows_of(model, torch.cat(heard[:2]))
        error = ((rows[:2] - want).norm() / want.norm()).item()
        print(f"shape {which} of files {tuple(want.shape)} relative error {error:.2e}", flush=True)
        if not error <= 1e-5 or not rows.isfinite().all():
            sys.exit("too far")
        # What is wrong is named: frames, a tensor too few and one too many, positions that learned.
        ask = [embed, "--weights", folder, "--input", source, "--output", os.path.join(work, "none")]
        save_file({"input_features": features[:, :, 1:].contiguous()}, source)
        refused(ask, f"wanted [sounds, {config.num_mel_bins}, {2 * config.max_source_positions}]")
        save_file({"pixel_values": features}, source)
        refused(ask, "holds no input_features")
        save_file({"input_features": features / 0}, source)
        refused(ask, "NaN or infinity in sound 0")
        save_file({"input_features": features, "input_ids": torch.zeros(3, 2, dtype=torch.int64)}, source)
        refused(ask, "input_ids has 3 samples, input_features 5 sounds")
        save_file({"input_features": features, "input_ids": torch.full((5, 2), config.vocab_size)}, source)
        refused(ask, f"the vocabulary has {config.vocab_size}")
        save_file({"input_features": features}, source)
        path = os.path.join(folder, "model.safetensors")
        tensors = load_file(path)
        before = next(name for name in tensors if name.endswith("encoder.conv1.weight"))[: -len("conv1.weight")]
        spoilt = dict(tensors)
        spoilt[before + "layers.0.fc3.weight"] = spoilt.pop(before + "layers.0.fc1.weight")
        save_file(spoilt, path, metadata={"format": "pt"})
        refused(ask, f"missing     {before}layers.0.fc1.weight")
        refused(ask, f"unexpected  {before}layers.0.fc3.weight")
        spoilt = dict(tensors)
        spoilt[before + "embed_positions.weight"] = spoilt[before + "embed_positions.weight"] + 0.1
        save_file(spoilt, path, metadata={"format": "pt"})
        refused(ask, "not the sines and cosines")
