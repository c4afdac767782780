// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/core/score.hpp>
#include <motet/schedule/core/shape.hpp>
#include <motet/schedule/write/schedules.hpp>

#include <concepts>
#include <type_traits>

namespace motet {

// A schedule that a program wrote itself, as a value that a plan can hold: the two functions of its type.
// Without them it is none, and a plan is played by one of the library's that has the name.
struct own_schedule {
  verdict (*checks)(const pipeline_shape&) = nullptr;
  score (*writes)(const pipeline_shape&) = nullptr;

  constexpr explicit operator bool() const { return writes != nullptr; }
  // These are called as those of the library's schedules are.
  constexpr verdict check(const pipeline_shape& of) const { return checks(of); }
  constexpr score write(const pipeline_shape& of) const { return writes(of); }
  friend constexpr bool operator==(const own_schedule&, const own_schedule&) = default;
};

namespace detail {

template <class Schedule, class... Known>
constexpr bool is_one_of(schedule_list<Known...>) {
  return (std::is_same_v<Schedule, Known> || ...);
}

}  // namespace detail

// A type is a schedule that plans can be played by if it orders one module by the numbers of pipeline_shape.
template <class Schedule>
concept orders_a_module = requires(const pipeline_shape& of) {
  { Schedule::check(of) } -> std::convertible_to<verdict>;
  { Schedule::write(of) } -> std::convertible_to<score>;
  label(Schedule::name);
};

// The value is empty for one of the library's, which a plan knows by its name.
template <class Schedule>
constexpr own_schedule own_schedule_of() {
  if constexpr (!detail::is_one_of<Schedule>(all_schedules{})) {
    static_assert(orders_a_module<Schedule>,
                  "motet: a plan is played by a schedule with a name, check() and write() of a "
                  "pipeline_shape; it orders one module, and the plan puts modules and losses together");
    if constexpr (orders_a_module<Schedule>) {
      static_assert(!is_schedule(Schedule::name),
                    "motet: the library has a schedule of this name; give your own another one");
      return {[](const pipeline_shape& of) -> verdict { return Schedule::check(of); },
              [](const pipeline_shape& of) -> score { return Schedule::write(of); }};
    }
  }
  return {};
}

// A schedule of a program's own and its name: what is written beside those of the library.
struct named_schedule {
  label name{};
  own_schedule of{};

  constexpr named_schedule() = default;
  template <orders_a_module Schedule>
  constexpr named_schedule(Schedule) : name(Schedule::name), of(own_schedule_of<Schedule>()) {}
};

}  // namespace motet
