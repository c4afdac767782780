// SPDX-License-Identifier: Apache-2.0
#include <motet/strategy/feed.hpp>

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <tuple>
#include <vector>

using namespace motet;

namespace {

// The laws of a feed, by playing it over samples of these lengths (in rows): each number of the edge
// arrives at each receiver that needs it once, in order, from somebody who holds it, and crosses once in all.
void check_laws(const feed_side& from, const feed_side& to, motet::index width,
                const std::vector<motet::index>& lengths) {
  const list<feed_message> forward = make_feed(from, to, width);
  std::map<std::tuple<motet::index, motet::index, motet::index>, int> arrived;  // sample, row, column
  motet::index last_sample = 0, crossed = 0, wanted = 0;
  for (const feed_message& each : forward) {
    const interval sent = from.split.of(each.from.group, each.from.replica, each.from.microbatch);
    const interval taken = to.split.of(each.to.group, each.to.replica, each.to.microbatch);
    CHECK_GE(each.samples.begin, std::max(sent.begin, taken.begin));
    CHECK_LE(each.samples.end, std::min(sent.end, taken.end));
    CHECK_GE(each.samples.begin, last_sample);
    last_sample = each.samples.begin;
    const interval sender_columns = share(width, from.tensor, each.from.tensor),
                   receiver_columns = share(width, to.tensor, each.to.tensor);
    CHECK_GE(each.columns.begin, std::max(sender_columns.begin, receiver_columns.begin));
    CHECK_LE(each.columns.end, std::min(sender_columns.end, receiver_columns.end));
    for (motet::index s = each.samples.begin; s < each.samples.end; ++s) {
      const interval rows = rows_of(each, from, to, lengths[static_cast<std::size_t>(s)]);
      crossed += rows.size() * each.columns.size();
      for (motet::index row = rows.begin; row < rows.end; ++row)
        for (motet::index c = each.columns.begin; c < each.columns.end; ++c) ++arrived[{s, row, c}];
    }
  }
  for (std::size_t s = 0; s < lengths.size(); ++s) wanted += lengths[s] * width;
  CHECK_EQ(crossed, wanted);
  CHECK_EQ(static_cast<motet::index>(arrived.size()), wanted);
  for (const auto& [what, times] : arrived) CHECK_EQ(times, 1);
}
std::vector<motet::index> random_lengths(motet::index samples, motet::index longest, unsigned seed) {
  std::mt19937 draw(seed);
  std::vector<motet::index> lengths;
  for (motet::index i = 0; i < samples; ++i)
    lengths.push_back(static_cast<motet::index>(draw() % static_cast<unsigned>(longest + 1)));
  return lengths;
}

}  // namespace

TEST_CASE("feeds between the degrees that others refuse") {
  const auto side = [](motet::index samples, motet::index data, motet::index microbatches,
                       motet::index context, motet::index tensor) {
    return feed_side{{samples, 1, data, microbatches}, context, tensor};
  };
  const std::vector<motet::index> lengths = random_lengths(12, 9, 1);
  check_laws(side(12, 3, 2, 1, 1), side(12, 2, 3, 1, 1), 5, lengths);  // data 3 -> 2
  check_laws(side(12, 2, 1, 1, 1), side(12, 3, 4, 1, 1), 5, lengths);  // 2 -> 3
  check_laws(side(12, 1, 1, 1, 1), side(12, 4, 2, 1, 1), 5, lengths);  // 1 -> n
  check_laws(side(12, 1, 2, 2, 1), side(12, 1, 2, 1, 4), 6, lengths);  // context 2 -> tensor 4
  // all at once, widths that do not divide
  check_laws(side(12, 1, 2, 3, 2), side(12, 2, 1, 2, 3), 7, lengths);
}

TEST_CASE("empty samples, more microbatches than samples, more tensor ranks than columns") {
  check_laws({{4, 2, 1, 3}, 2, 1}, {{4, 2, 2, 1}, 3, 1}, 2, {0, 5, 0, 1});
  check_laws({{3, 1, 4, 2}, 1, 5}, {{3, 1, 1, 1}, 4, 3}, 2, {3, 0, 2});
  check_laws({{0, 1, 2, 1}, 1, 1}, {{0, 1, 3, 1}, 1, 1}, 4, {});
}

