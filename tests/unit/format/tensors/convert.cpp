// SPDX-License-Identifier: Apache-2.0
#include <motet/format/tensors/convert.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace {

template <class T>
motet::stored_tensor stored(motet::dtype kind, const std::vector<T>& values,
                            std::vector<motet::isize> shape = {}) {
  if (shape.empty()) shape = {static_cast<motet::isize>(values.size())};
  return {"t", kind, shape, std::as_bytes(std::span(values))};
}

}  // namespace

TEST_CASE("half precision is read exactly") {
  CHECK(motet::float_of_f16(0x0000) == 0.0f);
  CHECK(std::signbit(motet::float_of_f16(0x8000)));
  CHECK(motet::float_of_f16(0x3c00) == 1.0f);
  CHECK(motet::float_of_f16(0xc000) == -2.0f);
  CHECK(motet::float_of_f16(0x3555) == 0.333251953125f);
  CHECK(motet::float_of_f16(0x7bff) == 65504.0f);
  CHECK(motet::float_of_f16(0x0400) == 0x1p-14f);
  CHECK(motet::float_of_f16(0x03ff) == 1023 * 0x1p-24f);
  CHECK(motet::float_of_f16(0x8001) == -0x1p-24f);
  CHECK(motet::float_of_f16(0x7c00) == INFINITY);
  CHECK(motet::float_of_f16(0xfc00) == -INFINITY);
  CHECK(std::isnan(motet::float_of_f16(0x7e00)));
  // The definition holds for every finite value.
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = static_cast<int>((bits >> 10) & 31), fraction = static_cast<int>(bits & 1023);
    if (exponent == 31) continue;
    const double size =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (static_cast<double>(motet::float_of_f16(static_cast<std::uint16_t>(bits))) !=
        (bits & 0x8000 ? -size : size))
      FAIL("bits " << bits);
  }
}

TEST_CASE("real types become float and double") {
  std::vector<float> out(2);
  std::vector<double> wide(2);
  motet::copy_elements(stored<float>(motet::dtype::f32, {1.5f, -0.1f}), out.data());
  CHECK(out == std::vector<float>{1.5f, -0.1f});
  motet::copy_elements(stored<double>(motet::dtype::f64, {1.5, 0.1}), out.data());
  CHECK(out == std::vector<float>{1.5f, 0.1f});
  motet::copy_elements(stored<double>(motet::dtype::f64, {1.5, 0.1}), wide.data());
  CHECK(wide == std::vector<double>{1.5, 0.1});
  motet::copy_elements(stored<std::uint16_t>(motet::dtype::f16, {0x3c00, 0xc000}), out.data());
  CHECK(out == std::vector<float>{1, -2});
  motet::copy_elements(stored<std::uint16_t>(motet::dtype::bf16, {0x3f80, 0xc040}), out.data());
  CHECK(out == std::vector<float>{1, -3});
  CHECK_THROWS_WITH_AS(motet::copy_elements(stored<std::int32_t>(motet::dtype::i32, {1, 2}), out.data()),
                       doctest::Contains("\"t\" holds I32"), motet::error);
}

TEST_CASE("floats are stored as the nearest half, the even one of two") {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits), next = static_cast<std::uint16_t>(bits + 1);
    const float here = motet::float_of_f16(half);
    // Behind the largest comes what would be next, were exponents larger.
    const float there = next == 0x7c00 ? 65536.0f : motet::float_of_f16(next), middle = (here + there) / 2;
    const auto even = static_cast<std::uint16_t>(bits + (bits & 1));
    if (motet::f16_of_float(here) != half || motet::f16_of_float(-here) != (half | 0x8000) ||
        motet::f16_of_float(middle) != even || motet::f16_of_float(std::nextafter(middle, 0.0f)) != half ||
        motet::f16_of_float(std::nextafter(middle, 1e9f)) != next)
      FAIL("bits " << bits);
  }
  CHECK(motet::f16_of_float(1e-30f) == 0);
  CHECK(motet::f16_of_float(-1e30f) == 0xfc00);
  CHECK(motet::f16_of_float(INFINITY) == 0x7c00);
  CHECK((motet::f16_of_float(NAN) & 0x7fff) == 0x7e00);
}

