// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/model_facts.hpp>
#include <motet/plan/describe/own_schedule.hpp>
#include <motet/strategy/mesh.hpp>
#include <motet/strategy/sample_parts.hpp>
#include <motet/strategy/sample_split.hpp>

#include <initializer_list>

namespace motet {

// More pieces of rows than this would be too small for a product.
inline constexpr int most_row_pieces = 64;

// The number of rows from which on samples are cut is found anew for each step, by the lengths of its
// samples.
inline constexpr int long_rows_chosen = -1;

// A module is spread over ranks, and its samples go through it, as this says.
struct module_plan {
  label name;
  mesh on;  // degrees and ranks
  // stages of each device, for schedules that have several; of a module that fills, slices of the device's
  // own, and 0: as many as make the step shortest by the plan's times
  int chunks = 1;
  list<isize> layers = {};  // of each stage; empty: as even as possible
  // of each stage, whether backward makes again what it needs; empty: none does
  list<std::uint8_t> remade = {};
  int microbatches = 1;  // of each replica in a step
  int group = 0;         // of them for each loss; 0: all
  // of a group kept from their first forward, the others run forward twice; -1: all
  int stash = -1;
  // forwards more than needed before each backward; of a multiplexed module, by so many forwards of the
  // others it comes earlier than needed
  int ahead = 0;
  // Of each stage, so many microbatches stay in the device's memory between forward and backward; what
  // backward needs of more goes to the host's and comes back; 0: all stay.
  int offload_beyond = 0;
  int zero = 0;  // 1: replicas share the optimizer's state, 2: gradients too, 3: and weights
  // So many replicas in a row share the experts of each mixture, and send each other the rows that these are
  // chosen for; 1: each has all, or the tensor group shares them.
  int experts = 1;
  bool balanced = true;  // context parts of equal work under a causal mask
  // Where context parts cut the rows of samples, those with fewer rows than this stay whole, each with one of
  // the ranks; 0: all are cut; long_rows_chosen: by each step's own number.
  int long_rows = 0;
  bool fills = false;  // its work goes where its ranks would wait for other modules
  // Its computations stand between those of the others on its ranks, by their distance in the pipeline; it
  // has a part of each of their microbatches on each rank.
  bool multiplexed = false;
  int room = 0;  // of its microbatches kept at once where it fills; 0: as many as come
  // A microbatch takes so long through the whole module, in any unit that all modules have; 0: a unit for
  // each layer. The order of a plan with modules that fill follows from it.
  double forward_takes = 0, backward_takes = 0;
  // It computes in this lane of its ranks, beside what computes in others. While several do, all of a lane
  // has this share of the rank; 0: of what the others leave.
  int lane = 0;
  double share = 0;
  // Products of layers that tensor cuts are made in so many pieces of rows, each while the rows of the next
  // come, or sums of the one before go; 0: in as many as pay, by a model of the two.
  int pieces = 1;

  constexpr int stages() const { return on.split().stages * chunks; }
  // The chunks of a device are these stages, where no schedule says otherwise: slices of one module's stage
  // lie behind one another, others in a loop over all devices.
  constexpr int stage(int device, int chunk) const {
    return fills ? device * chunks + chunk : chunk * on.split().stages + device;
  }
  constexpr int whole_group() const { return group > 0 ? group : microbatches; }
  constexpr int groups() const { return whole_group() > 0 ? microbatches / whole_group() : 0; }
  // Replicas do each computation together: weights come together for it, or rows go to others' experts.
  constexpr bool meets_each() const { return zero > 2 || experts > 1; }
  constexpr std::int32_t shards() const { return on.split().context * on.split().tensor; }
  // The samples of a step go to replicas and microbatches by this split.
  constexpr sample_split split(isize samples) const {
    return {samples, groups(), on.split().data, whole_group()};
  }
  // They go to its ranks by this one, where modules feed one another.
  constexpr sample_parts parts(isize samples) const {
    return {samples, microbatches, on.split().data, on.split().tensor, on.split().context};
  }
  friend constexpr bool operator==(const module_plan&, const module_plan&) = default;
};

// A strategy for every module and the schedule that plays them: a value. The compiler proves it where it is a
// constant expression; read from a file, the same function does (check_plan.hpp).
// Asks for: a place for every module of the model; check_plan() and prove_plan() say whether it fits.
// Memory: some numbers for each module, and one for each of its ranks.
// Errors: none of its own.
// Example:
//   plan on_three_ranks() {
//     plan out{.cluster = {.ranks = 3}, .modules = {}};
//     out.modules.push(on_ranks("picture", 0, {.data = 2}, 4));
//     out.modules.push(on_ranks("caption", 2, {}, 4));
//     return out;
//   }
struct plan {
  cluster_shape cluster;
  label schedule = "batch_sync";
  list<module_plan> modules;  // in the model's order
  own_schedule own{};         // of the program, which `schedule` then only names

  // Another schedule plays all modules: one of the library's, or of the program's own.
  template <class Schedule>
  constexpr plan& by(Schedule = {}) {
    own = own_schedule_of<Schedule>();
    schedule = label(Schedule::name);
    return *this;
  }
  // These modules compute beside all others, in one lane of their own, with this share of their ranks.
  constexpr plan& beside(std::initializer_list<label> names, double share = 0) {
    int next = 1;
    for (const module_plan& each : modules) next = each.lane >= next ? each.lane + 1 : next;
    for (const label& name : names) {
      isize k = 0;
      while (k < modules.size() && modules[k].name != name) ++k;
      if (k == modules.size()) modules.push({.name = name, .on = {}});  // is not placed, as check_plan() says
      modules[k].lane = next;
      modules[k].share = share;
    }
    return *this;
  }
  constexpr plan& beside(label name, double share = 0) { return beside({name}, share); }
  friend constexpr bool operator==(const plan&, const plan&) = default;
};

// The same plan with its modules in the model's order; what the model does not have comes last.
constexpr plan arranged(plan of, const list<module_facts>& facts) {
  isize placed = 0;
  for (const module_facts& each : facts) {
    for (isize k = placed; k < of.modules.size(); ++k) {
      if (!(of.modules[k].name == each.name)) continue;
      for (; k > placed; --k) std::swap(of.modules[k], of.modules[k - 1]);
      ++placed;
      break;
    }
  }
  return of;
}

// A module on a row of ranks from `first` on.
constexpr module_plan on_ranks(label name, std::int32_t first, degrees split, int microbatches = 1) {
  module_plan out;
  out.name = name;
  out.on = mesh::from(first, split);
  out.microbatches = microbatches;
  return out;
}

}  // namespace motet
