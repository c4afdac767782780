#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples a second of our loader and of PyTorch's DataLoader over webdataset, with as many workers, on the same files in turns: a pass of ours, one of theirs.
Both read a shard, decode, cut out a random box, resize it with averaging, mirror it by chance, and make scaled planes of floats; captions and texts become
tokens of a vocabulary of 2,048, theirs by Hugging Face's tokenizers. Pillow decodes by libjpeg-turbo and zlib.
  python3 bench/peers/data_torch.py --ours build/release/bin/bench_data --folder FOLDER [--rounds 5] [--workers 1] [--image 224]
Needs torch, webdataset, pillow, numpy, tokenizers. What counts are ratios of processor seconds a sample, as neighbours on the machine change those least;
ratios of samples a second by the clock stand beside them. Ends with a JSON line for each kind."""
import argparse
import io
import json
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import time

import numpy
import torch
import webdataset
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

context = 77


def picture_of(data, image):
    shot = Image.open(io.BytesIO(data)).convert("RGB")
    width, height = shot.size
    side = min(width, height) * random.uniform(0.6, 1) ** 0.5
    x, y = random.uniform(0, width - side), random.uniform(0, height - side)
    small = shot.resize((image, image), Image.Resampling.BILINEAR, box=(x, y, x + side, y + side))
    if random.random() < 0.5:
        small = small.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return torch.from_numpy(numpy.asarray(small, dtype=numpy.float32).transpose(2, 0, 1) / 127.5 - 1)


class Texts(torch.utils.data.Dataset):
    def __init__(self, path, words):
        self.lines, self.words = pathlib.Path(path).read_text(encoding="utf-8").splitlines(), words

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, k):
        return torch.tensor(self.words.encode(self.lines[k]).ids[:512])


class Made:
    """Of a raw sample of a shard what the model gets; a class, so that workers can be sent it."""

    def __init__(self, field, image, words):
        self.field, self.image, self.words = field, image, words

    def __call__(self, sample):
        tokens = torch.tensor(self.words.encode(sample["txt"].decode()).ids[:context])
        return picture_of(sample[self.field], self.image), tokens


def stacked(samples):
    if isinstance(samples[0], tuple):
        return torch.stack([each[0] for each in samples]), torch.cat([each[1] for each in samples])
    return torch.cat(samples)


def learned(texts):
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel()
    words.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=2048, show_progress=False))
    return words


def processor_seconds():
    return sum(of.ru_utime + of.ru_stime for of in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))


def theirs(kind, given, words):
    """Samples, seconds and processor seconds of a pass, the start of its workers with it, as that of our threads is."""
    folder = pathlib.Path(given.folder)
    if kind == "text":
        data = Texts(folder / "text.txt", words)
        loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True, num_workers=given.workers, collate_fn=stacked)
    else:
        made = Made("jpg" if kind == "jpeg" else "png", given.image, words)
        data = webdataset.WebDataset(str(folder / f"{kind}.tar"), shardshuffle=False, empty_check=False, workersplitter=None).shuffle(64).map(made)
        loader = torch.utils.data.DataLoader(data, batch_size=64, num_workers=given.workers, collate_fn=stacked)
    count, batches, began, used = 0, iter(loader), time.perf_counter(), processor_seconds()
    for batch in batches:
        count += 64
    seconds = time.perf_counter() - began
    del batch, batches, loader
    return count, seconds, processor_seconds() - used


def ours(kind, given):
    words = [given.ours, "--folder", given.folder, "--threads", str(given.workers), "--image", str(given.image), f"--benchmark_filter=^samples/{kind}/",
             "--benchmark_format=json", "--benchmark_min_time=0.5"]
    row = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["benchmarks"][0]
    return row["samples_per_second"], row["samples_per_processor_second"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True, help="bench_data")
    parser.add_argument("--folder", required=True, help="of its files, made if there are none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--image", type=int, default=224)
    given = parser.parse_args()
    torch.set_num_threads(1)
    subprocess.run([given.ours, "--folder", given.folder, "--benchmark_filter=^none$"], capture_output=True, check=False)
    words = learned((pathlib.Path(given.folder) / "text.txt").read_text(encoding="utf-8").splitlines())
    for kind in ("jpeg", "png", "text"):
        rows = []
        for k in range(given.rounds):
            a = ours(kind, given)
            count, seconds, used = theirs(kind, given, words)
            b = count / seconds, count / used
            rows.append((*a, *b))
            print(f"{kind} {k + 1}/{given.rounds}: ours {a[1]:.0f} samples a processor second, theirs {b[1]:.0f}", file=sys.stderr)
        by_work, by_clock = sorted(row[1] / row[3] for row in rows), sorted(row[0] / row[2] for row in rows)
        print(json.dumps({
            "kind": kind, "workers": given.workers, "image": given.image, "rounds": given.rounds, "ratio": round(statistics.median(by_work), 2),
            "ratio_low": round(by_work[0], 2), "ratio_high": round(by_work[-1], 2), "ratio_by_clock": round(statistics.median(by_clock), 2),
            "ours_per_processor_second": round(statistics.median(row[1] for row in rows)),
            "theirs_per_processor_second": round(statistics.median(row[3] for row in rows)),
            "peer": f"torch {torch.__version__}, webdataset {webdataset.__version__}, pillow {Image.__version__}"}))


if __name__ == "__main__":
    main()
