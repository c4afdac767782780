// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gaps.hpp"

#include <motet/schedule/core/costs.hpp>
#include <motet/schedule/write/schedules.hpp>
#include <motet/strategy/rules.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/options.hpp>

#include <optional>

namespace motet::explorer {

// What computes beside the model on its devices: an encoder whose copies lie on all of them, or a generator
// behind the model on the first ones.
enum class beside_kind {
  fills,        // in the gaps; each copy has microbatches of its own
  behind,       // a generator in the gaps
  multiplexed,  // between the model's computations; each copy has a part of every microbatch
};

// These are its times of a microbatch. Each stage that fills is computed in slices; 0: in as many as the gaps
// ask for. One that is multiplexed comes so many forwards ahead of when it is needed.
struct beside_module {
  beside_kind kind = beside_kind::fills;
  int stages = 1;
  double forward = 0, backward = 0;
  int slices = 1, ahead = 0;

  constexpr bool behind() const { return kind == beside_kind::behind; }
  constexpr bool multiplexed() const { return kind == beside_kind::multiplexed; }
  constexpr int copies(int devices) const { return behind() ? 1 : devices / stages; }
  // A copy has this of the step's microbatches, and of each of these a part.
  constexpr int microbatches(int devices, int of_step) const {
    return multiplexed() ? of_step : of_step / copies(devices);
  }
  constexpr int parts(int devices) const { return multiplexed() ? copies(devices) : 1; }
};
inline constexpr int most_slices = 64;

// The command line of schedule_explorer, understood and checked.
struct settings {
  std::string schedule = "1f1b";
  schedule_options numbers;
  std::vector<stage_cost> towers;  // of each tower, where --towers says them
  stage_cost times;                // with gaps where a profile has them
  std::optional<measured_gaps> gaps;
  double sync = 0, transfer = 0, overlap = 0;
  std::string format = "summary", import, output;
  bool run = false;
  std::vector<beside_module> added;  // all fill, or all are multiplexed
  double share = 0;  // of a device, for encoders in a lane of their own; 0: they compute in the gaps
  int room = 0;      // microbatches that a stage of theirs keeps at once; 0: any number

  bool multiplexes() const { return !added.empty() && added[0].multiplexed(); }
  bool fills() const { return !added.empty() && !added[0].multiplexed(); }
};

// Sizes for which tables fit into a few gigabytes.
inline constexpr isize most_explored = isize{1} << 23;

// "P,M,G,tF,tB;P,M,G,tF,tB;..."
inline void read_towers(std::string_view text, settings& to, int stash, int ahead) {
  const std::string all(text);
  const auto wrong = [&](const std::string& what) { refuse("--towers", what, "\"" + all + "\""); };
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    std::string_view left = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    double numbers[5] = {};
    for (int i = 0; i < 5; ++i) {
      const std::size_t comma = left.find(',');
      const std::string_view word = left.substr(0, comma);
      const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), numbers[i]);
      if (word.empty() || failed != std::errc{} || stop != word.data() + word.size() ||
          (i < 4) != (comma != std::string_view::npos))
        wrong("five numbers P,M,G,tF,tB for each tower, with ; between towers");
      left.remove_prefix(std::min(comma, left.size() - 1) + 1);
      if (i < 3 && !(numbers[i] >= 1 && numbers[i] <= most_explored && numbers[i] == std::floor(numbers[i])))
        wrong("whole numbers from 1 for P, M and G");
      if (i >= 3 && !(numbers[i] >= 1e-9 && numbers[i] <= 1e9)) wrong("times from 1e-09 to 1e+09");
    }
    if (numbers[0] * numbers[1] > most_explored)
      wrong("at most " + std::to_string(most_explored) + " pairs of stage and microbatch");
    to.numbers.towers.push({.stages = static_cast<int>(numbers[0]),
                            .microbatches = static_cast<int>(numbers[1]),
                            .group = static_cast<int>(numbers[2]),
                            .stash = stash,
                            .ahead = ahead});
    to.towers.push_back({.forward = numbers[3], .backward_input = numbers[4], .backward_weight = 0});
  }
}

