// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/any_microbatches.hpp>
#include <motet/runtime/state/held_memory.hpp>

namespace motet {

// The inputs of a rank's microbatches where its operations reach them. They are brought at the beginning of
// each step, all at once; what the rank computes then waits for them.
template <class Context>
class staged_microbatches {
 public:
  static index bytes(const any_microbatches& of) { return of.count() * each_of(of); }

  void prepare(const any_microbatches& of) {
    each_ = each_of(of);
    memory_ = buffer_for<Context, std::byte>(of.count() * each_);
  }
  // After cut(), which finds them in the host's memory.
  void stage(Context& ctx, any_microbatches& of) const {
    const byte_mover by{&ctx, [](void* to, const std::byte* from, std::byte* at, index count) {
                          bring(*static_cast<Context*>(to), from, at, count);
                        }};
    for (index m = 0; m < of.count(); ++m) of.stage(m, memory_.data() + m * each_, by);
    brought(ctx);
  }

 private:
  static index each_of(const any_microbatches& of) { return round_up(of.staged_bytes(), arena::alignment); }

  buffer_for<Context, std::byte> memory_;
  index each_ = 0;
};

}  // namespace motet
