// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/core/parameter.hpp>

#include <motet/tensor/dtype.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace motet;

namespace {

struct leaf {
  static void parameters(parameter_list& list) {
    list.matrix("weight", 3, 7, {fill::normal, 0.02f});
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

// Six outputs of which a member holds a share, in two places; the inputs of the second product; and something
// whole.
struct cuttable {
  static constexpr motet::isize size(tensor_cut cut) {
    const motet::isize n = cut.share(6).size();
    return parameter_space(2 * n * 7) + parameter_space(2 * n) + parameter_space(3 * n) + parameter_space(3) +
           parameter_space(5);
  }
  struct wide {
    static void parameters(parameter_list& list) {
      list.matrix("weight", 12, 7, {});
      list.vector("bias", 12, {});
    }
  };
  struct narrow {
    static void parameters(parameter_list& list) {
      list.matrix("weight", 3, 6, {});
      list.vector("bias", 3, {});
    }
  };
  static void parameters(parameter_list& list) {
    const interval held = list.cut().share(6);
    list.child_rows<wide>("up", {held, {6 + held.begin, 6 + held.end}});
    list.child_columns<narrow>("down", held);
    list.vector("gain", 5, {});
  }
};
// Says no size of its own, so it stays whole with all that is in it.
struct never_cut {
  static void parameters(parameter_list& list) { list.child<cuttable>("inner"); }
};
struct holder {
  static constexpr motet::isize size(tensor_cut cut) { return cuttable::size(cut) + cuttable::size({}); }
  static void parameters(parameter_list& list) {
    list.child<never_cut>("whole");
    list.part<cuttable>();
  }
};

std::string text(const parameter& p) {
  std::string out = p.name + (p.by == cut_by::nothing ? " shared" : "");
  for (const parameter_slice& s : p.slices())
    out += " [" + std::to_string(s.rows.begin) + "," + std::to_string(s.rows.end) + ")x[" +
           std::to_string(s.columns.begin) + "," + std::to_string(s.columns.end) + ")@" +
           std::to_string(s.offset);
  return out;
}

}  // namespace

static_assert(can_be_cut<cuttable> && can_be_cut<holder> && !can_be_cut<never_cut>);
static_assert(tensor_cut{}.whole() && !tensor_cut{2, 1}.whole() && tensor_cut{4, 0}.share(25).size() == 7);
static_assert(parameter_space(0) == 0 && parameter_space(1) == 16 && parameter_space(16) == 16 &&
              parameter_space(17) == 32);

TEST_CASE("names are paths, and tensors lie one after the other on cache lines") {
  parameter_list list;
  list.child<tree>("net");
  const auto& items = list.items();
  REQUIRE_EQ(items.size(), 5);
  const char* names[] = {"net.left.weight", "net.left.bias", "net.gain", "net.right.weight",
                         "net.right.bias"};
  const motet::isize offsets[] = {0, 32, 48, 80, 112};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(items[i].name == names[i]);
    CHECK_EQ(items[i].offset, offsets[i]);
  }
  CHECK_EQ(list.used(), 128);
}

TEST_CASE("matrices decay and vectors do not, unless it is said otherwise") {
  parameter_list list;
  list.matrix("table", 2, 2, {}, false);
  list.matrix("weight", 2, 2, {});
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

TEST_CASE("a list with a cut has what one rank holds, one after the other") {
  parameter_list list(tensor_cut{4, 1});
  list.part<cuttable>();
  const auto& items = list.items();
  REQUIRE_EQ(items.size(), 5);
  CHECK_EQ(text(items[0]), "up.weight [2,4)x[0,7)@0 [8,10)x[0,7)@14");
  CHECK_EQ(text(items[1]), "up.bias [0,1)x[2,4)@32 [0,1)x[8,10)@34");
  CHECK_EQ(text(items[2]), "down.weight [0,3)x[2,4)@48");
  CHECK_EQ(text(items[3]), "down.bias shared [0,1)x[0,3)@64");
  CHECK_EQ(text(items[4]), "gain shared [0,1)x[0,5)@80");
  CHECK_EQ(items[0].size(), 84);
  CHECK_EQ(items[0].held(), 28);
  CHECK_EQ(list.used(), cuttable::size({4, 1}));
}

TEST_CASE("without a cut everything is held in one piece, and what could be cut is known") {
  parameter_list list;
  list.part<cuttable>();
  const auto& items = list.items();
  CHECK_EQ(text(items[0]), "up.weight [0,12)x[0,7)@0");
  CHECK_EQ(text(items[1]), "up.bias [0,1)x[0,12)@96");
  CHECK_EQ(text(items[2]), "down.weight [0,3)x[0,6)@112");
  CHECK_EQ(text(items[3]), "down.bias shared [0,1)x[0,3)@144");
  for (const parameter& each : items) CHECK_EQ(each.held(), each.size());
}

TEST_CASE("a member may hold nothing of a parameter, which keeps its name") {
  parameter_list list(tensor_cut{8, 7});
  list.part<cuttable>();
  REQUIRE_EQ(list.items().size(), 5);
  CHECK_EQ(list.items()[0].held(), 0);
  CHECK(list.items()[0].slices().empty());
  CHECK_EQ(list.items()[2].held(), 0);
  CHECK_EQ(list.items()[3].offset, 0);
  CHECK_EQ(list.used(), cuttable::size({8, 7}));
}

TEST_CASE("in a layer that is never cut, nothing is") {
  parameter_list list(tensor_cut{4, 1});
  list.part<holder>();
  const auto& items = list.items();
  REQUIRE_EQ(items.size(), 10);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(items[i].by == cut_by::nothing);
    CHECK_EQ(items[i].held(), items[i].size());
  }
  CHECK_EQ(items[5].held(), 28);
  CHECK(items[5].by == cut_by::tensor);
  CHECK_EQ(list.used(), holder::size({4, 1}));
}

TEST_CASE("weights of a part keep the cut") {
  const float data[4] = {1, 2, 3, 4};
  const weights<fp32> w{data, {3, 2}};
  CHECK_EQ((w + 1).cut.shard, 2);
  CHECK_EQ(*(w + 1).data, 2);
}
