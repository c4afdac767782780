// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/guard.hpp>

#include <doctest/doctest.h>

#include <limits>

using namespace motet;

namespace {
// A process among others, so many of which refuse.
struct fake_host {
  double others = 0;
  int sums = 0;
  void sum(double* numbers, motet::isize) { numbers[0] += others, ++sums; }
};
}  // namespace

TEST_CASE("no process begins a step that another one refuses") {
  fake_host host;
  int begun = 0;
  const auto fits = [&] { ++begun; };
  const auto refuses = [] { fail(step_beyond_room, "rank 3 wants all"); };
  refuse_together(host, false, fits);
  CHECK_THROWS_WITH_AS(refuse_together(host, false, refuses), doctest::Contains("rank 3 wants all"), error);
  CHECK(host.sums == 0);
  refuse_together(host, true, fits);
  CHECK(begun == 2);
  CHECK_THROWS_WITH_AS(refuse_together(host, true, refuses), doctest::Contains("rank 3 wants all"), error);
  host.others = 1;
  CHECK_THROWS_WITH_AS(refuse_together(host, true, refuses), doctest::Contains("rank 3 wants all"), error);
  CHECK_THROWS_WITH_AS(refuse_together(host, true, fits), doctest::Contains("a rank of another process"),
                       error);
  CHECK(host.sums == 4);
}

TEST_CASE("the first bad tensor is found, and how many there are") {
  parameter_list list;
  list.vector("a", 4, {});
  list.vector("b", 4, {});
  list.vector("c", 4, {});
  std::vector<float> all(static_cast<std::size_t>(list.used()));
  CHECK(first_bad_tensor<float>(list.items(), all.data(), list.used()).bad == 0);
  all[16 + 2] = -std::numeric_limits<float>::infinity();
  all[32] = std::numeric_limits<float>::quiet_NaN();
  const bad_tensor found = first_bad_tensor<float>(list.items(), all.data(), list.used());
  CHECK(found.name == "b");
  CHECK(found.element == 2);
  CHECK(found.value < 0);
  CHECK(found.bad == 2);
  CHECK(found.tensors == 3);
  CHECK(first_bad_tensor<float>(list.items(), all.data(), 16).bad == 0);
}
