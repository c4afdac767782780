// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/list.hpp>

#include <cmath>
#include <vector>

namespace motet {

// Seconds a + b / min(quota, knee), of which a and b are straight lines in a device's samples: more
// multiprocessors than the knee make nothing faster.
struct quota_line {
  double fixed = 0, fixed_each = 0;    // a of no sample, and of each more
  double scaled = 0, scaled_each = 0;  // b likewise, times multiprocessors
  double knee = 0;                     // 0: none

  constexpr double seconds(double samples, double quota) const {
    const double working = knee > 0 && quota > knee ? knee : quota;
    return fixed + fixed_each * samples + (scaled + scaled_each * samples) / working;
  }
};

// Kernels of one class take the longest of several lines: arithmetic, memory, what a launch takes at least.
struct kernel_class {
  list<quota_line> lines;
  constexpr double seconds(double samples, double quota) const {
    double longest = 0;
    for (const quota_line& each : lines)
      if (const double own = each.seconds(samples, quota); own > longest) longest = own;
    return longest;
  }
};

// Kernels of one class as they were measured with some quotas, for some numbers of samples: straight in
// 1/quota and in samples between points. Beyond the points the line of the nearest two goes on, but above the
// largest quota nothing is faster.
struct measured_class {
  std::vector<double> samples, quotas;  // rising
  std::vector<double> points;           // seconds, for each number of samples those of all quotas

  double seconds(double of, double quota) const {
    const auto at = [&](std::size_t row) {
      const double inverse = 1 / std::fmin(quota, quotas.back());
      return between(
          quotas.size(), [&](std::size_t i) { return 1 / quotas[i]; }, inverse,
          [&](std::size_t i) { return points[row * quotas.size() + i]; });
    };
    const double found = between(
        samples.size(), [&](std::size_t i) { return samples[i]; }, of, at);
    return found > 0 ? found : 0;
  }

 private:
  template <class Place, class Value>
  static double between(std::size_t count, Place place, double at, Value value) {
    if (count == 1) return value(0);
    const bool rises = place(1) > place(0);
    std::size_t next = 1;
    while (next + 1 < count && (rises ? place(next) < at : place(next) > at)) ++next;
    const double way = (at - place(next - 1)) / (place(next) - place(next - 1)), first = value(next - 1);
    return first + way * (value(next) - first);
  }
};

// One time of a class.
struct quota_point {
  double quota = 0, seconds = 0;
};

// The line for one number of samples that is nearest to the points: least squares of relative errors, the
// knee being none or one of the points' quotas.
struct quota_fit {
  quota_line line;
  double error = 0;  // mean of |foretold / measured - 1|
};
inline quota_fit fit_quotas(const std::vector<quota_point>& points) {
  quota_fit best;
  double least = -1;
  const auto consider = [&](double knee) {
    // Each point says a/t + b/(q t) = 1.
    double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
    for (const quota_point& each : points) {
      const double q = knee > 0 && each.quota > knee ? knee : each.quota, x = 1 / each.seconds, y = x / q;
      aa += x * x, ab += x * y, bb += y * y, a1 += x, b1 += y;
    }
    const double across = aa * bb - ab * ab;
    double a = across > 1e-12 * aa * bb ? (a1 * bb - b1 * ab) / across : 0;
    // A negative part would foretell negative times elsewhere.
    if (a < 0) a = 0;
    double b = (b1 - a * ab) / bb;
    if (b < 0) b = 0, a = a1 / aa;
    const quota_line line{.fixed = a, .scaled = b, .knee = knee};
    double squares = 0, error = 0;
    for (const quota_point& each : points) {
      const double off = line.seconds(0, each.quota) / each.seconds - 1;
      squares += off * off, error += std::fabs(off);
    }
    if (least >= 0 && squares >= least) return;
    least = squares;
    best = {line, error / static_cast<double>(points.size())};
  };
  consider(0);
  for (const quota_point& each : points) consider(each.quota);
  return best;
}

// Half of a training step of a module, as all its classes one behind the other, on one device that has some
// of its samples.
struct phase_curve {
  std::vector<kernel_class> classes;
  std::vector<measured_class> measured;
  // What a sample moves through memory and computes, by which phases beside each other disturb themselves.
  double bytes_each = 0, flops_each = 0;

  double seconds(double samples, double quota) const {
    double sum = 0;
    for (const kernel_class& each : classes) sum += each.seconds(samples, quota);
    for (const measured_class& each : measured) sum += each.seconds(samples, quota);
    return sum;
  }
};

}  // namespace motet
