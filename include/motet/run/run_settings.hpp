// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/pictures/pack.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/run/read_paces.hpp>
#include <motet/run/training_program.hpp>
#include <motet/runtime/state/rate.hpp>
#include <motet/tools/process/options.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace motet {

// The settings are what the command line of a training program says.
struct run_settings {
  explicit run_settings(const training_program& of)
      : program(&of), model(of.models.front().name), loss(of.losses.front()) {}

  const training_program* program;
  std::string data, model, device = "cpu", precision = "fp32", loss, checkpoint, metrics, tensorboard,
                           report = "report", schedule = "cosine", plan, pictures = "auto", sm_share = "0",
                           rates_of, optimizer = "adamw", reorder = "none", record, begin, phases, phase,
                           producers, orchestrate, profile, record_gaps, record_times;
  isize batch = 64, steps = 1000, threads = 0, accumulate = 1, save_every = 0, keep = 2, warmup = -1,
        eval_every = 0, validate_every = -1, loader_threads = 1, line_every = 1, ranks = 0, resplit = 0,
        rows = 0, defer = 1, record_step = 0, reorder_groups = 0;
  std::uint64_t seed = 1;
  double rate = 1e-3, weight_decay = 0.1, clip = 1, beta1 = 0.9, beta2 = -1, smallest_crop = 0.6,
         resplit_most = 1.25, conduct_margin = 0.02, ema = 0, layer_rate = 1, momentum = 0.95;
  bool resume = false, explain = false, check = false, strict = false, paced = false, no_report = false,
       no_flip = false, list_plans = false, one_batch = false, recompute = false, keep_outputs = false,
       rooms_by_rows = false, conduct = false;
  isize rank_bytes = 0;
  std::string offload_to;
  std::string command;    // line, as it was given
  std::string effective;  // all of these, as a file for --config

  // What is asked of the order of a step's samples.
  step_questions questions() const {
    const bool both = reorder == "all" || rows_cross();
    return {both || reorder == "ranks", both || reorder == "slots", reorder_groups};
  }
  // Each module has an order of its own, for which the plan's modules are cut apart.
  bool rows_cross() const { return reorder == "modules"; }
  bool reorders() const { return reorder != "none"; }
  std::string reorder_words() const {
    const step_questions asked = questions();
    const std::string who = std::string(rows_cross()
                                            ? "samples of each module go to its ranks that have least to do"
                                            : "samples go to the ranks that have least to do") +
                            (reorder_groups > 0 ? sentence({", within groups of ", reorder_groups, " ranks"})
                                                : ""),
                      when = "microbatches run in the turns in which ranks wait least";
    return asked.ranks && asked.slots ? who + ", " + when : asked.ranks ? who : when;
  }

