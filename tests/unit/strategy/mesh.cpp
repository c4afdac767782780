// SPDX-License-Identifier: Apache-2.0
#include <motet/strategy/mesh.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace motet;

static_assert(check(mesh::from(0, degrees{.stages = 2, .data = 3}), cluster_shape{.ranks = 6}).ok());
static_assert(check(mesh::from(2, degrees{.tensor = 4}), cluster_shape{.ranks = 8, .ranks_per_node = 4})
                  .why == reason::tensor_crosses_nodes);

TEST_CASE("places and positions are each other's inverse, and tensor neighbours stand side by side") {
  const mesh all = mesh::from(10, degrees{.stages = 3, .data = 2, .context = 2, .tensor = 4});
  std::set<std::int32_t> seen;
  for (motet::isize i = 0; i < all.ranks().size(); ++i) {
    const mesh_position at = all.position(i);
    CHECK_EQ(all.rank(at), all.ranks()[i]);
    CHECK_EQ(all.find(all.ranks()[i]), i);
    CHECK(seen.insert(all.rank(at)).second);
    CHECK_EQ(all.group(axis::tensor, at)[0], all.ranks()[i / 4 * 4]);
  }
  CHECK_EQ(all.find(9), -1);
  CHECK_EQ(all.find(58), -1);
}

TEST_CASE("groups cut the ranks along one axis") {
  const mesh all = mesh::from(0, degrees{.stages = 2, .data = 3, .context = 1, .tensor = 2});
  for (const axis along : {axis::stage, axis::data, axis::context, axis::tensor}) {
    for (motet::isize i = 0; i < all.ranks().size(); ++i) {
      const mesh_position at = all.position(i);
      const list<std::int32_t> group = all.group(along, at);
      motet::isize self = 0;
      for (const std::int32_t rank : group) {
        self += rank == all.ranks()[i] ? 1 : 0;
        CHECK(all.group(along, all.position(all.find(rank))) == group);
      }
      CHECK_EQ(self, 1);
    }
  }
}

TEST_CASE("what does not fit is named") {
  const cluster_shape eight{.ranks = 8, .ranks_per_node = 4};
  CHECK(check(mesh(degrees{.data = 0}, {}), eight).why == reason::degree_not_positive);
  const verdict product = check(mesh(degrees{.stages = 2, .data = 2}, {0, 1, 2}), eight);
  CHECK(product.why == reason::degrees_do_not_multiply);
  CHECK_EQ(product.got, 3);
  CHECK_EQ(product.wanted, 4);
  CHECK(check(mesh(degrees{.data = 2}, {7, 8}), eight).why == reason::rank_outside);
  CHECK(check(mesh(degrees{.data = 2}, {-1, 0}), eight).why == reason::rank_outside);
  const verdict twice = check(mesh(degrees{.data = 3}, {1, 2, 1}), eight);
  CHECK(twice.why == reason::rank_twice);
  CHECK_EQ(twice.where, 2);
  CHECK(check(mesh(degrees{.tensor = 2}, {3, 4}), eight).why == reason::tensor_crosses_nodes);
  CHECK(check(mesh(degrees{.tensor = 2}, {3, 4}),
              cluster_shape{.ranks = 8, .ranks_per_node = 4, .tensor_may_cross_nodes = true})
            .ok());
  CHECK(check(mesh(degrees{.data = 2}, {3, 4}), eight).ok());
}
