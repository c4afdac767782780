// SPDX-License-Identifier: Apache-2.0

// Measures what the towers of a model take on this machine, for the planner: a profile as JSON, and the
// machine as a cluster whose formulas were fitted to it; and how two modules slow each other that are
// computed at once.
#include "profile/models.hpp"

#include <motet/backend/cpu/device.hpp>
#include <motet/format/files/atomic_file.hpp>
#include <motet/plan/cost/efficiency_fit.hpp>
#include <motet/plan/files/cluster_json.hpp>
#include <motet/plan/files/profile_json.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/options.hpp>
#include <motet/tools/process/this_machine.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace motet::profile_program {
namespace {

struct settings {
  std::string model = "quick", degrees = "1,2", samples = "8,16,32", precision = "fp32", output, cluster,
              pair;
  isize threads = 0;
  profile_options how;
};

options command_line(settings& s) {
  std::vector<std::string> names;
  for (const measured_model& each : models)
    if (each.at_once != nullptr) names.emplace_back(each.name);
  options line("profile", "measures what the towers of a model take on this machine");
  line.choice("--model", s.model, names, "whose towers");
  line.text("--degrees", s.degrees, "N,N,...",
            "tensor degrees: a layer is cut over so many ranks, and one of them is measured");
  line.text("--samples", s.samples, "N,N,...", "of a microbatch, which the ranks of a tensor group share");
  line.choice("--precision", s.precision, {"fp32", "bf16"}, "of products and what is kept for backward");
  line.count("--repeats", s.how.repeats, 1, "of each part of a point, at least; medians count");
  line.real("--seconds", s.how.seconds, 0, 60, "of each part of a point, at least");
  line.text(
      "--pair", s.pair, "MODULE,MODULE",
      "measure these at once, too, in two lanes of a rank that have 25, 50 and 75 % of its threads, and "
      "how each slows the other");
  line.count("--threads", s.threads, 0, 4096, "of that rank; 0: one for each processor");
  line.text("--output", s.output, "FILE", "the profile as JSON");
  line.text("--cluster", s.cluster, "FILE", "this machine as JSON, its efficiency fitted to the profile");
  return line;
}

template <class Number>
std::vector<Number> numbers_of(const char* option, std::string_view text) {
  std::vector<Number> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    Number value{};
    const auto [stop, problem] = std::from_chars(text.data() + at, text.data() + end, value);
    if (problem != std::errc{} || stop != text.data() + end || value < 1)
      fail(bad_option_value, std::string(option) +
                                 " wants whole numbers from 1 on with commas between them, got \"" +
                                 std::string(text) + "\"");
    out.push_back(value);
    at = end + 1;
  }
  return out;
}

// "eye,talk".
module_names names_of(const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos)
    fail(bad_option_value,
         "--pair wants two names of modules with a comma between them, got \"" + text + "\"");
  return {text.substr(0, comma), text.substr(comma + 1)};
}

// FLOP/s of a block.
double rate_of(const tower_outline& of, const profile_point& at) {
  const part_work work = work_of_part(of, tower_part::block, {.tensor = at.tensor});
  const bool learns = at.block.backward() > 0;
  return at.samples * (work.forward_flops + (learns ? work.backward_flops() : 0)) /
         (at.block.forward + at.block.backward());
}

void print(const machine_profile& found) {
  std::printf("%s\n", found.machine.c_str());
  std::printf("large products %.1f GFLOP/s, copies %.1f GB/s\n\n", found.product_flops / 1e9,
              found.copy_bytes_per_second / 1e9);
  std::printf("milliseconds                     before            block             behind        GFLOP/s\n");
  std::printf("tower    tensor samples   forward backward  forward backward  forward backward  of a block\n");
  for (const module_profile& each : found.modules) {
    for (const profile_point& at : each.points) {
      std::printf("%-9s %5d %7g", std::string(each.of.name.view()).c_str(), at.tensor, at.samples);
      for (const tower_part which : {tower_part::before, tower_part::block, tower_part::behind})
        std::printf(" %8.3f %8.3f", at.of(which).forward * 1e3, at.of(which).backward() * 1e3);
      std::printf(" %9.1f\n", rate_of(each.of, at) / 1e9);
    }
  }
}