  const trained_model& trained() const { return find_model(*program, model); }
  bool random_data() const { return data == "random"; }
  // A GPU gets bytes, which it resizes: fewer on the way than floats, and less work for the loader. For the
  // CPU that work is the same wherever it is done, and the loader does it beside the step, once.
  picture_form form() const {
    const bool bytes = pictures == "bytes" || (pictures == "auto" && device == "cuda" && !random_data());
    return bytes ? picture_form::bytes : picture_form::floats;
  }
  // Multiprocessors: one number for all ranks, or one for each.
  std::vector<int> shares() const {
    std::vector<int> out;
    for (const char *at = sm_share.data(), *const end = at + sm_share.size();; ++at) {
      int one = -1;
      const auto [stop, failed] = std::from_chars(at, end, one);
      if (failed != std::errc{} || one < 0 || (stop != end && *stop != ','))
        fail(bad_option_value,
             "--sm-share wants a whole number, or one for each rank with commas between, got \"" + sm_share +
                 "\"");
      out.push_back(one);
      if (stop == end) return out;
      at = stop;
    }
  }
  std::vector<named_pace> paces() const { return read_paces(rates_of, rates()); }
  double stream_bytes() const { return precision == "fp32" ? 4 : 2; }  // of a number between layers
  double second_beta() const { return beta2 >= 0 ? beta2 : optimizer == "lion" ? 0.99 : 0.98; }
  optimizer_settings moved_by() const {
    const auto kind = std::find(optimizer_names.begin(), optimizer_names.end(), optimizer);
    return {beta1,        second_beta(), 1e-6,
            weight_decay, clip,          static_cast<optimizer_kind>(kind - optimizer_names.begin()),
            momentum};
  }
  data_wishes wishes() const {
    return {data, batch, rows, loader_threads, seed, smallest_crop, !no_flip, strict, form()};
  }
  isize warmup_steps() const { return warmup >= 0 ? warmup : std::min<isize>(100, steps / 10); }
  // Steps between losses of held-out samples; 0: never. They cost about a fiftieth of a run.
  isize validation_steps() const {
    return validate_every >= 0 ? validate_every : std::max<isize>(10, steps / 20);
  }
  rate_schedule rates() const {
    return {read_rate_kind(schedule).value_or(rate_kind::cosine), rate, warmup_steps(), steps, 0.0};
  }
  session_request request() const {
    session_request out;
    out.loss = loss;
    out.precision = precision;
    out.threads = static_cast<int>(threads);
    out.options.batch = batch;
    out.options.parts = accumulate;
    out.options.seed = seed;
    out.options.optimizer = moved_by();
    out.options.ema = ema;
    out.options.layer_rate = layer_rate;
    out.options.paces = paces();
    out.options.recompute = recompute;
    out.options.keep_outputs = keep_outputs;
    if (resplit > 0) out.options.resplit = {.every = resplit, .most = resplit_most};
    out.options.rooms = {.by_rows = rooms_by_rows, .most = rank_bytes};
    out.options.offload_folder = offload_to;
    out.options.conduct = conduct;
    out.conduct_margin = conduct_margin;
    out.options.ahead = device == "cuda" && !one_batch;
    out.options.fp8 = precision == "fp8";
    out.options.processors = shares();
    return out;
  }
};

// More than any machine has processors; each has a stack.
inline constexpr isize most_threads = 4096, most_window = 4096;

