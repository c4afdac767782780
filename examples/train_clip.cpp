// SPDX-License-Identifier: Apache-2.0

// Trains a picture tower and a caption tower on captioned pictures, on one rank or spread over many by a
// plan, and tells how well they recognise held-out ones.
#include "train_clip/explain_plan.hpp"
#include "train_clip/paced.hpp"
#include "train_clip/probe.hpp"
#include "train_clip/training.hpp"

#include <motet/tools/exit_code.hpp>

#include <csignal>
#include <cstdio>

namespace motet::train_clip {
namespace {

// The saved run that --resume goes on from; its settings count where the command line says nothing.
std::optional<checkpoint> reopen(settings& s, const options& line) {
  if (!s.resume) return {};
  if (s.checkpoint.empty()) fail(option_missing, "--checkpoint, the folder to --resume from");
  checkpoint saved(s.checkpoint);
  // One checkpoint of a run may be named too; the run goes on beside it.
  if (std::filesystem::exists(std::filesystem::path(s.checkpoint) / "index.json"))
    s.checkpoint = (saved.path() / "..").lexically_normal().string();
  if (const json* settings_then = saved.state().find("settings")) adopt_settings(s, line, *settings_then);
  return saved;
}

// Whether this program has what --device asks for. A GPU itself is looked for when it is needed.
void check_device(const settings& s) {
  if (s.precision == "fp8" && s.device == "cpu")
    fail(bad_option_value,
         "--precision fp8 with --device cpu: GPUs from sm_89 on multiply fp8; take --device cuda, or "
         "--precision bf16");
  if (s.device == "cpu") return;
  if (find_model(s.model).on_gpu == nullptr)
    fail(bad_option_value, "--device cuda with --model " + s.model +
                               ", in a program that was compiled without CUDA, or without this model for it "
                               "(MOTET_CUDA_MODELS); build with cmake --workflow "
                               "--preset cuda, which needs nvcc");
}

int run_one(settings s, std::optional<checkpoint> saved, std::optional<chosen_plan> chosen) {
  opened_run run(std::move(s), std::move(saved), std::move(chosen));
  if (run.s.explain) {
    explain(*run.model, run.s, run.folder.get());
    if (run.s.device == "cuda") probe_paths(run);
    return 0;
  }
  if (run.s.check) return run.check();
  return run.s.paced ? paced(run) : training(run).run();
}

// What a plan means, without data, ranks or memory.
void tell_plan(const settings& s) {
  chosen_plan chosen = read_choice(s);
  check_ranks(chosen, s);
  chosen.by.ranks = chosen.by.threads = chosen.value.cluster.ranks;
  if (s.explain) {
    long_work waits(this_program.name);
    waits.at(sentence({"finding what ", chosen.value.cluster.ranks, " ranks hold"}));
    explain_plan(chosen, s, *open_session(s, &chosen), waits);
    return;
  }
  print_head(chosen, s);
  score order;
  enforce(write_plan(chosen.value, this_program.facts(find_model(s.model)), order), chosen.name);
  std::printf(
      "proven    %td computations on %d ranks: complete, in a possible order, no rank waits for ever\n",
      order.codes().size(), order.ranks());
}

int run(int count, char** words) {
  // A limit on the size of files is to be an error of writing, which is told, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    settings s;
    options line = command_line(s);
    if (!line.parse(count, words)) {
      std::fputs((line.help() + exit_table()).c_str(), stdout);
      return 0;
    }
    if (s.list_plans) {
      list_plans();
      return 0;
    }
    std::optional<checkpoint> saved = reopen(s, line);
    check_device(s);
    for (int i = 0; i < count; ++i) s.command += (i == 0 ? "" : " ") + std::string(words[i]);
    s.effective = write_json(line.settings({"--resume", "--paced", "--explain", "--check"}), 1) + "\n";
    const bool tells = s.explain || s.check;
    if (!s.plan.empty() && tells && (s.plan != "one" || s.ranks > 0 || s.data.empty())) {
      tell_plan(s);
      // Data and checkpoints are the same whatever the plan.
      if (s.explain || s.data.empty()) return 0;
      return run_one(std::move(s), std::move(saved), {});
    }
    if (s.data.empty()) fail(option_missing, "--data");
    const launched by = find_launch(read_environment(), wishes_of(s));
    if (!is_spread(s, by)) return run_one(std::move(s), std::move(saved), {});
    if (const std::optional<int> ended = start_local_ranks(by, read_environment())) return *ended;
    chosen_plan chosen = read_choice(s);
    find_ranks(chosen, s);
    // One process speaks for all.
    if (chosen.by.ranks > chosen.by.threads && chosen.by.rank != 0 &&
        std::freopen("/dev/null", "w", stdout) == nullptr)
      fail(file_unwritable, "/dev/null");
    return run_one(std::move(s), std::move(saved), std::move(chosen));
  } catch (const std::bad_alloc& problem) {
    std::fprintf(
        stderr,
        "%s: there is not enough memory; --explain tells how much is needed, --accumulate needs less\n",
        this_program.name);
    return exit_code_of(problem).status;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s: %s\n", this_program.name, problem.what());
    return exit_code_of(problem).status;
  }
}

}  // namespace
}  // namespace motet::train_clip

int main(int count, char** words) { return motet::train_clip::run(count, words); }
