// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/run/run_memory.hpp>
#include <motet/run/run_page.hpp>
#include <motet/run/save_run.hpp>
#include <motet/run/tell_run.hpp>
#include <motet/tools/process/interrupt.hpp>
#include <motet/tools/process/peak_rate.hpp>
#include <motet/tools/report/run_logs.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace motet {

// All steps of a run, what is told and saved on the way, and the report.
class training {
 public:
  explicit training(opened_run& of) : run_(of) {}

  int run() {
    const interrupt stop;
    run_.probe_files();
    run_.prepare();
    find_peak();
    source_ = run_.open_feed();
    run_.model->require_same(identity());
    const bool main = run_.model->is_main();
    report_ = main && !run_.s.no_report && !run_.s.random_data();
    if (run_.saves()) hold_folder(run_);
    if (main)
      logs_ = run_logs({report_ ? run_.s.report : "", run_.s.metrics, run_.s.tensorboard},
                       run_.model->updates(), run_.saved.has_value(), run_.model->facts().losses);
    if (run_.test && run_.s.validation_steps() > 0)
      held_out_loss_.emplace(*run_.folder, run_.s.batch / run_.losses());

    tell_start(out_, run_, *source_);
    tell_peak(peak_is_told_ ? "as MOTET_PEAK tells" : best_product() + ", measured now");
    if (report_) tell_settings();
    tell_intent(out_, run_, held_out_loss_ ? &*held_out_loss_ : nullptr);
    run_.model->clear_costs();

    saved_now_ = run_.saved.has_value();
    began_ = began_line_ = clock_type::now();
    bool asked = run_.model->any(stop.asked());
    while (run_.model->updates() < run_.s.steps && !asked) {
      asked = step(stop);
      beside_steps();
    }
    trained_ = since(began_) - tests_;
    if (!run_.s.checkpoint.empty() && !saved_now_) save();
    if (asked && run_.model->updates() < run_.s.steps) {
      out_.say("stopped by a signal after step " + std::to_string(run_.model->updates()) +
               (run_.s.checkpoint.empty() ? ", nothing saved (no --checkpoint)" : ""));
      return stop.exit_code();
    }
    finish();
    return 0;
  }

 private:
  using clock_type = std::chrono::steady_clock;
  static double since(clock_type::time_point from) {
    return std::chrono::duration<double>(clock_type::now() - from).count();
  }

  // One step and its line; whether any process was asked to stop.
  bool step(const interrupt& stop) {
    const auto begun = clock_type::now();
    step_input batch;
    together([&] { batch = source_->next(); });
    const double waited = source_->waited() - waited_;
    waited_ += waited;
    for (const std::string& each : source_->take_notes()) out_.say(each);
    line_waited_ += waited;
    if (const auto following = source_->ahead()) run_.model->expect(*following);
    const isize before = run_.model->updates();
    const step_result result = run_.model->step(batch, run_.s.rates().at(before), run_.record.at(before + 1));
    if (run_.model->is_main() && run_.record.counts(before + 1)) run_.record.count(run_.model->work(batch));
    run_.trend.add(result.loss, result.gradient_norm);
    const reorder_told* const reordered = run_.model->reordered();
    if (reordered != nullptr) run_.reordered.add(*reordered);
    const conduct_told* const conducted = run_.model->conducted();
    if (conducted != nullptr) run_.conducted.add(*conducted);
    const double rate = peak_.best() > 0 ? run_.model->flops(batch) / result.seconds : 0;
    const auto [asked, beaten] = run_.model->any(stop.asked(), !peak_is_told_ && peak_.is_beaten_by(rate));
    const double whole = since(begun);
    // The first one is slower than the others.
    average_ = steps_ < 2 ? whole : 0.9 * average_ + 0.1 * whole;
    const isize at = run_.model->updates(), left = run_.s.steps - at;
    ++steps_;
    line_samples_ += source_->samples();
    samples_ += source_->samples();
    saved_now_ = false;

    step_line shown{at, run_.s.steps, result.loss, result.gradient_norm, result.rate, result.seconds};
    for (const loss_part& each : result.parts) shown.parts.push_back({each.told(), each.loss});
    shown.samples_per_second = static_cast<double>(source_->samples()) / whole;
    shown.utilisation = peak_.share(rate);
    shown.memory = peak_memory();
    shown.data_wait = waited / whole;
    shown.left = average_ * static_cast<double>(left);
    if (reordered != nullptr) shown.reordered = reordered->gained();
    if (conducted != nullptr) shown.score = run_.model->scores()->names[as_size(conducted->score)];
    shown.queue = source_->queue().value_or(-1);
    write_step(shown, reordered);
    if (out_.live() || at % run_.s.line_every == 0 || left == 0 || asked) {
      const double gone = since(began_line_);
      shown.samples_per_second = static_cast<double>(line_samples_) / gone;
      shown.data_wait = line_waited_ / gone;
      out_.show(shown);
      begin_line();
    }
    if (!told_outlook_ && steps_ >= 3 && left > 0 && since(began_) > 3) {
      tell_outlook(out_, average_, left);
      told_outlook_ = true;
    }
    if (tell_record()) begin_line();
    // Others used the machine while the peak was measured, so once more.
    if (beaten) {
      peak_.raise(rate);
      peak_.raise(run_.model->measure_peak());
      tell_peak(best_product() + ", measured again, as a step did more");
      begin_line();
    }
    return asked;
  }
  // Tests and checkpoints come after some steps.
  void beside_steps() {
    const isize at = run_.model->updates();
    const bool last = at == run_.s.steps;
    const auto is_due = [&](isize every) { return every > 0 && at % every == 0; };
    const auto from = clock_type::now();
    if (held_out_loss_ && (is_due(run_.s.validation_steps()) || last)) {
      together([&] { validate(); });
      begin_line();
    }
    if (run_.test && is_due(run_.s.eval_every) && !last) {
      together([&] { tell_test(test()); });
      begin_line();
    }
    tests_ += since(from);
    if (!run_.s.checkpoint.empty() && is_due(run_.s.save_every) && !last) {
      save();
      begin_line();
    }
  }
  void begin_line() {
    began_line_ = clock_type::now();
    line_waited_ = 0;
    line_samples_ = 0;
  }
  void save() {
    save_run(run_, *source_, out_);
    saved_now_ = true;
  }

