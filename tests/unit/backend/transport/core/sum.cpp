// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/transport/core/sum.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;
using transports::slice_of;

namespace {
template <class T>
T value(motet::isize part, motet::isize at) {
  const auto bits = static_cast<std::uint64_t>(part * 7919 + at) * 0x9e3779b97f4a7c15u;
  return T((static_cast<float>(bits >> 40) - 8388608.0f) /
           static_cast<float>(std::uint64_t{1} << (bits % 30)));
}
// Numbers outside of the interval stay; the sum is the one of a plain loop.
template <class T, class Accumulator>
bool adds_up(motet::isize parts, interval at, bool in_place) {
  constexpr motet::isize size = 5000;
  std::vector<std::vector<T>> all(static_cast<std::size_t>(parts), std::vector<T>(size));
  std::vector<std::vector<T>> results(2, std::vector<T>(size, T(77.0f)));
  for (motet::isize p = 0; p < parts; ++p)
    for (motet::isize i = 0; i < size; ++i)
      all[static_cast<std::size_t>(p)][static_cast<std::size_t>(i)] = value<T>(p, i);
  std::vector<const std::byte*> from;
  std::vector<std::byte*> outs;
  for (auto& each : all) from.push_back(reinterpret_cast<const std::byte*>(each.data()));
  for (auto& each : in_place ? all : results) outs.push_back(reinterpret_cast<std::byte*>(each.data()));
  transports::sum_parts<T>(from.data(), parts, outs.data(), static_cast<motet::isize>(outs.size()), at);
  for (std::size_t o = 0; o < outs.size(); ++o) {
    const T* const out = reinterpret_cast<const T*>(outs[o]);
    for (motet::isize i = 0; i < size; ++i) {
      auto wanted = static_cast<Accumulator>(value<T>(0, i));
      for (motet::isize p = 1; p < parts; ++p) wanted += static_cast<Accumulator>(value<T>(p, i));
      T expected = T(wanted);
      if (i < at.begin || i >= at.end)
        expected = in_place ? value<T>(static_cast<motet::isize>(o), i) : T(77.0f);
      if (std::memcmp(&out[i], &expected, sizeof(T)) != 0) return false;
    }
  }
  return true;
}
}  // namespace

TEST_CASE("a sum is the one of a plain loop over the parts, whatever its length and wherever it goes") {
  for (const motet::isize parts : {1, 2, 3, 8})
    for (const interval at : {interval{0, 5000}, interval{0, 0}, interval{17, 18}, interval{3, 1027},
                              interval{1024, 3072}, interval{4999, 5000}})
      for (const bool in_place : {false, true}) {
        CAPTURE(parts);
        CAPTURE(at.begin);
        CHECK(adds_up<float, float>(parts, at, in_place));
        CHECK(adds_up<double, double>(parts, at, in_place));
        CHECK(adds_up<bf16, float>(parts, at, in_place));
      }
}

TEST_CASE("bf16 is summed in float: what each step would lose is kept") {
  std::vector<bf16> one(300, bf16(1.0f));
  std::vector<const std::byte*> parts(300);
  for (std::size_t p = 0; p < parts.size(); ++p) parts[p] = reinterpret_cast<const std::byte*>(one.data());
  bf16 sum{};
  auto* out = reinterpret_cast<std::byte*>(&sum);
  transports::sum_parts<bf16>(parts.data(), 300, &out, 1, {0, 1});
  CHECK(float(sum) == 300);  // in bf16 it would stay at 256
}

TEST_CASE("slices cover everything once, in whole cache lines") {
  for (const motet::isize element : {1, 2, 4, 8})
    for (const motet::isize members : {1, 2, 3, 7, 64})
      for (const motet::isize count : {0, 1, 15, 16, 17, 1000, 100003}) {
        motet::isize at = 0;
        for (motet::isize m = 0; m < members; ++m) {
          const interval own = slice_of(count, element, members, m);
          CHECK(own.begin == at);
          CHECK((own.begin * element % 64 == 0 || own.begin == count));
          CHECK(own.size() >= 0);
          CHECK(own.size() <= (count + members - 1) / members + 64);
          at = own.end;
        }
        CHECK(at == count);
      }
}
