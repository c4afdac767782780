// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/stage/any_microbatches.hpp>
#include <motet/runtime/stage/beside_inputs.hpp>
#include <motet/runtime/stage/drawn_inputs.hpp>

namespace motet {

// The microbatches of one replica of a module with their samples. Memory is taken once; microbatches lie
// where the step's batch does.
template <class Net>
class replica_microbatches final : public any_microbatches {
 public:
  using traits = input_traits<Net>;
  using input = typename Net::input;

  // One replica on one rank.
  replica_microbatches(isize samples, isize groups, isize in_group)
      : replica_microbatches(sample_split{samples, groups, 1, in_group}, 0, {}) {}
  replica_microbatches(const sample_split& split, isize replica, const spread_seat& at,
                       const any_group& tensor = {}, const any_group& context = {}, isize most = 0)
      : any_microbatches(split, replica, at, most) {
    const isize mine = mine_of({0, most_}, at_).size();
    largest_ = traits::largest(mine);
    inputs_.resize(as_size(count()), largest_);
    for (isize m = 0; m < count(); ++m) rooms_.push_back(traits::room(mine));
    if (alone()) return;
    const input most_of_all = traits::largest(most_);
    share_rows(tensor, context, Net::rows(most_of_all), bounds_of(most_of_all));
    for (isize m = 0; m < count(); ++m) wholes_.push_back(traits::room(most_));
    if (!at_.experts.alone()) {
      const input most_of_others = traits::largest(most_of_sharers());
      share_experts(Net::rows(most_of_others), bounds_of(most_of_others));
      room_of_others_ = traits::room(most_of_sharers());
    }
    if constexpr (by_parts) {
      if (!takes_parts()) return;
      const isize shared = share(most_, at.tensor, 0).size();
      largest_.part = traits::largest_part(shared, this->shared(largest)->own);
      for (isize m = 0; m < count(); ++m) parts_.push_back(traits::room_of_part(shared, largest_.part));
    }
  }

  const input& operator[](isize m) const { return m == largest ? largest_ : inputs_[as_size(m)]; }
  // The input has its data elsewhere from here on, until the next cut().
  void move(isize m, const input& to) { inputs_[as_size(m)] = to; }
  sequences whole_rows(isize m) const override { return Net::rows((*this)[m]); }
  isize rows_that_go_on(isize m) const override {
    if (gives_parts()) return rows(m).rows();
    if constexpr (requires { Net::rows_that_go_on((*this)[m]); }) return Net::rows_that_go_on((*this)[m]);
    else return whole_rows(m).rows();
  }
  isize entering(isize m) const override {
    if constexpr (requires(const input& one) { one.entering_count(); }) return (*this)[m].entering_count();
    else return 0;
  }
  bool takes_parts() const override { return by_parts && at_.context > 1; }
  isize entering_before(isize m, isize source, isize sample) const override {
    if constexpr (by_parts) {
      const interval all = shares(m);
      const isize at = std::clamp<isize>(sample - all.begin, 0, all.size());
      return parts_[as_size(m)].before[as_size(source * (all.size() + 1) + at)];
    } else {
      return any_microbatches::entering_before(m, source, sample);
    }
  }

  bool gives_parts() const override { return detail::gives_parts<Net> && at_.context > 1; }
  isize leaving_before(isize m, isize sample) const override {
    const sample_bounds bounds = bounds_of(whole_);
    return shared(m)->own.begin(bounds.at(sample) - bounds.at(shares(m).begin));
  }

  void cut(const input& whole) {
    whole_ = whole;
    const sequences rows = Net::rows(whole);
    for (isize m = 0; m < count(); ++m) {
      const auto at = as_size(m);
      const interval all = of(m), own = mine(m);
      inputs_[at] = traits::slice(whole, own.begin, own.size(), rooms_[at]);
      if constexpr (requires { traits::first_row(whole, all.begin); })
        set_first_row(m, traits::first_row(whole, first_sample(m)));
      else find_first_row(m, rows);
      if (alone()) continue;
      const input shared = traits::slice(whole, all.begin, all.size(), wholes_[at]);
      fill_shared(m, Net::rows(shared), bounds_of(shared));
      if (!at_.experts.alone()) {
        begin_experts(m);
        each_sharing_experts(m, [&](interval theirs) {
          const input other = traits::slice(whole, theirs.begin, theirs.size(), room_of_others_);
          add_experts(m, Net::rows(other), bounds_of(other));
        });
      }
      if constexpr (by_parts)
        if (takes_parts()) {
          const interval own_share = shares(m);
          const microbatch_spread& is = *this->shared(m);
          inputs_[at].part = traits::part(shared, {own_share.begin - all.begin, own_share.end - all.begin},
                                          is, at_.context_member, parts_[at]);
        }
    }
  }
  void cut(const void* whole) override { cut(*static_cast<const input*>(whole)); }
  const void* whole() const override { return &whole_; }
  void shape(isize m, std::vector<isize>& into) const override { traits::shape((*this)[m], into); }
  bool same_input(const any_microbatches& other) const override {
    return traits::same(whole_, static_cast<const replica_microbatches&>(other).whole_);
  }
  isize staged_bytes() const override { return traits::staged_bytes(largest_); }
  void bring(isize m, std::byte* to, const byte_mover& by) const override { staged(m, to, by); }
  void stage(isize m, std::byte* to, const byte_mover& by) override { move(m, staged(m, to, by)); }

 private:
  static constexpr bool by_parts = detail::takes_parts<Net>;
  static auto room_of_part() {
    if constexpr (by_parts) return typename traits::part_room{};
    else return detail::no_room{};
  }
  static sample_bounds bounds_of(const input& of) {
    if constexpr (requires { traits::bounds(of); }) return traits::bounds(of);
    else return {Net::rows(of).samples, nullptr};
  }
  input staged(isize m, std::byte* to, const byte_mover& by) const {
    return traits::stage((*this)[m], to, [&]<class T>(const T* from, T* at, isize count) {
      by(reinterpret_cast<const std::byte*>(from), reinterpret_cast<std::byte*>(at),
         count * static_cast<isize>(sizeof(T)));
    });
  }

  input largest_, whole_{};
  std::vector<input> inputs_;
  std::vector<typename traits::storage> rooms_, wholes_;
  typename traits::storage room_of_others_{};
  std::vector<decltype(room_of_part())> parts_;
};

}  // namespace motet
