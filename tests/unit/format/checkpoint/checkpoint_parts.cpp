// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/format/checkpoint/checkpoint_finish.hpp>
#include <motet/format/checkpoint/checkpoint_write.hpp>

#include <doctest/doctest.h>

#include <barrier>
#include <thread>

#include "unit/format/random_parts.hpp"
#include "unit/format/scratch.hpp"

using motet::checkpoint;
using motet::saved_slice;
using names = std::set<std::string>;

namespace {

using slices = std::vector<held_slices<const float>>;

void write(const std::filesystem::path& run, std::int64_t step, const slices& weights, const slices& moments,
           motet::isize part) {
  const auto at = static_cast<std::size_t>(part);
  motet::write_checkpoint_part(
      run, {step, "net", part, std::ssize(weights), weights[at].slices, moments[at].slices});
}
std::string refusal(motet::checkpoint_part part) {
  const scratch folder;
  try {
    motet::write_checkpoint_part(folder.path(), part);
    return "";
  } catch (const motet::error& problem) {
    return problem.what();
  }
}
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("what any ranks wrote any other ranks read") {
  motet::isize read = 0;
  for (motet::isize writers = 1; writers <= 5; ++writers) {
    for (motet::isize readers = 1; readers <= 5; ++readers) {
      CAPTURE(writers);
      CAPTURE(readers);
      drawn from(static_cast<std::uint64_t>(10 * writers + readers));
      const auto weights = random_tensors(from, 6), moments = random_tensors(from, 4, ".m");
      const scratch folder;
      const slices own = cut_between(from, weights, writers),
                   own_moments = cut_between(from, moments, writers);
      for (motet::isize part = 0; part < writers; ++part) write(folder.path(), 3, own, own_moments, part);
      motet::finish_checkpoint(folder.path(), {3, "net", writers, {}});
      CHECK(folder.names() == names{"latest", "step-000003"});
      const checkpoint saved(folder.path());
      CHECK(saved.parts() == writers);
      CHECK(saved.has_optimizer());
      for (motet::isize reader = 0; reader < readers; ++reader) {
        const auto some = drawn_slices(from, weights), some_moments = drawn_slices(from, moments);
        saved.load_slices("net", some.slices, some_moments.slices);
        CHECK(wrong_elements(weights, some) == 0);
        CHECK(wrong_elements(moments, some_moments) == 0);
        read += std::ssize(some.slices) + std::ssize(some_moments.slices);
      }
      // One program alone, which wants everything.
      held_slices<float> all;
      std::vector<motet::loaded_tensor> tensors;
      for (const whole_tensor& each : weights) {
        auto& memory = all.memory.emplace_back(static_cast<std::size_t>(each.all().size()));
        all.slices.push_back(motet::whole_slice(each.name, each.shape, memory.data()));
        tensors.push_back({each.name, each.shape, memory.data()});
      }
      saved.load_weights("net", tensors);
      CHECK(wrong_elements(weights, all) == 0);
    }
  }
  CHECK(read > 500);
}

TEST_CASE("ranks write and read at the same time") {
  constexpr int ranks = 5;
  drawn from(99);
  const auto weights = random_tensors(from, 20), moments = random_tensors(from, 20, ".v");
  const slices own = cut_between(from, weights, ranks), own_moments = cut_between(from, moments, ranks);
  std::vector<held_slices<float>> wanted;
  for (int rank = 0; rank < ranks; ++rank) wanted.push_back(drawn_slices(from, weights));
  const scratch folder;
  std::barrier<> all(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      for (std::int64_t step = 1; step <= 3; ++step) {
        write(folder.path(), step, own, own_moments, rank);
        all.arrive_and_wait();
        if (rank == step % ranks) motet::finish_checkpoint(folder.path(), {step, "net", ranks, {}});
      }
      all.arrive_and_wait();
      checkpoint(folder.path()).load_slices("net", wanted[static_cast<std::size_t>(rank)].slices, {});
    });
  }
  for (std::thread& each : threads) each.join();
  for (const auto& each : wanted) CHECK(wrong_elements(weights, each) == 0);
  CHECK(folder.names() == names{"latest", "step-000002", "step-000003"});
}

