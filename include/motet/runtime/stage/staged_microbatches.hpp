// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/any_microbatches.hpp>
#include <motet/runtime/state/held_memory.hpp>

#include <utility>

namespace motet {

// The inputs of a rank's microbatches where its operations reach them. They are brought at the beginning of
// each step, all at once; what the rank computes then waits for them. Where there is room for two steps,
// those of the next one come while this one is computed, into a second room. From there a step moves them
// over to the first one, as what is recorded of it reads that: on the device itself, a hundredth of the way
// from the host.
template <class Context>
class staged_microbatches {
 public:
  // next: like those that come, for a step ahead; null: there is no room for them.
  explicit staged_microbatches(std::unique_ptr<any_microbatches> next = nullptr) : next_(std::move(next)) {}

  isize bytes(const any_microbatches& of) const { return (next_ ? 2 : 1) * of.count() * each_of(of); }
  void prepare(const any_microbatches& of) {
    each_ = each_of(of);
    memory_ = buffer_for<Context, std::byte>(of.count() * each_);
    second_ = next_ ? buffer_for<Context, std::byte>(of.count() * each_) : buffer_for<Context, std::byte>();
    next_is_ = where::nowhere;
  }
  // The whole input of the step after this one, which stays as it is until that has been taken.
  void expect(const void* whole) {
    if (!next_) return;
    next_->cut(whole);
    next_is_ = where::host;
  }
  // Other shares of the samples: what came for those before is of no use.
  void split(const sample_split& to) {
    if (next_) next_->split(to);
    next_is_ = where::nowhere;
  }
  // This follows cut(), which finds them in the host's memory.
  void stage(Context& ctx, any_microbatches& of) {
    const bool there = next_is_ == where::device && of.same_input(*next_);
    if (next_is_ == where::device) next_is_ = where::nowhere;
    if (there) brought(ctx);
    for (isize m = 0; m < of.count(); ++m)
      of.stage(m, memory_.data() + m * each_, there ? mover(ctx) : bringer(ctx));
    if (there) used(ctx);
    else brought(ctx);
  }
  // Once all else of the step is begun: what is expected comes beside it.
  void bring_ahead(Context& ctx) {
    if (next_is_ != where::host) return;
    for (isize m = 0; m < next_->count(); ++m) next_->bring(m, second_.data() + m * each_, bringer(ctx));
    next_is_ = where::device;
  }

 private:
  enum class where : std::uint8_t { nowhere, host, device };

  static isize each_of(const any_microbatches& of) { return round_up(of.staged_bytes(), arena::alignment); }
  struct bringing {
    static void run(void* self, const std::byte* from, std::byte* to, isize bytes) {
      bring(*static_cast<Context*>(self), from, to, bytes);
    }
  };
  static byte_mover bringer(Context& ctx) { return {&ctx, &bringing::run}; }
  // Moves inputs from the second room to the first, whatever the host's address.
  byte_mover mover(Context& ctx) {
    moving_ = &ctx;
    return {this, [](void* self, const std::byte*, std::byte* to, isize bytes) {
              const auto& own = *static_cast<staged_microbatches*>(self);
              const std::byte* const from = own.second_.data() + (to - own.memory_.data());
              copy(*own.moving_, from, to, bytes);
            }};
  }

  buffer_for<Context, std::byte> memory_, second_;
  isize each_ = 0;
  std::unique_ptr<any_microbatches> next_;
  where next_is_ = where::nowhere;
  Context* moving_ = nullptr;
};

}  // namespace motet
