// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/gradients/gradient_ring.hpp>
#include <motet/runtime/gradients/lent_weights.hpp>
#include <motet/runtime/gradients/parameter_piece.hpp>
#include <motet/runtime/gradients/program_ownership.hpp>
#include <motet/runtime/ranks/score_sheets.hpp>
#include <motet/runtime/stage/held_stage.hpp>
#include <motet/runtime/stage/stage_seats.hpp>
#include <motet/runtime/stage/staged_microbatches.hpp>
#include <motet/schedule/check/buffers.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace motet {

template <class Group>
any_group any_or_none(Group* one) {
  return one != nullptr ? any_group(*one) : any_group{};
}

// What a program asks of each of its stages: buffers for messages of each kind, as many as it was found to
// need, and memory elsewhere.
struct program_room {
  const program& of;
  buffer_counts buffers;
  list<std::int32_t> offloaded = offloaded_of_stages(of);
};

inline std::vector<program_room> rooms_of(const score_sheets& sheets, bool in_order) {
  std::vector<program_room> rooms;
  rooms.reserve(as_size(sheets.size()));
  for (std::int32_t k = 0; k < sheets.size(); ++k)
    rooms.push_back({sheets[k].of, require_buffers(sheets[k].of, in_order)});
  return rooms;
}
// Says for each voice whether its backward comes in two parts, by some program.
inline std::vector<std::uint8_t> split_voices(const std::vector<program_room>& all) {
  std::vector<std::uint8_t> split(as_size(all.front().of.voices.size()), 0);
  for (const program_room& each : all)
    for (const instruction& it : each.of.instructions)
      if (it.what == op::backward_input) split[as_size(it.voice)] = 1;
  return split;
}

// A stage has the slots and the buffers that it needs for any of these programs, which take turns: more
// than one needs never keep another waiting. by_rows: steps lay them out.
inline void take_room(stage_position& at, const std::vector<program_room>& all, std::int32_t v,
                      std::int32_t s, bool by_rows) {
  at.slots = at.offloaded = 0;
  at.orders.assign(all.size(), {});
  const auto grow = [](std::int32_t& to, std::int32_t wanted) { to = std::max(to, wanted); };
  for (int kind = 0; kind < 3; ++kind) at.in[kind] = at.out[kind] = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const program_room& each = all[k];
    const isize where = each.of.voices[v].first_place + s;
    grow(at.slots, each.of.slots[where]);
    grow(at.offloaded, each.offloaded[where]);
    for (int kind = 0; kind < 3; ++kind) {
      grow(at.in[kind], each.buffers.in[kind][where]);
      grow(at.out[kind], each.buffers.out[kind][where]);
      at.orders[k].turns[kind] = each.buffers.turns[kind][where];
    }
    if (by_rows) at.orders[k].seats = seats_of_stage(each.of, v, s, each.buffers);
  }
}

// A seat with what a plan leaves open about it, of a stage on a rank that lives here.
template <class Home, class Stage>
spread_seat seated(spread_seat at, const module_choice& choice, Home& home, const Stage& stage) {
  at = seat_with(at, choice);
  at.experts = any_or_none(stage.experts);
  if (at.context > 1 && choice.long_rows != 0) home.keep_samples_whole();
  if (at.tensor > 1 && choice.pieces > 1) at.beside = home.beside();
  return at;
}

// A stage of a voice on the rank that holds it, the groups that it computes with, and how its gradients are
// summed over ranks.
template <class Context, class Numbers, class Endpoint, class Group>
struct placed_stage {
  using master = typename Numbers::master;
  using reduction_type = gradient_reduction<master, Group, Context>;
  using ring_type = gradient_ring<master, Group, Context>;
  using lent_type = lent_weights<master, Group, Context>;
  // (set, number, rank): set 0 for the groups that compute together, 1 for those that sum.
  using group_finder = std::function<Group*(int, std::int32_t, std::int32_t)>;

  std::unique_ptr<held_stage<Context, Numbers, Endpoint>> stage;  // null: on a rank elsewhere
  std::vector<parameter> parameters, resting;
  update_share share, resting_share;
  std::vector<parameter_run> runs;  // that an update treats alike
  module_pace pace;
  // null: alone; experts: of replicas that share them
  Group *tensor = nullptr, *context = nullptr, *experts = nullptr;
  std::vector<Group*> sums;                   // of the lanes of a layout, null where it is alone
  std::unique_ptr<reduction_type> reduction;  // one of these two; neither where it is alone
  std::unique_ptr<ring_type> ring;
  std::unique_ptr<lent_type> lent;  // beside the ring, where weights are kept in shares

