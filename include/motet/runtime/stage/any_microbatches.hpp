// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/strategy/sample_parts.hpp>
#include <motet/strategy/sample_split.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace motet {

// The rank at this place embeds these of a microbatch's samples.
inline interval mine_of(interval all, const spread_seat& at) {
  return samples_of_rank(all, at.tensor, at.tensor_member, at.context, at.context_member);
}

// Brings bytes to where a context's operations read them.
struct byte_mover {
  void* self = nullptr;
  void (*bring)(void* self, const std::byte* from, std::byte* to, isize bytes) = nullptr;
  void operator()(const std::byte* from, std::byte* to, isize bytes) const { bring(self, from, to, bytes); }
};

// The microbatches of one replica of a module, as one of the ranks that hold a stage of it sees them: which
// samples each has, which of them this rank embeds, and how their rows are shared with the others. What the
// samples are only the net knows, and replica_microbatches<Net> with it.
class any_microbatches {
 public:
  // Stands for a microbatch that none exceeds, whose data is never read: dry runs ask for it.
  static constexpr isize largest = -1;

  virtual ~any_microbatches() = default;

  // Other shares of the same replicas, from the next cut() on. No microbatch is larger than there is room
  // for.
  void split(const sample_split& to) { split_ = to; }

  // Samples of fewer rows stay whole where ranks cut others, from the next cut() on.
  void keep_whole(isize long_rows) {
    for (isize m = 0; m < static_cast<isize>(rows_.size()) - 1; ++m) rows_[as_size(m)]->keep_whole(long_rows);
    if (of_others_) of_others_->keep_whole(long_rows);
  }

  isize count() const { return split_.groups * split_.microbatches; }
  // Its samples, and those of them that this rank embeds, as intervals of the step's.
  interval of(isize m) const { return split_.of(m / split_.microbatches, replica_, m % split_.microbatches); }
  interval mine(isize m) const { return mine_of(of(m), at_); }
  // It is shared so; null: this rank has it alone.
  const microbatch_spread* shared(isize m) const {
    return alone() ? nullptr : m == largest ? &shared_.back() : &shared_[as_size(m)];
  }
  // The rows of its samples, and those that this rank's blocks work on.
  virtual sequences whole_rows(isize m) const = 0;
  // So many rows go on to another module; a net may end with fewer than it has.
  virtual isize rows_that_go_on(isize m) const = 0;
  sequences rows(isize m) const { return alone() ? whole_rows(m) : shared(m)->own; }
  // So many rows of other modules enter it.
  virtual isize entering(isize) const { return 0; }
  // They are those of this rank's part of the samples that it shares, where that holds; so many of a source
  // come before those of a sample of the step.
  virtual bool takes_parts() const { return false; }
  virtual isize entering_before(isize /*m*/, isize /*source*/, isize /*sample*/) const { return 0; }
  interval samples_that_enter(isize m) const { return takes_parts() ? shares(m) : mine(m); }
  // Likewise the rows that go on may be those of this rank's part; so many come before those of a sample.
  virtual bool gives_parts() const { return false; }
  virtual isize leaving_before(isize /*m*/, isize /*sample*/) const { return 0; }
  // The number of its first row within the step, by which random numbers are drawn.
  isize first_row(isize m) const { return first_rows_[as_size(m)]; }

  // `whole`: the step's input of the module.
  virtual void cut(const void* whole) = 0;
  // This was cut last.
  virtual const void* whole() const = 0;
  // All that decides what work a microbatch's input is.
  virtual void shape(isize m, std::vector<isize>& into) const = 0;
  // Says whether another one, of the same net, was cut from the same input, by where that lies.
  virtual bool same_input(const any_microbatches& other) const = 0;
  // Bytes of a microbatch's input where operations do not read the host's memory; its way there, after cut();
  // and from the same memory on, what operations read.
  virtual isize staged_bytes() const = 0;
  virtual void bring(isize m, std::byte* to, const byte_mover& by) const = 0;
  virtual void stage(isize m, std::byte* to, const byte_mover& by) = 0;

 protected:
  // most: samples of a replica in a group that there is room for, when split() will change them; 0: as many
  // as there are.
  any_microbatches(const sample_split& split, isize replica, const spread_seat& at, isize most);
  any_microbatches(any_microbatches&&) = default;

