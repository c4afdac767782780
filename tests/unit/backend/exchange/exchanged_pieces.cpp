// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/exchange/exchanged_pieces.hpp>

#include <motet/backend/groups/silent_group.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace motet {
namespace {

struct told_context {
  const microbatch_spread* shared = nullptr;
  static bool measuring() { return false; }
};
std::vector<isize> host_numbers(const told_context&, isize count) {
  return std::vector<isize>(static_cast<std::size_t>(count));
}
using some = std::vector<isize>;
some kept(std::span<const isize> of) { return {of.begin(), of.end()}; }

}  // namespace

TEST_CASE("a piece has a part of each member's rows, at the place where it would have come as a whole") {
  silent_group inside(3, 1);
  microbatch_spread shared;
  shared.tensor = any_group(inside);
  shared.tensor_rows = {3, 0, 4};
  shared.pieces = 2;
  told_context ctx{&shared};
  const exchanged_pieces<told_context> pieces(ctx, 5, 2);  // five numbers of two bytes
  REQUIRE(pieces.count() == 2);
  CHECK(pieces.first_own_row() == 3);
  some all_rows;
  for (isize p = 0; p < 2; ++p) {
    const some counts = kept(pieces.counts(p)), places = kept(pieces.places(p));
    CHECK(counts[1] == 0);
    CHECK(pieces.own(p) == places[1]);
    isize rows = 0;
    pieces.each_run(p, [&](const sequences& told, interval at) {
      CHECK(told.rows() == at.size());
      CHECK((at.begin >= 3 ? places[2] : places[0]) == 10 * at.begin);
      CHECK((at.begin >= 3 ? counts[2] : counts[0]) == 10 * at.size());
      for (isize r = at.begin; r < at.end; ++r) all_rows.push_back(r);
      rows += at.size();
    });
    CHECK(rows >= 3);
  }
  std::sort(all_rows.begin(), all_rows.end());
  CHECK(all_rows == some{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("work is called for whom it was given to") {
  int told = 0;
  const auto work = [&](const sequences& some, interval rows) {
    told += static_cast<int>(some.rows() + rows.end);
  };
  const row_work kept_work(work);
  kept_work(sequences{2, 1, nullptr}, interval{3, 5});
  CHECK(told == 7);
}

}  // namespace motet
