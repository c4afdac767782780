// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/cuda/products/gemm_epilogue.hpp>

#include <functional>
#include <map>
#include <vector>

namespace motet::cuda {

// Copies in bf16 of flat buffers of master weights, for products in bf16: a part of the engine. Whoever holds
// the weights registers each buffer once with keep(). adamw writes the copies as it writes the weights, from
// registers; who writes weights otherwise tells changed(). refresh_weights(ctx) at the beginning of every
// step, before the first product, converts what was told so, at 6 bytes for each weight: after prepare() and
// after loading all, where other ranks update a part of the weights as much as came from them, else nothing.
// A weight that lies in no buffer is converted by the product itself, for each product.
//
// What is stale is known to the host. So a refresh may not be recorded as a part of a graph.
class weight_copies {
 public:
  static constexpr bool of_all_lanes = true;  // an update in one lane writes the weights of all

  explicit weight_copies(engine&) {}

  // The weights [base, base + count) of the GPU's memory. They lie still until drop(base).
  void keep(const float* base, isize count) {
    if (count == 0) return;
    kept_[base] = {count, buffer<bf16>(count), {0, count}};
    ++version_;
  }
  void drop(const float* base) {
    const auto found = kept_.find(base);
    if (found == kept_.end()) return;
    for (const auto& each : followers_) each.dropped(base, found->second.count);
    kept_.erase(found);
    ++version_;
  }
  // Another one after each keep() and drop(): places of copies may be others then.
  std::uint64_t version() const { return version_; }

  // A follower keeps something else of these weights, and is called at a refresh, and when some are dropped.
  struct follower {
    std::function<void(context&)> refresh;
    std::function<void(const float*, isize)> dropped;
  };
  void follow(follower who) { followers_.push_back(std::move(who)); }

  // The copy of `weight` is here; the result is null where nobody keeps one. Copies are aligned as the
  // weights are, in elements, if the buffer begins at 16 bytes.
  bf16* copy_of(const float* weight) const {
    auto after = kept_.upper_bound(weight);
    if (after == kept_.begin()) return nullptr;
    const auto& [base, held] = *--after;
    return weight < base + held.count ? held.copy.data() + (weight - base) : nullptr;
  }
  bf16* copy_of(const double*) const { return nullptr; }

  // The copies of these weights, where there are some, are stale from now on.
  void changed(const float* from, isize count) {
    for (auto& [base, held] : kept_) {
      if (base >= from + count || from >= base + held.count) continue;
      const isize begin = from > base ? from - base : 0, end = from + count - base;
      const interval now{begin / grain * grain, end < held.count ? end : held.count};
      held.stale = held.stale.size() == 0
                       ? now
                       : interval{now.begin < held.stale.begin ? now.begin : held.stale.begin,
                                  now.end > held.stale.end ? now.end : held.stale.end};
    }
  }
  void changed(const double*, isize) {}
  // Weights whose copies are stale.
  isize stale() const {
    isize sum = 0;
    for (const auto& each : kept_) sum += each.second.stale.size();
    return sum;
  }

  template <class Context>
  void refresh(Context& ctx) {
    for (auto& [base, held] : kept_) {
      const isize at = held.stale.begin, count = held.stale.size(), done = count / row * row,
                  left = count - done;
      const auto convert = [&](isize rows, isize width, isize from) {
        if (rows > 0 && width > 0)
          detail::convert(ctx.stream(), rows, width, base + from, width, held.copy.data() + from, width);
      };
      convert(done / row, row, at);
      convert(1, left, at + done);
      held.stale = {};
    }
    for (const auto& each : followers_) each.refresh(ctx);
  }

 private:
  static constexpr isize row = 2048, grain = 16;
  struct range {
    isize count = 0;
    buffer<bf16> copy;
    interval stale;  // one stretch with all that is
  };
  std::map<const float*, range> kept_;
  std::vector<follower> followers_;
  std::uint64_t version_ = 1;
};

// At the beginning of a step, before what may be recorded: the copies are those of the weights.
template <class Context>
void refresh_weights(Context& ctx) {
  if (!ctx.measuring()) ctx.on->template part<weight_copies>().refresh(ctx);
}
// Somebody else than adamw wrote these weights, or is about to. Others than weights may be told, too.
template <class Context, class Master>
void weights_changed(Context& ctx, const Master* base, isize count) {
  if (!ctx.measuring()) ctx.on->template part<weight_copies>().changed(base, count);
}
// Those that keep_weights() (fp8.hpp) was told of are dropped before their memory goes away, or never
// refreshed again.
template <class Master, class Context>
void drop_weights(Context& ctx, const Master* base) {
  if constexpr (std::is_same_v<Master, float>) ctx.on->template part<weight_copies>().drop(base);
}

}  // namespace motet::cuda
