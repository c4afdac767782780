// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/meeting_point.hpp>

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/transport/local.hpp>
#include <motet/schedule/compile.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using ear = text_tower<text_config{.vocabulary = 20, .context = 6, .width = 8, .layers = 1, .heads = 1, .embedding = 4}>;
template <class Loss, bool FirstFrozen, bool SecondFrozen>
using model_of = model<join<Loss, motet::module<"a", std::conditional_t<FirstFrozen, frozen<ear>, ear>>,
                            motet::module<"b", std::conditional_t<SecondFrozen, frozen<ear>, ear>>, motet::module<"c", ear>>>;

// Where a stage would leave its features.
struct fake_stage {
  std::vector<view<double, 4>> features;
  std::vector<view<const double, 4>> gradients;
  void set_features(std::vector<view<double, 4>> to, std::vector<view<const double, 4>> from) {
    features = std::move(to);
    gradients = std::move(from);
  }
};

// Modules of one stage each; module k has 2 + k microbatches in a group.
template <class Model>
score order_of(const std::array<int, 3>& places, int groups) {
  score out;
  for (int k = 0; k < 3; ++k) {
    voice made;
    made.module = k;
    made.microbatches = groups * (2 + k);
    made.join = 0;
    made.group = 2 + k;
    made.learns = !Model::frozen[static_cast<std::size_t>(k)];
    out.add(made, [&](int) { return places[static_cast<std::size_t>(k)]; });
  }
  for (int r = 0; r < 3; ++r) {
    out.rank();
    bool member = false;
    for (int g = 0; g < groups; ++g) {
      const auto all = [&](op what) {
        for (int k = 0; k < 3; ++k)
          for (int m = g * (2 + k); places[static_cast<std::size_t>(k)] == r && m < (g + 1) * (2 + k); ++m) {
            member = true;
            if (what == op::forward || out.voices()[k].learns) out.play(what, k, 0, m);
          }
      };
      all(op::forward);
      if (member) out.join(0, g);
      all(op::backward);
    }
  }
  return out;
}

