// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_files.hpp"

#include <motet/format/hf/hf_decoder_tensors.hpp>
#include <motet/format/hf/peft_lora.hpp>
#include <motet/format/tensors/safetensors_write.hpp>
#include <motet/front/trained/speaker.hpp>
#include <motet/model/describe.hpp>
#include <motet/motet.hpp>

#include <algorithm>

// Logits of a language model.
namespace motet::embed {

// Fills the parameters of a model from the folder that it was imported from, with adapters where a folder of
// them is named.
template <class Model>
hf_decoder_config load_language(const std::string& folder, const std::string& adapters,
                                const buffer<float>& parameters) {
  const hf_decoder_config config = read_hf_decoder_config(std::filesystem::path(folder));
  if (!same_net(config, describe(Model::template module_at<0>::net::config))) fail(embed_model, folder);
  std::fill_n(parameters.data(), parameters.size(), 0.0f);
  const std::vector<hf_tensor> map = hf_decoder_tensors(config);
  load_hf_tensors(tensor_set(folder), map, tensors_of<Model>(parameters));
  if (!adapters.empty()) merge_peft_lora(adapters, map, tensors_of<Model>(parameters));
  return config;
}

template <class Model>
void speak(const options& given) {
  using net = typename Model::template module_at<0>::net;
  constexpr isize vocabulary = net::config.vocabulary;
  const buffer<float> parameters(Model::parameter_size);
  const hf_decoder_config config = load_language<Model>(given.weights, given.adapters, parameters);
  const safetensors_file input(given.input);
  const stored_tensor* const ids = input.find("input_ids");
  if (ids == nullptr) fail(embed_input, given.input + " holds no input_ids");
  const std::vector<std::int64_t> all = token_ids(*ids, config.context, config.vocabulary, "sample");
  const isize samples = ids->shape[0], length = ids->shape[1];

  cpu::device device(given.threads);
  const isize at_once = std::min(given.batch, samples);
  std::vector<std::int32_t> some(static_cast<std::size_t>(at_once * length));
  std::vector<float> logits(static_cast<std::size_t>(samples * length * vocabulary));
  speaker<net> says(device, parameters.data());
  for (isize first = 0; first < samples; first += at_once) {
    const isize count = std::min(at_once, samples - first);
    for (isize i = 0; i < count * length; ++i)
      some[static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>(all[static_cast<std::size_t>(first * length + i)]);
    says.logits({some.data(), {count, length, nullptr}}, logits.data() + first * length * vocabulary);
  }
  safetensors_writer writer(given.output, {{"logits", dtype::f32, {samples * length, vocabulary}}},
                            {{"format", "pt"}});
  writer.write("logits", logits.data());
  writer.commit();
}

}  // namespace motet::embed
