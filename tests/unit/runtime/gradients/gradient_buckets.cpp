// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/gradients/gradient_buckets.hpp>

#include <doctest/doctest.h>
#include <reduction_laws.hpp>

#include <map>
#include <utility>

using namespace motet;

TEST_CASE("long runs are cut into even buckets from the end on, short ones are packed") {
  const std::vector<interval> runs = {{0, 64}, {64, 1064}, {1064, 1096}, {2000, 2080}, {2080, 2080}};
  const auto found = cut_buckets(runs, {.elements = 400, .packed = 100});
  REQUIRE(found.size() == 4);
  const auto whole = [&](std::size_t b) { return std::pair(found[b].whole().begin, found[b].whole().end); };
  CHECK(whole(0) == std::pair<motet::isize, motet::isize>(64 + 672, 1064));
  CHECK(whole(1) == std::pair<motet::isize, motet::isize>(64 + 336, 64 + 672));
  CHECK(whole(2) == std::pair<motet::isize, motet::isize>(64, 64 + 336));
  CHECK(found[0].size == 328);
  // Short ones of which there are no more than three.
  REQUIRE(found[3].packed());
  CHECK(found[3].size == 80 + 32 + 64);
  CHECK(found[3].parts[0].begin == 2000);
  CHECK(found[3].parts[2].begin == 0);
  // A full one is closed at once; one by itself needs no copy.
  const auto closed = cut_buckets(runs, {.elements = 100, .packed = 100});
  CHECK(closed[0].packed());
  CHECK(closed[0].size == 112);
  CHECK(!closed.back().packed());
  CHECK(closed.back().whole().end == 64);
}

TEST_CASE("the members' parts of a bucket are whole cache lines, and all of it") {
  for (const motet::isize size : {1, 15, 16, 17, 100, 1000})
    for (const motet::isize members : {1, 2, 3, 7}) {
      motet::isize at = 0;
      for (motet::isize m = 0; m < members; ++m) {
        const interval part = part_of_bucket(size, members, m);
        CHECK(part.begin == at);
        CHECK((part.begin % 16 == 0 || part.begin == size));
        at = part.end;
      }
      CHECK(at == size);
    }
}

TEST_CASE("every element of the model is counted once, and updated by one holder or by all") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const laws::made_ranks ranks{1 + static_cast<std::int32_t>(seed % 4),
                                 1 + static_cast<std::int32_t>(seed / 4 % 4)};
    const bool shards = seed % 3 != 0;
    CAPTURE(seed);
    const auto parameters = laws::make_parameters(seed, ranks.tensor);
    std::map<std::pair<std::size_t, motet::isize>, int> counted, owned;
    for (std::int32_t r = 0; r < ranks.size(); ++r) {
      const auto stage = laws::stage_of(parameters, ranks.tensor, r % ranks.tensor);
      const reduction_layout layout = ranks.layout(stage, r, laws::make_options(seed, shards));
      const auto add = [&](auto& to, interval what) {
        for (const auto& part : stage.parts)
          for (motet::isize e = std::max(what.begin, part.at.begin); e < std::min(what.end, part.at.end); ++e)
            ++to[{part.parameter, part.global + e - part.at.begin}];
      };
      motet::isize last = 0, moments = 0;
      for (const interval each : layout.share.counted) {
        CHECK(each.begin >= last);
        last = each.end;
        add(counted, each);
      }
      for (const owned_elements& each : layout.share.owned) {
        add(owned, each.at);
        CHECK(each.moments == moments);
        moments += round_up(each.at.size(), 16);
      }
      CHECK(layout.share.moments == moments);
      if (!shards) CHECK(moments == stage.size);
      motet::isize packed = 0, most = 0;
      for (const auto& lane : layout.lanes)
        for (const gradient_bucket& each : lane.buckets) {
          packed += each.packed() ? each.size : 0;
          most = std::max(most, each.size);
        }
      CHECK(layout.packing == packed);
      CHECK(layout.largest == most);
    }
    int wrong = 0;
    for (std::size_t p = 0; p < parameters.size(); ++p)
      for (motet::isize e = 0; e < 16 * parameters[p].lines; ++e) {
        const std::int32_t holders = parameters[p].shared ? ranks.size() : ranks.replicas;
        wrong += counted[{p, e}] != 1;
        wrong += owned[{p, e}] != holders && (!shards || owned[{p, e}] != 1);
      }
    CHECK(wrong == 0);
    CHECK(counted.size() == owned.size());
  }
}

TEST_CASE("ranks with other shards find the same buckets of what is shared") {
  const std::vector<laws::made_parameter> parameters = {{3, true},  {1, false}, {2, true},
                                                        {40, true}, {7, false}, {1, true}};
  for (const motet::isize size : {32, 100, 4000}) {
    const bucket_options options{.elements = size, .packed = 64};
    std::vector<std::vector<motet::isize>> sizes;
    for (std::int32_t t = 0; t < 3; ++t) {
      const laws::made_ranks ranks{2, 3};
      sizes.emplace_back();
      const reduction_layout layout = ranks.layout(laws::stage_of(parameters, 3, t), t, options);
      for (const gradient_bucket& each : layout.lanes[1].buckets)
        for (const interval part : each.parts) sizes.back().push_back(part.size());
    }
    CHECK(sizes[0] == sizes[1]);
    CHECK(sizes[0] == sizes[2]);
  }
}

TEST_CASE("a rank by itself has no buckets and keeps all moments") {
  const std::vector<interval> shared = {{16, 32}};
  const reduction_layout layout = lay_out_reduction(100, {}, {{{}, shared}}, {.shards = true});
  CHECK(layout.lanes[0].buckets.empty());
  CHECK(layout.lanes[1].buckets.empty());
  REQUIRE(layout.share.owned.size() == 1);
  CHECK(layout.share.owned[0].at.size() == 100);
  CHECK(layout.share.counted.size() == 1);
  CHECK(layout.share.moments == 112);
}
