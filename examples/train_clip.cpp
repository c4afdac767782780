// SPDX-License-Identifier: Apache-2.0

// Trains a picture tower and a caption tower on captioned pictures, on one rank or spread over many by a plan, and tells how well they recognise held-out
// ones.
#include "train_clip/evaluate.hpp"
#include "train_clip/explain.hpp"
#include "train_clip/explain_plan.hpp"
#include "train_clip/pages.hpp"

#include <motet/model/describe.hpp>
#include <motet/runtime/checkpoint.hpp>
#include <motet/runtime/interrupt.hpp>
#include <motet/runtime/metrics.hpp>
#include <motet/runtime/progress.hpp>
#if defined(MOTET_HAS_MPI)
#include <motet/backend/transport/mpi_session.hpp>
#endif

#include <csignal>
#include <cstdio>
#include <iostream>

namespace motet::train_clip {
namespace {

using clock_type = std::chrono::steady_clock;
double since(clock_type::time_point from) { return std::chrono::duration<double>(clock_type::now() - from).count(); }

class program {
 public:
  // saved: what to go on from. chosen: the plan, if ranks share the work.
  program(settings given, std::optional<checkpoint> saved, std::optional<chosen_plan> chosen)
      : s_(std::move(given)), idle_(peak_memory()), saved_(std::move(saved)), chosen_(std::move(chosen)) {
    if (s_.accumulate > s_.batch)
      fail(bad_option_value, "--accumulate " + std::to_string(s_.accumulate) + " parts of a batch of " + std::to_string(s_.batch));
    const model_entry& entry = find_model(s_.model);
    if (chosen_) model_ = make_plan_session(entry, {s_.session(), chosen_->value, chosen_->by});
    else model_ = maker_of(entry)(s_.session());
    if (!s_.random_data()) {
      folder_ = std::make_unique<data_folder>(s_, model_->facts());
      if (held_out::exists(*folder_)) test_ = std::make_unique<held_out>(*folder_, model_->facts());
    }
  }

  int run() {
    if (s_.explain) {
      explain(*model_, s_, folder_.get());
      return 0;
    }
    if (s_.check) return check();
    return s_.paced ? paced() : train();
  }

 private:
  std::string name() const { return s_.model + "/" + s_.loss; }
  session_maker maker_of(const model_entry& entry) const { return s_.device == "cuda" ? entry.on_gpu : entry.make; }
  // In a step; plans may cut the batch into groups that have one each.
  index losses() const { return chosen_ ? chosen_->value.modules[0].groups() : 1; }

  void load() {
    if (!saved_) return;
    if (folder_) {
      const json* then = saved_->state().find("vocabulary");
      if (then != nullptr && then->unsigned_integer() != folder_->vocabulary_fingerprint())
        fail(vocabulary_mismatch,
             (folder_->folder() / "tokenizer.json").string() + " differs from the vocabulary that " + saved_->path().string() + " was trained with");
    }
    model_->load(*saved_, name());
  }
  const json* saved_place() const {
    if (!saved_) return nullptr;
    const json* place = saved_->state().find("data");
    return place != nullptr && place->is_object() ? place : nullptr;
  }

  std::unique_ptr<feed> open_feed() {
    std::unique_ptr<feed> made;
    if (s_.random_data()) made = std::make_unique<random_feed>(s_, model_->facts());
    else made = std::make_unique<shard_feed>(*folder_, saved_place());
    made->pin_for(*model_);
    return made;
  }

  // Reads one batch and every tensor of the checkpoint; whatever is wrong throws.
  int check() {
    model_->prepare();
    load();
    const auto source = open_feed();
    source->next();
    std::printf("data        %s\n", source->describe().c_str());
    if (folder_ && folder_->skips().count() > 0) std::printf("skipped     %s\n", folder_->skips().summary().c_str());
    if (test_) std::printf("held out    %td pictures of %td classes\n", test_->size(), test_->classes().size());
    std::printf("model       %s, %td parameters\n", name().c_str(), model_->facts().parameters);
    if (saved_) std::printf("checkpoint  %s, step %td\n", saved_->path().c_str(), model_->updates());
    std::printf("all is well\n");
    return 0;
  }