// "STAGES,FORWARD,BACKWARD", and behind these a number that is SLICES or AHEAD.
inline void read_beside(const std::string& text, beside_kind kind, settings& to) {
  const bool multiplexed = kind == beside_kind::multiplexed;
  const char* const flag = multiplexed                   ? "--multiplex"
                           : kind == beside_kind::behind ? "--fill-behind"
                                                         : "--fill";
  const auto wrong = [&](const std::string& what) { refuse(flag, what, "\"" + text + "\""); };
  double numbers[4] = {0, 0, 0, multiplexed ? 0.0 : 1.0};
  std::string_view left = text;
  const bool has_last = std::count(left.begin(), left.end(), ',') == 3;
  for (int i = 0; i < (has_last ? 4 : 3); ++i) {
    const std::size_t comma = left.find(',');
    const std::string_view word = left.substr(0, comma);
    const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), numbers[i]);
    if (word.empty() || failed != std::errc{} || stop != word.data() + word.size() ||
        (i < (has_last ? 3 : 2)) != (comma != std::string_view::npos))
      wrong(multiplexed ? "three numbers STAGES,FORWARD,BACKWARD, and AHEAD if it comes earlier"
                        : "three numbers STAGES,FORWARD,BACKWARD, and SLICES if it is cut");
    left.remove_prefix(std::min(comma, left.size() - 1) + 1);
  }
  const int devices = to.numbers.stages, microbatches = to.numbers.microbatches;
  const double stages = static_cast<double>(devices);
  if (!(numbers[0] >= 1 && numbers[0] <= stages && std::fmod(stages, numbers[0]) == 0))
    wrong("STAGES that divide the " + std::to_string(devices) + " devices");
  if (!(numbers[1] >= 1e-9 && numbers[1] <= 1e9) || !(numbers[2] >= 1e-9 && numbers[2] <= 1e9))
    wrong("times from 1e-09 to 1e+09");
  const double most = multiplexed ? microbatches : most_slices;
  if (!(numbers[3] >= 0 && numbers[3] <= most && std::floor(numbers[3]) == numbers[3]))
    wrong(multiplexed ? "0 to " + std::to_string(microbatches) + " forwards that it comes AHEAD"
                      : "1 to " + std::to_string(most_slices) +
                            " SLICES of a stage, or 0 for as many as gaps ask for");
  const int last = static_cast<int>(numbers[3]);
  to.added.push_back({kind, static_cast<int>(numbers[0]), numbers[1], numbers[2], multiplexed ? 1 : last,
                      multiplexed ? last : 0});
  if (const int copies = to.added.back().copies(devices); !multiplexed && microbatches % copies != 0)
    wrong("as many copies of it as divide the " + std::to_string(microbatches) + " microbatches, not " +
          std::to_string(copies));
}

// Refuses by the sentence that check() has, in the words of the command line.
[[noreturn]] inline void refuse_numbers(const settings& of, const verdict& found) {
  const std::string got = std::to_string(found.got), wanted = std::to_string(found.wanted);
  const std::string by = " for " + of.schedule + " on " + std::to_string(of.numbers.stages) + " stages";
  const std::string tower =
      of.towers.empty() ? "" : " in tower " + std::to_string(found.where + 1) + " of --towers";
  const auto is = [&](broken_rule why) { return found.why == why; };
  if (is(reason::too_few_microbatches)) refuse("--microbatches", "at least " + wanted + by, got);
  if (is(reason::microbatches_do_not_divide)) refuse("--microbatches", "a multiple of " + wanted + by, got);
  if (is(reason::group_does_not_divide))
    refuse("--group", "a divisor of the " + wanted + " microbatches" + tower, got);
  if (is(reason::stash_out_of_range)) refuse("--stash", "0 to the group of " + wanted + tower, got);
  if (is(reason::joins_differ))
    refuse("--towers", "as many groups M / G in each tower as in the first, which has " + wanted,
           got + tower);
  if (is(reason::chunks_are_fixed)) refuse("--chunks", wanted + by, got);
  if (is(reason::too_little_memory))
    refuse(of.room > 0 ? "--room" : "--memory", "at least " + wanted + by, got);
  if (is(reason::no_gaps))
    refuse("--fill", "devices that wait for each other",
           of.schedule + " on " + std::to_string(of.numbers.stages) +
               (of.numbers.stages == 1 ? " stage" : " stages") + ", which keeps all busy; what fills takes " +
               wanted + " % of its step, of which nothing would be hidden");
  if (is(reason::no_stages) && !of.towers.empty())
    refuse("--towers", "1 to " + std::to_string(batch_sync::most_towers) + " towers",
           std::to_string(of.towers.size()));
  enforce(found, of.schedule);
  fail(bad_option_value, of.schedule);
}

