// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../embed/hearing.hpp"
#include "spoken_model.hpp"

#include <motet/front/trained/speaker.hpp>
#include <motet/runtime/stage/beside_inputs.hpp>

namespace motet::generate {

// A model of an encoder of sounds and a decoder that looks at its rows.
template <class Model, class Numbers>
class listening_model final : public spoken_model {
  using ear = typename Model::template module_at<0>::net;
  using talk = typename Model::template module_at<1>::net;

 public:
  listening_model(spoken_facts facts, buffer<float> weights, int threads)
      : facts_(std::move(facts)),
        weights_(std::move(weights)),
        device_(threads),
        says_(device_, weights_.data() + Model::offsets[1]) {}

  const spoken_facts& facts() const override { return facts_; }
  said_tokens say(const prompt& after, const saying& how,
                  const std::function<bool(std::int32_t)>& hear) override {
    embed::heard_input sound;
    sound.features = after.features;
    sound.sounds = after.sounds;
    rows_ = embed::rows_of_sounds<ear>(device_, weights_.data() + Model::offsets[0], sound, 1);
    const isize offsets[] = {0, after.sounds * ear::rows_of_sound};
    const tokens words{after.ids.data(), {1, static_cast<isize>(after.ids.size()), nullptr}};
    return says_.say_after(tokens_beside{{words}, {offsets, {rows_.data(), nullptr}}}, how, hear);
  }

 private:
  spoken_facts facts_;
  buffer<float> weights_;
  cpu::device device_;
  std::vector<float> rows_;
  speaker<talk, Numbers> says_;
};

template <class Model>
std::unique_ptr<spoken_model> make_listening(spoken_facts facts, const model_request& wanted) {
  using ear = typename Model::template module_at<0>::net;
  using talk = typename Model::template module_at<1>::net;
  buffer<float> weights(Model::parameter_size);
  embed::load_hearing<Model>(wanted.folder.string(), wanted.adapters, true, weights);
  facts.vocabulary = talk::config.vocabulary, facts.context = talk::config.context;
  facts.bins = ear::config.bins, facts.frames = ear::config.frames;
  if (wanted.rounded)
    return std::make_unique<listening_model<Model, mixed_bf16>>(std::move(facts), std::move(weights),
                                                                wanted.threads);
  return std::make_unique<listening_model<Model, fp32>>(std::move(facts), std::move(weights), wanted.threads);
}

}  // namespace motet::generate
