// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/state/held_runs.hpp>
#include <motet/tensor/random.hpp>
#include <motet/tensor/share.hpp>
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

// Draws elements [own.begin, own.end) of a block, counted row by row as it is held.
template <class Context, class Master>
void draw_elements(Context& ctx, const random_stream& draws, const parameter& of, const parameter_slice& held,
                   interval own, Master* to) {
  const isize columns = held.columns.size();
  for (isize at = own.begin; at < own.end;) {
    const isize row = held.rows.begin + at / columns, column = at % columns, left = own.end - at;
    // What follows itself in the tensor too is one row; else whole rows go together.
    const bool one = columns == of.width || column != 0 || left < columns;
    const isize width = columns == of.width ? left
                        : one               ? std::min(columns - column, left)
                                            : columns,
                rows = one ? 1 : left / columns;
    draw_normals(ctx, draws, row * of.width + held.columns.begin + column, one ? width : of.width,
                 of.start.scale, matrix<Master>{to + at - own.begin, rows, width, width});
    at += rows * width;
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

// Makes the elements of a parameter that lie in `own` of the flat buffer, of which the first has its place at
// `to`, where a context works: by all its threads, or by a GPU, the same bits. What has its place there is
// zero before. All of a team call it.
template <class Context, class Master>
void initialise(Context& ctx, const parameter& of, std::uint64_t seed, interval own, Master* to) {
  if (of.start.kind == fill::zeros || intersection(own, {of.offset, of.offset + of.held()}).size() <= 0)
    return;
  const random_stream draws(seed, of.name);
  if (of.start.kind == fill::normal) {
    for (const parameter_slice& held : of.slices())
      if (const interval both = intersection(own, {held.offset, held.offset + held.size()}); both.size() > 0)
        detail::draw_elements(ctx, draws, of, held, {both.begin - held.offset, both.end - held.offset},
                              to + both.begin - own.begin);
    return;
  }
  std::vector<Master> made;
  each_run(of, [&](isize at, isize element, isize count) {
    const interval both = intersection(own, {at, at + count});
    if (both.size() <= 0) return;
    made.resize(as_size(both.size()));
    detail::start(of, draws, element + both.begin - at, both.size(), made.data());
    upload(ctx, static_cast<const Master*>(made.data()), to + both.begin - own.begin, both.size());
  });
}

// Fills a flat buffer in the same way. All of a team see the numbers when all have returned.
template <class Context, class Master>
void initialise(Context& ctx, std::span<const parameter> parameters, std::uint64_t seed, Master* data,
                isize size) {
  zero(ctx, data, size);
  for (const parameter& each : parameters) initialise(ctx, each, seed, {0, size}, data);
}

}  // namespace motet
