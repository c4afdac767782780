// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>
#include <motet/runtime/messages.hpp>
#include <motet/tensor/sequences.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace motet {

// A voice, or a shard of one, ends at a join in a seat, with the samples that it brings of each microbatch of
// a group, counted within the group. All groups are alike, and the seats of a module bring each sample once.
struct join_seat {
  std::int32_t rank = 0;
  isize module = 0;
  std::int32_t voice = 0;
  std::vector<interval> samples;
};

// A member brings a part of one microbatch: these samples, from `row` on among its rows of the module.
struct join_part {
  isize module = 0;
  std::int32_t voice = 0;
  isize microbatch = 0;  // within the group
  interval samples;
  isize row = 0;
};

struct join_member {
  std::int32_t rank = 0;
  std::vector<join_part> parts;     // module after module, within a module in the order of samples
  std::vector<isize> rows;          // of each module
  std::vector<std::uint8_t> holds;  // of each module, whether it ends here, be it without rows
};

// A layout says who brings what to a join: a plain value, the same on all ranks. The members are the ranks
// with a seat, in the order of ranks. Rows of a module are numbered through all members: its columns, for
// those who compare others with it.
class join_layout {
 public:
  join_layout() = default;
  // samples: of a group.
  join_layout(std::vector<join_seat> seats, isize samples) : join_layout(std::move(seats), samples, true) {
    std::vector<isize> next(columns_.size(), 0);
    for (join_member& each : members_)
      for (join_part& own : each.parts)
        for (isize s = own.samples.begin; s < own.samples.end; ++s) put(own, s, next[as_size(own.module)]++);
    for (std::size_t k = 0; k < next.size(); ++k)
      if (next[k] != samples)
        fail(join_misfit, sentence({"of module ", k, " come ", next[k], " of ", samples, " samples"}));
  }
  // Counts memory by who brings how many samples of each microbatch at most, when shares change. Which ones
  // they are it does not say.
  static join_layout at_most(std::vector<join_seat> seats, isize samples) {
    return {std::move(seats), samples, false};
  }

  // A layout that at_most() made is not exact.
  bool exact() const { return exact_; }
  isize samples() const { return samples_; }
  isize modules() const { return modules_; }
  isize size() const { return static_cast<isize>(members_.size()); }
  const join_member& operator[](isize member) const { return members_[as_size(member)]; }
  // The number of a rank among the members; -1: it brings nothing.
  std::int32_t member(std::int32_t rank) const {
    for (std::size_t m = 0; m < members_.size(); ++m)
      if (members_[m].rank == rank) return static_cast<std::int32_t>(m);
    return -1;
  }
  isize rows(isize member, std::size_t module) const { return (*this)[member].rows[module]; }
  bool holds(isize member, std::size_t module) const { return (*this)[member].holds[module] != 0; }
  // The first member with a seat of the module.
  std::int32_t first_of(std::size_t module) const {
    for (isize m = 0; m < size(); ++m)
      if (holds(m, module)) return static_cast<std::int32_t>(m);
    return -1;
  }
  // The column of a member's first row.
  isize first_row(isize member, std::size_t module) const {
    isize before = 0;
    for (isize m = 0; m < member; ++m) before += rows(m, module);
    return before;
  }
  // Each of a member's rows of one module has the same sample as this column of another.
  std::vector<isize> matches(isize member, std::size_t module, std::size_t other) const {
    std::vector<isize> found;
    for (const join_part& each : (*this)[member].parts)
      for (isize s = each.samples.begin; each.module == static_cast<isize>(module) && s < each.samples.end;
           ++s)
        found.push_back(columns_[other][as_size(s)]);
    return found;
  }

 private:
  join_layout(std::vector<join_seat> seats, isize samples, bool exact) : samples_(samples), exact_(exact) {
    std::stable_sort(seats.begin(), seats.end(),
                     [](const join_seat& a, const join_seat& b) { return a.rank < b.rank; });
    for (const join_seat& each : seats) modules_ = std::max(modules_, each.module + 1);
    const auto modules = as_size(modules_);
    for (const join_seat& each : seats) {
      if (members_.empty() || members_.back().rank != each.rank)
        members_.push_back(
            {each.rank, {}, std::vector<isize>(modules, 0), std::vector<std::uint8_t>(modules, 0)});
      members_.back().holds[as_size(each.module)] = 1;
      for (std::size_t m = 0; m < each.samples.size(); ++m)
        members_.back().parts.push_back({each.module, each.voice, static_cast<isize>(m), each.samples[m], 0});
    }
    columns_.resize(modules, std::vector<isize>(as_size(samples), -1));
    for (join_member& each : members_) {
      std::stable_sort(each.parts.begin(), each.parts.end(), [](const join_part& a, const join_part& b) {
        return a.module != b.module ? a.module < b.module : a.samples.begin < b.samples.begin;
      });
      for (join_part& own : each.parts) {
        const auto k = as_size(own.module);
        own.row = each.rows[k];
        each.rows[k] += own.samples.size();
      }
      for (isize& rows : each.rows)
        if (!exact) rows = std::min(rows, samples);
    }
  }
  void put(const join_part& own, isize sample, isize column) {
    if (sample < 0 || sample >= samples_)
      fail(join_misfit, sentence({"module ", own.module, " brings sample ", sample, " of ", samples_}));
    isize& at = columns_[as_size(own.module)][as_size(sample)];
    if (at >= 0) fail(join_misfit, sentence({"module ", own.module, " brings sample ", sample, " twice"}));
    at = column;
  }

  isize samples_ = 0, modules_ = 0;
  bool exact_ = true;
  std::vector<join_member> members_;
  std::vector<std::vector<isize>> columns_;  // of each module and sample
};

}  // namespace motet
