// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace motet::reorder {

struct packing {
  double most_rows = 0;  // of a microbatch
  double uneven = 1;     // picture work of the microbatch with most of it, over the mean
  std::vector<std::string> left_over;
};

inline void check_rows(const settings& given, const step& of) {
  const isize parts = given.replicas * given.microbatches;
  if (of.times.samples < parts)
    fail(bad_option_value,
         sentence({"--headers ", given.headers, " has ", of.times.samples, " samples, wanted at least the ",
                   parts, " microbatches of all replicas, so that --rows leaves none empty"}));
  for (isize k = 0; k < of.sizes.rows.size(); ++k)
    if (of.sizes.rows[k] > static_cast<double>(given.rows))
      fail(bad_option_value,
           sentence({"--rows wants at least the ", static_cast<isize>(std::ceil(of.sizes.rows[k])),
                     " rows of sample ", of.names[as_size(k)][0], ", got ", given.rows,
                     ": it would be left over for ever"}));
}

// Samples share microbatches of at most so many rows; each of these goes on as one.
inline step pack(const settings& given, const step& of, packing& told) {
  check_rows(given, of);
  const auto parts = static_cast<std::int32_t>(given.replicas * given.microbatches);
  const filled_microbatches made = fill_microbatches(of.sizes, parts, static_cast<double>(given.rows));
  step out{
      {of.times.stages, parts, times_of(of.times, made.microbatches).forward, of.times.backward}, {}, {}};
  for (const list<std::int32_t>& each : made.microbatches) {
    out.names.emplace_back();
    for (const std::int32_t k : each) out.names.back().push_back(of.names[as_size(k)][0]);
  }
  for (const std::int32_t k : made.left_over) told.left_over.push_back(of.names[as_size(k)][0]);
  const list<double> rows = loads_of(made.microbatches, of.sizes.rows),
                     pictures = loads_of(made.microbatches, of.sizes.pictures);
  told.most_rows = *std::max_element(rows.begin(), rows.end());
  const double sum = std::accumulate(pictures.begin(), pictures.end(), 0.0);
  if (sum > 0) told.uneven = *std::max_element(pictures.begin(), pictures.end()) * parts / sum;
  return out;
}

}  // namespace motet::reorder