// Its options; what is parsed goes into the settings.
inline options command_line(run_settings& s) {
  const training_program& of = *s.program;
  options line(of.name, of.about);
  std::vector<std::string> names;
  for (const trained_model& each : of.models) names.emplace_back(each.name);
  line.text("--data", s.data, "FOLDER", std::string(of.data_help));
  line.choice("--model", s.model, names, std::string(of.models_help));
  line.choice("--device", s.device, {"cpu", "cuda"}, "what trains: the processors, or a GPU");
  line.count("--batch", s.batch, 1, std::string(of.batch_help));
  if (of.speaks)
    line.count(
        "--rows", s.rows, 0,
        "fill a step with samples until they have so many rows of pictures and text, --batch samples at "
        "most; 0: --batch samples, whatever their rows");
  if (of.speaks)
    line.count(
        "--defer", s.defer, 1, most_window,
        "steps in which heavy samples wait for each other, so that fewer steps have one; 1: none waits");
  line.count("--steps", s.steps, 0, "of the whole run, those before --resume included");
  line.choice("--precision", s.precision, {"fp32", "bf16", "fp8"},
              "of products; weights, sums and the optimizer are fp32 always. fp8: linear layers of a GPU, "
              "from sm_89 on");
  if (of.losses.size() > 1)
    line.choice("--loss", s.loss, {of.losses.begin(), of.losses.end()}, std::string(of.losses_help));
  line.real("--lr", s.rate, 0, 1e6, "peak learning rate");
  line.choice("--optimizer", s.optimizer, {"adamw", "lion", "muon"},
              "what moves weights; muon: the matrices of blocks, and adamw the rest");
  line.choice("--schedule", s.schedule, {"cosine", "linear", "constant"},
              "of the learning rate after the warm-up");
  line.count("--warmup", s.warmup, -1,
             "steps with rising learning rate; -1: a tenth of the run, at most 100");
  line.text("--rates", s.rates_of, "MODULE=SHARE[:WORD=VALUE...],...",
            "of the learning rate, of modules that have another one than the rest: eye=0.1. Words: decay, "
            "layer-rate, schedule, warmup, delay");
  line.real("--layer-rate", s.layer_rate, 0, 1e6,
            "learning rate of a block, as a share of that of the block above it");
  line.real("--ema", s.ema, 0, 1,
            "decay of a moving average of the weights, which tests take and checkpoints keep; 0: none");
  line.real("--weight-decay", s.weight_decay, 0, 1e6,
            "of matrices; norms, biases and single numbers have none");
  line.real("--clip", s.clip, 0, 1e30, "largest norm of the gradient; 0: no limit");
  line.real("--beta1", s.beta1, 0, 1, "of AdamW and Lion");
  line.real("--beta2", s.beta2, -1, 1, "of AdamW and Lion; -1: 0.98, of Lion 0.99");
  line.real("--momentum", s.momentum, 0, 1, "of the matrices that Muon moves");
  line.count("--seed", s.seed, "of weights, order and augmentation");
  line.count("--accumulate", s.accumulate, 1,
             "parts of a step's batch, for less memory; the result is the same");
  line.flag("--recompute", s.recompute,
            "keep only the input of each block, and make the rest again: less memory, a third more work, the "
            "same result");
  line.flag("--keep-outputs", s.keep_outputs,
            "keep what norms and activations made, instead of making it again: half as much memory again for "
            "what backward reads, and fewer passes over memory");
  line.flag(
      "--rooms-by-rows", s.rooms_by_rows,
      "memory of what backward reads, and of rows between ranks, grows to the longest step that comes, in "
      "place of the longest there can be");
  line.count(
      "--rank-bytes", s.rank_bytes, 0, isize{1} << 50,
      "with --rooms-by-rows: the bytes that a rank may hold; a step that needs more ends the run; 0: any");
  line.text("--offload-to", s.offload_to, "DIR",
            "with a plan that offloads, on a CPU: what backward needs waits in files without a name in this "
            "folder, on its disk; without it, elsewhere in memory");
  line.flag(
      "--one-batch", s.one_batch,
      "on a GPU, no room for the next batch, which comes when its step begins: less memory, a little slower");
  line.count("--threads", s.threads, 0, most_threads,
             "of each rank on a CPU; 0: all processors, shared by the ranks here");
  line.text("--sm-share", s.sm_share, "N|N,N,...",
            "multiprocessors of the GPU for each rank of a plan; 0: all ranks on all of them");
  line.text("--plan", s.plan, "NAME|FILE.json",
            "how each tower is spread over ranks; without it, one rank on all threads");
  if (of.speaks)
    line.text("--orchestrate", s.orchestrate, "CLUSTER",
              "find the plan of --ranks ranks: for a cluster by name, its file, or this machine, measured: "
              "here");
  line.count("--ranks", s.ranks, 0,
             "of the plan, as threads of this process; mpirun, srun and torchrun bring their own; 0: as many "
             "as the plan has");
  line.count("--resplit", s.resplit, 0,
             "steps after which samples move from a plan's slow replicas to fast ones; 0: never");
  if (of.speaks)
    line.choice("--reorder", s.reorder, {"none", "ranks", "slots", "all", "modules"},
                "samples of a step, so that a plan's ranks wait less; ranks: who gets which, slots: in which "
                "turn microbatches run, all: both, modules: both, and who gets which for each module apart. "
                "The same loss and gradients");
  if (of.speaks)
    line.count(
        "--reorder-groups", s.reorder_groups, 0,
        "ranks, of a node or behind one switch, that give samples to each other alone by --reorder; 0: "
        "all do");
  if (of.speaks)
    line.flag("--conduct", s.conduct,
              "let scores of the plan's cast take turns: each step plays the one that is shortest for its "
              "samples, by simulation with measured times. The same loss and gradients");
  if (of.speaks)
    line.real("--conduct-margin", s.conduct_margin, 0, 1,
              "of the time of the score that plays, by which another must be shorter to take its turn");
  line.real("--resplit-most", s.resplit_most, 1.001, 1e6,
            "samples of such a replica at most, times its even share; memory is planned for that");
  line.flag("--list-plans", s.list_plans, "print the plans that have names, and stop");
  line.text("--checkpoint", s.checkpoint, "FOLDER",
            "where to save; at the end, every --save-every steps and when asked to stop");
  line.count("--save-every", s.save_every, 0, "steps; 0: at the end only");
  line.count("--keep", s.keep, 0, "newest checkpoints to keep, beside the best one; 0: all");
  line.flag("--resume", s.resume,
            "go on from --checkpoint; options that are not given are those of the saved run");
  line.text(
      "--begin", s.begin, "[MODULE=]RUN[:NAME],...",
      "begin with weights of another run: of all modules that it has, or of one, which may have another "
      "name there; the rest is drawn");
  line.text("--phases", s.phases, "FILE.json",
            "several runs, one after the other, each beginning with the weights of the one before; a list of "
            "objects with a name and the options of that phase");
  line.text("--phase", s.phase, "NAME", "this one of --phases alone");
  line.text("--metrics", s.metrics, "FILE", "JSON lines; without it metrics.jsonl in the report's folder");
  line.text("--tensorboard", s.tensorboard, "FOLDER", "the same numbers as TensorBoard reads them");
  line.text("--report", s.report, "FOLDER", "index.html with curves and pictures");
  line.flag("--no-report", s.no_report, "write no report");
  line.text("--record", s.record, "FILE.svg|FILE.json",
            "when each rank did what in one step, planned above run: a picture, or a trace for Perfetto");
  line.text(
      "--record-gaps", s.record_gaps, "FILE.json",
      "a profile that gets the gaps inside operations of the recorded step, beside what it has; without "
      "--record nothing is drawn");
  line.text("--record-times", s.record_times, "FILE.json",
            "a profile that gets what the modules of the plan took in the recorded step and the seven before "
            "it, and their gaps, beside what it has");
  line.count("--record-step", s.record_step, 0, "which step that is; 0: the last one");
  line.count("--eval-every", s.eval_every, 0, "steps between tests by held-out pictures; 0: at the end only");
  line.count(
      "--validate-every", s.validate_every, -1,
      "steps between losses of held-out samples, and looks at the temperature; 0: never, -1: twenty times in "
      "a run, and after ten steps at least");
  line.count("--line-every", s.line_every, 1, "steps between lines");
  line.count("--loader-threads", s.loader_threads, 1, most_threads, "that prepare data beside the step");
  line.text("--producers", s.producers, "N|HOST:PORT,...",
            "who prepares data instead: N processes of this machine that this one starts, or programs that "
            "run elsewhere (produce). The same batches, bit for bit");
  line.real("--smallest-crop", s.smallest_crop, 0.01, 1,
            "share of a picture that a random crop keeps at least");
  line.flag("--no-flip", s.no_flip, "never mirror pictures");
  line.choice("--pictures", s.pictures, {"auto", "floats", "bytes"},
              "resized by the loader, or by what trains; auto: bytes for a GPU. The same pictures");
  line.flag("--strict", s.strict, "damaged data is an error, not skipped");
  line.flag("--explain", s.explain,
            "print what the run will need, on a GPU which way operations take, with a plan who holds what, "
            "and stop");
  line.text(
      "--profile", s.profile, "FILE.json",
      "what the program profile measured, --record-times or --record-gaps: --orchestrate and --explain "
      "take the times of modules and their gaps from it, and --explain slows those that compute at once "
      "by their pair");
  line.flag("--check", s.check,
            "look at plan, data, model and checkpoint, and stop; exit code 0: all is well");
  line.flag("--paced", s.paced, "for benchmarks: one step for each line of standard input");
  return line;
}

