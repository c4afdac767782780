// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/runtime/gradients/rank_update.hpp>
#include <motet/runtime/stage/rank_state.hpp>

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/backend/transport/local/local_group.hpp>

#include <doctest/doctest.h>
#include <reduction_laws.hpp>

#include <atomic>
#include <barrier>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>

using namespace motet;

namespace {

using home_type = rank_state<cpu::context, fp32, local::endpoint>;
using update_type = rank_update<home_type>;

struct tensor {
  std::vector<float> weights, gradients, first, second;
  explicit tensor(std::size_t size, float start)
      : weights(size), gradients(size), first(size, 0.0f), second(size, 0.0f) {
    std::iota(weights.begin(), weights.end(), start);
    for (std::size_t i = 0; i < size; ++i) gradients[i] = 0.25f * static_cast<float>(i % 5) - 0.4f;
  }
  parameter_piece<float> piece(std::vector<parameter_run> runs = {}) {
    const auto size = static_cast<motet::isize>(weights.size());
    if (runs.empty()) runs = {{0, size, false}};
    return {size, {}, weights.data(), gradients.data(), first.data(), second.data(), std::move(runs)};
  }
};

// Two ranks that update: one with two stages and the numbers of the loss, one with one stage. They are
// members 0 and 1 of meeting 0.
struct two_ranks {
  local::world world{3, 0, std::vector<std::vector<std::int32_t>>{{0, 2}}};
  local::endpoint ends[2] = {{world, 0}, {world, 2}};
  home_type homes[2];
  tensor a{40, 1}, b{16, 2}, c{24, 3}, loss{16, 4.59f}, other_loss{8, 1};
  std::unique_ptr<update_type> updates[2];

  explicit two_ranks(const optimizer_settings& settings, const number_limit& limit = {}) {
    for (int r = 0; r < 2; ++r) {
      homes[r].end = &ends[r];
      updates[r] = std::make_unique<update_type>(homes[r], learning{settings}, 24, 0, r, 2);
    }
    updates[0]->hold(a.piece({{0, 16, true}, {16, 24, false}}));
    updates[0]->hold(b.piece());
    updates[1]->hold(c.piece());
    updates[0]->hold_loss(loss.piece(), limit, {0, 16});
    updates[1]->hold_loss(other_loss.piece(), {}, {16, 24});
  }
  void step(motet::isize number, double rate, double loss_here = 0.5, double loss_there = 0.25) {
    for (int r = 0; r < 2; ++r) {
      ends[r].begin_step();
      updates[r]->begin_step(number, rate);
    }
    // Parts of the gradients of one loss's numbers come from both, those of the other's from their owner
    // alone.
    const std::vector<float> numbers(16, 0.125f), less(16, 0.0625f), others(8, 0.5f);
    const loss_gradients<float> here[] = {{numbers.data(), {0, 16}, true}},
                                there[] = {{less.data(), {0, 16}}, {others.data(), {16, 24}, true}};
    CHECK(updates[0]->stage_ready(&loss_here, here));   // the first of its two stages
    CHECK(!updates[0]->stage_ready(&loss_here, here));  // the other rank has not told
    CHECK(!updates[0]->stage_ready(&loss_here, here));
    CHECK(updates[1]->stage_ready(&loss_there, there));
    CHECK(updates[0]->stage_ready(&loss_here, here));
  }
  double squares() const {
    double sum = 16 * 0.1875 * 0.1875 + 8 * 0.5 * 0.5;
    for (const tensor* each : {&a, &b, &c})
      for (const float g : each->gradients) sum += static_cast<double>(g) * static_cast<double>(g);
    return sum;
  }
};

}  // namespace

