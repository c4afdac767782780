// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device.hpp>
#include <motet/plan/cost/require_gaps.hpp>
#include <motet/plan/cost/require_times.hpp>
#include <motet/plan/describe/messages.hpp>
#include <motet/plan/disttrain/orchestrate.hpp>
#include <motet/plan/disttrain/profile_paces.hpp>
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/files/profile_json.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/run/chosen_plan.hpp>
#include <motet/run/plan_words.hpp>
#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/tools/feed.hpp>
#include <motet/tools/process/cluster_of.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/long_work.hpp>
#include <motet/tools/report/progress.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// What --orchestrate found for a run.
struct orchestration {
  plan how;
  double seconds = 0, took = 0;       // of a step, by forecast; and until it was found
  std::optional<promised_plan> next;  // the best one with other places
  isize considered = 0, played = 0, counted = 0, steps = 0;
  std::string measured;  // modules whose times a profile has; empty: none
};

namespace detail {

// Finds the plan of a run. Modules are counted on one rank, and with their layers cut; the data's first steps
// say what samples bring; the plans that promise most are then counted as they are, with all of their ranks.
class orchestrator {
 public:
  orchestrator(const run_settings& s, std::int32_t ranks, long_work& waits) : s_(s), waits_(waits) {
    of_.facts = s.trained().facts();
    of_.samples = s.batch;
    of_.ranks = ranks;
    of_.ordered = s.questions();
    of_.may_cut_apart = s.rows_cross();
    if (!has_edges(of_.facts))
      fail(bad_option_value, "--orchestrate " + s.orchestrate + " with --model " + s.model +
                                 ", whose modules do not feed each other; plan_cluster finds a plan for it");
    waits_.at("looking at the cluster");
    of_.on = as_one_kind(
        cluster_of<cpu::device>(s.orchestrate == "here" ? sentence({"here:", ranks}) : s.orchestrate));
    if (of_.on.devices() < ranks)
      fail(cluster_too_small,
           sentence({"--ranks ", ranks, ", and ", s.orchestrate, " has ", of_.on.devices(), " devices"}));
    const device_facts& device = of_.on.device;
    of_.device_flops =
        (s.precision == "fp32" ? device.single_flops : device.half_flops) * device.products.best;
    if (s.profile.empty()) return;
    profile_ = load_profile(s.profile);
    of_.paces = paces_of(profile_, s.profile, of_.facts, s.stream_bytes());
    require_gaps_of(profile_, s.profile, of_.facts);
    require_times_of(profile_, s.profile, of_.facts, s.stream_bytes());
    of_.times = profile_.times;
    if (profile_.activation_bytes == s.stream_bytes()) of_.gaps = profile_.gaps;
  }

