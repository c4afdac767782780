// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/optimus/search_filled.hpp>

#include <doctest/doctest.h>

#include <numeric>

using namespace motet;

namespace {

filled_answer found_by(filled_search by, const char* model, const char* cluster, motet::index batch) {
  const filled_costs costs(*find_filled_model(model), cluster_named(cluster));
  return search_filled(by, costs, batch);
}
// The published layout: four encoder pipelines of two stages and tensor 8 beside each of the language
// model's.
encoder_placement published_layout(const char* cluster, placement_rules rules = {}) {
  const filled_costs costs(*find_filled_model("vit-22b+gpt-175b"), cluster_named(cluster));
  const motet::index replicas = costs.cluster().devices() / 64, count = 1536 / (2 * replicas);
  const layered_model& talk = costs.model().language;
  pipeline_work language;
  language.exchange = costs.exchange(talk, 8);
  for (int s = 0; s < 96; ++s) {
    language.forward.push_back(costs.whole_forward(talk, 8));
    language.backward.push_back(costs.whole_backward(talk, 8));
    language.exchanges_forward.push_back(filled_costs::exchanges);
    language.exchanges_back.push_back(filled_costs::exchanges_back);
  }
  const grid_3d grid{replicas, 8, 8};
  const pipeline_gaps gaps =
      find_gaps(language, 8, count, costs.gather(grid), costs.scatter(grid), costs.rates().gap_sigma);
  return place_encoders(gaps, detail::filled_searcher(costs, 1536).work_of_encoders(2, 8).value(),
                        std::vector<motet::index>(4, count / 4), rules);
}

}  // namespace

TEST_CASE("O4: shares of encoder work in the gaps at both ends, on three clusters") {
  CHECK(published_layout("hopper-3072").filled_coarse == doctest::Approx(0.687).epsilon(0.03));
  CHECK(published_layout("hopper-2048").filled_coarse == doctest::Approx(0.458).epsilon(0.03));
  CHECK(published_layout("hopper-1536").filled_coarse == doctest::Approx(0.343).epsilon(0.03));
}
TEST_CASE("O5: with the gaps between") {
  // Within 11 points; the published shares fall faster.
  CHECK(std::abs(published_layout("hopper-3072").filled_fine - 0.85) < 0.11);
  CHECK(std::abs(published_layout("hopper-2048").filled_fine - 0.693) < 0.08);
  CHECK(std::abs(published_layout("hopper-1536").filled_fine - 0.575) < 0.115);
  for (const char* const cluster : {"hopper-3072", "hopper-2048", "hopper-1536"})
    CHECK(published_layout(cluster, {.slices = true, .goes_on = true}).filled_fine > 0.9);
}
TEST_CASE("O6 to O8: strong scaling of three systems") {
  const struct {
    const char* cluster;
    double megatron, balanced, optimus;
  } rows[] = {{"hopper-1536", 10.65, 10.43, 9.80}, {"hopper-3072", 5.91, 5.87, 4.87}};
  double before = 0;
  for (const auto& each : rows) {
    CAPTURE(each.cluster);
    const auto by = [&](filled_search how) { return found_by(how, "vit-22b+gpt-175b", each.cluster, 1536); };
    const filled_answer first = by(filled_search::megatron), balanced = by(filled_search::balanced),
                        filled = by(filled_search::optimus), own = by(filled_search::motet);
    CHECK(first.step_seconds == doctest::Approx(each.megatron).epsilon(0.06));
    CHECK(balanced.step_seconds == doctest::Approx(each.balanced).epsilon(0.08));
    CHECK(filled.step_seconds == doctest::Approx(each.optimus).epsilon(0.10));
    CHECK(published_layout(each.cluster).seconds == doctest::Approx(each.optimus).epsilon(0.08));
    CHECK((own.step_seconds <= filled.step_seconds && own.step_seconds <= balanced.step_seconds));
    CHECK((filled.mfu > 0.34 && filled.mfu < 0.38));
    // More devices for the same batch gain more.
    CHECK(balanced.step_seconds / filled.step_seconds > before);
    before = balanced.step_seconds / filled.step_seconds;
    CHECK(filled.memory_bytes < 1.12 * first.memory_bytes);
  }
}
TEST_CASE("O9, O10: weak scaling, and two encoders") {
  const struct {
    const char *model, *cluster;
    motet::index batch;
  } rows[] = {{"vit-11b+llama-70b", "hopper-64", 32},
              {"vit-22b+llama-70b", "hopper-128", 64},
              {"vit-11b+gpt-175b", "hopper-256", 128},
              {"vit-22b+gpt-175b", "hopper-512", 256}};
  double most = 0;
  for (const auto& each : rows) {
    const auto seconds = [&](filled_search by) {
      return found_by(by, each.model, each.cluster, each.batch).step_seconds;
    };
    CHECK(seconds(filled_search::optimus) < seconds(filled_search::balanced));
    CHECK(seconds(filled_search::motet) <= seconds(filled_search::optimus));
    most = std::max(most, seconds(filled_search::balanced) / seconds(filled_search::optimus));
  }
  CHECK(std::abs(most - 1.18) < 0.05);
  double gains[2];
  int k = 0;
  for (const char* const model : {"vit-11b+vit-5b+gpt-175b", "vit-22b+vit-11b+gpt-175b"})
    gains[k++] = found_by(filled_search::megatron, model, "hopper-512", 256).step_seconds /
                 found_by(filled_search::optimus, model, "hopper-512", 256).step_seconds;
  CHECK((gains[0] > 1.15 && gains[1] > gains[0]));
}
TEST_CASE("O15: layers split so that the slowest range is as fast as can be") {
  const random_stream draw(1, "layers");
  for (std::uint64_t n = 0; n < 60; ++n) {
    CAPTURE(n);
    std::vector<double> times;
    for (std::uint64_t l = 0; l < 3 + n % 6; ++l) times.push_back(1 + draw.below(100 * n + l, 9));
    const motet::index parts = 1 + static_cast<motet::index>(n % 4);
    const std::vector<motet::index> ends = detail::filled_searcher::split_evenly(times, parts);
    REQUIRE(static_cast<motet::index>(ends.size()) == parts);
    REQUIRE(ends.back() == static_cast<motet::index>(times.size()));
    const auto longest_of = [&](const std::vector<motet::index>& cuts) {
      double longest = 0;
      motet::index begin = 0;
      for (const motet::index end : cuts) {
        longest = std::max(longest, std::accumulate(times.begin() + begin, times.begin() + end, 0.0));
        begin = end;
      }
      return longest;
    };
    // All ways to cut.
    double least = 1e300;
    std::vector<motet::index> cuts(static_cast<std::size_t>(parts), 0);
    cuts.back() = static_cast<motet::index>(times.size());
    const auto all = [&](auto& self, std::size_t at, motet::index from) -> void {
      if (at + 1 == cuts.size()) {
        least = std::min(least, longest_of(cuts));
        return;
      }
      for (motet::index end = from; end <= static_cast<motet::index>(times.size()); ++end) {
        cuts[at] = end;
        self(self, at + 1, end);
      }
    };
    all(all, 0, 0);
    CHECK(longest_of(ends) == doctest::Approx(least));
  }
}
TEST_CASE("what does not fit is said") {
  CHECK_THROWS_WITH_AS(found_by(filled_search::optimus, "vit-22b+gpt-175b", "hopper-24", 256),
                       doctest::Contains("MT-P85"), error);
  CHECK_THROWS_WITH_AS(found_by(filled_search::motet, "vit-22b+gpt-175b", "hopper-8", 256),
                       doctest::Contains("do not fit beside each other"), error);
}
