// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "opened_run.hpp"

#include <motet/meta/config.hpp>
#include <motet/tools/commit_of.hpp>
#include <motet/tools/validation.hpp>

#include <cstdio>

// What a run says on the terminal: what it is going to do, how its tests came out, and what may come next.
namespace motet::train_clip {

// "0.1.0", and the commit of the folder that it runs in, where that is one of a Git repository's.
inline std::string version_of_run() {
  const std::string commit = commit_of(std::filesystem::current_path());
  return sentence({index{MOTET_VERSION_MAJOR}, ".", index{MOTET_VERSION_MINOR}, ".",
                   index{MOTET_VERSION_PATCH}, commit.empty() ? "" : ", run at commit " + commit});
}

inline void tell_start(progress& out, const opened_run& run, const feed& source) {
  out.say(run.model->machine());
  if (run.chosen) {
    out.say("ranks by " + describe(run.chosen->by));
    out.say("plan " + run.chosen->name + (run.chosen->about.empty() ? "" : ": " + run.chosen->about));
  }
  out.say("model " + run.name() + ", " + std::to_string(run.model->facts().parameters) +
          " parameters, precision " + run.s.precision + (run.s.recompute ? ", blocks recomputed" : "") +
          "; " + source.describe());
  const auto then = [&](const char* name) -> const json* {
    return run.saved ? run.saved->state().find(name) : nullptr;
  };
  if (const json* had = then("losses"); had != nullptr && had->integer() != run.losses())
    out.say(sentence({"the saved run had ", had->integer(),
                      " losses in a step, each over its part of the batch, this one has ", run.losses()}));
  if (run.saved)
    out.say(sentence({"resumed after step ", run.model->updates(), " from ", run.saved->path().string()}));
  if (const std::string again = describe_restart(read_environment()); !again.empty())
    out.say(again + (run.saved || !run.saves() ? "" : ", but begun anew, without --resume"));
  if (const json* had = then("threads"); had != nullptr && had->integer() != run.model->threads())
    out.say(sentence({"the saved run had ", had->integer(), " threads, this one has ", run.model->threads(),
                      ": it goes on within rounding, not bit for bit"}));
}

// "1500 steps of 64 samples, each about 4.8 times; 2000 held-out pictures are asked every 200 and at the end;
// saved at the end in report/checkpoint".
inline void tell_intent(progress& out, const opened_run& run, const validation* held_out_loss) {
  const settings& s = run.s;
  const index left = s.steps - run.model->updates();
  char often[64] = "";
  if (run.folder && run.folder->size() > 0)
    std::snprintf(
        often, sizeof often, ", each about %.1f times",
        static_cast<double>(left) * static_cast<double>(s.batch) / static_cast<double>(run.folder->size()));
  const auto every = [](index steps) {
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
}

// How long the steps take that are left, once some are done.
inline void tell_outlook(progress& out, double seconds, index left) {
  char text[96];
  std::snprintf(text, sizeof text, "a step takes %.3g s: %td more, without tests, are done in ", seconds,
                left);
  out.say(text + finish_text(seconds * static_cast<double>(left), std::time(nullptr)));
}

// What may come next, as commands of the programs beside this one. Those that were not built yet are, first.
inline void tell_next(progress& out, const opened_run& run) {
  const settings& s = run.s;
  if (s.checkpoint.empty())
    return out.say("next: the weights end with this run; --checkpoint FOLDER keeps them");
  const std::string program = s.command.substr(0, s.command.find(' ')),
                    beside = program.substr(0, program.find_last_of('/') + 1),
                    saved = " --checkpoint " + s.checkpoint + " ";
  std::vector<std::pair<std::string, std::string>> commands{
      {this_program.speaks ? "generate" : "embed",
       saved + (this_program.speaks ? "--picture FILE" : "--images FOLDER --output features.safetensors")},
      {"export_hf", saved + "--output FOLDER"}};
  if (!s.no_report && !s.random_data())
    commands.emplace_back("compare_runs", " --run " + s.report + " --run ANOTHER --output compared.html");
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

// Shares of a test as members of a line.
inline void add_shares(json& line, const test_result& found) {
  if (found.classes.pictures > 0) line.set("zero_shot_accuracy", found.classes.accuracy());
  if (found.captions.pictures > 0) {
    line.set("caption_accuracy", found.captions.accuracy());
    line.set("caption_exact", found.captions.exact_share());
  }
  if (found.several.pictures > 0) line.set("several_exact", found.several.exact_share());
  if (found.texts.pictures > 0) line.set("text_exact", found.texts.exact_share());
  for (std::size_t i = 0; found.pairs.samples > 0 && i < retrieval_result::within.size(); ++i) {
    const std::string within = "_within_" + std::to_string(retrieval_result::within[i]);
    line.set("caption" + within, found.pairs.picture_share(i));
    line.set("picture" + within, found.pairs.caption_share(i));
  }
}
inline void tell_test(progress& out, const test_result& found, index step, index classes) {
  char text[200];
  if (found.classes.pictures > 0) {
    std::snprintf(text, sizeof text,
                  "zero-shot accuracy %.2f %% after step %td (%td of %td held-out pictures, %td classes)",
                  100 * found.classes.accuracy(), step, found.classes.right, found.classes.pictures, classes);
    out.say(text);
  }
  if (found.captions.pictures > 0) {
    std::snprintf(
        text, sizeof text,
        "caption accuracy %.2f %% after step %td (%td of %td held-out pictures are called what they "
        "are, %td in the very words)",
        100 * found.captions.accuracy(), step, found.captions.right, found.captions.pictures,
        found.captions.exact);
    out.say(text);
  }
  for (const auto& [of, what] :
       {std::pair(&found.several, "with several pictures"), std::pair(&found.texts, "of text alone")}) {
    if (of->pictures == 0) continue;
    std::snprintf(text, sizeof text, "answers     %.2f %% of %td held-out samples %s, in the very words",
                  100 * of->exact_share(), of->pictures, what);
    out.say(text);
  }
  if (found.pairs.samples == 0) return;
  std::snprintf(text, sizeof text,
                "own caption among the first 1, 5, 10: %.1f, %.1f, %.1f %%; own picture: %.1f, %.1f, %.1f %% "
                "(of %td, step %td)",
                100 * found.pairs.picture_share(0), 100 * found.pairs.picture_share(1),
                100 * found.pairs.picture_share(2), 100 * found.pairs.caption_share(0),
                100 * found.pairs.caption_share(1), 100 * found.pairs.caption_share(2), found.pairs.samples,
                step);
  out.say(text);
}

}  // namespace motet::train_clip
