// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/parameter.hpp>
#include <motet/runtime/gradients/gradient_buckets.hpp>
#include <motet/runtime/messages.hpp>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace motet {

enum class ownership : std::uint8_t {
  right,
  held_twice,       // one rank holds an element in two places
  cut_differently,  // two ranks hold overlapping blocks of a tensor that are not the same
  never_held,       // an element of a tensor is on no rank
  never_summed,     // several ranks hold an element, and one of them keeps its gradient for itself
  summed_twice,     // the gradient of one rank comes into two sums, or into one twice
  wrong_ranks,      // the ranks of a sum are not those that hold the element
  order_differs,    // the members of a group sum other elements in the same call
  never_counted,    // no rank counts an element for the norm, or writes it to checkpoints
  counted_twice
};

struct ownership_finding {
  ownership why = ownership::right;
  std::string what;  // where, got and wanted
  bool ok() const { return why == ownership::right; }
};

// A table says who holds which elements of a model and who sums their gradients with whom, as the ranks of a
// program would do it. check() tells whether every gradient is summed once over exactly the ranks that hold
// it. No rank runs, and nothing is allocated for weights.
class gradient_ownership {
 public:
  // Returns the group's number.
  std::int32_t add_group(std::vector<std::int32_t> members) {
    groups_.push_back(std::move(members));
    std::sort(groups_.back().begin(), groups_.back().end());
    return static_cast<std::int32_t>(groups_.size()) - 1;
  }
  // A stage on a rank. Parameters have global names, and offsets in the rank's flat buffer. groups: of the
  // layout's lanes; -1: alone.
  void add_stage(std::int32_t rank, std::span<const parameter> parameters, const reduction_layout& layout,
                 const std::vector<std::int32_t>& groups) {
    std::vector<local_slice> here;  // ascend
    for (const parameter& each : parameters) {
      const auto tensor = tensors_.try_emplace(each.name, tensor_state{each.rows, each.width, {}}).first;
      for (const parameter_slice& slice : each.slices()) {
        if (slice.size() == 0) continue;
        const block key{slice.rows.begin, slice.rows.end, slice.columns.begin, slice.columns.end};
        std::vector<held>& holders = tensor->second.blocks[key];
        here.push_back({{slice.offset, slice.offset + slice.size()}, &*tensor, key, holders.size()});
        holders.emplace_back().rank = rank;
      }
    }
    const auto each_slice = [&](interval part, auto&& visit) {
      auto at = std::upper_bound(here.begin(), here.end(), part.begin,
                                 [](isize begin, const local_slice& s) { return begin < s.at.end; });
      for (; at != here.end() && at->at.begin < part.end; ++at) {
        const interval both = intersection(at->at, part);
        visit(*at, interval{both.begin - at->at.begin, both.end - at->at.begin});
      }
    };
    for (const interval part : layout.share.counted)
      each_slice(part, [&](const local_slice& to, interval elements) { of(to).counted.push_back(elements); });
    for (std::size_t l = 0; l < groups.size(); ++l)
      for (const gradient_bucket& bucket : layout.lanes[l].buckets) {
        auto& calls = calls_[{groups[l], rank}];
        calls.emplace_back();
        for (const interval part : bucket.parts)
          each_slice(part, [&](const local_slice& to, interval elements) {
            of(to).sums.push_back({elements.begin, elements.end, groups[l]});
            calls.back().emplace_back(to.tensor, to.key, elements.begin, elements.end);
          });
      }
  }

  ownership_finding check() const {
    for (const auto& [name, tensor] : tensors_) {
      if (auto found = check_blocks(name, tensor); !found.ok()) return found;
      for (const auto& [key, holders] : tensor.blocks)
        if (auto found = check_block(name + " " + text(key), key, holders); !found.ok()) return found;
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::vector<std::vector<summed>>* first = nullptr;
      for (const std::int32_t rank : groups_[g]) {
        const auto calls = calls_.find({static_cast<std::int32_t>(g), rank});
        if (calls == calls_.end()) continue;
        if (first == nullptr) first = &calls->second;
        if (calls->second != *first)
          return {ownership::order_differs,
                  sentence({"ranks ", groups_[g][0], " and ", rank, " of group ", text(groups_[g])})};
      }
    }
    return {};
  }

 private:
  using block = std::array<isize, 4>;  // rows from, to, columns from, to
  struct sum {
    isize begin, end;  // within the block
    std::int32_t group;
    friend bool operator==(const sum&, const sum&) = default;
  };
  struct held {
    std::int32_t rank = 0;
    std::vector<sum> sums;
    std::vector<interval> counted;
  };
  struct tensor_state {
    isize rows, width;
    std::map<block, std::vector<held>> blocks;
  };
  struct local_slice {
    interval at;
    std::pair<const std::string, tensor_state>* tensor;
    block key;
    std::size_t number;
  };
  using summed = std::tuple<const void*, block, isize, isize>;  // of which tensor

