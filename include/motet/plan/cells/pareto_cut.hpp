// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/config.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

namespace motet {

// A cut of layers into stages, as its comparison needs it.
struct cell_candidate {
  isize stages = 0;
  std::array<std::uint8_t, 16> ends{};  // of the stages, in runs of layers
  std::array<std::uint16_t, 16> devices{}, tensor{};
  double imbalance = 0;
  double communication = 0, computation = 0;  // seconds of a step
};

struct pareto_rules {
  std::size_t most = 32;       // candidates that stay
  double insignificant = 0.5;  // of the computation: communication below it counts little
  double much = 10;            // times as even a plan must be to win where communication counts little
};

// An editor would change, insert or leave out so many stages to make one row of "stage of each layer" the
// other.
inline isize edit_distance(const cell_candidate& a, const cell_candidate& b) {
  const auto layers = static_cast<std::size_t>(a.ends[as_size(a.stages) - 1]);
  const auto stage_of = [](const cell_candidate& of, std::size_t layer) {
    std::size_t s = 0;
    while (of.ends[s] <= layer) ++s;
    return s;
  };
  std::array<std::uint8_t, 64> of_a{}, of_b{}, row{};
  for (std::size_t i = 0; i < layers; ++i) {
    of_a[i] = static_cast<std::uint8_t>(stage_of(a, i));
    of_b[i] = static_cast<std::uint8_t>(stage_of(b, i));
  }
  for (std::size_t j = 0; j <= layers; ++j) row[j] = static_cast<std::uint8_t>(j);
  for (std::size_t i = 1; i <= layers; ++i) {
    std::uint8_t before = row[0];
    row[0] = static_cast<std::uint8_t>(i);
    for (std::size_t j = 1; j <= layers; ++j) {
      const std::uint8_t above = row[j];
      const int changed = before + (of_a[i - 1] == of_b[j - 1] ? 0 : 1);
      row[j] = static_cast<std::uint8_t>(std::min({changed, above + 1, row[j - 1] + 1}));
      before = above;
    }
  }
  return row[layers];
}

namespace detail {

inline bool beats(const cell_candidate& a, const cell_candidate& b, const pareto_rules& by) {
  const bool little = b.communication < by.insignificant * b.computation || a.devices != b.devices;
  const bool as_even = little ? a.imbalance * by.much <= b.imbalance : a.imbalance <= b.imbalance;
  return as_even && a.communication <= b.communication &&
         (a.imbalance < b.imbalance || a.communication < b.communication);
}

// Of the two that are most alike the one that sends more goes, until few enough are left.
inline void thin_out(std::vector<cell_candidate>& of, std::size_t most) {
  const std::size_t n = of.size();
  std::vector<std::uint8_t> gone(n, 0);
  std::vector<std::tuple<isize, std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) pairs.emplace_back(edit_distance(of[a], of[b]), a, b);
  std::sort(pairs.begin(), pairs.end());
  std::size_t left = n;
  for (const auto& [distance, a, b] : pairs) {
    if (left <= most) break;
    if (gone[a] != 0 || gone[b] != 0) continue;
    // The most even one of all stays.
    gone[a > 0 && of[a].communication > of[b].communication ? a : b] = 1;
    --left;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (gone[i] == 0) of[kept++] = of[i];
  of.resize(kept);
}

}  // namespace detail

// Leaves candidates that no other one beats in balance and communication at once, the most even first, `most`
// of them at most. So that neighbours are compared in a bounded time, the most even ones alone go into that.
inline void cut_to_pareto(std::vector<cell_candidate>& of, const pareto_rules& by = {}) {
  const auto before = [](const cell_candidate& a, const cell_candidate& b) {
    return std::tie(a.imbalance, a.communication, a.ends) < std::tie(b.imbalance, b.communication, b.ends);
  };
  std::sort(of.begin(), of.end(), before);
  std::vector<cell_candidate> kept;
  for (const cell_candidate& each : of) {
    if (kept.size() == 2 * by.most) break;
    if (std::none_of(kept.begin(), kept.end(),
                     [&](const cell_candidate& other) { return detail::beats(other, each, by); }))
      kept.push_back(each);
  }
  if (kept.size() > by.most) detail::thin_out(kept, by.most);
  of = std::move(kept);
}

}  // namespace motet
