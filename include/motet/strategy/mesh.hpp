// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>
#include <motet/meta/verdict.hpp>
#include <motet/strategy/rules.hpp>

namespace motet {

// A module is split in so many ways along each axis.
struct degrees {
  std::int32_t stages = 1;   // of its pipeline
  std::int32_t data = 1;     // replicas, each with samples of its own
  std::int32_t context = 1;  // parts of a sample's rows
  std::int32_t tensor = 1;   // parts of a layer's columns

  constexpr isize size() const { return isize{stages} * data * context * tensor; }
  friend constexpr bool operator==(const degrees&, const degrees&) = default;
};

// A rank stands here on the axes of one module.
struct mesh_position {
  std::int32_t stage = 0, replica = 0, context = 0, tensor = 0;
  friend constexpr bool operator==(const mesh_position&, const mesh_position&) = default;
};

enum class axis : std::uint8_t { stage, data, context, tensor };

// The ranks of one module, in the order stage, replica, context, tensor: neighbours in the list share a
// tensor group, which talks most.
// Asks for: degrees whose product is the number of ranks; check() says whether they fit a cluster.
// Memory: a number for each rank.
// Errors: MT-S01, MT-S02, MT-S03, MT-S04, MT-S05
// Example:
//   static_assert(check(mesh::from(0, {.stages = 2, .data = 2, .tensor = 2}), {.ranks = 8}).ok());
class mesh {
 public:
  constexpr mesh() = default;
  constexpr mesh(degrees split, list<std::int32_t> ranks)
      : split_(split), ranks_(static_cast<list<std::int32_t>&&>(ranks)) {}
  // `size` ranks from `first` on.
  static constexpr mesh from(std::int32_t first, degrees split) {
    list<std::int32_t> ranks;
    for (std::int32_t i = 0; i < split.size(); ++i) ranks.push(first + i);
    return {split, static_cast<list<std::int32_t>&&>(ranks)};
  }

  constexpr const degrees& split() const { return split_; }
  constexpr const list<std::int32_t>& ranks() const { return ranks_; }
  constexpr std::int32_t rank(const mesh_position& at) const {
    return ranks_[((isize{at.stage} * split_.data + at.replica) * split_.context + at.context) *
                      split_.tensor +
                  at.tensor];
  }
  constexpr mesh_position position(isize number) const {
    mesh_position at;
    at.tensor = static_cast<std::int32_t>(number % split_.tensor);
    number /= split_.tensor;
    at.context = static_cast<std::int32_t>(number % split_.context);
    number /= split_.context;
    at.replica = static_cast<std::int32_t>(number % split_.data);
    at.stage = static_cast<std::int32_t>(number / split_.data);
    return at;
  }
  // The number of a rank in the list; -1: it holds nothing of this module.
  constexpr isize find(std::int32_t rank) const {
    for (isize i = 0; i < ranks_.size(); ++i)
      if (ranks_[i] == rank) return i;
    return -1;
  }
  // All ranks that differ from this position along one axis only, in its order.
  constexpr list<std::int32_t> group(axis along, mesh_position at) const {
    list<std::int32_t> members;
    std::int32_t& moving = along == axis::stage     ? at.stage
                           : along == axis::data    ? at.replica
                           : along == axis::context ? at.context
                                                    : at.tensor;
    const std::int32_t size = along == axis::stage     ? split_.stages
                              : along == axis::data    ? split_.data
                              : along == axis::context ? split_.context
                                                       : split_.tensor;
    for (moving = 0; moving < size; ++moving) members.push(rank(at));
    return members;
  }

  friend constexpr bool operator==(const mesh&, const mesh&) = default;

 private:
  degrees split_;
  list<std::int32_t> ranks_;
};

struct cluster_shape {
  std::int32_t ranks = 1;
  std::int32_t ranks_per_node = 0;  // 0: one node
  bool tensor_may_cross_nodes = false;
  constexpr std::int32_t node(std::int32_t rank) const {
    return ranks_per_node > 0 ? rank / ranks_per_node : 0;
  }
  friend constexpr bool operator==(const cluster_shape&, const cluster_shape&) = default;
};

// Degrees that fit the ranks, every rank once and in the cluster, tensor groups inside nodes. `where` is the
// number in the list of ranks.
constexpr verdict check(const mesh& of, const cluster_shape& in) {
  const degrees& split = of.split();
  if (split.stages < 1 || split.data < 1 || split.context < 1 || split.tensor < 1)
    return {reason::degree_not_positive, 0, 0, 1};
  if (split.size() != of.ranks().size())
    return {reason::degrees_do_not_multiply, 0, of.ranks().size(), split.size()};
  list<std::uint8_t> seen(in.ranks, 0);
  for (isize i = 0; i < of.ranks().size(); ++i) {
    const std::int32_t rank = of.ranks()[i];
    if (rank < 0 || rank >= in.ranks) return {reason::rank_outside, i, rank, in.ranks};
    if (seen[rank] != 0) return {reason::rank_twice, i, rank, 0};
    seen[rank] = 1;
    const isize first = i / split.tensor * split.tensor;
    if (!in.tensor_may_cross_nodes && in.node(rank) != in.node(of.ranks()[first]))
      return {reason::tensor_crosses_nodes, i, in.node(rank), in.node(of.ranks()[first])};
  }
  return {};
}

}  // namespace motet
