// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/state/held_runs.hpp>
#include <motet/tensor/random.hpp>
#include <motet/tensor/view.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace motet {

namespace detail {

// Element (r, c) of a square's sine positions: row r stands for position (r / side, r % side); the first half
// of the columns comes from the one, the second from the other.
inline double sine_of(const parameter& of, isize r, isize c) {
  const auto side = static_cast<isize>(std::sqrt(static_cast<double>(of.rows)));
  const isize position = r - (of.rows - side * side), quarter = of.width / 4;
  if (position < 0 || c >= 4 * quarter) return 0;
  const auto along = static_cast<double>(c < 2 * quarter ? position / side : position % side);
  const double angle =
      along * std::pow(10000.0, -static_cast<double>(c % quarter) / static_cast<double>(quarter));
  return (c / quarter) % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

// Elements [element, element + count) of a parameter.
template <class Master>
void start(const parameter& of, const random_stream& draws, isize element, isize count, Master* to) {
  switch (of.start.kind) {
    case fill::zeros: std::fill_n(to, count, Master(0)); break;
    case fill::ones: std::fill_n(to, count, Master(1)); break;
    case fill::constant: std::fill_n(to, count, Master(of.start.scale)); break;
    case fill::sine_grid:
      for (isize i = 0; i < count; ++i) {
        const double value = sine_of(of, (element + i) / of.width, (element + i) % of.width);
        to[i] = static_cast<Master>(value * static_cast<double>(of.start.scale));
      }
      break;
    case fill::normal:
      for (isize i = 0; i < count; ++i)
        to[i] = static_cast<Master>(
            static_cast<float>(draws.normal(static_cast<std::uint64_t>(element + i))) * of.start.scale);
      break;
  }
}

}  // namespace detail

// Fills a flat buffer as the parameters say, of each what is held of it. A value depends on (seed, name,
// element) alone, so that every plan starts with the same numbers. What lies between the parameters becomes
// zero. One thread does it here, one draw after the other.
template <class Master>
void initialise(std::span<const parameter> parameters, std::uint64_t seed, Master* data, isize size) {
  std::fill_n(data, size, Master(0));
  for (const parameter& each : parameters)
    each_run(each, [&, draws = random_stream(seed, each.name)](isize at, isize element, isize count) {
      detail::start(each, draws, element, count, data + at);
    });
}

// Makes the same bits where a context works: by all its threads, or by a GPU. All of a team call it, and see
// the numbers when all have returned.
template <class Context, class Master>
void initialise(Context& ctx, std::span<const parameter> parameters, std::uint64_t seed, Master* data,
                isize size) {
  zero(ctx, data, size);
  std::vector<Master> made;
  for (const parameter& each : parameters) {
    if (each.start.kind == fill::zeros) continue;
    const random_stream draws(seed, each.name);
    if (each.start.kind == fill::normal) {
      for (const parameter_slice& held : each.slices()) {
        const isize columns = held.columns.size();
        draw_normals(ctx, draws, held.rows.begin * each.width + held.columns.begin, each.width,
                     each.start.scale,
                     matrix<Master>{data + held.offset, held.rows.size(), columns, columns});
      }
      continue;
    }
    each_run(each, [&](isize at, isize element, isize count) {
      made.resize(as_size(count));
      detail::start(each, draws, element, count, made.data());
      upload(ctx, static_cast<const Master*>(made.data()), data + at, count);
    });
  }
}

}  // namespace motet
