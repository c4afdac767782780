// SPDX-License-Identifier: Apache-2.0
#include <motet/run/orchestration.hpp>
#include <motet/run/trained_session.hpp>

#include "unit/runtime/small_edges.hpp"

#include "run_parts.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace motet;

namespace {

using fed_speech = small_fed_speech<>;

// A model that sees; whatever a batch is, it reads the samples that the seed draws.
class fed_session final : public trained_session<fed_session, cpu::device, fed_speech, fp32> {
 public:
  explicit fed_session(const session_request& wanted)
      : trained_session({.name = "fed", .loss = {}, .precision = {}, .shape = {"fed", 4, 23, 14}}, wanted),
        data_(wanted.options.batch, wanted.options.seed) {
    for (const motet::isize each : data_.picture_offsets) rows_.push_back(5 * each);
  }
  fed_speech::batch inputs(const step_input&) {
    const pictured_tokens all = data_.get();
    return {seen_pictures{all.seen, all.seq.samples, all.picture_offsets},
            placed_tokens{all, rows_.data(), all.places}};
  }

 private:
  small_seen_text data_;
  std::vector<motet::isize> rows_;
};
std::unique_ptr<session> make_fed(const session_request& wanted) {
  return std::make_unique<fed_session>(wanted);
}
// A net that is whole in one stage only, and one that takes no plan of several ranks.
std::unique_ptr<session> make_whole(const session_request& wanted) {
  if (wanted.how && wanted.how->modules.back().on.split().stages > 1)
    fail(table_is_parted, "talk is tied, and stages = 2");
  return make_fed(wanted);
}
std::unique_ptr<session> make_lonely(const session_request& wanted) {
  if (wanted.how && wanted.how->cluster.ranks == 3) fail(table_is_parted, "talk is tied");
  return make_fed(wanted);
}
const trained_model fed_models[] = {{"fed", make_fed, nullptr, facts_of<fed_speech>}};
const trained_model whole_models[] = {{"fed", make_whole, nullptr, facts_of<fed_speech>}};
const trained_model lonely_models[] = {{"fed", make_lonely, nullptr, facts_of<fed_speech>}};
// Of an eye that tells of so many rows, and of one that cannot be cut, as one whose adapters drop numbers.
template <motet::isize Rows>
list<module_facts> facts_of_rows() {
  list<module_facts> out = facts_of<fed_speech>();
  out[0].rows = Rows;
  return out;
}
std::unique_ptr<session> make_whole_eye(const session_request& wanted) {
  if (wanted.how && wanted.how->modules[0].on.split().context > 1) fail(table_is_parted, "the eye is whole");
  return make_fed(wanted);
}
const trained_model long_models[] = {{"fed", make_fed, nullptr, facts_of_rows<256>}};
const trained_model whole_eye_models[] = {{"fed", make_whole_eye, nullptr, facts_of_rows<256>}};
training_program fed_program(std::span<const trained_model> models = fed_models) {
  training_program out = speaking_program();
  out.models = models;
  out.plans = {};
  return out;
}
const training_program fed = fed_program();
double multiplications(const tower_outline& of) {
  return static_cast<double>(of.layers) * work_of_part(of, tower_part::block).forward_flops / 2;
}
run_settings asked(const char* cluster, const training_program& program = fed) {
  return settings_of({"--orchestrate", cluster, "--data", "random", "--batch", "12"}, program);
}

}  // namespace

TEST_CASE("a plan is found for the model, the cluster and the ranks, and it is proven") {
  for (const std::int32_t ranks : {1, 2, 3}) {
    const orchestration found = orchestrate_run(asked("laptop"), ranks);
    CHECK(found.how.cluster.ranks == ranks);
    CHECK(prove_plan(found.how, facts_of<fed_speech>(), 12).ok());
    CHECK(found.seconds > 0);
    REQUIRE(found.next.has_value() == (ranks > 1));
    if (found.next) CHECK(found.next->seconds >= found.seconds);
    if (found.next) CHECK(!(found.next->how == found.how));
    CHECK(found.considered >= found.played);
    CHECK(found.counted >= 2);
    // Of a cluster that is not measured, the same again: processes of a run agree without a word.
    CHECK(orchestrate_run(asked("laptop"), ranks).how == found.how);
  }
}

TEST_CASE("what was chosen is told, with what would be next; a saved run has its plan already") {
  const run_settings s = asked("laptop:1x2");
  std::string told;
  const chosen_plan found = choose_orchestrated(s, nullptr, {}, told);
  CHECK(found.value.cluster.ranks == 2);
  for (const char* const part : {"orchestrated for laptop:1x2: ", " plans considered, ", "chosen    ",
                                 " ms a step by forecast: eye on rank", "next best ", " % more: "})
    CHECK_MESSAGE(holds(told, part), told);

  const std::filesystem::path run = std::filesystem::temp_directory_path() / "motet_orchestration";
  std::filesystem::remove_all(run);
  json state;
  state.set("plan", plan_json(plan_of("data-2", facts_of<fed_speech>())));
  session_request wanted = s.request();
  fed_session trained(wanted);
  trained.prepare();
  const checkpoint saved(trained.save(run, "fed", state, 1));
  const chosen_plan again = choose_orchestrated(s, &saved, {}, told);
  CHECK(again.value == require_plan(plan_of("data-2", facts_of<fed_speech>()), facts_of<fed_speech>(), 12));
  CHECK(holds(told, "has one: eye on ranks 0-1 (stages 1 x data 2 x tensor 1)"));
  std::filesystem::remove_all(run);
}