TEST_CASE("random degrees on both sides") {
  std::mt19937 draw(7);
  const auto below = [&](unsigned n) { return static_cast<motet::index>(draw() % n); };
  for (unsigned i = 0; i < 300; ++i) {
    const motet::index samples = below(14), groups = 1 + below(3);
    const feed_side from{{samples, groups, 1 + below(4), 1 + below(4)}, 1 + below(4), 1 + below(4)};
    const feed_side to{{samples, 1 + below(3), 1 + below(4), 1 + below(4)}, 1 + below(4), 1 + below(4)};
    check_laws(from, to, 1 + below(9), random_lengths(samples, 7, i));
  }
}

TEST_CASE("replicas with weights: uneven parts, each sample of a group in one of them") {
  const sample_split even{12, 1, 3, 2, {}};
  CHECK(even.weighted({1, 1, 1}).of(0, 1, 1).begin == even.of(0, 1, 1).begin);
  const sample_split by = even.weighted({6, 1, 5});
  CHECK(by.replica_part(0, 0).end == 5);
  CHECK(by.replica_part(0, 1).end == 7);  // one for each microbatch
  CHECK(by.of(0, 2, 0).begin == 7);
  CHECK(by.of(0, 2, 1).begin == 10);
  CHECK(even.weighted({9, 1, 2}, 6).replica_part(0, 0).size() == 6);
  // Groups of seven and of six.
  const sample_split apart = sample_split{13, 2, 2, 1, {}}.weighted({2, 1});
  CHECK(apart.of(0, 0, 0).size() == 5);
  CHECK(apart.of(0, 1, 0).end == 7);
  CHECK(apart.of(1, 0, 0).begin == 7);
  CHECK(apart.of(1, 0, 0).size() == 4);
  CHECK(apart.of(1, 1, 0).end == 13);
  for (motet::index samples = 0; samples < 20; ++samples)
    for (motet::index groups = 1; groups < 4; ++groups) {
      const sample_split some{samples, groups, 3, 2, {}}, alike = some.weighted({5, 5, 5});
      for (motet::index g = 0; g < groups; ++g)
        for (motet::index r = 0; r < 3; ++r)
          for (motet::index m = 0; m < 2; ++m) {
            CHECK(alike.of(g, r, m).begin == some.of(g, r, m).begin);
            CHECK(alike.of(g, r, m).end == some.of(g, r, m).end);
          }
    }
}

TEST_CASE("random degrees and weights on both sides") {
  std::mt19937 draw(9);
  const auto below = [&](unsigned n) { return static_cast<motet::index>(draw() % n); };
  const auto side = [&](motet::index samples) {
    const sample_split even{samples, 1 + below(3), 1 + below(4), 1 + below(3), {}};
    list<motet::index> weights;
    for (motet::index r = 0; r < even.replicas; ++r) weights.push(below(9));
    return feed_side{even.weighted(weights, 1 + below(14)), 1 + below(3), 1 + below(3)};
  };
  for (unsigned i = 0; i < 300; ++i) {
    const motet::index samples = below(14);
    const feed_side from = side(samples), to = side(samples);
    check_laws(from, to, 1 + below(9), random_lengths(samples, 7, i));
  }
}

TEST_CASE("a feed is made by the compiler too, and grows with what it joins, not with the product") {
  static_assert(make_feed({{12, 1, 3, 2}, 1, 1}, {{12, 1, 2, 3}, 1, 1}, 8).size() == 6);
  static_assert(
      make_feed({sample_split{12, 1, 2, 1, {}}.weighted({1, 3}), 1, 1}, {{12, 1, 2, 1}, 1, 1}, 8).size() ==
      3);
  const feed_side from{{4096 * 4, 1, 4096, 4}, 1, 1}, to{{4096 * 4, 1, 3000, 5}, 1, 1};
  const list<feed_message> all = make_feed(from, to, 64);
  CHECK_LE(all.size(), 4096 * 4 + 3000 * 5);
}
