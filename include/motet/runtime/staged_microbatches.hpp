// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/held_memory.hpp>
#include <motet/runtime/microbatches.hpp>

namespace motet {

// The inputs of a rank's microbatches where its operations reach them. They are brought at the beginning of each step, all at once; what the rank
// computes then waits for them.
template <class Net, class Context>
class staged_microbatches {
 public:
  using traits = input_traits<Net>;
  using element = std::remove_cvref_t<decltype(*traits::data(std::declval<const typename Net::input&>()))>;

  static index bytes(const microbatches<Net>& of) { return of.count() * each_of(of) * static_cast<index>(sizeof(element)); }

  void prepare(const microbatches<Net>& of) {
    each_ = each_of(of);
    memory_ = buffer_for<Context, element>(of.count() * each_);
  }
  // After microbatches::cut(), which finds them in the host's memory.
  void stage(Context& ctx, microbatches<Net>& of) const {
    for (index m = 0; m < of.count(); ++m) {
      element* const to = memory_.data() + m * each_;
      bring(ctx, traits::data(of[m]), to, traits::elements(of[m]));
      of.move(m, traits::with_data(of[m], to));
    }
    brought(ctx);
  }

 private:
  static index each_of(const microbatches<Net>& of) { return round_up(traits::elements(of.largest()), arena::alignment); }

  buffer_for<Context, element> memory_;
  index each_ = 0;
};

}  // namespace motet