TEST_CASE("each part has its files, and none where it holds nothing") {
  const scratch folder;
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  const std::vector<saved_slice> first{{"up", {3, 2}, {{0, 2}, {0, 2}}, numbers.data()}},
      last{{"up", {3, 2}, {{2, 3}, {0, 2}}, numbers.data() + 4}},
      moment{motet::whole_slice("b.m", {2}, numbers.data())};
  motet::write_checkpoint_part(folder.path(), {5, "net", 0, 3, first, {}});
  motet::write_checkpoint_part(folder.path(), {5, "net", 2, 3, last, moment});
  motet::write_checkpoint_part(folder.path(), {5, "net", 1, 3, {}, {}});
  CHECK(folder.names() == names{".step-000005.tmp-parts"});
  CHECK_FALSE(motet::latest_checkpoint(folder.path()));
  motet::finish_checkpoint(folder.path(), {5, "net", 3, {}});
  CHECK(folder.names("step-000005") == names{"index.json", "model-00001-of-00003.safetensors",
                                             "model-00003-of-00003.safetensors",
                                             "optimizer-00003-of-00003.safetensors"});
  const motet::safetensors_file file(folder / "step-000005/model-00001-of-00003.safetensors");
  CHECK(file.at("up[0:2, 0:2]").shape == std::vector<motet::isize>{2, 2});
  CHECK(std::pair<std::string, std::string>("part", "1 of 3") == file.metadata().back());
}

TEST_CASE("one part with whole tensors is what one program alone writes") {
  const scratch one, other;
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  const std::vector<motet::saved_tensor> weights{{"up", {3, 2}, numbers.data()}, {"none", {0, 4}, nullptr}},
      moments{{"up.m", {3, 2}, numbers.data()}};
  motet::save_checkpoint(
      one.path(), {5, "net", motet::json{{"epoch", 1}}, weights, moments, motet::json{{"modules", 2}}});
  const std::vector<saved_slice> whole{motet::whole_slice("up", {3, 2}, numbers.data()),
                                       motet::whole_slice<const float>("none", {0, 4}, nullptr)},
      whole_moments{motet::whole_slice("up.m", {3, 2}, numbers.data())};
  motet::write_checkpoint_part(other.path(), {5, "net", 0, 1, whole, whole_moments});
  motet::finish_checkpoint(other.path(),
                           {5, "net", 1, motet::json{{"epoch", 1}}, motet::json{{"modules", 2}}});
  CHECK(one.names("step-000005") == other.names("step-000005"));
  for (const std::string& name : one.names("step-000005")) {
    CAPTURE(name);
    CHECK(motet::mapped_file(one / ("step-000005/" + name)).text() ==
          motet::mapped_file(other / ("step-000005/" + name)).text());
  }
}

TEST_CASE("a part that cannot be is refused before anything is finished") {
  const std::vector<float> numbers(12);
  const std::vector<saved_slice> good{{"up", {3, 2}, {{0, 2}, {0, 2}}, numbers.data()}},
      outside{{"up", {3, 2}, {{2, 4}, {0, 2}}, numbers.data()}}, twice{good[0], good[0]},
      two_shapes{good[0], {"up", {3, 3}, {{2, 3}, {0, 2}}, numbers.data()}};
  CHECK(refusal({1, "net", 1, 2, good, {}}) == "");
  CHECK(contains(refusal({1, "net", 1, 2, outside, {}}),
                 "part 2 holds rows 2:4 and columns 0:2 of \"up\" [3, 2], which has rows 0:3"));
  CHECK(contains(refusal({1, "net", 1, 2, two_shapes, {}}), "\"up\" [3, 3], elsewhere [3, 2]"));
  CHECK(contains(refusal({1, "net", 1, 2, twice, {}}), "\"up[0:2, 0:2]\" is declared twice"));
  CHECK(contains(refusal({1, "net", 1, 2, good, good}), "\"up\" is both a weight and optimizer state"));
  CHECK(contains(refusal({1, "net", 2, 2, good, {}}), "part 3 of 2"));
  CHECK(contains(refusal({1, "net", 0, 100'000, good, {}}), "[MT-R54]"));
}
