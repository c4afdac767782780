// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <motet/format/files/atomic_file.hpp>
#include <motet/jobs/files/columns.hpp>
#include <motet/plan/order/fill_microbatches.hpp>
#include <motet/plan/order/step_order.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace motet::reorder {

// The samples of a step; with --rows its microbatches, each with the names of all samples that it is packed
// of.
struct step {
  sample_times times;
  std::vector<std::vector<std::string>> names;
  sample_sizes sizes;  // rows as they are counted, and seconds of pictures
};

// Columns of costs, each by the names that it may have.
inline constexpr std::string_view encoders[] = {"encoder", "pictures", "images"};
inline constexpr std::string_view languages[] = {"language", "rows", "tokens"};

inline step read_headers(const settings& given) {
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
    out.sizes.rows.push(cost(words, 1));
    out.sizes.pictures.push(costs[0].back() + costs[2].back());
    out.names.push_back({rows.text(sample).empty() ? std::to_string(out.names.size()) : rows.text(sample)});
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
  return out;
}

inline void check_even(const settings& given, const step& of) {
  const isize parts = given.replicas * given.microbatches * given.defer, samples = of.times.samples;
  const isize fewer = samples / parts * parts;
  if (samples == 0 || samples != fewer)
    fail(bad_option_value,
         sentence({"--headers ", given.headers, " has ", samples, " samples, wanted a multiple of the ",
                   parts, " microbatches of all replicas", given.defer > 1 ? " in all steps: " : ": ",
                   fewer > 0 ? sentence({fewer, " or "}) : "", fewer + parts}));
}

}  // namespace motet::reorder