TEST_CASE("numbers are stored as floats or halves, and what does not fit is named") {
  const std::vector<float> numbers{1, -0.1f, 65519, INFINITY};
  for (const motet::dtype kind : {motet::dtype::f32, motet::dtype::bf16, motet::dtype::f16}) {
    const auto bytes = motet::rounded_bytes(kind, numbers, "t");
    std::vector<float> back(4);
    motet::copy_elements(motet::stored_tensor{"t", kind, {4}, bytes}, back.data());
    const float most = kind == motet::dtype::f32 ? 0 : kind == motet::dtype::f16 ? 0x1p-11f : 0x1p-8f;
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(back[i] - numbers[i]) <= most * std::abs(numbers[i]));
    CHECK(back[3] == INFINITY);
  }
  const std::vector<float> large{1, -65520};
  CHECK_THROWS_WITH_AS(motet::rounded_bytes(motet::dtype::f16, large, "t"), doctest::Contains("[MT-F16]"),
                       motet::error);
  CHECK_NOTHROW(motet::rounded_bytes(motet::dtype::bf16, large, "t"));
  CHECK_THROWS_WITH_AS(motet::rounded_bytes(motet::dtype::bf16, std::vector<float>{3.4e38f}, "t"),
                       doctest::Contains("at 0, and BF16"), motet::error);
  CHECK_THROWS_WITH_AS(motet::rounded_bytes(motet::dtype::i64, large, "t"), doctest::Contains("[MT-F12]"),
                       motet::error);
}

TEST_CASE("integers are read when they fit") {
  std::vector<std::int32_t> out(2);
  motet::copy_elements(stored<std::int64_t>(motet::dtype::i64, {1, -7}), out.data());
  CHECK(out == std::vector<std::int32_t>{1, -7});
  motet::copy_elements(stored<std::uint8_t>(motet::dtype::u8, {200, 7}), out.data());
  CHECK(out == std::vector<std::int32_t>{200, 7});
  CHECK_THROWS_WITH_AS(
      motet::copy_elements(stored<std::int64_t>(motet::dtype::i64, {1, INT64_MAX}), out.data()),
      doctest::Contains("9223372036854775807"), motet::error);
  CHECK_THROWS_WITH_AS(motet::copy_elements(stored<float>(motet::dtype::f32, {1, 2}), out.data()),
                       doctest::Contains("wanted integers"), motet::error);
  std::vector<std::uint64_t> counts(2);
  CHECK_THROWS_AS(motet::copy_elements(stored<std::int64_t>(motet::dtype::i64, {1, -7}), counts.data()),
                  motet::error);
}

TEST_CASE("elements need no alignment, shapes must agree") {
  const std::vector<float> values{1, 2, 3, 4};
  std::vector<std::byte> shifted(17);
  std::memcpy(shifted.data() + 1, values.data(), 16);
  const motet::stored_tensor tensor{"t", motet::dtype::f32, {2, 2}, std::span(shifted).subspan(1)};
  std::vector<double> out(4);
  const motet::isize right[] = {2, 2}, wrong[] = {4};
  motet::copy_elements(tensor, std::span<const motet::isize>(right), out.data());
  CHECK(out == std::vector<double>{1, 2, 3, 4});
  CHECK_THROWS_WITH_AS(motet::copy_elements(tensor, std::span<const motet::isize>(wrong), out.data()),
                       doctest::Contains("[2, 2], wanted [4]"), motet::error);
  motet::copy_elements(motet::stored_tensor{"none", motet::dtype::f32, {0}, {}},
                       static_cast<float*>(nullptr));
}

TEST_CASE("integers of every width are read as they are, and refused where they do not fit") {
  std::vector<std::int64_t> out(2);
  const auto read = [&](const motet::stored_tensor& from) {
    motet::copy_elements(from, out.data());
    return out;
  };
  CHECK(read(stored<std::int8_t>(motet::dtype::i8, {-128, 127})) == std::vector<std::int64_t>{-128, 127});
  CHECK(read(stored<std::uint16_t>(motet::dtype::u16, {0, 65535})) == std::vector<std::int64_t>{0, 65535});
  CHECK(read(stored<std::int16_t>(motet::dtype::i16, {-32768, 5})) == std::vector<std::int64_t>{-32768, 5});
  CHECK(read(stored<std::uint32_t>(motet::dtype::u32, {1, 4294967295})) ==
        std::vector<std::int64_t>{1, 4294967295});
  CHECK(read(stored<std::uint64_t>(motet::dtype::u64, {2, 1ull << 62})) ==
        std::vector<std::int64_t>{2, 1ll << 62});
  CHECK_THROWS_WITH_AS(read(stored<std::uint64_t>(motet::dtype::u64, {2, 1ull << 63})),
                       doctest::Contains("holds 9223372036854775808, which does not fit"), motet::error);
}
