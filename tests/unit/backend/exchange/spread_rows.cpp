// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/exchange/spread_rows.hpp>

#include <doctest/doctest.h>

#include <motet/tensor/random.hpp>

#include <set>

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
                  const row_parts* cut, isize part) {
  held_rows out;
  REQUIRE(seq.samples == static_cast<isize>(samples.size()));
  for (isize i = 0; i < seq.samples; ++i) {
    const isize s = samples[static_cast<std::size_t>(i)], rows = whole.rows_of(s);
    REQUIRE(seq.rows_of(i) == (cut ? cut->rows_of(rows, part) : rows));
    for (isize r = 0; r < seq.rows_of(i); ++r) out.push_back({s, cut ? cut->position(rows, part, r) : r});
  }
  REQUIRE(seq.rows() == static_cast<isize>(out.size()));
  return out;
}

std::vector<isize> list(interval of) {
  std::vector<isize> out;
  for (isize i = of.begin; i < of.end; ++i) out.push_back(i);
  return out;
}

void check_all(const sequences& whole, isize tensor, isize context, bool balanced) {
  std::multiset<held> own, mine;
  for (isize t = 0; t < tensor; ++t)
    for (isize c = 0; c < context; ++c) {
      spread_rows rows({tensor, t, context, c, balanced}, whole.samples);
      microbatch_spread is;
      rows.fill(whole, is);
      const interval members = share(whole.samples, tensor, t), few = share(members.size(), context, c);
      const auto of_mine = list({members.begin + few.begin, members.begin + few.end});
      CHECK(is.cut.parts == context);
      CHECK(is.cut.balanced == balanced);
      CHECK(is.whole.samples == whole.samples);
      CHECK(is.whole.rows() == whole.rows());
      const auto part = rows_of(is.part, list({0, whole.samples}), whole, &is.cut, c);
      const auto of_own = rows_of(is.own, list(members), whole, &is.cut, c);
      rows_of(is.full, list(members), whole, nullptr, 0);
      const auto all_of_mine = rows_of(is.mine, of_mine, whole, nullptr, 0);
      own.insert(of_own.begin(), of_own.end());
      mine.insert(all_of_mine.begin(), all_of_mine.end());

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
        check_all({7, 10, nullptr}, tensor, context, balanced);
        for (isize samples = 0; samples <= 9; ++samples) {
          const auto offsets = ragged(samples, static_cast<std::uint64_t>(17 * samples + tensor));
          check_all({samples, 1, offsets.data()}, tensor, context, balanced);
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

TEST_CASE("one object serves many microbatches and allocates for none of them") {
  spread_rows rows({2, 0, 2, 1, false}, 9);
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
  for (std::size_t b = 0; b < batches.size(); ++b)
    CHECK(part_rows[b] == row_parts{2, false}.rows_of({static_cast<isize>(b), 1, batches[b].data()}, 1));
}

}  // namespace
}  // namespace motet
