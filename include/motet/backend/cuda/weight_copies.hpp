// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/context.hpp>
#include <motet/backend/cuda/gemm_epilogue.hpp>

#include <functional>
#include <map>
#include <vector>

namespace motet::cuda {

// Copies in bf16 of flat buffers of master weights, for products in bf16: a part of the engine. Whoever holds the weights registers each buffer once
// with keep(), and calls refresh_weights(ctx) at the beginning of every step and after loading, before the first product: one pass over each buffer,
// 6 bytes for each weight. A weight that lies in no buffer is converted by the product itself, at the same 6 bytes, but for each product. So a step
// of L microbatches costs one pass instead of 2 L; none at all where the optimizer writes the copies as it writes the weights (copy_of).
class weight_copies {
 public:
  explicit weight_copies(engine&) {}

  // The weights [base, base + count) of the GPU's memory. They lie still until drop(base).
  void keep(const float* base, index count) {
    if (count > 0) kept_[base] = {count, buffer<bf16>(count)};
  }
  void drop(const float* base) {
    const auto found = kept_.find(base);
    if (found == kept_.end()) return;
    for (const auto& each : followers_) each.dropped(base, found->second.count);
    kept_.erase(found);
  }

  // Who keeps something else of these weights: what it does at a refresh, and when some are dropped.
  struct follower {
    std::function<void(context&)> refresh;
    std::function<void(const float*, index)> dropped;
  };
  void follow(follower who) { followers_.push_back(std::move(who)); }

  // Where the copy of `weight` is; null where nobody keeps one. Copies are aligned as the weights are, in elements, if the buffer begins at 16 bytes.
  bf16* copy_of(const float* weight) const {
    auto after = kept_.upper_bound(weight);
    if (after == kept_.begin()) return nullptr;
    const auto& [base, held] = *--after;
    return weight < base + held.count ? held.copy.data() + (weight - base) : nullptr;
  }
  bf16* copy_of(const double*) const { return nullptr; }

  template <class Context>
  void refresh(Context& ctx) const {
    for (const auto& [base, held] : kept_) detail::convert(ctx.stream(), held.count / row, row, base, row, held.copy.data(), row);
    for (const auto& [base, held] : kept_) {
      const index done = held.count / row * row, left = held.count - done;
      detail::convert(ctx.stream(), 1, left, base + done, left, held.copy.data() + done, left);
    }
    for (const auto& each : followers_) each.refresh(ctx);
  }

 private:
  static constexpr index row = 2048;
  struct range {
    index count = 0;
    buffer<bf16> copy;
  };
  std::map<const float*, range> kept_;
  std::vector<follower> followers_;
};

// At the beginning of a step and after loading: the copies follow the weights.
template <class Context>
void refresh_weights(Context& ctx) {
  if (!ctx.measuring()) ctx.on->template part<weight_copies>().refresh(ctx);
}
// Weights of a rank whose products are in Value: kept where that is another precision. They are dropped before their memory goes away, or never
// refreshed again.
template <class Value, class Master, class Context>
void keep_weights(Context& ctx, const Master* base, index count) {
  if constexpr (std::is_same_v<Value, bf16> && std::is_same_v<Master, float>) ctx.on->template part<weight_copies>().keep(base, count);
}
template <class Master, class Context>
void drop_weights(Context& ctx, const Master* base) {
  if constexpr (std::is_same_v<Master, float>) ctx.on->template part<weight_copies>().drop(base);
}

}  // namespace motet::cuda
