// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: front/edges and tests of the front
// An encoder may stand under several losses: its rows feed a head that is compared, and a net that says
// captions; or heads that are compared with unlike things, each loss with numbers of its own.
#include <motet/front/ranks/compiled.hpp>

#include <motet/nn/towers/sound_tower.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/runtime/stage/plan_choices.hpp>

#include "deviation.hpp"
#include "unit/runtime/allocations.hpp"
#include "unit/runtime/small_coca.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace motet;

namespace {

constexpr motet::isize samples = 6;

template <class Model>
using pipeline = pipeline_trainer<Model, cpu::device, fp64, thread_ranks<local::world, local::endpoint>>;

template <class Model>
plan alone(int parts = 1, const char* schedule = "1f1b") {
  plan out;
  out.cluster.ranks = 1;
  out.schedule = label(schedule);
  for (const std::string_view name : Model::names) {
    module_plan own = on_ranks(label(name), 0, {}, parts);
    own.group = label(schedule) == label("gpipe") ? 0 : 1;
    out.modules.push(own);
  }
  return out;
}
template <class Model>
std::unique_ptr<pipeline<Model>> made(const plan& how, bool update = false) {
  score order;
  const list<module_facts> facts = facts_of<Model>();
  REQUIRE(check_plan(how, facts, samples).ok());
  REQUIRE(write_plan(how, facts, order, samples).ok());
  pipeline_config config;
  config.batch = samples;
  config.update = update;
  config.modules = choices_of(how);
  config.deadline = 60;
  auto out = std::make_unique<pipeline<Model>>(order, config);
  out->prepare();
  return out;
}

using by_name = std::map<std::string, std::vector<double>>;
template <class Model>
by_name values_of(const std::vector<double>& flat) {
  by_name out;
  for (const parameter& each : Model::parameters())
    if (each.offset < static_cast<motet::isize>(flat.size()))
      out[each.name].assign(flat.begin() + each.offset, flat.begin() + each.offset + each.size());
  return out;
}
void check_equal(const by_name& got, const by_name& want) {
  REQUIRE_EQ(got.size(), want.size());
  for (const auto& [name, values] : want) {
    INFO(name);
    CHECK(laws::off_by(got.at(name), values) <= 1e-9);
  }
}
// Another model with the weights of these names: adds `weight` times its gradients, and says what it loses.
template <class Model>
double add_apart(const by_name& weights, const typename Model::batch& batch, double weight, by_name& to) {
  const auto own = made<Model>(alone<Model>());
  std::vector<double> flat(static_cast<std::size_t>(Model::parameter_size), 0.0);
  for (const parameter& each : Model::parameters())
    std::copy(weights.at(each.name).begin(), weights.at(each.name).end(), flat.begin() + each.offset);
  own->set_weights(flat);
  const double loss = own->step(batch, 0).loss;
  for (const auto& [name, values] : values_of<Model>(own->gradients())) {
    std::vector<double>& sum = to[name];
    sum.resize(values.size(), 0.0);
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += weight * values[i];
  }
  return loss;
}

struct outcome {
  double loss, contrast, captions;
  std::vector<double> gradients;
};
outcome of_plan(const plan& how) {
  small_coca_data data(samples, 3);
  const auto all = made<small_coca>(how);
  const step_result found = all->step(data.get(), 0);
  REQUIRE_EQ(found.parts.size(), 2);
  return {found.loss, found.parts[0].loss, found.parts[1].loss, all->gradients()};
}
void check_equal(const outcome& got, const outcome& want) {
  CHECK(laws::off_by(got.loss, want.loss) <= 1e-9);
  CHECK(laws::off_by(got.contrast, want.contrast) <= 1e-9);
  CHECK(laws::off_by(got.captions, want.captions) <= 1e-9);
  check_equal(values_of<small_coca>(got.gradients), values_of<small_coca>(want.gradients));
}

// Towers whose heads are modules of their own, and the towers.
constexpr vit_config small_eye = [] {
  vit_config c = small_sight_eye;
  c.pool = pool_kind::mean;
  c.embedding = 8;
  return c;
}();
constexpr text_config small_text{
    .vocabulary = 23, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8};
using whole_towers =
    model<join<info_nce, module<"picture", vit<small_eye>>, module<"caption", text_tower<small_text>>>>;
using cut_towers =
    model<modules<module<"picture", vit_rows<small_eye, false>>,
                  module<"head", pooled_rows<pooled_config{
                                     .width = 8, .rows = small_eye.patches().rows(), .embedding = 8}>>,
                  module<"caption", text_tower<small_text>>>,
          edge<"picture", "head">, loss<info_nce, "head", "caption">>;

// Pictures are compared with words by a temperature, with sounds by another, and with words again by a scale
// and a bias.
using small_contrasts =
    model<modules<small_coca_eye, small_coca_words, small_coca_seen, small_coca_said,
                  module<"shown", small_coca_seen::net>,
                  module<"heard",
                         sound_tower<sound_config{
                             .bins = 2, .frames = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>,
                  module<"viewed", small_coca_seen::net>, module<"told", small_coca_said::net>>,
          edge<"eye", "seen">, edge<"eye", "shown">, edge<"eye", "viewed">, edge<"words", "said">,
          edge<"words", "told">, loss<info_nce, "seen", "said">,
          weighted<loss<info_nce, "shown", "heard">, times{3}>, loss<pairwise_sigmoid, "viewed", "told">>;

struct contrasts_data {
  small_coca_data pairs{samples, 3};
  std::vector<float> frames = std::vector<float>(samples * 6 * 2);

  contrasts_data() {
    const random_stream draw(8, "sounds");
    for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = static_cast<float>(draw.normal(i));
  }
  small_contrasts::batch get() const {
    return {pairs.pictures(), pairs.captions(), sounds{frames.data(), samples}};
  }
};

// The loss changes as its gradients say, along a way through all parameters whose names begin so.
template <class Model>
void check_slope(pipeline<Model>& all, const typename Model::batch& batch, const std::vector<double>& start,
                 const std::vector<double>& slopes, std::string_view module) {
  INFO(module);
  constexpr double step = 1e-6;
  const random_stream draw(7, module);
  std::vector<double> way(start.size(), 0.0);
  double wanted = 0;
  for (const parameter& each : Model::parameters())
    for (motet::isize i = each.offset; each.name.starts_with(module) && i < each.offset + each.size(); ++i) {
      way[static_cast<std::size_t>(i)] = draw.normal(static_cast<std::uint64_t>(i));
      wanted += way[static_cast<std::size_t>(i)] * slopes[static_cast<std::size_t>(i)];
    }
  const auto loss_at = [&](double by) {
    std::vector<double> moved = start;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += by * way[i];
    all.set_weights(moved);
    return all.step(batch, 0).loss;
  };
  CHECK_NE(wanted, 0);
  CHECK((loss_at(step) - loss_at(-step)) / (2 * step) == doctest::Approx(wanted).epsilon(1e-5));
}

// Every module with this on ranks of its own, or where it says.
template <class Model, class Place>
plan spread_over(int parts, const char* schedule, Place&& place) {
  plan out = alone<Model>(parts, schedule);
  for (isize k = 0; k < out.modules.size(); ++k) {
    out.modules[k].on = place(k);
    for (const std::int32_t rank : out.modules[k].on.ranks())
      out.cluster.ranks = std::max(out.cluster.ranks, rank + 1);
  }
  return out;
}

}  // namespace

static_assert(small_coca::join_of == std::array<std::int32_t, 6>{-1, -1, -1, 0, 0, 1});
static_assert(std::is_same_v<small_coca::batch, std::tuple<seen_pictures, tokens, placed_tokens>>,
              "heads have no data of their own");

TEST_CASE("a tower whose head is a module of its own is that tower") {
  const small_coca_data data(samples, 3);
  const auto whole = made<whole_towers>(alone<whole_towers>());
  const auto cut = made<cut_towers>(alone<cut_towers>());
  // Both have the same numbers in the same order.
  REQUIRE_EQ(cut_towers::parameter_size, whole_towers::parameter_size);
  cut->set_weights(whole->weights());
  const double wanted = whole->step({pictures{data.pixels.data(), samples}, data.captions()}, 0).loss;
  CHECK(laws::off_by(cut->step({data.pictures(), data.captions()}, 0).loss, wanted) <= 1e-12);
  CHECK(laws::off_by(cut->gradients(), whole->gradients()) <= 1e-9);
}

TEST_CASE("losses and gradients are the weighted sums of those of models with one loss each") {
  small_coca_data data(samples, 3);
  const auto all = made<small_coca>(alone<small_coca>());
  const by_name weights = values_of<small_coca>(all->weights());
  const step_result found = all->step(data.get(), 0);
  CHECK_EQ(found.parts[0].told(), "info_nce of seen and said");
  CHECK_EQ(found.parts[1].told(), "next_token of caption");
  by_name want;
  const double contrast = add_apart<small_contrast>(weights, data.compared(), 1, want),
               captions = add_apart<small_captioner>(weights, data.get(), 2, want);
  CHECK(laws::off_by(found.parts[0].loss, contrast) <= 1e-12);
  CHECK(laws::off_by(found.parts[1].loss, captions) <= 1e-12);
  CHECK(laws::off_by(found.loss, contrast + 2 * captions) <= 1e-12);
  check_equal(values_of<small_coca>(all->gradients()), want);
}

TEST_CASE("the loss changes as its gradients say, in every module") {
  small_coca_data data(samples, 5);
  const auto all = made<small_coca>(alone<small_coca>());
  const std::vector<double> start = all->weights();
  all->step(data.get(), 0);
  const std::vector<double> slopes = all->gradients();
  for (const std::string_view module : {"eye.", "glue.", "words.", "seen.", "said.", "caption.", "join."})
    check_slope<small_coca>(*all, data.get(), start, slopes, module);
}

TEST_CASE("every loss learns numbers of its own") {
  const contrasts_data data;
  const std::vector<std::string> numbers{"join.seen.said.log_scale", "join.shown.heard.log_scale",
                                         "join.viewed.told.log_scale", "join.viewed.told.bias"};
  const auto all = made<small_contrasts>(alone<small_contrasts>());
  std::vector<double> start = all->weights();
  std::vector<std::size_t> at;
  for (const parameter& each : small_contrasts::parameters())
    if (each.name.starts_with("join.")) {
      CHECK_EQ(each.name, numbers.at(at.size()));
      at.push_back(static_cast<std::size_t>(each.offset));
    }
  REQUIRE_EQ(at.size(), numbers.size());
  CHECK(start[at[1]] == doctest::Approx(std::log(1 / 0.07)));
  CHECK(start[at[3]] == -10);
  // None is where it began, so that one taken for another would be seen.
  start[at[0]] = 1, start[at[1]] = 2, start[at[2]] = 1.5, start[at[3]] = -3;
  all->set_weights(start);
  const step_result found = all->step(data.get(), 0);
  REQUIRE_EQ(found.parts.size(), 3);
  CHECK_EQ(found.parts[1].told(), "info_nce of shown and heard");
  CHECK(laws::off_by(found.loss, found.parts[0].loss + 3 * found.parts[1].loss + found.parts[2].loss) <=
        1e-12);
  const std::vector<double> slopes = all->gradients();
  for (const std::string& each : numbers) check_slope<small_contrasts>(*all, data.get(), start, slopes, each);
  for (const char* const each : {"eye.", "words.", "heard.", "viewed."})
    check_slope<small_contrasts>(*all, data.get(), start, slopes, each);

  // Modules apart, in stages, cut, as replicas: their owners are other ranks, and all is the same.
  const auto check_spread = [&](const plan& how) {
    const auto other = made<small_contrasts>(how);
    other->set_weights(start);
    CHECK(laws::off_by(other->step(data.get(), 0).loss, found.loss) <= 1e-9);
    check_equal(values_of<small_contrasts>(other->gradients()), values_of<small_contrasts>(slopes));
  };
  const auto apart = [](isize k) { return mesh::from(static_cast<std::int32_t>(k), {}); };
  const auto staged = [](isize k) {
    return k < 2 || k == 5 ? mesh::from(k == 5 ? 1 : 0, {.stages = 2}) : mesh::from(1, {});
  };
  check_spread(spread_over<small_contrasts>(1, "1f1b", apart));
  check_spread(spread_over<small_contrasts>(3, "gpipe", staged));
  check_spread(spread_over<small_contrasts>(1, "1f1b", [](isize) { return mesh::from(0, {.data = 2}); }));
  check_spread(spread_over<small_contrasts>(1, "1f1b",
                                            [](isize k) { return mesh::from(k < 5 ? 0 : 2, {.data = 2}); }));
  check_spread(spread_over<small_contrasts>(1, "1f1b", [](isize) { return mesh::from(0, {.tensor = 2}); }));
}

TEST_CASE("numbers of several losses are moved, each kept below its own limit, and saved by their owners") {
  const contrasts_data data;
  const auto offset = [](std::string_view name) {
    for (const parameter& each : small_contrasts::parameters())
      if (each.name == name) return static_cast<std::size_t>(each.offset);
    return std::size_t{0};
  };
  const std::size_t one = offset("join.seen.said.log_scale"), two = offset("join.shown.heard.log_scale"),
                    three = offset("join.viewed.told.log_scale");
  std::vector<double> kept;
  for (const bool apart : {false, true}) {
    const auto all = made<small_contrasts>(
        apart ? spread_over<small_contrasts>(
                    1, "1f1b", [](isize k) { return mesh::from(static_cast<std::int32_t>(k), {}); })
              : alone<small_contrasts>(),
        true);
    std::vector<double> start = all->weights();
    start[one] = 1, start[two] = 5, start[three] = 6;
    all->set_weights(start);
    for (int step = 0; step < 2; ++step) all->step(data.get(), 1e-3);
    const flat_state<double> state = all->state();
    CHECK(state.weights[one] != 1);
    CHECK(state.weights[one] == doctest::Approx(1).epsilon(0.01));
    CHECK(state.weights[two] == doctest::Approx(largest_log_scale).epsilon(1e-3));
    CHECK(state.weights[two] <= largest_log_scale);
    CHECK(state.weights[three] == doctest::Approx(6).epsilon(0.01));
    for (const std::size_t each : {one, two, three}) {
      CHECK(state.first[each] != 0);
      CHECK(state.second[each] > 0);
    }
    // Each number is in the checkpoint's pieces once.
    isize found = 0;
    const auto pieces = all->pieces();
    for (const auto& piece : pieces.all())
      each_own_run(piece, [&](const parameter& each, isize, isize, isize count) {
        if (each.name.starts_with("join.")) found += count;
      });
    CHECK_EQ(found, 4);
    if (kept.empty()) kept = state.weights;
    CHECK(laws::off_by(state.weights, kept) <= 1e-7);
  }
}

TEST_CASE("any plan of contrast and captions is one rank") {
  const auto spread = [](int parts, const char* schedule, auto&& place) {
    return spread_over<small_coca>(parts, schedule, place);
  };
  // Every module on a rank of its own; encoders and the upper half in stages; two replicas of all, or the
  // picture's modules on other ranks; layers cut in two.
  const auto apart = [](isize k) { return mesh::from(static_cast<std::int32_t>(k), {}); };
  const auto staged = [](isize k) {
    return k == 0 || k == 2 || k == 5 ? mesh::from(k == 5 ? 1 : 0, {.stages = 2}) : mesh::from(1, {});
  };
  const auto copies = [](isize) { return mesh::from(0, {.data = 2}); };
  const auto beside = [](isize k) { return mesh::from(k == 0 || k == 1 || k == 3 ? 0 : 2, {.data = 2}); };
  const auto halves = [](isize) { return mesh::from(0, {.tensor = 2}); };
  // The upper half's samples are cut, and all of its rows come from others.
  const auto rows = [](isize k) {
    return k == 5 ? mesh::from(0, {.context = 2}) : mesh::from(0, {.data = 2});
  };
  const outcome whole = of_plan(alone<small_coca>());
  check_equal(of_plan(spread(1, "1f1b", apart)), whole);
  check_equal(of_plan(spread(1, "gpipe", staged)), whole);
  check_equal(of_plan(spread(1, "1f1b", copies)), whole);
  check_equal(of_plan(spread(1, "1f1b", beside)), whole);
  check_equal(of_plan(spread(1, "1f1b", halves)), whole);
  check_equal(of_plan(spread(1, "1f1b", rows)), whole);
  // Microbatches of one loss: all forwards come first, and all samples are compared.
  check_equal(of_plan(alone<small_coca>(3, "gpipe")), whole);
  check_equal(of_plan(spread(3, "gpipe", staged)), whole);
  // Of a loss each: the same samples are compared wherever they are.
  const outcome each = of_plan(alone<small_coca>(2));
  CHECK(laws::off_by(each.captions, whole.captions) <= 1e-12);
  CHECK(laws::off_by(each.contrast, whole.contrast) > 1e-3);
  check_equal(of_plan(spread(2, "1f1b", apart)), each);
  check_equal(of_plan(spread(2, "1f1b", staged)), each);
}

TEST_CASE("a step learns, and allocates nothing") {
  small_coca_data data(samples, 9);
  const auto all = made<small_coca>(alone<small_coca>(), true);
  const auto batch = data.get();
  const double first = all->step(batch, 1e-2).loss;
  double last = first;
  const long before = allocations.load();
  for (int k = 0; k < 8; ++k) last = all->step(batch, 1e-2).loss;
  CHECK_EQ(allocations.load(), before);
  CHECK(last < 0.9 * first);
}

TEST_CASE("pictures and captions that do not fit are told before the step") {
  small_coca_data data(samples, 9);
  const auto all = made<small_coca>(alone<small_coca>());
  const auto said = [&](const small_coca::batch& batch) -> std::string {
    try {
      all->step(batch, 0);
    } catch (const error& problem) {
      return problem.what();
    }
    return "nothing";
  };
  auto [shown, captions, asked] = data.get();
  const auto holds = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  // The last sample has no picture, the one before it two; the rows of both have places.
  small_coca_data uneven(samples, 9);
  uneven.picture_offsets[samples - 1] = samples;
  CHECK(holds(said({uneven.pictures(), captions, asked}), "eye has a sample longer than 1"));
  uneven.picture_offsets.assign(uneven.picture_offsets.size(), 0);
  CHECK(holds(said({{pictures{nullptr, 0}, samples, uneven.picture_offsets.data()}, captions, asked}),
              "seen: no row enters of sample 0, and it makes one of all that do"));
  std::vector<std::int32_t> ids(asked.ids, asked.ids + asked.seq.rows());
  ids[6] = 3;
  asked.ids = ids.data();
  CHECK(holds(said({shown, captions, asked}),
              "caption: row 6 of sample 0 has token 3, and it reads rows of "
              "other modules alone"));
}