  // The groups of the stage on its rank, and what it does for the sums of its gradients, after its parameters
  // are known; at learns what is kept for it.
  void join(const net_outline& net, const stage_groups& all, const voice& sings, std::int32_t s,
            const module_choice& choice, const learning& how, stage_position& at, const group_finder& group) {
    const stage_groups::group_numbers& own = all.of(sings, s);
    const auto joined = [&](int set, std::int32_t number) {
      return number >= 0 ? group(set, number, at.rank) : nullptr;
    };
    tensor = joined(0, own.tensor);
    context = joined(0, own.context);
    experts = joined(0, own.experts);
    for (const std::int32_t number : own.sums) sums.push_back(joined(1, number));
    pace = choice.pace;
    runs = update_runs(parameters, at.parameters, how.optimizer.kind, pace, net.blocks);
    const auto take = [&](const update_share& part) {
      share = with_moments_of(part, parameters, how.optimizer.kind);
      at.moments = share.moments;
      at.seconds = share.seconds;
      at.averages = how.ema > 0 ? share.moments : 0;
    };
    take(whole_share(at.parameters));
    // What no rank updates is counted by the first of those with equal copies.
    const auto counted = [&](const std::vector<parameter>& held) {
      update_share first;
      for (const parameter& each : held)
        if (all.is_first(sings, each.by)) first.counted.push_back({each.offset, each.offset + each.held()});
      return first;
    };
    resting_share = counted(resting);
    at.sums_each = at.gathers_each = false;
    at.lent = 0;
    if (!sings.updates()) {
      share = counted(parameters);
      runs.clear();
      at.moments = at.seconds = at.averages = 0;
      return;
    }
    if (std::ranges::all_of(sums, [](const Group* each) { return each == nullptr; })) return;
    const bucket_options options = buckets_of(choice);
    at.sums_each = choice.shard_gradients;
    const std::vector<interval> layers =
        at.sums_each ? net.gradient_parts(at.range, at.cut) : std::vector<interval>{};
    reduction_layout planned =
        reduction_of_stage(parameters, at.parameters, all, sings, s, at.rank, options, layers);
    take(planned.share);
    if (choice.shard_weights) {
      lent = std::make_unique<lent_type>(planned, net.weight_parts(at.range, at.cut), sums);
      at.gathers_each = true;
      at.lent = lent->elements();
    }
    if (at.sums_each) ring = std::make_unique<ring_type>(std::move(planned), layers, sums);
    else reduction = std::make_unique<reduction_type>(std::move(planned), sums);
  }

  // Sums take this besides the stage's own memory.
  isize sums_bytes() const {
    return (reduction ? reduction->packing_bytes() : 0) + (ring ? ring->gradient_bytes() : 0);
  }
  // Takes all memory.
  void prepare(Context& ctx) {
    if (reduction) reduction->forget();
    stage->prepare(stage->measure());
    if (reduction) {
      reduction->prepare(ctx, stage->gradients_data(), stage->weights_data());
      stage->set_sink(reduction->sink());
    }
    if (ring) {
      ring->prepare(ctx, stage->base(), lent ? nullptr : stage->weights_data());
      stage->set_sink(ring->sink());
    }
    if (!lent) return;
    lent->prepare(ctx, stage->base(), stage->weights_data());
    stage->set_lender(lent->lender());
  }
  // Weights may have changed since the step before.
  void begin_step() {
    if (lent) lent->begin_step();
  }
  void begin_sums() {
    if (reduction) reduction->begin_step();
    if (ring) ring->begin_step();
  }
  // Waits for the sums; nothing where it is alone.
  action sums_action() {
    if (ring) return {&finish<ring_type>, ring.get()};
    return {&finish<reduction_type>, reduction.get(), reduction ? &reduction->began() : nullptr};
  }
  parameter_piece<master> piece() const {
    parameter_piece<master> found{stage->at().parameters, parameters};
    found.lane = stage->home().lane;
    found.weights = stage->weights_data();
    found.gradients = ring ? ring->sums() : stage->gradients_data();
    found.sums_only = ring != nullptr;
    found.shares_only = lent != nullptr;
    found.first = stage->first();
    found.second = stage->second();
    found.share = &share;
    found.average = stage->average();
    found.runs = runs;
    found.pace = pace;
    return found;
  }
  // Weights that rest lie behind, as those of a module that does not learn.
  parameter_piece<master> resting_piece() const {
    parameter_piece<master> found{stage->at().resting, resting};
    found.weights = stage->weights_data() + stage->at().parameters;
    found.share = &resting_share;
    return found;
  }

 private:
  template <class Sums>
  static bool finish(void* self, const instruction&, std::int32_t) {
    return self == nullptr || static_cast<Sums*>(self)->finish();
  }
};

// A module that a rank here holds whole: its flat buffer, and how many samples its lane's temporaries are
// for. No weights: none does.
template <class Master>
struct whole_module {
  const Master* weights = nullptr;
  std::int32_t rank = -1, lane = 0;
  isize samples = 0;
};

// A voice with a stage on a rank that lives here. Each of its ranks sees the microbatches through groups of
// its own.
template <class Context, class Numbers, class Endpoint, class Group>
struct placed_voice {
  std::int32_t voice = 0;
  std::map<std::int32_t, std::unique_ptr<any_microbatches>> parts;  // of each rank
  // of those with a first stage, where operations do not reach the host's memory
  std::map<std::int32_t, staged_microbatches<Context>> staged;
  std::vector<placed_stage<Context, Numbers, Endpoint, Group>> held;

  whole_module<typename Numbers::master> find_whole() const {
    if (held.size() != 1 || !held[0].stage) return {};
    const auto& stage = *held[0].stage;
    if (!stage.at().cut.all_here() || stage.at().gathers_each) return {};
    return {stage.weights_data(), stage.at().rank, stage.home().lane,
            parts.at(stage.at().rank)->rows(any_microbatches::largest).samples};
  }
  // The last stage's features go to this point, on its rank.
  template <class Point>
  void connect(const motet::voice& sings, Point& point, std::size_t module) {
    using master = typename Numbers::master;
    auto& last = *held.back().stage;
    std::vector<matrix<master>> features;
    std::vector<matrix<const master>> gradients;
    for (isize m = 0; m < sings.microbatches; ++m) {
      features.push_back(point.features_of(module, voice, m / sings.group, m % sings.group));
      gradients.push_back(point.gradients_of(module, voice, m / sings.group, m % sings.group));
      features.back().rows = gradients.back().rows = parts.at(last.at().rank)->mine(m).size();
    }
    last.set_features(std::move(features), std::move(gradients));
  }
};

}  // namespace motet
