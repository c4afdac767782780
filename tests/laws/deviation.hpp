// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/dtype.hpp>

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

// A deviation says how far what was got is from what was wanted. A check compares it as a number,
// CHECK(off_by(got, wanted) <= 1e-5), and prints where, what and of how much if it fails: a GPU is at hand
// for minutes, so one run of a test must tell all that it knows.

namespace motet::laws {

struct deviation {
  double most = 0;  // a NaN counts as infinite
  double got = 0, wanted = 0;
  std::string place;               // of the worst element; empty for single numbers
  isize differ = 0, elements = 0;  // so many elements are not equal, however near

  operator double() const { return most; }

  // An element that is so far from what was wanted, of which where() tells the place.
  template <class Where>
  void add(double off, double element_got, double element_wanted, Where&& where) {
    ++elements;
    if (element_got != element_wanted) ++differ;
    if (std::isnan(off)) off = INFINITY;
    if (off <= most) return;
    most = off, got = element_got, wanted = element_wanted, place = where();
  }
  template <class Where>
  void add_off(double element_got, double element_wanted, Where&& where) {
    add(std::abs(element_got - element_wanted), element_got, element_wanted, where);
  }
  // Another comparison; it is told of what it was if it is the worst so far.
  void add(const deviation& other, const std::string& of) {
    differ += other.differ;
    elements += other.elements;
    if (other.most <= most) return;
    most = other.most, got = other.got, wanted = other.wanted;
    place = of + (other.place.empty() ? "" : ", " + other.place);
  }
  // Some things may not be, however near the numbers are.
  void fail(const std::string& why) { most = INFINITY, got = wanted = 0, place = why; }
  void fail(const std::string& why, isize found, isize expected) {
    most = INFINITY, got = static_cast<double>(found), wanted = static_cast<double>(expected), place = why;
  }
  // Another norm measures the same elements.
  deviation measured(double by) const {
    deviation made = *this;
    made.most = std::isnan(by) || std::isinf(most) ? INFINITY : by;
    return made;
  }
};

inline std::ostream& operator<<(std::ostream& to, const deviation& of) {
  const auto precision = to.precision(9);
  to << of.most;
  if (of.most > 0) {
    to << " (got " << of.got << ", wanted " << of.wanted;
    if (!of.place.empty()) to << ", at " << of.place;
    if (of.elements > 1) to << "; " << of.differ << " of " << of.elements << " differ";
    to << ')';
  }
  to.precision(precision);
  return to;
}

// The place of an element of a matrix, for add().
inline auto in_matrix(isize row, isize column) {
  return [row, column] { return "row " + std::to_string(row) + ", column " + std::to_string(column); };
}

template <class A, class B>
deviation off_by(A got, B wanted) {
  deviation found;
  const auto x = static_cast<double>(got), y = static_cast<double>(wanted);
  found.add(std::abs(x - y), x, y, [] { return std::string(); });
  return found;
}

// Two lists may be compared `relative` to 1 + |wanted|.
template <class A, class B>
deviation off_by(const std::vector<A>& got, const std::vector<B>& wanted, bool relative = false) {
  deviation found;
  if (got.size() != wanted.size()) {
    found.fail("the number of elements", static_cast<isize>(got.size()), static_cast<isize>(wanted.size()));
    return found;
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto x = static_cast<double>(got[i]), y = static_cast<double>(wanted[i]);
    found.add(x == y ? 0 : std::abs(x - y) / (relative ? 1 + std::abs(y) : 1), x, y,
              [&] { return "element " + std::to_string(i) + " of " + std::to_string(got.size()); });
  }
  return found;
}

// The bits of numbers, to be compared as they are.
inline std::vector<int> bits_of(const std::vector<bf16>& numbers) {
  std::vector<int> out;
  for (const bf16& each : numbers) out.push_back(each.bits);
  return out;
}
template <class T>
std::vector<bf16> rounded(const std::vector<T>& numbers) {
  std::vector<bf16> out;
  for (const T each : numbers) out.push_back(bf16(static_cast<float>(each)));
  return out;
}

// CHECK(y.gaps_intact()) prints this: whether all is as it was, and if not, what is not.
struct intact {
  bool all = true;
  std::string broken;
  operator bool() const { return all; }
};
inline intact all_intact(std::initializer_list<intact> of) {
  for (const intact& each : of)
    if (!each) return each;
  return {};
}
inline std::ostream& operator<<(std::ostream& to, const intact& of) {
  return to << (of.all ? std::string("intact") : of.broken);
}

}  // namespace motet::laws
