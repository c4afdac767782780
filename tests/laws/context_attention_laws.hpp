// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/attention/attention.hpp>

#include <doctest/doctest.h>

#include "cpu_run.hpp"
#include "deviation.hpp"
#include "grid.hpp"
#include "spread_ranks.hpp"

#include <atomic>

// Attention over rows that several ranks have, against a rank that has all.

namespace motet::laws {

// Self-attention of a batch, forward and backward, on one rank.
template <class T, class Master>
struct attention_problem {
  attention_shape shape;
  sequences whole;
  grid<T> qkv, dy, y, dqkv;  // (rows, queries | keys | values), (rows, queries)
  grid<Master> lse;

  attention_problem(const attention_shape& of, const sequences& batch, double size = 1)
      : shape(of), whole(batch) {
    const isize rows = whole.rows();
    qkv = grid<T>(rows, width()).random(1, size);
    dy = grid<T>(rows, query()).random(2);
    y = grid<T>(rows, query());
    lse = grid<Master>(rows, shape.heads);
    dqkv = qkv;
    cpu_run_foretold(1, [&](cpu::context& ctx) {
      const auto q = queries(dqkv.view()), k = keys(dqkv.view()), v = values(dqkv.view());
      attention_forward(ctx, whole, whole, shape, q, k, v, y.view(), lse.view());
      attention_backward(ctx, whole, whole, shape, q, k, v, y.view(), lse.view(), dy.view(), q, k, v);
    });
  }
  isize query() const { return shape.heads * shape.head_width; }
  isize key() const { return shape.kv_heads * shape.head_width; }
  isize width() const { return query() + 2 * key(); }
  matrix<T> queries(matrix<T> x) const { return x.columns(0, query()); }
  matrix<T> keys(matrix<T> x) const { return x.columns(query(), key()); }
  matrix<T> values(matrix<T> x) const { return x.columns(query() + key(), key()); }
};

// The rows of all samples that a context part has.
template <class T>
grid<T> rows_of_part(const grid<T>& all, const microbatch_spread& is, isize part, isize gap = 0) {
  grid<T> out(is.part.rows(), all.width, gap);
  for (isize s = 0; s < is.part.samples; ++s)
    for (isize r = 0; r < is.part.rows_of(s); ++r)
      for (isize c = 0; c < all.width; ++c)
        out.at(is.part.begin(s) + r, c) =
            all.at(is.whole.begin(s) + is.cut_of(s).position(is.whole.rows_of(s), part, r), c);
  return out;
}

// run(ctx, problem, qkv, y, lse, dy): forward and backward of one rank's rows; leaves the gradient in qkv.
// Returns the largest distance to a rank that has all; lse is compared where `logs`. Everything happens twice
// and must have the same bits.
template <class T, class Master, class Run>
deviation error_on_rank(const attention_problem<T, Master>& p, const microbatch_spread& is, int threads,
                        bool logs, Run&& run) {
  const isize part = is.context.member();
  const auto dy = rows_of_part(p.dy, is, part);
  const auto once = [&](grid<T>& qkv, grid<T>& y, grid<Master>& lse) {
    qkv = rows_of_part(p.qkv, is, part, 2);
    y = grid<T>(is.part.rows(), p.query(), 1);
    lse = grid<Master>(is.part.rows(), p.shape.heads);
    cpu_run_foretold(threads, [&](cpu::context& ctx) {
      ctx.shared = &is;
      run(ctx, p, qkv.view(), y.view(), lse.view(), dy.view());
    });
  };
  grid<T> qkv, y, qkv_again, y_again;
  grid<Master> lse, lse_again;
  once(qkv, y, lse);
  once(qkv_again, y_again, lse_again);
  deviation found = distance(y, rows_of_part(p.y, is, part));
  found.add(distance(qkv, rows_of_part(p.dqkv, is, part)), "gradients");
  if (logs) found.add(distance(lse, rows_of_part(p.lse, is, part)), "logarithms");
  if (std::memcmp(qkv.data.data(), qkv_again.data.data(), qkv.data.size() * sizeof(T)) != 0 ||
      std::memcmp(y.data.data(), y_again.data.data(), y.data.size() * sizeof(T)) != 0)
    found.fail("the second run has other bits");
  if (const intact all = all_intact({qkv.gaps_intact(), y.gaps_intact()}); !all) found.fail(all.broken);
  return found;
}

struct spread_of {
  isize tensor = 1, context = 1;
  bool balanced = false;
  int threads = 1;
  isize long_rows = 0;
};

// The largest over the thread ranks that share the problem.
template <class T, class Master, class Run>
deviation context_attention_error(const attention_problem<T, Master>& p, const spread_of& how, bool logs,
                                  Run&& run) {
  std::mutex mutex;
  deviation worst;
  const std::string thrown = run_shards(
      how.tensor, how.context, how.balanced, p.whole,
      [&](microbatch_spread& is, const spread_seat&) {
        const deviation found = error_on_rank(p, is, how.threads, logs, run);
        const std::lock_guard lock(mutex);
        worst.add(found, "member " + std::to_string(is.context.member()));
      },
      how.long_rows);
  if (!thrown.empty()) worst.fail(thrown);
  return worst;
}

inline sequences ragged_rows() {
  static const std::vector<isize> offsets = {0, 5, 5, 6, 43, 45, 45, 80};
  return {static_cast<isize>(offsets.size()) - 1, 1, offsets.data()};
}

// Heads that divide and that do not, fewer than ranks, grouped evenly and not.
inline std::vector<attention_shape> attention_shapes() {
  std::vector<attention_shape> out;
  for (const mask_kind mask : {mask_kind::full, mask_kind::causal})
    for (const auto& [heads, kv_heads] :
         std::vector<std::pair<isize, isize>>{{4, 4}, {3, 3}, {1, 1}, {6, 2}, {4, 1}, {5, 5}})
      out.push_back({heads, kv_heads, heads == 3 ? 5 : 8, mask, heads == 4 ? 0.4 : 0.0});
  return out;
}

// A drawn problem: any heads, grouped in any way, of any width; samples of any length, also of none; on one
// to four ranks.
struct drawn_attention {
  attention_shape shape;
  std::vector<isize> offsets{0};
  spread_of how;

