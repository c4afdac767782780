// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/share.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace motet {

// Some rows of a matrix, of them some columns.
struct rectangle {
  interval rows, columns;
  constexpr isize size() const { return rows.size() * columns.size(); }
  constexpr bool empty() const { return rows.size() <= 0 || columns.size() <= 0; }
};
constexpr rectangle intersection(rectangle a, rectangle b) {
  return {intersection(a.rows, b.rows), intersection(a.columns, b.columns)};
}

constexpr bool holds(rectangle all, rectangle part) {
  return part.rows.begin >= all.rows.begin && part.rows.end <= all.rows.end &&
         part.columns.begin >= all.columns.begin && part.columns.end <= all.columns.end;
}

// Every tensor is a matrix too: its last dimension is the columns, all others together the rows. A vector is
// one row.
constexpr rectangle matrix_of(std::span<const isize> shape) {
  rectangle all{{0, 1}, {0, 1}};
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return {};
  if (shape.empty()) return all;
  all.columns.end = shape.back();
  for (const isize extent : shape.first(shape.size() - 1)) all.rows.end *= extent;
  return all;
}

// The part of a tensor that somebody holds: a rectangle of it, row after row without gaps.
template <class Number>
struct tensor_slice {
  std::string name;
  std::vector<isize> shape;  // of the whole tensor
  rectangle covers;
  Number* data = nullptr;
};
using saved_slice = tensor_slice<const float>;
using loaded_slice = tensor_slice<float>;

template <class Number>
tensor_slice<Number> whole_slice(std::string name, std::vector<isize> shape, Number* data) {
  const rectangle all = matrix_of(shape);
  return {std::move(name), std::move(shape), all, data};
}

// Takes those of a rectangle's elements, counted row after row, that are in `run`, of which the first lies at
// `data`: the rest of a row, whole rows and the beginning of a row, as far as there are such. This is what
// cutting a flat buffer anywhere leaves of a tensor.
template <class Number>
void append_run(std::vector<tensor_slice<Number>>& out, const std::string& name,
                const std::vector<isize>& shape, rectangle of, interval run, Number* data) {
  const isize width = of.columns.size();
  isize at = run.begin;
  const auto take = [&](isize rows, isize columns) {
    if (rows <= 0 || columns <= 0) return;
    const isize row = of.rows.begin + at / width, column = of.columns.begin + at % width;
    out.push_back({name, shape, {{row, row + rows}, {column, column + columns}}, data});
    data += rows * columns;
    at += rows * columns;
  };
  if (run.size() <= 0) return;
  if (at % width != 0) take(1, std::min(width - at % width, run.end - at));
  take((run.end - at) / width, width);
  take(1, run.end - at);
}

}  // namespace motet
