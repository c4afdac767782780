// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/place/score_turns.hpp>

#include <motet/schedule/write/dualpipe_v.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

namespace {

filling nothing_fills(const score& of) {
  filling how;
  how.modules = {0};
  how.costs.stages.resize(of.places().size(), {1, 1, 1});
  return how;
}
// The fillers' player sees this.
struct seen_turns : detail::score_turns {
  using detail::score_turns::score_turns;
  motet::isize turns() const { return turns_.size(); }
  motet::isize groups() const { return groups_.size(); }
  double seconds(motet::isize g) const { return groups_[g].seconds; }
  // The latest starts when groups are played in the order of the score of one rank.
  std::vector<double> latest_of_one_rank() {
    list<std::int32_t> sequence;
    for (const turn& each : turns_) sequence.push(each.group);
    find_latest(sequence);
    std::vector<double> out;
    for (const turn& each : turns_) out.push_back(groups_[each.group].latest);
    return out;
  }
};

}  // namespace

TEST_CASE("every cue is a turn, and what overlaps is one") {
  const score plain = one_f_one_b::write({.stages = 3, .microbatches = 4});
  const filling how = nothing_fills(plain);
  const seen_turns each(plain, how);
  CHECK(each.turns() == plain.codes().size());
  CHECK(each.groups() == plain.codes().size());
  const score pairs = dualpipe_v::write({.stages = 2, .microbatches = 6});
  motet::isize paired = 0;
  for (std::int32_t i = 0; i < pairs.codes().size(); ++i) paired += pairs[i].paired ? 1 : 0;
  REQUIRE(paired > 0);
  const filling other = nothing_fills(pairs);
  CHECK(seen_turns(pairs, other).turns() == pairs.codes().size() - paired);
}
TEST_CASE("what ranks compute together is one group") {
  score two;
  voice made;
  made.microbatches = 3;
  made.shards = 2;
  for (const std::int32_t shard : {0, 1}) {
    made.shard = shard;
    two.add(made, [&](int) { return shard; });
  }
  for (const int rank : {0, 1}) {
    two.rank();
    for (int m = 0; m < 3; ++m) two.play(op::forward, rank, 0, m);
    for (int m = 0; m < 3; ++m) two.play(op::backward, rank, 0, m);
  }
  const filling how = nothing_fills(two);
  const seen_turns found(two, how);
  CHECK(found.turns() == 12);
  CHECK(found.groups() == 6);
}
TEST_CASE("the last may start its own time before the end, those before it earlier by what comes behind") {
  const score one = one_f_one_b::write({.stages = 1, .microbatches = 2});
  const filling how = nothing_fills(one);
  seen_turns found(one, how);
  CHECK(found.latest_of_one_rank() == std::vector<double>{-6, -5, -3, -2});
}