template <class Model>
void compare(const std::array<int, 3>& places, motet::index groups) {
  using point_type = meeting_point<Model, cpu::context, fp64, local::endpoint>;
  constexpr motet::index samples = 5, size = Model::loss::parameter_size;
  const score_sheet sheet(compile(order_of<Model>(places, static_cast<int>(groups)), {messages::in_channels, false}));
  const program& of = sheet.of;
  std::vector<std::vector<std::int32_t>> members(static_cast<std::size_t>(sheet.graph.meeting_sizes.size()));
  for (std::int32_t i = 0; i < of.instructions.size(); ++i)
    if (sheet.graph.meetings[i] >= 0) members[static_cast<std::size_t>(sheet.graph.meetings[i])].push_back(of.rank_of(i));
  local::world world(3, 0, members);

  std::vector<std::unique_ptr<local::endpoint>> ends;
  std::vector<std::unique_ptr<typename point_type::home_type>> homes;
  std::vector<std::unique_ptr<point_type>> points(3);
  for (std::int32_t r = 0; r < 3; ++r) {
    ends.push_back(std::make_unique<local::endpoint>(world, r));
    homes.push_back(std::make_unique<typename point_type::home_type>());
    homes.back()->rank = r;
    homes.back()->end = ends.back().get();
    homes.back()->sheet = &sheet;
    if (std::find(places.begin(), places.end(), r) == places.end()) continue;
    points[static_cast<std::size_t>(r)] = std::make_unique<point_type>(*homes.back(), samples, groups);
    const auto needs = points[static_cast<std::size_t>(r)]->measure();
    homes.back()->prepare(needs.work, needs.scratch);
    points[static_cast<std::size_t>(r)]->prepare();
  }
  // One rank owns the numbers of the loss: where the first module that learns ends.
  const int learning = !Model::frozen[0] ? 0 : !Model::frozen[1] ? 1 : 2;
  point_type* owner = nullptr;
  for (std::int32_t r = 0; r < 3; ++r) {
    auto* const point = points[static_cast<std::size_t>(r)].get();
    if (point == nullptr) continue;
    CHECK(point->is_owner() == (r == places[static_cast<std::size_t>(learning)]));
    if (!point->is_owner()) CHECK(point->weights() == nullptr);
    else owner = point;
  }
  REQUIRE(owner != nullptr);

  // Features of the whole step, and where the points want them.
  std::array<std::vector<double>, 3> tables, gradients;
  std::array<fake_stage, 3> stages;
  const microbatches<ear> a(samples * groups, groups, 2), b(samples * groups, groups, 3), c(samples * groups, groups, 4);
  const std::array<const microbatches<ear>*, 3> parts{&a, &b, &c};
  points[static_cast<std::size_t>(places[0])]->template connect<0>(stages[0], a);
  points[static_cast<std::size_t>(places[1])]->template connect<1>(stages[1], b);
  points[static_cast<std::size_t>(places[2])]->template connect<2>(stages[2], c);
  std::vector<double> numbers(static_cast<std::size_t>(size), 0.5);

  for (std::uint64_t turn = 0; turn < 2; ++turn) {
    for (std::size_t k = 0; k < 3; ++k) {
      const random_stream draw(turn, k);
      tables[k].clear();
      for (motet::index i = 0; i < samples * groups * 4; ++i) tables[k].push_back(0.6 * draw.normal(static_cast<std::uint64_t>(i)));
      gradients[k].assign(tables[k].size(), 0.0);
    }
    std::copy_n(numbers.data(), size, owner->weights());
    for (std::int32_t r = 0; r < 3; ++r) {
      ends[static_cast<std::size_t>(r)]->begin_step();
      if (points[static_cast<std::size_t>(r)]) points[static_cast<std::size_t>(r)]->begin_step();
    }
    for (std::size_t k = 0; k < 3; ++k)
      for (motet::index m = 0; m < parts[k]->count(); ++m) {
        const auto to = stages[k].features[static_cast<std::size_t>(m)];
        REQUIRE(to.rows == parts[k]->of(m).size());
        std::copy_n(tables[k].data() + parts[k]->of(m).begin * 4, to.rows * 4, to.data);
      }
    // Each rank its joins, until all are through.
    std::array<std::int32_t, 3> next{of.starts[0], of.starts[1], of.starts[2]};
    for (bool moves = true; moves;) {
      moves = false;
      for (std::int32_t r = 0; r < 3; ++r)
        for (std::int32_t& i = next[static_cast<std::size_t>(r)]; i < of.starts[r + 1]; ++i) {
          const instruction& it = of.instructions[i];
          const action what = it.what == op::join ? points[static_cast<std::size_t>(r)]->join_action() : action{};
          if (it.what == op::join && !what.run(what.stage, it, i)) break;
          moves = true;
        }
    }
    for (std::int32_t r = 0; r < 3; ++r) CHECK(next[static_cast<std::size_t>(r)] == of.starts[r + 1]);

    // All pairs on one rank.
    double loss = 0;
    std::vector<double> of_numbers(static_cast<std::size_t>(size), 0.0);
    cpu::device device(1);
    const auto run = [&](auto& ctx) {
      loss = 0;
      for (motet::index g = 0; g < groups; ++g)
        for (std::size_t i = 0; i < 3; ++i)
          for (std::size_t j = i + 1; j < 3; ++j) {
            const auto rows = [&](std::vector<double>& from) { return matrix<double>{from.data() + g * samples * 4, samples, 4, 4}; };
            const auto slope = [&](std::size_t k) { return Model::frozen[k] ? matrix<double>{} : rows(gradients[k]); };
            loss += Model::loss::pair(ctx, numbers.data(), of_numbers.data(), rows(tables[i]), rows(tables[j]),
                                      Model::share / static_cast<double>(groups), slope(i), slope(j));
          }
    };
    device.prepare(device.plan(run));
    device.run(run);

    double found = 0;
    std::vector<double> found_numbers(static_cast<std::size_t>(size), 0.0);
    for (std::int32_t r = 0; r < 3; ++r) {
      const auto* const point = points[static_cast<std::size_t>(r)].get();
      if (point == nullptr) continue;
      // Where nothing learns, nobody tells a part of the loss at the end of a step.
      bool learns = false;
      for (std::size_t k = 0; k < 3; ++k) learns = learns || (places[k] == r && !Model::frozen[k]);
      if (!learns) CHECK(point->loss() == 0);
      found += point->loss();
      for (std::size_t i = 0; i < found_numbers.size(); ++i) found_numbers[i] += point->gradients()[i];
    }
    CHECK(found == doctest::Approx(loss).epsilon(1e-12));
    for (std::size_t i = 0; i < found_numbers.size(); ++i) CHECK(found_numbers[i] == doctest::Approx(of_numbers[i]).epsilon(1e-12));
    for (std::size_t k = 0; k < 3; ++k)
      for (motet::index m = 0; m < parts[k]->count() && !Model::frozen[k]; ++m) {
        const auto from = stages[k].gradients[static_cast<std::size_t>(m)];
        for (motet::index i = 0; i < from.rows * 4; ++i)
          CHECK(from.data[i] == doctest::Approx(gradients[k][static_cast<std::size_t>(parts[k]->of(m).begin * 4 + i)]).epsilon(1e-12));
      }
  }
}

constexpr std::array<std::array<int, 3>, 5> all_places{{{0, 1, 2}, {2, 0, 1}, {0, 0, 1}, {1, 2, 1}, {2, 2, 2}}};

}  // namespace

TEST_CASE("modules meet as on one rank, wherever they are") {
  for (const auto& places : all_places)
    for (const motet::index groups : {1, 3}) compare<model_of<info_nce, false, false>>(places, groups);
}

TEST_CASE("another loss, a frozen module") {
  for (const auto& places : all_places) compare<model_of<pairwise_sigmoid, true, false>>(places, 2);
}

TEST_CASE("a pair of frozen modules counts once, with the owner") {
  for (const auto& places : all_places) compare<model_of<info_nce, true, true>>(places, 2);
}
