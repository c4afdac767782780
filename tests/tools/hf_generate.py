# SPDX-License-Identifier: Apache-2.0
"""What generate says of Hugging Face folders, with two pictures, one and none, is what transformers says of the same: LLaVA's form, and Llama alone; and of sounds, Whisper's, with timestamps and without.

hf_generate.py --compiler C++ --include DIR [--flags "..."] [--libraries "..."] [--seed N] ROOT
Status 77 when transformers is not there."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import wave

try:
    import numpy
    import torch
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import CLIPVisionConfig, LlamaConfig, LlamaForCausalLM, LlavaConfig, LlavaForConditionalGeneration
    from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration, WhisperTimeStampLogitsProcessor
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

arguments = argparse.ArgumentParser()
arguments.add_argument("--compiler", default="c++")
arguments.add_argument("--include", required=True)
arguments.add_argument("--flags", default="-O1")
arguments.add_argument("--libraries", default="")
arguments.add_argument("--seed", type=int, default=5)
arguments.add_argument("root")
given = arguments.parse_args()
torch.set_num_threads(1)
torch.manual_seed(given.seed)

SIDE, ROWS, MEAN, DEVIATION = 24, 16, (0.4, 0.5, 0.6), (0.2, 0.3, 0.25)
# A prompt, and how many pictures are given; without places of their own they come behind what begins a text.
PROMPTS = [("what is <image>this? <image>", 2), ("a photo", 2), ("<image><image> a dog", 2), ("é中 cat", 0), ("<image> and<image>", 2), ("it's", 1), ("", 0)]


def vocabulary():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=290, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator(["what is this? a photo of a dog, a cat and a bird"] * 3, trainer)
    made.add_special_tokens([AddedToken(each, normalized=False) for each in ("<s>", "</s>", "<image>")])
    made.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", [("<s>", made.token_to_id("<s>"))])
    return made


def build(sources, output, *folders):
    command = [given.compiler, "-std=c++20", *given.flags.split(), f"-I{given.include}", *[f"-I{f}" for f in folders]]
    command += [os.path.join(given.root, source) for source in sources] + ["-o", output, "-pthread"] + given.libraries.split()
    subprocess.run(command, check=True)


words = vocabulary()
begin, end, picture = (words.token_to_id(each) for each in ("<s>", "</s>", "<image>"))
text_config = LlamaConfig(vocab_size=words.get_vocab_size() + 5, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                          num_key_value_heads=2, max_position_embeddings=80, bos_token_id=begin, eos_token_id=end)
eye_config = CLIPVisionConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2, image_size=SIDE, patch_size=6)
seeing = LlavaForConditionalGeneration(LlavaConfig(vision_config=eye_config, text_config=text_config, image_token_index=picture, vision_feature_layer=-2))

with tempfile.TemporaryDirectory() as work:
    import_hf = os.path.join(work, "import_hf")
    build(["examples/import_hf.cpp"], import_hf)
    wrong = 0
    for name, model in (("llava", seeing), ("llama", LlamaForCausalLM(text_config))):
        for parameter in model.eval().parameters():
            if parameter.dim() == 2:  # so that the likeliest tokens are not always the same
                torch.nn.init.normal_(parameter, 0.0, 1.5 / parameter.shape[1] ** 0.5)
        folder = os.path.join(work, name)
        model.save_pretrained(folder)
        words.save(os.path.join(folder, "tokenizer.json"))
        with open(os.path.join(folder, "preprocessor_config.json"), "w", encoding="utf-8") as file:
            json.dump({"image_mean": MEAN, "image_std": DEVIATION}, file)
        with open(os.path.join(folder, "imported_model.hpp"), "wb") as header:
            header.write(subprocess.run([import_hf, folder], check=True, stdout=subprocess.PIPE).stdout)
        program = os.path.join(folder, "generate")
        build(["examples/generate.cpp", "examples/generate/imported.cpp"], program, folder)
        for number, (prompt, shown) in enumerate(PROMPTS):
            if name == "llama":
                prompt, shown = prompt.replace("<image>", ""), 0
            shots = numpy.random.RandomState(number).randint(0, 256, (shown, SIDE, SIDE, 3), dtype=numpy.uint8)
            command = [program, "--weights", folder, "--most", "20", "--quiet"] + (["--prompt", prompt] if prompt else [])
            for i, shot in enumerate(shots):
                file = os.path.join(work, f"{i}.ppm")
                with open(file, "wb") as out:
                    out.write(b"P6 %d %d 255\n" % (SIDE, SIDE) + shot.tobytes())
                command += ["--picture", file]
            whole = prompt if "<image>" in prompt else "<image>" * shown + prompt
            ids = torch.tensor([[each for id in words.encode(whole).ids for each in [id] * (ROWS if id == picture else 1)]])
            pixels = {}
            if shown:
                scaled = (torch.from_numpy(shots).float() / 255 - torch.tensor(MEAN)) / torch.tensor(DEVIATION)
                pixels["pixel_values"] = scaled.permute(0, 3, 1, 2)
            with torch.no_grad():
                out = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=20, eos_token_id=end, pad_token_id=end, **pixels)
            theirs = words.decode([each for each in out[0, ids.shape[1] :].tolist() if each != end])
            said = subprocess.run(command, capture_output=True)
            ours = said.stdout.decode("utf-8", "replace")[:-1]
            print(f"{name} {prompt!r}, {shown} pictures: {ours!r}", flush=True)
            if ours != theirs:
                print(f"  transformers says {theirs!r}; {said.stderr.decode()}")
                wrong += 1
    # A sound beside the words; without one, it is asked for. Behind the vocabulary stands a time for each row of a sound, and for its end.
    torch.manual_seed(given.seed)
    words.add_special_tokens([AddedToken("<|notimestamps|>", normalized=False)])
    no_times = words.token_to_id("<|notimestamps|>")
    words.post_processor = processors.TemplateProcessing("<s> <|notimestamps|> $A", "<s> $A <s> $B", [("<s>", begin), ("<|notimestamps|>", no_times)])
    hearing = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=no_times + 52, num_mel_bins=80, max_source_positions=50, max_target_positions=40, d_model=48, encoder_layers=2, encoder_attention_heads=4,
        encoder_ffn_dim=96, decoder_layers=2, decoder_attention_heads=3, decoder_ffn_dim=80, pad_token_id=end, bos_token_id=begin, eos_token_id=end, decoder_start_token_id=begin)).eval()
    for name, parameter in hearing.named_parameters():
        if parameter.dim() >= 2 and "encoder.embed_positions" not in name:
            torch.nn.init.normal_(parameter, 0.0, 1.5 / parameter[0].numel() ** 0.5)
    hearing.generation_config.no_timestamps_token_id, hearing.generation_config.max_initial_timestamp_index = no_times, 9
    folder = os.path.join(work, "whisper")
    hearing.save_pretrained(folder)
    words.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "imported_model.hpp"), "wb") as header:
        header.write(subprocess.run([import_hf, folder], check=True, stdout=subprocess.PIPE).stdout)
    program = os.path.join(folder, "generate")
    build(["examples/generate.cpp", "examples/generate/imported.cpp"], program, folder)
    said_of, segments_said = set(), []

    def segments_of(ids):
        lines, since, heard = [], 0.0, []
        for each in [*ids, None]:
            if each is None or each > no_times:
                now = None if each is None else (each - no_times - 1) * 0.02
                if words.decode(heard).strip(" "):
                    lines.append(f"[{since:.2f} - {'' if now is None else f'{now:.2f}'}] {words.decode(heard).lstrip(' ')}")
                since, heard = now, []
            else:
                heard.append(each)
        return lines

    for number, prompt in enumerate(("", "a photo", "what is", "", "é中")):
        numbers = (numpy.random.RandomState(number).randn(16000) * 3000 * numpy.sin(numpy.arange(16000) * (number + 1) / 900)).astype(numpy.int16)
        file = os.path.join(work, "sound.wav")
        with wave.open(file, "wb") as out:
            out.setparams((1, 2, 16000, len(numbers), "NONE", None))
            out.writeframes(numbers.tobytes())
        features = torch.tensor(WhisperFeatureExtractor(feature_size=80)._np_extract_fbank_features((numbers / 32768).astype(numpy.float32)[None], "cpu"))

        def say(ids, rule):  # one after the other, without a cache
            asked = len(ids)
            with torch.no_grad():
                while len(ids) < asked + 20 and (len(ids) == asked or ids[-1] != end):
                    logits = hearing(input_features=features, decoder_input_ids=torch.tensor([ids]), use_cache=False).logits[:, -1]
                    ids.append(int(rule(torch.tensor([ids]), logits)[0].argmax()))
            return [each for each in ids[asked:] if each != end]

        theirs = words.decode(say(words.encode(prompt).ids, lambda ids, logits: logits))
        command = [program, "--weights", folder, "--most", "20", "--quiet", "--sound", file] + (["--prompt", prompt] if prompt else [])
        said = subprocess.run(command, capture_output=True)
        ours = said.stdout.decode("utf-8", "replace")[:-1]
        said_of.add(ours)
        print(f"whisper {prompt!r}, sound {number}: {ours!r}", flush=True)
        if ours != theirs:
            print(f"  transformers says {theirs!r}; {said.stderr.decode()}")
            wrong += 1
        ids = [each for each in words.encode(prompt).ids if each != no_times]
        theirs = segments_of(say(ids, WhisperTimeStampLogitsProcessor(hearing.generation_config, begin_index=len(ids))))
        said = subprocess.run(command + ["--timestamps"], capture_output=True)
        ours = said.stdout.decode("utf-8", "replace")
        segments_said += theirs
        print(f"whisper {prompt!r}, sound {number}: {ours!r}", flush=True)
        if ours != "".join(line + "\n" for line in theirs):
            print(f"  transformers says {theirs!r}; {said.stderr.decode()}")
            wrong += 1
    if len(set(segments_said)) < 6 or not any(" - ]" not in line for line in segments_said):
        print(f"too few segments to tell anything: {segments_said}")
        wrong += 1
    if len(said_of) < 3:
        print("what is said does not follow from what is heard")
        wrong += 1
    said = subprocess.run([program, "--weights", folder], capture_output=True, text=True)
    if said.returncode != 2 or "--sound, what model" not in said.stderr:
        print(f"without a sound: {said.returncode} {said.stderr}")
        wrong += 1
    # A vocabulary in which nothing stands before times, no text ends before them, or there are none; and a begin that no sound has.
    last = no_times + 51
    for told, edit, text in ((f'{{"eos_token_id": {end}}}', {"<|notimestamps|>": "<|nothing|>"}, "tells no times, as its tokenizer has no <|notimestamps|>"),
                             (f'{{"eos_token_id": {no_times + 1}}}', {}, "tells no times, as no token that ends a text"),
                             (f'{{"eos_token_id": {end}}}', {f'"id":{no_times},': f'"id":{last},', f'"ids":[{no_times}]': f'"ids":[{last}]'},
                              f"tells no times, as <|notimestamps|> is token {last}, and the vocabulary of {last + 1} has none behind it"),
                             (f'{{"eos_token_id": {end}, "max_initial_timestamp_index": -1}}', {}, "generation_config.json: max_initial_timestamp_index is -1, wanted 0 or more")):
        other = words.to_str()
        for before, after in edit.items():
            other = other.replace(before, after)
        with open(os.path.join(folder, "generation_config.json"), "w", encoding="utf-8") as of:
            of.write(told)
        with open(os.path.join(work, "other.json"), "w", encoding="utf-8") as of:
            of.write(other)
        said = subprocess.run([program, "--weights", folder, "--sound", file, "--tokenizer", os.path.join(work, "other.json"), "--timestamps"], capture_output=True, text=True)
        if said.returncode not in (2, 3) or text not in said.stderr:
            print(f"{text}: {said.returncode} {said.stderr}")
            wrong += 1
    sys.exit(1 if wrong else 0)
