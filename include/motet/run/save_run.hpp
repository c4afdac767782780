// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/files/plan_json.hpp>
#include <motet/run/opened_run.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

namespace motet {

// A checkpoint of a run, with all that it goes on from.
inline void save_run(opened_run& run, const feed& source, progress& out) {
  json state;
  state.set("program", run.s.program->name);
  state.set("settings", saved_settings(run.s));
  state.set("data", source.position());
  state.set("losses", run.losses());
  if (!run.begun.items().empty()) state.set("begun", run.begun);
  state.set("trend", trend_json(run.trend));
  state.set("threads", run.model->threads());
  if (run.chosen) state.set("plan", plan_json(run.chosen->value));
  if (run.folder) state.set("vocabulary", run.folder->vocabulary_fingerprint());
  std::filesystem::path path;
  // A folder that is removed in the very moment of a save is made again: all processes fail then, or none.
  const bool main = run.model->is_main();
  for (int attempt = 1;; ++attempt) {
    std::exception_ptr problem;
    bool vanished = false;
    try {
      if (main) run.held.hold();
    } catch (const std::exception&) {
      problem = std::current_exception();
    }
    // The others begin no save that this one cannot join.
    if (run.model->any(problem != nullptr)) {
      if (attempt < 3) continue;
      if (problem) std::rethrow_exception(problem);
      fail(checkpoint_failed_elsewhere, "making the folder again");
    }
    try {
      path = run.model->save(run.s.checkpoint, run.name(), state, static_cast<std::size_t>(run.s.keep));
    } catch (const std::filesystem::filesystem_error&) {
      problem = std::current_exception();
      vanished = true;
    } catch (const error& other) {
      const std::string_view code = other.code();
      vanished = code == file_unwritable.code || code == checkpoint_part_absent.code;
      if (!vanished && code != checkpoint_failed_elsewhere.code) throw;
      problem = std::current_exception();
    }
    if (!problem) break;
    if (!run.model->any(vanished) || attempt == 3) std::rethrow_exception(problem);
  }
  // A checkpoint without its vocabulary cannot be used.
  if (run.folder && main)
    write_file(std::filesystem::path(run.s.checkpoint) / "tokenizer.json",
               format_tokenizer(run.folder->words()));
  out.say("saved " + path.string());
}
// An earlier run in the same folder is kept under another name; `program` says so.
inline void step_aside(const std::filesystem::path& run, const char* program) {
  if (!latest_checkpoint(run)) return;
  for (int i = 1;; ++i) {
    std::filesystem::path aside = run.has_filename() ? run : run.parent_path();
    aside += ".old-" + std::to_string(i);
    std::error_code problem;
    if (std::filesystem::exists(aside, problem)) continue;
    std::filesystem::rename(run, aside, problem);
    if (problem) fail(file_unwritable, run.string() + ": " + problem.message());
    std::fprintf(stderr, "%s: %s held an earlier run, which is now %s (--resume would go on with it)\n",
                 program, run.c_str(), aside.c_str());
    return;
  }
}

// None but this process writes there from now on.
inline void hold_folder(opened_run& run) {
  run.held = run_folder(run.s.checkpoint);
  if (run.s.resume) return;
  step_aside(run.s.checkpoint, run.s.program->name);
  run.held.hold();
  // The plan is written for --plan, and for whoever looks; a run that is gone on with has its plan in its
  // checkpoint.
  if (!run.s.orchestrate.empty() && run.chosen)
    write_file(std::filesystem::path(run.s.checkpoint) / "plan.json", format_plan(run.chosen->value));
}

}  // namespace motet
