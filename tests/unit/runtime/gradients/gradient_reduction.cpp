// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/gradients/gradient_reduction.hpp>

#include <doctest/doctest.h>
#include <reduction_threads.hpp>

using namespace motet;

namespace {

using reduction = gradient_reduction<float, local::group, cpu::context>;
}  // namespace

TEST_CASE(
    "every element is summed once over the ranks that hold it, whatever the buckets and the order of "
    "layers") {
  for (std::uint64_t seed = 0; seed < 48; ++seed) {
    const laws::made_ranks ranks{1 + static_cast<std::int32_t>(seed % 4),
                                 1 + static_cast<std::int32_t>(seed / 4 % 3)};
    if (ranks.size() > 4) continue;
    CAPTURE(seed);
    std::atomic<int> wrong{0};
    CHECK(laws::run_reduction(ranks, 4, [&](local::endpoint& end, local::group* cut, local::group* shared) {
            laws::host_site site;
            wrong += laws::check_reduction(site, ranks, end.rank(), cut, shared, end, seed, seed % 2 == 0);
          }) == "");
    CHECK(wrong == 0);
  }
}

TEST_CASE("with one call in flight, too") {
  const laws::made_ranks ranks{2, 2};
  std::atomic<int> wrong{0};
  CHECK(laws::run_reduction(ranks, 1, [&](local::endpoint& end, local::group* cut, local::group* shared) {
          laws::host_site site;
          wrong += laws::check_reduction(site, ranks, end.rank(), cut, shared, end, 5, true);
        }) == "");
  CHECK(wrong == 0);
}

TEST_CASE("a bucket is summed before backward is through") {
  const laws::made_ranks ranks{2, 1};
  std::atomic<int> wrong{0};
  CHECK(laws::run_reduction(ranks, 4, [&](local::endpoint& end, local::group* cut, local::group*) {
          reduction sums(lay_out_reduction(320, {2, end.rank()}, {}, {.elements = 160, .packed = 16}), {cut});
          std::vector<float> gradients(320, 1.0f);
          laws::host_site site;
          sums.prepare(site.ctx, gradients.data(), nullptr);
          sums.begin_step();
          sums.ready(170, 320);  // ten elements are missing
          sums.progress();
          wrong += gradients[319] != 1;
          sums.ready(160, 170);
          laws::poll(end, [&] {
            sums.progress();
            return sums.ended() == 1;
          });
          wrong += gradients[319] != 2 || gradients[160] != 2 || gradients[159] != 1;
          laws::poll(end, [&] { return sums.finish(); });
          wrong += gradients[0] != 2;
        }) == "");
  CHECK(wrong == 0);
}

TEST_CASE("members with shares of the update get the sum of their part alone") {
  const laws::made_ranks ranks{2, 1};
  std::atomic<int> wrong{0};
  CHECK(laws::run_reduction(ranks, 4, [&](local::endpoint& end, local::group* cut, local::group*) {
          reduction sums(lay_out_reduction(64, {2, end.rank()}, {}, {.packed = 16, .shards = true}), {cut});
          std::vector<float> gradients(64, 1.0f);
          laws::host_site site;
          sums.prepare(site.ctx, gradients.data(), nullptr);
          sums.begin_step();
          laws::poll(end, [&] { return sums.finish(); });
          wrong += sums.layout().share.moments != 32;
          for (int e = 0; e < 64; ++e)
            wrong += gradients[static_cast<std::size_t>(e)] != (e / 32 == end.rank() ? 2 : 1);
        }) == "");
  CHECK(wrong == 0);
}

TEST_CASE("a rank by itself waits for nobody") {
  reduction sums(lay_out_reduction(100, {}, {}, {.shards = true}), {nullptr});
  std::vector<float> gradients(100, 1.0f);
  laws::host_site site;
  sums.prepare(site.ctx, gradients.data(), gradients.data());
  sums.begin_step();
  sums.ready(0, 100);
  CHECK(sums.finish());
  CHECK(sums.gather_weights());
  CHECK(gradients == std::vector<float>(100, 1.0f));
  CHECK(sums.packing_bytes() == 0);
}

TEST_CASE("what is out of turn is refused") {
  const laws::made_ranks ranks{2, 1};
  const auto outcome = [&](auto body) { return laws::run_reduction(ranks, 4, body); };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const auto made = [](std::int32_t rank) {
    return lay_out_reduction(640, {2, rank}, {}, {.elements = 320, .packed = 16});
  };
  const std::string twice = outcome([&](local::endpoint& end, local::group* cut, local::group*) {
    reduction sums(made(end.rank()), {cut});
    std::vector<float> gradients(640);
    laws::host_site site;
    sums.prepare(site.ctx, gradients.data(), nullptr);
    sums.begin_step();
    sums.ready(600, 640);
    sums.ready(300, 601);
  });
  CHECK(has(twice, "elements 300 to 601"));
  CHECK(has(twice, "MT-R10"));
  CHECK(has(outcome([&](local::endpoint& end, local::group* cut, local::group*) {
              reduction sums(made(end.rank()), {cut});
              std::vector<float> gradients(640);
              laws::host_site site;
              sums.prepare(site.ctx, gradients.data(), nullptr);
              sums.begin_step();
              if (end.rank() == 1) laws::poll(end, [] { return false; });
              sums.ready(320, 640);
              sums.begin_step();
            }),
            "1 calls were under way"));
  CHECK(has(outcome([&](local::endpoint&, local::group* cut, local::group*) { reduction(made(0), {cut}); }),
            "member 1 of 2"));
  CHECK_THROWS_WITH_AS(reduction(made(0), {nullptr}), doctest::Contains("got member 0 of 1"), error);
  CHECK(has(outcome([&](local::endpoint& end, local::group* cut, local::group*) {
              reduction sums(lay_out_reduction(640, {2, end.rank()}, {}, {.shards = true}), {cut});
              std::vector<float> gradients(640);
              laws::host_site site;
              sums.prepare(site.ctx, gradients.data(), gradients.data());
              sums.begin_step();
              sums.gather_weights();
            }),
            "before gradients were summed"));
}
