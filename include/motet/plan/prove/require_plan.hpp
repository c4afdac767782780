// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/nearest.hpp>
#include <motet/model/rules.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/core/rules.hpp>
#include <motet/strategy/rules.hpp>

#include <string>
#include <utility>
#include <vector>

namespace motet {

// A plan with its modules in the model's order, and the order of computations on every rank that it means.
struct proven_plan {
  plan value;
  score order;
};

// Says what is wrong with a plan for a model and a batch, naming the module or the rank; `row` is then the
// rule. The text is empty where nothing is, and `made` has the plan's order.
std::string explain_plan(const plan& given, const list<module_facts>& facts, isize samples,
                         const message** row = nullptr, proven_plan* made = nullptr);

#if !defined(MOTET_COMPILED_RANKS)
namespace detail {

inline std::string counted(isize count, const char* what) {
  return sentence({count, " ", what, (count == 1 ? "" : "s")});
}

// "2 stages x 3 data x 1 context x 1 tensor = 6".
inline std::string product_of(const degrees& split) {
  return sentence({split.stages, " stages x ", split.data, " data x ", split.context, " context x ",
                   split.tensor, " tensor = ", split.size()});
}

// Says what broke a rule of one module, where its writer knows more than the two numbers of the rule; nothing
// where these are all.
inline std::string more_of_module(const verdict& found, const plan& of, const module_plan& own,
                                  const module_facts& facts) {
  const auto pair = [&](const std::string& got, const std::string& wanted) {
    return "got " + got + ", wanted " + wanted;
  };
  const std::string got = std::to_string(found.got), wanted = std::to_string(found.wanted);
  const auto is = [&](broken_rule why) { return found.why == why; };
  if (is(reason::degree_not_positive)) return "degrees " + product_of(own.on.split());
  if (is(reason::degrees_do_not_multiply))
    return pair(counted(found.got, "rank"), product_of(own.on.split()));
  if (is(reason::tensor_crosses_nodes))
    return sentence({"a group of ", own.on.split().tensor, " lies on the nodes ", wanted, " and ", got});
  if (is(reason::no_ranks)) {
    std::string names;
    for (const module_plan& each : of.modules)
      names += (names.empty() ? "" : ", ") + std::string(each.name.view());
    return own.name == facts.name ? "it has none"
                                  : "the plan places " + (names.empty() ? std::string("nothing") : names);
  }
  if (is(reason::pieces_without_group))
    return found.got >= 1 && found.got <= found.wanted
               ? sentence({counted(found.got, "piece"), ", and tensor ", own.on.split().tensor})
               : pair(counted(found.got, "piece"), "1 to " + wanted);
  if (is(reason::remade_and_split))
    return "remade, and " + std::string(of.schedule.view()) + " splits backward";
  if (is(reason::layers_do_not_add_up)) {
    std::string all;
    for (const isize each : own.layers) all += (all.empty() ? "" : " + ") + std::to_string(each);
    return pair(all + " = " + got + " on " + counted(own.layers.size(), "stage"),
                wanted + " on " + counted(own.stages(), "stage"));
  }
  if (is(reason::too_little_memory) && own.room > 0)
    return sentence({"room ", own.room,
                     ", and the others wait for a microbatch that comes behind those; room ", found.wanted,
                     " is enough"});
  if (is(reason::no_gaps))
    return sentence({"none of its ranks waits for others in ", of.schedule.view(), "; what fills would take ",
                     found.wanted, " % of their step and hide none of it"});
  if (is(reason::no_stages) && own.fills && own.chunks == 0)
    return "chunks 0 leaves the number of its slices open, and layers or remade say something of each";
  if (is(reason::nothing_to_fill))
    return found.got == 1 ? "it fills, and so do all others, so that nobody leaves gaps"
                          : sentence({"it fills, and ends in one loss with ",
                                      of.modules[found.wanted].name.view(), ", which does not"});
  if (is(reason::filled_and_kept))
    return own.fills ? sentence({"it fills, with stash ", own.stash, ", ahead ", own.ahead})
                     : sentence({"room ", own.room, ", and it does not fill"});
  if (is(reason::multiplexed_behind))
    return found.got == -1   ? "it is multiplexed, and ends in a loss"
           : found.got == -2 ? "it is multiplexed, and feeds no module that leaves it a place"
                             : sentence({"it is multiplexed, and fed by ", of.modules[found.got].name.view(),
                                         ", which is not"});
  if (is(reason::multiplexed_and_kept))
    return own.fills ? "it is multiplexed, and it fills"
                     : sentence({"it is multiplexed, with stash ", own.stash, ", room ", own.room,
                                 ", chunks ", own.chunks, ", ahead ", own.ahead});
  if (is(reason::nothing_to_offload))
    return own.offload_beyond < 0 ? pair("offload_beyond " + got, "0 or more")
                                  : sentence({"offload_beyond ", got, ", and ",
                                              own.remade.empty() ? "nothing goes backward through it"
                                                                 : "backward makes again what it needs"});
  if (is(reason::bad_lane)) {
    if (own.lane < 0 || own.lane >= lane::most_computing) return pair("lane " + got, "0 to " + wanted);
    if (found.got < 0) return "a share that is not from 0 to 1";
    std::string all;
    for (const module_plan& each : of.modules)
      all += sentence({(all.empty() ? "" : ", "), each.name.view(), " has ",
                       static_cast<isize>(100 * each.share + 0.5), " % in lane ", each.lane});
    return all;
  }
  if (is(reason::own_schedule_unlike_plan)) {
    const unlike_plan unlike = find_unlike(
        of.own.write(
            {.stages = own.on.split().stages, .microbatches = own.microbatches, .chunks = own.chunks}),
        own);
    return sentence(
        {of.schedule.view(), " writes ", unlike.got, " ", unlike.what, ", wanted ", unlike.wanted});
  }
  return {};
}

}  // namespace detail

MOTET_BODY std::string explain_plan(const plan& given, const list<module_facts>& facts, isize samples,
                                    const message** row, proven_plan* made) {
  plan of;
  const verdict settled = settle_plan(arranged(given, facts), facts, samples, of);
  const auto say = [&](const verdict& found, std::string text) {
    if (row != nullptr) *row = found.why;
    return text;
  };
  const auto of_module = [&](const verdict& found) {
    if (found.why == reason::unknown_module) {
      std::vector<std::string_view> names;
      names.reserve(as_size(facts.size()));
      for (const module_facts& each : facts) names.push_back(each.name.view());
      return say(found, std::string(not_among(of.modules[found.where].name.view(), names).view()));
    }
    if (found.why == reason::duplicate_module)
      return say(found, "the plan places " + std::string(of.modules[found.where].name.view()) + " twice");
    if (found.why == reason::unknown_schedule)
      return say(found, "\"" + std::string(of.schedule.view()) + "\"; there are " + schedule_names());
    const isize k = found.where >= 0 && found.where < facts.size() ? found.where : 0;
    const module_plan own = k < of.modules.size() ? of.modules[k] : module_plan{};
    const std::string more = detail::more_of_module(found, of, own, facts[k]);
    return say(found, more.empty() ? std::string(numbers_of(found, facts[k].name.view()).view())
                                   : std::string(facts[k].name.view()) + ": " + more);
  };
  if (!settled.ok()) return of_module(settled);
  score order;
  if (const verdict found = write_plan(of, facts, order, samples); !found.ok()) return of_module(found);
  if (const verdict found = prove(order); !found.ok()) {
    // The program's own check names instructions.
    list<label> names;
    for (const module_plan& each : of.modules) names.push(each.name);
    const program all = named_voices(compile(order), names);
    const check_result better = check(all);
    const std::string schedule = "schedule " + std::string(of.schedule.view()) + ": ";
    if (better.ok())
      return say(found, sentence({schedule, "rank ", found.where, ", computation ", found.got}));
    return say(better.brief(), schedule + detail_of(all, better.found) + cycle_of(all, better));
  }
  if (made != nullptr) *made = {of, std::move(order)};
  return {};
}
#endif

// The plan in the model's order and what it means, or an error that names the module, the rule and the
// remedy: before any rank starts.
// Asks for: facts of all modules in the model's order; the plan may have them in any.
// Memory: the plan, and its order.
// Errors: MT-M03, MT-M04, MT-P01, MT-P02, MT-P03, MT-P04, MT-P05, MT-P06, MT-P07, MT-P09, MT-P10, MT-P11,
// MT-P28, MT-P38, MT-S01, MT-S02, MT-S03, MT-S04, MT-S05, MT-S06, MT-S07, MT-S08, MT-S09, MT-S10, MT-S11,
// MT-S12, MT-S13, MT-S14, MT-S15, MT-S16, MT-S17, MT-S18, MT-S21, MT-S22, MT-S23, MT-S24, MT-S25, MT-S26,
// MT-S31, MT-S32, MT-S33, MT-S34, MT-S35, MT-S36, MT-S37
// Example:
//   score order_of(const plan& of, const list<module_facts>& facts) {
//     return require_proven(of, facts, 512).order;
//   }
inline proven_plan require_proven(const plan& given, const list<module_facts>& facts, isize samples) {
  proven_plan made;
  const message* row = nullptr;
  if (const std::string detail = explain_plan(given, facts, samples, &row, &made); row != nullptr)
    fail(*row, detail);
  return made;
}
inline plan require_plan(const plan& given, const list<module_facts>& facts, isize samples) {
  return require_proven(given, facts, samples).value;
}

}  // namespace motet
