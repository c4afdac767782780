// SPDX-License-Identifier: Apache-2.0
// The published rows: docs/plan/published.md has them beside what comes out here.
#include <motet/plan/disttrain/search_chain.hpp>

#include <motet/plan/describe/cluster_presets.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace motet;

namespace {

using idx = motet::isize;

struct run {
  chain_answer megatron, disttrain, motet;
  double mfu_gain() const { return disttrain.gives.mfu / megatron.gives.mfu; }
  double rate_gain() const { return disttrain.gives.samples_per_second / megatron.gives.samples_per_second; }
};
run of(chain_model model, const char* cluster, idx batch, double sigma = 0.6) {
  const chain_costs costs(model, cluster_named(cluster), batch);
  const list<double> pictures = draw_pictures(model, batch, {.seed = 1, .sigma = sigma});
  return {search_chain(chain_search::megatron, costs, pictures),
          search_chain(chain_search::disttrain, costs, pictures),
          search_chain(chain_search::motet, costs, pictures)};
}
struct in_band {
  double least, most;
  bool holds(double got) const { return got >= least && got <= most; }
};

// The least of the stage-time model over all plans, one by one.
double by_brute_force(const chain_costs& costs) {
  const idx devices = costs.cluster().devices(), samples = costs.samples();
  const auto memory = costs.cluster().device.memory_bytes;
  double best = std::numeric_limits<double>::infinity();
  const idx widest = costs.cluster().devices_per_node;
  for (idx tensor = 1; tensor <= widest; tensor *= 2)
    for (idx stages = 1; stages * tensor <= devices; ++stages)
      for (idx data = 1; data * stages * tensor <= devices; ++data) {
        if (samples % data != 0 || costs.model().parts[1].layers % stages != 0) continue;
        chain_plan how;
        how.parts[1] = {stages, data, tensor};
        for (idx first = 1; first <= widest; first *= 2)
          for (idx lanes = 1; lanes * first <= devices; ++lanes)
            for (idx last = 1; last <= widest; last *= 2)
              for (idx others = 1; others * last <= devices; ++others) {
                how.parts[0] = {1, lanes, first};
                how.parts[2] = {1, others, last};
                if (how.ranks() > devices) continue;
                idx behind = how.stages();
                bool fits = true;
                for (idx k = 0; k < 3; ++k) {
                  fits = fits && costs.bytes(k, how.parts[k], data, behind) <= memory;
                  behind -= how.parts[k].stages;
                }
                if (fits) best = std::min(best, costs.model_seconds(how));
              }
      }
  return best;
}

}  // namespace

TEST_CASE("on small clusters the search finds what trying all plans finds") {
  for (const char* const cluster : {"a800-96:1x3", "a800-96:1x6", "a800-96:1", "a800-96:3x4", "a800-96:2"})
    for (const double shrunk : {0.02, 0.2, 1.0})
      for (const idx batch : {4, 12}) {
        CAPTURE(cluster);
        CAPTURE(shrunk);
        chain_model model = known_chains[0];
        for (chain_part& each : model.parts) each.parameters *= shrunk, each.kept_bytes *= shrunk;
        model.pictures = 4;
        const chain_costs costs(model, cluster_named(cluster), batch);
        const double wanted = by_brute_force(costs);
        if (wanted == std::numeric_limits<double>::infinity()) {
          CHECK_THROWS_WITH_AS(search_chain(chain_search::disttrain, costs, draw_pictures(model, batch)),
                               doctest::Contains("MT-P85"), error);
          continue;
        }
        const chain_answer found = search_chain(chain_search::disttrain, costs, draw_pictures(model, batch));
        CHECK(costs.model_seconds(found.how) == doctest::Approx(wanted).epsilon(1e-12));
        CHECK(found.how.ranks() <= cluster_named(cluster).devices());
      }
}

