// SPDX-License-Identifier: Apache-2.0
#include "../../../../laws/cpu_run.hpp"
#include "../../../../laws/each_kernel.hpp"

#include <doctest/doctest.h>

#include <motet/backend/cpu/attention/attention.hpp>
#include <motet/tensor/random.hpp>

#include <cmath>
#include <numeric>
#include <vector>

namespace motet {
namespace {

struct problem {
  attention_shape shape;
  std::vector<isize> queries, keys;  // rows of each sample
};

std::vector<isize> offsets_of(const std::vector<isize>& rows) {
  std::vector<isize> offsets{0};
  for (const isize n : rows) offsets.push_back(offsets.back() + n);
  return offsets;
}

template <class T>
T stored(double x) {
  if constexpr (std::is_same_v<T, bf16>) {
    return bf16(static_cast<float>(x));
  } else {
    return static_cast<T>(x);
  }
}

// Everything as double, as the definition says, with the matrix of scores written out.
struct answer {
  std::vector<double> y, lse, dq, dk, dv;
};

answer by_definition(const problem& p, const std::vector<double>& q, const std::vector<double>& k,
                     const std::vector<double>& v, const std::vector<double>& dy) {
  const auto [heads, kv_heads, d, mask, given] = p.shape;
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(d));
  const isize q_width = heads * d, kv_width = kv_heads * d;
  answer out;
  out.y.assign(q.size(), 0);
  out.dq.assign(q.size(), 0);
  out.dk.assign(k.size(), 0);
  out.dv.assign(v.size(), 0);
  out.lse.assign(q.size() / static_cast<std::size_t>(d), 0);
  const auto q_at = offsets_of(p.queries), k_at = offsets_of(p.keys);
  const auto at = [](isize i) { return static_cast<std::size_t>(i); };
  for (std::size_t s = 0; s < p.keys.size(); ++s)
    for (isize h = 0; h < heads; ++h) {
      const isize nq = p.queries[s], nk = p.keys[s], g = h / (heads / kv_heads);
      for (isize i = 0; i < nq; ++i) {
        const isize seen = mask == mask_kind::full ? nk : std::clamp<isize>(i + nk - nq + 1, 0, nk);
        if (seen == 0) continue;
        const isize qi = (q_at[s] + i) * q_width + h * d;
        std::vector<double> score(at(seen)), dp(at(seen));
        double peak = -1e300, sum = 0, delta = 0;
        for (isize j = 0; j < seen; ++j) {
          const isize kj = (k_at[s] + j) * kv_width + g * d;
          for (isize c = 0; c < d; ++c) score[at(j)] += scale * q[at(qi + c)] * k[at(kj + c)];
          peak = std::max(peak, score[at(j)]);
        }
        for (const double x : score) sum += std::exp(x - peak);
        out.lse[at((q_at[s] + i) * heads + h)] = peak + std::log(sum);
        for (isize j = 0; j < seen; ++j) {
          const isize kj = (k_at[s] + j) * kv_width + g * d;
          const double weight = std::exp(score[at(j)] - peak) / sum;
          for (isize c = 0; c < d; ++c) {
            out.y[at(qi + c)] += weight * v[at(kj + c)];
            out.dv[at(kj + c)] += weight * dy[at(qi + c)];
            dp[at(j)] += dy[at(qi + c)] * v[at(kj + c)];
          }
          delta += weight * dp[at(j)];
          score[at(j)] = weight;
        }
        for (isize j = 0; j < seen; ++j) {
          const isize kj = (k_at[s] + j) * kv_width + g * d;
          const double ds = score[at(j)] * (dp[at(j)] - delta) * scale;
          for (isize c = 0; c < d; ++c) {
            out.dq[at(qi + c)] += ds * k[at(kj + c)];
            out.dk[at(kj + c)] += ds * q[at(qi + c)];
          }
        }
      }
    }
  return out;
}

// Runs the operation on one fused (rows, queries | keys | values) buffer where q and kv have the same rows,
// else on three; gradients go over q, k, v.
template <class T, class Master>
struct trial {
  problem p;
  std::vector<T> q, k, v, y, dy;
  std::vector<Master> lse;
  isize q_width, kv_width, stride;
  bool fused;