// These decide a run's result, as a checkpoint stores them.
inline json saved_settings(const run_settings& s) {
  json out;
  out.set("model", s.model);
  out.set("loss", s.loss);
  out.set("precision", s.precision);
  out.set("batch", s.batch);
  out.set("steps", s.steps);
  out.set("accumulate", s.accumulate);
  out.set("learning_rate", s.rate);
  if (!s.rates_of.empty()) out.set("rates", s.rates_of);
  out.set("schedule", s.schedule);
  out.set("warmup", s.warmup_steps());
  out.set("weight_decay", s.weight_decay);
  out.set("clip", s.clip);
  out.set("beta1", s.beta1);
  out.set("beta2", s.second_beta());
  out.set("optimizer", s.optimizer);
  out.set("momentum", s.momentum);
  out.set("ema", s.ema);
  out.set("layer_rate", s.layer_rate);
  out.set("seed", s.seed);
  out.set("smallest_crop", s.smallest_crop);
  out.set("flip", !s.no_flip);
  if (s.program->speaks) out.set("rows", s.rows);
  if (s.program->speaks) out.set("defer", s.defer);
  if (s.program->speaks) out.set("reorder", s.reorder);
  if (s.program->speaks) out.set("reorder_groups", s.reorder_groups);
  if (s.program->speaks) out.set("conduct", s.conduct);
  if (s.program->speaks) out.set("conduct_margin", s.conduct_margin);
  if (!s.orchestrate.empty()) out.set("orchestrate", s.orchestrate);
  return out;
}