TEST_CASE("all ranks clip by the norm of the whole gradient, and update as AdamW does") {
  optimizer_settings settings;
  settings.clip = 0.5;
  two_ranks all(settings);
  const double norm = std::sqrt(all.squares());
  REQUIRE(norm > settings.clip);
  // One rank's AdamW over the same tensors.
  tensor a = all.a, b = all.b, c = all.c, loss = all.loss, other_loss = all.other_loss;
  loss.gradients.assign(16, 0.1875f);
  other_loss.gradients.assign(8, 0.5f);
  cpu::context ctx;
  static std::byte some[64];
  ctx.memory = arena(some, 64);
  const auto wanted = [&](tensor& of, motet::isize at, motet::isize size, bool decay) {
    const auto step = update_step_for(settings, 3, 1e-2, clip_scale(norm, settings.clip), decay);
    adamw(ctx, of.weights.data() + at, of.gradients.data() + at, of.first.data() + at, of.second.data() + at,
          size, step, true);
  };
  wanted(a, 0, 16, true);
  wanted(a, 16, 24, false);
  wanted(b, 0, 16, false);
  wanted(c, 0, 24, false);
  wanted(loss, 0, 16, false);
  wanted(other_loss, 0, 8, false);
  for (home_type& each : all.homes) each.ctx.memory = arena(some, 64);
  all.step(2, 1e-2);
  for (const auto& each : all.updates) CHECK(each->norm() == doctest::Approx(norm));
  CHECK(all.a.weights == a.weights);
  CHECK(all.b.weights == b.weights);
  CHECK(all.c.weights == c.weights);
  CHECK(all.loss.weights == loss.weights);
  CHECK(all.other_loss.weights == other_loss.weights);
  CHECK(all.c.second == c.second);
  for (const tensor* each : {&all.a, &all.b, &all.c})
    CHECK(each->gradients == std::vector<float>(each->gradients.size(), 0.0f));
}

TEST_CASE("what is not finite anywhere keeps every rank from updating") {
  static std::byte some[64];
  for (const int where : {0, 1, 2, 3}) {
    CAPTURE(where);
    two_ranks all({});
    for (home_type& each : all.homes) each.ctx.memory = arena(some, 64);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    if (where == 0) all.b.gradients[3] = nan;
    if (where == 1) all.c.gradients[3] = std::numeric_limits<float>::infinity();
    const tensor a = all.a, c = all.c, loss = all.loss;
    all.step(0, 1e-2, where == 2 ? static_cast<double>(nan) : 1, where == 3 ? static_cast<double>(nan) : 1);
    CHECK(all.a.weights == a.weights);
    CHECK(all.c.weights == c.weights);
    CHECK(all.loss.weights == loss.weights);
    CHECK(all.c.first == c.first);
    CHECK(all.a.gradients == a.gradients);
    if (where < 2) CHECK(!std::isfinite(all.updates[1]->norm()));
    // The next step is a new one.
    all.b.gradients[3] = all.c.gradients[3] = 0;
    all.step(0, 1e-2);
    CHECK(all.a.weights != a.weights);
    CHECK(all.c.weights != c.weights);
  }
}

TEST_CASE("the number that is clamped stays at or below ln 100, the others do not") {
  static std::byte some[64];
  optimizer_settings settings;
  settings.decay = 0;
  for (const motet::isize clamped : {motet::isize{-1}, motet::isize{2}}) {
    two_ranks all(settings, {clamped, largest_log_scale});
    for (home_type& each : all.homes) each.ctx.memory = arena(some, 64);
    const std::vector<float> before = all.loss.weights;
    all.step(0, 1e-3);
    for (std::size_t i = 0; i < 16; ++i) {
      if (static_cast<motet::isize>(i) == clamped) CHECK(all.loss.weights[i] == doctest::Approx(4.60517));
      else CHECK(all.loss.weights[i] == doctest::Approx(before[i]).epsilon(1e-3));
    }
  }
}

