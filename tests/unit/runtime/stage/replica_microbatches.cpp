// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/replica_microbatches.hpp>

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
using ear = text_tower<text_config{
    .vocabulary = 9, .context = 5, .width = 8, .layers = 1, .heads = 1, .embedding = 8}>;
using eye = vit<vit_config{.image = 4, .patch = 2, .width = 8, .layers = 1, .heads = 1, .embedding = 8}>;
}  // namespace

TEST_CASE("microbatches cover each group, none is empty, none reaches into another group") {
  for (const motet::isize groups : {1, 2, 3})
    for (motet::isize in_group = 1; in_group <= 5; ++in_group)
      for (motet::isize size = in_group; size < 3 * in_group; ++size) {
        const replica_microbatches<eye> parts(groups * size, groups, in_group);
        REQUIRE(parts.count() == groups * in_group);
        motet::isize next = 0, most = 0;
        for (motet::isize m = 0; m < parts.count(); ++m) {
          const interval own = parts.of(m);
          CHECK(own.begin == next);
          CHECK(own.size() > 0);
          CHECK(own.begin / size == m / in_group);
          CHECK((own.end - 1) / size == m / in_group);
          next = own.end;
          most = std::max(most, own.size());
        }
        CHECK(next == groups * size);
        CHECK(parts[parts.largest].samples == most);
      }
}

TEST_CASE("ragged samples are cut where they lie, with the number of their first row") {
  const std::vector<std::int32_t> ids{1, 2, 3, 4, 5, 6, 7, 8, 0, 1};
  const std::vector<motet::isize> offsets{0, 3, 4, 4, 9, 10};
  replica_microbatches<ear> parts(5, 1, 2);
  const auto look = [&](motet::isize m) { return parts[m]; };
  for (int turn = 0; turn < 2; ++turn) {
    parts.cut(tokens{ids.data(), {5, 0, offsets.data()}});
    CHECK(look(0).seq.samples == 3);
    CHECK(look(0).ids == ids.data());
    CHECK(look(0).seq.rows() == 4);
    CHECK(look(0).seq.rows_of(2) == 0);
    CHECK(parts.first_row(0) == 0);
    CHECK(look(1).seq.samples == 2);
    CHECK(look(1).ids == ids.data() + 4);
    CHECK(look(1).seq.rows() == 6);
    CHECK(look(1).seq.rows_of(0) == 5);
    CHECK(parts.first_row(1) == 4);
    CHECK(parts.shared(1) == nullptr);
  }
  CHECK(parts[parts.largest].seq.samples == 3);
  CHECK(parts[parts.largest].seq.rows() == 15);
}

TEST_CASE("replicas take turns in each group, and shards of one embed each sample once") {
  const std::vector<std::int32_t> ids(40, 1);
  std::vector<motet::isize> offsets;
  for (motet::isize s = 0; s <= 20; ++s) offsets.push_back(2 * s);
  const sample_split split{20, 2, 2, 2};
  std::vector<int> seen(20, 0);
  for (motet::isize replica = 0; replica < 2; ++replica)
    for (motet::isize shard = 0; shard < 6; ++shard) {
      const spread_seat at{3, shard % 3, 2, shard / 3};
      replica_microbatches<ear> parts(split, replica, at, any_group(3, static_cast<std::int32_t>(shard % 3)),
                                      any_group(2, static_cast<std::int32_t>(shard / 3)));
      parts.cut(tokens{ids.data(), {20, 0, offsets.data()}});
      REQUIRE(parts.count() == 4);
      for (motet::isize m = 0; m < 4; ++m) {
        CHECK(parts.of(m).begin / 10 == m / 2);
        CHECK(parts[m].seq.samples == parts.mine(m).size());
        CHECK(parts.shared(m)->whole.samples == parts.of(m).size());
        CHECK(parts.rows(m).rows() <= parts.rows(parts.largest).rows());
        for (motet::isize s = parts.mine(m).begin; s < parts.mine(m).end; ++s)
          ++seen[static_cast<std::size_t>(s)];
      }
    }
  CHECK(seen == std::vector<int>(20, 1));
}

TEST_CASE("a picture has the rows of its net") {
  std::vector<float> pixels(6 * 3 * 16);
  replica_microbatches<eye> parts(6, 2, 3);
  parts.cut(pictures{pixels.data(), 6});
  for (motet::isize m = 0; m < 6; ++m) {
    CHECK(parts[m].samples == 1);
    CHECK(parts[m].pixels == pixels.data() + m * 48);
    CHECK(parts.first_row(m) == m * eye::rows(pictures{nullptr, 1}).rows());
  }
}

TEST_CASE("shares may change where there is room for them") {
  const std::vector<std::int32_t> ids(64, 1);
  std::vector<motet::isize> offsets;
  for (motet::isize s = 0; s <= 24; ++s) offsets.push_back(2 * s);
  const sample_split even{24, 2, 3, 2, {}};
  std::vector<replica_microbatches<ear>> all;
  for (motet::isize r = 0; r < 3; ++r)
    all.emplace_back(even, r, spread_seat{2, r % 2}, any_group(2, static_cast<std::int32_t>(r % 2)),
                     any_group{}, 7);
  // seven in two microbatches
  for (const auto& each : all) CHECK(each.shared(each.largest)->whole.samples == 4);
  for (const list<motet::isize>& shares : {list<motet::isize>{4, 4, 4}, {7, 3, 2}, {2, 7, 3}}) {
    motet::isize next = 0;
    for (auto& each : all) each.split(even.weighted(shares, 7));
    for (motet::isize g = 0; g < 2; ++g)
      for (motet::isize r = 0; r < 3; ++r) {
        auto& own = all[static_cast<std::size_t>(r)];
        own.cut(tokens{ids.data(), {24, 0, offsets.data()}});
        for (motet::isize m = 2 * g; m < 2 * g + 2; ++m) {
          CHECK(own.of(m).begin == next);
          CHECK(own.of(m).size() >= 1);
          CHECK(own.of(m).size() <= 4);
          CHECK(own.shared(m)->whole.samples == own.of(m).size());
          CHECK(own[m].seq.samples == own.mine(m).size());
          CHECK(own.rows(m).rows() <= own.rows(own.largest).rows());
          next = own.of(m).end;
        }
        CHECK(own.of(2 * g).size() + own.of(2 * g + 1).size() == shares[r]);
      }
    CHECK(next == 24);
  }
}
