// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explain.hpp"
#include "pages.hpp"
#include "saving.hpp"

#include <motet/tools/event_file.hpp>
#include <motet/tools/interrupt.hpp>
#include <motet/tools/metrics.hpp>

#include <chrono>
#include <cstdio>

namespace motet::train_clip {

// All steps of a run, what is told and saved on the way, and the report.
class training {
 public:
  explicit training(opened_run& of) : run_(of) {}

  int run() {
    const interrupt stop;
    progress out;
    run_.probe_folder();
    run_.prepare();
    // Before threads begin to prepare data, which take their part of the processors.
    const double peak = run_.model->measure_peak();
    const auto source = run_.open_feed();
    run_.model->require_same(identity(*source));
    // Of several processes, one writes.
    const bool main = run_.model->is_main(), report = main && !run_.s.no_report && !run_.s.random_data();
    if (run_.saves()) hold_folder(run_);
    const std::int64_t keep = run_.saved ? run_.model->updates() : -1;
    if (report) own_metrics_ = metrics_file(std::filesystem::path(run_.s.report) / "metrics.jsonl", keep);
    if (main && !run_.s.metrics.empty() &&
        !same_file(run_.s.metrics, std::filesystem::path(run_.s.report) / "metrics.jsonl"))
      metrics_ = metrics_file(run_.s.metrics, keep);
    if (main && !run_.s.tensorboard.empty())
      events_ = event_file(run_.s.tensorboard, run_.model->updates() + 1);

    char line[160];
    std::snprintf(line, sizeof line, "peak of MFU: %.1f GFLOP/s, the best %s product (%s) here, measured now",
                  peak / 1e9, run_.s.precision.c_str(), run_.model->peak_product().c_str());
    out.say(run_.model->machine());
    out.say(line);
    if (run_.chosen) {
      out.say("ranks by " + describe(run_.chosen->by));
      out.say("plan " + run_.chosen->name + (run_.chosen->about.empty() ? "" : ": " + run_.chosen->about));
    }
    out.say("model " + run_.name() + ", " + std::to_string(run_.model->facts().parameters) +
            " parameters, precision " + run_.s.precision + "; " + source->describe());
    if (const json* then = run_.saved ? run_.saved->state().find("losses") : nullptr;
        then != nullptr && then->integer() != run_.losses())
      out.say("the saved run had " + std::to_string(then->integer()) +
              " losses in a step, each over its part of the batch, this one has " +
              std::to_string(run_.losses()));
    if (run_.saved)
      out.say("resumed after step " + std::to_string(run_.model->updates()) + " from " +
              run_.saved->path().string());
    if (const std::string again = describe_restart(read_environment()); !again.empty())
      out.say(again + (run_.saved || !run_.saves() ? "" : ", but begun anew, without --resume"));
    if (const json* then = run_.saved ? run_.saved->state().find("threads") : nullptr;
        then != nullptr && then->integer() != run_.model->threads())
      out.say(sentence({"the saved run had ", then->integer(), " threads, this one has ",
                        run_.model->threads(), ": it goes on within rounding, not bit for bit"}));
    if (report) tell_settings(out);
    run_.model->clear_costs();

    const rate_schedule rates = run_.s.rates();
    const auto started = clock_type::now();
    auto line_started = started;
    double line_waited = 0, average = 0, last_waited = 0;
    index since_line = 0;
    double tests = 0;
    bool saved_now = run_.saved.has_value();
    bool asked = run_.model->any(stop.asked());
    while (run_.model->updates() < run_.s.steps && !asked) {
      const auto begun = clock_type::now();
      step_input batch;
      together([&] { batch = source->next(); }, [&] { leave(*source, out, report, saved_now); });
      const double waited = source->waited() - last_waited;
      last_waited += waited;
      line_waited += waited;
      if (const auto following = source->ahead()) run_.model->expect(*following);
      const step_result result = run_.model->step(batch, rates.at(run_.model->updates()));
      run_.trend.add(result.loss, result.gradient_norm);
      asked = run_.model->any(stop.asked());
      const double whole = since(begun);
      average = average == 0 ? whole : 0.9 * average + 0.1 * whole;
      const index step = run_.model->updates();
      since_line += source->samples();
      samples_ += source->samples();
      saved_now = false;

      step_line shown{step, run_.s.steps, result.loss, result.gradient_norm, result.rate, result.seconds};
      shown.samples_per_second = static_cast<double>(source->samples()) / whole;
      shown.utilisation = peak > 0 ? run_.model->flops(batch) / result.seconds / peak : 0;
      shown.memory = peak_memory();
      shown.data_wait = waited / whole;
      write_metrics(shown);
      if (out.live() || step % run_.s.line_every == 0 || step == run_.s.steps || asked) {
        const double gone = since(line_started);
        shown.samples_per_second = static_cast<double>(since_line) / gone;
        shown.data_wait = line_waited / gone;
        shown.left = average * static_cast<double>(run_.s.steps - step);
        out.show(shown);
        line_started = clock_type::now();
        line_waited = 0;
        since_line = 0;
      }
      if (run_.test && run_.s.eval_every > 0 && step % run_.s.eval_every == 0 && step < run_.s.steps) {
        const auto from = clock_type::now();
        together([&] { tell_accuracy(out, test()); }, [&] { leave(*source, out, report, false); });
        tests += since(from);
        line_started = clock_type::now();
      }
      if (!run_.s.checkpoint.empty() && run_.s.save_every > 0 && step % run_.s.save_every == 0 &&
          step < run_.s.steps) {
        save(run_, *source, out);
        saved_now = true;
        line_started = clock_type::now();
      }
    }
    trained_ = since(started) - tests;
    const bool stopped = asked && run_.model->updates() < run_.s.steps;
    if (!run_.s.checkpoint.empty() && !saved_now) save(run_, *source, out);
    if (stopped) {
      out.say("stopped by a signal after step " + std::to_string(run_.model->updates()) +
              (run_.s.checkpoint.empty() ? ", nothing saved (no --checkpoint)" : ""));
      return stop.exit_code();
    }
    finish(*source, out, peak, report);
    return 0;
  }

