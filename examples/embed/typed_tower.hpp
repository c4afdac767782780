// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_files.hpp"
#include "saved_towers.hpp"

#include <motet/front/trained/embedder.hpp>
#include <motet/nn/layers/patch_embedding.hpp>

#include <algorithm>

namespace motet::embed {

template <class Model>
class typed_tower final : public saved_tower {
 public:
  typed_tower(const checkpoint& from, int threads) : weights_(Model::parameter_size), device_(threads) {
    std::fill_n(weights_.data(), weights_.size(), 0.0f);
    from.load_weights(from.model(), tensors_of<Model>(weights_));
  }

  isize side() const override { return Model::template module_at<tower>::net::config.image; }
  isize width() const override { return Model::embedding; }
  void embed(const float* pixels, isize samples, float* features) override {
    const pictures shown{pixels, samples};
    by_.embed(tower, &shown, weights_.data() + Model::offsets[tower], features);
  }

 private:
  static constexpr std::size_t tower = Model::template position<"picture">();

  buffer<float> weights_;
  cpu::device device_;
  embedder<fp32, cpu::device> by_{table_of_model<Model, cpu::context, fp32>, device_};
};

// The loss that the run was trained with decides, as it has numbers of its own among the weights.
template <template <class> class Model>
std::unique_ptr<saved_tower> open_tower(const checkpoint& from, int threads) {
  if (from.model().ends_with("/sigmoid"))
    return std::make_unique<typed_tower<Model<pairwise_sigmoid>>>(from, threads);
  return std::make_unique<typed_tower<Model<info_nce>>>(from, threads);
}

}  // namespace motet::embed