TEST_CASE("D1 to D3, D7: gains over one pipeline on 96 devices, 1.3 to 2.7, most for the small model") {
  const run small = of(known_chains[0], "a800-96", 128), middle = of(known_chains[1], "a800-96", 64),
            large = of(known_chains[2], "a800-96", 40);
  CHECK(in_band{1.3, 2.7}.holds(small.mfu_gain()));
  CHECK(in_band{1.3, 2.7}.holds(small.rate_gain()));
  // These two gain less by their shares of the peak than the least that was published, by 4 %; samples a
  // second gain as published, and so do both with the library's own search.
  for (const run* each : {&middle, &large}) {
    CHECK(in_band{1.2, 2.7}.holds(each->mfu_gain()));
    CHECK(in_band{1.2, 2.7}.holds(each->rate_gain()));
    CHECK(in_band{1.3, 2.7}.holds(each->motet.gives.mfu / each->megatron.gives.mfu));
    CHECK(in_band{1.3, 2.7}.holds(each->motet.gives.samples_per_second /
                                  each->megatron.gives.samples_per_second));
    CHECK(small.mfu_gain() > each->mfu_gain());
  }
  CHECK(small.megatron.gives.mfu == doctest::Approx(0.2).epsilon(0.15));
}

TEST_CASE("D4 to D6: gains on 1,296 devices, and the share of the peak of the largest") {
  const run small = of(known_chains[0], "a800-1296", 1920), middle = of(known_chains[1], "a800-1296", 1920),
            large = of(known_chains[2], "a800-1296", 1920);
  CHECK(in_band{1.7, 2.8}.holds(small.mfu_gain()));
  CHECK(in_band{1.7, 2.2}.holds(small.rate_gain()));
  CHECK(in_band{1.7 * 0.85, 2.8}.holds(middle.mfu_gain()));
  CHECK(in_band{1.7 * 0.85, 2.2}.holds(middle.rate_gain()));
  CHECK(large.disttrain.gives.mfu == doctest::Approx(0.547).epsilon(0.15));
  CHECK(large.motet.gives.mfu == doctest::Approx(0.547).epsilon(0.15));
  // Published were 1.2 and 1.3: these are 21 and 25 % above.
  CHECK(in_band{1.2, 1.5}.holds(large.mfu_gain()));
  CHECK(in_band{1.3, 1.7}.holds(large.rate_gain()));
  // Nowhere is the library's own search slower than the published one.
  for (const run* each : {&small, &middle, &large})
    CHECK(each->motet.gives.step_seconds <= each->disttrain.gives.step_seconds);
}

// Rows outside of what was published, each by one thing that was not told. docs/plan/published.md has the
// numbers.
TEST_CASE(
    "why D2 and D3 lie below: by the devices of the cluster D2 gains enough, and D3 by the mean of draws") {
  constexpr int draws = 20;
  struct mean {
    double used = 0, cluster = 0, least = 1e300;
  };
  const auto over_draws = [](std::size_t k, idx batch) {
    mean out;
    const chain_costs costs(known_chains[k], cluster_named("a800-96"), batch);
    for (std::uint64_t seed = 1; seed <= draws; ++seed) {
      const list<double> pictures = draw_pictures(known_chains[k], batch, {.seed = seed});
      const run found{search_chain(chain_search::megatron, costs, pictures),
                      search_chain(chain_search::disttrain, costs, pictures),
                      {}};
      out.used += found.mfu_gain() / draws;
      out.cluster += found.rate_gain() / draws;
      out.least = std::min(out.least, found.mfu_gain());
    }
    return out;
  };
  const mean middle = over_draws(1, 64), large = over_draws(2, 40);
  // One pipeline of the 15 B has 32 devices, and 3 of them do not divide 64 samples: 32 devices idle.
  const chain_costs costs(known_chains[1], cluster_named("a800-96"), 64);
  CHECK(search_chain(chain_search::megatron, costs, draw_pictures(known_chains[1], 64)).how.ranks() == 64);
  CHECK(in_band{1.2, 1.3}.holds(middle.used));
  CHECK(in_band{1.3, 2.7}.holds(middle.cluster));
  CHECK(in_band{1.3, 2.7}.holds(large.used));
  CHECK(large.least < 1.3);
  CHECK(large.cluster < middle.cluster);
  CHECK(large.cluster < over_draws(0, 128).cluster);
}