 private:
  using clock_type = std::chrono::steady_clock;
  static double since(clock_type::time_point from) {
    return std::chrono::duration<double>(clock_type::now() - from).count();
  }

  // What decides the run, and when all processes meet outside of steps.
  run_identity identity(const feed& source) const {
    run_identity same;
    const json settings = saved_settings(run_.s);
    for (const auto& [name, value] : settings.members()) same.add("setting " + name, write_json(value));
    same.add("setting save_every", std::to_string(run_.s.checkpoint.empty() ? -1 : run_.s.save_every));
    same.add("setting eval_every", std::to_string(run_.test ? run_.s.eval_every : -1));
    same.add("setting checkpoint", run_.s.checkpoint);
    same.add("first step", std::to_string(run_.model->updates()));
    same.add("data", write_json(source.position()));
    if (!run_.folder) return same;
    same.add("vocabulary", std::to_string(run_.folder->vocabulary_fingerprint()));
    same.add("content of the samples looked at", std::to_string(run_.folder->content_fingerprint()));
    return same;
  }
  // By one of the processes, with the weights of all.
  test_result test() {
    run_.model->gather();
    return run_.model->is_main() ? run_.test->test(*run_.model) : test_result{};
  }
  void write_metrics(const step_line& line) {
    json out;
    out.set("step", line.step);
    out.set("loss", line.loss);
    out.set("gradient_norm", line.gradient_norm);
    out.set("learning_rate", line.rate);
    out.set("seconds", line.seconds);
    out.set("samples_per_second", line.samples_per_second);
    out.set("mfu", line.utilisation);
    out.set("memory_bytes", line.memory);
    out.set("data_wait", line.data_wait);
    write(out);
  }
  void write(const json& line) {
    metrics_.write(line);
    own_metrics_.write(line);
    events_.write(line);
  }
  // Shares of a test as members of a line.
  static void add_shares(json& line, const test_result& found) {
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
  void tell_accuracy(progress& out, const test_result& found) {
    json line;
    line.set("step", run_.model->updates());
    add_shares(line, found);
    write(line);
    char text[200];
    if (found.classes.pictures > 0) {
      std::snprintf(text, sizeof text,
                    "zero-shot accuracy %.2f %% after step %td (%td of %td held-out pictures, %td classes)",
                    100 * found.classes.accuracy(), run_.model->updates(), found.classes.right,
                    found.classes.pictures, run_.test->classes().size());
      out.say(text);
    }
    if (found.captions.pictures > 0) {
      std::snprintf(
          text, sizeof text,
          "caption accuracy %.2f %% after step %td (%td of %td held-out pictures are called what they "
          "are, %td in the very words)",
          100 * found.captions.accuracy(), run_.model->updates(), found.captions.right,
          found.captions.pictures, found.captions.exact);
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
    std::snprintf(
        text, sizeof text,
        "own caption among the first 1, 5, 10: %.1f, %.1f, %.1f %%; own picture: %.1f, %.1f, %.1f %% "
        "(of %td, step %td)",
        100 * found.pairs.picture_share(0), 100 * found.pairs.picture_share(1),
        100 * found.pairs.picture_share(2), 100 * found.pairs.caption_share(0),
        100 * found.pairs.caption_share(1), 100 * found.pairs.caption_share(2), found.pairs.samples,
        run_.model->updates());
    out.say(text);
  }

  // All processes do this between steps, or none goes on: what is trained is saved first, and then the error
  // of the one that has it ends the run.
  template <class Body, class Leave>
  void together(Body&& body, Leave&& before_end) {
    std::exception_ptr problem;
    try {
      body();
    } catch (const std::exception&) {
      problem = std::current_exception();
    }
    if (!run_.model->any(problem != nullptr)) return;
    before_end();
    if (problem) std::rethrow_exception(problem);
    fail(data_unreadable, "by another process; see what that one says");
  }
  void leave(const feed& source, progress& out, bool report, bool saved) {
    if (run_.model->updates() == 0) return;
    if (!run_.s.checkpoint.empty() && !saved) save(run_, source, out);
    if (report) tell_report(out, nullptr, {}, 1, shares(run_.model->costs()));
  }
  // The run's own command line once more, with what was not said; like the report, it ends no run.
  void tell_settings(progress& out) const {
    const std::filesystem::path path = std::filesystem::path(run_.s.report) / "config.json";
    try {
      write_file(path, run_.s.effective);
      out.say("settings " + path.string() + "; the same again: " + this_program.name + " --config " +
              path.string());
    } catch (const error& problem) {
      std::fprintf(stderr, "%s: no settings: %s\n", this_program.name, problem.what());
    }
  }
  void tell_report(progress& out, const held_out* test, const test_result& found, double scale,
                   const std::vector<section_share>& split) {
    const std::filesystem::path path = std::filesystem::path(run_.s.report) / "index.html";
    // All is trained and saved by now.
    try {
      write_report(path, run_.s, *run_.model, test, found, scale, split,
                   metrics_file::read_metrics(std::filesystem::path(run_.s.report) / "metrics.jsonl"));
      out.say("report " + path.string());
    } catch (const error& problem) {
      std::fprintf(stderr, "%s: no report: %s\n", this_program.name, problem.what());
    }
  }
  void finish(const feed& source, progress& out, double peak, bool report) {
    const std::vector<section_share> split = shares(run_.model->costs());
    test_result found;
    double scale = 1;
    if (run_.test) {
      together([&] { found = test(); }, [&] { leave(source, out, report, true); });
      if (!run_.model->facts().speaks) scale = scale_of(*run_.model);
      tell_accuracy(out, found);
    }
    if (run_.folder && run_.folder->skips().count() > 0)
      out.say("skipped: " + run_.folder->skips().summary());
    json last;
    last.set("final", true);
    last.set("step", run_.model->updates());
    if (run_.test) {
      add_shares(last, found);
      last.set("held_out", run_.test->size());
      last.set("classes", run_.test->classes().size());
    }
    last.set("seconds", trained_);
    last.set("samples", samples_);
    last.set("data_wait", trained_ > 0 ? source.waited() / trained_ : 0.0);
    last.set("peak_flops", peak);
    last.set("peak_bytes", peak_memory());
    last.set("idle_bytes", run_.idle);
    last.set("predicted_bytes", forecast(*run_.model, run_.s, run_.folder.get()).total());
    last.set("machine", run_.model->machine());
    // It sums up the whole run: no point of a curve.
    metrics_.write(last);
    own_metrics_.write(last);
    if (report) tell_report(out, run_.test.get(), found, scale, split);
  }

  static bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
  }

  opened_run& run_;
  metrics_file metrics_, own_metrics_;
  event_file events_;
  double trained_ = 0;
  index samples_ = 0;
};

}  // namespace motet::train_clip