namespace {

// Five steps of two stages, each held by all ranks but for what tensor cuts, on replicas x tensor threads.
// Gradients differ by rank and step. Level 1 shares the optimizer's work, 2 keeps no gradients of what others
// update.
struct trained {
  std::vector<float> weights[2];           // of each stage, of rank 0
  std::vector<float> average[2];           // likewise, where this rank updates it; else 0
  std::vector<double> norms;               // of all steps
  motet::isize moments = 0, elements = 0;  // of rank 0
  int differ = 0;                          // elements in which another holder's weights are not the same
};
trained train(const laws::made_ranks& ranks, int level, double bad_at = -1,
              optimizer_kind kind = optimizer_kind::adamw) {
  trained result;
  optimizer_settings settings;
  settings.kind = kind;
  settings.clip = 2;
  const std::vector<laws::made_parameter> parameters[2] = {
      {{40, false}, {3, ranks.tensor > 1}, {100, ranks.tensor > 1}, {20, false}},
      {{5, ranks.tensor > 1}, {64, false}, {1, false}}};
  std::vector<std::vector<std::int32_t>> lists = ranks.groups();
  const auto own_groups = static_cast<std::int32_t>(lists.size());
  // each stage has groups of its own
  for (std::int32_t g = 0; g < own_groups; ++g) lists.push_back(lists[static_cast<std::size_t>(g)]);
  local::world world(ranks.size(), 0,
                     std::vector<std::vector<std::int32_t>>{lists[static_cast<std::size_t>(own_groups - 1)]});
  local::group_set set(world, lists, {.in_flight = 2});
  std::vector<std::vector<float>> all(static_cast<std::size_t>(2 * ranks.size()));
  std::barrier step_begins(ranks.size());  // as a trainer's steps do
  std::atomic<int> not_zero{0};
  const auto work = [&](std::int32_t rank) {
    local::endpoint end(world, rank);
    home_type home;
    home.end = &end;
    std::byte some[64];
    home.ctx.memory = arena(some, 64);
    update_type update(home, learning{settings, 0.75}, 0, 0, rank, ranks.size());
    std::unique_ptr<local::group> groups[4];
    std::unique_ptr<gradient_reduction<float, local::group, cpu::context>> sums[2];
    std::unique_ptr<gradient_ring<float, local::group, cpu::context>> rings[2];
    std::vector<interval> layers[2];
    std::vector<float> weights[2], gradients[2], first[2], second[2], average[2];
    update_share shares[2];
    laws::made_stage stages[2];
    for (std::size_t s = 0; s < 2; ++s) {
      stages[s] = laws::stage_of(parameters[s], ranks.tensor, rank % ranks.tensor);
      const auto from = static_cast<std::int32_t>(s) * own_groups;
      std::vector<local::group*> ends(2);
      for (std::size_t l = 0; l < 2; ++l) {
        const std::int32_t number = from + (l == 0 ? rank % ranks.tensor : ranks.tensor);
        if (lists[static_cast<std::size_t>(number)].size() < 2) continue;
        groups[2 * s + l] = std::make_unique<local::group>(set, number, end);
        ends[l] = groups[2 * s + l].get();
      }
      for (const auto& part : stages[s].parts)
        if (part.at.size() > 0) layers[s].push_back(part.at);
      const reduction_layout layout =
          ranks.layout(stages[s], rank, {.elements = 256, .packed = 64, .shards = level > 0}, layers[s]);
      const auto size = static_cast<std::size_t>(stages[s].size),
                 kept = static_cast<std::size_t>(layout.share.moments);
      if (level < 2)
        sums[s] = std::make_unique<gradient_reduction<float, local::group, cpu::context>>(layout, ends, 2);
      else
        rings[s] =
            std::make_unique<gradient_ring<float, local::group, cpu::context>>(layout, layers[s], ends, 2, 2);
      weights[s].resize(size);
      gradients[s].resize(size);
      first[s].resize(kept);
      second[s].resize(kept);
      average[s].resize(kept);
      shares[s] = layout.share;
      if (level < 2) sums[s]->prepare(home.ctx, gradients[s].data(), weights[s].data());
      else rings[s]->prepare(home.ctx, gradients[s].data(), weights[s].data());
      parameter_piece<float> piece{
          stages[s].size, {}, weights[s].data(), gradients[s].data(), first[s].data(), second[s].data()};
      piece.average = average[s].data();
      for (const auto& part : stages[s].parts) {
        piece.runs.push_back({part.at.begin, part.at.size(), part.parameter % 2 == 0});
        for (motet::isize e = 0; e < part.at.size(); ++e)
          weights[s][static_cast<std::size_t>(part.at.begin + e)] =
              0.01f * static_cast<float>((part.global + e) % 17);
      }
      if (level < 2) update.hold(std::move(piece), *sums[s]);
      else update.hold(std::move(piece), *rings[s]);
      if (rank == 0) {
        result.moments += static_cast<motet::isize>(kept);
        result.elements += stages[s].size;
      }
    }
    for (motet::isize step = 0; step < 5; ++step) {
      step_begins.arrive_and_wait();
      end.begin_step();
      update.begin_step(step, 1e-2);
      for (std::size_t s = 2; s-- > 0;) {
        for (const auto& part : stages[s].parts)
          for (motet::isize e = 0; e < part.at.size(); ++e) {
            float& to = gradients[s][static_cast<std::size_t>(part.at.begin + e)];
            not_zero += to != 0;  // the update leaves zeros everywhere
            to = 0.013f * laws::number_of(static_cast<std::uint64_t>(step), rank, part.parameter,
                                          part.global + e) +
                 0.001f * static_cast<float>(rank);
          }
        if (static_cast<double>(step) == bad_at && s == 0 && rank == ranks.size() - 1)
          gradients[s][7] = std::numeric_limits<float>::infinity();
        if (level < 2) sums[s]->ready(stages[s].size / 32 * 16, stages[s].size);
        for (std::size_t l = layers[s].size(); level == 2 && l-- > 0;) {
          const gradient_sink sink = rings[s]->sink();
          float* const belong = gradients[s].data() + layers[s][l].begin;
          std::copy_n(belong, layers[s][l].size(),
                      static_cast<float*>(sink.where(sink.self, belong, layers[s][l].size())));
          std::fill_n(belong, layers[s][l].size(), 0.0f);
          sink.told(sink.self, belong, layers[s][l].size());
        }
        double loss = 0.5;
        laws::poll(end, [&] { return update.stage_ready(&loss, {}); });
      }
      if (rank == 0) result.norms.push_back(update.norm());
      if (!std::isfinite(update.norm()))
        for (auto& each : gradients) std::fill(each.begin(), each.end(), 0.0f);
    }
    step_begins.arrive_and_wait();  // others may still read what this one told
    for (std::size_t s = 0; s < 2; ++s) all[2 * static_cast<std::size_t>(rank) + s] = weights[s];
    for (std::size_t s = 0; rank == 0 && s < 2; ++s) {
      result.average[s].assign(weights[s].size(), 0.0f);
      for (const owned_elements& own : shares[s].owned)
        std::copy_n(average[s].begin() + own.moments, own.at.size(),
                    result.average[s].begin() + own.at.begin);
    }
  };
  std::vector<std::thread> threads;
  for (std::int32_t r = 0; r < ranks.size(); ++r) threads.emplace_back(work, r);
  for (std::thread& each : threads) each.join();
  result.differ = not_zero;
  for (std::int32_t r = 0; r < ranks.size(); ++r)
    for (std::size_t s = 0; s < 2; ++s) {
      const auto one = laws::stage_of(parameters[s], ranks.tensor, 0),
                 other = laws::stage_of(parameters[s], ranks.tensor, r % ranks.tensor);
      for (std::size_t p = 0; p < one.parts.size(); ++p) {
        if (r % ranks.tensor != 0 && !parameters[s][p].shared) continue;
        for (motet::isize e = 0; e < one.parts[p].at.size(); ++e)
          result.differ +=
              all[s][static_cast<std::size_t>(one.parts[p].at.begin + e)] !=
              all[2 * static_cast<std::size_t>(r) + s][static_cast<std::size_t>(other.parts[p].at.begin + e)];
      }
    }
  for (std::size_t s = 0; s < 2; ++s) result.weights[s] = all[s];
  return result;
}

}  // namespace

