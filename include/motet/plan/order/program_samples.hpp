// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/order/rank_groups.hpp>
#include <motet/plan/order/step_headers.hpp>
#include <motet/schedule/core/program.hpp>
#include <motet/strategy/sample_split.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace motet {

// A program takes the samples of a step by their places in its list. Modules may cut the list unlike: a block
// is an interval that no module cuts any more, and a hand is all blocks that the same replicas have. Where a
// loss compares samples, each group that meets has hands of its own. Hands may be grouped by the ranks that
// have them (plan/order/rank_groups.hpp). The program outlives it.
// Asks for: a program, and of each of its modules how it cuts the samples of a step; whether its loss
// compares samples with each other; how many ranks stay in one group, 0: all.
// Memory: some numbers for each microbatch.
// Errors: none of its own.
// Example:
//   #include <motet/schedule/core/compile.hpp>
//   #include <motet/schedule/write/one_f_one_b.hpp>
//   bool four_blocks() {
//     const program of = compile(one_f_one_b::write({.stages = 2, .microbatches = 4}));
//     return program_samples(of, {sample_split{.samples = 8, .groups = 4}}).blocks().size() == 4;
//   }
class program_samples {
 public:
  struct block {
    interval places;
    std::int32_t hand = 0;
    list<std::int32_t> cells{};  // of each module, which of its microbatches has it
  };
  struct hand {
    list<std::int32_t> blocks{};
    list<std::int32_t> replicas{};  // of each module
    isize places = 0;
  };

  program_samples(const program& of, const list<sample_split>& splits, bool compares = false,
                  isize together = 0);

  const program& of() const { return *of_; }
  const list<block>& blocks() const { return blocks_; }
  const list<hand>& hands() const { return hands_; }
  // Microbatches of one replica, one after the other: blocks that may change places with those of another
  // turn.
  using turns = list<list<std::int32_t>>;
  // The turns of each replica of the module with the fewest microbatches, in each group that meets.
  list<turns> turns_of_replicas() const {
    std::int32_t fewest = 0;
    for (std::int32_t k = 1; k < modules(); ++k)
      if (cells_of(k) < cells_of(fewest)) fewest = k;
    std::map<std::pair<std::int32_t, std::int32_t>, isize> known;
    list<turns> out;
    for (std::int32_t b = 0; b < blocks_.size(); ++b) {
      const auto [found, fresh] =
          known.emplace(std::pair(meets_[b], hands_[blocks_[b].hand].replicas[fewest]), out.size());
      if (fresh) out.push({});
      turns& own = out[found->second];
      if (own.empty() || blocks_[own.back()[0]].cells[fewest] != blocks_[b].cells[fewest]) own.push({});
      own.back().push(b);
    }
    return out;
  }
  // Says whether a replica of some module has samples of several replicas of another, so that who has a
  // sample in one does not follow from who has it in the other.
  bool rows_cross() const {
    for (const hand& one : hands_)
      for (const hand& other : hands_)
        for (isize k = 0; k < modules(); ++k)
          if (one.replicas[k] == other.replicas[k] && one.replicas != other.replicas) return true;
    return false;
  }
  isize modules() const { return splits_.size(); }
  // Microbatches of all replicas of all modules.
  std::int32_t cells() const { return cells_; }
  std::int32_t cell_of(const voice& sings, std::int32_t microbatch) const {
    const sample_split& split = splits_[sings.module];
    const isize group = microbatch / split.microbatches, within = microbatch % split.microbatches;
    return first_cell_[sings.module] +
           static_cast<std::int32_t>((group * split.replicas + sings.replica) * split.microbatches + within);
  }
  // The group of samples that a block's samples meet in.
  std::int32_t meets(isize which) const { return meets_[which]; }
  // Groups of ranks, none of which has samples of another, and the one that has a block.
  std::int32_t groups() const { return groups_; }
  std::int32_t group_of(isize which) const { return groups_of_[blocks_[which].hand]; }
  // Samples change places within their circle: they belong to one group of ranks, and meet in the loss.
  std::int32_t circle(isize which) const { return meets_[which] * groups_ + group_of(which); }
  list<std::int32_t> blocks_of(std::int32_t group) const {
    list<std::int32_t> out;
    for (std::int32_t b = 0; b < blocks_.size(); ++b)
      if (group_of(b) == group) out.push(b);
    return out;
  }
  // The work of each cell with samples in this order.
  void add_work(const step_headers& of, const sample_order& order, list<double>& work) const;

