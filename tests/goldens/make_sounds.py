#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_sounds.py FILE.safetensors: a short sound, what Whisper's feature extractor hears of it, and FLAC files with the numbers in them, as libsndfile writes them.

The features come by way of numpy, in double precision: by way of PyTorch the extractor is itself off by up to 1e-4. Needs transformers and soundfile."""
import io
import sys

import numpy as np
import soundfile
from safetensors.numpy import save_file
from transformers import WhisperFeatureExtractor

draw = np.random.default_rng(5)
time = np.arange(4801) / 16000
sound = (0.3 * np.sin(2 * np.pi * (150 + 9000 * time) * time) + 0.02 * draw.standard_normal(time.size)).astype(np.float32)
tensors = {"sound": sound}
for bins in (80, 128):
    padded = np.zeros((1, 40 * 160), np.float32)
    padded[0, : sound.size] = sound
    features = WhisperFeatureExtractor(feature_size=bins)._np_extract_fbank_features(padded, "cpu")[0]
    tensors[f"features_{bins}"] = np.ascontiguousarray(features.T.astype(np.float32))


def flac(name, numbers, rate, subtype):
    file = io.BytesIO()
    soundfile.write(file, numbers, rate, format="FLAC", subtype=subtype)
    tensors[f"flac_{name}"] = np.frombuffer(file.getvalue(), np.uint8)
    read, found = soundfile.read(io.BytesIO(file.getvalue()), always_2d=True)
    assert found == rate
    tensors[f"values_{name}"] = read.mean(axis=1).astype(np.float32)


short = sound[:1500]
flac("plain", short, 16000, "PCM_16")
flac("stereo", np.stack([short, 0.9 * short + 0.001], 1), 44100, "PCM_16")  # as middle and difference
flac("wide", short[:700], 48000, "PCM_24")
flac("loud", draw.uniform(-1, 1, (300, 3)), 8000, "PCM_16")  # as it is
flac("still", np.zeros(5000), 22050, "PCM_16")
flac("coarse", np.round(short[:900] * 8) / 8, 16000, "PCM_24")  # with wasted bits
save_file(tensors, sys.argv[1])