TEST_CASE("members that share the update find the bits that each finds alone, with a part of the moments") {
  for (const laws::made_ranks& ranks :
       {laws::made_ranks{2, 1}, laws::made_ranks{3, 1}, laws::made_ranks{1, 2}, laws::made_ranks{2, 2}}) {
    CAPTURE(ranks.replicas);
    CAPTURE(ranks.tensor);
    const trained alike = train(ranks, 0), shared = train(ranks, 1), unkept = train(ranks, 2);
    CHECK(alike.differ == 0);
    CHECK(shared.differ == 0);
    CHECK(shared.norms == alike.norms);
    CHECK(alike.norms[0] > 2);
    CHECK(shared.weights[0] == alike.weights[0]);
    CHECK(shared.weights[1] == alike.weights[1]);
    CHECK(unkept.differ == 0);
    CHECK(unkept.norms == alike.norms);
    CHECK(unkept.weights[0] == alike.weights[0]);
    CHECK(unkept.weights[1] == alike.weights[1]);
    CHECK(unkept.moments == shared.moments);
    CHECK(alike.moments == alike.elements);
    CHECK(shared.moments < alike.moments);
    if (ranks.tensor == 1) CHECK(shared.moments < alike.moments / ranks.replicas + 200);
  }
}

TEST_CASE("under Lion too, and averages are where their numbers are updated") {
  const laws::made_ranks ranks{2, 2};
  const trained alike = train(ranks, 0, -1, optimizer_kind::lion), usual = train(ranks, 0);
  CHECK(alike.weights[0] != usual.weights[0]);
  for (const int level : {1, 2}) {
    const trained shared = train(ranks, level, -1, optimizer_kind::lion);
    CHECK(shared.differ == 0);
    for (std::size_t s = 0; s < 2; ++s) {
      CHECK(shared.weights[s] == alike.weights[s]);
      std::size_t here = 0;
      for (std::size_t i = 0; i < shared.average[s].size(); ++i) {
        here += shared.average[s][i] != 0;
        CHECK((shared.average[s][i] == 0 || shared.average[s][i] == alike.average[s][i]));
      }
      CHECK(here > 0);
    }
  }
}

