// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/parameter.hpp>

#include <motet/tensor/dtype.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace motet;

namespace {

struct leaf {
  static void parameters(parameter_list& list) {
    list.matrix("weight", 3, 7, {fill::normal, 0.02f}, shard::rows);
    list.vector("bias", 3, {});
  }
};
struct tree {
  static void parameters(parameter_list& list) {
    list.child<leaf>("left");
    list.vector("gain", 17, {fill::ones, 1});
    list.child<leaf>("right");
  }
};

}  // namespace

static_assert(parameter_space(0) == 0 && parameter_space(1) == 16 && parameter_space(16) == 16 && parameter_space(17) == 32);

TEST_CASE("names are paths, and tensors lie one after the other on cache lines") {
  parameter_list list;
  list.child<tree>("net");
  const auto& items = list.items();
  REQUIRE_EQ(items.size(), 5);
  const char* names[] = {"net.left.weight", "net.left.bias", "net.gain", "net.right.weight", "net.right.bias"};
  const motet::index offsets[] = {0, 32, 48, 80, 112};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(items[i].name == names[i]);
    CHECK_EQ(items[i].offset, offsets[i]);
  }
  CHECK_EQ(list.used(), 128);
}

TEST_CASE("matrices decay and vectors do not, unless it is said otherwise") {
  parameter_list list;
  list.matrix("table", 2, 2, {}, shard::whole, false);
  list.matrix("weight", 2, 2, {}, shard::whole);
  list.vector("bias", 2, {});
  CHECK(!list.items()[0].decay);
  CHECK(list.items()[1].decay);
  CHECK(!list.items()[2].decay);
  CHECK(list.items()[2].vector);
  CHECK_EQ(list.items()[1].size(), 4);
}

TEST_CASE("slices of the flat buffers keep their numbers in the type") {
  const float data[4] = {1, 2, 3, 4};
  const weights<fp32> w{data};
  CHECK_EQ(*(w + 3).data, 4);
  static_assert(std::is_same_v<decltype(w + 1), weights<fp32>>);
  static_assert(!std::is_same_v<weights<fp32>, weights<mixed_bf16>>);
}
