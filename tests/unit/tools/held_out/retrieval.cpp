// SPDX-License-Identifier: Apache-2.0
#include <motet/tools/held_out/retrieval.hpp>

#include <motet/tensor/random.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {
using rows = std::vector<float>;
retrieval_result ask(const rows& pictures, const rows& captions, const std::vector<motet::isize>& group,
                     motet::isize width, motet::isize threads = 1) {
  const auto count = static_cast<motet::isize>(group.size());
  return retrieval<float>({pictures.data(), count, width, width}, {captions.data(), count, width, width},
                          group, threads);
}
}  // namespace

TEST_CASE("own answers, wrong ones, ties and groups") {
  // Three pictures of two numbers each; captions are the same directions, the last two exchanged.
  const rows pictures{1, 0, 0, 1, -1, 0}, captions{1, 0, -1, 0, 0, 1};
  const retrieval_result apart = ask(pictures, captions, {0, 1, 2}, 2);
  CHECK(apart.samples == 3);
  CHECK(apart.pictures == std::array<motet::isize, 3>{1, 3, 3});
  CHECK(apart.captions == std::array<motet::isize, 3>{1, 3, 3});
  CHECK(apart.picture_share(0) == doctest::Approx(1.0 / 3));
  // Were the last two of one group, each would be the other's right answer.
  CHECK(ask(pictures, captions, {0, 1, 1}, 2).pictures[0] == 3);
  CHECK(ask(pictures, captions, {0, 1, 1}, 2).captions[0] == 3);
  // Every wrong answer stands before the right one where all are equally near.
  const retrieval_result tied = ask(rows(12, 1.0f), rows(12, 1.0f), {0, 1, 2, 3, 4, 5}, 2);
  CHECK(tied.pictures == std::array<motet::isize, 3>{0, 0, 6});
  CHECK(ask({}, {}, {}, 4).samples == 0);
}

TEST_CASE("features that are no numbers find nothing") {
  const rows good{1, 0, 0, 1, -1, 0, 0, -1, 1, 1, -1, -1}, bad(12, std::numeric_limits<float>::quiet_NaN());
  const std::vector<motet::isize> apart{0, 1, 2, 3, 4, 5};
  const std::array<std::array<const rows*, 2>, 3> cases{{{&bad, &bad}, {&bad, &good}, {&good, &bad}}};
  for (const auto& [pictures, captions] : cases) {
    const retrieval_result found = ask(*pictures, *captions, apart, 2);
    CHECK(found.pictures == std::array<motet::isize, 3>{0, 0, 6});
    CHECK(found.captions == std::array<motet::isize, 3>{0, 0, 6});
  }
  const rows unit{1, 0, 0, 1, -1, 0};
  rows one = unit;
  one[0] = bad[0];
  CHECK(ask(unit, unit, {0, 1, 2}, 2).pictures[0] == 3);
  CHECK(ask(one, unit, {0, 1, 2}, 2).pictures[0] == 2);
}

TEST_CASE("the counts are those of sorting all answers, whatever the threads") {
  const motet::isize count = 150, width = 21;
  const random_stream draws(5, "features");
  rows pictures, captions;
  std::vector<motet::isize> group;
  for (motet::isize i = 0; i < count * width; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    pictures.push_back(static_cast<float>(draws.below(at, 2001)) / 1000 - 1);
    // Captions are their pictures with noise, so that some are found.
    captions.push_back(pictures.back() + static_cast<float>(draws.below(at + 100000, 4001)) / 1000 - 2);
  }
  for (motet::isize i = 0; i < count; ++i) group.push_back(i % 140);
  std::array<motet::isize, 3> wanted{};
  for (motet::isize p = 0; p < count; ++p) {
    std::vector<std::pair<double, bool>> all;  // nearest first; of equal ones the wrong first
    for (motet::isize c = 0; c < count; ++c) {
      double product = 0;
      for (motet::isize k = 0; k < width; ++k)
        product += static_cast<double>(pictures[as_size(p * width + k)]) *
                   static_cast<double>(captions[as_size(c * width + k)]);
      all.emplace_back(-product, group[as_size(p)] == group[as_size(c)]);
    }
    std::sort(all.begin(), all.end());
    const auto right = std::find_if(all.begin(), all.end(), [](const auto& each) { return each.second; });
    for (std::size_t which = 0; which < 3; ++which)
      if (right - all.begin() < retrieval_result::within[which]) ++wanted[which];
  }
  for (const motet::isize threads : {1, 4}) {
    const retrieval_result found = ask(pictures, captions, group, width, threads);
    CHECK(found.pictures == wanted);
    CHECK(found.captions[0] <= found.captions[1]);
  }
  CHECK(wanted[0] > 5);
  CHECK(wanted[2] < count);
}
