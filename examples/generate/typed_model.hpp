// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../embed/model_files.hpp"
#include "spoken_model.hpp"

#include <motet/front/trained/speaker.hpp>
#include <motet/model/join.hpp>
#include <motet/model/merged_weights.hpp>
#include <motet/nn/layers/pictured_text.hpp>
#include <motet/nn/towers/seeing_decoder.hpp>

#include <algorithm>

namespace motet::generate {

template <class Net>
concept seeing = requires { Net::most_pictures; };

template <class Net, class Numbers>
class typed_model final : public spoken_model {
 public:
  // The first `lead` rows of a picture are not shown.
  typed_model(spoken_facts facts, isize lead, buffer<float> weights, int threads)
      : facts_(std::move(facts)),
        lead_(lead),
        weights_(std::move(weights)),
        device_(threads),
        says_(device_, weights_.data()) {}

  const spoken_facts& facts() const override { return facts_; }
  said_tokens say(const prompt& after, const saying& how,
                  const std::function<bool(std::int32_t)>& hear) override {
    if constexpr (seeing<Net>) {
      pictured_text text(Net::eye::rows_of_picture, lead_);
      for (const std::int32_t id : after.ids) {
        if (id < 0) text.show();
        else text.say({&id, 1}, pictured_text::said::given);
      }
      text.end();
      return says_.say_after(text.with({after.pixels.data(), after.pictures}), how, hear);
    } else {
      return says_.say(after.ids, how, hear);
    }
  }

 private:
  spoken_facts facts_;
  isize lead_;
  buffer<float> weights_;
  cpu::device device_;
  speaker<Net, Numbers> says_;
};

template <class Net>
std::unique_ptr<spoken_model> make_typed(spoken_facts facts, isize lead, buffer<float> weights,
                                         const model_request& wanted) {
  facts.vocabulary = Net::config.vocabulary, facts.context = Net::config.context;
  if constexpr (seeing<Net>) {
    facts.rows = Net::eye::rows_of_picture - lead;
    facts.covered = Net::eye::config.image;
    if (facts.side == 0) facts.side = facts.covered;
  }
  if (wanted.rounded)
    return std::make_unique<typed_model<Net, mixed_bf16>>(std::move(facts), lead, std::move(weights),
                                                          wanted.threads);
  return std::make_unique<typed_model<Net, fp32>>(std::move(facts), lead, std::move(weights), wanted.threads);
}

// The weights come from a checkpoint of a run, whose modules in their order are the net's parts.
template <class Model, class Net>
std::unique_ptr<spoken_model> make_saved(isize lead, const model_request& wanted) {
  std::vector<float> all(as_size(Model::parameter_size));
  const checkpoint& from = *wanted.saved;
  from.load_weights(from.model(), embed::loaded_tensors(Model::parameters(), all.data()), wanted.which);
  static_assert(merged_size<Model> == Net::parameter_size);
  buffer<float> weights(Net::parameter_size);
  std::ranges::copy(merged_weights<Model>(all), weights.data());
  spoken_facts facts;
  facts.name = from.model();
  return make_typed<Net>(std::move(facts), lead, std::move(weights), wanted);
}

}  // namespace motet::generate
