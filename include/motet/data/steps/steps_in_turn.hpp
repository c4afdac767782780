// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/steps/made_ahead.hpp>
#include <motet/data/steps/run_order.hpp>
#include <motet/data/steps/step_part.hpp>
#include <motet/tensor/arena.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace motet {

// The steps of a run one after the other, from a place in its data on, made ahead by threads. Maker says what
// a step is: who is in it from where on, and how its parts are read (sample_maker, pair_maker). A process may
// read a part of each (step_part): all ask each other about every step, so a damaged sample is replaced
// alike.
template <class Maker>
class steps_in_turn {
 public:
  using slot = typename Maker::slot;

  template <class Config, class... Of>
  steps_in_turn(const data_position& from, const Config& config, Of&&... of)
      : maker_(std::forward<Of>(of)...), position_(from), planned_(from), made_(*this, config.ready + 1) {
    if constexpr (by_parts) part_ = config.part;
    memory_ = buffer<std::byte>(made_.size() * maker_.room());
    for (isize s = 0; s < made_.size(); ++s)
      maker_.prepare(made_.slot(s), memory_.data() + s * maker_.room());
    made_.start(config.threads);
  }

  const buffer<std::byte>& memory() const { return memory_; }
  const auto& next() {
    const slot& given = made_.next();
    position_ = given.after;
    if constexpr (by_parts)
      if (!part_.is_whole() && part_.any(given.damaged))
        make_whole(made_.slot((made_.given() - 1) % made_.size()));
    return given.batch;
  }
  // A step with a damaged sample is not there before all know of it.
  auto* ahead() const {
    const slot* const found = made_.ahead();
    bool there = found != nullptr;
    if constexpr (by_parts) there = there && (found->whole || !found->damaged);
    return there ? &found->batch : nullptr;
  }
  const data_position& position() const { return position_; }
  loader_statistics statistics() const {
    loader_statistics out = made_.statistics();
    if constexpr (by_parts) out.pictures = maker_.pictures_read();
    return out;
  }

 private:
  static constexpr bool by_parts = requires(Maker& maker, slot& own) { maker.make_whole(); };
  // Where steps are damaged again and again, as many were made twice, all processes read whole ones.
  static constexpr isize most_made_twice = 16;
  void make_whole(slot& own) {
    if (++damaged_steps_ == most_made_twice) maker_.make_whole();
    if (own.whole) return;
    if (!by_) by_.emplace(maker_.worker());
    maker_.remake(*by_, own);
  }

  friend class made_ahead<steps_in_turn, slot>;
  auto worker() { return maker_.worker(); }
  void begin(auto& by, slot& own, isize) { maker_.plan(by, own, planned_); }
  isize parts(const slot& own) const { return maker_.parts(own); }
  void fill(auto& by, slot& own, isize part, isize& at) { maker_.fill(by, own, part, at); }
  void complete(auto& by, slot& own) { maker_.complete(by, own); }

  Maker maker_;
  step_part part_;
  std::optional<decltype(std::declval<Maker&>().worker())> by_;  // of the thread that takes steps
  isize damaged_steps_ = 0;
  data_position position_, planned_;
  buffer<std::byte> memory_;
  made_ahead<steps_in_turn, slot> made_;  // last: it ends first
};

}  // namespace motet
