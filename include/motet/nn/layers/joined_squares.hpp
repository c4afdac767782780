// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/nn/core/layer.hpp>
#include <motet/nn/core/rules.hpp>

namespace motet {

constexpr verdict check_squares(isize side, isize by) {
  if (by > 0 && side % by == 0) return {};
  return {reason::squares_do_not_divide, 0, by, side};
}

// Joins the rows of each square of By x By neighbours in a grid of Side x Side to one wide row (pixel shuffle
// turned around, as InternVL has it before its projector): By^2 times fewer rows, By^2 times as wide. A wide
// row has the rows of its square from left to right, from top to bottom. Lead rows before the grid, such as
// that of a class token, are left out.
// Asks for: samples of Lead + Side^2 rows each, and By that divides Side.
// Memory: nothing.
// Errors: MT-N04, MT-N26
// Example:
//   using joined = joined_squares<128, 8, 1, 2>;
//   static_assert(joined::out == 512 && joined::rows_before == 65 && joined::rows_behind == 16);
template <isize Width, isize Side, isize Lead, isize By>
struct joined_squares {
  static_assert(Width > 0 && Side > 0 && Lead >= 0, "motet: sizes of a net must be positive [MT-N04]");
  static_assert(require<check_squares(Side, By)>);
  static constexpr isize in = Width, out = By * By * Width, parameter_size = 0;
  static constexpr isize rows_before = Lead + Side * Side, rows_behind = Side * Side / (By * By);
  static void parameters(parameter_list&) {}

  template <class N>
  struct saved {};
  template <class N, class C>
  static void reserve(C&, const sequences&, saved<N>&) {}

  // `seq` tells the rows of x, and of dx.
  template <class C, class N, class X, class Y>
  static void forward(C& ctx, weights<N>, const sequences& seq, view<X, in> x, view<Y, out> y, saved<N>&) {
    const sequences samples{seq.samples, 1, nullptr};
    each_place([&](isize before, isize behind, isize column) {
      copy(ctx, samples, everywhere(x, samples, before, rows_before, 0),
           everywhere(y, samples, behind, rows_behind, column));
    });
  }
  template <class C, class N, class X, class DY, class DX>
  static void backward_input(C& ctx, weights<N>, const sequences& seq, view<X, in>, view<DY, out> dy,
                             view<DX, in> dx, saved<N>&) {
    const sequences samples{seq.samples, 1, nullptr};
    for (isize row = 0; row < Lead; ++row) zero(ctx, samples, everywhere(dx, samples, row, rows_before, 0));
    each_place([&](isize before, isize behind, isize column) {
      copy(ctx, samples, everywhere(dy, samples, behind, rows_behind, column),
           everywhere(dx, samples, before, rows_before, 0));
    });
  }

 private:
  // at(row of a sample of x, row of a sample of y, the first column there) for each row of the grid.
  template <class At>
  static void each_place(At&& at) {
    constexpr isize squares = Side / By;
    for (isize down = 0; down < Side; ++down)
      for (isize right = 0; right < Side; ++right)
        at(Lead + down * Side + right, down / By * squares + right / By,
           (down % By * By + right % By) * Width);
  }
  // Of all samples one row, and Width of its columns.
  template <class T, isize Wide>
  static matrix<T> everywhere(view<T, Wide> of, const sequences& samples, isize row, isize rows,
                              isize column) {
    return {of.data + row * of.stride + column, samples.samples, Width, rows * of.stride};
  }
};

}  // namespace motet
