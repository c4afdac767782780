// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/model/rules.hpp>
#include <motet/plan/prove/check_plan.hpp>

namespace motet {

// A plan written as a type, of words that a template names: plan_for<clip, on<"picture", ranks<0, 4>,
// stages<2>, tensor<2>>, on<"caption", ranks<4, 7>, data<3>>, by<batch_sync, microbatches<8>, group<4>>>. Its
// value() is the plan that a constant function would return.
namespace strategy {

// `spoken` is what the words of one module come to.
struct spoken {
  module_plan module;
  degrees split;
  list<std::int32_t> ranks;
};

// The ranks of a module: from First up to, not with, End; or any, in the order stage, replica, context,
// tensor.
template <std::int32_t First, std::int32_t End>
struct ranks {
  static constexpr void say(spoken& of) {
    of.ranks = {};
    for (std::int32_t rank = First; rank < End; ++rank) of.ranks.push(rank);
  }
};
template <std::int32_t... Ranks>
struct ranks_in_order {
  static constexpr void say(spoken& of) { of.ranks = {Ranks...}; }
};

// One degree of a module, or one number of its plan.
template <auto Degree, std::int32_t Ways>
struct split {
  static constexpr void say(spoken& of) { of.split.*Degree = Ways; }
};
template <auto Field, int Value>
struct number {
  static constexpr void say(spoken& of) { of.module.*Field = Value; }
};

// Ways to split a module.
template <std::int32_t Ways>
using stages = split<&degrees::stages, Ways>;
template <std::int32_t Ways>
using data = split<&degrees::data, Ways>;
template <std::int32_t Ways>
using context = split<&degrees::context, Ways>;
template <std::int32_t Ways>
using tensor = split<&degrees::tensor, Ways>;

// These words say how its samples go through it; module_plan says what each number means.
template <int Count>
using microbatches = number<&module_plan::microbatches, Count>;
template <int Count>
using group = number<&module_plan::group, Count>;
template <int Count>
using stash = number<&module_plan::stash, Count>;
template <int Count>
using ahead = number<&module_plan::ahead, Count>;
// What backward needs of more microbatches of a stage waits in the host's memory.
template <int Count>
using offload_beyond = number<&module_plan::offload_beyond, Count>;
template <int Count>
using chunks = number<&module_plan::chunks, Count>;
template <int Level>
using zero = number<&module_plan::zero, Level>;
// So many replicas in a row share the experts of each mixture.
template <int Replicas>
using experts_over = number<&module_plan::experts, Replicas>;
// Where context parts cut the rows of samples, those with fewer rows stay whole, each with one of the ranks;
// long_rows_chosen: each step finds its own number.
template <int Rows>
using long_from = number<&module_plan::long_rows, Rows>;
// Its work goes where its ranks would wait for other modules; of its microbatches so many are kept at once.
struct fills {
  static constexpr void say(spoken& of) { of.module.fills = true; }
};
// Its computations stand between those of the others on its ranks, by their distance in the pipeline; ahead<>
// says how much earlier than needed.
struct multiplexed {
  static constexpr void say(spoken& of) { of.module.multiplexed = true; }
};
template <int Count>
using room = number<&module_plan::room, Count>;
// Products of layers that tensor cuts are made in so many pieces of rows, while rows of others come and go;
// 0: in as many as pay.
template <int Count>
using in_pieces = number<&module_plan::pieces, Count>;
// A microbatch takes so long through the whole module, in a unit that all modules have.
template <int Forward, int Backward>
struct takes {
  static constexpr void say(spoken& of) {
    of.module.forward_takes = Forward;
    of.module.backward_takes = Backward;
  }
};
// It computes in this lane of its ranks, beside what computes in others, with so many hundredths of them; 0:
// of what the others leave.
template <int Lane, int Hundredths = 0>
struct in_lane {
  static constexpr void say(spoken& of) {
    of.module.lane = Lane;
    of.module.share = Hundredths / 100.0;
  }
};
template <isize... OfStage>
struct layers {
  static constexpr void say(spoken& of) { of.module.layers = {OfStage...}; }
};
template <bool... OfStage>
struct remade {
  static constexpr void say(spoken& of) { of.module.remade = {OfStage...}; }
};

template <class T>
concept word = requires(spoken& of) { T::say(of); };

// The module called Name, and what is said of it alone.
template <fixed_string Name, word... Words>
struct on {
  template <class Model>
  static constexpr void write(plan& to, spoken of) {
    static_cast<void>(Model::template position<Name>());
    (Words::say(of), ...);
    of.module.name = label(Name.view());
    of.module.on = mesh(of.split, of.ranks);
    for (const std::int32_t rank : of.ranks)
      to.cluster.ranks = rank < to.cluster.ranks ? to.cluster.ranks : rank + 1;
    to.modules.push(of.module);
  }
};

// The schedule that plays all modules, and what is said of each of them that says nothing else itself.
template <class Schedule, word... Words>
struct by {
  static constexpr void say(spoken& of_all) { (Words::say(of_all), ...); }
  template <class Model>
  static constexpr void write(plan& to, const spoken&) {
    to.by(Schedule{});
  }
};

// Ranks that there are, some of which may be idle, and how many of them a node has; without it there are as
// many as modules name, on one node.
template <std::int32_t Ranks, std::int32_t PerNode = 0>
struct cluster {
  static constexpr void limit(plan& to) {
    to.cluster.ranks = Ranks;
    to.cluster.ranks_per_node = PerNode;
  }
};

}  // namespace strategy

namespace detail {

// All words together, before anything is proven.
template <class Model, class... Parts>
struct said_plan {
  static constexpr plan value() {
    plan out;
    out.cluster.ranks = 0;
    strategy::spoken of_all;
    const auto each = [&](auto visit) { (visit.template operator()<Parts>(), ...); };
    each([&]<class Part>() {
      if constexpr (strategy::word<Part>) Part::say(of_all);
    });
    each([&]<class Part>() {
      if constexpr (requires { Part::template write<Model>(out, of_all); })
        Part::template write<Model>(out, of_all);
    });
    each([&]<class Part>() {
      if constexpr (requires { Part::limit(out); }) Part::limit(out);
    });
    return arranged(static_cast<plan&&>(out), facts_of<Model>());
  }
};

// The smallest batch of which every part of every module gets a sample.
constexpr isize least_batch(const plan& of) {
  isize parts = 1, groups = 1;
  for (const module_plan& each : of.modules) {
    const isize own = isize{each.on.split().data} * each.microbatches;
    parts = own > parts ? own : parts;
    groups = each.groups() > groups ? each.groups() : groups;
  }
  return (parts + groups - 1) / groups * groups;
}

// Finds what a module itself cannot be; `where` is the module.
constexpr verdict check_modules(const plan& of, const list<module_facts>& facts) {
  for (isize k = 0; k < of.modules.size(); ++k)
    for (isize other = 0; other < k; ++other)
      if (of.modules[other].name == of.modules[k].name) return {reason::duplicate_module, other, k, other};
  if (const verdict found = check_plan(of, facts, least_batch(of)); !found.ok()) return found;
  score order;
  return write_plan(of, facts, order, least_batch(of));
}

// The compiler says the name of the module whose rule is broken.
template <label Module, verdict Found>
struct module_text {
  static constexpr short_text value = numbers_of(Found, Module.view());
};

// A variable, so that a compiler plays the plan once, whoever asks.
template <class Model, class Plan>
inline constexpr verdict said_proof =
    prove_plan(Plan::value(), facts_of<Model>(), least_batch(Plan::value()));

struct plan_findings {
  verdict of_modules;
  label module;
  isize samples = 0;
};
constexpr plan_findings find_in(const plan& of, const list<module_facts>& facts) {
  plan_findings out{check_modules(of, facts), {}, least_batch(of)};
  if (!out.of_modules.ok()) out.module = facts[out.of_modules.where].name;
  return out;
}

// Whose rule is broken is asked only where one is.
template <class Model, class Plan>
constexpr bool prove_said() {
  if constexpr (said_proof<Model, Plan>.ok()) {
    return true;
  } else {
    constexpr plan_findings found = find_in(Plan::value(), facts_of<Model>());
    if constexpr (found.of_modules.ok()) return require<prove_plan<Model, Plan::value, found.samples>()>;
    // on<> has refused the name that the model does not have, with those that it has.
    else if constexpr (found.of_modules.why == reason::unknown_module) return true;
    else return require_said<found.of_modules.why, module_text<found.module, found.of_modules>>();
  }
}

}  // namespace detail

// Proven when it is named, for the smallest batch that it can cut; a trainer checks the batch that it is
// given.
// Asks for: a model, on<> for each of its modules, and by<> where the schedule is not batch_sync.
// Memory: none; value() makes the plan.
// Errors: MT-M03, MT-M04, MT-P01, MT-P02, MT-P03, MT-P04, MT-P05, MT-P06, MT-P07, MT-P09, MT-P10, MT-P11,
// MT-P28, MT-P38, MT-S01, MT-S02, MT-S03, MT-S04, MT-S05, MT-S06, MT-S07, MT-S08, MT-S09, MT-S10, MT-S11,
// MT-S12, MT-S13, MT-S14, MT-S15, MT-S16, MT-S17, MT-S18, MT-S21, MT-S22, MT-S23, MT-S24, MT-S25, MT-S26,
// MT-S31, MT-S32, MT-S33, MT-S34, MT-S35, MT-S36, MT-S37
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using namespace strategy;
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   using layout = plan_for<pair, on<"left", ranks<0, 2>, data<2>>, on<"right", ranks<2, 3>>>;
//   const plan three_ranks = layout::value();
template <class Model, class... Parts>
struct plan_for : detail::said_plan<Model, Parts...> {
  static_assert(detail::prove_said<Model, detail::said_plan<Model, Parts...>>());
};

}  // namespace motet
