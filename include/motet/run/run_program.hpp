// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/run/training_program.hpp>
#if !defined(MOTET_COMPILED_RUN)
#include <motet/plan/prove/check_plan.hpp>
#include <motet/run/explain_run.hpp>
#include <motet/run/orchestration.hpp>
#include <motet/run/phases.hpp>
#include <motet/run/produce_program.hpp>
#include <motet/run/run_paced.hpp>
#include <motet/run/training.hpp>
#include <motet/tools/process/exit_code.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#endif

namespace motet {

// The main of a program that trains: options and a file of them, plans by name or file, data, steps and what
// is told of them, tests, checkpoints and going on from them, the report, signals and exit codes; --explain
// and --check. What it returns is the exit code.
// Asks for: models that are sessions, compiled here or elsewhere. It is compiled once for all programs that
// link motet::run.
// Memory: that of the model's trainer and of the data that are on their way.
// Errors: MT-P73, MT-P74, MT-R04, MT-R05, MT-R20, MT-R21, MT-R22, MT-X01, MT-X02, MT-X03, MT-X04, MT-X05
// Example:
//   #include <motet/run/pair_session.hpp>
//   constexpr vit_config seen{
//       .image = 32, .patch = 8, .width = 64, .layers = 2, .heads = 2, .embedding = 32};
//   constexpr text_config said{
//       .vocabulary = 300, .context = 16, .width = 64, .layers = 2, .heads = 2, .embedding = 32};
//   std::unique_ptr<session> make_own(const session_request& wanted) {
//     return make_pair_session<cpu::device, seen, said>("own", wanted);
//   }
//   int main(int count, char** words) {
//     using own = pair_model<seen, said, info_nce>;
//     const trained_model models[] = {{"own", make_own, nullptr, facts_of<own>}};
//     const std::string_view losses[] = {"infonce", "sigmoid"};
//     return run_program({"own", "trains two towers", models, {}, losses}, count, words);
//   }
int run_program(const training_program& of, int count, const char* const* words);

#if !defined(MOTET_COMPILED_RUN)
namespace detail {

// The saved run that --resume goes on from; its settings count where the command line says nothing.
inline std::optional<checkpoint> reopen(run_settings& s, const options& line) {
  if (!s.resume) return {};
  if (s.checkpoint.empty()) fail(option_missing, "--checkpoint, the folder to --resume from");
  checkpoint saved(s.checkpoint);
  // One checkpoint of a run may be named too; the run goes on beside it.
  if (std::filesystem::exists(std::filesystem::path(s.checkpoint) / "index.json"))
    s.checkpoint = (saved.path() / "..").lexically_normal().string();
  if (const json* settings_then = saved.kept("settings")) adopt_settings(s, line, *settings_then);
  return saved;
}

// Checks that this program has what --device and others ask for. A GPU itself is looked for when it is
// needed.
inline void check_device(const run_settings& s) {
  if (s.precision == "fp8" && s.device == "cpu")
    fail(bad_option_value,
         "--precision fp8 with --device cpu: GPUs from sm_89 on multiply fp8; take --device cuda, or "
         "--precision bf16");
  if (s.reorder_groups > 0 && !s.questions().ranks)
    fail(bad_option_value,
         sentence({"--reorder-groups ", s.reorder_groups, " with --reorder ", s.reorder,
                   ", which gives no rank another sample; take --reorder ranks, all or modules"}));
  if (s.reorders() && s.device != "cpu")
    fail(bad_option_value, "--reorder " + s.reorder + " with --device " + s.device +
                               ": ranks on processors alone take samples in another order; leave one out");
  if (s.reorders() && s.resplit > 0)
    fail(bad_option_value, "--reorder " + s.reorder +
                               " with --resplit, which gives replicas other counts of samples while the run "
                               "goes on; leave one out");
  const auto alone = [&](bool given, const std::string& with) {
    if (s.conduct && given) fail(bad_option_value, "--conduct with " + with + "; leave one out");
  };
  alone(s.device != "cpu", "--device " + s.device + ": scores take turns on processors alone");
  alone(s.resplit > 0, "--resplit, which gives replicas other counts of samples while the run goes on");
  alone(!s.record_times.empty(),
        "--record-times " + s.record_times + ", which puts steps of one score together");
  if (s.device == "cpu") return;
  if (s.trained().on_gpu == nullptr)
    fail(bad_option_value, "--device cuda with --model " + s.model +
                               ", in a program that was compiled without CUDA, or without this model for it "
                               "(MOTET_CUDA_MODELS); build with cmake --workflow "
                               "--preset cuda, which needs nvcc");
}

inline void require_orchestrable(const run_settings& s) {
  if (!s.plan.empty())
    fail(bad_option_value, "--plan " + s.plan + " with --orchestrate " + s.orchestrate +
                               ", which finds the plan; leave one out");
  if (s.data.empty()) fail(option_missing, "--data, whose first samples --orchestrate looks at");
}

inline int run_one(run_settings s, std::optional<checkpoint> saved, std::optional<chosen_plan> chosen) {
  opened_run run(std::move(s), std::move(saved), std::move(chosen));
  if (run.s.explain) {
    explain_run(*run.model, run.s, run.folder.get());
    if (run.s.device == "cuda") probe_paths(run);
    return 0;
  }
  if (run.s.check) return run.check();
  return run.s.paced ? run_paced(run, std::cin) : training(run).run();
}

// Tells what a plan means, without data, ranks or memory.
inline void tell_plan(const run_settings& s, chosen_plan chosen) {
  check_ranks(chosen, s);
  chosen.by.ranks = chosen.by.threads = chosen.value.cluster.ranks;
  if (s.explain) {
    long_work waits(s.program->name);
    waits.at(sentence({"finding what ", chosen.value.cluster.ranks, " ranks hold"}));
    explain_chosen(chosen, s, *open_session(s, &chosen), waits);
    return;
  }
  print_head(chosen, s);
  const list<module_facts> facts = s.trained().facts();
  proven_plan proven{chosen.value, {}};
  enforce(write_plan(chosen.value, facts, proven.order, s.batch), chosen.name);
  std::printf(
      "proven    %td computations on %d ranks: complete, in a possible order, no rank waits for ever\n",
      proven.order.codes().size(), proven.order.ranks());
  if (!s.conduct) return;
  print_scores(scores_of_plan(proven, facts, s.batch), s);
  if (s.rank_bytes > 0) std::printf("conduct   --explain says which of them need more than --rank-bytes\n");
}

// `line` is what wrote the settings.
inline int run_settled(run_settings& s, const options& line) {
  std::optional<checkpoint> saved = reopen(s, line);
  if (const std::string_view own = s.trained().loss; !own.empty()) s.loss = own;
  check_device(s);
  s.effective = write_json(line.settings({"--resume", "--paced", "--explain", "--check"}), 1) + "\n";
  const bool tells = s.explain || s.check;
  const checkpoint* const before = saved ? &*saved : nullptr;
  if (!s.orchestrate.empty()) require_orchestrable(s);
  if (!s.orchestrate.empty() && tells) {
    std::string told;
    chosen_plan chosen = choose_orchestrated(s, before, find_launch(read_environment(), wishes_of(s)), told);
    std::printf("%s", told.c_str());
    tell_plan(s, std::move(chosen));
    return s.explain ? 0 : run_one(std::move(s), std::move(saved), {});
  }
  if (!s.plan.empty() && tells && (s.plan != "one" || s.ranks > 0 || s.data.empty())) {
    tell_plan(s, choose_plan(s));
    // Data and checkpoints are the same whatever the plan.
    if (s.explain || s.data.empty()) return 0;
    return run_one(std::move(s), std::move(saved), {});
  }
  if (s.data.empty()) fail(option_missing, "--data");
  const launched by = find_launch(read_environment(), wishes_of(s));
  if (!is_spread(s, by)) return run_one(std::move(s), std::move(saved), {});
  if (const std::optional<int> ended = start_local_ranks(by, read_environment())) return *ended;
  std::string told;
  chosen_plan chosen = s.orchestrate.empty() ? choose_plan(s) : choose_orchestrated(s, before, by, told);
  find_ranks(chosen, s);
  // One process speaks for all.
  if (chosen.by.ranks > chosen.by.threads && chosen.by.rank != 0 &&
      std::freopen("/dev/null", "w", stdout) == nullptr)
    fail(file_unwritable, "/dev/null");
  std::printf("%s", told.c_str());
  return run_one(std::move(s), std::move(saved), std::move(chosen));
}

// The run of one phase, as its words behind those of all make it. `before` is the run that it begins with.
struct phase_run {
  explicit phase_run(const training_program& of) : s(of), line(command_line(s)) {}
  run_settings s;
  options line;
};
inline std::unique_ptr<phase_run> open_phase(const training_program& of, int count, const char* const* words,
                                             const run_phase& phase, const std::string& before) {
  std::vector<const char*> all(words, words + count);
  for (const std::string& each : phase.words) all.push_back(each.c_str());
  auto made = std::make_unique<phase_run>(of);
  run_settings& s = made->s;
  try {
    made->line.parse(static_cast<int>(all.size()), all.data());
  } catch (const error& problem) {
    throw error(problem, s.phases + ", phase " + phase.name);
  }
  if (s.steps == 0)
    fail(bad_option_value,
         "--phases " + s.phases + ": " + phase.name + " has no steps, so it trains nothing");
  // What the command line says of it is for the first one.
  if (!before.empty() && !phase.says("--begin")) s.begin = before;
  s.checkpoint = folder_of_phase(s.checkpoint, phase.name);
  s.report = folder_of_phase(s.report, phase.name);
  s.tensorboard = folder_of_phase(s.tensorboard, phase.name);
  s.metrics = file_of_phase(s.metrics, phase.name);
  s.record = file_of_phase(s.record, phase.name);
  s.record_gaps = file_of_phase(s.record_gaps, phase.name);
  s.record_times = file_of_phase(s.record_times, phase.name);
  s.phases.clear();
  s.phase.clear();
  for (int i = 0; i < count; ++i) s.command += (i == 0 ? "" : " ") + std::string(words[i]);
  return made;
}

// One run after the other, until one does not end well. What all of them say is looked at before the first.
inline int run_phases(const training_program& of, const run_settings& asked, int count,
                      const char* const* words) {
  const std::vector<run_phase> phases = read_phases(asked.phases);
  if (asked.checkpoint.empty())
    fail(option_missing,
         "--checkpoint, where each of --phases " + asked.phases + " saves what the next one begins with");
  if (!asked.phase.empty() && std::ranges::find(phases, asked.phase, &run_phase::name) == phases.end()) {
    std::vector<std::string_view> names;
    names.reserve(phases.size());
    for (const run_phase& each : phases) names.push_back(each.name);
    fail(bad_option_value, "--phase " + std::string(not_among(asked.phase, names).view()));
  }
  const launched by = find_launch(read_environment(), wishes_of(asked));
  if (asked.phase.empty() && by.ranks > by.threads)
    fail(option_missing, sentence({"--phase, as ", by.ranks, " processes (", describe(by),
                                   ") run one phase; start them for each one in turn"}));
  std::vector<std::unique_ptr<phase_run>> runs;
  for (const run_phase& each : phases) {
    const std::string before = runs.empty() ? "" : runs.back()->s.checkpoint;
    const run_settings& s = runs.emplace_back(open_phase(of, count, words, each, before))->s;
    check_device(s);
    if (!s.plan.empty()) check_ranks(choose_plan(s), s);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    run_settings& s = runs[i]->s;
    if (!asked.phase.empty() && phases[i].name != asked.phase) continue;
    std::printf("phase %zu of %zu, %s: %s, %td steps\n", i + 1, runs.size(), phases[i].name.c_str(),
                s.model.c_str(), s.steps);
    if (s.resume) {
      const auto newest = latest_checkpoint(s.checkpoint);
      if (newest && checkpoint(*newest).step() >= s.steps) {
        std::printf("is done, in %s\n", newest->c_str());
        continue;
      }
      s.resume = newest.has_value();
    }
    // What it will begin with is not there before the phase before has run.
    if ((s.check || s.explain) && i > 0 && !phases[i].says("--begin")) s.begin.clear();
    if (const int status = run_settled(s, runs[i]->line); status != 0) return status;
  }
  return 0;
}

}  // namespace detail

MOTET_BODY int run_program(const training_program& of, int count, const char* const* words) {
  // A limit on the size of files is to be an error of writing, which is told, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  // It is a producer for a run of its own (--producers).
  if (count > 1 && words[1] == std::string_view("--produce"))
    return produce_program(std::string(of.name) + " --produce", count - 1, words + 1);
  try {
    run_settings s(of);
    options line = command_line(s);
    if (!line.parse(count, words)) {
      std::fputs((line.help() + exit_table()).c_str(), stdout);
      return 0;
    }
    if (s.list_plans) {
      print_catalogue(of.plans);
      return 0;
    }
    if (!s.phases.empty()) return detail::run_phases(of, s, count, words);
    if (!s.phase.empty()) fail(option_missing, "--phases, of which --phase " + s.phase + " is one");
    for (int i = 0; i < count; ++i) s.command += (i == 0 ? "" : " ") + std::string(words[i]);
    return detail::run_settled(s, line);
  } catch (const std::bad_alloc& problem) {
    std::fprintf(
        stderr,
        "%s: there is not enough memory; --explain tells how much is needed, --accumulate needs less\n",
        of.name);
    return exit_code_of(problem).status;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s: %s\n", of.name, problem.what());
    return exit_code_of(problem).status;
  }
}

#endif
}  // namespace motet
