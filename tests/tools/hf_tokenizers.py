# SPDX-License-Identifier: Apache-2.0
"""Vocabularies of language models: tokens and texts against the tokenizers package, over text of many scripts and drawn characters.

hf_tokenizers.py --compiler C++ --include DIR [--flags "..."] [--libraries "..."] [--texts N] [--seed N] ROOT
Small vocabularies of each kind are trained here. Status 77 when the package is not there."""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unicodedata

try:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as absent:
    print(f"skipped: {absent}")
    sys.exit(77)

arguments = argparse.ArgumentParser()
arguments.add_argument("--compiler", default="c++")
arguments.add_argument("--include", required=True)
arguments.add_argument("--flags", default="-O1")
arguments.add_argument("--libraries", default="")
arguments.add_argument("--texts", type=int, default=1500)
arguments.add_argument("--seed", type=int, default=1)
arguments.add_argument("root")
given = arguments.parse_args()
draw = random.Random(given.seed)

ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + REST
QWEN2 = ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + REST
PHRASES = """The quick brown fox doesn't jump over 1234567 lazy dogs; it's what we'LL see, they'VE said.
Voilà une œuvre d'été où l'Ångström naïve s'écrit « à côté », façade, Ελληνικά με τόνους και διαλυτικά ΐ.
Съешь же ещё этих мягких французских булок, да выпей чаю. Ёлка йод.
نص عربي مع تَشْكِيل وأرقام ١٢٣٤٥ و٦٧٨. עברית עִם נִיקּוּד. हिन्दी में लिखा हुआ क़लम १२३। ภาษาไทยไม่มีช่องว่าง ๑๒๓
中文沒有空格，标点也不同。日本語のテキストとカタカナ、ｶﾞ、が、半角。한국어 문장도 있습니다. 한글
Emoji: 👩‍👩‍👧‍👦 👍🏽 🇩🇪 ❤️, math: ∑ x² ½ ⅔ Ⅷ ①, signs: ™ № ﬁ ﬀ, Å Å Å, ṩ ṩ ṩ, q̣̇ q̣̇, ǆ.""".split("\n")
PHRASES.append("    def f(x):\n\t\treturn x  +  1   # 3.14159e-10\r\n\r\n\n   end   \u00a0\u2003\u3000 x\u0085y\u2028z  ")


def drawn_text():
    kind = draw.random()
    if kind < 0.2:  # any characters at all that are assigned or not
        # Those of Unicode 3.2, as the tables of two libraries are seldom of one version.
        pool = [chr(draw.choice([draw.randrange(0x20, 0x250), draw.randrange(0x300, 0x370), draw.randrange(0x370, 0x3400), draw.randrange(0xAC00, 0xD7A4),
                                 draw.randrange(0x4E00, 0x4E80), draw.randrange(0x1F300, 0x1F680), draw.randrange(0xF900, 0xFB00)])) for _ in range(draw.randrange(40))]
        return "".join(each for each in pool if unicodedata.ucd_3_2_0.category(each) != "Cn")
    if kind < 0.3:
        return "".join(draw.choice(" \n\r\t'sSTtlL1 \u00a0a!") for _ in range(draw.randrange(30)))
    parts = []
    for _ in range(draw.randrange(1, 5)):
        phrase = draw.choice(PHRASES)
        first = draw.randrange(len(phrase))
        parts.append(phrase[first : first + draw.randrange(1, 60)])
        if draw.random() < 0.3:
            parts.append(draw.choice(["<image>", "<s>", "</s>", "<|im_end|>", " <image>  ", "<image", "<tool>", "<tool> \n", "▁", " ", ""]))
    return "".join(parts)


def of_bytes(pattern, **more):
    made = Tokenizer(models.BPE(ignore_merges=more.get("ignore_merges", False)))
    if more.get("nfc"):
        made.normalizer = normalizers.NFC()
    if pattern is None:
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=more.get("prefix", False))
    else:
        made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator(PHRASES * 3, trainer)
    made.add_special_tokens([AddedToken("<image>", normalized=False), AddedToken("<|im_end|>", lstrip=True, normalized=False), AddedToken("<s>", normalized=False)])
    made.add_tokens([AddedToken("<tool>", rstrip=True, normalized=False)])
    if more.get("begin"):
        begin = made.token_to_id("<s>")
        made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", [("<s>", begin)])])
    return made