TEST_CASE("why D5 lies below: what is recalled lies between pipelines of one stage and of two") {
  chain_model model = known_chains[1];
  CHECK(of(model, "a800-1296", 1920).mfu_gain() < 1.7);
  model.monolith_stages = 1;
  const run found = of(model, "a800-1296", 1920);
  CHECK(found.megatron.how.middle().stages == 1);
  CHECK(in_band{1.7, 2.8}.holds(found.mfu_gain()));
  CHECK(found.rate_gain() > 2.2);
  // What was told of one pipeline, about 20 %, is that of one stage: two have half as much again.
  CHECK(found.megatron.gives.mfu == doctest::Approx(0.2).epsilon(0.15));
}

TEST_CASE("why D6 lies above: with as many pictures in each sample all is as published") {
  const run large = of(known_chains[2], "a800-1296", 1920, 0);
  CHECK(large.mfu_gain() == doctest::Approx(1.2).epsilon(0.05));
  CHECK(large.rate_gain() == doctest::Approx(1.3).epsilon(0.05));
  CHECK(large.disttrain.gives.mfu == doctest::Approx(0.547).epsilon(0.06));
  // Recalled of the three: 51.8 to 54.7 %. All are within 15 %, and the library's own search is in the band.
  for (const chain_model& each : known_chains) {
    const run found = of(each, "a800-1296", 1920, 0);
    CHECK(in_band{0.518 * 0.85, 0.547}.holds(found.disttrain.gives.mfu));
    CHECK(in_band{0.518, 0.56}.holds(found.motet.gives.mfu));
  }
}

TEST_CASE("D11: frozen phases gain 1.4 to 2.9") {
  for (const auto& [first, words, last] : {std::tuple(false, false, false), std::tuple(true, false, false),
                                           std::tuple(false, true, false), std::tuple(false, false, true)}) {
    chain_model model = known_chains[0];
    model.parts[0].learns = first, model.parts[1].learns = words, model.parts[2].learns = last;
    const run found = of(model, "a800-1296", 1920);
    CHECK(in_band{1.4, 2.9}.holds(found.mfu_gain()));
    CHECK(in_band{1.4, 2.9}.holds(found.rate_gain()));
  }
}

TEST_CASE(
    "an encoder is multiplexed where that is shorter, and nowhere is the step longer for looking at it") {
  int chosen = 0;
  for (std::size_t k = 0; k < 3; ++k)
    for (const double sigma : {0.0, 0.6}) {
      CAPTURE(k);
      CAPTURE(sigma);
      const idx batches[] = {128, 64, 40};
      const chain_costs costs(known_chains[k], cluster_named("a800-96"), batches[k]);
      const list<double> pictures = draw_pictures(known_chains[k], batches[k], {.seed = 1, .sigma = sigma});
      const chain_answer found = search_chain(chain_search::motet, costs, pictures);
      detail::chain_searcher searcher(costs);
      const auto seconds_of = [&](const chain_plan& how) {
        return forecast_chain(costs, how, pictures, chain_order::even).step_seconds;
      };
      const std::vector<chain_plan> others = searcher.candidates(12);
      double least = 1e300, joint = 1e300;
      for (const chain_plan& each : others) least = std::min(least, seconds_of(each));
      for (const chain_plan& each : searcher.multiplexed(others)) {
        CHECK((each.multiplexed && each.shares[0] && each.middle().stages > 1));
        CHECK(costs.shared_bytes(0, each) < cluster_named("a800-96").device.memory_bytes);
        joint = std::min(joint, seconds_of(each));
        // A step that is longer than the limit is not played to its end, and is known to be.
        const double whole = seconds_of(each);
        CHECK(forecast_chain(costs, each, pictures, chain_order::even, 0, 0.9 * whole).step_seconds >=
              0.9 * whole);
      }
      CHECK(found.gives.step_seconds <= std::min(least, joint));
      chosen += found.how.multiplexed ? 1 : 0;
      if (found.how.multiplexed) CHECK(found.gives.step_seconds < least);
    }
  // docs/plan/published.md: 15 B with as many pictures in each sample, and 72 B with 0.6.
  CHECK(chosen == 2);
}

