// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/run/conduct_words.hpp>
#include <motet/run/opened_run.hpp>
#include <motet/tools/held_out/validation.hpp>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

// A run says on the terminal what it is going to do, how long that takes, and what may come next.
namespace motet {

inline void tell_start(progress& out, const opened_run& run, const feed& source) {
  out.say(run.model->machine());
  if (run.chosen) {
    out.say("ranks by " + describe(run.chosen->by));
    out.say("plan " + run.chosen->name + (run.chosen->about.empty() ? "" : ": " + run.chosen->about));
  }
  out.say("model " + run.name() + ", " + std::to_string(run.model->facts().parameters) +
          " parameters, precision " + run.s.precision + (run.s.recompute ? ", blocks recomputed" : "") +
          (run.s.keep_outputs ? ", outputs kept" : "") + "; " + source.describe());
  if (!run.s.producers.empty())
    out.say("data by producers: " + run.s.producers +
            (run.producers ? " on this machine, started by this process" : ""));
  if (run.s.reorders())
    out.say("order " + run.s.reorder + ": " + run.s.reorder_words() +
            ", found beside the step before; loss and gradients are the same within rounding");
  if (const score_names* const scores = run.model->scores()) {
    const std::vector<std::string> words = words_on(*scores, run.s.conduct_margin);
    const bool alone = scores->names.size() == 1;
    out.say("conduct " + words.front() +
            (alone || words.size() == 1 ? "" : "; --explain says why others do not"));
    for (std::size_t k = 1; alone && k < words.size(); ++k) out.say("conduct " + words[k]);
  }
  const auto then = [&](const char* name) -> const json* {
    return run.saved ? run.saved->kept(name) : nullptr;
  };
  if (const json* had = then("losses"); had != nullptr && had->integer() != run.losses())
    out.say(sentence({"the saved run had ", had->integer(),
                      " losses in a step, each over its part of the batch, this one has ", run.losses()}));
  if (run.saved)
    out.say(sentence({"resumed after step ", run.model->updates(), " from ", run.saved->path().string()}));
  if (!run.saved)
    for (const json& each : run.begun.items()) out.say("begins with " + each.string());
  if (const std::string again = describe_restart(read_environment()); !again.empty())
    out.say(again + (run.saved || !run.saves() ? "" : ", but begun anew, without --resume"));
  if (const json* had = then("threads"); had != nullptr && had->integer() != run.model->threads())
    out.say(sentence({"the saved run had ", had->integer(), " threads, this one has ", run.model->threads(),
                      ": it goes on within rounding, not bit for bit"}));
}

// "1500 steps of 64 samples, each about 4.8 times; 2000 held-out pictures are asked every 200 and at the end;
// saved at the end in report/checkpoint".
inline void tell_intent(progress& out, const opened_run& run, const validation* held_out_loss) {
  const run_settings& s = run.s;
  const isize left = s.steps - run.model->updates();
  char often[64] = "";
  if (run.folder && run.folder->size() > 0)
    std::snprintf(
        often, sizeof often, ", each about %.1f times",
        static_cast<double>(left) * static_cast<double>(s.batch) / static_cast<double>(run.folder->size()));
  const auto every = [](isize steps) {
    return steps > 0 ? sentence({" every ", steps, " steps and at the end"}) : std::string(" at the end");
  };
  std::string text = sentence({left, " steps of ", s.batch, " samples", often});
  if (run.test) text += sentence({"; tests by ", run.test->size(), " held-out samples", every(s.eval_every)});
  if (held_out_loss != nullptr)
    text += sentence(
        {"; the loss of ", held_out_loss->samples(), " of them every ", s.validation_steps(), " steps"});
  text += s.checkpoint.empty() ? std::string("; nothing is saved without --checkpoint")
                               : "; saved in " + s.checkpoint + every(s.save_every);
  out.say(text);
  const step_record& record = run.record;
  if (record.wanted() && record.step() <= run.model->updates())
    out.say(sentence({"step ", record.step(), " is done, so ", record.path(), " does not get it"}));
}

// Tells how long the steps take that are left, once some are done.
inline void tell_outlook(progress& out, double seconds, isize left) {
  char text[96];
  std::snprintf(text, sizeof text, "a step takes %.3g s: %td more, without tests, are done in ", seconds,
                left);
  out.say(text + finish_text(seconds * static_cast<double>(left), std::time(nullptr)));
}

// What the order of samples gained, and what that cost: of a run, or of some steps.
inline void tell_reordered(progress& out, const reorder_sums& of, double seconds) {
  char text[256];
  std::snprintf(text, sizeof text,
                "reordered: steps %.3f times as fast as their samples came, by simulation with %s; an order "
                "took %.3g ms to find, and steps waited %.2f %% of their time for it",
                of.gained(), of.measured > 0 ? "measured times" : "no times measured yet",
                of.steps > 0 ? 1e3 * of.search_seconds / static_cast<double>(of.steps) : 0.0,
                seconds > 0 ? 100 * of.waited_seconds / seconds : 0.0);
  out.say(text);
}
// Tells which scores played how often, and what that gained and cost.
inline void tell_conducted(progress& out, const opened_run& run, double seconds) {
  char text[256];
  const conduct_sums& of = run.conducted;
  std::snprintf(
      text, sizeof text,
      "; steps %.3f times as fast as by the plan's own, by simulation with %s; a score took %.3g ms to "
      "find, and steps waited %.2f %% of their time for it",
      of.gained(), of.measured > 0 ? "measured times" : "no times measured yet",
      1e3 * of.search_seconds / static_cast<double>(of.steps),
      seconds > 0 ? 100 * of.waited_seconds / seconds : 0.0);
  out.say("conducted: " + words_of(of, *run.model->scores()) + text);
}
inline void add_conducted(json& out, const opened_run& run) {
  const conduct_sums& of = run.conducted;
  if (of.steps == 0) return;
  json played;
  for (isize k = 0; k < of.played.size(); ++k)
    played.set(run.model->scores()->names[as_size(k)], of.played[k]);
  out.set("played", played);
  out.set("score_changes", of.changes);
  out.set("conducted", of.gained());
  out.set("conduct_seconds", of.search_seconds / static_cast<double>(of.steps));
  out.set("conduct_wait", of.waited_seconds / static_cast<double>(of.steps));
}
// Tells which producer made how much, and for whom of them steps waited.
inline void tell_producers(progress& out, const json& by) {
  for (const json& each : by.items()) {
    char waited[32];
    std::snprintf(waited, sizeof waited, "%.3g", each.at("waited_seconds").number());
    out.say(sentence({"producer ", each.at("at").string(), ": ", each.at("steps").integer(), " steps, ",
                      each.at("picture_bytes").integer() / 1000000, " MB of pictures, which waited ", waited,
                      " s for it"}));
  }
}
inline void add_reordered(json& out, const reorder_sums& of) {
  if (of.steps == 0) return;
  out.set("reordered", of.gained());
  out.set("reorder_seconds", of.search_seconds / static_cast<double>(of.steps));
  out.set("reorder_wait", of.waited_seconds / static_cast<double>(of.steps));
}

// What may come next, as commands of the programs beside this one. Those that were not built yet are, first.
inline void tell_next(progress& out, const opened_run& run) {
  const run_settings& s = run.s;
  if (s.checkpoint.empty())
    return out.say("next: the weights end with this run; --checkpoint FOLDER keeps them");
  const std::string program = s.command.substr(0, s.command.find(' ')),
                    beside = program.substr(0, program.find_last_of('/') + 1),
                    saved = " --checkpoint " + s.checkpoint + " ", reported = " --run " + s.report + " ";
  std::vector<std::pair<std::string, std::string>> commands;
  for (const next_program& each : s.program->next)
    if (s.model.starts_with(each.of) && (!each.reads_report || (!s.no_report && !s.random_data())))
      commands.emplace_back(each.name, (each.reads_report ? reported : saved) + std::string(each.arguments));
  std::string absent;
  for (const auto& [name, rest] : commands)
    if (std::error_code ignored; !beside.empty() && !std::filesystem::exists(beside + name, ignored))
      absent += " " + name;
  const char* begins = "next: ";
  const auto say = [&](const std::string& command) { out.say(std::exchange(begins, "      ") + command); };
  if (!absent.empty())
    say("cmake --build " + std::filesystem::path(beside).parent_path().parent_path().string() + " --target" +
        absent);
  for (const auto& [name, rest] : commands) say(beside + name + rest);
}

}  // namespace motet