  bool alone() const { return at_.tensor == 1 && at_.context == 1 && at_.experts.alone(); }
  // Room for what ranks share of each, the last one for dry runs. `rows`: those of as many samples as there
  // are at most.
  void share_rows(const any_group& tensor, const any_group& context, const sequences& rows,
                  const sample_bounds& bounds);
  // `step` has all rows of a step.
  void find_first_row(isize m, const sequences& step) {
    first_rows_[as_size(m)] = step.begin(first_sample(m));
  }
  // The samples that this rank's tensor part has, and the first of them.
  interval shares(isize m) const { return samples_of_rank(of(m), at_.tensor, at_.tensor_member, 1, 0); }
  isize first_sample(isize m) const { return shares(m).begin; }
  // Rows may not be counted by sample; then the first one is told.
  void set_first_row(isize m, isize row) { first_rows_[as_size(m)] = row; }
  void fill_shared(isize m, const sequences& whole, const sample_bounds& bounds) {
    rows_[as_size(m)]->fill(whole, bounds, shared_[as_size(m)]);
  }

  // Others that share experts may have more samples in a microbatch.
  isize most_of_sharers() const {
    isize most = most_;
    for (isize m = 0; m < count(); ++m)
      each_sharing_experts(m, [&](interval theirs) { most = std::max(most, theirs.size()); });
    return most;
  }
  // Room for what those have in a microbatch. `rows`: those of as many samples as any has at most.
  void share_experts(const sequences& rows, const sample_bounds& bounds);
  // Visits the samples of the replicas that share experts with this one, in this microbatch of each.
  template <class Visit>
  void each_sharing_experts(isize m, Visit&& visit) const {
    const isize first = replica_ - at_.experts.member() / at_.tensor;
    for (isize r = first; r < first + at_.experts.size() / at_.tensor; ++r)
      visit(split_.of(m / split_.microbatches, r, m % split_.microbatches));
  }
  // One of these has such samples, which its tensor group shares.
  void begin_experts(isize m) {
    shared_[as_size(m)].expert_rows.clear();
    shared_[as_size(m)].expert_samples.clear();
  }
  void add_experts(isize m, const sequences& whole, const sample_bounds& bounds) {
    of_others_->fill(whole, bounds, others_);
    add_experts(shared_[as_size(m)]);
  }

  sample_split split_;
  isize replica_ = 0, most_ = 0;  // most_: samples of a microbatch
  spread_seat at_;

 private:
  void add_experts(microbatch_spread& to) const {
    to.expert_rows.insert(to.expert_rows.end(), others_.tensor_rows.begin(), others_.tensor_rows.end());
    to.expert_samples.insert(to.expert_samples.end(), others_.tensor_samples.begin(),
                             others_.tensor_samples.end());
  }

  std::vector<isize> first_rows_;
  std::vector<microbatch_spread> shared_;
  std::vector<std::unique_ptr<spread_rows>> rows_;
  // a microbatch of a replica that shares experts, at a time
  microbatch_spread others_;
  std::unique_ptr<spread_rows> of_others_;
};

#if !defined(MOTET_COMPILED_RANKS)
MOTET_BODY any_microbatches::any_microbatches(const sample_split& split, isize replica, const spread_seat& at,
                                              isize most)
    : split_(split), replica_(replica), most_((most + split.microbatches - 1) / split.microbatches), at_(at) {
  for (isize m = 0; m < count(); ++m) most_ = std::max(most_, of(m).size());
  first_rows_.resize(as_size(count()), 0);
}
MOTET_BODY void any_microbatches::share_rows(const any_group& tensor, const any_group& context,
                                             const sequences& rows, const sample_bounds& bounds) {
  shared_.resize(as_size(count()) + 1);
  for (microbatch_spread& each : shared_) {
    each.tensor = tensor;
    each.context = context;
    each.experts = at_.experts;
    rows_.push_back(std::make_unique<spread_rows>(at_, std::max(rows.samples, most_)));
    rows_.back()->fill(rows, bounds, each);
  }
  rows_.back()->fill_most(rows, bounds, shared_.back());
}
MOTET_BODY void any_microbatches::share_experts(const sequences& rows, const sample_bounds& bounds) {
  of_others_ = std::make_unique<spread_rows>(at_, std::max(rows.samples, most_of_sharers()));
  of_others_->fill_most(rows, bounds, others_);
  for (microbatch_spread& each : shared_) {
    each.expert_rows.clear();
    each.expert_samples.clear();
    for (isize r = 0; r < at_.experts.size() / at_.tensor; ++r) add_experts(each);
  }
}
#endif

}  // namespace motet
