// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/spread_rows.hpp>
#include <motet/runtime/parts.hpp>
#include <motet/strategy/bridge.hpp>

#include <algorithm>
#include <memory>

namespace motet {

// Of a microbatch's samples those that the rank at this place embeds.
inline interval mine_of(interval all, const spread_place& at) {
  const interval members = share(all.size(), at.tensor, at.tensor_member), own = share(members.size(), at.context, at.context_member);
  return {all.begin + members.begin + own.begin, all.begin + members.begin + own.end};
}

// The microbatches of one replica of a module, as one of the ranks that hold a stage of it sees them: which samples each has, which of them this rank
// embeds, and how their rows are shared with the others. Memory is taken once; microbatches lie where the step's batch does.
template <class Net>
class replica_microbatches {
 public:
  using traits = input_traits<Net>;
  using input = typename Net::input;

  // One replica on one rank.
  replica_microbatches(index samples, index groups, index in_group) : replica_microbatches(sample_split{samples, groups, 1, in_group}, 0, {}) {}
  // most: samples of a replica in a group that there is room for, when split() will change them; 0: as many as there are.
  replica_microbatches(const sample_split& split, index replica, const spread_place& at, const any_group& tensor = {}, const any_group& context = {},
                       index most = 0)
      : split_(split), replica_(replica), most_((most + split.microbatches - 1) / split.microbatches), at_(at) {
    const index all = split.groups * split.microbatches;
    for (index m = 0; m < all; ++m) most_ = std::max(most_, of(m).size());
    const auto count = static_cast<std::size_t>(all);
    inputs_.resize(count, traits::largest(mine_of({0, most_}, at_).size()));
    first_rows_.resize(count, 0);
    for (std::size_t m = 0; m < count; ++m) rooms_.push_back(traits::room(mine_of({0, most_}, at_).size()));
    if (alone()) return;
    shared_.resize(count + 1);  // the last one is for dry runs
    for (spread& each : shared_) {
      each.tensor = tensor;
      each.context = context;
      rows_.push_back(std::make_unique<spread_rows>(at, most_));
      rows_.back()->fill(Net::rows(traits::largest(most_)), each);
    }
    for (std::size_t m = 0; m < count; ++m) wholes_.push_back(traits::room(most_));
  }

  // Other shares of the same replicas, from the next cut() on. No microbatch is larger than there is room for.
  void split(const sample_split& to) { split_ = to; }

  index count() const { return static_cast<index>(inputs_.size()); }
  // Its samples, and those of them that this rank embeds, as intervals of the step's.
  interval of(index m) const { return split_.of(m / split_.microbatches, replica_, m % split_.microbatches); }
  interval mine(index m) const { return mine_of(of(m), at_); }
  const input& operator[](index m) const { return inputs_[static_cast<std::size_t>(m)]; }
  // The same with its data elsewhere, until the next cut().
  void move(index m, const input& to) { inputs_[static_cast<std::size_t>(m)] = to; }
  // How it is shared; null: this rank has it alone.
  const spread* shared(index m) const { return alone() ? nullptr : &shared_[static_cast<std::size_t>(m)]; }
  // The rows that this rank's blocks work on.
  sequences rows(index m) const { return alone() ? Net::rows((*this)[m]) : shared(m)->own; }
  // The number of its first row within the step, by which random numbers are drawn.
  index first_row(index m) const { return first_rows_[static_cast<std::size_t>(m)]; }

  // What no microbatch exceeds, for dry runs: its data is never read.
  input largest() const { return traits::largest(mine_of({0, most_}, at_).size()); }
  const spread* largest_shared() const { return alone() ? nullptr : &shared_.back(); }
  sequences largest_rows() const { return alone() ? Net::rows(largest()) : largest_shared()->own; }

  void cut(const input& whole) {
    const sequences rows = Net::rows(whole);
    for (index m = 0; m < count(); ++m) {
      const auto at = static_cast<std::size_t>(m);
      const interval all = of(m), own = mine(m);
      inputs_[at] = traits::slice(whole, own.begin, own.size(), rooms_[at]);
      first_rows_[at] = rows.begin(all.begin + share(all.size(), at_.tensor, at_.tensor_member).begin);
      if (!alone()) rows_[at]->fill(Net::rows(traits::slice(whole, all.begin, all.size(), wholes_[at])), shared_[at]);
    }
  }

 private:
  bool alone() const { return at_.tensor == 1 && at_.context == 1; }

  sample_split split_;
  index replica_ = 0, most_ = 0;
  spread_place at_;
  std::vector<input> inputs_;
  std::vector<index> first_rows_;
  std::vector<typename traits::storage> rooms_, wholes_;
  std::vector<spread> shared_;
  std::vector<std::unique_ptr<spread_rows>> rows_;
};

}  // namespace motet
