// SPDX-License-Identifier: Apache-2.0
#include <motet/tensor/random.hpp>
#include <motet/tensor/sequences.hpp>

#include <doctest/doctest.h>

#include <vector>

using motet::interval;
using motet::isize;
using motet::sequences;

static_assert(sequences{3, 5, nullptr}.rows() == 15);
static_assert(sequences{3, 5, nullptr}.begin(2) == 10 && sequences{3, 5, nullptr}.rows_of(2) == 5);
static_assert(sequences{3, 5, nullptr}.pooled().rows() == 3);
static_assert(sequences{0, 5, nullptr}.rows() == 0);

namespace {

// The parts are whole samples, in order, and together they are everything.
void check_parts(const sequences& seq, isize parts) {
  isize sample = 0, row = 0;
  for (isize p = 0; p < parts; ++p) {
    const interval samples = seq.part(p, parts), rows = seq.part_rows(p, parts);
    CHECK_EQ(samples.begin, sample);
    CHECK_EQ(rows.begin, row);
    CHECK(samples.size() >= 0);
    CHECK_EQ(rows.end, seq.begin(samples.end));
    sample = samples.end;
    row = rows.end;
  }
  CHECK_EQ(sample, seq.samples);
  CHECK_EQ(row, seq.rows());
}

}  // namespace

TEST_CASE("equal samples are shared out evenly") {
  for (isize samples = 0; samples <= 9; ++samples)
    for (isize parts = 1; parts <= 11; ++parts) {
      const sequences seq{samples, 4, nullptr};
      check_parts(seq, parts);
      for (isize p = 0; p < parts; ++p) {
        CHECK(seq.part(p, parts).size() >= samples / parts);
        CHECK(seq.part(p, parts).size() <= samples / parts + 1);
      }
    }
}

TEST_CASE("ragged samples, empty ones too, are shared out whole, and rows as evenly as that allows") {
  const motet::random_stream random(5, "ragged");
  std::uint64_t draw = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<isize> offsets{0};
    isize longest = 0;
    const isize samples = random.below(draw++, 12);
    for (isize s = 0; s < samples; ++s) {
      const isize length = random.below(draw++, 3) == 0 ? 0 : static_cast<isize>(random.below(draw++, 40));
      longest = length > longest ? length : longest;
      offsets.push_back(offsets.back() + length);
    }
    const sequences seq{samples, 0, offsets.data()};
    for (isize s = 0; s < samples; ++s)
      CHECK_EQ(seq.rows_of(s),
               offsets[static_cast<std::size_t>(s) + 1] - offsets[static_cast<std::size_t>(s)]);
    for (isize parts = 1; parts <= 5; ++parts) {
      check_parts(seq, parts);
      for (isize p = 0; p < parts; ++p)
        CHECK(seq.part_rows(p, parts).size() <= seq.rows() / parts + 1 + longest);
    }
  }
}
