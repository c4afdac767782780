// SPDX-License-Identifier: Apache-2.0
// labels: threads
// Modules that feed one another learn by any plan what they learn on one rank, and on one rank what they
// learn inside one module.
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/front/trainer.hpp>
#include <motet/plan/disttrain/orchestrate.hpp>
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/prove/require_plan.hpp>

#include "deviation.hpp"
#include "drawn_cases.hpp"
#include "train_vlm/plans.hpp"
#include "unit/plan/disttrain/counted_speech.hpp"
#include "unit/runtime/allocations.hpp"
#include "unit/runtime/drawn_unlike.hpp"
#include "unit/runtime/small_fan.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

using namespace motet;

namespace {

using all_learn = small_fed_speech<false, false, true>;  // its stages may end within blocks
using eye_kept = small_fed_speech<true>;
using glue_alone = small_fed_speech<true, true>;
constexpr motet::isize samples = 12;
const int drawn_fillings = laws::so_many(18);

launched_world alone(const char* threads = "2") {
  const char* const words[] = {"program", "--threads", threads};
  return launch(3, words);
}
// Other modules' rows of the same samples enter the language model.
struct fed_text {
  small_seen_text data;
  std::vector<motet::isize> rows;
  explicit fed_text(std::uint64_t seed) : data(samples, seed) {
    for (const motet::isize each : data.picture_offsets) rows.push_back(5 * each);
  }
  all_learn::batch get() const {
    const pictured_tokens all = data.get();
    return {seen_pictures{all.seen, samples, all.picture_offsets},
            placed_tokens{all, rows.data(), all.places}};
  }
};
template <class Model>
auto drawn_text(std::uint64_t seed) {
  if constexpr (std::is_same_v<Model, small_fan>) return small_fan_text(samples, seed);
  else return fed_text(seed);
}
struct steps {
  std::vector<double> losses, norms;
  std::vector<float> weights;
};
template <class Model>
steps train(trainer<Model>& by) {
  steps out;
  for (std::uint64_t k = 0; k < 3; ++k) {
    const auto data = drawn_text<Model>(1 + k);
    const step_result found = by.step(data.get(), 1e-3);
    out.losses.push_back(found.loss);
    out.norms.push_back(found.gradient_norm);
  }
  out.weights = by.weights();
  return out;
}
template <class Model>
const steps& of_one_rank() {
  static const steps found = [] {
    const launched_world world = alone("1");
    trainer<Model> one(world, {.batch = samples});
    return train(one);
  }();
  return found;
}
void check_same(const steps& got, const steps& want) {
  CHECK(laws::off_by(got.losses, want.losses) <= 1e-5);
  CHECK(laws::off_by(got.norms, want.norms) <= 1e-4);
  CHECK(laws::off_by(got.weights, want.weights) <= 1e-4);
}
// Rooms of every other plan follow the rows of its steps.
template <class Model>
void check_plan_is_one_rank(const plan& how, const char* threads = "1") {
  static bool by_rows = false;
  by_rows = !by_rows;
  CAPTURE(by_rows);
  const launched_world world = alone(threads);
  trainer<Model> many(world, how, {.batch = samples, .rooms = {.by_rows = by_rows}});
  check_same(train(many), of_one_rank<Model>());
}

// Where layers are halves of blocks, each stage has as many as are drawn.
template <class Model>
plan with_drawn_bounds(plan of, std::uint64_t seed) {
  const random_stream draw(seed, "bounds");
  const list<module_facts> facts = facts_of<Model>();
  std::uint64_t at = 0;
  for (motet::isize k = 0; k < of.modules.size(); ++k) {
    const motet::isize stages = of.modules[k].stages(), layers = facts[k].layers;
    if (facts[k].whole_blocks() == layers || stages == 1 || layers < stages) continue;
    motet::isize left = layers;
    for (motet::isize s = stages; s > 0; --s) {
      const auto most = static_cast<std::uint32_t>(left - s + 1);
      const motet::isize own = s == 1 ? left : 1 + static_cast<motet::isize>(draw.below(at++, most));
      of.modules[k].layers.push(own);
      left -= own;
    }
  }
  return of;
}
// Each stage on any rank, that of another one perhaps; replicas and parts of layers on ranks of their own.
template <class Model>
plan drawn_plan(std::uint64_t seed) {
  const random_stream draw(seed, "plans"), shares(seed, "shares");
  std::uint64_t at = 0;
  const auto below = [&](std::uint32_t most) { return static_cast<int>(draw.below(at++, most)); };
  const int data = 1 + below(2), tensor = data == 1 ? 1 + below(2) : 1, copies = data * tensor,
            lanes = 1 + below(copies == 1 ? 3 : 2), parts = 1 + below(5);
  plan out;
  out.cluster.ranks = lanes * copies;
  out.schedule = below(3) == 0 ? "gpipe" : "1f1b";
  for (std::size_t k = 0; k < Model::size; ++k) {
    const bool whole = Model::through[k];
    const int stages = whole ? 1 : 1 + below(2);
    list<std::int32_t> ranks;
    std::vector<int> taken;
    for (int s = 0; s < stages; ++s) {
      int lane = below(static_cast<std::uint32_t>(lanes));
      // A module has a rank once.
      while (std::find(taken.begin(), taken.end(), lane) != taken.end() &&
             static_cast<int>(taken.size()) < lanes)
        lane = (lane + 1) % lanes;
      if (std::find(taken.begin(), taken.end(), lane) != taken.end()) break;
      taken.push_back(lane);
      for (int r = 0; r < copies; ++r) ranks.push(lane * copies + r);
    }
    module_plan own;
    own.name = label(Model::names[k]);
    own.on = mesh({.stages = static_cast<int>(taken.size()), .data = data, .tensor = tensor}, ranks);
    own.microbatches = parts;
    own.group = 1;
    if (whole && data > 1) own.zero = with_weights(1 + below(2), shares, k);
    out.modules.push(own);
  }
  return with_drawn_bounds<Model>(out, seed);
}
// What feeds the language model goes into its gaps: any order of it by itself, replicas and parts on the same
// ranks.
template <class Model>
plan drawn_filling(std::uint64_t seed) {
  const random_stream draw(seed, "fillings"), slices(seed, "slices"), shares(seed, "shares");
  std::uint64_t at = 0;
  const auto below = [&](std::uint32_t most) { return static_cast<int>(draw.below(at++, most)); };
  constexpr const char* schedules[] = {"1f1b", "gpipe", "zb_h1", "interleaved", "zb_v", "v_half"};
  const int which = below(6),
            stages = which < 3    ? 2 - below(4) / 3  // one stage alone rarely leaves gaps
                     : which == 3 ? 2
                                  : 1,
            tensor = stages == 1 ? 1 + below(2) : 1, parts = which == 3 ? 2 * (1 + below(2)) : 1 + below(4);
  plan out;
  out.cluster.ranks = 2;
  out.schedule = schedules[which];
  for (std::size_t k = 0; k < Model::size; ++k) {
    const bool last = k + 1 == Model::size, one = Model::through[k] || below(2) == 0;
    module_plan own;
    own.name = label(Model::names[k]);
    own.group = 1;
    if (last) {
      own.on = mesh::from(
          0, {.stages = stages, .data = stages * tensor == 1 ? 1 + below(2) : 1, .tensor = tensor});
      own.microbatches = parts;
      own.chunks = which < 3 ? 1 : 2;
    } else {
      const int data = one ? 1 : 2;
      own.on = mesh::from(data == 2 ? 0 : below(2), {.data = data});
      own.microbatches = 1 + below(3);
      if (data == 2 && !Model::frozen[k]) own.zero = with_weights(below(3), shares, k);
      own.fills = true;
      if (!Model::through[k]) own.chunks = 1 + static_cast<int>(slices.below(k, 2));
      own.room = below(3) == 0 ? 1 + below(3) : 0;
      own.forward_takes = 1 + below(9);
    }
    own.backward_takes = below(2) == 0 ? 0 : 1 + below(20);
    if (last) own.forward_takes = 5 + below(20);
    out.modules.push(own);
  }
  return with_drawn_bounds<Model>(out, seed);
}
// Any schedule of the language model by itself, its ranks those of the others or not, and those before it run
// ahead.
template <class Model>
plan drawn_ahead(std::uint64_t seed) {
  plan out = drawn_unlike<Model>(seed);
  const random_stream draw(seed, "ahead"), shares(seed, "shares of it");
  std::uint64_t at = 0;
  const auto below = [&](std::uint32_t most) { return static_cast<int>(draw.below(at++, most)); };
  struct numbers {
    const char* name;
    int stages, chunks, parts;
  };
  constexpr numbers all[] = {{"interleaved", 2, 2, 4}, {"zb_h1", 2, 1, 5},     {"zb_h1", 4, 1, 6},
                             {"zb_h2", 3, 1, 7},       {"zb_v", 2, 2, 6},      {"zb_v", 1, 2, 3},
                             {"v_half", 2, 2, 5},      {"v_min", 2, 2, 7},     {"zb_auto", 2, 1, 5},
                             {"dualpipe_v", 1, 2, 5},  {"dualpipe_v", 2, 2, 6}};
  const numbers& which = all[below(std::size(all))];
  module_plan& own = out.modules.back();
  const int copies = which.stages > 2 ? 1 : 1 + below(2), way = below(3);
  const degrees split{.stages = which.stages,
                      .data = way == 0 ? copies : 1,
                      .context = way == 1 ? copies : 1,
                      .tensor = way == 2 ? copies : 1};
  own.on = mesh::from(below(static_cast<std::uint32_t>(4 - which.stages * copies + 1)), split);
  own.chunks = which.chunks;
  own.microbatches = which.parts;
  const int from = split.context > 1 ? below(4) : 0;
  own.long_rows = from == 3 ? long_rows_chosen : 6 * from;
  own.zero = split.data > 1 && !Model::frozen[Model::size - 1] ? with_weights(below(3), shares, 0) : 0;
  out.schedule = which.name;
  return with_drawn_bounds<Model>(out, seed);
}
// Modules compute in lanes that are drawn, some with a share, and rows of tensor groups come in drawn pieces.
plan in_drawn_lanes(plan of, std::uint64_t seed) {
  const random_stream draw(seed, "lanes");
  std::uint64_t at = 0;
  double shares[3] = {};
  for (double& each : shares) each = draw.below(at++, 2) == 0 ? .1 + .1 * draw.below(at++, 2) : 0;
  for (module_plan& each : of.modules) {
    each.lane = static_cast<int>(draw.below(at++, 3));
    each.share = shares[each.lane];
  }
  const random_stream pieces(seed, "pieces");
  for (module_plan& each : of.modules)
    if (each.on.split().tensor > 1) each.pieces = static_cast<int>(pieces.below(at++, 4));
  return of;
}
// Those of so many drawn plans that fit are most.
template <class Model, class Drawn>
int check_fitting(std::uint64_t first, int count, Drawn drawn) {
  int fitting = 0;
  for (int k = 0; k < count; ++k) {
    const std::uint64_t seed = laws::seeded(first) + static_cast<std::uint64_t>(k);
    CAPTURE(seed);
    const plan of = drawn(seed);
    const message* row = nullptr;
    const std::string why = explain_plan(of, facts_of<Model>(), samples, &row);
    // Room for fewer than the schedule needs, numbers that it does not have, no gaps, or more parts than
    // samples.
    const std::set<std::string_view> expected{"", "MT-P02", "MT-P03", "MT-P10", "MT-S10", "MT-S23"};
    CHECK_MESSAGE(expected.count(row == nullptr ? "" : row->code) == 1, why);
    if (why.empty() && laws::in_our_half(static_cast<std::uint64_t>(k))) check_plan_is_one_rank<Model>(of);
    fitting += why.empty() ? 1 : 0;
  }
  return fitting;
}
template <class Model>
int check_drawn_fillings(std::uint64_t seed, int count) {
  return check_fitting<Model>(seed, count, drawn_filling<Model>);
}
// The others are multiplexed, on ranks that a part of the language model has, cut in any way.
template <class Model>
plan drawn_multiplexed(std::uint64_t seed) {
  plan out = drawn_filling<Model>(seed);
  const random_stream draw(seed, "multiplexed");
  const module_plan& talk = out.modules.back();
  for (std::size_t k = 0; k + 1 < Model::size; ++k) {
    module_plan& own = out.modules[static_cast<motet::isize>(k)];
    own.fills = false;
    own.room = 0;
    own.chunks = 1;
    own.layers = {};
    own.multiplexed = true;
    own.ahead = static_cast<int>(draw.below(2 * k, 3));
    if (draw.below(2 * k + 1, 2) == 0) own.microbatches = talk.microbatches;
    if (talk.on.ranks().size() == 1) own.on = mesh::from(talk.on.ranks()[0], {});
    if (own.on.split().data == 1) own.zero = 0;
  }
  return out;
}
template <class Model>
int check_drawn_ahead(std::uint64_t seed, int count) {
  return check_fitting<Model>(seed, count, drawn_ahead<Model>);
}
template <class Model>
void check_drawn_plans(std::uint64_t first, int count, plan (*drawn)(std::uint64_t) = drawn_plan<Model>) {
  for (int k = 0; k < laws::so_many(count); ++k) {
    if (!laws::in_our_half(static_cast<std::uint64_t>(k))) continue;
    const std::uint64_t seed = laws::seeded(first) + static_cast<std::uint64_t>(k);
    CAPTURE(seed);
    check_plan_is_one_rank<Model>(drawn(seed));
  }
}
plan apart() {
  plan out;
  out.cluster.ranks = 2;
  out.schedule = "1f1b";
  for (const char* const name : {"eye", "glue", "talk"}) {
    module_plan own = on_ranks(name, name[0] == 't' ? 1 : 0, {}, 4);
    own.group = 1;
    out.modules.push(own);
  }
  return out;
}
template <class Model = all_learn>
std::string refusal(const plan& how) {
  try {
    const launched_world world = alone();
    trainer<Model> train(world, how, {.batch = samples});
  } catch (const error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an eye of its own learns what it learns inside the language model") {
  const launched_world world = alone();
  trainer<all_learn> apart(world, {.batch = samples});
  trainer<small_seen_speech> inside(world, {.batch = samples});
  inside.set_state(apart.state());
  for (std::uint64_t k = 0; k < 3; ++k) {
    const fed_text data(1 + k);
    const step_result got = apart.step(data.get(), 1e-3), want = inside.step({data.data.get()}, 1e-3);
    CHECK_EQ(got.loss, want.loss);
    CHECK(laws::off_by(got.gradient_norm, want.gradient_norm) <= 1e-6 * want.gradient_norm);
    CHECK_EQ(apart.flops(data.get()), inside.flops({data.data.get()}));
  }
  CHECK(laws::off_by(apart.weights(), inside.weights()) <= 1e-6);
}

TEST_CASE("any plan is one rank") { check_drawn_plans<all_learn>(1, 24); }
TEST_CASE("any plan is one rank with a frozen eye, and with nothing but the glue to learn") {
  check_drawn_plans<eye_kept>(100, 12);
  check_drawn_plans<glue_alone>(200, 12);
}
TEST_CASE("any plan is one rank where modules cut samples unlike") {
  check_drawn_plans<all_learn>(0, 40, drawn_unlike<all_learn>);
  check_drawn_plans<eye_kept>(1000, 8, drawn_unlike<eye_kept>);
  check_drawn_plans<glue_alone>(2000, 8, drawn_unlike<glue_alone>);
}
TEST_CASE("any plan is one rank where modules compute beside one another in lanes, filled or not") {
  for (int n = 0; n < laws::so_many(12); ++n) {
    const std::uint64_t k = laws::seeded(0) + static_cast<std::uint64_t>(n);
    if (!laws::in_our_half(k)) continue;
    CAPTURE(k);
    const char* const threads = n % 3 == 0 ? "3" : "1";
    check_plan_is_one_rank<all_learn>(in_drawn_lanes(drawn_plan<all_learn>(500 + k), k), threads);
    check_plan_is_one_rank<all_learn>(in_drawn_lanes(drawn_unlike<all_learn>(600 + k), 100 + k), threads);
    const plan ahead = in_drawn_lanes(drawn_ahead<eye_kept>(700 + k), 200 + k);
    if (explain_plan(ahead, facts_of<eye_kept>(), samples).empty()) check_plan_is_one_rank<eye_kept>(ahead);
    const plan filled = in_drawn_lanes(drawn_filling<all_learn>(800 + k), 300 + k);
    if (explain_plan(filled, facts_of<all_learn>(), samples).empty())
      check_plan_is_one_rank<all_learn>(filled, threads);
  }
}
// A language model of two stages of tensor groups, and an eye on all of their ranks: in its gaps, in a lane
// of its own, in both or in neither. So a rank may have several lanes, and a courier for its rows.
TEST_CASE("a rank with lanes whose rows come in pieces learns the same to the bit") {
  const launched_world world = alone("2");
  for (const int how : {0, 1, 2, 3}) {
    if (!laws::in_our_half(static_cast<std::uint64_t>(how))) continue;
    CAPTURE(how);
    const auto learned = [&](int pieces) {
      plan of;
      of.cluster.ranks = 4;
      of.schedule = "1f1b";
      for (const char* const name : {"eye", "glue", "talk"}) {
        const bool last = name[0] == 't';
        module_plan own =
            on_ranks(name, 0, last ? degrees{.stages = 2, .tensor = 2} : degrees{.data = 4}, last ? 4 : 1);
        own.group = 1;
        own.fills = how % 2 == 1 && !last;
        if (last) own.pieces = pieces;
        of.modules.push(own);
      }
      if (how > 1) of.beside({"eye", "glue"}, 0.25);
      trainer<all_learn> by(world, of, {.batch = samples});
      return train(by);
    };
    const steps wanted = learned(1);
    for (const int pieces : {2, 3, 0}) {
      CAPTURE(pieces);
      const steps got = learned(pieces);
      CHECK(got.losses == wanted.losses);
      CHECK(got.weights == wanted.weights);
    }
  }
}
TEST_CASE("two ways from an eye to a language model are one way with the rows of both") {
  const launched_world world = alone();
  trainer_options how{.batch = samples};
  how.optimizer.clip = 0;
  trainer<all_learn> one(world, how);
  trainer<small_fan> two(world, how);
  // The weights are the same, and the lens has those of the glue.
  const auto from = one.state();
  auto state = two.state();
  const auto each_pair = [&](auto&& visit) {
    for (const parameter& own : small_fan::parameters())
      for (const parameter& other : all_learn::parameters()) {
        std::string name(own.name);
        if (name.starts_with("lens.")) name.replace(0, 4, "glue");
        if (name == other.name) visit(own, other);
      }
  };
  each_pair([&](const parameter& own, const parameter& other) {
    std::copy_n(from.weights.begin() + other.offset, own.size(), state.weights.begin() + own.offset);
  });
  two.set_state(state);
  const small_fan_text data(samples, 1, false);
  const fed_text plain(1);
  const double want = one.step(plain.get(), 0).loss;
  CHECK(laws::off_by(two.step(data.get(), 0).loss, want) <= 1e-6 * want);
  // Moments after a first step without clipping are shares of gradients; those of the two ways add up.
  const auto got = two.state(), wanted = one.state();
  std::vector<double> sums(wanted.first.size(), 0);
  each_pair([&](const parameter& own, const parameter& other) {
    for (motet::isize i = 0; i < own.size(); ++i)
      sums[static_cast<std::size_t>(other.offset + i)] += got.first[static_cast<std::size_t>(own.offset + i)];
  });
  CHECK(laws::off_by(sums, std::vector<double>(wanted.first.begin(), wanted.first.end())) <= 1e-6);
}
TEST_CASE("any plan is one rank where several modules feed one, and one feeds several") {
  check_drawn_plans<small_fan>(300, 16);
  check_drawn_plans<small_fan>(3000, 16, drawn_unlike<small_fan>);
}
TEST_CASE("any plan is one rank where what feeds the language model goes into its gaps") {
  CHECK(check_drawn_fillings<all_learn>(400, drawn_fillings) > drawn_fillings / 3);
  CHECK(check_drawn_fillings<eye_kept>(5000, drawn_fillings / 3) > 0);
  CHECK(check_drawn_fillings<glue_alone>(6000, drawn_fillings / 3) > 0);
  CHECK(check_drawn_fillings<small_fan>(7000, drawn_fillings / 3) > 0);
}
TEST_CASE("any plan is one rank where what feeds the language model stands between its computations") {
  CHECK(check_fitting<all_learn>(11000, drawn_fillings, drawn_multiplexed<all_learn>) > drawn_fillings / 3);
  CHECK(check_fitting<eye_kept>(12000, drawn_fillings / 3, drawn_multiplexed<eye_kept>) > 0);
  CHECK(check_fitting<glue_alone>(13000, drawn_fillings / 3, drawn_multiplexed<glue_alone>) > 0);
  CHECK(check_fitting<small_fan>(14000, drawn_fillings / 3, drawn_multiplexed<small_fan>) > 0);
}
TEST_CASE("plans that a search finds with multiplexed modules are one rank, also read from their files") {
  for (const bool learns : {true, false}) {
    if (!laws::in_our_half(learns ? 0 : 1)) continue;
    counted_graph asked = counted_speech({.ranks = 4,
                                          .samples = samples,
                                          .eye = 2e9,
                                          .eye_learns = learns,
                                          .sigma = 0.6,
                                          .between = 1e5,
                                          .spoken = 0.6});
    asked.facts = learns ? facts_of<all_learn>() : facts_of<eye_kept>();
    int trained = 0;
    for (const promised_plan& each : orchestrate(asked).plans) {
      if (!each.how.modules[0].multiplexed || trained == 2) continue;
      const std::string written = write_json(plan_json(each.how));
      CHECK(written.find("\"multiplexed\": true") != written.npos);
      const plan read = read_plan(read_json(written));
      CHECK(read == each.how);
      if (learns) check_plan_is_one_rank<all_learn>(read);
      else check_plan_is_one_rank<eye_kept>(read);
      ++trained;
    }
    CHECK(trained == 2);
  }
}
TEST_CASE("plans that a search finds with samples that stay whole are one rank") {
  counted_graph asked = counted_speech({.ranks = 2, .samples = samples, .eye = 1e6, .spoken = 1.2});
  asked.facts = facts_of<all_learn>();
  for (counted_cut& cut : asked.cuts)
    for (counted_module& each : cut.modules)
      if (cut.context > 1) each.forward_bytes = each.backward_bytes = 1e7;
  for (step_headers& each : asked.steps)
    for (double& rows : each.rows) rows = std::ceil(4 * rows);
  int trained = 0;
  for (const promised_plan& each : orchestrate(asked).plans) {
    if (each.how.modules[2].long_rows == 0 || trained == 2) continue;
    const plan read = read_plan(read_json(write_json(plan_json(each.how))));
    CHECK(read == each.how);
    check_plan_is_one_rank<all_learn>(read);
    ++trained;
  }
  CHECK(trained == 2);
}
// What backward needs goes away and comes back, in the process's memory or by way of a file.
TEST_CASE("a plan that offloads learns the same to the bit") {
  int moves = 0, refused = 0;
  motet::isize room = 0;  // of slots in the last plan
  const auto check = [&](plan how, std::uint64_t seed) {
    CAPTURE(seed);
    const std::string folder = seed % 2 == 0 ? std::filesystem::temp_directory_path().string() : "";
    const launched_world world = alone(seed % 3 == 0 ? "3" : "1");
    const auto learnt = [&] {
      trainer<all_learn> many(
          world, how, {.batch = samples, .rooms = {.by_rows = seed % 4 < 2}, .offload_folder = folder});
      for (const instruction& each : many.order().instructions) moves += each.what == op::offload ? 1 : 0;
      room = 0;
      for (const rank_memory& each : many.memory()) room += each.stages.slots;
      return train(many);
    };
    const steps stayed = learnt();
    const motet::isize all = room;
    const int before = moves;
    for (module_plan& each : how.modules)
      if (each.remade.empty()) each.offload_beyond = 1 + static_cast<int>(seed % 3);
    const message* row = nullptr;
    if (const std::string why = explain_plan(how, facts_of<all_learn>(), samples, &row); row != nullptr) {
      CHECK_MESSAGE(std::string_view(row->code) == "MT-S37", why);
      ++refused;
      return;
    }
    const steps moved = learnt();
    CHECK((moves > before ? room < all : room == all));
    CHECK(moved.losses == stayed.losses);
    CHECK(moved.norms == stayed.norms);
    CHECK(moved.weights == stayed.weights);
  };
  for (int n = 0; n < laws::so_many(4); ++n) {
    const std::uint64_t k = laws::seeded(0) + static_cast<std::uint64_t>(n);
    // Whatever comes back to a lane that computes is looked at by every sanitizer.
    check(in_drawn_lanes(drawn_plan<all_learn>(5200 + k), k), 5 * k + 2);
    if (!laws::in_our_half(k)) continue;
    check(drawn_plan<all_learn>(5000 + k), 5 * k);
    check(drawn_unlike<all_learn>(5100 + k), 5 * k + 1);
    for (const plan& each : {drawn_ahead<all_learn>(5300 + k), drawn_filling<all_learn>(5400 + k)})
      if (explain_plan(each, facts_of<all_learn>(), samples).empty()) check(each, 5 * k + 3);
  }
  MESSAGE(moves, " moves, ", refused, " refused");
  CHECK(moves > 40);  // of half of the draws as well
}
TEST_CASE("every named plan that fills, is multiplexed or cuts samples is one rank") {
  int found = 0;
  for (const named_plan& each : train_vlm::plans) {
    if (!each.name.starts_with("filled") && !each.name.starts_with("context") &&
        !each.name.starts_with("multiplexed"))
      continue;
    CAPTURE(each.name);
    plan of = each.make();
    // Where a plan says how many layers a stage has, it means an eye of eight halves; this one has four.
    if (list<isize>& layers = of.modules[0].layers; layers.size() > 0) {
      layers.resize(0);
      for (const isize halves : {3, 1}) layers.push(halves);
    }
    if (laws::in_our_half(static_cast<std::uint64_t>(found))) check_plan_is_one_rank<all_learn>(of);
    ++found;
  }
  CHECK(found == 13);
}
TEST_CASE("two encoders fill the gaps of one language model, each cut in its own way") {
  plan of{{.ranks = 2}, "zb_h1", {}};
  for (std::size_t k = 0; k < small_fan::size; ++k) {
    const label name(small_fan::names[k]);
    const bool last = k + 1 == small_fan::size;
    module_plan own = on_ranks(name, 0, last ? degrees{.stages = 2} : degrees{.data = 2}, last ? 6 : 3);
    own.group = 1;
    own.fills = !last;
    if (name == label("ear")) own.microbatches = 2;
    if (name == label("eye") || name == label("ear")) own.chunks = 2;
    of.modules.push(own);
  }
  check_plan_is_one_rank<small_fan>(of);
}
TEST_CASE("any plan is one rank where the language model has any order of its own and others run ahead") {
  CHECK(check_drawn_ahead<all_learn>(8000, drawn_fillings) > drawn_fillings / 3);
  CHECK(check_drawn_ahead<eye_kept>(9000, drawn_fillings / 3) > 0);
  CHECK(check_drawn_ahead<glue_alone>(9100, drawn_fillings / 3) > 0);
  CHECK(check_drawn_ahead<small_fan>(9200, drawn_fillings / 3) > 0);
  // Its forwards and backwards overlap, but where all replicas sum gradients in each backward.
  for (const std::uint64_t seed : {8041U, 8050U})
    check_plan_is_one_rank<all_learn>(drawn_ahead<all_learn>(seed));
}
TEST_CASE("threads of a rank, and parts of its batch, change nothing") {
  const launched_world world = alone();
  trainer<all_learn> two(world, {.batch = samples});
  check_same(train(two), of_one_rank<all_learn>());
  trainer<all_learn> parts(world, {.batch = samples, .parts = 4});
  check_same(train(parts), of_one_rank<all_learn>());
}

TEST_CASE("what is frozen stays, keeps nothing and costs no backward") {
  const launched_world world = alone();
  // Each number's first step depends on its own gradient alone.
  trainer_options how{.batch = samples};
  how.optimizer.clip = 0;
  trainer<all_learn> all(world, how);
  trainer<eye_kept> eye(world, how);
  trainer<glue_alone> glue(world, how);
  const fed_text data(1);
  const auto begun = glue.weights();
  // What is frozen stands last in the flat order; asked for by name, it stands where it is asked for.
  CHECK(eye.weights() != all.weights());
  CHECK(eye.weights<"eye", "glue", "talk">() == all.weights());
  CHECK(eye.weights<"glue">().size() == as_size(eye_kept::sizes[1]));
  for (auto* each : {&all}) each->step(data.get(), 1e-3);
  eye.step(data.get(), 1e-3);
  glue.step(data.get(), 1e-3);
  const auto of = [](const auto& model, const std::vector<float>& flat, std::size_t k) {
    using type = std::remove_cvref_t<decltype(model)>;
    const auto at = flat.begin() + type::offsets[k];
    return std::vector<float>(at, at + type::sizes[k]);
  };
  const all_learn whole{};
  const eye_kept kept{};
  const glue_alone one{};
  CHECK(laws::off_by(of(kept, eye.weights(), 1), of(whole, all.weights(), 1)) <= 1e-6);
  CHECK(laws::off_by(of(one, glue.weights(), 1), of(whole, all.weights(), 1)) <= 1e-6);
  CHECK(of(one, glue.weights(), 0) == of(one, begun, 0));
  CHECK(of(one, glue.weights(), 2) == of(one, begun, 2));
  // Backward of all costs as much as two forwards; of a fixed module as much as one, of a frozen one nothing.
  const double most = all.flops(data.get()), less = eye.flops(data.get()), least = glue.flops(data.get());
  CHECK(less < most);
  CHECK(least < less);
  CHECK(eye.memory()[0].stages.gradients == 4 * eye_kept::trainable_size);
  CHECK(glue.memory()[0].stages.optimizer == 2 * 4 * glue_alone::trainable_size);
  CHECK(eye.memory()[0].stages.slots < all.memory()[0].stages.slots);
}

TEST_CASE("a module learns at its own pace, whatever the plan") {
  const launched_world world = alone("1");
  trainer_options how{.batch = samples};
  how.paces = {{"eye", 0, 0}, {"talk", 0.25, 2 * optimizer_settings{}.decay}};
  trainer<all_learn> one(world, how), usual(world, {.batch = samples});
  trainer<all_learn> spread(world, apart(), how);
  const fed_text data(1);
  const auto begun = usual.weights();
  const double loss = usual.step(data.get(), 1e-3).loss;
  CHECK_EQ(one.step(data.get(), 1e-3).loss, loss);
  CHECK(laws::off_by(spread.step(data.get(), 1e-3).loss, loss) <= 1e-6 * loss);
  const auto own = one.weights(), others = usual.weights();
  CHECK(laws::off_by(spread.weights(), own) <= 1e-4);
  // An AdamW step moves a number by rate x (its direction + decay x the number), the same direction in both.
  const auto decay = static_cast<float>(optimizer_settings{}.decay);
  for (const parameter& each : all_learn::parameters()) {
    CAPTURE(each.name);
    const auto at = static_cast<std::size_t>(each.offset);
    const float moved = own[at] - begun[at], wanted = others[at] - begun[at],
                fell = each.decay ? decay * begun[at] * 1e-3f : 0;
    if (each.name.starts_with("eye.")) CHECK_EQ(moved, 0.0f);
    else if (each.name.starts_with("glue.")) CHECK_EQ(moved, wanted);
    else CHECK(std::abs(moved - (0.25f * (wanted + fell) - 0.25f * 2 * fell)) <= 1e-7f);
  }
  const auto refused = [&](std::vector<named_pace> paces) {
    trainer_options wrong{.batch = samples};
    wrong.paces = std::move(paces);
    try {
      trainer<eye_kept> train(world, wrong);
    } catch (const error& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  CHECK(refused({{"tlak", 1}}).find("did you mean talk") != std::string::npos);
  CHECK(refused({{"eye", 1}}).find("frozen") != std::string::npos);
  CHECK(refused({{"talk", -1}}).find("wanted 0 or more") != std::string::npos);
  CHECK(refused({{"talk", 1}, {"talk", 2}}).find("twice") != std::string::npos);
}

TEST_CASE("a rank that keeps weights in shares has fewer, and a checkpoint of it is like others") {
  const launched_world world = alone("1");
  plan how;
  how.cluster.ranks = 4;
  how.schedule = "1f1b";
  for (const char* const name : {"eye", "glue", "talk"}) {
    module_plan own = on_ranks(name, 0, {.data = 4}, 3);
    own.group = 1;
    how.modules.push(own);
  }
  std::vector<motet::isize> weights;
  flat_state<float> left;
  for (const int zero : {2, 3}) {
    for (module_plan& each : how.modules) each.zero = zero;
    trainer<all_learn> train(world, how, {.batch = samples});
    const fed_text data(1);
    train.step(data.get(), 1e-3);
    const auto found = train.state();
    if (zero == 3) CHECK(laws::off_by(found.weights, left.weights) <= 1e-6);
    left = found;
    weights.push_back(train.memory()[0].stages.weights);
  }
  CHECK(weights[0] >= 4 * all_learn::parameter_size);
  CHECK(weights[1] < weights[0]);
  check_plan_is_one_rank<all_learn>(how);
}

TEST_CASE("a step on several ranks allocates nothing") {
  for (const bool beside : {false, true}) {
    CAPTURE(beside);
    plan how = apart();
    if (beside) how.modules[2].on = how.modules[0].on, how.beside({"eye", "glue"}, .5);
    const launched_world world = alone(beside ? "3" : "1");
    trainer<all_learn> train(world, how, {.batch = samples});
    const fed_text data(1);
    const auto batch = data.get();
    for (int k = 0; k < 2; ++k) train.step(batch, 1e-3);
    const long before = allocations.load();
    train.step(batch, 1e-3);
    CHECK(allocations.load() == before);
  }
}

TEST_CASE("shares of lanes change between steps, which learn the same and allocate nothing") {
  plan how = apart();
  how.modules[2].on = how.modules[0].on;
  how.beside({"eye", "glue"}, .25);
  const launched_world world = alone("4");
  trainer<all_learn> train(world, how, {.batch = samples});
  CHECK_THROWS_WITH_AS(train.share_lanes({1}), doctest::Contains("MT-R63"), error);
  CHECK_THROWS_WITH_AS(train.share_lanes({.5, 0}), doctest::Contains("2 shares for 2 lanes"), error);
  steps got;
  const double shares[] = {.75, .25, .5};
  for (std::uint64_t k = 0; k < 3; ++k) {
    train.share_lanes({1 - shares[k], shares[k]});
    const auto data = drawn_text<all_learn>(1 + k);
    const step_result found = train.step(data.get(), 1e-3);
    got.losses.push_back(found.loss);
    got.norms.push_back(found.gradient_norm);
  }
  got.weights = train.weights();
  check_same(got, of_one_rank<all_learn>());
  const auto data = drawn_text<all_learn>(1);
  const auto batch = data.get();
  train.step(batch, 1e-3);
  const long before = allocations.load();
  train.step(batch, 1e-3);
  CHECK(allocations.load() == before);
}

TEST_CASE("what a plan cannot do with edges is said") {
  CHECK(refusal(apart()) == "");
  plan other = apart();
  other.schedule = "batch_sync";
  CHECK(refusal(other).find("MT-S18") != std::string::npos);
  other.schedule = "zb_h1";
  CHECK(refusal(other) == "");
  other.modules[0].chunks = 2;
  CHECK(refusal(other).find("MT-P07") != std::string::npos);
  other = apart();
  CHECK(refusal(other.beside("eye", 1)).find("MT-S25") != std::string::npos);
  CHECK(refusal(apart().beside("ear")).find("MT-M03") != std::string::npos);
  other = apart();
  other.modules[2].microbatches = 5;
  CHECK(refusal(other) == "");
  other.modules[2].microbatches = 13;
  CHECK(refusal(other).find("MT-S10") != std::string::npos);
  other = apart();
  other.modules[2].group = 0;
  CHECK(refusal(other).find("MT-P38") != std::string::npos);
}
TEST_CASE("what cannot fill is said") {
  const auto says = [](const plan& of, const char* text) {
    const std::string said = refusal(of);
    CHECK_MESSAGE(said.find(text) != std::string::npos, said);
  };
  plan filled = apart();
  for (motet::isize k = 0; k < 2; ++k) {
    filled.modules[k].on = mesh::from(0, {.data = 2});
    filled.modules[k].microbatches = 2;
    filled.modules[k].fills = true;
  }
  filled.modules[2].on = mesh::from(0, {.stages = 2});
  filled.modules[2].microbatches = 4;
  CHECK(refusal(filled) == "");
  plan other = filled;
  other.modules[2].fills = true;
  says(other, "talk: it fills, and so do all others, so that nobody leaves gaps");
  other = filled;
  other.modules[0].ahead = 1;
  says(other, "eye: it fills, with stash -1, ahead 1");
  other = filled;
  other.modules[2].on = mesh::from(0, {.data = 2});
  says(other,
       "eye: none of its ranks waits for others in 1f1b; what fills would take 4 % of their step and hide "
       "none of it");
  other = filled;
  other.modules[2].room = 3;
  says(other, "talk: room 3, and it does not fill");
  other = filled;
  other.schedule = "interleaved";
  other.modules[2].chunks = 2;
  CHECK(refusal(other) == "");
  other.modules[1].room = 1;
  says(other, "glue: room 1, and the others wait for a microbatch that comes behind those; room 2 is enough");
}

TEST_CASE("samples do not move between replicas at one end of an edge alone") {
  const launched_world world = alone();
  CHECK_THROWS_WITH_AS(
      (trainer<all_learn>(world, apart(), {.batch = samples, .resplit = {.every = 1, .most = 1.5}})),
      doctest::Contains("MT-R02"), error);
}

TEST_CASE("rows that do not match the places for them are named before the step") {
  const launched_world world = alone();
  trainer<all_learn> train(world, apart(), {.batch = samples});
  const fed_text data(1);
  auto batch = data.get();
  std::vector<motet::isize> fewer(data.data.picture_offsets);
  for (std::size_t s = 1; s < fewer.size(); ++s) fewer[s] = std::max<motet::isize>(fewer[s] - 1, 0);
  std::get<0>(batch).offsets = fewer.data();
  std::get<0>(batch).samples = fewer.back();
  CHECK_THROWS_WITH_AS(train.step(batch, 1e-3), doctest::Contains("MT-R19"), error);
}
