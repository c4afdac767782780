// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/save/begin_weights.hpp>

#include <motet/runtime/save/checkpoint.hpp>

#include <unit/format/scratch.hpp>
#include <unit/runtime/spread_net.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// A checkpoint of the net by two ranks that cut its tensors.
checkpoint saved_net(const std::filesystem::path& run) {
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    spread_net net({2, 1}, rank);
    net.fill();
    save_part({run, "net", 12, rank, 2}, net.pieces());
  }
  finish({run, "net", 12, 0, 2}, {}, {});
  return checkpoint(run);
}
// Its first names are modules: qkv, output, norm, up, table.
std::vector<parameter> whole_net() {
  motet::isize size = 0;
  return spread_net::held({}, size);
}
std::vector<std::string> names_of(const given_weights& given) {
  std::vector<std::string> out;
  for (const given_module& each : given.modules) out.push_back(each.name);
  return out;
}
// How many of a rank's numbers are as the checkpoint has them, and how many as nobody wrote them.
std::pair<int, int> filled_and_left(const spread_net& net) {
  int filled = 0, left = 0;
  for (const parameter& each : net.parameters)
    each_run(each, [&](motet::isize at, motet::isize element, motet::isize count) {
      for (motet::isize i = 0; i < count; ++i) {
        const float got = net.weights[static_cast<std::size_t>(at + i)];
        filled += got == spread_net::number(each, element + i);
        left += got == -1;
      }
    });
  return {filled, left};
}
motet::isize held_by(const spread_net& net, std::string_view module = {}) {
  motet::isize out = 0;
  for (const parameter& each : net.parameters)
    if (module.empty() || each.name.starts_with(module)) out += each.held();
  return out;
}

}  // namespace

TEST_CASE("a run begins with all modules that a checkpoint of other ranks has") {
  const scratch folder;
  const checkpoint from = saved_net(folder.path());
  std::vector<parameter> model = whole_net();
  model.push_back(model.front());
  model.back().name = "drawn.weight";
  const auto given = weights_given(from, model);
  CHECK(names_of(given) == std::vector<std::string>{"qkv", "output", "norm", "up", "table"});
  for (std::int32_t rank = 0; rank < 6; ++rank) {
    spread_net net({3, 2}, rank);
    fill_given(net.pieces(), given, from);
    const auto [filled, left] = filled_and_left(net);
    CHECK(filled == held_by(net));
    CHECK(left == 0);
    // Moments are as they were.
    CHECK(std::ranges::all_of(net.first, [](float each) { return each == -1; }));
  }
}

TEST_CASE("a run begins with one module, and the others stay as they are") {
  const scratch folder;
  const checkpoint from = saved_net(folder.path());
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    spread_net net({2, 1}, rank);
    fill_given(net.pieces(), weights_given(from, whole_net(), {.module = "qkv"}), from);
    const auto [filled, left] = filled_and_left(net);
    CHECK(filled == held_by(net, "qkv"));
    CHECK(left == held_by(net) - held_by(net, "qkv"));
  }
  // Under another name: sizes decide, as names behind the module's are the same.
  std::vector<parameter> model = whole_net();
  for (parameter& each : model)
    if (each.name == "output.weight") each.name = "exit.weight";
  const auto given = weights_given(from, model, {.module = "exit", .as = "output"});
  REQUIRE(given.modules.size() == 1);
  CHECK(given.modules[0].as == "output");
}

TEST_CASE("adapters of a module may be missing, all of them; averages are taken by choice") {
  const scratch folder;
  const checkpoint from = saved_net(folder.path());
  std::vector<parameter> model = whole_net();
  for (const char* name : {"qkv.a", "qkv.b"}) {
    model.push_back(model[1]);
    model.back().name = name;
  }
  const std::set<std::string> adapters{"qkv.a", "qkv.b"};
  const given_weights given = weights_given(from, model, {}, adapters);
  CHECK(given.names.size() == whole_net().size());
  CHECK_FALSE(given.names.contains("qkv.a"));
  // One without the other is no half of them.
  model.back().name = "qkv.bias";
  CHECK_THROWS_WITH_AS(weights_given(from, model, {}, {"qkv.a", "qkv.bias"}),
                       doctest::Contains("missing     qkv.a [12]"), error);
  CHECK_THROWS_WITH_AS(weights_given(from, whole_net(), {.which = weights_of::averages}),
                       doctest::Contains("MT-R57"), error);
}

TEST_CASE("a module that is there in part, not at all or of another size is refused by name") {
  const scratch folder;
  const checkpoint from = saved_net(folder.path());
  const auto refused = [&](const std::vector<parameter>& model, const char* module, const char* as,
                           std::vector<const char*> says) {
    try {
      weights_given(from, model, {.module = module, .as = as});
      FAIL("given");
    } catch (const error& problem) {
      CHECK(std::string_view(problem.code()) == "MT-R58");
      for (const char* part : says) {
        CAPTURE(part);
        CHECK(std::string_view(problem.what()).find(part) != std::string_view::npos);
      }
    }
  };
  std::vector<parameter> model = whole_net();
  model[1].name = "qkv.gain";
  refused(model, "", "", {"module qkv as qkv of ", "has it in part:", "missing     qkv.gain [12]"});
  model = whole_net();
  model[2].width = 3;
  refused(model, "output", "", {"differs     output.weight is F32 [5, 4], wanted F32 [5, 3]"});
  refused(model, "output", "up", {"module output as up of ", "differs     up.weight is F32 [7, 5]"});
  refused(model, "norm", "scale", {"module norm as scale of ", "has it not:", "missing     scale.scale [5]"});
  refused(model, "norms", "", {"module norms, and the model has qkv, output, norm, up, table"});
  std::vector<parameter> other{model[3]};
  other[0].name = "eye.weight";
  refused(other, "", "", {"has modules ", "norm", "and the model has eye"});
}