  // The identity has what decides the run, and when all processes meet outside of steps.
  run_identity identity() const {
    run_identity same;
    const json settings = saved_settings(run_.s);
    for (const auto& [name, value] : settings.members()) same.add("setting " + name, write_json(value));
    same.add("setting save_every", std::to_string(run_.s.checkpoint.empty() ? -1 : run_.s.save_every));
    same.add("setting eval_every", std::to_string(run_.test ? run_.s.eval_every : -1));
    same.add("setting validate_every", std::to_string(run_.test ? run_.s.validation_steps() : -1));
    same.add("setting checkpoint", run_.s.checkpoint);
    same.add("setting record_step", std::to_string(run_.record.wanted() ? run_.record.step() : -1));
    same.add("first step", std::to_string(run_.model->updates()));
    same.add("data", write_json(source_->position()));
    if (!run_.folder) return same;
    same.add("vocabulary", std::to_string(run_.folder->vocabulary_fingerprint()));
    same.add("content of the samples looked at", std::to_string(run_.folder->content_fingerprint()));
    return same;
  }

  // One of the processes tests, with the weights of all.
  test_result test() {
    run_.model->gather();
    return run_.model->is_main() ? run_.test->test(*run_.model) : test_result{};
  }
  void validate() {
    run_.model->gather();
    if (!run_.model->is_main()) return;
    json line;
    line.set("step", run_.model->updates());
    line.set("validation_loss", held_out_loss_->loss(*run_.model));
    if (const double scale = run_.model->logit_scale(); std::isfinite(scale)) line.set("logit_scale", scale);
    logs_.write(line);
  }
  void write_step(const step_line& line, const reorder_told* reordered) {
    json out;
    out.set("step", line.step);
    out.set("loss", line.loss);
    for (const named_loss& each : line.parts) out.set(name_of_part(each.name), each.loss);
    out.set("gradient_norm", line.gradient_norm);
    out.set("learning_rate", line.rate);
    out.set("seconds", line.seconds);
    out.set("samples_per_second", line.samples_per_second);
    out.set("mfu", line.utilisation);
    out.set("memory_bytes", line.memory);
    out.set("data_wait", line.data_wait);
    if (line.queue >= 0) out.set("queue", line.queue);
    if (reordered != nullptr) {
      out.set("reordered", line.reordered);
      out.set("reorder_seconds", reordered->search_seconds);
      out.set("reorder_wait", reordered->waited_seconds);
    }
    if (!line.score.empty()) out.set("score", line.score);
    if (run_.folder) out.set("skipped", run_.folder->skips().count());
    logs_.write(out);
  }
  void tell_test(const test_result& found) {
    json line;
    line.set("step", run_.model->updates());
    add_shares(line, found);
    logs_.write(line);
    for (const std::string& each : sentences_of(found, run_.model->updates(), run_.test->classes().size()))
      out_.say(each);
  }
  // It is measured before threads begin to prepare data, which take their part of the processors; not at all
  // where each process was told.
  void find_peak() {
    const double told = told_peak(std::getenv("MOTET_PEAK"));
    peak_is_told_ = !run_.model->any(told == 0);
    peak_ = peak_rate(peak_is_told_ ? told : run_.model->measure_peak());
  }
  std::string best_product() {
    return sentence({"the best ", run_.s.precision, " product (", run_.model->peak_product(), ") here"});
  }
  void tell_peak(const std::string& whence) {
    char peak[32];
    std::snprintf(peak, sizeof peak, "%.1f", peak_.best() / 1e9);
    out_.say(sentence({"peak of MFU: ", peak, " GFLOP/s, ", whence}));
  }