// The result is false when --help was asked for and printed.
inline bool read_settings(int count, const char* const* words, settings& to) {
  isize stages = to.numbers.stages, microbatches = to.numbers.microbatches, chunks = 0, group = 0, stash = -1,
        hide = 0, memory = 0;
  std::string towers, profile, module;
  std::vector<std::string> fills, behind, multiplexed;
  isize room = 0;
  const double shortest = 1e-9, longest = 1e9;
  options line("schedule_explorer",
               "what a pipeline schedule costs: time, idle time and memory, before anything is built\n\n"
               "Times are those of one device for one microbatch, in any unit; they are divided evenly over "
               "the chunks of a device.");
  line.text("--schedule", to.schedule, "NAME", "one of " + schedule_names());
  line.count("--stages", stages, 1, "devices in a row");
  line.count("--microbatches", microbatches, 1, "of a step");
  line.count("--chunks", chunks, 1, "virtual stages on each device; 0: as many as the schedule is made for");
  line.count("--group", group, 1, "batch_sync: microbatches for each loss; 0: all");
  line.count(
      "--stash", stash, 0,
      "batch_sync: of a group, those kept from their first forward; the others run forward again. -1: all");
  line.count("--hide", hide, 0,
             "batch_sync: forwards more than needed before each backward, behind which the loss is hidden");
  line.count("--memory", memory, 1,
             "most microbatches that a device may keep; 0: as many as the schedule likes");
  line.real("--forward", to.times.forward, shortest, longest, "time of a forward");
  line.real("--backward", to.times.backward_input, shortest, longest, "time of the input part of a backward");
  line.real("--weight", to.times.backward_weight, 0, longest,
            "time of its weight part; schedules that do not split run both as one");
  line.real("--sync", to.sync, 0, longest, "time of a loss over a group");
  line.real("--transfer", to.transfer, 0, longest,
            "time from the end of a computation until its rows are on another device");
  line.real("--overlap", to.overlap, shortest, longest,
            "time of an overlapped pair; 0: the sum of its parts");
  line.text("--towers", towers, "\"P,M,G,tF,tB;...\"",
            "batch_sync: stages, microbatches, group and times of each tower, tB being the whole backward");
  line.texts(
      "--fill", fills, "STAGES,FORWARD,BACKWARD[,SLICES]",
      "an encoder that feeds the first device: copies of so many stages lie on all devices and compute "
      "in the gaps, with these times of a microbatch through all stages, each stage in so many slices, 0 "
      "for as many as the gaps ask for; may be given for several");
  line.texts("--fill-behind", behind, "STAGES,FORWARD,BACKWARD[,SLICES]",
             "likewise a generator that the last stage feeds and that ends in the loss, on the first so many "
             "devices, "
             "whose gaps lie between forwards and gradients");
  line.texts("--multiplex", multiplexed, "STAGES,FORWARD,BACKWARD[,AHEAD]",
             "an encoder that feeds the first device: copies of so many stages lie on all devices, each with "
             "its part of every microbatch, and compute between the model's computations, by their distance "
             "in the pipeline and not by these times, AHEAD forwards earlier than needed; may be given for "
             "several");
  line.count("--room", room, 1,
             "--fill: microbatches that a stage of an encoder keeps at once; 0: any number");
  line.real("--beside", to.share, 0.01, 0.99,
            "--fill: encoders compute in a lane of their own, with this share of a device while both lanes "
            "are busy; 0: in the gaps");
  line.text(
      "--profile", profile, "FILE.json",
      "a profile with gaps that a run recorded: --forward, --backward and --weight are what computes, and "
      "operations are longer by what was waited in them, where --beside computes on");
  line.text(
      "--module", module, "NAME[:FIELD=N,...]",
      "of the profile's gaps those of this module, under these degrees (tensor, context, experts, zero, "
      "data); without it, its only ones");
  line.choice("--format", to.format, {"summary", "csv", "text", "svg", "trace"}, "what to print");
  line.text("--import", to.import, "FILE",
            "a schedule from a file instead, in the CSV form of torch.distributed.pipelining");
  line.text("--output", to.output, "FILE", "write there instead of standard output");
  line.flag("--run", to.run, "also run it on threads, in real time, with waits for computations");
  if (!line.parse(count, words)) {
    std::fputs((line.help() + exit_table()).c_str(), stdout);
    return false;
  }

  const auto exclude = [&](const char* flag, const char* with) {
    if (line.given(flag) && line.given(with))
      refuse(with, std::string("no ") + flag + " beside it", std::string("both"));
  };
  for (const char* flag : {"--schedule", "--stages", "--microbatches", "--chunks", "--group", "--stash",
                           "--hide", "--memory", "--towers", "--fill", "--fill-behind", "--multiplex"})
    exclude(flag, "--import");
  for (const char* flag : {"--fill", "--fill-behind", "--multiplex"}) exclude(flag, "--towers");
  for (const char* flag : {"--fill", "--fill-behind", "--room", "--beside"}) exclude("--multiplex", flag);
  exclude("--beside", "--run");
  for (const char* flag : {"--stages", "--microbatches", "--chunks", "--group", "--forward", "--backward",
                           "--weight", "--profile"})
    exclude(flag, "--towers");
  if (line.given("--towers") && !line.given("--schedule")) to.schedule = batch_sync::name;
  if (to.schedule == "one_f_one_b") to.schedule = one_f_one_b::name;  // as the type is called

  const struct {
    const char* flag;
    isize value;
  } sizes[] = {{"--stages", stages}, {"--microbatches", microbatches},
               {"--chunks", chunks}, {"--group", group},
               {"--stash", stash},   {"--hide", hide},
               {"--memory", memory}, {"--room", room}};
  for (const auto& [flag, value] : sizes)
    if (value > most_explored)
      refuse(flag, "at most " + std::to_string(most_explored), std::to_string(value));
  const double pairs = static_cast<double>(stages) * static_cast<double>(microbatches) *
                       static_cast<double>(std::max<isize>(chunks, 1));
  if (pairs > static_cast<double>(most_explored))
    refuse("--stages times --microbatches times --chunks", "at most " + std::to_string(most_explored),
           std::to_string(static_cast<isize>(pairs)));

  const auto number = [](isize value) { return static_cast<int>(value); };
  to.numbers.stages = number(stages);
  to.numbers.microbatches = number(microbatches);
  to.numbers.chunks = number(chunks);
  to.numbers.memory = number(memory);
  if (towers.empty()) {
    to.numbers.group = number(group);
    to.numbers.stash = number(stash);
    to.numbers.ahead = number(hide);
  } else {
    read_towers(towers, to, number(stash), number(hide));
  }
  for (const std::string& each : fills) read_beside(each, beside_kind::fills, to);
  for (const std::string& each : behind) read_beside(each, beside_kind::behind, to);
  for (const std::string& each : multiplexed) read_beside(each, beside_kind::multiplexed, to);
  if (room > 0 && to.added.empty()) refuse("--room", "--fill beside it", std::to_string(room));
  if (to.share > 0 && to.added.empty()) refuse("--beside", "--fill beside it", sentence({to.share}));
  to.room = number(room);
  if (!to.added.empty() && to.schedule == batch_sync::name)
    refuse(to.multiplexes()       ? "--multiplex"
           : to.added[0].behind() ? "--fill-behind"
                                  : "--fill",
           "a --schedule without losses over groups", to.schedule);
  if (!is_schedule(to.schedule))
    refuse("--schedule", "one of " + schedule_names(), "\"" + to.schedule + "\"");
  if (const std::string_view unused = option_without_use(to.schedule, to.numbers); !unused.empty())
    refuse(
        "--" + std::string(unused == "ahead" ? "hide" : unused),
        "a --schedule that has it, such as " + std::string(unused == "chunks" ? "interleaved" : "batch_sync"),
        to.schedule);
  if (!module.empty() && profile.empty()) refuse("--module", "--profile beside it", "\"" + module + "\"");
  if (!profile.empty()) {
    to.gaps = choose_gaps(load_profile(profile).gaps, profile, module);
    to.times = with_gaps(to.times, to.gaps->of);
  }
  to.numbers.times =
      whole_times(to.times.forward, to.times.backward_input, to.times.backward_weight, to.transfer);
  return true;
}

}  // namespace motet::explorer
