// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_files.hpp"

#include <motet/format/hf/hf_llava_write.hpp>
#include <motet/format/hf/peft_lora.hpp>
#include <motet/format/tensors/safetensors_write.hpp>
#include <motet/front/trained/picture_speaker.hpp>
#include <motet/model/describe.hpp>
#include <motet/motet.hpp>

#include <algorithm>

// Logits of a language model that sees.
namespace motet::embed {

// Fills the parameters of a model from the folder that it was imported from, with adapters where a folder of
// them is named.
template <class Model>
hf_llava_config load_seeing(const std::string& folder, const std::string& adapters,
                            const buffer<float>& parameters) {
  const hf_llava_config config = read_hf_llava_config(std::filesystem::path(folder));
  if (!same_net(config, describe<Model>())) fail(embed_model, folder);
  std::fill_n(parameters.data(), parameters.size(), 0.0f);
  const tensor_set files(folder);
  const std::string theirs = hf_llava_eye(files);
  const std::vector<hf_tensor> map = hf_llava_tensors(config, "talk", theirs);
  const std::vector<std::string> unread = hf_llava_unread(config, theirs);
  load_hf_tensors(files, map, tensors_of<Model>(parameters), unread);
  if (!adapters.empty()) merge_peft_lora(adapters, map, tensors_of<Model>(parameters), unread);
  return config;
}

template <class Model>
void speak_of_pictures(const options& given) {
  using net = typename Model::template module_at<0>::net;
  using eye = typename net::eye;
  constexpr isize vocabulary = net::config.vocabulary, side = eye::config.image,
                  channels = eye::config.channels;
  const buffer<float> parameters(Model::parameter_size);
  const hf_llava_config config = load_seeing<Model>(given.weights, given.adapters, parameters);
  const safetensors_file input(given.input);
  const stored_tensor* const ids = input.find("input_ids");
  if (ids == nullptr) fail(embed_input, given.input + " holds no input_ids");
  // A placeholder may lie behind the vocabulary.
  const std::vector<std::int64_t> all =
      token_ids(*ids, config.words.context,
                std::max<isize>(vocabulary, static_cast<isize>(config.picture_token) + 1), "sample");
  const isize samples = ids->shape[0], length = ids->shape[1];

  isize shown = 0;
  std::vector<float> whole, pixels;
  if (const stored_tensor* const values = input.find("pixel_values"); values != nullptr) {
    if (values->shape.size() != 4 || values->shape[1] != channels || values->shape[2] < side ||
        values->shape[3] < side)
      fail(embed_input, sentence({"pixel_values is ", shape_text(values->shape), ", wanted [pictures, ",
                                  channels, ", ", side, " or more, ", side, " or more]"}));
    shown = values->shape[0];
    whole.resize(static_cast<std::size_t>(values->elements()));
    copy_elements(*values, whole.data());
    // Whole patches cover so much.
    const isize high = values->shape[2], wide = values->shape[3];
    for (isize plane = 0; plane < shown * channels; ++plane)
      for (isize y = 0; y < side; ++y) {
        const float* const row = whole.data() + (plane * high + y) * wide;
        pixels.insert(pixels.end(), row, row + side);
      }
  }
  // A placeholder stands for each row of a picture that is seen.
  const isize rows = eye::rows_of_picture - config.lead;
  pictured_text text(eye::rows_of_picture, config.lead);
  for (isize s = 0; s < samples; ++s) {
    for (isize i = 0; i < length;) {
      const std::int64_t id = all[static_cast<std::size_t>(s * length + i)];
      if (id != config.picture_token) {
        if (id >= vocabulary)
          fail(embed_input,
               sentence({"token ", i, " of sample ", s, " is ", id, ", the vocabulary has ", vocabulary}));
        const auto word = static_cast<std::int32_t>(id);
        text.say({&word, 1}, pictured_text::said::given);
        ++i;
        continue;
      }
      for (isize k = 0; k < rows; ++k)
        if (i + k >= length || all[static_cast<std::size_t>(s * length + i + k)] != config.picture_token)
          fail(embed_input, sentence({"sample ", s, " has ", k, " placeholders from token ", i,
                                      " on, a picture has ", rows, " rows"}));
      text.show();
      i += rows;
    }
    text.end();
  }
  const pictured_tokens batch = text.with({pixels.data(), shown});
  if (const std::string wrong = unknown_tokens<net>(batch); !wrong.empty()) fail(embed_input, wrong);

  cpu::device device(given.threads);
  std::vector<float> logits(static_cast<std::size_t>(samples * length * vocabulary));
  const isize at_once = std::min(given.batch, samples);
  auto room = input_traits<net>::room(at_once);
  for (isize first = 0; first < samples; first += at_once) {
    const isize count = std::min(at_once, samples - first);
    const pictured_tokens some = input_traits<net>::slice(batch, first, count, room);
    if (!input_traits<net>::fits(some, count))
      fail(embed_input, sentence({"a sample has more than ", net::most_pictures, " pictures"}));
    const auto run = [&](cpu::context& ctx) {
      net::logits::infer(
          ctx, motet::weights<fp32>{parameters.data()}, some,
          view<float, vocabulary>(logits.data() + first * length * vocabulary, count * length));
    };
    device.prepare(device.dry_run(run));
    device.run(run, {0, 0, 0, false});
  }
  safetensors_writer writer(given.output, {{"logits", dtype::f32, {samples * length, vocabulary}}},
                            {{"format", "pt"}});
  writer.write("logits", logits.data());
  writer.commit();
}

}  // namespace motet::embed
