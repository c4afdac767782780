// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/save/checkpoint.hpp>

#include <unit/format/scratch.hpp>
#include <unit/runtime/spread_net.hpp>

#include <doctest/doctest.h>

#include <barrier>
#include <thread>

using namespace motet;

namespace {

constexpr spread_net::places layouts[] = {{1, 1}, {2, 1}, {1, 3, true}, {2, 2}, {3, 2, true}, {5, 1}};

// All parameters of the model, as every rank knows them; what does not learn comes last.
std::vector<parameter> whole_model(motet::isize& trainable) {
  std::vector<parameter> out = spread_net::held({}, trainable);
  for (std::size_t i = 0; i < 6; ++i) {
    out.push_back(out[i]);
    out.back().name = "still." + out.back().name;
    out.back().offset += trainable;
  }
  return out;
}

void save_spread(const std::filesystem::path& run, spread_net::places of, motet::isize updates) {
  const motet::isize ranks = of.ranks();
  std::barrier<> all(ranks);
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      spread_net net(of, rank);
      net.fill();
      const checkpoint_writer writer{run, "net", updates, rank, ranks};
      save_part(writer, net.pieces());
      all.arrive_and_wait();
      if (rank == 0) finish(writer, json{{"epoch", 2}}, {});
    });
  }
  for (std::thread& each : threads) each.join();
}

}  // namespace

TEST_CASE("a checkpoint of any layout loads under any other") {
  motet::isize trainable = 0;
  const std::vector<parameter> model = whole_model(trainable);
  for (const auto& from : layouts) {
    const scratch folder;
    save_spread(folder.path(), from, 12);
    const checkpoint saved(folder.path());
    CHECK(saved.state().at("epoch").integer() == 2);
    for (const auto& to : layouts) {
      for (std::int32_t rank = 0; rank < to.ranks(); ++rank) {
        CAPTURE(from.tensor);
        CAPTURE(from.replicas);
        CAPTURE(to.tensor);
        CAPTURE(to.replicas);
        CAPTURE(rank);
        spread_net net(to, rank);
        CHECK(load(net.pieces(), model, trainable, saved, "net") == 12);
        CHECK(net.wrong() == 0);
      }
    }
  }
}

TEST_CASE("what does not learn is in the file of the weights and has no moments") {
  motet::isize trainable = 0;
  const std::vector<parameter> model = whole_model(trainable);
  const scratch folder;
  save_spread(folder.path(), {1, 1}, 12);
  const checkpoint saved(folder.path());
  bool weight = false;
  for (const checkpoint_tensor& each : saved.weights()) weight = weight || each.name == model.back().name;
  CHECK(weight);
  for (const std::filesystem::directory_entry& each : std::filesystem::directory_iterator(saved.path())) {
    const std::string name = each.path().filename().string();
    if (!name.starts_with("optimizer") || !name.ends_with(".safetensors")) continue;
    CHECK(safetensors_file(each.path()).find(model.back().name + ".m") == nullptr);
  }
}

TEST_CASE("every rank finds that another model's checkpoint does not fit, and nothing changes") {
  motet::isize trainable = 0;
  std::vector<parameter> model = whole_model(trainable);
  const scratch folder;
  save_spread(folder.path(), {2, 1}, 12);
  model[2].width = 3;        // output.weight
  model[3].name = "normal";  // a tensor that no rank of this test holds
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    spread_net net({2, 1}, rank);
    try {
      load(net.pieces(), model, trainable, checkpoint(folder.path()), "other");
      FAIL("loaded");
    } catch (const error& problem) {
      const std::string text = problem.what();
      CHECK(std::string_view(problem.code()) == "MT-R53");
      for (const char* part : {"(model net, wanted other)", "output.weight is F32 [5, 4], wanted F32 [5, 3]",
                               "missing     normal [5]", "unexpected  norm.scale [5]",
                               "output.weight.v is F32", "unexpected  norm.scale.m"}) {
        CAPTURE(part);
        CHECK(text.find(part) != std::string::npos);
      }
      CHECK(text.find("table") == std::string::npos);
    }
    CHECK(std::ranges::all_of(net.weights, [](float each) { return each == -1; }));
  }
}