  explicit drawn_attention(std::uint64_t seed) {
    const random_stream draw(seed, "attention");
    auto below = [&, i = std::uint64_t{0}](isize count) mutable {
      return static_cast<isize>(draw.word(i++) % static_cast<std::uint64_t>(count));
    };
    shape.kv_heads = 1 + below(4);
    shape.heads = shape.kv_heads * (1 + below(3));
    shape.head_width = 1 + below(20);
    shape.mask = below(2) == 0 ? mask_kind::full : mask_kind::causal;
    for (isize s = below(7); s > 0; --s)
      offsets.push_back(offsets.back() + (below(4) == 0 ? 0 : below(s == 1 ? 150 : 30)));
    how = {1, 1 + below(4), below(2) == 0, static_cast<int>(1 + below(2))};
  }
  sequences whole() const { return {static_cast<isize>(offsets.size()) - 1, 1, offsets.data()}; }
};

// Every way to compute attention of rows that are cut keeps this; error(problem, how) is its largest error.
// All shapes and numbers of ranks are tried, in both cuts or in that which suits the mask.
template <class T, class Master, class Error>
void check_context_shapes(const sequences& whole, isize most_ranks, bool both_cuts, double tolerance,
                          Error&& error) {
  for (const attention_shape& shape : attention_shapes()) {
    const attention_problem<T, Master> p(shape, whole);
    for (isize context = 1; context <= most_ranks; ++context)
      for (const bool balanced : {false, true}) {
        if (!both_cuts && balanced != (shape.mask == mask_kind::causal)) continue;
        CAPTURE(context);
        CAPTURE(balanced);
        CAPTURE(shape.heads);
        CAPTURE(shape.kv_heads);
        CHECK(error(p, {1, context, balanced, 1}) <= tolerance);
      }
  }
}
template <class Error>
void check_context_bf16(Error&& error) {
  CHECK(error(attention_problem<bf16, float>({6, 2, 8, mask_kind::causal, 0}, {3, 17, nullptr}),
              {1, 4, true, 1}) <= 0.02);
}
// Problems are drawn, with samples `shorter` times as short; of some, samples stay whole where that is known.
template <class Error>
void check_context_drawn(std::uint64_t seeds, isize shorter, Error&& error, bool whole_known = false) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    drawn_attention drawn(seed);
    for (isize& each : drawn.offsets) each = (each + shorter - 1) / shorter;
    if (whole_known) drawn.how.long_rows = static_cast<isize>(seed % 3) * 15;
    CHECK(error(attention_problem<double, double>(drawn.shape, drawn.whole()), drawn.how) <= 1e-12);
  }
}
// Corners are tensor parallelism beside it, so many threads, and nothing to do.
template <class Error>
void check_context_corners(isize heads, int threads, Error&& error) {
  const attention_shape shape{heads, heads, 8, mask_kind::causal, 0}, no_heads{0, 0, 8, mask_kind::full, 0};
  const auto found = [&](const attention_shape& of, const sequences& whole, const spread_of& how) {
    return error(attention_problem<double, double>(of, whole), how);
  };
  CHECK(found(shape, {4, 11, nullptr}, {2, 2, true, 1}) <= 1e-12);
  CHECK(found(shape, {4, 11, nullptr}, {1, 2, false, threads}) <= 1e-12);
  CHECK(found(shape, {0, 11, nullptr}, {1, 3, false, 1}) == 0);
  CHECK(found(shape, {2, 1, nullptr}, {1, 3, true, threads > 1 ? 2 : 1}) <= 1e-12);
  CHECK(found(no_heads, {4, 11, nullptr}, {1, 2, false, 1}) == 0);
}

}  // namespace motet::laws