TEST_CASE("a plan is found for steps in order, and who has each module's samples is told") {
  const auto told_of = [](const char* order) {
    std::string told;
    const run_settings s = settings_of(
        {"--orchestrate", "laptop:1x4", "--data", "random", "--batch", "12", "--reorder", order}, fed);
    const chosen_plan found = choose_orchestrated(s, nullptr, {}, told);
    const bool crosses = rows_cross(found.value, facts_of<fed_speech>(), 12);
    CHECK_MESSAGE(holds(told, "ms a step by forecast of steps in order: eye on rank"), told);
    CHECK(holds(told, "owners    each module has its own") == (crosses && s.rows_cross()));
    CHECK(holds(told, "owners    are those of all modules") == (!crosses && s.rows_cross()));
    return found.value;
  };
  told_of("all");
  told_of("modules");
}

TEST_CASE("the run settles in how many pieces rows of tensor groups are exchanged, and no search does") {
  const plan open = with_pieces_open(plan_of("data-2", facts_of<fed_speech>()));
  CHECK(open == plan_of("data-2", facts_of<fed_speech>()));
  plan cut = plan_of("tensor-2", facts_of<fed_speech>());
  for (const module_plan& each : cut.modules) CHECK(each.pieces == 1);
  for (const module_plan& each : with_pieces_open(cut).modules) CHECK(each.pieces == 0);
  const orchestration found = orchestrate_run(asked("laptop"), 2);
  for (const module_plan& each : found.how.modules) CHECK(each.pieces == 1);
  std::string told;
  for (const module_plan& each : choose_orchestrated(asked("laptop:1x2"), nullptr, {}, told).value.modules)
    CHECK(each.pieces == (each.on.split().tensor > 1 ? 0 : 1));
}

TEST_CASE("a cluster that is too small, and a model without edges") {
  CHECK_THROWS_WITH_AS(orchestrate_run(asked("laptop:1x2"), 3),
                       doctest::Contains("--ranks 3, and laptop:1x2 has 2 devices"), error);
  const std::filesystem::path tight = std::filesystem::temp_directory_path() / "motet_tight.json";
  write_file(tight, R"({"like": "laptop", "devices_per_node": 2, "device": {"memory_bytes": 20000}})");
  CHECK_THROWS_WITH_AS(orchestrate_run(asked(tight.c_str()), 2),
                       doctest::Contains("bytes short of 20000 on each of 2 ranks"), error);
  CHECK_THROWS_WITH_AS(orchestrate_run(asked(tight.c_str()), 2), doctest::Contains("talk"), error);
  std::filesystem::remove(tight);
  CHECK_THROWS_WITH_AS(
      orchestrate_run(settings_of({"--orchestrate", "laptop", "--data", "random"}, speaking_program()), 2),
      doctest::Contains("whose modules do not feed each other"), error);
}

TEST_CASE("plans that the nets refuse are passed over, and told where there is no other") {
  const training_program whole = fed_program(whole_models), lonely = fed_program(lonely_models);
  CHECK(orchestrate_run(asked("laptop", whole), 3).how.modules.back().on.split().stages == 1);
  CHECK_THROWS_WITH_AS(orchestrate_run(asked("laptop", lonely), 3),
                       doctest::Contains("no plan that was counted fits; the last is refused: motet: a plan "
                                         "parts a table of tokens"),
                       error);
}

TEST_CASE("rows of an eye are counted in parts where it has enough of them and takes such a plan") {
  // So slow a device that work alone tells.
  const std::filesystem::path slow = std::filesystem::temp_directory_path() / "motet_slow.json";
  write_file(slow, R"({"like": "laptop", "devices_per_node": 4, "device": {"single_flops": 1e6}})");
  const auto found = [&](std::span<const trained_model> models) {
    const training_program of = fed_program(models);
    return orchestrate_run(
        settings_of({"--orchestrate", slow.c_str(), "--data", "random", "--batch", "2"}, of), 4);
  };
  const orchestration cut = found(long_models), whole = found(whole_eye_models),
                      short_rows = found(fed_models);
  CHECK(cut.considered > whole.considered);
  CHECK(cut.how.modules[0].on.split().context == 2);
  CHECK(cut.seconds < whole.seconds);
  CHECK(whole.how == short_rows.how);
  CHECK(whole.considered == short_rows.considered);
  std::filesystem::remove(slow);
}

TEST_CASE("times of a profile count, and a tower that is not the module's is refused") {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / "motet_orchestrated_profile.json";
  const auto found = [&](const tower_outline& of) {
    machine_profile profile{.machine = "a test"};
    profile.modules.push({of, {{1, 1, {}, {1, 1, 1}, {}}}});
    write_file(file, format_profile(profile));
    run_settings s = asked("laptop");
    s.profile = file.string();
    return orchestrate_run(s, 2);
  };
  const module_facts talk = facts_of<fed_speech>().back();
  tower_outline measured{.name = "talk", .layers = talk.layers, .width = 8, .heads = talk.key_heads};
  // About as much work as the module has for a sample.
  while (multiplications(measured) < talk.work) ++measured.tokens;
  const orchestration slow = found(measured);
  CHECK(slow.measured == "talk");
  CHECK(slow.seconds > 1000 * orchestrate_run(asked("laptop"), 2).seconds);
  ++measured.layers;
  CHECK_THROWS_WITH_AS(found(measured), doctest::Contains("and the module that is trained has"), error);
  std::filesystem::remove(file);
}

TEST_CASE("several processes find the same plan where nothing is measured") {
  launched two;
  two.ranks = 2;
  std::string told;
  CHECK_THROWS_WITH_AS(choose_orchestrated(asked("here"), nullptr, two, told),
                       doctest::Contains("each would measure, and find another plan"), error);
  CHECK(choose_orchestrated(asked("laptop"), nullptr, two, told).value.cluster.ranks == 2);
}
