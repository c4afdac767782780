// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/run/run_settings.hpp>
#include <motet/tools/feed.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

namespace motet {

// So many producers keep up with steps of `step` seconds, where one thread prepares a step in `prepares` and
// a producer has `threads` of them.
inline isize producers_needed(double prepares, double step, isize threads) {
  if (step <= 0 || threads < 1) return 1;
  return std::max<isize>(1, static_cast<isize>(std::ceil(prepares / static_cast<double>(threads) / step)));
}

// Seconds that one thread of this machine takes to read, decode and resize a step's samples: the mean of some
// of the data's first steps, when nothing waits in the loader's queue any more.
inline double measure_preparing(const run_settings& s, const sample_shape& shape) {
  constexpr isize queued = 4, steps = 4;
  constexpr double long_enough = 2;
  data_wishes wishes = s.wishes();
  wishes.threads = 1;
  const data_folder folder(wishes, shape);
  const std::unique_ptr<feed> from = open_data(folder, nullptr);
  for (isize k = 0; k < queued; ++k) from->next();
  const auto began = std::chrono::steady_clock::now();
  double seconds = 0;
  isize taken = 0;
  while (taken < steps && seconds < long_enough) {
    from->next();
    ++taken;
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  return seconds / static_cast<double>(taken);
}

// "producers 3 keep up (--producers 3): ...".
inline std::string words_on_producers(double prepares, double step, isize threads) {
  const isize needed = producers_needed(prepares, step, threads);
  char text[256];
  std::snprintf(
      text, sizeof text,
      "producers %td %s up with the steps (--producers %td): one thread of this machine prepares the "
      "samples of a step in %.2f ms, a producer has %td of them, and a step takes %.2f ms by "
      "forecast",
      needed, needed == 1 ? "keeps" : "keep", needed, prepares * 1e3, threads, step * 1e3);
  return text;
}

}  // namespace motet
