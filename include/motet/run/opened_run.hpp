// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint_trend.hpp>
#include <motet/front/feed/local_producers.hpp>
#include <motet/front/feed/produced_feed.hpp>
#include <motet/run/chosen_plan.hpp>
#include <motet/run/read_begin.hpp>
#include <motet/run/step_record.hpp>
#include <motet/runtime/save/checkpoint.hpp>
#include <motet/runtime/save/run_folder.hpp>
#include <motet/tools/held_out/open_held_out.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/report/progress.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// A pinned feed gives batches while the device knows where they lie.
struct pinned_feed {
  std::unique_ptr<feed> of;
  std::shared_ptr<void> pinned;  // last: it ends first

  feed& operator*() const { return *of; }
  feed* operator->() const { return of.get(); }
};

// The model, the data and the saved run that a command line asks for.
struct opened_run {
  run_settings s;
  isize idle = peak_memory();
  std::optional<checkpoint> saved;    // what to go on from
  std::vector<begin_source> begin;    // what to begin with, where there is nothing to go on from
  std::vector<checkpoint> sources;    // of each of them
  json begun{json::array{}};          // "eye, glue of RUN, step 200", of each of them
  std::optional<chosen_plan> chosen;  // if ranks share the work
  step_record record;
  std::unique_ptr<session> model;
  std::unique_ptr<data_folder> folder;
  std::unique_ptr<held_out> test;
  loss_trend trend;                            // of its steps so far
  reorder_sums reordered;                      // likewise, where samples are put in order
  conduct_sums conducted;                      // or scores take turns
  run_folder held;                             // of --checkpoint, while it trains
  std::unique_ptr<local_producers> producers;  // that this process started

  opened_run(run_settings given, std::optional<checkpoint> from, std::optional<chosen_plan> by)
      : s(std::move(given)), saved(std::move(from)), chosen(std::move(by)), record(s) {
    if (s.accumulate > s.batch)
      fail(bad_option_value, "--accumulate " + std::to_string(s.accumulate) + " parts of a batch of " +
                                 std::to_string(s.batch));
    if (s.random_data() && s.pictures == "bytes")
      fail(bad_option_value, "--pictures bytes with --data random, which has numbers and no pictures");
    if (s.random_data() && !s.producers.empty())
      fail(bad_option_value, "--producers " + s.producers + " with --data random, which nobody prepares");
    if (s.defer > 1) require_order();
    if (!saved) {
      begin = read_begin(s.begin);
      for (const begin_source& each : begin) sources.emplace_back(each.run);
    } else if (const json* then = saved->kept("begun")) {
      begun = *then;
    }
    model = open_session(s, chosen ? &*chosen : nullptr);
    if (s.rows > 0 && model->facts().shape.least_pictures > 0)
      fail(bad_option_value,
           sentence({"--rows ", s.rows, " with --model ", s.model,
                     ", which draws a picture of each sample: in steps that are filled to a ",
                     "number of rows some samples have none"}));
    if (!s.random_data()) {
      folder = std::make_unique<data_folder>(wishes(), model->facts().shape);
      test = open_held_out(*folder, model->facts().embedding);
    }
  }

  std::string name() const { return s.model + "/" + s.loss; }
  // The losses of a step; plans may cut the batch into groups that have one each.
  isize losses() const { return chosen ? chosen->value.modules[0].groups() : 1; }

  // Of several processes, one writes.
  bool saves() const { return !s.checkpoint.empty() && model->is_main(); }
  void probe_files() const {
    if (model->is_main()) record.probe();
    if (saves()) probe_run_folder(s.checkpoint, checkpoint_bytes(model->parameters()));
  }
  // Takes all memory and makes the model as it was saved.
  void prepare() {
    model->prepare();
    require_same_checkpoint();
    if (!saved) return take_weights();
    require_vocabulary_of(*saved);
    model->load(*saved, name());
    trend = trend_of(saved->state()).value_or(loss_trend{});
  }
  pinned_feed open_feed() {
    pinned_feed made;
    if (s.random_data())
      made.of = std::make_unique<random_feed>(s.batch, s.seed, model->facts().random_shape());
    else if (s.producers.empty()) made.of = open_data(*folder, saved_place(), own_part());
    else made.of = open_produced(*folder, saved_place(), wishes(), model->facts().shape, find_producers());
    made.pinned = model->pin(made->memory().data(), made->memory().size());
    return made;
  }

  // Reads one batch and every tensor of the checkpoint; whatever is wrong throws.
  int check() {
    probe_files();
    prepare();
    const auto source = open_feed();
    source->next();
    std::printf("data        %s\n", source->describe().c_str());
    if (folder && folder->skips().count() > 0)
      std::printf("skipped     %s\n", folder->skips().summary().c_str());
    if (folder && folder->skips().resampled() > 0)
      std::printf("resampled   %s\n", folder->skips().resampled_summary().c_str());
    if (test)
      std::printf(
          "held out    %td pictures%s\n", test->size(),
          test->classes().size() > 0 ? sentence({" of ", test->classes().size(), " classes"}).c_str() : "");
    std::printf("model       %s, %td parameters\n", name().c_str(), model->facts().parameters);
    if (saved) std::printf("checkpoint  %s, step %td\n", saved->path().c_str(), model->updates());
    const loss_course course = tell_trend();
    if (course == loss_course::ruined) return exit_refused.status;
    std::printf(course == loss_course::rises ? "all else is well\n" : "all is well\n");
    return 0;
  }

