// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: front/edges and tests of the front
// A model with several losses learns from each as a model with that loss alone, so many times as it weighs.
#include <motet/front/ranks/compiled.hpp>

#include <motet/plan/prove/require_plan.hpp>

#include "deviation.hpp"
#include "unit/runtime/allocations.hpp"
#include "unit/runtime/small_losses.hpp"

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
  config.deadline = 60;
  auto out = std::make_unique<pipeline<Model>>(order, config);
  out->prepare();
  return out;
}

// A model's numbers by name.
template <class Model>
std::map<std::string, std::vector<double>> by_name(const std::vector<double>& flat) {
  std::map<std::string, std::vector<double>> out;
  for (const parameter& each : Model::parameters())
    if (each.offset < static_cast<motet::isize>(flat.size()))
      out[each.name].assign(flat.begin() + each.offset, flat.begin() + each.offset + each.size());
  return out;
}
void add(std::map<std::string, std::vector<double>>& to, const std::string& name,
         const std::vector<double>& values, double weight) {
  std::vector<double>& sum = to[name];
  sum.resize(values.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += weight * values[i];
}
void check_equal(const std::map<std::string, std::vector<double>>& got,
                 const std::map<std::string, std::vector<double>>& want) {
  REQUIRE_EQ(got.size(), want.size());
  for (const auto& [name, values] : want) {
    INFO(name);
    CHECK(laws::off_by(got.at(name), values) <= 1e-9);
  }
}

struct outcome {
  double loss;
  std::array<double, 3> parts;
  std::vector<double> gradients;
};
outcome of_plan(const plan& how) {
  const small_losses_data data(samples, 3);
  const auto all = made<small_losses>(how);
  const step_result found = all->step(data.get(), 0);
  REQUIRE_EQ(found.parts.size(), 3);
  return {found.loss, {found.parts[0].loss, found.parts[1].loss, found.parts[2].loss}, all->gradients()};
}
void check_equal(const outcome& got, const outcome& want) {
  CHECK(laws::off_by(got.loss, want.loss) <= 1e-9);
  for (std::size_t j = 0; j < 3; ++j) CHECK(laws::off_by(got.parts[j], want.parts[j]) <= 1e-9);
  check_equal(by_name<small_losses>(got.gradients), by_name<small_losses>(want.gradients));
}

}  // namespace

static_assert(small_losses::join_of == std::array<std::int32_t, 7>{-1, -1, -1, 1, 2, 0, 0});
static_assert(small_losses::loss::parameter_size == info_nce::parameter_size);

TEST_CASE("losses and gradients are the weighted sums of those of models with one loss each") {
  const small_losses_data data(samples, 3);
  const auto all = made<small_losses>(alone<small_losses>());
  const auto weights = by_name<small_losses>(all->weights());
  const step_result found = all->step(data.get(), 0);
  REQUIRE_EQ(found.parts.size(), 3);
  CHECK_EQ(found.parts[0].name, "info_nce");
  CHECK_EQ(found.parts[0].of[1], "caption");
  CHECK_EQ(found.parts[0].told(), "info_nce of picture and caption");
  CHECK_EQ(found.parts[1].name, "next_token");
  CHECK_EQ(found.parts[1].told(), "next_token of talk");
  CHECK_EQ(found.parts[2].told(), "next_token of tell");

  std::map<std::string, std::vector<double>> want;
  // As a model of its own, with the weights of these modules.
  const auto with = [&]<class Model>(std::type_identity<Model>, const auto& batch, const auto& renamed,
                                     double weight) {
    const auto own = made<Model>(alone<Model>());
    std::vector<double> flat(static_cast<std::size_t>(Model::parameter_size), 0.0);
    for (const parameter& each : Model::parameters())
      std::copy(weights.at(renamed(each.name)).begin(), weights.at(renamed(each.name)).end(),
                flat.begin() + each.offset);
    own->set_weights(flat);
    const step_result one = own->step(batch, 0);
    CHECK(one.parts.empty());
    for (const auto& [name, values] : by_name<Model>(own->gradients()))
      add(want, renamed(name), values, weight);
    return one.loss;
  };
  const auto same = [](const std::string& name) { return name; };
  const auto tell = [](const std::string& name) {
    if (name.starts_with("glue.")) return "lens." + name.substr(5);
    return name.starts_with("talk.") ? "tell." + name.substr(5) : name;
  };
  const double contrast = with(std::type_identity<small_model>{}, data.pairs.get(), same, 1),
               talks = with(std::type_identity<small_fed_speech<>>{}, data.talk(), same, 2),
               tells = with(std::type_identity<small_fed_speech<>>{}, data.talk(), tell, 0.5);
  CHECK(laws::off_by(found.parts[0].loss, contrast) <= 1e-12);
  CHECK(laws::off_by(found.parts[1].loss, talks) <= 1e-12);
  CHECK(laws::off_by(found.parts[2].loss, tells) <= 1e-12);
  CHECK(laws::off_by(found.loss, contrast + 2 * talks + tells / 2) <= 1e-12);
  check_equal(by_name<small_losses>(all->gradients()), want);
}

