// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/rotary_part.hpp>

#include <doctest/doctest.h>

#include "cuda_run.hpp"

#include <motet/backend/cpu/attention/rotary.hpp>

#include "context_attention_laws.hpp"

namespace motet {
namespace {

template <class T>
laws::deviation error_of(const sequences& whole, isize context, bool balanced) {
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
    laws::on_gpu<T> x(laws::rows_of_part(before, is, part, 2));
    const auto turn = [&](int direction) {
      laws::gpu_run_foretold([&](motet::cuda::context& ctx) {
        ctx.shared = &is;
        rotary_of_part(ctx, head_width, 1e4, direction, x.all());
      });
    };
    turn(1);
    worst.add(laws::distance(x.back(), laws::rows_of_part(all, is, part)), "part " + std::to_string(part));
    turn(-1);
    worst.add(laws::distance(x.back(), laws::rows_of_part(before, is, part)), "part " + std::to_string(part));
    if (const laws::intact gaps = x.untouched(); !gaps) worst.fail(gaps.broken);
  }
  return worst;
}

TEST_CASE("the rows of a part turn by their places in the whole sample, and back") {
  const sequences ragged = laws::ragged_rows(), even{3, 50, nullptr}, none{0, 7, nullptr};
  for (const bool balanced : {false, true})
    for (isize context = 1; context <= 3; ++context)
      for (const sequences& seq : {ragged, even, none}) {
        CHECK(error_of<double>(seq, context, balanced) <= 1e-13);
        CHECK(error_of<float>(seq, context, balanced) <= 1e-6);
      }
}

}  // namespace
}  // namespace motet
