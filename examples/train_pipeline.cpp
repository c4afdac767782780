// SPDX-License-Identifier: Apache-2.0

// Trains the two towers of the quickstart as a pipeline: each tower in stages of its own, every rank a
// thread, by any schedule. Prints what each rank holds, and can draw what was planned above what happened.
#include "train_clip/quick_model.hpp"

#include <motet/format/files/atomic_file.hpp>
#include <motet/front/trainer.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/schedule/draw/draw_svg.hpp>
#include <motet/schedule/draw/draw_trace.hpp>
#include <motet/schedule/simulate/measured_costs.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/tools/feed.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/options.hpp>

#include <cstdio>

namespace motet::train_pipeline {
namespace {

using train_clip::quick_caption, train_clip::quick_picture;
using net = model<
    join<info_nce, module<"picture", vit<quick_picture>>, module<"caption", text_tower<quick_caption>>>>;

struct settings {
  std::string data, schedule = "batch_sync", svg, trace;
  isize picture_stages = 2, caption_stages = 1, microbatches = 8, losses = 2, stash = -1, batch = 64,
        steps = 20;
  double rate = 1e-3;
  std::uint64_t seed = 1;
  bool compare = false;
};

options command_line(settings& s) {
  options line("train_pipeline", "trains two towers as a pipeline of threads, by any schedule");
  line.text("--data", s.data, "FOLDER", "shards with tokenizer.json (see make_shapes), or: random");
  line.text("--schedule", s.schedule, "NAME", schedule_names());
  line.count("--picture-stages", s.picture_stages, 1, "devices of the picture tower, which has 4 layers");
  line.count("--caption-stages", s.caption_stages, 1, "devices of the caption tower, which has 2 layers");
  line.count("--microbatches", s.microbatches, 1, "of each tower in a step");
  line.count("--losses", s.losses, 1, "in a step; each compares all pairs of its microbatches");
  line.count("--stash", s.stash, -1,
             "batch_sync: microbatches of a loss that are kept, the others run forward twice; -1: all");
  line.count("--batch", s.batch, 1, "pairs in a step");
  line.count("--steps", s.steps, 1, "to train");
  line.real("--lr", s.rate, 0, 1e6, "learning rate");
  line.count("--seed", s.seed, "of weights and order");
  line.text("--svg", s.svg, "FILE", "a picture of the last step, planned above run");
  line.text("--trace", s.trace, "FILE", "the same for Perfetto");
  line.flag("--compare", s.compare,
            "run each step on a single rank too, and print how far apart the losses are");
  return line;
}

// Both towers by one schedule, in stages on ranks of their own, meeting in their losses.
plan write(const settings& s) {
  const int microbatches = static_cast<int>(s.microbatches), losses = static_cast<int>(s.losses);
  if (microbatches % losses != 0)
    fail(*reason::group_does_not_divide,
         "--microbatches " + std::to_string(microbatches) + " for --losses " + std::to_string(losses));
  const auto picture_stages = static_cast<std::int32_t>(s.picture_stages),
             caption_stages = static_cast<std::int32_t>(s.caption_stages);
  plan out;
  out.cluster.ranks = picture_stages + caption_stages;
  // As many chunks on each rank as the schedule is made for.
  const int chunks = write_schedule(s.schedule, {}).voices()[0].chunks;
  out.schedule = label(s.schedule);
  out.modules.push(on_ranks("picture", 0, {.stages = picture_stages}, microbatches));
  out.modules.push(on_ranks("caption", picture_stages, {.stages = caption_stages}, microbatches));
  for (module_plan& each : out.modules) {
    each.chunks = chunks;
    each.group = microbatches / losses;
    if (s.schedule == batch_sync::name) each.stash = static_cast<int>(s.stash);
  }
  return out;
}

void print_plan(const program& of, const std::vector<rank_memory>& needs) {
  for (std::int32_t r = 0; r < of.ranks(); ++r) {
    std::string holds;
    for (const voice& each : of.voices)
      for (std::int32_t stage = 0; stage < each.stages; ++stage)
        if (of.place(each, stage) == r)
          holds += " " + std::string(each.name.view()) + " stage " + std::to_string(stage) + ",";
    const rank_memory& own = needs[static_cast<std::size_t>(r)];
    std::printf("rank %-2d %s %.1f MB: weights and their state %.1f, kept for backward %.1f, the rest %.1f\n",
                r, holds.c_str(), static_cast<double>(own.total()) / 1e6,
                static_cast<double>(own.stages.weights + own.stages.gradients + own.stages.optimizer) / 1e6,
                static_cast<double>(own.stages.slots) / 1e6,
                static_cast<double>(own.stages.boundaries + own.features + own.work + own.scratch) / 1e6);
  }
}

int run(const settings& s) {
  const sample_shape shape{.model = "quick",
                           .image = quick_picture.image,
                           .vocabulary = quick_caption.vocabulary,
                           .context = quick_caption.context};
  std::optional<data_folder> folder;
  std::unique_ptr<feed> source;
  if (s.data == "random") {
    source = std::make_unique<random_feed>(s.batch, s.seed, shape);
  } else {
    folder.emplace(data_wishes{.data = s.data, .batch = s.batch, .seed = s.seed}, shape);
    source = open_data(*folder, nullptr);
  }

  const launched_world here(launched{}, 0, true);  // as many ranks as a plan has, all in this process
  trainer<net> train(here, write(s), {.batch = s.batch, .seed = s.seed});
  print_plan(train.order(), train.memory());
  trainer<net> single(here, {.batch = s.batch, .seed = s.seed});
  // Several losses compare fewer pairs each than one rank's single loss does.
  if (s.compare && s.losses > 1)
    fail(bad_training_option, "--compare needs --losses 1: a single rank compares all pairs of a step");

  list<timeline> runs;
  for (isize step = 0; step < s.steps; ++step) {
    const auto batch = std::get<pair_input>(source->next());
    timeline when;
    const step_result done = train.step(batch, s.rate, &when);
    std::printf("step %-4td loss %.6f  gradient %.4f  %.1f ms", step + 1, done.loss, done.gradient_norm,
                done.seconds * 1e3);
    if (s.compare)
      std::printf("  from a single rank %.1e",
                  std::abs(single.step(batch, s.rate).loss - done.loss) / done.loss);
    std::printf("\n");
    if (step > 0 || s.steps == 1) runs.push(when);
  }
  const program& of = train.order();
  timeline planned;
  simulate(of, measured_costs(of, runs), planned);
  std::printf(
      "simulated with the measured times, a processor for each rank: %.1f ms a step; the last took %.1f ms\n",
      planned.makespan * 1e3, runs.back().makespan * 1e3);
  if (!s.svg.empty())
    write_file(s.svg, draw_overlay_svg(of, planned, runs.back(), {.title = s.schedule, .unit = "s"}));
  if (!s.trace.empty()) write_file(s.trace, draw_trace_overlay(of, planned, runs.back()));
  return 0;
}

}  // namespace
}  // namespace motet::train_pipeline

int main(int count, char** words) {
  motet::train_pipeline::settings s;
  motet::options line = motet::train_pipeline::command_line(s);
  try {
    if (!line.parse(count, words))
      return std::fputs((line.help() + motet::exit_table()).c_str(), stdout) < 0 ? 1 : 0;
    line.require("--data");
    return motet::train_pipeline::run(s);
  } catch (const std::exception& problem) {
    return motet::report_failure(problem);
  }
}