  trial(problem given, double size = 1) : p(std::move(given)) {
    const isize q_rows = std::accumulate(p.queries.begin(), p.queries.end(), isize{0}),
                k_rows = std::accumulate(p.keys.begin(), p.keys.end(), isize{0});
    q_width = p.shape.heads * p.shape.head_width;
    kv_width = p.shape.kv_heads * p.shape.head_width;
    fused = p.queries == p.keys;
    stride = q_width + 2 * kv_width;
    const auto draw = [&](std::vector<T>& to, isize count, const char* name) {
      const random_stream numbers(7, name);
      for (isize i = 0; i < count; ++i)
        to.push_back(stored<T>(size * numbers.normal(static_cast<std::uint64_t>(i))));
    };
    draw(q, q_rows * q_width, "q");
    draw(k, k_rows * kv_width, "k");
    draw(v, k_rows * kv_width, "v");
    draw(dy, q_rows * q_width, "dy");
    y.resize(q.size());
    lse.resize(static_cast<std::size_t>(q_rows * p.shape.heads));
  }
  static std::vector<double> wide(const std::vector<T>& x) { return {x.begin(), x.end()}; }
  answer expected() const { return by_definition(p, wide(q), wide(k), wide(v), wide(dy)); }

  cpu::profile run(int threads) {
    const auto q_offsets = offsets_of(p.queries), k_offsets = offsets_of(p.keys);
    const auto samples = static_cast<isize>(p.keys.size());
    const sequences q_seq{samples, 1, q_offsets.data()}, kv_seq{samples, 1, k_offsets.data()};
    const isize q_rows = q_seq.rows(), k_rows = kv_seq.rows();
    std::vector<T> packed(static_cast<std::size_t>(q_rows * stride));
    matrix<T> mq{q.data(), q_rows, q_width, q_width}, mk{k.data(), k_rows, kv_width, kv_width},
        mv{v.data(), k_rows, kv_width, kv_width};
    const matrix<T> from[] = {mq, mk, mv};
    if (fused) {
      const matrix<T> all{packed.data(), q_rows, stride, stride};
      mq = all.columns(0, q_width), mk = all.columns(q_width, kv_width),
      mv = all.columns(q_width + kv_width, kv_width);
      move(from[0], mq), move(from[1], mk), move(from[2], mv);
    }
    const matrix<T> my{y.data(), q_rows, q_width, q_width}, mdy{dy.data(), q_rows, q_width, q_width};
    const matrix<Master> ml{lse.data(), q_rows, p.shape.heads, p.shape.heads};
    const auto noted = laws::cpu_run_foretold(threads, [&](cpu::context& ctx) {
      attention_forward(ctx, q_seq, kv_seq, p.shape, mq, mk, mv, my, ml);
      attention_backward(ctx, q_seq, kv_seq, p.shape, mq, mk, mv, my, ml, mdy, mq, mk, mv);
    });
    if (fused) move(mq, from[0]), move(mk, from[1]), move(mv, from[2]);
    return noted;
  }
  static void move(matrix<T> a, matrix<T> b) {
    for (isize r = 0; r < a.rows; ++r) std::copy_n(a.row(r), a.width, b.row(r));
  }
};

template <class T>
double distance(const std::vector<T>& got, const std::vector<double>& wanted) {
  REQUIRE(got.size() == wanted.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - wanted[i]) / (1 + std::abs(wanted[i]));
    if (!(error <= worst)) worst = error;  // a NaN is kept
    if (std::isnan(error)) return error;
  }
  return worst;
}

template <class T, class Master>
void compare(const problem& p, double tolerance, int threads = 1, double size = 1) {
  trial<T, Master> t(p, size);
  const answer wanted = t.expected();
  t.run(threads);
  CHECK(distance(t.y, wanted.y) <= tolerance);
  CHECK(distance(t.lse, wanted.lse) <= (std::is_same_v<T, double> ? tolerance : 1e-5));
  CHECK(distance(t.q, wanted.dq) <= tolerance);
  CHECK(distance(t.k, wanted.dk) <= tolerance);
  CHECK(distance(t.v, wanted.dv) <= tolerance);
}

const auto full = mask_kind::full, causal = mask_kind::causal;

