// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_files.hpp"
#include "saved_towers.hpp"

#include <motet/front/trained/embedder.hpp>

#include <algorithm>

namespace motet::embed {

template <class Model>
class typed_towers final : public saved_towers {
 public:
  typed_towers(const checkpoint& from, int threads) : weights_(Model::parameter_size), device_(threads) {
    std::fill_n(weights_.data(), weights_.size(), 0.0f);
    from.load_weights(from.model(), tensors_of<Model>(weights_));
  }

  isize side() const override { return Model::template module_at<picture>::net::config.image; }
  isize context() const override { return Model::template module_at<caption>::net::config.context; }
  isize vocabulary() const override { return Model::template module_at<caption>::net::config.vocabulary; }
  isize width() const override { return Model::embedding; }
  void embed(const pictures& shown, float* features) override { embed_by(picture, &shown, features); }
  void embed(const tokens& said, float* features) override { embed_by(caption, &said, features); }

 private:
  static constexpr std::size_t picture = Model::template position<"picture">(),
                               caption = Model::template position<"caption">();

  void embed_by(std::size_t tower, const void* input, float* features) {
    by_.embed(tower, input, weights_.data() + Model::offsets[tower], features);
  }

  buffer<float> weights_;
  cpu::device device_;
  embedder<fp32, cpu::device> by_{table_of_model<Model, cpu::context, fp32>, device_};
};

// The loss that the run was trained with decides, as it has numbers of its own among the weights.
template <template <class> class Model>
std::unique_ptr<saved_towers> open_towers(const checkpoint& from, int threads) {
  if (from.model().ends_with("/sigmoid"))
    return std::make_unique<typed_towers<Model<pairwise_sigmoid>>>(from, threads);
  return std::make_unique<typed_towers<Model<info_nce>>>(from, threads);
}

}  // namespace motet::embed
