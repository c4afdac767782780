// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <doctest/doctest.h>
#include <motet/data/produce/step_maker.hpp>
#include <motet/data/steps/sample_loader.hpp>

#include <unit/data/written_set.hpp>

#include <algorithm>
#include <chrono>

using namespace motet;

namespace {

bool damaged(motet::isize i) { return i % 9 == 3 || i == 6; }

// Waits until a step is made, as a server does that is told.
class waiter {
 public:
  std::function<void()> told() {
    return [this] {
      {
        const std::lock_guard hold(guard_);
        ++told_;
      }
      more_.notify_all();
    };
  }
  std::shared_ptr<const finished_step> wait(const step_source& of, std::uint64_t step) {
    std::unique_lock hold(guard_);
    std::shared_ptr<const finished_step> found;
    more_.wait_for(hold, std::chrono::seconds(20), [&] { return (found = of.made(step)) != nullptr; });
    return found;
  }

 private:
  std::mutex guard_;
  std::condition_variable more_;
  int told_ = 0;
};

}  // namespace

TEST_CASE("whatever steps are wanted, in whatever order, from whatever place before them, are the loader's") {
  const scratch folder;
  const tokenizer words = pairs_tokenizer();
  skip_log skips;
  const sample_source source({write_mixed(folder, "a.tar", 0, 40, {}, damaged)}, skips);
  for (const motet::isize rows : {0, 150}) {
    sample_loader_config config;
    config.batch = 7;
    config.rows = rows;
    config.threads = 2;
    config.example = {.image = 8, .context = 40};
    config.sample = {5, 1, 2, marks_of(words)};
    std::vector<data_position> places;
    std::vector<std::vector<motet::isize>> samples;
    std::vector<std::vector<std::byte>> pixels;
    sample_loader loader(source, words, config);
    for (int s = 0; s < 12; ++s) {
      places.push_back(loader.position());
      const sample_batch& made = loader.next();
      samples.push_back(made.samples);
      const auto all = std::as_bytes(std::span(made.pixels.data, as_size(made.pictures * made.pixels.width)));
      pixels.emplace_back(all.begin(), all.end());
    }
    waiter waits;
    step_maker<sample_maker> maker(source, words, config, waits.told());
    CHECK(maker.made(0) == nullptr);
    const struct {
      std::uint64_t step, known;
    } asked[] = {{0, 0}, {1, 0}, {5, 2}, {3, 3}, {4, 1}, {11, 0}, {5, 5}, {10, 9}};
    for (const auto& [step, known] : asked) maker.want({step, known, places[known]});
    for (const auto& [step, known] : asked) {
      const auto made = waits.wait(maker, step);
      REQUIRE(made != nullptr);
      CHECK(made->kind == step_kind::step);
      step_words told;
      const step_limits most{.count = 7,
                             .pictures = 14,
                             .room = 1 << 20,
                             .context = 40,
                             .rows_shown = 4,
                             .vocabulary = words.size(),
                             .side = 8};
      read_words(std::as_bytes(std::span(made->words)), static_cast<motet::isize>(made->pixels.size()), most,
                 told);
      CHECK(told.samples == samples[step]);
      CHECK(std::equal(made->pixels.begin(), made->pixels.end(), pixels[step].begin(), pixels[step].end()));
      CHECK(made->pixels_checksum == checksum(made->pixels));
    }
    // Of two takers, the second one takes it away; who wants it later has it made again.
    maker.taken(3, 2);
    CHECK(maker.made(3) != nullptr);
    maker.taken(3, 2);
    CHECK(maker.made(3) == nullptr);
    maker.want({3, 0, places[0]});
    CHECK(waits.wait(maker, 3) != nullptr);
  }
}

TEST_CASE("places where no run can stand are refused, and what cannot be made is told to whoever wants it") {
  const scratch folder;
  const tokenizer words = pairs_tokenizer();
  skip_log skips(true);
  const pair_source source({write_pairs(folder, "a.tar", 0, 20,
                                        [](motet::isize i, made_sample& made) {
                                          if (i == 13) made.picture.resize(40);
                                        })},
                           skips);
  loader_config config;
  config.batch = 20;
  config.example = {.image = 8, .context = 16};
  waiter waits;
  step_maker<pair_maker> maker(source, words, config, waits.told());
  const data_position start{config.seed, source.fingerprint(), source.size(), 0};
  data_position other = start;
  other.seed = 9;
  CHECK(code_of([&] { maker.want({0, 0, other}); }) == "MT-D12");
  CHECK(code_of([&] { maker.want({0, 1, start}); }) == "MT-D12");
  CHECK(code_of([&] { maker.want({5000, 0, start}); }) == "MT-D12");
  maker.want({0, 0, start});
  const auto made = waits.wait(maker, 0);
  REQUIRE(made != nullptr);
  CHECK(made->kind == step_kind::failed);
  CHECK(made->words.find("MT-D05") != std::string::npos);
  CHECK(maker.made(77) == made);
}