  orchestration run() {
    const auto began = std::chrono::steady_clock::now();
    count_modules();
    look_at_data();
    waits_.at("playing plans");
    promised_plans found = orchestrate(of_);
    for (const promised_plan& each : found.plans) {
      // Those with multiplexed modules, shared experts, rows that are cut before the loss or samples that
      // stay whole take no place of others.
      const bool beside = some_are_multiplexed(each.how) || some_share_experts(each.how) ||
                          of_.cuts_before_loss(each.how) || keeps_whole(each.how);
      tally& own = tallies_[beside ? 1 : 0];
      if (own.judged >= most_judged || own.fit >= wanted) continue;
      // Others that differ in microbatches alone tell little.
      const auto alike = [&](const promised_plan& other) {
        return same_places(other.how, each.how) && keeps_whole(other.how) == keeps_whole(each.how);
      };
      if (std::count_if(fit_.begin(), fit_.end(), alike) >= 2) continue;
      const isize judged = judged_;
      const std::size_t fit = fit_.size();
      judge(each.how);
      own.judged += judged_ - judged;
      own.fit += fit_.size() - fit;
    }
    // Time may be bought with memory: the plans that cut most have least on a rank.
    if (fit_.empty()) {
      std::stable_sort(found.plans.begin(), found.plans.end(),
                       [](const auto& a, const auto& b) { return parts_of(a.how) > parts_of(b.how); });
      for (const bool shares : {false, true})
        for (std::size_t i = 0; i < found.plans.size() && i < wanted && fit_.empty(); ++i)
          if (const plan how = thrifty(found.plans[i].how, shares); !shares || some_share_experts(how))
            judge(how);
    }
    if (fit_.empty()) refuse();
    std::stable_sort(fit_.begin(), fit_.end(),
                     [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    orchestration out;
    out.how = fit_.front().how;
    out.seconds = fit_.front().seconds;
    const auto other = std::find_if(fit_.begin(), fit_.end(), [&](const promised_plan& each) {
      return !same_places(each.how, fit_.front().how);
    });
    if (other != fit_.end()) out.next = *other;
    out.considered = found.considered;
    out.played = static_cast<isize>(found.plans.size());
    out.counted = judged_;
    out.steps = of_.steps.size();
    for (isize k = 0; k < of_.paces.size(); ++k)
      if (of_.recorded(k, {}) != nullptr || of_.paces[k].measured != nullptr)
        out.measured += (out.measured.empty() ? "" : ", ") + std::string(of_.facts[k].name.view());
    out.took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return out;
  }

 private:
  static constexpr isize most_judged = 48, looked_at = 4;
  static constexpr std::size_t wanted = 8;

  static bool same_places(const plan& a, const plan& b) {
    for (isize k = 0; k < a.modules.size(); ++k)
      if (!(a.modules[k].on == b.modules[k].on) || a.modules[k].fills != b.modules[k].fills ||
          a.modules[k].multiplexed != b.modules[k].multiplexed ||
          a.modules[k].experts != b.modules[k].experts)
        return false;
    return true;
  }
  // Nothing is started: only what its ranks would hold and compute counts.
  std::unique_ptr<session> open(const plan& how) const {
    session_request asked = s_.request();
    asked.how = how;
    asked.by.ranks = asked.by.threads = how.cluster.ranks;
    if (s_.trained().make == nullptr) return open_session(s_, nullptr);  // refuses
    return s_.trained().make(asked);
  }
  // Where rows are cut, the modules that have whole samples share these.
  plan together(const degrees& cut) const {
    plan out;
    out.cluster.ranks = static_cast<std::int32_t>(cut.size());
    out.schedule = "1f1b";
    for (isize k = 0; k < of_.facts.size(); ++k) {
      const degrees by_samples{.data = cut.data * cut.context, .tensor = cut.tensor};
      out.modules.push(on_ranks(of_.facts[k].name, 0, of_.cuts_rows(k, cut.context) ? cut : by_samples));
      out.modules.back().group = 1;
      if (has_experts(k, isize{cut.data} * cut.tensor)) out.modules.back().experts = cut.data;
    }
    return out;
  }
  bool has_experts(isize k, isize ranks) const { return ranks > 1 && of_.facts[k].experts >= ranks; }
  bool any_has_experts(isize ranks) const {
    for (isize k = 0; k < of_.facts.size(); ++k)
      if (has_experts(k, ranks)) return true;
    return false;
  }
  void count_modules() {
    const std::int32_t most = std::min(of_.ranks, of_.on.devices_per_node);
    for (std::int32_t context = 1; context <= most; context *= 2)
      for (std::int32_t tensor = 1; tensor * context <= most; tensor *= 2) {
        if (!count_modules({.context = context, .tensor = tensor})) break;
        for (std::int32_t experts = 2; experts * tensor * context <= most; experts *= 2)
          if (!count_modules({.data = experts, .context = context, .tensor = tensor})) break;
      }
  }
  // Returns whether modules can be cut so, of which replicas share experts.
  bool count_modules(const degrees& cut) {
    if (cut.data > 1 && !any_has_experts(isize{cut.data} * cut.tensor)) return false;
    const plan how = together(cut);
    if (!check_plan(how, of_.facts, s_.batch).ok()) return false;
    const std::int32_t ranks = how.cluster.ranks;
    waits_.at(sentence({"counting modules in ", ranks, ranks == 1 ? " part" : " parts"}));
    std::unique_ptr<session> model = open_if_taken(how);
    if (model == nullptr) {
      if (ranks == 1) refuse();
      // Rows of the modules before the loss are cut only where all of these can be.
      return of_.cuts_before_loss(how) && leave_rows_before_loss() && count_modules(cut);
    }
    const program_work work = model->work();
    counted_cut counted{cut.tensor, cut.context, cut.data, list<counted_module>(of_.facts.size())};
    for (const voice& sings : model->of().voices) {
      const auto samples = static_cast<double>((s_.batch + cut.data - 1) / cut.data);
      const stage_work& own = work.places[as_size(sings.first_place)];
      const counted_module made{own.forward / samples,
                                own.backward_input / samples,
                                own.backward_weight / samples,
                                own.forward_group_bytes / samples,
                                own.backward_group_bytes / samples,
                                own.boundary_bytes / samples,
                                own.returned_bytes / samples,
                                static_cast<double>(work.parameters[as_size(sings.first_place)])};
      // Of the parts of samples the one with most work.
      counted_module& most = counted.modules[sings.module];
      if (sings.replica == 0 && made.flops() > most.flops()) most = made;
    }
    // A share of the samples is no cut.
    for (isize k = 0; k < of_.facts.size(); ++k) {
      if (cut.context > 1 && !of_.cuts_rows(k, cut.context))
        counted.modules[k] = of_.counted(k, {.tensor = cut.tensor});
      else if (cut.data > 1 && how.modules[k].experts == 1) counted.modules[k] = of_.counted(k, cut);
    }
    of_.cuts.push(counted);
    if (ranks == 1) whole_ = std::move(model);
    return true;
  }
  bool leave_rows_before_loss() {
    for (module_facts& each : of_.facts)
      if (!each.meets) each.rows = 0;
    return true;
  }
  void look_at_data() {
    waits_.at("looking at the first samples");
    std::optional<data_folder> folder;
    std::unique_ptr<feed> from;
    if (s_.random_data()) {
      from = std::make_unique<random_feed>(s_.batch, s_.seed, whole_->facts().random_shape());
    } else {
      folder.emplace(s_.wishes(), whole_->facts().shape);
      from = open_data(*folder, nullptr);
    }
    for (isize k = 0; k < looked_at; ++k) of_.steps.push(whole_->loads(from->next()));
    loads_ = of_.mean_loads();
  }

  static isize parts_of(const plan& of) {
    isize most = 0;
    for (const module_plan& each : of.modules) {
      const degrees& split = each.on.split();
      most = std::max(most, isize{split.stages} * split.context * split.tensor * 1024 +
                                isize{split.data} * each.microbatches);
    }
    return most;
  }
  // As many replicas share experts as can, where `shares` says so.
  plan thrifty(plan of, bool shares) const {
    of.schedule = "1f1b";
    for (isize k = 0; k < of.modules.size(); ++k) {
      module_plan& own = of.modules[k];
      for (int n = own.on.split().data; shares && n > own.experts; --n)
        if (own.on.split().data % n == 0 && has_experts(k, isize{n} * own.on.split().tensor)) own.experts = n;
      own.remade.resize(own.stages(), 1);
      if (own.on.split().data > 1 && !of_.facts[k].frozen) own.zero = 2;
    }
    return of;
  }

  // Null where the net wants more of a plan than its facts say, such as one stage for a tied table.
  std::unique_ptr<session> open_if_taken(const plan& how) {
    try {
      return open(how);
    } catch (const error& problem) {
      if (exit_code_of(problem).status != exit_refused.status) throw;
      refusal_ = problem.what();
      return nullptr;
    }
  }

  // Judges a plan with all that each of its ranks holds and computes.
  void judge(const plan& how) {
    if (!prove_plan(how, of_.facts, of_.samples).ok()) return;
    ++judged_;
    waits_.at(sentence({"counting plan ", judged_, " of ", 2 * most_judged, " at most"}));
    const std::unique_ptr<session> model = open_if_taken(how);
    if (model == nullptr) return;
    const std::vector<rank_memory> memory = model->memory();
    double most = 0;
    std::int32_t fullest = 0;
    for (std::size_t r = 0; r < memory.size(); ++r)
      if (const auto own = static_cast<double>(memory[r].total()); own > most)
        most = own, fullest = static_cast<std::int32_t>(r);
    if (most > of_.on.device.memory_bytes) {
      if (most < least_bytes_) least_bytes_ = most, leanest_ = how, fullest_ = fullest;
      return;
    }
    // Times are those of samples that are cut, and shares of these.
    const std::unique_ptr<session> cut = keeps_whole(how) ? open_if_taken(with_all_cut(how)) : nullptr;
    const program_work work = (cut != nullptr ? cut : model)->work();
    list<shared_rows> shared;
    for (isize k = 0; k < how.modules.size(); ++k) shared.push(shared_rows_of(of_, how, k));
    fit_.push_back({how, played_seconds(model->of(), splits_of(model->of(), of_.samples),
                                        places_of(model->of(), work, how), of_.on, of_.steps, work.messages,
                                        of_.ordered, shared)});
  }
  list<place_seconds> places_of(const program& of, const program_work& work, const plan& how) const {
    const list<sample_split> splits = splits_of(of, of_.samples);
    const cluster_shape shape = of_.shape();
    list<place_seconds> out;
    for (const voice& sings : of.voices) {
      const sample_split& split = splits[sings.module];
      const degrees& cut = how.modules[sings.module].on.split();
      // What was counted is the largest microbatch, of longest samples.
      const isize parts = isize{split.groups} * split.replicas * split.microbatches;
      const auto samples = static_cast<double>((of_.samples + parts - 1) / parts);
      const counted_seconds pace =
          of_.seconds(sings.module, cut,
                      loads_[sings.module] * static_cast<double>(of_.samples) / static_cast<double>(parts));
      for (std::int32_t s = 0; s < sings.stages; ++s) {
        const stage_work& own = work.places[as_size(sings.first_place + s)];
        const auto seconds = [&](double computes, double bytes, double gap_shares::*share) {
          return (computes + of_.waits(how.modules[sings.module], share, computes, bytes)) / samples;
        };
        const bool rests = of_.facts[sings.module].frozen;
        const auto parameters = static_cast<double>(work.parameters[as_size(sings.first_place + s)]);
        bool crosses = false;
        for (const voice& other : of.voices)
          crosses = crosses || (other.module == sings.module &&
                                shape.node(of.place(other, s)) != shape.node(of.place(sings, s)));
        out.push(
            {{seconds(own.forward * pace.forward, own.forward_group_bytes, &gap_shares::forward),
              seconds(own.backward_input * pace.input, own.backward_group_bytes, &gap_shares::input),
              seconds(own.backward_weight * pace.weight, 0, &gap_shares::weight), 0,
              own.boundary_bytes / samples, own.returned_bytes / samples},
             rests ? 0 : of_.sum_seconds_of(sings.module, how.modules[sings.module], parameters, crosses),
             rests ? 0 : update_seconds(parameters, of_.on)});
      }
    }
    return out;
  }

  [[noreturn]] void refuse() const {
    if (leanest_.modules.empty() && !refusal_.empty())
      fail(bad_option_value, "--orchestrate " + s_.orchestrate +
                                 ": no plan that was counted fits; the last is refused: " + refusal_);
    const double room = of_.on.device.memory_bytes;
    std::string held;
    for (const module_plan& each : leanest_.modules)
      if (each.on.find(fullest_) >= 0) held += (held.empty() ? "" : " and ") + std::string(each.name.view());
    if (held.empty())
      fail(cluster_too_small, sentence({"no plan of ", of_.facts.size(), " modules and a batch of ",
                                        of_.samples, " has ", of_.ranks, " ranks"}));
    char short_of[160];
    std::snprintf(short_of, sizeof short_of, "%.0f bytes short of %.0f on each of %d ranks of ",
                  least_bytes_ - room, room, of_.ranks);
    fail(model_fits_nowhere, held + (held.find(' ') == held.npos ? " is " : " are ") + short_of +
                                 s_.orchestrate + ", in the leanest plan: " + words_of(leanest_));
  }

  const run_settings& s_;
  long_work& waits_;
  machine_profile profile_;
  counted_graph of_;
  list<double> loads_;              // that a sample brings to each module
  std::unique_ptr<session> whole_;  // on one rank
  std::vector<promised_plan> fit_;
  struct tally {
    isize judged = 0;
    std::size_t fit = 0;
  };
  tally tallies_[2];  // of plans without multiplexed modules or whole samples, and with them
  isize judged_ = 0;
  double least_bytes_ = std::numeric_limits<double>::infinity();
  plan leanest_;
  std::int32_t fullest_ = 0;
  std::string refusal_;  // of the last plan that its nets do not take
};

}  // namespace detail

// Finds the plan of `ranks` ranks that --orchestrate asks for.
inline orchestration orchestrate_run(const run_settings& s, std::int32_t ranks) {
  long_work waits(s.program->name);
  return detail::orchestrator(s, ranks, waits).run();
}

// A search compares plans with their rows in one piece. How many pay is for the run to settle, by what it
// counts of the plan that was found.
inline plan with_pieces_open(plan found) {
  for (module_plan& each : found.modules)
    if (each.on.split().tensor > 1) each.pieces = 0;
  return found;
}

// The plan of a run that is orchestrated: what is found for it, or where it is gone on with, what it had.
// `told` gets what was chosen, and why. Nothing is started yet.
inline chosen_plan choose_orchestrated(const run_settings& s, const checkpoint* saved, const launched& by,
                                       std::string& told) {
  const list<module_facts> facts = s.trained().facts();
  const json* const then = saved != nullptr ? saved->kept("plan") : nullptr;
  if (then != nullptr) {
    told = "plan      " + saved->path().string() + " has one: " + words_of(read_plan(*then)) + "\n";
    return {saved->path().filename().string(),
            "as it was found for " + s.orchestrate,
            require_plan(read_plan(*then), facts, s.batch),
            {}};
  }
  const bool here = s.orchestrate == "here" || s.orchestrate.starts_with("here:");
  if (by.ranks > by.threads && here)
    fail(bad_option_value,
         sentence({"--orchestrate ", s.orchestrate, " by ", by.ranks, " processes (", describe(by),
                   "): each would measure, and find another plan; name a cluster or its file, or ",
                   "find the plan first, with --explain, and take it by --plan"}));
  const isize asked = s.ranks > 0 ? s.ranks : by.ranks > 1 ? by.ranks : 0;
  const isize ranks = asked > 0 ? asked : cluster_of<cpu::device>(s.orchestrate).devices();
  const orchestration found = orchestrate_run(s, static_cast<std::int32_t>(ranks));
  char text[256];
  std::snprintf(text, sizeof text,
                "orchestrated for %s: %td plans considered, %td played with %td steps of the data, %td "
                "counted with all "
                "of their ranks; %.1f s\n",
                s.orchestrate.c_str(), found.considered, found.played, found.steps, found.counted,
                found.took);
  told = text;
  if (!s.profile.empty())
    told += "measured  " + (found.measured.empty() ? "nothing of this model" : found.measured) + " by " +
            s.profile + "; what is not takes what its FLOPs tell\n";
  std::snprintf(text, sizeof text, "chosen    %.2f ms a step by forecast%s: ", found.seconds * 1e3,
                s.reorders() ? " of steps in order" : "");
  told += text + words_of(found.how) + "\n";
  if (s.rows_cross())
    told += rows_cross(found.how, facts, s.batch)
                ? "owners    each module has its own, as rows cross between replicas\n"
                : "owners    are those of all modules: no plan whose rows cross is shorter by forecast\n";
  if (s.reorder_groups > 0)
    told += sentence({"groups    ", sample_groups(found.how, facts, s.batch, s.reorder_groups),
                      " of ranks, out of which no sample goes\n"});
  if (found.next) {
    std::snprintf(text, sizeof text, "next best %.2f ms, %.1f %% more: ", found.next->seconds * 1e3,
                  100 * (found.next->seconds / found.seconds - 1));
    told += text + words_of(found.next->how) + "\n";
  } else {
    told += "next best none, no other place for a module that was counted\n";
  }
  std::snprintf(text, sizeof text, "%.2f ms a step by forecast", found.seconds * 1e3);
  return {"found for " + s.orchestrate, text, require_plan(with_pieces_open(found.how), facts, s.batch), {}};
}

}  // namespace motet
