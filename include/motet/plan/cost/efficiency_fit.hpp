// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/cost/profile.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace motet {

// A device whose formulas come nearest to what was measured on it.
struct efficiency_fit {
  device_facts device;
  double error = 0;  // usual ratio of foretold and measured times, less one
};

namespace detail {

// Levenberg and Marquardt's least squares for a few unknowns: residuals(x) gives numbers that should be zero.
template <std::size_t N, class Residuals>
std::array<double, N> least_squares(std::array<double, N> x, Residuals&& residuals, int steps = 60) {
  using point = std::array<double, N>;
  const auto sum = [](const list<double>& r) {
    double s = 0;
    for (const double each : r) s += each * each;
    return s;
  };
  list<double> now = residuals(x);
  double cost = sum(now), damping = 1e-2;
  for (int step = 0; step < steps && damping < 1e12; ++step) {
    // (J^T J + damping) d = -J^T r
    std::array<list<double>, N> slopes;
    for (std::size_t k = 0; k < N; ++k) {
      constexpr double nudge = 1e-6;
      point moved = x;
      moved[k] += nudge;
      slopes[k] = residuals(moved);
      for (isize i = 0; i < now.size(); ++i) slopes[k][i] = (slopes[k][i] - now[i]) / nudge;
    }
    std::array<std::array<double, N + 1>, N> rows{};
    for (std::size_t k = 0; k < N; ++k) {
      for (isize i = 0; i < now.size(); ++i) {
        for (std::size_t j = 0; j < N; ++j) rows[k][j] += slopes[k][i] * slopes[j][i];
        rows[k][N] -= slopes[k][i] * now[i];
      }
      rows[k][k] += damping * (rows[k][k] + 1e-9);
    }
    // The matrix is positive, so Gauss needs no pivots.
    for (std::size_t k = 0; k < N; ++k) {
      for (std::size_t below = k + 1; below < N; ++below) {
        const double times = rows[below][k] / rows[k][k];
        for (std::size_t j = k; j <= N; ++j) rows[below][j] -= times * rows[k][j];
      }
    }
    point next = x;
    std::array<double, N> move{};
    for (std::size_t k = N; k-- > 0;) {
      move[k] = rows[k][N];
      for (std::size_t j = k + 1; j < N; ++j) move[k] -= rows[k][j] * move[j];
      move[k] /= rows[k][k];
      next[k] += move[k];
    }
    const list<double> then = residuals(next);
    if (const double better = sum(then); better < cost) {
      const bool settled = cost - better < 1e-15 * cost;
      x = next;
      now = then;
      cost = better;
      damping *= 0.2;
      if (settled) break;
    } else {
      damping *= 5;
    }
  }
  return x;
}

}  // namespace detail

// Fits the efficiency curve of products and the rate of what is bound by memory; peaks and memory of `like`
// stay. Points of several degrees and of several towers tell short sides apart; what the points do not tell
// stays at zero. Where `like` knows the memory's rate, the fitted one is an eighth to eight times of it:
// caches are faster, rows with strides are slower.
inline efficiency_fit fit_efficiency(const machine_profile& from, const device_facts& like) {
  training_bytes bytes;
  bytes.activation = from.activation_bytes;
  // Unknowns are logarithms, so rates and lengths are positive: of the best share, of both half lengths plus
  // one, of the memory's rate.
  using unknowns = std::array<double, 4>;
  const auto device = [&](const unknowns& x) {
    device_facts made = like;
    made.products.best = std::exp(x[0] < 0 ? x[0] : 0);
    made.products.half_rows = std::expm1(x[1] > 0 ? x[1] : 0);
    made.products.half_columns = std::expm1(x[2] > 0 ? x[2] : 0);
    made.bytes_per_second = std::exp(x[3]);
    if (like.bytes_per_second > 0)
      made.bytes_per_second =
          std::clamp(made.bytes_per_second, like.bytes_per_second / 8, like.bytes_per_second * 8);
    return made;
  };
  const auto ratios = [&](const unknowns& x) {
    const device_facts made = device(x);
    list<double> out;
    for (const module_profile& each : from.modules) {
      for (const profile_point& at : each.points) {
        const part_times wanted = at.block, found = times_of_part(each.of, tower_part::block, at.samples,
                                                                  {.tensor = at.tensor}, made, bytes);
        if (wanted.forward > 0) out.push(std::log(found.forward / wanted.forward));
        const double backward = wanted.backward_input + wanted.backward_weight;
        if (backward > 0 && !each.of.frozen)
          out.push(std::log((found.backward_input + found.backward_weight) / backward));
      }
    }
    return out;
  };
  // The fit is faintly drawn to no short sides and to the memory's known rate.
  const auto residuals = [&](const unknowns& x) {
    list<double> out = ratios(x);
    for (const std::size_t k : {std::size_t{1}, std::size_t{2}})
      out.push(1e-5 * x[k] + (x[k] < 0 ? x[k] : 0));
    out.push(x[0] > 0 ? x[0] : 0);
    out.push(1e-5 * (x[3] - std::log(like.bytes_per_second > 0 ? like.bytes_per_second : 1e10)));
    return out;
  };
  efficiency_fit best;
  double least = -1;
  for (const double half : {0.7, 4.0}) {
    for (const double rate : {1e9, 1e11, 1e13}) {
      const unknowns x = detail::least_squares<4>({std::log(0.5), half, half, std::log(rate)}, residuals);
      double sum = 0;
      const list<double> left = ratios(x);
      for (const double each : left) sum += each * each;
      if (least >= 0 && sum >= least) continue;
      least = sum;
      best = {device(x), left.empty() ? 0 : std::expm1(std::sqrt(sum / static_cast<double>(left.size())))};
    }
  }
  return best;
}

}  // namespace motet
