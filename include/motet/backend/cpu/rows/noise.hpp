// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/kernels/normal_draws.hpp>
#include <motet/backend/cpu/kernels/rows/row_kernels.hpp>
#include <motet/nn/core/operations.hpp>

#include <cmath>

namespace motet::cpu {

// Patches of a picture, behind `lead` rows that stay as they are, and as many numbers of a row as are given:
// y = (1 - time) y + time noise, or the way from them to noise, noise - y.
template <class Y>
void mix_noise(context& ctx, const sequences& seq, const noise_draws& draws, isize lead, isize numbers,
               noise_mix how, matrix<Y> y) {
  const auto count = static_cast<double>(seq.rows() * numbers);
  ctx.note("mix_noise", 3 * count, 2 * count * bytes_of<Y>);
  using number = arithmetic<Y>;
  const scratch_scope scope(ctx);
  float* const noise = ctx.scratch.take<float>(numbers);
  if (ctx.measuring()) return;
  const random_stream stream = draws.noise();
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    const isize rows = seq.rows_of(s) - lead;
    const auto time = static_cast<number>(draws.time(s));
    const number keep = how == noise_mix::noised ? 1 - time : number(-1),
                 add = how == noise_mix::noised ? time : number(1);
    for (isize r = 0; r < rows; ++r) {
      const std::uint64_t first = draws.place(s) * static_cast<std::uint64_t>(rows * numbers) +
                                  static_cast<std::uint64_t>(r * numbers);
      normals_kernel<float>::run(stream, first, numbers, 1.0f, noise);
      Y* const row = y.row(seq.begin(s) + lead + r);
      for (isize c = 0; c < numbers; ++c)
        row[c] = static_cast<Y>(keep * static_cast<number>(row[c]) + add * static_cast<number>(noise[c]));
    }
  }
}

// A row for each sample: cosines of its time, then sines, at speeds from 1000 down to a tenth, as in DiT
// (Peebles and Xie, ICCV'23), which counts a thousand steps of time.
template <class Y>
void time_features(context& ctx, const sequences& seq, const noise_draws& draws, matrix<Y> y) {
  ctx.note("time_features", elements_in(y), bytes_in(y));
  if (ctx.measuring()) return;
  const isize half = y.width / 2;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    Y* const row = y.row(s);
    const double time = 1000 * static_cast<double>(draws.time(s));
    for (isize i = 0; i < half; ++i) {
      const double angle = time * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
      row[i] = Y(static_cast<arithmetic<Y>>(std::cos(angle)));
      row[half + i] = Y(static_cast<arithmetic<Y>>(std::sin(angle)));
    }
  }
}

// The class that is told of each picture: its own, or the one behind the last, which says nothing, where it
// has none or forgets it.
inline void told_classes(context& ctx, const sequences& seq, const noise_draws& draws,
                         const std::int32_t* classes, isize count, float forgotten, std::int32_t* told) {
  ctx.note("told_classes", 0, static_cast<double>(2 * seq.samples) * bytes_of<std::int32_t>);
  if (ctx.measuring()) return;
  const interval own = ctx.own_samples(seq);
  for (isize s = own.begin; s < own.end; ++s) {
    const bool has = classes != nullptr && classes[s] >= 0 && !draws.forgets_class(s, forgotten);
    told[s] = has ? classes[s] : static_cast<std::int32_t>(count);
  }
}

}  // namespace motet::cpu