 private:
  isize cells_of(std::int32_t module) const {
    const sample_split& own = splits_[module];
    return own.groups * own.replicas * own.microbatches;
  }
  template <class Visit>
  static void for_each_cell(const sample_split& of, Visit&& visit) {
    for (isize g = 0; g < of.groups; ++g)
      for (isize r = 0; r < of.replicas; ++r)
        for (isize m = 0; m < of.microbatches; ++m)
          visit(static_cast<std::int32_t>(g), static_cast<std::int32_t>(r), of.of(g, r, m));
  }

  const program* of_;
  list<sample_split> splits_;
  list<std::int32_t> first_cell_;  // of each module
  std::int32_t cells_ = 0;
  list<block> blocks_;
  list<hand> hands_;
  list<std::int32_t> meets_;      // of each block
  list<std::int32_t> groups_of_;  // of each hand
  std::int32_t groups_ = 1;
};

#if !defined(MOTET_COMPILED_DATA)
MOTET_BODY program_samples::program_samples(const program& of, const list<sample_split>& splits,
                                            bool compares, isize together)
    : of_(&of), splits_(splits) {
  list<isize> cuts;
  for (const sample_split& each : splits_) {
    first_cell_.push(cells_);
    for_each_cell(each, [&](std::int32_t, std::int32_t, const interval& own) {
      cuts.push(own.begin);
      cuts.push(own.end);
      ++cells_;
    });
  }
  std::sort(cuts.begin(), cuts.end());
  for (isize c = 0; c + 1 < cuts.size(); ++c)
    if (cuts[c] < cuts[c + 1]) blocks_.push({{cuts[c], cuts[c + 1]}, 0, {}});
  list<std::uint8_t> joined(splits_.size(), 0);
  for (const voice& each : of.voices)
    if (compares && each.join >= 0) joined[each.module] = 1;
  std::map<std::vector<std::int32_t>, std::int32_t> known;
  std::vector<std::vector<std::int32_t>> keys(static_cast<std::size_t>(blocks_.size()));
  for (isize k = 0; k < splits_.size(); ++k) {
    std::int32_t at = first_cell_[k];
    isize b = 0;
    // Groups, their replicas and the microbatches of these are one behind the other.
    for_each_cell(splits_[k], [&](std::int32_t group, std::int32_t replica, const interval& own) {
      for (; b < blocks_.size() && blocks_[b].places.end <= own.end; ++b) {
        blocks_[b].cells.push(at);
        auto& key = keys[static_cast<std::size_t>(b)];
        key.push_back(replica);
        key.push_back(joined[k] != 0 ? group : 0);
      }
      ++at;
    });
  }
  for (isize b = 0; b < blocks_.size(); ++b) {
    const auto& key = keys[static_cast<std::size_t>(b)];
    const auto [found, fresh] = known.emplace(key, static_cast<std::int32_t>(hands_.size()));
    if (fresh) {
      hands_.push({});
      for (std::size_t k = 0; k < key.size(); k += 2) hands_.back().replicas.push(key[k]);
    }
    blocks_[b].hand = found->second;
    hands_[found->second].blocks.push(static_cast<std::int32_t>(b));
    hands_[found->second].places += blocks_[b].places.size();
  }
  meets_.resize(blocks_.size(), 0);
  for (isize b = 0; b < blocks_.size(); ++b)
    for (std::size_t k = 1; k < keys[static_cast<std::size_t>(b)].size(); k += 2)
      meets_[b] = std::max(meets_[b], keys[static_cast<std::size_t>(b)][k]);
  list<list<std::int32_t>> replicas;
  for (const hand& each : hands_) replicas.push(each.replicas);
  groups_of_ = groups_of_hands(of, replicas, together);
  for (const std::int32_t each : groups_of_) groups_ = std::max(groups_, each + 1);
}
MOTET_BODY void program_samples::add_work(const step_headers& of, const sample_order& order,
                                          list<double>& work) const {
  work.clear();
  work.resize(cells_, 0.0);
  for (const block& each : blocks_)
    for (isize k = 0; k < modules(); ++k) {
      double& sum = work[each.cells[k]];
      for (isize p = each.places.begin; p < each.places.end; ++p)
        sum += of.work_of(static_cast<std::int32_t>(k), order[p]);
    }
}
#endif

}  // namespace motet
