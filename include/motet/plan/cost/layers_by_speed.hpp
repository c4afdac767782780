// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/plan_layout.hpp>
#include <motet/plan/cost/tower_times.hpp>

#include <vector>

namespace motet {

namespace detail {

// Layers of stages so that the slowest stage takes least; stage s takes seconds(s, first, last).
template <class Seconds>
list<isize> even_times(isize layers, isize stages, Seconds seconds) {
  // best[s][l]: what the slowest of the first s stages takes at least, which have l layers.
  std::vector<std::vector<double>> best(as_size(stages + 1), std::vector<double>(as_size(layers + 1), 1e300));
  std::vector<std::vector<isize>> from(as_size(stages + 1), std::vector<isize>(as_size(layers + 1), 0));
  best[0][0] = 0;
  for (isize s = 0; s < stages; ++s) {
    for (isize l = s + 1; l <= layers - (stages - s - 1); ++l) {
      for (isize f = s; f < l; ++f) {
        const double before = best[as_size(s)][as_size(f)];
        double& own = best[as_size(s + 1)][as_size(l)];
        if (before >= own) continue;
        const double slowest = std::max(before, seconds(s, f, l));
        if (slowest >= own) continue;
        own = slowest;
        from[as_size(s + 1)][as_size(l)] = f;
      }
    }
  }
  list<isize> out(stages, 0);
  for (isize s = stages, l = layers; s > 0; --s) {
    const isize f = from[as_size(s)][as_size(l)];
    out[s - 1] = l - f;
    l = f;
  }
  return out;
}

}  // namespace detail

// Stages of a module that stand on unlike devices get layers by the speed of the slowest device of each.
// False: no module has such stages.
inline bool cut_by_speed(plan& of, const model_shape& model, const cluster_facts& on,
                         const training_bytes& bytes) {
  bool any = false;
  if (on.more_runs == 0) return false;
  for (isize k = 0; k < of.modules.size(); ++k) {
    module_plan& own = of.modules[k];
    const tower_outline& net = model.towers[k];
    const degrees& split = own.on.split();
    if (split.stages < 2 || own.chunks > 1 || net.cached) continue;
    std::vector<std::uint32_t> kinds(as_size(split.stages), 0);
    const isize of_stage = own.on.ranks().size() / split.stages;
    for (isize i = 0; i < own.on.ranks().size(); ++i)
      kinds[as_size(i / of_stage)] |= on.kind_bit(on.node(own.on.ranks()[i]));
    if (std::all_of(kinds.begin(), kinds.end(), [&](std::uint32_t each) { return each == kinds[0]; }))
      continue;
    // A sample's way through each part of the tower, by kind.
    struct parts {
      double before = 0, block = 0, behind = 0;
    };
    std::vector<parts> speeds;
    for (std::int32_t kind = 0; kind < on.kinds(); ++kind) {
      const auto of_part = [&](tower_part which) {
        const part_times times = times_of_part(net, which, 1, split, on.of_kind(kind).device, bytes);
        return times.forward + times.backward();
      };
      speeds.push_back(
          {of_part(tower_part::before), of_part(tower_part::block), of_part(tower_part::behind)});
    }
    own.layers = detail::even_times(net.layers, split.stages, [&](isize s, isize first, isize last) {
      const detail::parts_of_layers have(net, first, last);
      double slowest = 0;
      for (std::int32_t kind = 0; kind < on.kinds(); ++kind) {
        if ((kinds[as_size(s)] & 1u << kind) == 0) continue;
        const parts& each = speeds[as_size(kind)];
        slowest = std::max(slowest, (have.before ? each.before : 0) + (have.behind ? each.behind : 0) +
                                        static_cast<double>(have.blocks) * each.block);
      }
      return slowest;
    });
    any = true;
  }
  return any;
}

}  // namespace motet