// A resumed run has the saved run's settings, except for what its own command line gives.
inline void adopt_settings(run_settings& s, const options& line, const json& saved) {
  const auto take = [&](const char* option, const char* name, auto& value) {
    if (line.given(option)) return;
    const json* found = saved.find(name);
    if (found == nullptr) return;
    using type = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<type, std::string>) value = found->string();
    else if constexpr (std::is_same_v<type, double>) value = found->number();
    else if constexpr (std::is_same_v<type, isize>) value = found->integer();
    else value = found->unsigned_integer();
  };
  take("--model", "model", s.model);
  if (s.program->losses.size() > 1) take("--loss", "loss", s.loss);
  take("--precision", "precision", s.precision);
  take("--batch", "batch", s.batch);
  take("--steps", "steps", s.steps);
  if (s.program->speaks) take("--rows", "rows", s.rows);
  if (s.program->speaks) take("--defer", "defer", s.defer);
  if (s.program->speaks) take("--reorder", "reorder", s.reorder);
  if (s.program->speaks) take("--reorder-groups", "reorder_groups", s.reorder_groups);
  if (s.program->speaks) take("--conduct-margin", "conduct_margin", s.conduct_margin);
  if (const json* found = saved.find("conduct");
      s.program->speaks && found != nullptr && !line.given("--conduct"))
    s.conduct = found->boolean();
  if (s.program->speaks && s.plan.empty()) take("--orchestrate", "orchestrate", s.orchestrate);
  take("--accumulate", "accumulate", s.accumulate);
  take("--lr", "learning_rate", s.rate);
  take("--rates", "rates", s.rates_of);
  take("--schedule", "schedule", s.schedule);
  take("--warmup", "warmup", s.warmup);
  take("--weight-decay", "weight_decay", s.weight_decay);
  take("--clip", "clip", s.clip);
  take("--beta1", "beta1", s.beta1);
  take("--optimizer", "optimizer", s.optimizer);
  take("--beta2", "beta2", s.beta2);
  take("--momentum", "momentum", s.momentum);
  take("--ema", "ema", s.ema);
  take("--layer-rate", "layer_rate", s.layer_rate);
  take("--smallest-crop", "smallest_crop", s.smallest_crop);
  if (const json* flip = saved.find("flip"); flip != nullptr && !line.given("--no-flip"))
    s.no_flip = !flip->boolean();
  const std::uint64_t given = s.seed;
  if (const json* seed = saved.find("seed")) {
    s.seed = seed->unsigned_integer();
    if (line.given("--seed") && given != s.seed)
      fail(resume_mismatch,
           "--seed " + std::to_string(given) + ", the saved run has seed " + std::to_string(s.seed));
  }
}

}  // namespace motet