  // As the benchmarks' peers: warm up, say so, then a step for each line.
  int paced() {
    model_->prepare();
    load();
    const auto source = open_feed();
    const rate_schedule rates = s_.rates();
    for (int i = 0; i < 3; ++i) model_->step(source->next(), rates.at(model_->updates()));
    std::printf("ready\n");
    std::fflush(stdout);
    std::vector<double> seconds;
    step_result last;
    for (std::string line; std::getline(std::cin, line);) {
      const pair_input batch = source->next();
      const auto began = clock_type::now();
      last = model_->step(batch, rates.at(model_->updates()));
      model_->finish();  // a GPU still updates the weights
      seconds.push_back(since(began));
      std::printf("%.9f\n", seconds.back());
      std::fflush(stdout);
    }
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds.empty() ? 0 : seconds[seconds.size() / 2];
    const pair_input batch = source->next();
    json out;
    out.set("program", "motet");
    out.set("model", s_.model);
    out.set("precision", s_.precision);
    out.set("batch", s_.batch);
    out.set("threads", model_->threads());
    out.set("seconds", median);
    out.set("samples_per_second", median > 0 ? static_cast<double>(s_.batch) / median : 0.0);
    out.set("tflops", median > 0 ? model_->flops(batch) / median / 1e12 : 0.0);
    out.set("peak_bytes", peak_memory());
    out.set("idle_bytes", idle_);
    out.set("predicted_bytes", forecast(*model_, s_, folder_.get()).total());
    out.set("loss", last.loss);
    out.set("machine", model_->machine());
    std::printf("%s\n", write_json(out).c_str());
    return 0;
  }

  int train() {
    const interrupt stop;
    progress out;
    model_->prepare();
    load();
    const auto source = open_feed();
    const double peak = model_->measure_peak();
    // Of several processes, one writes.
    const bool main = model_->is_main(), report = main && !s_.no_report && !s_.random_data();
    const std::int64_t keep = saved_ ? model_->updates() : -1;
    if (report) own_metrics_ = metrics_file(std::filesystem::path(s_.report) / "metrics.jsonl", keep);
    if (main && !s_.metrics.empty() && !same_file(s_.metrics, std::filesystem::path(s_.report) / "metrics.jsonl"))
      metrics_ = metrics_file(s_.metrics, keep);
    if (main && !s_.checkpoint.empty() && !s_.resume) step_aside();

    char line[160];
    std::snprintf(line, sizeof line, "peak of MFU: %.1f GFLOP/s, the best %s product (%s) here, measured now", peak / 1e9, s_.precision.c_str(),
                  model_->peak_product().c_str());
    out.say(model_->machine());
    out.say(line);
    if (chosen_) {
      out.say("ranks by " + describe(chosen_->by));
      out.say("plan " + chosen_->name + (chosen_->about.empty() ? "" : ": " + chosen_->about));
    }
    out.say("model " + name() + ", " + std::to_string(model_->facts().parameters) + " parameters, precision " + s_.precision + "; " +
            source->describe());
    if (const json* then = saved_ ? saved_->state().find("losses") : nullptr; then != nullptr && then->integer() != losses())
      out.say("the saved run had " + std::to_string(then->integer()) + " losses in a step, each over its part of the batch, this one has " +
              std::to_string(losses()));
    if (saved_) out.say("resumed after step " + std::to_string(model_->updates()) + " from " + saved_->path().string());
    model_->clear_costs();

    const rate_schedule rates = s_.rates();
    const auto started = clock_type::now();
    auto line_started = started;
    double line_waited = 0, average = 0, last_waited = 0;
    index since_line = 0;
    double tests = 0;
    bool saved_now = saved_.has_value();
    bool asked = model_->any(stop.asked());
    while (model_->updates() < s_.steps && !asked) {
      const auto begun = clock_type::now();
      const pair_input batch = source->next();
      const double waited = source->waited() - last_waited;
      last_waited += waited;
      line_waited += waited;
      const step_result result = model_->step(batch, rates.at(model_->updates()));
      asked = model_->any(stop.asked());
      const double whole = since(begun);
      average = average == 0 ? whole : 0.9 * average + 0.1 * whole;
      const index step = model_->updates();
      ++since_line;
      saved_now = false;

      step_line shown{step, s_.steps, result.loss, result.gradient_norm, result.rate, result.seconds};
      shown.samples_per_second = static_cast<double>(s_.batch) / whole;
      shown.utilisation = peak > 0 ? model_->flops(batch) / result.seconds / peak : 0;
      shown.memory = peak_memory();
      shown.data_wait = waited / whole;
      write_metrics(shown);
      if (out.live() || step % s_.line_every == 0 || step == s_.steps || asked) {
        const double gone = since(line_started);
        shown.samples_per_second = static_cast<double>(since_line * s_.batch) / gone;
        shown.data_wait = line_waited / gone;
        shown.left = average * static_cast<double>(s_.steps - step);
        out.show(shown);
        line_started = clock_type::now();
        line_waited = 0;
        since_line = 0;
      }
      if (test_ && s_.eval_every > 0 && step % s_.eval_every == 0 && step < s_.steps) {
        const auto from = clock_type::now();
        tell_accuracy(out, test());
        tests += since(from);
        line_started = clock_type::now();
      }
      if (!s_.checkpoint.empty() && s_.save_every > 0 && step % s_.save_every == 0 && step < s_.steps) {
        save(*source, out);
        saved_now = true;
        line_started = clock_type::now();
      }
    }
    trained_ = since(started) - tests;
    const bool stopped = asked && model_->updates() < s_.steps;
    if (!s_.checkpoint.empty() && !saved_now) save(*source, out);
    if (stopped) {
      out.say("stopped by a signal after step " + std::to_string(model_->updates()) +
              (s_.checkpoint.empty() ? ", nothing saved (no --checkpoint)" : ""));
      return stop.exit_code();
    }
    finish(*source, out, peak, report);
    return 0;
  }