void print(const module_pair& found) {
  std::printf("\n%s beside %s, %g samples of each\n", std::string(found.first.view()).c_str(),
              std::string(found.second.view()).c_str(), found.samples);
  std::printf("share  threads  times as long as alone on as many threads\n");
  for (const pair_point& at : found.points)
    std::printf("%4.0f %%  %3d, %-3d %8.3f, %.3f\n", 100 * at.share, at.first_threads, at.second_threads,
                at.first, at.second);
}

// The towers, and how fast the machine is at least.
void measure_towers_of(const measured_model& of, const settings& s, bool half, cluster_facts& machine,
                       machine_profile& found) {
  found.modules = of.measure(s.how, half);
  // The rate of a block is possible, whatever a large product took while others had the processors.
  double& peak = half ? machine.device.half_flops : machine.device.single_flops;
  for (const module_profile& each : found.modules)
    for (const profile_point& at : each.points) peak = std::max(peak, rate_of(each.of, at));
  found.product_flops = peak;
  found.copy_bytes_per_second = machine.inside.bytes_per_second;
  print(found);
}
void fit(const settings& s, cluster_facts& machine, const machine_profile& found) {
  const efficiency_fit fit = fit_efficiency(found, machine.device);
  machine.device = fit.device;
  const efficiency_curve& curve = fit.device.products;
  std::printf("\nfitted: products reach %.0f %% of their peak", 100 * curve.best);
  if (curve.half_rows >= 0.5) std::printf(", half of that with %.0f rows", curve.half_rows);
  if (curve.half_columns >= 0.5) std::printf(", half of that with %.0f columns", curve.half_columns);
  std::printf("; the rest moves %.1f GB/s; blocks within %.0f %%\n", fit.device.bytes_per_second / 1e9,
              100 * fit.error);
  if (s.cluster.empty()) return;
  write_file(s.cluster, format_cluster(machine));
  std::printf("wrote %s\n", s.cluster.c_str());
}

void run(settings s) {
  s.how.degrees = numbers_of<std::int32_t>("--degrees", s.degrees);
  s.how.samples = numbers_of<isize>("--samples", s.samples);
  const bool half = s.precision == "bf16";
  const measured_model& of = *std::find_if(std::begin(models), std::end(models),
                                           [&](const auto& each) { return each.name == s.model; });
  cluster_facts machine = this_machine<cpu::device>();
  machine_profile found;
  found.machine = cpu::device(1).describe();
  found.activation_bytes = half ? 2 : 4;
  measure_towers_of(of, s, half, machine, found);
  if (!s.pair.empty()) {
    pair_options how{.samples = s.how.samples.back(), .repeats = s.how.repeats, .seconds = s.how.seconds};
    how.threads = s.threads > 0 ? static_cast<int>(s.threads) : cpu::device().threads();
    found.pairs.push(of.at_once(names_of(s.pair), how, half));
    print(found.pairs[0]);
  }
  if (!s.output.empty()) {
    write_file(s.output, format_profile(found));
    std::printf("\nwrote %s\n", s.output.c_str());
  }
  fit(s, machine, found);
}

}  // namespace
}  // namespace motet::profile_program

int main(int arguments, char** words) {
  using namespace motet::profile_program;
  settings s;
  motet::options line = command_line(s);
  try {
    if (!line.parse(arguments, words))
      return std::fputs((line.help() + motet::exit_table()).c_str(), stdout) < 0 ? 1 : 0;
    run(s);
  } catch (const std::exception& problem) {
    return motet::report_failure(problem, "profile");
  }
  return 0;
}
