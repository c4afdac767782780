// SPDX-License-Identifier: Apache-2.0

// Finds an order of a step's samples from what they cost: who gets which, which share a microbatch, and in
// which turn they run, with the times of the order, of orders by chance, and of none that can be less.
#include "reorder/settings.hpp"

#include <motet/format/files/atomic_file.hpp>
#include <motet/format/text/json.hpp>
#include <motet/jobs/files/columns.hpp>
#include <motet/plan/order/step_order.hpp>
#include <motet/tools/exit_code.hpp>

#include <exception>
#include <new>

namespace motet::reorder {
namespace {

struct step {
  sample_times times;
  std::vector<std::string> names;
};

// Columns of costs, each by the names that it may have.
constexpr std::string_view encoders[] = {"encoder", "pictures", "images"};
constexpr std::string_view languages[] = {"language", "rows", "tokens"};

step read_headers(const settings& given) {
  const std::string text = read_text(given.headers);
  std::vector<std::string_view> also{"sample", "generator"};
  for (const auto& names : {encoders, languages}) also.insert(also.end(), names, names + 3);
  named_columns rows(text, given.headers, {}, also);
  constexpr std::size_t sample = 0, generator = 1, encoder = 2, language = 5;
  const auto which = [&](std::size_t first) {
    std::size_t found = first;
    for (std::size_t k = 0; k < 3; ++k)
      if (rows.has(first + k)) found = first + k;
    return found;
  };
  const std::size_t eye = which(encoder), words = which(language);
  const auto cost = [&](std::size_t column, double where_none) {
    return rows.has(column) ? rows.real(column, 0, 1e15, "a cost of 0 or more") : where_none;
  };
  step out;
  std::vector<double> costs[3];
  while (rows.next()) {
    costs[0].push_back(given.encoder * cost(eye, 0));
    costs[1].push_back(given.language * cost(words, 1));
    costs[2].push_back(given.generator * cost(generator, 0));
    out.names.push_back(rows.text(sample).empty() ? std::to_string(out.names.size()) : rows.text(sample));
  }
  // Stages between the encoder's and the generator's are the language model's; what has no stage of its own
  // is on the nearest.
  const bool draws = rows.has(generator), sees = rows.has(eye);
  const auto all = static_cast<std::int32_t>(given.stages * given.chunks);
  const std::int32_t first = sees && all > 1 ? 1 : 0, last = draws && all - first > 1 ? all - 1 : all;
  sample_times& times = out.times;
  times.stages = all;
  times.samples = static_cast<std::int32_t>(out.names.size());
  for (std::int32_t s = 0; s < all; ++s) {
    times.backward.push(given.backward);
    for (std::size_t k = 0; k < out.names.size(); ++k) {
      double own = s >= first && s < last ? costs[1][k] / (last - first) : 0;
      if (s == 0) own += costs[0][k];
      if (s == all - 1) own += costs[2][k];
      times.forward.push(own);
    }
  }
  const isize parts = given.replicas * given.microbatches, samples = times.samples;
  if (samples == 0 || samples % parts != 0)
    fail(bad_option_value,
         sentence({"--headers ", given.headers, " has ", samples, " samples, wanted a multiple of the ",
                   parts, " microbatches of all replicas: ", std::max<isize>(1, samples / parts) * parts,
                   " or ", (samples / parts + 1) * parts}));
  return out;
}

json answer(const settings& given, const step& of, const step_order& chosen, double random, double listed,
            double seconds, double bound) {
  json replicas{json::array{}}, out;
  for (const hands& own : chosen) {
    json one{json::array{}};
    for (const list<std::int32_t>& each : own) {
      json samples{json::array{}};
      for (const std::int32_t k : each) samples.push_back(of.names[as_size(k)]);
      one.push_back(std::move(samples));
    }
    replicas.push_back(std::move(one));
  }
  out.set("samples", of.times.samples);
  out.set("stages", given.stages);
  out.set("chunks", given.chunks);
  out.set("replicas", given.replicas);
  out.set("microbatches", given.microbatches);
  out.set("order", given.order);
  out.set("listed", listed);
  out.set("random", random);
  out.set("chosen", seconds);
  out.set("bound", bound);
  out.set("orders", std::move(replicas));
  return out;
}

std::string told(const settings& given, const step& of, const step_order& chosen, double random,
                 double listed, double seconds, double bound) {
  char numbers[256];
  std::snprintf(numbers, sizeof numbers, "%.6g s; by chance %.6g s, as listed %.6g s, at least %.6g s\n",
                seconds, random, listed, bound);
  std::string out = sentence({of.times.samples, " samples, ", given.replicas, " replicas of ", given.stages,
                              " stages, ", given.microbatches, " microbatches: "}) +
                    numbers;
  for (isize r = 0; r < chosen.size(); ++r) {
    out += "replica " + std::to_string(r) + ":";
    for (const list<std::int32_t>& each : chosen[r]) {
      std::string samples;
      for (const std::int32_t k : each) samples += (samples.empty() ? " " : "+") + of.names[as_size(k)];
      out += samples;
    }
    out += "\n";
  }
  return out;
}

std::string text_for(const settings& given) {
  const step of = read_headers(given);
  const step_shape shape{static_cast<std::int32_t>(given.replicas),
                         static_cast<std::int32_t>(given.microbatches),
                         static_cast<std::int32_t>(given.chunks)};
  const auto judge = [&](const microbatch_times& times, const microbatch_order& order) {
    return shape.chunks > 1 ? interleaved_seconds(times, shape.chunks, order)
                            : one_f_one_b_seconds(times, order);
  };
  const step_order chosen =
      given.order == "none" ? order_as_listed(in_turn(of.times.samples), shape)
                            : order_step(of.times, shape, judge,
                                         {.tries = static_cast<std::int32_t>(given.tries),
                                          .seed = static_cast<std::uint64_t>(given.seed)},
                                         {.ranks = given.order != "slots", .slots = given.order != "ranks"});
  double random = 0;
  for (isize k = 0; k < given.draws; ++k)
    random +=
        seconds_of_step(of.times,
                        order_by_chance(of.times.samples, shape, static_cast<std::uint64_t>(given.seed + k)),
                        judge) /
        static_cast<double>(given.draws);
  const double listed = seconds_of_step(of.times, order_as_listed(in_turn(of.times.samples), shape), judge),
               seconds = seconds_of_step(of.times, chosen, judge),
               bound = least_step_seconds(of.times, shape.replicas);
  if (given.emit == "json")
    return write_json(answer(given, of, chosen, random, listed, seconds, bound), 2) + "\n";
  return told(given, of, chosen, random, listed, seconds, bound);
}

int run(int count, const char* const* words) {
  try {
    settings given;
    if (!read_settings(count, words, given)) return 0;
    const std::string text = text_for(given);
    if (!given.output.empty()) write_file(given.output, text);
    else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      fail(file_unwritable, "standard output");
    return 0;
  } catch (const std::exception& problem) {
    return report_failure(problem, "reorder");
  }
}

}  // namespace
}  // namespace motet::reorder

int main(int count, char** words) { return motet::reorder::run(count, words); }