  // By one of the processes, with the weights of all.
  zero_shot_result test() {
    model_->gather();
    return model_->is_main() ? test_->test(*model_) : zero_shot_result{};
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
  }
  void tell_accuracy(progress& out, const zero_shot_result& found) {
    json line;
    line.set("step", model_->updates());
    line.set("zero_shot_accuracy", found.accuracy());
    write(line);
    char text[160];
    std::snprintf(text, sizeof text, "zero-shot accuracy %.2f %% after step %td (%td of %td held-out pictures, %td classes)", 100 * found.accuracy(),
                  model_->updates(), found.right, found.pictures, test_->classes().size());
    out.say(text);
  }

  void save(const feed& source, progress& out) {
    json state;
    state.set("program", "train_clip");
    state.set("settings", saved_settings(s_));
    state.set("data", source.position());
    state.set("losses", losses());
    if (chosen_) state.set("plan", plan_json(chosen_->value));
    if (folder_) state.set("vocabulary", folder_->vocabulary_fingerprint());
    const model_facts& facts = model_->facts();
    json picture_module, caption_module, description;
    picture_module.set("name", "picture");
    picture_module.set("frozen", false);
    picture_module.set("net", motet::describe(facts.picture));
    caption_module.set("name", "caption");
    caption_module.set("frozen", false);
    caption_module.set("net", motet::describe(facts.caption));
    json modules;
    modules.push_back(std::move(picture_module));
    modules.push_back(std::move(caption_module));
    description.set("modules", std::move(modules));
    const auto path = model_->save({s_.checkpoint, name(), std::move(state), std::move(description), static_cast<std::size_t>(s_.keep)});
    // A checkpoint without its vocabulary cannot be used.
    if (folder_ && model_->is_main()) write_file(std::filesystem::path(s_.checkpoint) / "tokenizer.json", format_tokenizer(folder_->words()));
    out.say("saved " + path.string());
  }
  // An earlier run in the same folder is kept under another name.
  void step_aside() const {
    const std::filesystem::path run = s_.checkpoint;
    if (!latest_checkpoint(run)) return;
    for (int i = 1;; ++i) {
      std::filesystem::path aside = run.has_filename() ? run : run.parent_path();
      aside += ".old-" + std::to_string(i);
      std::error_code problem;
      if (std::filesystem::exists(aside, problem)) continue;
      std::filesystem::rename(run, aside, problem);
      if (problem) fail(file_unwritable, run.string() + ": " + problem.message());
      std::fprintf(stderr, "train_clip: %s held an earlier run, which is now %s (--resume would go on with it)\n", run.c_str(), aside.c_str());
      return;
    }
  }

  void finish(const feed& source, progress& out, double peak, bool report) {
    const std::vector<section_share> split = shares(model_->costs());
    zero_shot_result found;
    if (test_) {
      found = test();
      tell_accuracy(out, found);
    }
    if (folder_ && folder_->skips().count() > 0) out.say("skipped: " + folder_->skips().summary());
    json last;
    last.set("final", true);
    last.set("step", model_->updates());
    if (test_) {
      last.set("zero_shot_accuracy", found.accuracy());
      last.set("held_out", found.pictures);
      last.set("classes", test_->classes().size());
    }
    last.set("seconds", trained_);
    last.set("samples", (model_->updates() - (saved_ ? static_cast<index>(saved_->step()) : 0)) * s_.batch);
    last.set("data_wait", trained_ > 0 ? source.waited() / trained_ : 0.0);
    last.set("peak_flops", peak);
    last.set("peak_bytes", peak_memory());
    last.set("idle_bytes", idle_);
    last.set("predicted_bytes", forecast(*model_, s_, folder_.get()).total());
    last.set("machine", model_->machine());
    write(last);
    if (report) {
      const std::filesystem::path path = std::filesystem::path(s_.report) / "index.html";
      write_report(path, s_, *model_, test_.get(), found, split, metrics_file::read_metrics(std::filesystem::path(s_.report) / "metrics.jsonl"));
      out.say("report " + path.string());
    }
  }

