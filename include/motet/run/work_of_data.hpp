// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/run/run_settings.hpp>
#include <motet/run/session.hpp>
#include <motet/tools/feed.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace motet {

// What the ranks of a plan compute and exchange in a step, and of which samples.
struct counted_work {
  program_work of;
  std::string words;
};

// Samples may be as long as their places in a batch allow, and most are shorter: where a run has data, the
// mean of its first steps counts.
// Asks for: a session that need not be prepared.
// Memory: the loader's queue of steps, given back.
// Errors: none of its own.
// Example:
//   #include <motet/run/session.hpp>
//   double forward_flops(session& model, const run_settings& s) {
//     return work_of_data(model, s).of.places[0].forward;
//   }
inline counted_work work_of_data(session& model, const run_settings& s) {
  constexpr isize steps = 4;
  constexpr double long_enough = 2;  // seconds
  if (s.data.empty())
    return {model.work(), "samples as long as any can be; --data counts those that there are"};
  if (s.random_data()) {
    random_feed made(s.batch, s.seed, model.facts().random_shape());
    return {model.work(made.next()), made.describe()};
  }
  const data_folder folder(s.wishes(), model.facts().shape);
  const std::unique_ptr<feed> from = open_data(folder, nullptr);
  const auto began = std::chrono::steady_clock::now();
  program_work sum;
  isize taken = 0;
  double seconds = 0;
  for (; taken < steps && seconds < long_enough; ++taken) {
    const program_work next = model.work(from->next());
    if (taken == 0) sum = next;
    else sum.add(next);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  sum.scale(1 / static_cast<double>(taken));
  return {std::move(sum),
          sentence({"the mean of the first ", taken, taken == 1 ? " step" : " steps", " of ", s.data})};
}

}  // namespace motet
