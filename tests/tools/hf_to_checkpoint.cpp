// SPDX-License-Identifier: Apache-2.0

// hf_to_checkpoint DIR RUN: loads a Hugging Face model into the typed model that this program was built for
// and saves that as checkpoints, as a training program does: in RUN/one alone, and in RUN/three as three
// ranks that share the rows of each tensor. hf_parity.py exports both again.
#include <motet/format/checkpoint/checkpoint_write.hpp>
#include <motet/format/hf/hf_clip_tensors.hpp>
#include <motet/format/hf/hf_llava.hpp>
#include <motet/format/hf/hf_whisper.hpp>
#include <motet/model/describe.hpp>

#include <imported_model.hpp>

#include <cstdio>

int main(int count, char** words) {
  if (count != 3) return std::fputs("hf_to_checkpoint DIR RUN\n", stderr), 2;
  using namespace motet;
  using model = imported_model::model;
  std::vector<float> values(static_cast<std::size_t>(model::parameter_size));
  std::vector<loaded_tensor> to;
  std::vector<saved_tensor> from;
  for (const parameter& p : model::parameters()) {
    const auto shape =
        p.vector ? std::vector<motet::isize>{p.width} : std::vector<motet::isize>{p.rows, p.width};
    to.push_back({p.name, shape, values.data() + p.offset});
    from.push_back({p.name, shape, values.data() + p.offset});
  }
  const std::filesystem::path folder = words[1];
  const tensor_set files(folder);
  if (const std::string type = read_hf_model_type(folder); type == "llava") {
    const hf_llava_config config = read_hf_llava_config(folder);
    const std::string eye = hf_llava_eye(files);
    load_hf_tensors(files, hf_llava_tensors(config, "talk", eye), to, hf_llava_unread(config, eye));
  } else if (type == "whisper") {
    const hf_whisper_config config = read_hf_whisper_config(folder);
    const std::string theirs = hf_whisper_encoder(files);
    load_hf_tensors(files, hf_whisper_whole(config, theirs), to, hf_whisper_unread_whole(config, theirs));
  } else {
    load_hf_tensors(files,
                    is_hf_decoder(type) ? hf_decoder_tensors(read_hf_decoder_config(folder))
                                        : hf_clip_tensors(read_hf_clip_config(folder)),
                    to);
  }
  const std::filesystem::path run = words[2];
  save_checkpoint(run / "one", {1, "imported", json{}, from, {}, describe<model>()});
  for (motet::isize part = 0; part < 3; ++part) {
    std::vector<saved_slice> own;
    for (const saved_tensor& each : from) {
      const rectangle all = matrix_of(each.shape);
      const interval run_of = share(all.size(), 3, part);
      append_run(own, each.name, each.shape, all, run_of, each.data + run_of.begin);
    }
    write_checkpoint_part(run / "three", {1, "imported", part, 3, own, {}});
  }
  finish_checkpoint(run / "three", {1, "imported", 3, json{}, describe<model>()});
}