  static held& of(const local_slice& to) { return to.tensor->second.blocks.at(to.key)[to.number]; }
  static std::string text(const block& b) {
    return sentence({"[", b[0], ", ", b[1], ") x [", b[2], ", ", b[3], ")"});
  }
  static std::string text(const std::vector<std::int32_t>& ranks) {
    std::string all;
    for (const std::int32_t each : ranks) all += (all.empty() ? "{" : " ") + std::to_string(each);
    return all + "}";
  }
  static std::string text(interval of) { return sentence({"elements ", of.begin, " to ", of.end}); }

  // The blocks of a tensor lie apart and make the whole.
  static ownership_finding check_blocks(const std::string& name, const tensor_state& tensor) {
    isize covered = 0;
    for (auto one = tensor.blocks.begin(); one != tensor.blocks.end(); ++one) {
      const block& a = one->first;
      covered += (a[1] - a[0]) * (a[3] - a[2]);
      for (auto other = std::next(one); other != tensor.blocks.end(); ++other) {
        const block& b = other->first;
        if (a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3])
          return {ownership::cut_differently,
                  sentence({name, ": rank ", one->second[0].rank, " holds ", text(a), ", rank ",
                            other->second[0].rank, " ", text(b)})};
      }
    }
    if (covered == tensor.rows * tensor.width) return {};
    return {ownership::never_held,
            sentence({name, ": ", covered, " of ", tensor.rows * tensor.width, " elements are held"})};
  }
  // Finds what comes first and is not [at, ...) where intervals should follow each other up to size; empty
  // when they do.
  template <class List>
  static std::optional<std::pair<bool, interval>> gap_or_overlap(List parts, isize size) {  // true: a gap
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    isize at = 0;
    for (const auto& each : parts) {
      if (each.begin > at) return std::pair(true, interval{at, each.begin});
      if (each.begin < at) return std::pair(false, interval{each.begin, std::min(at, each.end)});
      at = each.end;
    }
    if (at < size) return std::pair(true, interval{at, size});
    return {};
  }
  ownership_finding check_block(const std::string& name, const block& key,
                                const std::vector<held>& holders) const {
    const isize size = (key[1] - key[0]) * (key[3] - key[2]);
    std::vector<std::int32_t> ranks;
    std::vector<interval> counted;
    for (const held& each : holders) {
      ranks.push_back(each.rank);
      counted.insert(counted.end(), each.counted.begin(), each.counted.end());
    }
    std::sort(ranks.begin(), ranks.end());
    if (const auto twice = std::adjacent_find(ranks.begin(), ranks.end()); twice != ranks.end())
      return {ownership::held_twice, sentence({name, " on rank ", *twice})};
    if (const auto found = gap_or_overlap(counted, size))
      return {found->first ? ownership::never_counted : ownership::counted_twice,
              name + ": " + text(found->second)};
    for (const held& each : holders) {
      if (ranks.size() == 1 && each.sums.empty()) continue;
      const std::string where = sentence({name, " on rank ", each.rank, ": "});
      if (const auto found = gap_or_overlap(each.sums, size))
        return {found->first ? ownership::never_summed : ownership::summed_twice,
                where + text(found->second) + ", held by ranks " + text(ranks)};
      for (const sum& one : each.sums) {
        const std::vector<std::int32_t> members =
            one.group < 0 ? std::vector<std::int32_t>{each.rank} : groups_[as_size(one.group)];
        if (members != ranks)
          return {ownership::wrong_ranks,
                  where + "summed over ranks " + text(members) + ", held by " + text(ranks)};
      }
    }
    // Two groups of the same ranks would still be two sums.
    for (const held& each : holders)
      if (each.sums != holders[0].sums)
        return {ownership::order_differs, sentence({name, ": ranks ", holders[0].rank, " and ", each.rank,
                                                    " sum it in different calls"})};
    return {};
  }

  std::vector<std::vector<std::int32_t>> groups_;
  std::map<std::string, tensor_state> tensors_;
  // of each group and rank, in order
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::vector<summed>>> calls_;
};

void require_owned_once(const gradient_ownership& of);

#if !defined(MOTET_COMPILED_RANKS)
MOTET_BODY void require_owned_once(const gradient_ownership& of) {
  if (const ownership_finding found = of.check(); !found.ok()) fail(gradients_not_owned, found.what);
}
#endif

}  // namespace motet