  static bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(a, ignored) == std::filesystem::weakly_canonical(b, ignored);
  }

  settings s_;
  index idle_;
  std::optional<checkpoint> saved_;
  std::optional<chosen_plan> chosen_;
  std::unique_ptr<session> model_;
  std::unique_ptr<data_folder> folder_;
  std::unique_ptr<held_out> test_;
  metrics_file metrics_, own_metrics_;
  double trained_ = 0;
};

// The saved run that --resume goes on from; its settings count where the command line says nothing.
std::optional<checkpoint> reopen(settings& s, const options& line) {
  if (!s.resume) return {};
  if (s.checkpoint.empty()) fail(option_missing, "--checkpoint, the folder to --resume from");
  checkpoint saved(s.checkpoint);
  // One checkpoint of a run may be named too; the run goes on beside it.
  if (std::filesystem::exists(std::filesystem::path(s.checkpoint) / "index.json")) s.checkpoint = (saved.path() / "..").lexically_normal().string();
  if (const json* settings_then = saved.state().find("settings")) adopt_settings(s, line, *settings_then);
  return saved;
}

// Whether this program has what --device asks for. A GPU itself is looked for when it is needed.
void check_device(const settings& s) {
  if (s.device == "cpu") return;
  if (find_model(s.model).on_gpu == nullptr)
    fail(bad_option_value,
         "--device cuda with --model " + s.model +
             ", in a program that was compiled without CUDA, or without this model for it (MOTET_CUDA_MODELS); build with cmake --workflow "
             "--preset cuda, which needs nvcc");
}

// What a plan means, without data, ranks or memory.
void tell_plan(const settings& s) {
  chosen_plan chosen = read_choice(s);
  check_ranks(chosen, s);
  chosen.by.ranks = chosen.by.threads = chosen.value.cluster.ranks;
  if (s.explain) {
    explain_plan(chosen, s, *make_plan_session(find_model(s.model), {s.session(), chosen.value, chosen.by}));
    return;
  }
  print_head(chosen, s);
  score order;
  enforce(write_plan(chosen.value, facts_of(find_model(s.model)), order), chosen.name);
  std::printf("proven    %td computations on %d ranks: complete, in a possible order, no rank waits for ever\n", order.codes().size(), order.ranks());
}

int run_spread(settings s, std::optional<checkpoint> saved, chosen_plan chosen) {
  const auto body = [&](bool processes) {
    if (processes) {
      // One process speaks for all.
      if (s.threads == 0) s.threads = 1;
      if (chosen.by.rank != 0 && std::freopen("/dev/null", "w", stdout) == nullptr) fail(file_unwritable, "/dev/null");
    }
    return program(std::move(s), std::move(saved), std::move(chosen)).run();
  };
  const bool processes = chosen.by.ranks > chosen.by.threads;
#if defined(MOTET_HAS_MPI)
  // Who was started by torchrun has no MPI around, and needs none with a GPU.
  if (processes && !(s.device == "cuda" && chosen.by.by == launcher::torchrun))
    return mpi::run({chosen.by.rank, chosen.by.ranks}, [&](mpi::session&) { return body(true); });
#endif
  return body(processes);
}

int run(int count, char** words) {
  // A limit on the size of files is to be an error of writing, which is told, and not the end of the process.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    settings s;
    options line = command_line(s);
    if (!line.parse(count, words)) {
      std::fputs(line.help().c_str(), stdout);
      return 0;
    }
    if (s.list_plans) {
      list_plans();
      return 0;
    }
    std::optional<checkpoint> saved = reopen(s, line);
    check_device(s);
    const bool tells = s.explain || s.check;
    if (!s.plan.empty() && tells && (s.plan != "one" || s.ranks > 0 || s.data.empty())) {
      tell_plan(s);
      // Data and checkpoints are the same whatever the plan.
      if (s.explain || s.data.empty()) return 0;
      return program(std::move(s), std::move(saved), {}).run();
    }
    if (s.data.empty()) fail(option_missing, "--data");
    if (!is_spread(s, find_launch(read_environment(), wishes_of(s)))) return program(std::move(s), std::move(saved), {}).run();
    chosen_plan chosen = read_choice(s);
    find_ranks(chosen, s);
    return run_spread(std::move(s), std::move(saved), std::move(chosen));
  } catch (const error& problem) {
    std::fprintf(stderr, "train_clip: %s\n", problem.what());
    return std::string_view(problem.code()).starts_with("MT-X") ? 2 : 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "train_clip: there is not enough memory; --explain tells how much is needed, --accumulate needs less\n");
    return 1;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "train_clip: %s\n", problem.what());
    return 1;
  }
}

}  // namespace
}  // namespace motet::train_clip

int main(int count, char** words) { return motet::train_clip::run(count, words); }
