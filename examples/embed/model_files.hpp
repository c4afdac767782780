// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint.hpp>
#include <motet/format/messages.hpp>
#include <motet/format/tensors/convert.hpp>
#include <motet/model/model.hpp>
#include <motet/tensor/arena.hpp>

#include <string>
#include <vector>

// embed does these for any model: its options, the list of its weights, token ids from a file.
namespace motet::embed {

struct options {
  std::string checkpoint, images, texts;  // of a run, or
  std::string weights, input;             // of the folder that the program was built for
  std::string sounds;                     // a folder of them, instead of an input
  std::string adapters;                   // that the folder's weights get, or none
  std::string tokenizer;                  // of texts, or that of the run
  std::string output;
  int threads = 0;
  isize batch = 32;
};

// This is null where the program was built for no folder.
[[gnu::weak]] void embed_imported(const options& given);

inline std::vector<loaded_tensor> loaded_tensors(const std::vector<parameter>& list, float* to) {
  std::vector<loaded_tensor> out;
  for (const parameter& p : list) {
    out.push_back({p.name, p.vector ? std::vector<isize>{p.width} : std::vector<isize>{p.rows, p.width},
                   to + p.offset});
  }
  return out;
}
template <class Model>
std::vector<loaded_tensor> tensors_of(const buffer<float>& parameters) {
  return loaded_tensors(Model::parameters(), parameters.data());
}

// (samples, tokens), all of the vocabulary. `what` a sample is called.
inline std::vector<std::int64_t> token_ids(const stored_tensor& ids, isize context, isize vocabulary,
                                           const std::string& what) {
  if (ids.shape.size() != 2 || ids.shape[1] < 1 || ids.shape[1] > context) {
    fail(embed_input, "input_ids is " + shape_text(ids.shape) + ", wanted [" + what + "s, 1 to " +
                          std::to_string(context) + " tokens]");
  }
  const isize samples = ids.shape[0], length = ids.shape[1];
  std::vector<std::int64_t> all(static_cast<std::size_t>(samples * length));
  copy_elements(ids, all.data());
  for (isize i = 0; i < samples * length; ++i) {
    const std::int64_t id = all[static_cast<std::size_t>(i)];
    if (id < 0 || id >= vocabulary) {
      fail(embed_input, "token " + std::to_string(i % length) + " of " + what + " " +
                            std::to_string(i / length) + " is " + std::to_string(id) +
                            ", the vocabulary has " + std::to_string(vocabulary));
    }
  }
  return all;
}

}  // namespace motet::embed