TEST_CASE("the loss changes as its gradients say, in every module") {
  const small_losses_data data(samples, 5);
  const auto all = made<small_losses>(alone<small_losses>());
  const std::vector<double> start = all->weights();
  all->step(data.get(), 0);
  const std::vector<double> slopes = all->gradients();
  constexpr double step = 1e-6;
  for (const std::string_view module :
       {"eye.", "glue.", "lens.", "talk.", "tell.", "picture.", "caption.", "join."}) {
    INFO(module);
    const random_stream draw(7, module);
    std::vector<double> way(start.size(), 0.0);
    double wanted = 0;
    for (const parameter& each : small_losses::parameters())
      for (motet::isize i = each.offset; each.name.starts_with(module) && i < each.offset + each.size();
           ++i) {
        way[static_cast<std::size_t>(i)] = draw.normal(static_cast<std::uint64_t>(i));
        wanted += way[static_cast<std::size_t>(i)] * slopes[static_cast<std::size_t>(i)];
      }
    const auto loss_at = [&](double by) {
      std::vector<double> moved = start;
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += by * way[i];
      all->set_weights(moved);
      return all->step(data.get(), 0).loss;
    };
    CHECK_NE(wanted, 0);
    CHECK((loss_at(step) - loss_at(-step)) / (2 * step) == doctest::Approx(wanted).epsilon(1e-5));
  }
}

TEST_CASE("any plan of several losses is one rank") {
  const auto spread = [](int parts, const char* schedule, auto&& place) {
    plan out = alone<small_losses>(parts, schedule);
    for (isize k = 0; k < out.modules.size(); ++k) {
      out.modules[k].on = place(k);
      for (const std::int32_t rank : out.modules[k].on.ranks())
        out.cluster.ranks = std::max(out.cluster.ranks, rank + 1);
    }
    return out;
  };
  // Every module on a rank of its own, some in stages; two replicas; towers of the contrast apart or
  // together.
  const auto apart = [](isize k) { return mesh::from(static_cast<std::int32_t>(k), {}); };
  const auto staged = [](isize k) {
    return k < 3 ? mesh::from(0, {}) : mesh::from(k < 5 ? 1 : 0, {.stages = 2});
  };
  const auto copies = [](isize k) { return mesh::from(k < 5 ? 0 : 2, {.data = 2}); };
  const auto one_place = [](isize) { return mesh::from(0, {.data = 2}); };
  const outcome whole = of_plan(alone<small_losses>());
  check_equal(of_plan(spread(1, "1f1b", apart)), whole);
  check_equal(of_plan(spread(1, "gpipe", staged)), whole);
  check_equal(of_plan(spread(1, "1f1b", copies)), whole);
  check_equal(of_plan(spread(1, "1f1b", one_place)), whole);
  // Microbatches of one loss: all forwards come first, and all samples are compared.
  check_equal(of_plan(alone<small_losses>(3, "gpipe")), whole);
  check_equal(of_plan(spread(3, "gpipe", staged)), whole);
  check_equal(of_plan(spread(3, "gpipe", copies)), whole);
  // Of a loss each: the same samples are compared wherever they are.
  const outcome each = of_plan(alone<small_losses>(2));
  CHECK(laws::off_by(each.parts[1], whole.parts[1]) <= 1e-12);
  check_equal(of_plan(spread(2, "1f1b", apart)), each);
  check_equal(of_plan(spread(2, "1f1b", staged)), each);
  check_equal(of_plan(spread(2, "1f1b", one_place)), each);
}

TEST_CASE("a step of several losses learns, and allocates nothing") {
  const small_losses_data data(samples, 9);
  const auto all = made<small_losses>(alone<small_losses>(), true);
  const auto batch = data.get();
  const double first = all->step(batch, 1e-2).loss;
  double last = first;
  const long before = allocations.load();
  for (int k = 0; k < 8; ++k) last = all->step(batch, 1e-2).loss;
  CHECK_EQ(allocations.load(), before);
  CHECK(last < 0.9 * first);
}
