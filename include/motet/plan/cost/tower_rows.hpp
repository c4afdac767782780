// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/tower_work.hpp>
#include <motet/plan/order/row_costs.hpp>

namespace motet {

// A rank does so much in a second, and each round of messages takes so long besides.
struct row_rates {
  double flops = 1e11;
  double bytes = 1e10;
  double round = 5e-6;
};

// What the rows of a tower's samples cost one of `parts` ranks that cut them, in seconds: its work for two
// lengths tells rows from pairs, and its exchanges what samples that are cut cost besides. A number of a row
// has `number` bytes.
// Asks for: a tower that check() accepts, and one part at least.
// Memory: some numbers.
// Errors: none of its own.
// Example:
//   row_costs costs_of_eye(const tower_outline& eye) { return row_costs_of(eye, 8, {4e14, 4e11, 1e-5}, 2); }
constexpr row_costs row_costs_of(tower_outline of, std::int32_t parts, const row_rates& by, double number) {
  const isize tokens = of.tokens;
  const auto flops = [&](isize times) {
    of.tokens = times * tokens;
    const part_work all = work_of_layers(of, 0, of.layers);
    return all.forward_flops + all.backward_flops();
  };
  // What is not for rows, such as a projection of features, is the same whole and cut.
  const double one = flops(1), two = flops(2), three = flops(3), n = static_cast<double>(tokens);
  row_costs out;
  out.pair = (three - 2 * two + one) / (2 * n * n) / by.flops;
  out.row = (two - one) / n / by.flops - 3 * n * out.pair;
  of.tokens = tokens;
  const part_work cut = work_of_layers(of, 0, of.layers, {.context = parts});
  const double own = 1 - 1.0 / parts;  // a part stays where it is
  out.exchanged = (cut.context_numbers + cut.backward_context_numbers) / n * number * own / by.bytes;
  // Rounds of a block: two ways of an exchange for heads, or as many as there are others in a ring.
  const double rounds = of.ring ? parts - 1 : 2;
  out.round = parts > 1 ? rounds * static_cast<double>(of.layers) * (of.frozen ? 1 : 2) * by.round : 0;
  return out;
}

}  // namespace motet