TEST_CASE(
    "memory of a multiplexed encoder: parts of as many microbatches as come before the first gradient") {
  const chain_costs costs(known_chains[0], cluster_named("a800-96"), 128);
  chain_plan how;
  how.parts[1] = {4, 4, 4};
  how.parts[2] = {1, 8, 1};
  how.shares[0] = true;
  const double kept = known_chains[0].parts[0].kept_bytes, columns = costs.shared_bytes(0, how);
  how.multiplexed = true;
  // 16 pictures on 16 ranks: one each of 5 + 3 microbatches, where three columns have 4 each.
  CHECK(columns - costs.shared_bytes(0, how) == doctest::Approx((12 - 8) * kept));
}

TEST_CASE("D9: an order of samples gains 1.03 to 1.12, more for small models") {
  double gains[3] = {};
  for (std::size_t k = 0; k < 3; ++k) {
    const idx batches[] = {128, 64, 40};
    const chain_costs costs(known_chains[k], cluster_named("a800-96"), batches[k]);
    const chain_plan how =
        search_chain(chain_search::disttrain, costs, draw_pictures(known_chains[k], batches[k])).how;
    const auto gain_of = [&](const chain_plan& by) {
      double gain = 0;
      constexpr int draws = 20;
      for (std::uint64_t seed = 1; seed <= draws; ++seed) {
        const list<double> pictures = draw_pictures(known_chains[k], batches[k], {.seed = seed});
        gain += forecast_chain(costs, by, pictures, chain_order::as_they_come).step_seconds /
                forecast_chain(costs, by, pictures, chain_order::published).step_seconds / draws;
      }
      return gain;
    };
    CAPTURE(k);
    gains[k] = gain_of(how);
    CHECK(in_band{1.02, 1.12}.holds(gains[k]));
    // Lanes that have the pictures of all replicas even them before any order does. Where each replica has
    // lanes of its own, all three are in the band.
    chain_plan own = how;
    for (const idx end : {0, 2}) {
      const idx replicas = how.middle().data;
      own.parts[end].data = (how.parts[end].data + replicas - 1) / replicas * replicas;
    }
    CHECK(own.ranks() <= 100);
    CHECK(in_band{1.03, 1.12}.holds(gain_of(own)));
    CHECK(gain_of(own) >= gains[k]);
  }
  CHECK(gains[0] > gains[2]);
}

// Entrain's observation: one sample is no picture of the data.
TEST_CASE("D13: plans made for 256 samples are good, plans made for one are not") {
  const idx samples = 128;
  const chain_costs truth(known_chains[0], cluster_named("a800-96"), samples);
  // Plans that were made for the mean of so many samples lose this.
  const auto loss = [&](idx looked_at) {
    double sum = 0;
    constexpr int draws = 16;
    for (std::uint64_t seed = 1; seed <= draws; ++seed) {
      chain_model model = known_chains[0];
      double all = 0;
      for (const double each : draw_pictures(model, looked_at, {.seed = 100 + seed})) all += each;
      model.pictures = all / static_cast<double>(looked_at);
      const list<double> pictures = draw_pictures(known_chains[0], samples, {.seed = seed});
      const chain_costs seen(model, cluster_named("a800-96"), samples);
      const double best = search_chain(chain_search::disttrain, truth, pictures).gives.step_seconds;
      const chain_plan how = search_chain(chain_search::disttrain, seen, pictures).how;
      sum += forecast_chain(truth, how, pictures, chain_order::published).step_seconds / best - 1;
    }
    return sum / draws;
  };
  const double by_one = loss(1), by_many = loss(256);
  CAPTURE(by_one);
  CAPTURE(by_many);
  CHECK(by_one > 0.2);
  CHECK(std::abs(by_many) < 0.05);
}

TEST_CASE("too few devices: which part lacks how much") {
  const auto refusal = [](const char* cluster, chain_search by) {
    const chain_costs costs(known_chains[2], cluster_named(cluster), 40);
    try {
      search_chain(by, costs, draw_pictures(known_chains[2], 40));
    } catch (const error& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  for (const chain_search by :
       {chain_search::disttrain, chain_search::megatron, chain_search::proportional, chain_search::motet}) {
    CHECK(refusal("a800-96:1", by).find("language lacks 9") != std::string::npos);
    CHECK(refusal("a800-96:4", by).find("do not fit beside each other: 32 devices") != std::string::npos);
  }
}
