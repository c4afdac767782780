// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/arena.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

static_assert(std::is_trivially_copyable_v<motet::arena>);

TEST_CASE("what is taken is aligned, lies apart and lies inside") {
  motet::buffer<std::byte> memory(4096);
  motet::arena arena(memory.data(), memory.size());
  auto* letters = arena.take<char>(3);
  auto* numbers = arena.take<double>(5);
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(letters) % motet::arena::alignment, 0);
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(numbers) % motet::arena::alignment, 0);
  CHECK(reinterpret_cast<std::byte*>(letters) == memory.data());
  CHECK(reinterpret_cast<std::byte*>(numbers) == memory.data() + 64);
  CHECK_EQ(arena.mark(), 128);
}

TEST_CASE("giving back makes the same addresses come again, and the peak remembers") {
  motet::buffer<std::byte> memory(4096);
  motet::arena arena(memory.data(), memory.size());
  arena.take<float>(16);
  const motet::isize mark = arena.mark();
  const float* first = arena.take<float>(100);
  const motet::isize peak = arena.peak();
  arena.release(mark);
  CHECK(arena.take<float>(1) == first);
  CHECK_EQ(arena.peak(), peak);
  CHECK_EQ(peak, 64 + 448);
}

TEST_CASE("measuring and taking agree on the size, whatever is asked for") {
  motet::buffer<std::byte> memory(1 << 16);
  motet::arena real(memory.data(), memory.size());
  motet::arena measure;
  CHECK(measure.measuring());
  CHECK(!real.measuring());
  for (motet::isize i = 0; i < 20; ++i) {
    real.take<float>(i * i);
    measure.take<float>(i * i);
    const auto rows = measure.take_rows<double, 3>(i);
    CHECK_EQ(rows.rows, i);
    CHECK_EQ(rows.stride, 3);
    real.take_rows<double, 3>(i);
    CHECK_EQ(real.peak(), measure.peak());
  }
}

TEST_CASE("two copies that take the same steps get the same addresses") {
  motet::buffer<std::byte> memory(4096);
  motet::arena one(memory.data(), memory.size());
  one.take<int>(7);
  motet::arena two = one;
  CHECK(one.take<float>(9) == two.take<float>(9));
}

TEST_CASE("a full arena says so and names both sizes") {
  motet::buffer<std::byte> memory(128);
  motet::arena arena(memory.data(), memory.size());
  CHECK(arena.take<float>(32) != nullptr);
  try {
    arena.take<float>(1);
    FAIL("nothing was thrown");
  } catch (const motet::error& found) {
    CHECK(std::string(found.code()) == "MT-T01");
    CHECK(std::string(found.what()).find("wanted 192 bytes, has 128") != std::string::npos);
  }
}

TEST_CASE("a buffer is aligned to a page, may be empty, and moves") {
  motet::buffer<float> empty(0);
  CHECK(empty.data() == nullptr);
  motet::buffer<float> one(5);
  CHECK_EQ(reinterpret_cast<std::uintptr_t>(one.data()) % 4096, 0);
  one[4] = 3;
  const motet::buffer<float> two = std::move(one);
  CHECK_EQ(two[4], 3);
  CHECK_EQ(two.size(), 5);
}
