// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/sharing_rule.hpp>
#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace motet;

namespace {

constexpr isize longest_sequence = 18;

// Samples of up to two sequences, and ranks that share them.
struct drawn_sharing {
  sharing_rule by;
  std::vector<isize> offsets{0}, first{0};
  explicit drawn_sharing(std::uint64_t seed) {
    const random_stream draw(seed, "sharing");
    std::uint64_t at = 0;
    const auto below = [&](std::uint32_t count) { return static_cast<isize>(draw.below(at++, count)); };
    by.tensor = 1 + below(2);
    by.context = 2 + below(3);
    by.balanced = below(2) == 0;
    by.split = {4 + below(14), 1, 1 + below(2), 1 + below(4)};
    by.costs = {.row = 1e-6, .pair = 1e-9, .exchanged = 1e-7, .round = below(2) == 0 ? 1e-3 : 0};
    for (isize s = 0; s < by.split.samples; ++s) {
      for (isize k = below(3); k > 0; --k)
        offsets.push_back(offsets.back() + (below(2) == 0 ? longest_sequence - below(3) : below(7)));
      first.push_back(static_cast<isize>(offsets.size()) - 1);
    }
  }
  counted_sequences step() const {
    return {{static_cast<isize>(offsets.size()) - 1, 1, offsets.data()}, {by.split.samples, first.data()}};
  }
};

}  // namespace

TEST_CASE("ranks need no more for what a step keeps whole than a dry run had where all is cut") {
  int mixed = 0;
  const list<isize> longest{longest_sequence, longest_sequence};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const drawn_sharing of(seed);
    const sharing_rule& by = of.by;
    const seated_rows seats = seats_of_step(by, of.step(), longest);
    const isize long_rows = find_long_rows(by.costs, seats);
    bool cut = false, whole = false;
    isize seat = 0;
    for (isize r = 0; r < by.split.replicas; ++r) {
      isize most = 0;
      for (isize m = 0; m < by.split.microbatches; ++m) most = std::max(most, by.split.of(0, r, m).size());
      for (isize m = 0; m < by.split.microbatches; ++m) {
        const interval samples = by.split.of(0, r, m);
        std::vector<isize> offsets{0}, first{0}, even, twos;
        for (isize s = samples.begin; s < samples.end; ++s) {
          for (isize k = of.first[as_size(s)]; k < of.first[as_size(s + 1)]; ++k)
            offsets.push_back(offsets.back() + of.step().rows.rows_of(k));
          first.push_back(static_cast<isize>(offsets.size()) - 1);
        }
        for (isize k = 0; k <= 2 * most; ++k) even.push_back(k * longest_sequence);
        for (isize k = 0; k <= most; ++k) twos.push_back(2 * k);
        const sequences rows{first.back(), 1, offsets.data()}, all{2 * most, 1, even.data()};
        const isize first_seat = seat;
        for (isize t = 0; t < by.tensor; ++t)
          for (isize c = 0; c < by.context; ++c) {
            spread_rows places({by.tensor, t, by.context, c, by.balanced, -1}, 2 * most);
            microbatch_spread dry, is;
            places.fill_most(all, {most, twos.data()}, dry);
            places.keep_whole(long_rows);
            places.fill(rows, {samples.size(), first.data()}, is);
            CHECK(is.own.rows() <= dry.own.rows());
            CHECK(is.part.rows() <= dry.part.rows());
            CHECK(is.rows_whole <= dry.rows_whole);
            CHECK(is.longest_piece <= dry.longest_piece);
            CHECK(is.cut_whole.rows() <= dry.cut_whole.rows());
            CHECK(is.cut_part.rows() <= dry.cut_part.rows());
            for (isize p = 0; p < by.context; ++p)
              CHECK(is.part_rows_cut[as_size(p)] <= dry.part_rows_cut[as_size(p)]);
            // Seats are where the ranks see them.
            seat = first_seat;
            for (isize k = 0; k < rows.samples; ++k, ++seat) {
              CHECK(seats.samples[seat].rows == rows.rows_of(k));
              if (long_rows > 0) CHECK(seats.samples[seat].home == is.homes[as_size(k)]);
              if (rows.rows_of(k) > 0) (rows.rows_of(k) < long_rows ? whole : cut) = true;
            }
          }
      }
    }
    CHECK(seat == seats.samples.size());
    mixed += cut && whole ? 1 : 0;
  }
  CHECK(mixed >= 10);
}

TEST_CASE("each microbatch is a turn, and each tensor member of it a cell with room of its own") {
  const std::vector<isize> offsets{0, 3, 7, 8, 20};
  const sharing_rule by{.split = {4, 1, 1, 2}, .tensor = 2, .context = 2};
  const seated_rows found = seats_of_step(by, {{4, 1, offsets.data()}, {4, nullptr}}, {9});
  REQUIRE(found.samples.size() == 4);
  for (isize k = 0; k < 4; ++k) {
    CHECK(found.samples[k].rows == offsets[as_size(k + 1)] - offsets[as_size(k)]);
    CHECK(found.samples[k].turn == k / 2);
    CHECK(found.samples[k].cell == k);
    CHECK(found.samples[k].home == 0);
  }
  CHECK(found.room == list<isize>{5, 4, 5, 4, 5, 4, 5, 4});
}