  // All processes do this between steps, or none goes on: what is trained is saved first, and then the error
  // of the one that has it ends the run.
  template <class Body>
  void together(Body&& body) {
    std::exception_ptr problem;
    try {
      body();
    } catch (const std::exception&) {
      problem = std::current_exception();
    }
    if (!run_.model->any(problem != nullptr)) return;
    if (run_.model->updates() > 0) {
      if (!run_.s.checkpoint.empty() && !saved_now_) save();
      if (report_) tell_report({}, shares_of(run_.model->costs()));
    }
    if (problem) std::rethrow_exception(problem);
    fail(data_unreadable, "by another process; see what that one says");
  }
  // The run's own command line once more, with what was not said; like the report, it ends no run.
  void tell_settings() {
    const std::filesystem::path path = std::filesystem::path(run_.s.report) / "config.json";
    try {
      write_file(path, run_.s.effective);
      out_.say("settings " + path.string() + "; the same again: " + run_.s.program->name + " --config " +
               path.string());
    } catch (const error& problem) {
      std::fprintf(stderr, "%s: no settings: %s\n", run_.s.program->name, problem.what());
    }
  }
  // Whether it was the step to record. Like the report, the file ends no run.
  bool tell_record() {
    if (!run_.model->is_main()) return false;
    try {
      if (!run_.record.write(run_.model->of(), run_.chosen ? &run_.chosen->value : nullptr,
                             run_.model->machine(), run_.s.trained().facts(), run_.model->threads()))
        return false;
      if (!run_.s.record.empty())
        out_.say(sentence({"step ", run_.record.step(), " as it ran: ", run_.record.path()}));
      if (!run_.record.told().empty()) out_.say(run_.record.told());
      for (std::string_view left = run_.record.gaps(); !left.empty();) {
        const std::size_t end = left.find('\n');
        out_.say(std::string(left.substr(0, end)));
        left.remove_prefix(end + 1);
      }
    } catch (const error& problem) {
      std::fprintf(stderr, "%s: no record: %s\n", run_.s.program->name, problem.what());
    }
    return true;
  }
  void tell_report(const test_result& found, const std::vector<section_share>& split) {
    const std::filesystem::path path = std::filesystem::path(run_.s.report) / "index.html";
    // All is trained and saved by now.
    try {
      write_report(path, page_of(run_, found, split, read_run(run_.s.report)));
      out_.say("report " + path.string());
    } catch (const error& problem) {
      std::fprintf(stderr, "%s: no report: %s\n", run_.s.program->name, problem.what());
    }
  }
  void finish() {
    const std::vector<section_share> split = shares_of(run_.model->costs());
    test_result found;
    if (run_.test) {
      together([&] { found = test(); });
      tell_test(found);
    }
    if (run_.folder && run_.folder->skips().count() > 0)
      out_.say("skipped: " + run_.folder->skips().summary());
    if (run_.folder && run_.folder->skips().resampled() > 0)
      out_.say("resampled: " + run_.folder->skips().resampled_summary());
    if (run_.reordered.steps > 0) tell_reordered(out_, run_.reordered, trained_);
    if (run_.conducted.steps > 0) tell_conducted(out_, run_, trained_);
    json last;
    last.set("final", true);
    last.set("step", run_.model->updates());
    if (run_.folder && run_.folder->skips().resampled() > 0)
      last.set("resampled", run_.folder->skips().resampled());
    if (run_.test) {
      add_shares(last, found);
      last.set("held_out", run_.test->size());
      last.set("classes", run_.test->classes().size());
    }
    last.set("seconds", trained_);
    last.set("samples", samples_);
    last.set("data_wait", trained_ > 0 ? source_->waited() / trained_ : 0.0);
    add_reordered(last, run_.reordered);
    add_conducted(last, run_);
    if (const json by = source_->by_producer(); !by.is_null()) {
      tell_producers(out_, by);
      last.set("producers", by);
    }
    last.set("peak_flops", peak_.best());
    last.set("peak_bytes", peak_memory());
    last.set("idle_bytes", run_.idle);
    last.set("predicted_bytes", memory_of_run(*run_.model, run_.s, run_.folder.get()).total());
    last.set("machine", run_.model->machine());
    last.set("version", version_of_run());
    logs_.sum_up(last);
    if (report_) tell_report(found, split);
    tell_next(out_, run_);
  }

  opened_run& run_;
  progress out_;
  pinned_feed source_;
  std::optional<validation> held_out_loss_;
  run_logs logs_;
  peak_rate peak_;
  bool report_ = false, saved_now_ = false, told_outlook_ = false, peak_is_told_ = false;
  isize steps_ = 0, samples_ = 0, line_samples_ = 0;
  // seconds: of tests; of all steps; waited for data, in all and since the last line; of a step, about
  double tests_ = 0, trained_ = 0, waited_ = 0, line_waited_ = 0, average_ = 0;
  clock_type::time_point began_, began_line_;
};

}  // namespace motet
