// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/core/shape.hpp>

namespace motet {

// A compiler is asked to play through so many (stage, microbatch) pairs: clang stops at 1,048,576 steps, of
// which the densest scores take 280 a pair. A larger score is checked when the program starts, by the same
// function.
inline constexpr isize constexpr_cells = 3072;

namespace detail {

struct proof {
  verdict found;
  bool played = false;  // by the compiler
};

// What is played is a parameter: clang 16 evaluates what a variable within a function starts with, even where
// nobody asks for a constant, and would write the score once more for that.
constexpr proof play(const score& written) {
  if (written.cells() > constexpr_cells) return {};
  return {prove(written), true};
}

template <class Schedule, auto Shape>
constexpr proof prove_schedule() {
  if (const verdict found = Schedule::check(Shape); !found.ok()) return {found, false};
  // A shape counts two chunks for a device that does not say.
  if (Shape.cells() > 2 * constexpr_cells) return {};
  // A schedule that searches does more for each.
  if constexpr (requires { Schedule::work(Shape); })
    if (Schedule::work(Shape) > constexpr_cells) return {};
  return play(Schedule::write(Shape));
}
template <class Schedule, auto Shape>
inline constexpr proof proof_of = prove_schedule<Schedule, Shape>();

}  // namespace detail

// static_assert(proven<one_f_one_b, shape>): the numbers fit the schedule, and its order is legal.
// Asks for: a schedule with the members that schedule/core/shape.hpp lists, and its numbers as a constant.
// Memory: none at run time.
// Errors: MT-P01, MT-P02, MT-P03, MT-P04, MT-P05, MT-P06, MT-P07, MT-P10, MT-P11, MT-P20, MT-P21, MT-P22,
// MT-P23, MT-P24, MT-P25, MT-P26, MT-P27, MT-P28, MT-P30, MT-P36, MT-P37
// Example:
//   #include <motet/schedule/write/one_f_one_b.hpp>
//   static_assert(proven<one_f_one_b, pipeline_shape{.stages = 2, .microbatches = 4}>);
template <class Schedule, auto Shape>
inline constexpr bool proven = require<detail::proof_of<Schedule, Shape>.found>;

// The compiler has played the order through where this holds; else that is left to the start of the program.
template <class Schedule, auto Shape>
inline constexpr bool proven_by_compiler =
    proven<Schedule, Shape> && detail::proof_of<Schedule, Shape>.played;

}  // namespace motet
