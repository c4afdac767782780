// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/parameter.hpp>
#include <motet/schedule/core/program.hpp>

#include <array>
#include <map>
#include <vector>

namespace motet {

// Some ranks compute a stage together and some sum its gradients, for all stages of a program: these are
// lists of members, made alike on every rank. The ranks that hold a stage of a replica are its context parts,
// and within each of these its tensor parts. The ranks of replicas that share experts compute a stage
// together, too, and sums are made by those that hold the same.
class stage_groups {
 public:
  // Places in the lists below; -1: the rank is alone.
  struct group_numbers {
    std::int32_t tensor = -1, context = -1, experts = -1;  // in compute()
    // in reduce(), of each lane (lane_of()); a stage that is not updated has none
    std::vector<std::int32_t> sums{};
  };

  // Every module says over how many ranks a layer's columns are cut, and how many replicas in a row share
  // experts; none: each has all.
  stage_groups(const program& of, std::vector<std::int32_t> tensor_degrees,
               std::vector<std::int32_t> expert_degrees = {})
      : tensor_(std::move(tensor_degrees)),
        experts_(std::move(expert_degrees)),
        numbers_(as_size(of.places.size())) {
    experts_.resize(tensor_.size(), 1);
    std::map<group_key, std::int32_t> known;
    // Ranks that compute together do so in one order, whatever the stage, so equal groups are one. Sums may
    // come in any order and have one each.
    std::map<std::vector<std::int32_t>, std::int32_t> equal;
    std::vector<std::vector<std::int32_t>> members;
    for (const voice& each : of.voices) {
      for (std::int32_t s = 0; s < each.stages; ++s) {
        if (each.updates()) numbers_[as_size(each.first_place + s)].sums.resize(as_size(lanes_of(each)), -1);
        for (int kind = 0; kind < sums + lanes_of(each); ++kind) {
          if (kind >= sums && !each.updates()) break;
          if (kind == experts && experts_of(each) == 1) continue;  // a tensor group has them
          const auto [at, made] =
              known.try_emplace(key_of(each, s, kind), static_cast<std::int32_t>(members.size()));
          if (made) members.emplace_back();
          members[as_size(at->second)].push_back(of.place(each, s));
        }
      }
    }
    std::vector<std::int32_t> numbers(members.size(), -2);
    for (const voice& each : of.voices) {
      for (std::int32_t s = 0; s < each.stages; ++s) {
        for (int kind = 0; kind < sums + lanes_of(each); ++kind) {
          const auto found = known.find(key_of(each, s, kind));
          if (found == known.end()) continue;
          std::int32_t& number = numbers[as_size(found->second)];
          if (number == -2) number = settle(members[as_size(found->second)], kind, equal);
          slot(each, s, kind) = number;
        }
      }
    }
  }

  const std::vector<std::vector<std::int32_t>>& compute() const { return compute_; }
  const std::vector<std::vector<std::int32_t>>& reduce() const { return reduce_; }
  // Both lists, the second behind the first.
  std::vector<std::vector<std::int32_t>> all() const {
    std::vector<std::vector<std::int32_t>> both = compute_;
    both.insert(both.end(), reduce_.begin(), reduce_.end());
    return both;
  }
  const group_numbers& of(const voice& sings, std::int32_t stage) const {
    return numbers_[as_size(sings.first_place + stage)];
  }

  std::int32_t tensor_of(const voice& sings) const { return tensor_[as_size(sings.module)]; }
  std::int32_t context_of(const voice& sings) const { return sings.shards / tensor_of(sings); }
  // A voice stands here among the shards of its replica.
  std::int32_t tensor_member(const voice& sings) const { return sings.shard % tensor_of(sings); }
  std::int32_t experts_of(const voice& sings) const { return experts_[as_size(sings.module)]; }
  std::int32_t experts_member(const voice& sings) const { return sings.replica % experts_of(sings); }
  std::int32_t context_member(const voice& sings) const { return sings.shard / tensor_of(sings); }
  // Gradients are summed in so many lanes, that of what is cut most first: one for experts where replicas
  // share them, one for what a tensor group cuts, and one for the rest.
  std::int32_t lanes_of(const voice& sings) const {
    return 1 + (tensor_of(sings) > 1 ? 1 : 0) + (experts_of(sings) > 1 ? 1 : 0);
  }
  // The voice is the first of those that hold the same of what is cut so.
  bool is_first(const voice& sings, cut_by what) const {
    return context_member(sings) == 0 && (what != cut_by::nothing || tensor_member(sings) == 0) &&
           sings.replica < (what == cut_by::experts ? experts_of(sings) : 1);
  }
  // What is cut so is in this one.
  std::int32_t lane_of(const voice& sings, cut_by what) const {
    const std::int32_t last = lanes_of(sings) - 1;
    if (what == cut_by::experts) return 0;
    return what == cut_by::tensor && tensor_of(sings) > 1 ? last - 1 : last;
  }

 private:
  enum of_group : int { tensor, context, experts, sums };  // sums: of the first lane
  using group_key = std::array<std::int32_t, 5>;

  // The members of a group have this in common.
  group_key key_of(const voice& each, std::int32_t stage, int kind) const {
    const std::int32_t t = tensor_member(each), c = context_member(each);
    switch (kind) {
      case tensor: return {kind, each.module, stage, each.replica, c};
      case context: return {kind, each.module, stage, each.replica, t};
      case experts: return {kind, each.module, stage, each.replica / experts_of(each), c};
    }
    // They have the same part of what the lane sums.
    const std::int32_t lane = kind - sums;
    const bool of_tensor = lane <= lane_of(each, cut_by::tensor) && tensor_of(each) > 1,
               of_experts = lane == 0 && experts_of(each) > 1;
    return {kind, each.module, stage, of_tensor ? t : 0, of_experts ? experts_member(each) : 0};
  }
  std::int32_t& slot(const voice& each, std::int32_t stage, int kind) {
    group_numbers& own = numbers_[as_size(each.first_place + stage)];
    std::int32_t* const all[] = {&own.tensor, &own.context, &own.experts};
    return kind < sums ? *all[kind] : own.sums[as_size(kind - sums)];
  }
  std::int32_t settle(const std::vector<std::int32_t>& members, int kind,
                      std::map<std::vector<std::int32_t>, std::int32_t>& equal) {
    if (members.size() < 2) return -1;
    auto& all = kind < sums ? compute_ : reduce_;
    const auto next = static_cast<std::int32_t>(all.size());
    if (kind < sums) {
      const auto [at, made] = equal.try_emplace(members, next);
      if (!made) return at->second;
    }
    all.push_back(members);
    return next;
  }

  std::vector<std::int32_t> tensor_, experts_;
  std::vector<group_numbers> numbers_;  // of the program
  std::vector<std::vector<std::int32_t>> compute_, reduce_;
};

}  // namespace motet