 private:
  // Samples wait for each other in an order of places that are known ahead.
  void require_order() const {
    const char* const with = s.random_data() ? " with --data random, whose samples are all alike"
                             : s.rows > 0    ? " with --rows, where samples wait for room already"
                                             : nullptr;
    if (with != nullptr) fail(bad_option_value, sentence({"--defer ", s.defer, with, "; leave one out"}));
  }
  // The windows count as many replicas as the most of a module.
  step_windows windows() const {
    step_windows out{.steps = s.defer};
    if (chosen)
      for (const module_plan& each : chosen->value.modules)
        out.together = std::max(out.together, each.on.split().data);
    return out;
  }
  data_wishes wishes() const {
    data_wishes out = s.wishes();
    out.windows = windows();
    return out;
  }
  // Each of several processes reads the pictures that its ranks look at, where that is known before a step.
  // Where damaged samples end a run, they end it everywhere. All ask, also who looks at all of them.
  step_part own_part() const {
    if (s.strict || !folder->has_pieces() || s.pictures == "bytes") return {};
    if (folder->sample_config().sample.shapes.any()) return {};  // they lie one behind the other
    const auto own = model->own_samples();
    if (!model->any(own.has_value())) return {};
    return {own.value_or(std::vector<interval>{{0, s.batch}}),
            [of = model.get()](bool here) { return of->any(here); }};
  }
  // Finds the producers that are named, or starts as many processes of this machine.
  produced_options find_producers() {
    produced_options out;
    out.share = model->own_samples();
    if (const auto line = std::make_shared<share_line>(); model->tells_own_samples(line)) {
      out.line = line;
      out.choose = [of = model.get()](const step_input& next) { of->choose(next); };
    }
    isize count = 0;
    const char* const end = s.producers.data() + s.producers.size();
    if (const auto [stop, failed] = std::from_chars(s.producers.data(), end, count);
        failed == std::errc{} && stop == end) {
      if (count < 1 || count > most_threads)
        fail(bad_option_value, sentence({"--producers ", s.producers, ", wanted 1 to ", most_threads}));
      out.token = fresh_token();
      producers = std::make_unique<local_producers>(
          local_producers_options{count,
                                  {"/proc/self/exe", "--produce", "--child", "--data", s.data, "--threads",
                                   std::to_string(s.loader_threads)},
                                  out.token});
      out.from = producers->addresses();
      return out;
    }
    const environment of = read_environment();
    if (const auto token = of.find("MOTET_TOKEN"); token != of.end()) out.token = token->second;
    out.from = read_producer_addresses(s.producers);
    return out;
  }
  // Ranks load together, so a rank that goes on from something else is to be known before. The index has the
  // checksums of all that a checkpoint holds.
  void require_same_checkpoint() {
    run_identity same;
    const auto content = [](const checkpoint& of) {
      return sentence(
          {"step ", of.step(), ", checksum ", checksum(mapped_file(of.path() / "index.json").bytes())});
    };
    same.add("checkpoint gone on from", saved ? content(*saved) : "none");
    for (std::size_t i = 0; i < sources.size(); ++i)
      same.add(sentence({"weights begun with, ", i + 1}), content(sources[i]));
    model->require_same(same);
  }
  void require_vocabulary_of(const checkpoint& from) const {
    const json* then = folder ? from.kept("vocabulary") : nullptr;
    if (then != nullptr && then->unsigned_integer() != folder->vocabulary_fingerprint())
      fail(vocabulary_mismatch, (folder->folder() / "tokenizer.json").string() +
                                    " differs from the vocabulary that " + from.path().string() +
                                    " was trained with");
  }
  // A module that is named may read no words; of a whole run some module does.
  void take_weights() {
    std::vector<std::string> taken;
    for (std::size_t i = 0; i < begin.size(); ++i) {
      const checkpoint& from = sources[i];
      if (begin[i].module.empty()) require_vocabulary_of(from);
      std::string told;
      for (const given_module& each : model->begin(from, {.module = begin[i].module, .as = begin[i].as})) {
        if (std::find(taken.begin(), taken.end(), each.name) != taken.end())
          fail(bad_option_value, "--begin " + s.begin + " gives weights of " + each.name +
                                     " twice; name the modules to take of each run, MODULE=RUN");
        taken.push_back(each.name);
        told += (told.empty() ? "" : ", ") + each.name + (each.as == each.name ? "" : " as " + each.as);
      }
      begun.push_back(sentence({told, " of ", from.path().string(), ", step ", from.step()}));
    }
  }
  // A checkpoint may be whole and its weights ruined all the same; an older one tells nothing.
  loss_course tell_trend() const {
    if (!saved || trend.steps == 0) return loss_course::falls;
    std::printf("loss        %.4f, mean %.4f; gradient norm %.3g, mean %.3g\n", trend.loss, trend.mean_loss,
                trend.norm, trend.mean_norm);
    const auto kept = trends_of(saved->path().parent_path());
    const kept_checkpoint* const best = best_of(kept);
    const loss_course course = course_of(trend, best);
    if (course == loss_course::falls) return course;
    std::string instead;
    if (best != nullptr && best->step != saved->step())
      instead = sentence({"; the best one kept is step ", best->step, ", with a mean loss of ",
                          std::to_string(best->trend.mean_loss)});
    std::printf("%s%s\n", course == loss_course::rises ? "the loss rises" : "this checkpoint looks ruined",
                instead.c_str());
    return course;
  }
  const json* saved_place() const {
    const json* place = saved ? saved->kept("data") : nullptr;
    return place != nullptr && place->is_object() ? place : nullptr;
  }
};

}  // namespace motet
