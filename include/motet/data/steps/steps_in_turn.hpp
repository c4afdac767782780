// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/steps/made_ahead.hpp>
#include <motet/data/steps/run_order.hpp>
#include <motet/tensor/arena.hpp>

#include <cstddef>
#include <utility>

namespace motet {

// The steps of a run one after the other, from a place in its data on, made ahead by threads. Maker says what
// a step is: who is in it from where on, and how its parts are read (sample_maker, pair_maker).
template <class Maker>
class steps_in_turn {
 public:
  using slot = typename Maker::slot;

  template <class Config, class... Of>
  steps_in_turn(const data_position& from, const Config& config, Of&&... of)
      : maker_(std::forward<Of>(of)...), position_(from), planned_(from), made_(*this, config.ready + 1) {
    memory_ = buffer<std::byte>(made_.size() * maker_.room());
    for (isize s = 0; s < made_.size(); ++s)
      maker_.prepare(made_.slot(s), memory_.data() + s * maker_.room());
    made_.start(config.threads);
  }

  const buffer<std::byte>& memory() const { return memory_; }
  const auto& next() {
    const slot& given = made_.next();
    position_ = given.after;
    return given.batch;
  }
  auto* ahead() const {
    const slot* const found = made_.ahead();
    return found != nullptr ? &found->batch : nullptr;
  }
  const data_position& position() const { return position_; }
  loader_statistics statistics() const { return made_.statistics(); }

 private:
  friend class made_ahead<steps_in_turn, slot>;
  auto worker() { return maker_.worker(); }
  void begin(auto& by, slot& own, isize) { maker_.plan(by, own, planned_); }
  isize parts(const slot& own) const { return maker_.parts(own); }
  void fill(auto& by, slot& own, isize part, isize& at) { maker_.fill(by, own, part, at); }
  void complete(auto& by, slot& own) { maker_.complete(by, own); }

  Maker maker_;
  data_position position_, planned_;
  buffer<std::byte> memory_;
  made_ahead<steps_in_turn, slot> made_;  // last: it ends first
};

}  // namespace motet
