// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/optimus/search_filled.hpp>

#include <doctest/doctest.h>

#include <numeric>

using namespace motet;

namespace {

filled_answer found_by(filled_search by, const char* model, const char* cluster, motet::isize batch) {
  const filled_costs costs(*find_filled_model(model), cluster_named(cluster));
  return search_filled(by, costs, batch);
}
// The published layout of 8 stages of tensor groups of 8, in so many chunks.
pipeline_gaps published_gaps(const filled_costs& costs, motet::isize chunks,
                             std::optional<double> sigma = {}) {
  const grid_3d grid{costs.cluster().devices() / 64, 8, 8};
  return find_gaps(even_stages(costs, costs.model().language, grid, chunks), 8, 1536 / (2 * grid.data),
                   costs.gather(grid), costs.scatter(grid), sigma);
}
// With four encoder pipelines of two stages and tensor 8 beside each of the language model's.
encoder_placement published_layout(const char* cluster, placement_rules rules = {}, bool frozen = false) {
  filled_model model = *find_filled_model("vit-22b+gpt-175b");
  model.frozen = frozen;
  const filled_costs costs(model, cluster_named(cluster));
  const pipeline_gaps gaps = published_gaps(costs, 12, costs.rates().gap_sigma);
  const auto count = static_cast<motet::isize>(gaps.needed.size());
  return place_encoders(gaps, detail::filled_searcher(costs, 1536).work_of_encoders(2, 8).value(),
                        std::vector<motet::isize>(4, count / 4), rules);
}

// All ways to deal microbatches to pipelines, none without.
template <class Visit>
void each_deal(motet::isize microbatches, std::vector<motet::isize> parts, std::size_t at, Visit visit) {
  if (at + 1 == parts.size()) {
    parts[at] = microbatches;
    return visit(parts);
  }
  const auto behind = static_cast<motet::isize>(parts.size() - at - 1);
  for (motet::isize k = 1; k + behind <= microbatches; ++k) {
    parts[at] = k;
    each_deal(microbatches - k, parts, at + 1, visit);
  }
}
motet::isize count_deals(motet::isize microbatches, std::size_t pipelines) {
  motet::isize out = 0;
  each_deal(microbatches, std::vector<motet::isize>(pipelines), 0, [&](const auto&) { ++out; });
  return out;
}

}  // namespace