const std::vector<problem> problems{
    {{3, 3, 64, full, 0}, {65, 65}, {65, 65}},
    {{2, 2, 16, causal, 0}, {1, 17, 0, 48, 49, 33}, {1, 17, 0, 48, 49, 33}},  // ragged, with an empty sample
    // three query heads share a key head
    {{6, 2, 32, full, 0}, {5, 31, 16}, {5, 31, 16}},
    // all share one; a scale that was given
    {{4, 1, 8, causal, 0.3}, {20, 3}, {20, 3}},
    // nothing is a multiple of anything
    {{25, 25, 5, full, 0}, {19, 2, 7}, {19, 2, 7}},
    // a pooled query each; one has nothing to see
    {{1, 1, 80, full, 0}, {1, 1, 1}, {9, 0, 130}},
    // causal, aligned at the end, more keys than queries
    {{2, 1, 24, causal, 0}, {4, 9, 3}, {7, 9, 0}},
    // fewer keys than queries: the first queries see none
    {{2, 2, 16, causal, 0}, {9, 70}, {4, 60}},
    {{1, 1, 128, full, 0}, {30}, {257}},
};

}  // namespace

TEST_CASE("attention is what its definition says, forward and backward, in double") {
  for (const auto& p : problems) compare<double, double>(p, 1e-11);
}

TEST_CASE("attention in float and bf16 is as near as these numbers allow, with each kernel") {
  laws::with_each_kernel([] {
    for (const auto& p : problems) {
      compare<float, float>(p, 2e-5);
      compare<bf16, float>(p, 3e-2);
    }
  });
}

TEST_CASE("long sequences run over many tiles of queries and of keys") {
  compare<float, float>({{1, 1, 16, full, 0}, {700}, {700}}, 3e-5);
  compare<float, float>({{1, 1, 8, causal, 0}, {1100, 40}, {1100, 40}}, 3e-5, 2);
  compare<double, double>({{2, 1, 5, causal, 0}, {600}, {530}}, 1e-11);
}

TEST_CASE("scores far apart stay finite and right") {
  compare<double, double>({{2, 2, 16, full, 0}, {40}, {40}}, 1e-10, 1, 30);  // scores of some thousands
  compare<float, float>({{2, 2, 16, causal, 4}, {600}, {600}}, 1e-3, 1, 3);
}

TEST_CASE("the gradient agrees with finite differences") {
  const problem p{{4, 2, 3, causal, 0}, {3, 6}, {5, 6}};
  trial<double, double> t(p);
  const auto q = t.q, k = t.k, v = t.v;
  // sum of y * dy
  const auto value = [&](const std::vector<double>& q1, const std::vector<double>& k1,
                         const std::vector<double>& v1) {
    trial<double, double> u(p);
    u.q = q1, u.k = k1, u.v = v1;
    u.run(1);
    return std::inner_product(u.y.begin(), u.y.end(), u.dy.begin(), 0.0);
  };
  t.run(1);
  const double step = 1e-5;
  const auto check = [&](const std::vector<double>& at, const std::vector<double>& gradient, auto&& with) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      auto up = at, down = at;
      up[i] += step, down[i] -= step;
      const double slope = (with(up) - with(down)) / (2 * step);
      CHECK(std::abs(slope - gradient[i]) < 1e-8 * (1 + std::abs(slope)));
    }
  };
  check(q, t.q, [&](const auto& x) { return value(x, k, v); });
  check(k, t.k, [&](const auto& x) { return value(q, x, v); });
  check(v, t.v, [&](const auto& x) { return value(q, k, x); });
}

TEST_CASE("the number of threads changes nothing") {
  for (const auto& p : problems) {
    trial<float, float> one(p);
    one.run(1);
    for (const int threads : {2, 3}) {
      trial<float, float> some(p);
      some.run(threads);
      CHECK(some.y == one.y);
      CHECK(some.q == one.q);
      CHECK(some.k == one.k);
      CHECK(some.v == one.v);
    }
  }
}

TEST_CASE("a dry run notes the FLOPs of the whole matrix of scores") {
  trial<float, float> t({{3, 3, 8, causal, 0}, {4, 6}, {4, 6}});
  CHECK(t.run(1).flops() == (4 + 10) * 3 * 8 * (4 * 4 + 6 * 6));
}

}  // namespace motet
