// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tools/held_out/held_out.hpp>

namespace motet {

// The loss of some held-out samples in batches as training has them: the same samples each time, a few
// hundred, as they are to be asked often.
class validation {
 public:
  // batch: of samples that are compared with each other.
  validation(data_folder& from, isize batch) : from_(from) {
    const std::vector<std::string> files = held_out_files(from);
    if (from.has_pieces()) samples_.emplace(files, from.skips());
    else pairs_.emplace(files, from.skips());
    const isize all = from.has_pieces() ? samples_->size() : pairs_->size();
    config_ = from.sample_config();
    config_.batch = std::min({batch, all, most_compared});
    config_.augment.reset();
    config_.form = picture_form::floats;
    config_.windows = {};
    config_.threads = 1;
    config_.ready = 1;
    batches_ = std::clamp<isize>(few / config_.batch, 1, all / config_.batch);
  }

  isize samples() const { return batches_ * config_.batch; }
  double loss(tested_model& model) const {
    const auto of = [&](auto&& source) {
      double sum = 0;
      for (isize i = 0; i < batches_; ++i) sum += model.loss_of(source.next());
      return sum / static_cast<double>(batches_);
    };
    if (from_.has_pieces()) return of(loaded_feed<sample_loader>(from_, *samples_, config_, nullptr));
    return of(loaded_feed<pair_loader>(from_, *pairs_, config_, nullptr));
  }

 private:
  static constexpr isize few = 256, most_compared = 1024;

  const data_folder& from_;
  std::optional<pair_source> pairs_;
  std::optional<sample_source> samples_;
  sample_loader_config config_;
  isize batches_ = 1;
};

}  // namespace motet
