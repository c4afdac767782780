// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../embed/model_files.hpp"
#include "../train_vlm/draw_models.hpp"
#include "saved_drawer.hpp"

#include <motet/model/merged_weights.hpp>
#include <motet/nn/layers/pictured_text.hpp>

namespace motet::drawing {

template <vit_config Eye, decoder_config Words, drawer_config Canvas>
class typed_drawer final : public saved_drawer {
  using model = train_vlm::draw_model<Eye, Words, Canvas>;
  using paints = train_vlm::draw_painter<Eye, Words, Canvas>;
  static_assert(merged_size<model> == paints::parameter_size);
  static constexpr isize rows = train_vlm::drawing_eye<Eye>::rows_of_picture;

 public:
  explicit typed_drawer(const drawer_request& wanted) : device_(wanted.threads) {
    std::vector<float> all(as_size(model::parameter_size));
    const checkpoint& from = *wanted.saved;
    from.load_weights(from.model(), embed::loaded_tensors(model::parameters(), all.data()), wanted.which);
    weights_ = merged_weights<model>(all);
    facts_.name = from.model();
    facts_.vocabulary = Words.vocabulary, facts_.context = Words.context;
    facts_.rows = rows;
    facts_.side = facts_.covered = Eye.image;
  }

  const generate::spoken_facts& facts() const override { return facts_; }
  isize most_seen() const override { return train_vlm::most_seen; }
  std::vector<float> paint(const generate::prompt& of, isize count, const painting& how) override {
    pictured_text text(rows);
    std::vector<float> pixels;
    for (isize k = 0; k < count; ++k) {
      for (const std::int32_t id : of.ids) {
        if (id < 0) text.show();
        else text.say({&id, 1}, pictured_text::said::given);
      }
      text.end();
      pixels.insert(pixels.end(), of.pixels.begin(), of.pixels.end());
    }
    return paints(device_, weights_.data()).paint(text.with({pixels.data(), count * of.pictures}), how);
  }

 private:
  generate::spoken_facts facts_;
  std::vector<float> weights_;
  cpu::device device_;
};

}  // namespace motet::drawing
