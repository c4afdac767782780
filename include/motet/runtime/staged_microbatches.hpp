// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/held_memory.hpp>
#include <motet/runtime/replica_microbatches.hpp>

namespace motet {

// The inputs of a rank's microbatches where its operations reach them. They are brought at the beginning of each step, all at once; what the rank
// computes then waits for them.
template <class Net, class Context>
class staged_microbatches {
 public:
  using traits = input_traits<Net>;

  static index bytes(const replica_microbatches<Net>& of) { return of.count() * each_of(of); }

  void prepare(const replica_microbatches<Net>& of) {
    each_ = each_of(of);
    memory_ = buffer_for<Context, std::byte>(of.count() * each_);
  }
  // After microbatches::cut(), which finds them in the host's memory.
  void stage(Context& ctx, replica_microbatches<Net>& of) const {
    for (index m = 0; m < of.count(); ++m)
      of.move(m, traits::stage(of[m], memory_.data() + m * each_, [&](const auto* from, auto* to, index count) { bring(ctx, from, to, count); }));
    brought(ctx);
  }

 private:
  static index each_of(const replica_microbatches<Net>& of) { return round_up(traits::staged_bytes(of.largest()), arena::alignment); }

  buffer_for<Context, std::byte> memory_;
  index each_ = 0;
};

}  // namespace motet
