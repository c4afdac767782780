// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/join_layout.hpp>
#include <motet/runtime/feeds/section_exchange.hpp>

#include <span>

namespace motet {

// The members of a join share its loss: this says who compares which rows with which, and what each brings to
// the two exchanges, in sections of its block.
class join_shares {
 public:
  struct sizes {
    isize row = 0;      // bytes of one row of features
    isize numbers = 0;  // of the numbers of the loss
    isize told = 0;     // of what a row tells of itself; 0: nothing
  };
  // Keeps the addresses of both.
  join_shares(const join_layout& layout, std::span<const bool> frozen, sizes bytes)
      : layout_(layout), frozen_(frozen), bytes_(bytes) {
    if (layout.modules() != static_cast<isize>(frozen.size()))
      fail(join_misfit, sentence({"seats of ", layout.modules(), " modules, the model has ", frozen.size()}));
    for (std::size_t k = frozen.size(); k-- > 0;)
      if (!frozen[k]) owning_ = k;
    for (const bool fixed : {false, true})
      for (std::size_t k = 0; k < frozen.size(); ++k)
        if (frozen[k] == fixed) targets_.push_back(k);
    owner_ = layout.first_of(owning_);
  }

  // The first member of the first module that learns: with it live the numbers of the loss.
  std::int32_t owner() const { return owner_; }
  // Says whether a member has rows of module i to compare with all of j. Where rows tell nothing, frozen ones
  // are left to the other side; of two frozen modules the first one does it.
  bool compares(isize member, std::size_t i, std::size_t j) const {
    return i != j && layout_.rows(member, i) > 0 && (bytes_.told > 0 || !frozen_[i] || (frozen_[j] && i < j));
  }
  bool compares_any(isize member) const {
    bool any = false;
    for (std::size_t k = 0; k < frozen_.size(); ++k) any = any || compares_with(member, k);
    return any;
  }
  // Says whether it needs all rows of module k.
  bool compares_with(isize member, std::size_t k) const {
    bool any = false;
    for (std::size_t i = 0; i < frozen_.size(); ++i) any = any || compares(member, i, k);
    return any;
  }
  // At the end of a step only members that learn are asked for their part of the loss. What others have found
  // they hand to the owner at once.
  bool hands_over(isize member) const {
    bool learns = false;
    for (std::size_t k = 0; k < frozen_.size(); ++k)
      learns = learns || (!frozen_[k] && layout_.holds(member, k));
    return member != owner_ && !learns && compares_any(member);
  }
  // Says whether there is a second exchange; the same for all members.
  bool exchanges_again() const {
    bool any = bytes_.told > 0;
    for (isize m = 0; m < layout_.size(); ++m) any = any || hands_over(m);
    return any;
  }

  // The first exchange: rows of the owner's module, the numbers of the loss, rows of the others. So who lacks
  // one of two modules gets that and no more.
  static constexpr isize numbers_section = 1;
  isize section(std::size_t module) const {
    if (module == owning_) return 0;
    return static_cast<isize>(module < owning_ ? module + 2 : module + 1);
  }
  section_exchange features(std::int32_t me) const {
    std::vector<std::size_t> modules(frozen_.size() + 1);
    for (std::size_t k = 0; k < frozen_.size(); ++k) modules[as_size(section(k))] = k;
    const auto module_of = [&](isize s) { return modules[as_size(s)]; };
    return {layout_.size(), me, static_cast<isize>(modules.size()),
            [&](isize m, isize s) {
              if (s == numbers_section) return m == owner_ ? bytes_.numbers : 0;
              return layout_.rows(m, module_of(s)) * bytes_.row;
            },
            [&](isize who, isize, isize s) {
              return s == numbers_section ? compares_any(who) : compares_with(who, module_of(s));
            }};
  }

  // The second: what a member hands over (its loss, then from handed_numbers on the gradients of the loss's
  // numbers), then what the rows of one module tell those of another, those that learn first.
  static constexpr isize handed_section = 0, handed_numbers = arena::alignment;
  isize told_section(std::size_t of, std::size_t target) const {
    isize number = 0;
    while (targets_[as_size(number)] != target) ++number;
    return 1 + number * static_cast<isize>(frozen_.size()) + static_cast<isize>(of);
  }
  section_exchange told(std::int32_t me) const {
    const std::size_t modules = frozen_.size();
    const auto of = [&](isize s) { return as_size(s - 1) % modules; };
    const auto target = [&](isize s) { return targets_[as_size(s - 1) / modules]; };
    return {layout_.size(), me, static_cast<isize>(1 + modules * modules),
            [&](isize m, isize s) {
              if (s == handed_section) return hands_over(m) ? handed_numbers + bytes_.numbers : 0;
              return of(s) != target(s) ? layout_.rows(m, of(s)) * bytes_.told : 0;
            },
            [&](isize who, isize, isize s) {
              if (s == handed_section) return who == owner_;
              return !frozen_[target(s)] && layout_.rows(who, target(s)) > 0;
            }};
  }

 private:
  const join_layout& layout_;
  std::span<const bool> frozen_;
  sizes bytes_;
  std::size_t owning_ = 0;
  std::int32_t owner_ = 0;
  std::vector<std::size_t> targets_;  // modules that learn, then the others
};

}  // namespace motet
