// SPDX-License-Identifier: Apache-2.0

// Shows what a pipeline schedule costs: reads or writes one, checks it, simulates it, draws it, and runs it
// in real time with waits for computations.
#include "schedule_explorer/beside.hpp"
#include "schedule_explorer/settings.hpp"
#include "schedule_explorer/summary.hpp"

#include <motet/backend/transport/local/local.hpp>
#include <motet/format/files/atomic_file.hpp>
#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/csv/csv_read.hpp>
#include <motet/schedule/csv/csv_write.hpp>
#include <motet/schedule/draw/draw_svg.hpp>
#include <motet/schedule/draw/draw_text.hpp>
#include <motet/schedule/draw/draw_trace.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/long_work.hpp>

namespace motet::explorer {
namespace {

void put(const settings& given, const std::string& text) {
  if (!given.output.empty()) {
    atomic_file file(given.output);
    file.write(text);
    return file.commit();
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail(file_unwritable, "standard output");
}

// Files, and pipes as well.
std::string read_all(const std::string& path) {
  constexpr std::size_t most = std::size_t{1} << 30;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  std::string out, part(std::size_t{1} << 16, '\0');
  while (file && out.size() <= most) {
    const std::size_t got = std::fread(part.data(), 1, part.size(), file.get());
    out.append(part, 0, got);
    if (got < part.size()) break;
  }
  if (!file || std::ferror(file.get()) != 0) fail(file_unreadable, path + ": " + std::strerror(errno));
  if (out.size() > most) fail(file_unreadable, path + ": more than a gigabyte");
  return out;
}

cost_table costs_of(const program& of, const settings& given) {
  cost_table made = even_costs(of, given.times, given.sync);
  if (!given.added.empty()) put_encoder_costs(made, of, given);
  for (std::size_t v = 0; v < given.towers.size(); ++v)
    for (std::int32_t s = 0; s < of.voices[static_cast<isize>(v)].stages; ++s)
      made.stages[of.voices[static_cast<isize>(v)].first_place + s] = given.towers[v];
  made.overlapped = given.overlap;
  made.wires.inside.latency = given.transfer;
  return made;
}

// A schedule that cannot run is refused with one sentence; the summary says it too.
int illegal(const settings& given, json::object about, const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  about.insert("legal", false);
  about.insert("why", why);
  if (given.format == "summary") put(given, write_json(about) + "\n");
  return exit_refused.status;
}

int explore(settings given) {
  long_work waits("schedule_explorer");
  json::object about;  // what the summary begins with
  program made;
  std::int32_t rows_before = 1;  // in the file, and one more as people count from 1
  waits.at(given.import.empty() ? "writing the schedule " + given.schedule : "reading " + given.import);
  if (given.import.empty()) {
    score order;
    if (const verdict found = write_schedule(given.schedule, given.numbers, order); !found.ok())
      refuse_numbers(given, found);
    about.insert("schedule", given.schedule);
    if (given.multiplexes()) {
      waits.at("multiplexing");
      score whole = multiplexed(order, given);
      about.insert("multiplex", told_multiplexed(order, whole, given,
                                                 [&](const program& of) { return costs_of(of, given); }));
      order = std::move(whole);
    }
    if (given.fills()) {
      waits.at("filling gaps");
      const auto costs = [&](const score& of) { return costs_of(compile(of), given); };
      choose_slices(order, given, costs);
      order = with_encoders(order, given);
      filled_score found;
      if (const verdict broken = fill(order, costs(order), given, found); !broken.ok())
        refuse_numbers(given, broken);
      order = given.share > 0 ? in_lanes(found.order) : found.order;
      about.insert("fill", told(found, given));
    }
    made = compile(order);
  } else {
    const std::string text = read_all(given.import);
    about.insert("schedule", given.import);
    try {
      made = read_csv(text);
    } catch (const error& problem) {
      return illegal(given, about, given.import + ": " + problem.what());
    }
    if (text.starts_with("motet")) rows_before += 1 + static_cast<std::int32_t>(made.voices.size());
  }
  if (given.gaps) {
    const gap_shares& of = given.gaps->of;
    about.insert("gaps", json{{"module", detail::name_of(*given.gaps)},
                              {"forward", of.forward},
                              {"backward", of.input},
                              {"weight", of.weight}});
  }
  about.insert("ranks", made.ranks());
  about.insert("instructions", made.instructions.size());
  waits.at(sentence({"checking ", made.instructions.size(), " instructions on ", made.ranks(), " ranks"}));
  if (const check_result found = check(made); !found.ok()) {
    std::string why = explain(made, found);
    if (!given.import.empty() && found.found.rank >= 0)
      why = given.import + ", row " + std::to_string(found.found.rank + rows_before) + ": " + why;
    return illegal(given, about, why);
  }

  const cost_table costs = costs_of(made, given);
  timeline plan, run;
  waits.at(sentence({"simulating ", made.ranks(), " ranks"}));
  simulate(made, costs, plan);
  double unit = 0;
  if (given.run) {
    waits.at(sentence({"running ", made.ranks(), " ranks as threads"}));
    unit = seconds_of_unit(made, costs, plan.makespan);
    run = stand_in<local::world, local::endpoint>(made, costs, unit, 120).run().when;
  }
  waits.at("writing " + given.format);
  if (given.format == "csv") {
    put(given, write_csv(made));
  } else if (given.format == "text") {
    put(given, draw_text(made, plan));
  } else if (given.format == "svg") {
    put(given, given.run ? draw_overlay_svg(made, plan, run) : draw_svg(made, plan));
  } else if (given.format == "trace") {
    put(given, given.run ? draw_trace_overlay(made, plan, run, {.seconds = unit})
                         : draw_trace(made, plan, {.seconds = 1e-3}));
  } else {
    about.insert("legal", true);
    put_costs(about, made, costs, plan);
    if (given.run) {
      about.insert("measured", run.makespan / unit);
      about.insert("ratio", run.makespan / unit / plan.makespan);
      about.insert("measured_seconds", run.makespan);
    }
    put(given, write_json(about) + "\n");
  }
  return 0;
}

}  // namespace

int run(int count, const char* const* words) {
  try {
    settings given;
    return read_settings(count, words, given) ? explore(given) : 0;
  } catch (const std::exception& problem) {
    return report_failure(problem);
  }
}

}  // namespace motet::explorer

int main(int count, char** words) { return motet::explorer::run(count, words); }
