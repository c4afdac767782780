// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/cpu/attention/rotary_part.hpp>

#include "../../../../laws/context_attention_laws.hpp"

#include <doctest/doctest.h>

namespace motet {
namespace {

template <class T>
laws::deviation error_of(const sequences& whole, isize context, bool balanced, int threads) {
  constexpr isize head_width = 6, width = 3 * head_width;
  auto all = laws::grid<T>(whole.rows(), width, 1).random(1);
  const auto before = all;
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) { rotary(ctx, whole, head_width, 1e4, 1, all.view()); });
  laws::deviation worst;
  for (isize part = 0; part < context; ++part) {
    spread_rows rows({1, 0, context, part, balanced}, whole.samples);
    microbatch_spread is;
    is.context = any_group(static_cast<std::int32_t>(context), static_cast<std::int32_t>(part));
    rows.fill(whole, is);
    auto x = laws::rows_of_part(before, is, part, 2);
    const auto turn = [&](int direction) {
      laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
        ctx.shared = &is;
        rotary_of_part(ctx, head_width, 1e4, direction, x.view());
      });
    };
    turn(1);
    worst.add(laws::distance(x, laws::rows_of_part(all, is, part)), "part " + std::to_string(part));
    turn(-1);
    worst.add(laws::distance(x, laws::rows_of_part(before, is, part)), "part " + std::to_string(part));
    if (const laws::intact gaps = x.gaps_intact(); !gaps) worst.fail(gaps.broken);
  }
  return worst;
}

TEST_CASE("the rows of a part turn by their places in the whole sample, and back") {
  const sequences ragged = laws::ragged_rows(), even{3, 50, nullptr}, none{0, 7, nullptr};
  for (const bool balanced : {false, true})
    for (isize context = 1; context <= 4; ++context)
      for (const sequences& seq : {ragged, even, none})
        for (const int threads : {1, 2}) {
          CHECK(error_of<double>(seq, context, balanced, threads) <= 1e-13);
          CHECK(error_of<float>(seq, context, balanced, threads) <= 1e-6);
        }
}

}  // namespace
}  // namespace motet
