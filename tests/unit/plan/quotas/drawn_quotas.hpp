// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/quotas/quota_question.hpp>

#include <random>

// Modules of drawn sizes on a device like an H100: products whose short sides cost a time of their own, and
// rows that move through memory.
inline motet::quota_question drawn_quotas(std::uint32_t seed, std::size_t modules, bool edges) {
  std::mt19937 draw(seed);
  const auto real = [&](double from, double to) {
    return from + (to - from) * static_cast<double>(draw()) / 4294967296.0;
  };
  motet::quota_question out;
  out.samples = 64;
  out.limits = {.bytes_per_second = 3350e9, .flops_per_second = 692e12};
  out.wires.devices_per_node = 8;
  out.wires.inside = {3.4e-6, 370e9};
  for (std::size_t m = 0; m < modules; ++m) {
    const char name[] = {static_cast<char>('a' + m), 0};
    motet::quota_module made{.name = name};
    const double each = real(5e-6, 60e-6), fixed = real(0.2e-3, 3e-3), moved = real(1e6, 1e8);
    const auto phase = [&](double times) {
      motet::phase_curve half;
      half.classes = {{.lines = {{.fixed = times * fixed, .scaled_each = times * each * 132}}},
                      {.lines = {{.scaled_each = times * moved / 3350e9 * 56, .knee = 56}}}};
      half.bytes_each = times * moved;
      half.flops_each = times * each * 692e12;
      return half;
    };
    made.forward = phase(1), made.backward = phase(2);
    made.sum_bytes = real(1e7, 1e9);
    for (std::size_t before = 0; edges && before < m; ++before)
      if (draw() % 3 == 0) made.after.push_back(static_cast<motet::isize>(before));
    out.modules.push_back(made);
  }
  return out;
}