TEST_CASE("one number that is not finite keeps all from a step, and the next ones go on") {
  for (const int level : {0, 1, 2}) {
    const trained good = train({2, 2}, level), bad = train({2, 2}, level, 3);
    CHECK(!std::isfinite(bad.norms[3]));
    CHECK(std::isfinite(bad.norms[4]));
    CHECK(bad.differ == 0);
    CHECK(bad.norms[2] == good.norms[2]);
    CHECK(bad.weights[0] != good.weights[0]);
  }
}

TEST_CASE("a rank that is alone takes the same step, and knows loss and norm afterwards") {
  optimizer_settings settings;
  settings.clip = 0.5;
  static std::byte some[64];
  local::world world{1, 0, std::vector<std::vector<std::int32_t>>{{0}}};
  local::endpoint end{world, 0};
  home_type home;
  home.end = &end;
  home.ctx.memory = arena(some, 64);
  tensor a{40, 1}, b{16, 2}, loss{16, 4.59f};
  update_type update(home, learning{settings}, 16, 0, 0, 1);
  update.hold(a.piece({{0, 16, true}, {16, 24, false}}));
  update.hold(b.piece());
  update.hold_loss(loss.piece(), {3, 4.6}, {0, 16});
  update.prepare();
  CHECK(update.is_alone());
  tensor wanted_a = a, wanted_b = b, wanted_loss = loss;
  double squares = 0;
  for (const tensor* each : {&a, &b, &loss})
    for (const float g : each->gradients) squares += static_cast<double>(g) * static_cast<double>(g);
  const double norm = std::sqrt(squares);
  cpu::context ctx;
  ctx.memory = arena(some, 64);
  const auto move = [&](tensor& of, motet::isize at, motet::isize size, bool decay) {
    const auto step = update_step_for(settings, 1, 1e-2, clip_scale(norm, settings.clip), decay);
    adamw(ctx, of.weights.data() + at, of.gradients.data() + at, of.first.data() + at, of.second.data() + at,
          size, step, true);
  };
  move(wanted_a, 0, 16, true);
  move(wanted_a, 16, 24, false);
  move(wanted_b, 0, 16, false);
  move(wanted_loss, 0, 16, false);
  wanted_loss.weights[3] = std::min(wanted_loss.weights[3], 4.6f);
  const loss_gradients<float> of_numbers[] = {{loss.gradients.data(), {0, 16}, true}};
  const auto step = [&](double of_loss) {
    update.begin_step(0, 1e-2);
    CHECK(!update.last_is_next());
    CHECK(update.stage_ready(&of_loss, of_numbers));
    CHECK(update.last_is_next());
    CHECK(update.stage_ready(&of_loss, of_numbers));
  };
  // The update is refused first, with the gradients left where they are.
  const tensor before = a;
  step(std::numeric_limits<double>::infinity());
  CHECK(!std::isfinite(update.loss()));
  CHECK(a.weights == before.weights);
  CHECK(a.gradients == before.gradients);
  step(0.75);
  CHECK(update.loss() == 0.75);
  CHECK(update.norm() == doctest::Approx(norm));
  CHECK(a.weights == wanted_a.weights);
  CHECK(b.weights == wanted_b.weights);
  CHECK(b.second == wanted_b.second);
  CHECK(loss.weights == wanted_loss.weights);
  CHECK(a.gradients == std::vector<float>(40, 0.0f));
}
