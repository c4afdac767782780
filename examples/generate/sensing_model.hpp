// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../embed/model_files.hpp"
#include "../train_vlm/sense_speaker.hpp"
#include "spoken_model.hpp"

#include <motet/nn/layers/pictured_text.hpp>

namespace motet::generate {

// A model of train_vlm that sees and hears.
template <class Model, class Parts, class Numbers>
class sensing_model final : public spoken_model {
 public:
  sensing_model(spoken_facts facts, buffer<float> weights, int threads)
      : facts_(std::move(facts)),
        weights_(std::move(weights)),
        device_(threads),
        says_(device_, weights_.data()) {}

  const spoken_facts& facts() const override { return facts_; }
  said_tokens say(const prompt& after, const saying& how,
                  const std::function<bool(std::int32_t)>& hear) override {
    pictured_text text{{Parts::eye::rows_of_picture, Parts::lead}, {Parts::ear::rows_of_sound}};
    picture_grids grids(Parts::eye::config.patches().numbers_of_patch(), Parts::lead);
    for (const picture_grid& each : after.grids) grids.add(each.rows, each.columns);
    isize shown = 0;
    for (const std::int32_t id : after.ids) {
      if (id == prompt::sound) text.show(1);
      else if (id < 0) text.show(0, grids.rows_of(shown++));
      else text.say({&id, 1}, pictured_text::said::given);
    }
    text.end();
    return says_.say_after(text.with(grids.with(after.pixels.data()), {after.features.data(), after.sounds}),
                           how, hear);
  }

 private:
  spoken_facts facts_;
  buffer<float> weights_;
  cpu::device device_;
  train_vlm::sense_speaker<Model, Numbers> says_;
};

template <class Model, class Parts>
std::unique_ptr<spoken_model> make_sensing(const model_request& wanted) {
  const checkpoint& from = *wanted.saved;
  buffer<float> weights(Model::parameter_size);
  from.load_weights(from.model(), embed::loaded_tensors(Model::parameters(), weights.data()), wanted.which);
  spoken_facts facts;
  facts.name = from.model();
  facts.vocabulary = Parts::talk::config.vocabulary, facts.context = Parts::talk::config.context;
  facts.rows = Parts::eye::rows_of_picture - Parts::lead;
  facts.side = facts.covered = Parts::eye::config.image;
  facts.shapes = {Parts::eye::config.patch, Parts::eye::config.most_patches};
  facts.bins = Parts::ear::config.bins, facts.frames = Parts::ear::config.frames;
  facts.rows_of_sound = Parts::ear::rows_of_sound;
  if (wanted.rounded)
    return std::make_unique<sensing_model<Model, Parts, mixed_bf16>>(std::move(facts), std::move(weights),
                                                                     wanted.threads);
  return std::make_unique<sensing_model<Model, Parts, fp32>>(std::move(facts), std::move(weights),
                                                             wanted.threads);
}

}  // namespace motet::generate
