// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/optimus/pipeline_gaps.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

std::vector<pipeline_stage> even_work(std::size_t stages, double forward, double backward,
                                      motet::isize exchanges, double each) {
  return {stages,
          {forward, backward, exchanges, 2 * exchanges, static_cast<double>(exchanges) * each,
           static_cast<double>(2 * exchanges) * each, 10, 3}};
}

}  // namespace

TEST_CASE("gaps, work and what stands at both ends are the whole step, on every device") {
  for (const motet::isize chunks : {1, 2, 3})
    for (const motet::isize count : {4, 8}) {
      CAPTURE(chunks);
      CAPTURE(count);
      const pipeline_gaps found = find_gaps(
          even_work(static_cast<std::size_t>(4 * chunks), 1.0, 2.0, 3, 0.05), 4, count, 0.5, 0.7, 0.4);
      const double per_device = static_cast<double>(chunks * count);
      for (std::size_t d = 0; d < 4; ++d) {
        CHECK(found.busy[d] == doctest::Approx(per_device * (3.0 - 9 * 0.05)));
        CHECK(found.exchanging[d] == doctest::Approx(per_device * 9 * 0.05));
        double inside = 0, before = found.first[d];
        for (const time_slot& each : found.inside[d]) {
          REQUIRE(each.length() > 0);
          REQUIRE(each.start >= before - 1e-9);
          before = each.end;
          inside += each.length();
        }
        CHECK(before <= found.last[d] + 1e-9);
        CHECK(found.last[d] - found.first[d] == doctest::Approx(found.busy[d] + inside));
        CHECK(found.first[d] >= 0.5);
        CHECK(found.last[d] <= found.seconds - 0.7 + 1e-9);
      }
      // 1F1B keeps as many microbatches as there are stages from here on; chunks run ahead.
      for (std::size_t d = 0; d < 4; ++d)
        CHECK(found.bytes[d] ==
              doctest::Approx(10.0 * static_cast<double>(chunks) +
                              3 * (chunks == 1  ? static_cast<double>(4 - d)
                                   : count == 4 ? per_device
                                                : static_cast<double>(2 * (3 - d) + 1) +
                                                      4.0 * static_cast<double>(chunks - 1))));
      // Microbatches are needed in turn, and gradients come behind.
      for (std::size_t m = 0; m < found.needed.size(); ++m) {
        if (m > 0) CHECK((found.needed[m] > found.needed[m - 1] && found.given[m] > found.given[m - 1]));
        CHECK(found.given[m] > found.needed[m]);
      }
      CHECK(found.needed[0] == doctest::Approx(0.5));
    }
}
TEST_CASE("without exchanges the gaps of one stage are none") {
  const pipeline_gaps found = find_gaps(even_work(1, 1, 2, 0, 0), 1, 5, 0, 0, 0.5);
  CHECK(found.seconds == doctest::Approx(15));
  CHECK(found.inside[0].empty());
}
