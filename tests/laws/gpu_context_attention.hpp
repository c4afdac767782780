// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "context_attention_laws.hpp"
#include "deviation.hpp"
#include "gpu_members.hpp"

// Attention over rows that several ranks of a GPU have, against a rank of the CPU that has all.

namespace motet::laws {

// run(ctx, problem, qkv, y, lse, dy): forward and backward of one rank's rows; leaves the gradient in qkv.
// Returns the largest distance to a rank that has all; lse is compared where `logs`.
template <class T, class Master, class Run>
deviation gpu_context_attention_error(const attention_problem<T, Master>& p, const spread_of& how, bool logs,
                                      Run&& run) {
  std::mutex mutex;
  deviation worst;
  const std::string thrown = run_gpu_shards(
      how.tensor, how.context, how.balanced, p.whole,
      [&](cuda::engine& on, microbatch_spread& is, const spread_seat&) {
        const isize part = is.context.member(), gap = is.context.size() % 2 == 0 ? 16 : 3;
        const on_gpu<T> qkv(rows_of_part(p.qkv, is, part, gap)), dy(rows_of_part(p.dy, is, part)),
            y(is.part.rows(), p.query(), p.query() + gap);
        const on_gpu<Master> lse(is.part.rows(), p.shape.heads);
        gpu_run_foretold_on(on, is, [&](cuda::context& ctx) {
          run(ctx, p, qkv.all(), y.all(), lse.all(), matrix<const T>(dy.all()));
        });
        const auto qkv_found = qkv.back(), y_found = y.back();
        deviation found = distance(y_found, rows_of_part(p.y, is, part));
        found.add(distance(qkv_found, rows_of_part(p.dqkv, is, part)), "gradients");
        if (logs) found.add(distance(lse.back(), rows_of_part(p.lse, is, part)), "logarithms");
        if (const intact all = all_intact({qkv_found.gaps_intact(), y_found.gaps_intact()}); !all)
          found.fail(all.broken);
        const std::lock_guard lock(mutex);
        worst.add(found, "member " + std::to_string(part));
      });
  if (!thrown.empty()) worst.fail(thrown);
  return worst;
}

}  // namespace motet::laws