TEST_CASE("O1: what idles in a step of more than 3,000 devices, published for one of 5.12 s") {
  // In one chunk, which the paper does not tell.
  const idle_shares found = idle_of(
      published_gaps(filled_costs(*find_filled_model("vit-22b+gpt-175b"), cluster_named("hopper-3072")), 1));
  CHECK(std::abs(found.gather - 0.033) < 0.02);
  CHECK(std::abs(found.scatter - 0.089) < 0.04);  // 5.0 %
  CHECK(std::abs(found.warm_up - 0.050) < 0.02);
  CHECK(std::abs(found.cool_down - 0.092) < 0.02);
  CHECK(std::abs(found.dependency - 0.087) < 0.06);  // 14.2 %
  CHECK(std::abs(found.exchange - 0.112) < 0.02);
  CHECK(std::abs(found.sum() - 0.463) < 0.02);
}
TEST_CASE("O2: encoder plans on the devices of a language model of 4 stages and tensor 2, and their deals") {
  const grid_3d language{1, 4, 2};
  std::vector<motet::isize> pipelines;
  bool has_published = false;
  for (const grid_3d& each : encoder_grids(language)) {
    CHECK(each.devices() == 8);
    pipelines.push_back(each.data / language.data);
    has_published = has_published || each == grid_3d{2, 2, 2};
  }
  CHECK(has_published);
  CHECK(pipelines == std::vector<motet::isize>{8, 4, 4, 2, 2, 1});
  CHECK(count_deals(8, 2) == 7);
}
TEST_CASE("O3: the deferral of 4 stages of 2 chunks and 8 microbatches") {
  pipeline_stage each;
  each.forward = 1, each.backward = 2;
  const pipeline_gaps found = find_gaps(std::vector<pipeline_stage>(8, each), 4, 8, 0, 0, 0);
  const double needed[] = {0, 1, 2, 3, 10, 12, 13, 16}, given[] = {29, 32, 34, 37, 51, 53, 55, 57};
  for (std::size_t m = 0; m < 8; ++m) {
    CHECK(found.needed[m] == doctest::Approx(needed[m]).epsilon(1e-3));
    CHECK(found.given[m] == doctest::Approx(given[m]).epsilon(1e-3));
  }
  CHECK(found.seconds == doctest::Approx(57).epsilon(1e-3));
}
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
    double megatron, balanced, optimus, alone;  // the last one is ours, without encoders
  } rows[] = {{"hopper-1536", 10.65, 10.43, 9.80, 8.74}, {"hopper-3072", 5.91, 5.87, 4.87, 4.66}};
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
    const filled_costs costs(*find_filled_model("vit-22b+gpt-175b"), cluster_named(each.cluster));
    CHECK(published_gaps(costs, 12).seconds == doctest::Approx(each.alone).epsilon(0.005));
    CHECK((own.step_seconds <= filled.step_seconds && own.step_seconds <= balanced.step_seconds));
    CHECK((filled.mfu > 0.34 && filled.mfu < 0.38));
    CHECK((filled.slices == 1 && own.slices == 2));  // the published method cuts none
    // More devices for the same batch gain more.
    CHECK(balanced.step_seconds / filled.step_seconds > before);
    before = balanced.step_seconds / filled.step_seconds;
  }
}
TEST_CASE("O9, O10: weak scaling, and two encoders") {
  const struct {
    const char *model, *cluster;
    motet::isize batch;
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
    // Kernels stay whole where slices, which take longer in all, gain nothing.
    const filled_answer own = found_by(filled_search::motet, each.model, each.cluster, each.batch);
    CHECK(own.step_seconds <= seconds(filled_search::optimus));
    CHECK(own.slices == (each.batch == 256 ? 2 : 1));
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
TEST_CASE("O9, O10: why one pipeline with the encoders first is slower here than the published one") {
  const struct {
    const char *model, *cluster;
    motet::isize batch;
    double gain;         // over it
    bool encoders_pace;  // their stage takes longer than the others
  } rows[] = {{"vit-11b+llama-70b", "hopper-64", 32, 1.324, false},
              {"vit-22b+llama-70b", "hopper-128", 64, 1.337, false},
              {"vit-11b+gpt-175b", "hopper-256", 128, 1.169, false},
              {"vit-22b+gpt-175b", "hopper-512", 256, 1.183, false},
              {"vit-11b+vit-5b+gpt-175b", "hopper-512", 256, 1.187, false},
              {"vit-22b+vit-11b+gpt-175b", "hopper-512", 256, 1.445, true}};
  for (const auto& each : rows) {
    CAPTURE(each.model);
    const filled_costs costs(*find_filled_model(each.model), cluster_named(each.cluster));
    const filled_answer first = search_filled(filled_search::megatron, costs, each.batch),
                        filled = search_filled(filled_search::optimus, costs, each.batch);
    CHECK(first.step_seconds / filled.step_seconds == doctest::Approx(each.gain).epsilon(0.005));
    const auto whole = [&](const layered_model& of) {
      return static_cast<double>(of.layers) * (costs.whole_forward(of, 8) + costs.whole_backward(of, 8));
    };
    double encoders = 0;
    for (const layered_model& one : costs.model().encoders) encoders += whole(one);
    const double others = whole(costs.model().language) / static_cast<double>(first.language.stages - 1);
    CHECK((encoders > others) == each.encoders_pace);
  }
}
TEST_CASE("O11: memory of the published layout beside the leanest baseline's") {
  const filled_costs costs(*find_filled_model("vit-22b+gpt-175b"), cluster_named("hopper-3072"));
  const layered_model& eye = costs.model().encoders[0];
  const grid_3d encoder{4 * 48, 2, 8};
  const double
      own = published_gaps(costs, 12).bytes[0] + costs.bytes(eye, encoder) + 4 * costs.kept(eye, encoder),
      first = found_by(filled_search::megatron, "vit-22b+gpt-175b", "hopper-3072", 1536).memory_bytes.worst,
      balanced =
          found_by(filled_search::balanced, "vit-22b+gpt-175b", "hopper-3072", 1536).memory_bytes.worst;
  CHECK(own < 1.12 * std::min(first, balanced));
  // Of weights alone, as the paper's formula counts them: 6 bytes a parameter for each encoder pipeline more.
  CHECK(costs.bytes(eye, encoder) - costs.bytes(eye, {48, 8, 8}) ==
        doctest::Approx(6.0 * (4 - 1) * 48 * eye.parameters / 3072).epsilon(0.02));
}
TEST_CASE("O12: all deals are as many as the published search took longer for, and none is better") {
  // 15.1, 89.6 and 322.2 s.
  const double all[] = {16.0 * static_cast<double>(count_deals(16, 4)),
                        24.0 * static_cast<double>(count_deals(24, 4)),
                        32.0 * static_cast<double>(count_deals(32, 4))};
  CHECK(all[1] / all[0] == doctest::Approx(89.6 / 15.1).epsilon(0.1));
  CHECK(all[2] / all[0] == doctest::Approx(322.2 / 15.1).epsilon(0.1));
  const filled_costs costs(*find_filled_model("vit-22b+gpt-175b"), cluster_named("hopper-3072"));
  const pipeline_gaps gaps = published_gaps(costs, 12, costs.rates().gap_sigma);
  const encoder_work work = detail::filled_searcher(costs, 1536).work_of_encoders(2, 8).value();
  double best = 1e300, near = 1e300;
  each_deal(16, std::vector<motet::isize>(4), 0, [&](const std::vector<motet::isize>& parts) {
    best = std::min(best, place_encoders(gaps, work, parts).seconds);
  });
  each_even_deal(16, 4, [&](const std::vector<motet::isize>& parts) {
    near = std::min(near, place_encoders(gaps, work, parts).seconds);
  });
  CHECK(near == doctest::Approx(best).epsilon(1e-9));
}
TEST_CASE("O13: the order of three systems with small models") {
  const auto seconds = [](filled_search by) {
    return found_by(by, "vit-3b+gpt-11b", "hopper-64", 32).step_seconds;
  };
  CHECK(seconds(filled_search::megatron) > seconds(filled_search::balanced));
  CHECK(seconds(filled_search::balanced) > seconds(filled_search::optimus));
}
TEST_CASE("O14: a frozen encoder computes no backward, and leaves the end of a step alone") {
  const encoder_placement learns = published_layout("hopper-3072"),
                          stays = published_layout("hopper-3072", {}, true);
  CHECK(stays.seconds <= learns.seconds);
  CHECK(stays.coarse_seconds < learns.coarse_seconds);
  filled_model model = *find_filled_model("vit-22b+gpt-175b");
  model.frozen = true;
  const filled_costs costs(model, cluster_named("hopper-3072"));
  CHECK(detail::filled_searcher(costs, 1536).work_of_encoders(2, 8)->backward == 0);
  // Two bytes a parameter, and nothing kept for a backward.
  const filled_answer found = search_filled(filled_search::optimus, costs, 1536);
  CHECK(found.memory_bytes.worst <
        found_by(filled_search::optimus, "vit-22b+gpt-175b", "hopper-3072", 1536).memory_bytes.worst);
}
TEST_CASE("O15: layers split so that the slowest range is as fast as can be") {
  const random_stream draw(1, "layers");
  for (std::uint64_t n = 0; n < 60; ++n) {
    CAPTURE(n);
    std::vector<double> times;
    for (std::uint64_t l = 0; l < 3 + n % 6; ++l) times.push_back(1 + draw.below(100 * n + l, 9));
    const motet::isize parts = 1 + static_cast<motet::isize>(n % 4);
    const std::vector<motet::isize> ends = detail::filled_searcher::split_evenly(times, parts);
    REQUIRE(static_cast<motet::isize>(ends.size()) == parts);
    REQUIRE(ends.back() == static_cast<motet::isize>(times.size()));
    const auto longest_of = [&](const std::vector<motet::isize>& cuts) {
      double longest = 0;
      motet::isize begin = 0;
      for (const motet::isize end : cuts) {
        longest = std::max(longest, std::accumulate(times.begin() + begin, times.begin() + end, 0.0));
        begin = end;
      }
      return longest;
    };
    // All ways to cut.
    double least = 1e300;
    std::vector<motet::isize> cuts(static_cast<std::size_t>(parts), 0);
    cuts.back() = static_cast<motet::isize>(times.size());
    const auto all = [&](auto& self, std::size_t at, motet::isize from) -> void {
      if (at + 1 == cuts.size()) {
        least = std::min(least, longest_of(cuts));
        return;
      }
      for (motet::isize end = from; end <= static_cast<motet::isize>(times.size()); ++end) {
        cuts[at] = end;
        self(self, at + 1, end);
      }
    };
    all(all, 0, 0);
    CHECK(longest_of(ends) == doctest::Approx(least));
  }
}
TEST_CASE("what does not fit is said") {
  const auto refused = [](filled_search by, const char* model, const char* cluster, motet::isize batch,
                          const char* words) {
    CHECK_THROWS_WITH_AS(found_by(by, model, cluster, batch), doctest::Contains(words), error);
  };
  refused(filled_search::optimus, "vit-22b+gpt-175b", "hopper-24", 256,
          "nodes x 8 stages, and microbatches of 2, must divide them");
  refused(filled_search::motet, "vit-22b+gpt-175b", "hopper-8", 256,
          "do not fit beside each other; a device would hold 395 GB at least and has 84");
  refused(filled_search::motet, "vit-22b+vit-22b+vit-22b+llama-70b", "hopper-32", 16,
          "a device would hold 108 GB at least, 68 of them the encoders', and has 84");
}
