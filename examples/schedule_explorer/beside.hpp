// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <motet/format/text/json_write.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/place/fewest_slices.hpp>
#include <motet/schedule/place/multiplex.hpp>
#include <motet/schedule/simulate/simulate.hpp>

// A schedule with encoders in its gaps, or between its computations.
namespace motet::explorer {

// The same score, with encoders whose copies lie behind one another on the devices and feed its microbatches
// in turn, or each of them with a part, and with generators on the first devices that these feed.
inline score with_encoders(const score& from, const settings& given) {
  score out;
  for (voice made : from.voices()) {
    const voice old = made;
    made.name = "model";
    out.add(made, [&](int s) { return from.place(old, s); });
  }
  std::int32_t module = 0;
  const int devices = given.numbers.stages;
  for (const beside_module& each : given.added) {
    const int copies = each.copies(devices);
    const auto first = static_cast<std::int32_t>(out.voices().size());
    ++module;
    for (int copy = 0; copy < copies; ++copy) {
      voice made;
      const std::string kind = each.behind() ? "generator" : "encoder";
      made.name = label(given.added.size() > 1 ? kind + " " + std::to_string(module) : kind);
      made.module = module;
      made.replica = copy;
      made.stages = each.stages * each.slices;
      made.chunks = each.slices;
      made.microbatches = each.microbatches(devices, given.numbers.microbatches);
      out.add(made, [&](int s) { return copy * each.stages + s / each.slices; });
    }
    for (std::int32_t m = 0; m < given.numbers.microbatches; ++m) {
      if (each.behind()) out.feed({0, m, first + m % copies, m / copies});
      else if (!each.multiplexed()) out.feed({first + m % copies, m / copies, 0, m});
      for (std::int32_t c = 0; each.multiplexed() && c < copies; ++c) out.feed({first + c, m, 0, m});
    }
  }
  for (std::int32_t r = 0; r < from.ranks(); ++r) {
    out.rank();
    for (std::int32_t i = from.begin_of(r); i < from.end_of(r); ++i) {
      const cue each = from[i];
      out.play(each.what, each.voice, each.stage, each.microbatch);
      if (each.paired) out.pair_with_next();
    }
  }
  return out;
}

inline void put_encoder_costs(cost_table& to, const program& of, const settings& given) {
  for (const voice& each : of.voices) {
    if (each.module == 0) continue;
    const beside_module& own = given.added[static_cast<std::size_t>(each.module - 1)];
    const double parts = static_cast<double>(each.stages) * own.parts(given.numbers.stages);
    for (std::int32_t s = 0; s < each.stages; ++s)
      to.stages[each.first_place + s] = {own.forward / parts, own.backward / parts, 0};
  }
  if (given.share > 0) to.shares = {1 - given.share, given.share};
}

// Encoders compute beside the model, each rank in the order in which they filled its gaps.
inline score in_lanes(score filled) {
  for (std::int32_t v = 0; v < filled.voices().size(); ++v)
    if (filled.voices()[v].module > 0) filled.compute_in(v, 1);
  return filled;
}

inline verdict fill(const score& order, const cost_table& costs, const settings& given, filled_score& found) {
  filling how;
  how.modules.resize(1 + static_cast<isize>(given.added.size()), 1);
  how.modules[0] = 0;
  how.costs = costs;
  how.room = given.room;
  return fill_gaps(order, how, found);
}

// The function gives each encoder whose slices are open the number that is best, one after the other; those
// behind it have one until then. `costs_of(score)` has the times of a schedule with encoders.
template <class Costs>
void choose_slices(const score& from, settings& given, Costs&& costs_of) {
  std::vector<beside_module*> open;
  for (beside_module& each : given.added)
    if (each.slices == 0) open.push_back(&each);
  for (beside_module* each : open) each->slices = 1;
  for (beside_module* each : open)
    each->slices = fewest_slices(most_slices, [&](int slices, filled_score& found) {
      each->slices = slices;
      const score whole = with_encoders(from, given);
      const double parts = each->stages * slices;
      return fill(whole, costs_of(whole), given, found).ok() ? std::max(each->forward, each->backward) / parts
                                                             : -1.0;
    });
}

inline json told(const filled_score& found, const settings& given) {
  const double longer = found.seconds - found.alone_seconds;
  json::array slices;
  for (const beside_module& each : given.added) slices.emplace_back(each.slices);
  return json{{"alone", found.alone_seconds},
              {"filled", found.seconds},
              {"encoder", found.filler_seconds},
              {"in_gaps", std::max(0.0, 1 - longer / found.filler_seconds)},
              {"slices", std::move(slices)}};
}

// The same, with its encoders between the computations of the model.
inline score multiplexed(const score& from, const settings& given) {
  multiplexing how{{0}, {0}};
  for (const beside_module& each : given.added) {
    how.modules.push(1);
    how.ahead.push(each.ahead);
  }
  return multiplex(with_encoders(from, given), how);
}

// What became of a schedule whose encoders were multiplexed. `costs_of(program)` has its times.
template <class Costs>
json told_multiplexed(const score& alone, const score& whole, const settings& given, Costs&& costs_of) {
  const auto seconds = [&](const score& of) {
    const program made = compile(of);
    timeline when;
    return simulate(made, costs_of(made), when).ok() ? when.makespan : 0.0;
  };
  double own = 0;
  json::array keeps;
  for (const beside_module& each : given.added)
    own += (each.forward + each.backward) * given.numbers.microbatches / given.numbers.stages;
  for (std::int32_t r = 0; r < whole.ranks(); ++r) {
    int live = 0, most = 0;
    for (std::int32_t i = whole.begin_of(r); i < whole.end_of(r); ++i)
      if (const cue each = whole[i]; each.what != op::join && whole.voices()[each.voice].module > 0)
        most = std::max(most, live += live_change(each.what));
    keeps.emplace_back(most);
  }
  const double before = seconds(alone), with = seconds(whole);
  return json{{"alone", before},
              {"multiplexed", with},
              {"encoder", own},
              {"hidden", std::max(0.0, 1 - (with - before) / own)},
              {"keeps", std::move(keeps)}};
}

}  // namespace motet::explorer
