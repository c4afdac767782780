// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/exchange/spread_rows.hpp>

#include <doctest/doctest.h>

#include <motet/tensor/random.hpp>

#include <algorithm>
#include <set>
#include <vector>

#include "../../runtime/allocations.hpp"

namespace motet {
namespace {

struct held {
  isize sample, row;
  auto operator<=>(const held&) const = default;
};
using held_rows = std::vector<held>;

std::vector<isize> ragged(isize samples, std::uint64_t seed) {
  const random_stream draw(seed, "rows");
  std::vector<isize> offsets{0};
  for (isize s = 0; s < samples; ++s)
    offsets.push_back(offsets.back() + static_cast<isize>(draw.word(static_cast<std::uint64_t>(s)) % 12));
  return offsets;
}

// Each row of a sequence, by its place in the batch, as the list of samples and the cut say; checks the
// counts on the way.
held_rows rows_of(const sequences& seq, const std::vector<isize>& samples, const sequences& whole,
                  const microbatch_spread* is, isize part) {
  held_rows out;
  REQUIRE(seq.samples == static_cast<isize>(samples.size()));
  for (isize i = 0; i < seq.samples; ++i) {
    const isize s = samples[static_cast<std::size_t>(i)], rows = whole.rows_of(s);
    const row_parts cut = is ? is->cut_of(s) : row_parts{};
    REQUIRE(seq.rows_of(i) == cut.rows_of(rows, part));
    for (isize r = 0; r < seq.rows_of(i); ++r) out.push_back({s, cut.position(rows, part, r)});
  }
  REQUIRE(seq.rows() == static_cast<isize>(out.size()));
  return out;
}

std::vector<isize> list(interval of) {
  std::vector<isize> out;
  for (isize i = of.begin; i < of.end; ++i) out.push_back(i);
  return out;
}

void check_all(const sequences& whole, isize tensor, isize context, bool balanced, isize long_rows = 0) {
  std::multiset<held> own, mine;
  for (isize t = 0; t < tensor; ++t)
    for (isize c = 0; c < context; ++c) {
      spread_rows rows({tensor, t, context, c, balanced, long_rows}, whole.samples);
      microbatch_spread is;
      rows.fill(whole, is);
      const interval members = share(whole.samples, tensor, t), few = share(members.size(), context, c);
      const auto of_mine = list({members.begin + few.begin, members.begin + few.end});
      CHECK(is.cut.parts == context);
      CHECK(is.cut.balanced == balanced);
      CHECK(is.whole.samples == whole.samples);
      CHECK(is.whole.rows() == whole.rows());
      const auto part = rows_of(is.part, list({0, whole.samples}), whole, &is, c);
      const auto of_own = rows_of(is.own, list(members), whole, &is, c);
      rows_of(is.full, list(members), whole, nullptr, 0);
      const auto all_of_mine = rows_of(is.mine, of_mine, whole, nullptr, 0);
      own.insert(of_own.begin(), of_own.end());
      mine.insert(all_of_mine.begin(), all_of_mine.end());

      // What stays whole is where its samples are embedded; counts of parts are those of their rows.
      for (const isize s : of_mine)
        if (context > 1 && whole.rows_of(s) < long_rows) CHECK(is.cut_of(s).home == c);
      CHECK(is.part_rows_cut[static_cast<std::size_t>(c)] == is.cut_part.rows());
      CHECK(is.rows_whole == is.stays.rows());
      for (isize s = 0; s < whole.samples; ++s) {
        const isize count = whole.rows_of(s);
        const bool stays = context > 1 && count < long_rows;
        CHECK(is.cut_whole.rows_of(s) == (stays ? 0 : count));
        CHECK(is.cut_part.rows_of(s) == (stays ? 0 : is.part.rows_of(s)));
        CHECK(is.stays.rows_of(s) == (stays ? is.part.rows_of(s) : 0));
      }
      CHECK(is.rows_of_part(is.mine, is.first_mine, c) <= is.mine.rows());
      isize longest = 0;
      for (isize s = 0; s < whole.samples; ++s)
        for (isize p = 0; p < is.cut.pieces(); ++p)
          longest = std::max(longest, is.cut_of(s).piece(whole.rows_of(s), c, p).size());
      CHECK(longest <= is.longest_piece);

      // This member's rows lie in `part` behind those of the members before it.
      REQUIRE(static_cast<isize>(is.tensor_rows.size()) == tensor);
      isize before = 0, sum = 0;
      for (isize m = 0; m < tensor; ++m) {
        const isize count = is.tensor_rows[static_cast<std::size_t>(m)];
        before += m < t ? count : 0;
        sum += count;
      }
      CHECK(sum == is.part.rows());
      CHECK(is.tensor_rows[static_cast<std::size_t>(t)] == is.own.rows());
      CHECK(std::equal(of_own.begin(), of_own.end(), part.begin() + before));

      if (context == 1) {
        CHECK(is.ends == nullptr);
        continue;
      }
      REQUIRE(is.ends != nullptr);
      std::vector<isize> gathered;
      isize mine_before = 0;
      for (isize m = 0; m < tensor; ++m) {
        const interval theirs = share(whole.samples, tensor, m), part_of = share(theirs.size(), context, c);
        for (isize s = theirs.begin + part_of.begin; s < theirs.begin + part_of.end; ++s)
          gathered.push_back(s);
        mine_before += m < t ? is.ends->tensor_rows[static_cast<std::size_t>(m)] : 0;
      }
      const auto at_ends = rows_of(is.ends->part, gathered, whole, nullptr, 0);
      CHECK(is.ends->tensor_rows[static_cast<std::size_t>(t)] == is.mine.rows());
      CHECK(std::equal(all_of_mine.begin(), all_of_mine.end(), at_ends.begin() + mine_before));
      CHECK(is.ends->own.rows() == is.mine.rows());
      CHECK(is.ends->context.alone());
      CHECK(is.ends->cut.parts == 1);
    }
  // Over all ranks each row is once among the rows of blocks, and once among the rows of whole samples.
  CHECK(static_cast<isize>(own.size()) == whole.rows());
  CHECK(std::set<held>(own.begin(), own.end()).size() == own.size());
  CHECK(own == mine);
}

TEST_CASE("every row has its ranks, whatever the degrees") {
  for (const bool balanced : {false, true})
    for (isize tensor = 1; tensor <= 3; ++tensor)
      for (isize context = 1; context <= 3; ++context) {
        check_all({0, 5, nullptr}, tensor, context, balanced);
        check_all({1, 1, nullptr}, tensor, context, balanced);
        for (const isize long_rows : {0, 10, 11})
          check_all({7, 10, nullptr}, tensor, context, balanced, long_rows);
        for (isize samples = 0; samples <= 9; ++samples) {
          const auto offsets = ragged(samples, static_cast<std::uint64_t>(17 * samples + tensor));
          for (const isize long_rows : {0, 1, 6, 12})
            check_all({samples, 1, offsets.data()}, tensor, context, balanced, long_rows);
        }
      }
}

TEST_CASE("samples of equal length keep no offsets") {
  spread_rows rows({2, 1, 2, 0, true}, 8);
  microbatch_spread is;
  rows.fill({8, 10, nullptr}, is);
  for (const sequences& each : {is.whole, is.part, is.own, is.full, is.mine, is.ends->part})
    CHECK(each.offsets == nullptr);
  CHECK(is.own.length == 5);
  CHECK(is.mine.samples == 2);
}

TEST_CASE("samples of several sequences stay where they are embedded, each by its own rows") {
  const isize offsets[] = {0, 3, 12, 14, 15, 20}, first[] = {0, 2, 2, 5};
  for (isize c = 0; c < 2; ++c) {
    spread_rows rows({1, 0, 2, c, false, 6}, 5);
    microbatch_spread is;
    rows.fill({5, 1, offsets}, {3, first}, is);
    CHECK(is.homes == std::vector<isize>{0, 0, 1, 1, 1});
    CHECK(is.own.rows() == (c == 0 ? 3 + 5 : 4 + 2 + 1 + 5));
    CHECK(is.mine.rows() == (c == 0 ? 12 : 8));
  }
}

TEST_CASE("no microbatch of samples that are no longer has more rows than a dry run was told") {
  const random_stream draw(5, "most");
  std::uint64_t at = 0;
  const auto some = [&](isize most) {
    return static_cast<isize>(draw.word(at++) % static_cast<std::uint64_t>(most));
  };
  for (isize round = 0; round < 400; ++round) {
    const isize context = 2 + some(3), samples = 1 + some(6), longest = 1 + some(20), long_rows = some(24);
    spread_rows rows({1, 0, context, some(context), some(2) == 0, long_rows}, samples);
    microbatch_spread most, is;
    rows.fill_most({samples, longest, nullptr}, {samples, nullptr}, most);
    const isize most_own = most.own.rows(), most_part = most.part.rows(), most_piece = most.longest_piece,
                most_cut = most.cut_whole.rows(), most_cut_part = most.cut_part.rows(),
                most_whole = most.rows_whole;
    std::vector<isize> offsets{0};
    for (isize s = 0; s < samples; ++s) offsets.push_back(offsets.back() + some(longest + 1));
    rows.fill({samples, 1, offsets.data()}, is);
    CHECK(is.own.rows() <= most_own);
    CHECK(is.part.rows() <= most_part);
    CHECK(is.cut_whole.rows() <= most_cut);
    CHECK(is.cut_part.rows() <= most_cut_part);
    CHECK(is.rows_whole <= most_whole);
    CHECK(is.longest_piece <= most_piece);
  }
}

TEST_CASE("allocations are counted, by whatever counts them here") {
  const long before = allocations, pages = page_bytes;
  std::vector<int> small(3);
  CHECK(allocations == before + 1);
  ::operator delete(::operator new(8192, std::align_val_t(4096)), std::align_val_t(4096));
  CHECK(allocations == before + 2);
  CHECK(page_bytes == pages + 8192);
}
TEST_CASE("one object serves many microbatches and allocates for none of them") {
  for (const isize long_rows : {0, 6}) {
    spread_rows rows({2, 0, 2, 1, false, long_rows}, 9);
    std::vector<std::vector<isize>> batches;
    for (isize samples = 0; samples <= 9; ++samples)
      batches.push_back(ragged(samples, static_cast<std::uint64_t>(samples)));
    microbatch_spread is;
    rows.fill({0, 1, nullptr}, is);
    std::vector<isize> part_rows;
    part_rows.reserve(batches.size());
    const long before = allocations;
    for (const auto& offsets : batches) {
      rows.fill({static_cast<isize>(offsets.size()) - 1, 1, offsets.data()}, is);
      part_rows.push_back(is.part.rows());
    }
    const long after = allocations;
    CHECK(after == before);
    if (long_rows > 0) continue;
    for (std::size_t b = 0; b < batches.size(); ++b)
      CHECK(part_rows[b] == row_parts{2, false}.rows_of({static_cast<isize>(b), 1, batches[b].data()}, 1));
  }
}

}  // namespace
}  // namespace motet
