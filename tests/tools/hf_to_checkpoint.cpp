// SPDX-License-Identifier: Apache-2.0

// hf_to_checkpoint DIR RUN: loads a Hugging Face model into the typed model that this program was built for and saves that as a checkpoint, as a training
// program does. hf_parity.py exports it again.
#include <motet/format/checkpoint_write.hpp>
#include <motet/format/hf_clip_tensors.hpp>
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
    const auto shape = p.vector ? std::vector<motet::index>{p.width} : std::vector<motet::index>{p.rows, p.width};
    to.push_back({p.name, shape, values.data() + p.offset});
    from.push_back({p.name, shape, values.data() + p.offset});
  }
  const std::filesystem::path folder = words[1];
  load_hf_clip(tensor_set(folder), hf_clip_tensors(read_hf_clip_config(folder)), to);
  save_checkpoint(words[2], {1, "imported", json{}, from, {}, describe<model>()});
}