def of_characters(**more):
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=more.get("bytes", True), fuse_unk=True))
    alphabet = sorted({c for phrase in PHRASES for c in phrase if ord(c) < 0x500} | {"▁"})
    special = ["<unk>", "<s>", "</s>"] + ([f"<0x{i:02X}>" for i in range(256)] if more.get("bytes", True) else [])
    if "scheme" in more:
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=more["scheme"], split=more.get("split", False))
        made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme=more["scheme"], split=more.get("split", False))])
    else:
        made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=special, initial_alphabet=alphabet, limit_alphabet=len(alphabet), show_progress=False)
    # By words, as merges over whole lines would learn the lines by heart.
    learn = [word for phrase in PHRASES for word in (" " + part for part in phrase.split(" "))] * 3
    made.train_from_iterator(learn, trainer)
    text = json.loads(made.to_str())
    text["added_tokens"] = [each for each in text["added_tokens"] if not each["content"].startswith("<0x")]
    for each in text["added_tokens"]:
        each["normalized"] = False
    made = Tokenizer.from_str(json.dumps(text))
    made.add_special_tokens([AddedToken("<image>", normalized=False)])
    made.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", [("<s>", made.token_to_id("<s>"))])
    return made


KINDS = {
    "gpt2": lambda: of_bytes(None),
    "gpt2, a space in front": lambda: of_bytes(None, prefix=True),
    "llama3": lambda: of_bytes(LLAMA3, ignore_merges=True, begin=True),
    "qwen2": lambda: of_bytes(QWEN2, nfc=True),
    "sentencepiece": lambda: of_characters(),
    "sentencepiece without bytes": lambda: of_characters(bytes=False),
    "metaspace first": lambda: of_characters(scheme="first"),
    "metaspace always, words": lambda: of_characters(scheme="always", split=True),
    "metaspace never": lambda: of_characters(scheme="never"),
}

with tempfile.TemporaryDirectory() as work:
    program = os.path.join(work, "hf_tokenize")
    command = [given.compiler, "-std=c++20", *given.flags.split(), f"-I{given.include}", os.path.join(given.root, "tests/tools/hf_tokenize.cpp"), "-o", program]
    subprocess.run(command + ["-pthread"] + given.libraries.split(), check=True)
    wrong = 0
    for name, make in KINDS.items():
        theirs = make()
        path, source, output = (os.path.join(work, each) for each in ("tokenizer.json", "texts.json", "out.json"))
        theirs.save(path)
        texts = [""] + PHRASES + [drawn_text() for _ in range(given.texts)]
        with open(source, "w", encoding="utf-8") as file:
            json.dump(texts, file)
        rate = subprocess.run([program, path, source, output], check=True, capture_output=True, text=True).stdout.strip()
        with open(output, encoding="utf-8") as file:
            ours = json.load(file)
        began = time.perf_counter()
        encoded = [theirs.encode(each) for each in texts]
        seconds = time.perf_counter() - began
        ids_off = text_off = 0
        for text, mine, want in zip(texts, ours, encoded):
            if mine["ids"] != want.ids:
                ids_off += 1
                if ids_off <= 3:
                    print(f"  {name}: {text!r}\n    ours   {[theirs.id_to_token(i) for i in mine['ids']]}\n    theirs {want.tokens}")
            elif mine["text"] != theirs.decode(want.ids):
                text_off += 1
                if text_off <= 3:
                    print(f"  {name}: read again {mine['text']!r}, theirs {theirs.decode(want.ids)!r}")
        tokens = sum(len(each.ids) for each in encoded)
        print(f"{name:30s} {len(texts)} texts, {tokens} tokens, {ids_off} with other tokens, {text_off} read otherwise; tokens/s ours {float(rate):.3g}, theirs {tokens / seconds:.3g}", flush=True)
        wrong += ids_off + text_off
    sys.exit(1 if wrong else 0)
