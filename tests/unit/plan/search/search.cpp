// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/search.hpp>

#include <doctest/doctest.h>

#include "schedule_laws.hpp"

#include <vector>

namespace {

using namespace motet;

cluster_facts small_cluster(std::int32_t nodes, std::int32_t devices) {
  cluster_facts out;
  out.device = {"small", 2e10, 1e10, 1e9, 1e9, {0.6, 4, 4}};
  out.nodes = nodes;
  out.devices_per_node = devices;
  out.inside = {2e-6, 1e9};
  out.between = {2e-5, 1e8};
  return out;
}

// Everything tried, with nothing taken from the search but the numbers of microbatches and of what is kept
// that it promises to try.
class brute_force {
 public:
  brute_force(const model_shape& model, const cluster_facts& on, motet::isize samples,
              const search_options& options)
      : model_(model), on_(on), samples_(samples), options_(options) {
    group_ = options.contrastive_batch > 0 ? options.contrastive_batch : samples;
    for (motet::isize k = 0; k < model.towers.size(); ++k) ways_.push_back(ways_of(k));
    if (options.apart) apart(0, {}, {}, std::vector<std::int32_t>(static_cast<std::size_t>(on.nodes), 0));
    if (options.together) shared();
  }
  double best = 1e300;
  motet::isize ranks = 0;
  int tried = 0;

 private:
  using modules = list<module_plan>;

  tower_pin pin_of(motet::isize k) const {
    for (const tower_pin& each : options_.pins)
      if (each.name == model_.towers[k].name) return each;
    return {};
  }
  std::vector<module_plan> ways_of(motet::isize k) const {
    std::vector<module_plan> out;
    const tower_outline& net = model_.towers[k];
    const tower_pin pin = pin_of(k);
    const auto allowed = [](auto wanted, auto got) { return wanted <= 0 || wanted == got; };
    const std::int32_t devices = on_.devices();
    for (std::int32_t t = 1; t <= std::min<motet::isize>(on_.devices_per_node, net.keyed_heads()); ++t) {
      for (const std::int32_t c : {1, 2, 4, 8}) {
        for (std::int32_t p = 1; p <= net.layers; ++p) {
          for (std::int32_t d = 1; d <= std::min<motet::isize>(devices, group_); ++d) {
            const degrees split{p, d, c, t};
            if (split.size() > devices || c * t > on_.devices_per_node || net.keyed_heads() % t != 0 ||
                c > net.tokens)
              continue;
            if (!allowed(pin.tensor, t) || !allowed(pin.context, c) || !allowed(pin.stages, p) ||
                !allowed(pin.data, d))
              continue;
            if (!allowed(static_cast<motet::isize>(pin.ranks), split.size())) continue;
            for (const int g : microbatch_counts(group_ / d))
              for (const int stash : stash_counts(g))
                for (int zero = 0; zero <= 2; ++zero)
                  for (int remade = 0; remade <= 1; ++remade) {
                    if ((remade == 1 && stash >= 0) || (zero > 0 && d * c == 1)) continue;
                    if (net.frozen && (remade == 1 || stash >= 0 || zero > 0)) continue;
                    if (pin.zero >= 0 && pin.zero != zero) continue;
                    if (pin.recompute >= 0 && pin.recompute != remade) continue;
                    if (pin.stash > -2 && pin.stash != stash) continue;
                    const auto joins = static_cast<int>(samples_ / group_);
                    if (!allowed(pin.microbatches, g * joins)) continue;
                    module_plan own;
                    own.name = net.name;
                    own.on = mesh(split, {});
                    own.microbatches = g * joins;
                    own.group = g;
                    own.stash = stash;
                    own.zero = zero;
                    own.remade.resize(remade * p, 1);
                    for (own.experts = 1; own.experts <= d; ++own.experts)
                      if (d % own.experts == 0 && allowed(pin.experts, own.experts) &&
                          (own.experts == 1 || own.experts * t <= net.experts))
                        out.push_back(own);
                  }
          }
        }
      }
    }
    return out;
  }
  void play(const modules& all) {
    plan of;
    of.cluster = {on_.devices(), on_.devices_per_node};
    of.modules = all;
    play(of);
    if (cut_by_speed(of, model_, on_, options_.bytes)) play(of);
  }
  void play(const plan& of) {
    run_forecast found;
    ++tried;
    REQUIRE(estimate(of, model_, on_, options_.bytes, samples_, found, options_.play).ok());
    if (!fits(found, on_)) return;
    const motet::isize used = ranks_used(of);
    if (found.step_seconds < best * (1 - 1e-9) || (found.step_seconds < best * (1 + 1e-9) && used < ranks)) {
      best = std::min(best, found.step_seconds);
      ranks = used;
    }
  }
  // Every tensor group of every tower on every node that has room.
  void apart(motet::isize k, modules done, list<std::int32_t> ranks_of_last, std::vector<std::int32_t> used) {
    if (done.size() > 0 && ranks_of_last.size() < done.back().on.split().size()) {
      for (std::int32_t n = 0; n < on_.nodes; ++n) {
        const std::int32_t t = done.back().on.split().tensor, first = used[static_cast<std::size_t>(n)];
        if (first + t > on_.devices_per_node) continue;
        list<std::int32_t> more = ranks_of_last;
        for (std::int32_t i = 0; i < t; ++i) more.push(n * on_.devices_per_node + first + i);
        std::vector<std::int32_t> taken = used;
        taken[static_cast<std::size_t>(n)] += t;
        apart(k, done, more, taken);
      }
      return;
    }
    if (done.size() > 0) done.back().on = mesh(done.back().on.split(), ranks_of_last);
    if (k == model_.towers.size()) return play(done);
    for (const module_plan& each : ways_[static_cast<std::size_t>(k)]) {
      modules more = done;
      more.push(each);
      apart(k + 1, more, {}, used);
    }
  }
  // Ranks from a row, replicas of a stage together or stages of a replica.
  static mesh seated(const degrees& split, const list<std::int32_t>& row, bool stages_together) {
    list<std::int32_t> out;
    const std::int32_t shards = split.context * split.tensor;
    for (std::int32_t s = 0; s < split.stages; ++s)
      for (std::int32_t r = 0; r < split.data; ++r)
        for (std::int32_t i = 0; i < shards; ++i)
          out.push(row[(stages_together ? r * split.stages + s : s * split.data + r) * shards + i]);
    return {split, out};
  }
  // Two towers of one node: one of them on the last ranks of the other.
  void shared() {
    if (model_.towers.size() != 2 || on_.nodes != 1) return;
    for (motet::isize host = 0; host < 2; ++host) {
      for (const module_plan& large : ways_[static_cast<std::size_t>(host)]) {
        for (const module_plan& little : ways_[static_cast<std::size_t>(1 - host)]) {
          const motet::isize n = large.on.split().size(), own = little.on.split().size();
          if (own > n) continue;
          for (int way = 0; way < 4; ++way) {
            if (way % 2 == 1 && (large.on.split().stages == 1 || large.on.split().data == 1)) continue;
            if (way / 2 == 1 && (little.on.split().stages == 1 || little.on.split().data == 1)) continue;
            list<std::int32_t> row;
            for (std::int32_t r = 0; r < n; ++r) row.push(r);
            module_plan one = large, other = little;
            one.on = seated(large.on.split(), row, way % 2 == 1);
            list<std::int32_t> last;
            for (motet::isize i = n - own; i < n; ++i) last.push(one.on.ranks()[i]);
            std::sort(last.begin(), last.end());
            other.on = seated(little.on.split(), last, way / 2 == 1);
            play(host == 0 ? modules{one, other} : modules{other, one});
          }
        }
      }
    }
  }

  const model_shape& model_;
  const cluster_facts& on_;
  motet::isize samples_, group_ = 1;
  const search_options& options_;
  std::vector<std::vector<module_plan>> ways_;
};

tower_outline drawn_tower(laws::dice& roll, const char* name) {
  tower_outline out{.name = name,
                    .layers = roll.between(1, 3),
                    .width = 16 * roll.between(1, 4),
                    .heads = 2,
                    .tokens = 4 * roll.between(1, 8)};
  out.vocabulary = roll.below(2) == 0 ? 100 : 0;
  out.embedding = 16;
  return out;
}

void same_as_brute_force(const model_shape& model, const cluster_facts& on, motet::isize samples,
                         const search_options& options) {
  const brute_force all(model, on, samples, options);
  CAPTURE(all.tried);
  if (all.best > 1e200) {
    CHECK_THROWS_AS(search_plans(model, on, samples, options), error);
    return;
  }
  const search_result found = search_plans(model, on, samples, options);
  REQUIRE(!found.plans.empty());
  CHECK(found.plans[0].gives.step_seconds == doctest::Approx(all.best).epsilon(1e-9));
  CHECK(ranks_used(found.plans[0].how) == all.ranks);
}

}  // namespace

TEST_CASE("one node: as good as every plan, on as few ranks") {
  laws::dice roll(3);
  for (int round = 0; round < 8; ++round) {
    const cluster_facts on = small_cluster(1, roll.between(2, 4));
    const model_shape model{"two",
                            {drawn_tower(roll, "one"), drawn_tower(roll, "other")},
                            round % 3 == 0 ? "sigmoid" : "info_nce"};
    search_options options;
    for (const tower_outline& each : model.towers)
      options.pins.push({.name = each.name, .context = 1, .stash = -1, .recompute = 0, .zero = 0});
    CAPTURE(round);
    same_as_brute_force(model, on, roll.between(2, 9), options);
  }
}

TEST_CASE("measured gaps: as good as every plan, whether groups wait longer or shorter than is counted") {
  laws::dice roll(13);
  for (int round = 0; round < 4; ++round) {
    const cluster_facts on = small_cluster(1, roll.between(2, 4));
    const model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
    search_options options;
    machine_profile measured;
    measured.activation_bytes = options.bytes.activation;
    for (const tower_outline& each : model.towers) {
      options.pins.push({.name = each.name, .context = 1, .stash = -1, .recompute = 0});
      for (const gap_degrees& under :
           {gap_degrees{.tensor = 2}, {.zero = 2, .data = 2}, {.tensor = 2, .zero = 2, .data = 2}})
        measured.gaps.push({each.name, under, {.9 * roll.below(2), .3 * roll.below(3), .4 * roll.below(2)}});
    }
    options.play.measured = &measured;
    CAPTURE(round);
    same_as_brute_force(model, on, roll.between(2, 6), options);
  }
}

TEST_CASE("what was measured of a tensor group decides whether a plan has one") {
  cluster_facts on = small_cluster(1, 2);
  on.inside.latency = 1e-2;
  const model_shape model{
      "two",
      {{.name = "one", .layers = 2, .width = 64, .heads = 2, .tokens = 32, .embedding = 16},
       {.name = "other", .layers = 2, .width = 64, .heads = 2, .tokens = 32, .embedding = 16}}};
  search_options options;
  machine_profile measured;
  measured.activation_bytes = options.bytes.activation;
  for (const tower_outline& each : model.towers)
    options.pins.push({.name = each.name, .stages = 1, .context = 1, .ranks = 2});
  const auto cut = [&] {
    std::int32_t most = 1;
    const search_result found = search_plans(model, on, 8, options);
    for (const module_plan& each : found.plans[0].how.modules) most = std::max(most, each.on.split().tensor);
    return most > 1;
  };
  CHECK_FALSE(cut());  // four exchanges of each layer, of a thousandth of a second
  options.play.measured = &measured;
  for (const bool waits : {false, true}) {
    const double share = waits ? .9 : 0;
    for (const tower_outline& each : model.towers)
      put_gaps(measured.gaps, {each.name, {.tensor = 2}, {share, share, 0}});
    CHECK(cut() != waits);
  }
}

TEST_CASE("little memory: stashes, recompute and zero, with several losses in a step") {
  laws::dice roll(5);
  for (int round = 0; round < 12; ++round) {
    cluster_facts on = small_cluster(1, 4);
    const model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
    search_options options;
    options.apart = round % 2 == 0;
    options.together = !options.apart;
    const motet::isize joins = roll.between(1, 3);
    options.contrastive_batch = 4;
    const std::int32_t stages = model.towers[0].layers > 1 ? 2 : 1;
    options.pins.push({.name = "one", .stages = stages, .data = 2 / stages, .context = 1, .tensor = 1});
    options.pins.push({.name = "other",
                       .stages = 1,
                       .context = 1,
                       .tensor = 1,
                       .microbatches = static_cast<int>(joins),
                       .recompute = 0});
    on.device.memory_bytes = 1e5 * roll.between(4, 30);
    CAPTURE(round);
    same_as_brute_force(model, on, 4 * joins, options);
  }
}

TEST_CASE("two nodes: as good as all ranks that each position could have") {
  laws::dice roll(9);
  for (int round = 0; round < 4; ++round) {
    const cluster_facts on = small_cluster(2, 2);
    const model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
    search_options options;
    options.together = false;
    for (const tower_outline& each : model.towers)
      options.pins.push({.name = each.name, .context = 1, .stash = -1, .recompute = 0, .zero = 0});
    CAPTURE(round);
    same_as_brute_force(model, on, 8, options);
  }
}

TEST_CASE("two kinds of devices: as good as all ranks that each position could have") {
  laws::dice roll(47);
  int unlike = 0, across = 0;
  for (int round = 0; round < 3; ++round) {
    cluster_facts on = small_cluster(1, 2);
    node_run other = on.run(0);
    const double speed = 1.0 / roll.between(2, 4);
    other.device.half_flops *= speed;
    other.device.single_flops *= speed;
    other.device.memory_bytes = round < 2 ? 1e9 : 3e5;
    other.between.bytes_per_second *= 0.5;
    REQUIRE(on.add(1, other));
    const model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
    search_options options;
    options.together = false;
    for (const tower_outline& each : model.towers)
      options.pins.push({.name = each.name, .context = 1, .stash = -1, .recompute = 0, .zero = 0});
    CAPTURE(round);
    same_as_brute_force(model, on, 8, options);
    std::uint32_t kinds[2];
    const plan best = search_plans(model, on, 8, options).plans[0].how;
    for (motet::isize k = 0; k < 2; ++k) kinds[k] = kinds_of(best.modules[k].on.ranks(), on);
    unlike += kinds[0] != kinds[1] ? 1 : 0;
    across += kinds[0] == 3 || kinds[1] == 3 ? 1 : 0;
  }
  MESSAGE("of 3 best plans " << unlike << " have towers on unlike devices, " << across
                             << " a tower on both kinds");
  CHECK(unlike > 0);
}

TEST_CASE("replicas share experts where that is as good as every plan, and never for a longer step") {
  laws::dice roll(61);
  int sharing = 0, beside_tensor = 0;
  for (int round = 0; round < 6; ++round) {
    cluster_facts on = round < 5 ? small_cluster(1, 4) : small_cluster(2, 2);
    model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
    tower_outline& mixed = model.towers[round % 2];
    mixed.experts = roll.between(2, 8);
    mixed.chosen = 1 + roll.below(2);
    mixed.hidden = round % 2 == 1 ? 512 : 0;  // the longer update and sums take, the more is won
    mixed.uneven = round % 3 == 0 ? 1.3 : round % 3 == 1 ? 1 : 0;
    search_options options;
    options.together = round < 5 && round % 2 == 0;
    options.apart = !options.together;
    for (const tower_outline& each : model.towers)
      options.pins.push(
          {.name = each.name, .context = 1, .stash = -1, .recompute = 0, .zero = round < 2 ? -1 : 0});
    if (round % 2 == 1) on.inside = {1e-7, 2e10};
    if (round % 4 == 1) options.pins[round % 2].tensor = 1;
    // Where memory is short experts are shared by as many as it takes.
    if (round == 4) on.device.memory_bytes = 5.5e6;
    CAPTURE(round);
    const motet::isize samples = roll.between(4, 8);
    same_as_brute_force(model, on, samples, options);
    const search_result found = search_plans(model, on, samples, options);
    const module_plan& best = found.plans[0].how.modules[round % 2];
    sharing += best.experts > 1 ? 1 : 0;
    beside_tensor += best.experts > 1 && best.on.split().tensor > 1 ? 1 : 0;
    for (tower_pin& each : options.pins) each.experts = 1;
    try {
      const search_result without = search_plans(model, on, samples, options);
      CHECK(found.plans[0].gives.step_seconds <= without.plans[0].gives.step_seconds * (1 + 1e-9));
    } catch (const error&) {
      CHECK(best.experts > 1);
    }
  }
  MESSAGE("of 6 best plans " << sharing << " share experts, " << beside_tensor << " beside a tensor degree");
  CHECK(sharing > 0);
}

TEST_CASE("three towers, one of them frozen") {
  laws::dice roll(13);
  for (int round = 0; round < 4; ++round) {
    const cluster_facts on = small_cluster(1, 4);
    model_shape model{"three",
                      {drawn_tower(roll, "one"), drawn_tower(roll, "other"), drawn_tower(roll, "third")}};
    model.towers[round % 3].frozen = true;
    search_options options;
    options.together = false;
    for (const tower_outline& each : model.towers)
      options.pins.push({.name = each.name, .context = 1, .stash = -1, .recompute = 0, .zero = 0});
    CAPTURE(round);
    same_as_brute_force(model, on, 4, options);
  }
}

TEST_CASE("sixteen devices") {
  laws::dice roll(17);
  for (int round = 0; round < 2; ++round) {
    const cluster_facts on = small_cluster(1, 16);
    const model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
    search_options options;
    for (const tower_outline& each : model.towers)
      options.pins.push({.name = each.name,
                         .stages = 1,
                         .context = 1,
                         .tensor = 1,
                         .microbatches = 1,
                         .stash = -1,
                         .recompute = 0});
    CAPTURE(round);
    same_as_brute_force(model, on, roll.between(12, 24), options);
  }
}

TEST_CASE("the same answer each time, proven, and every plan of it plays as it says") {
  laws::dice roll(23);
  const cluster_facts on = small_cluster(4, 8);
  const model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
  search_options options;
  options.top = 4;
  const search_result found = search_plans(model, on, 64, options),
                      again = search_plans(model, on, 64, options);
  REQUIRE(found.plans.size() == 4);
  CHECK(prove_plan(found.plans[0].how, facts_of(model), 64).ok());
  CHECK(found.plans[0].why.cause == setback::none);
  CHECK(found.simulated >= 4);
  CHECK(found.considered > found.simulated);
  for (motet::isize i = 0; i < 4; ++i) {
    const ranked_plan& each = found.plans[i];
    CHECK(each.how == again.plans[i].how);
    run_forecast gives;
    REQUIRE(estimate(each.how, model, on, options.bytes, 64, gives).ok());
    CHECK(gives.step_seconds == each.gives.step_seconds);
    CHECK(gives.memory_bytes <= on.device.memory_bytes);
    if (i == 0) continue;
    CHECK(each.gives.step_seconds >= found.plans[i - 1].gives.step_seconds * (1 - 1e-8));
    CHECK(each.why.cause != setback::none);
    CHECK(each.why.seconds == each.gives.step_seconds - found.plans[0].gives.step_seconds);
  }
}

TEST_CASE("a search that is ended early has a plan, and says what it left out") {
  laws::dice roll(41);
  const cluster_facts on = small_cluster(1, 3);
  const model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
  search_options options;
  options.top = 1;
  const search_result whole = search_plans(model, on, 12, options);
  CHECK(whole.not_tried.empty());
  motet::isize asked = 0, patience = 1 << 30;
  double best = 1e300;
  options.goes_on = [&](const search_news& news) {
    if (news.best_seconds > 0) {
      CHECK(news.best_seconds <= best * (1 + 1e-8));
      best = news.best_seconds;
    }
    return ++asked <= patience;
  };
  const search_result watched = search_plans(model, on, 12, options);
  CHECK(watched.plans[0].how == whole.plans[0].how);
  CHECK(watched.considered == whole.considered);
  CHECK(watched.not_tried.empty());
  CHECK(best >= whole.plans[0].gives.step_seconds);
  for (const motet::isize most : {motet::isize{0}, asked / 50, asked / 4, asked - 1}) {
    asked = 0;
    patience = most;
    best = 1e300;
    const search_result found = search_plans(model, on, 12, options);
    CAPTURE(most);
    CHECK(asked == most + 1);  // and nobody is asked again
    REQUIRE(found.plans.size() == 1);
    CHECK(prove_plan(found.plans[0].how, facts_of(model), 12).ok());
    CHECK(found.plans[0].gives.step_seconds >= whole.plans[0].gives.step_seconds * (1 - 1e-8));
    CHECK(found.plans[0].gives.memory_bytes <= on.device.memory_bytes);
    CHECK_FALSE(found.not_tried.empty());
  }
}

TEST_CASE("a search without a plan goes on until it has one, however early it is ended") {
  // Either towers that share all ranks fit, or none do.
  laws::dice roll(43);
  cluster_facts on = small_cluster(1, 2);
  const model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
  search_options options;
  options.goes_on = [](const search_news&) { return false; };
  options.apart = false;
  CHECK(search_plans(model, on, 8, options).plans.size() >= 1);
  on.device.memory_bytes = 1e4;
  CHECK_THROWS_WITH_AS(search_plans(model, on, 8, options), doctest::Contains("MT-P85"), error);
}

TEST_CASE("pins hold, and whether towers share ranks") {
  laws::dice roll(29);
  const cluster_facts on = small_cluster(2, 8);
  const model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
  search_options options;
  options.together = false;
  options.pins = {{.name = "one", .data = 4, .tensor = 2, .zero = 1},
                  {.name = "other", .ranks = 3, .microbatches = 2}};
  const plan apart = search_plans(model, on, 16, options).plans[0].how;
  CHECK(apart.modules[0].on.split().data == 4);
  CHECK(apart.modules[0].on.split().tensor == 2);
  CHECK(apart.modules[0].zero == 1);
  CHECK(apart.modules[1].on.ranks().size() == 3);
  CHECK(apart.modules[1].microbatches == 2);
  for (const std::int32_t rank : apart.modules[1].on.ranks()) CHECK(apart.modules[0].on.find(rank) < 0);
  options = {};
  options.apart = false;
  const plan together = search_plans(model, on, 16, options).plans[0].how;
  const motet::isize most =
      std::max(together.modules[0].on.ranks().size(), together.modules[1].on.ranks().size());
  CHECK(ranks_used(together) == most);
}

TEST_CASE("an encoder of long rows has context parts where samples are few, or where a pin asks for them") {
  const cluster_facts on = small_cluster(1, 8);
  const model_shape model{
      "video",
      {{.name = "seen", .layers = 2, .width = 64, .heads = 1, .tokens = 1024, .embedding = 16},
       {.name = "words", .layers = 2, .width = 64, .heads = 4, .tokens = 16, .embedding = 16}}};
  search_options one = {};
  const auto found = [&](isize samples, std::int32_t context) {
    one.pins = {{.name = "seen", .context = context}};
    return search_plans(model, on, samples, one).plans[0];
  };
  CHECK(found(2, 0).how.modules[0].on.split().context > 1);
  CHECK(found(2, 0).gives.step_seconds < 0.85 * found(2, 1).gives.step_seconds);
  CHECK(found(64, 0).how.modules[0].on.split().context == 1);
  for (const isize samples : {2, 64}) CHECK(found(samples, 2).how.modules[0].on.split().context == 2);
}

TEST_CASE("towers together beat towers apart where whole ranks are too coarse") {
  // The second one is worth a twentieth of a device.
  const cluster_facts on = small_cluster(1, 4);
  tower_outline large{.name = "large", .layers = 6, .width = 128, .heads = 4, .tokens = 64, .embedding = 16},
      little = large;
  little.name = "little";
  little.layers = 1;
  little.width = 64;
  little.tokens = 16;
  const model_shape model{"two", {large, little}};
  search_options only_apart, both;
  only_apart.together = false;
  const double apart = search_plans(model, on, 32, only_apart).plans[0].gives.step_seconds;
  const search_result best = search_plans(model, on, 32, both);
  CHECK(best.plans[0].gives.step_seconds < 0.95 * apart);
  CHECK(ranks_used(best.plans[0].how) <
        best.plans[0].how.modules[0].on.ranks().size() + best.plans[0].how.modules[1].on.ranks().size());
}

TEST_CASE("a batch of several losses keeps its contrastive batch") {
  laws::dice roll(31);
  const cluster_facts on = small_cluster(1, 8);
  const model_shape model{"two", {drawn_tower(roll, "one"), drawn_tower(roll, "other")}};
  search_options options;
  options.contrastive_batch = 16;
  for (const ranked_plan& each : search_plans(model, on, 48, options).plans)
    for (const module_plan& own : each.how.modules) CHECK(own.groups() == 3);
}

TEST_CASE("a model that fits nowhere: the tower, what it lacks, and what would do") {
  cluster_facts on = small_cluster(1, 2);
  on.device.memory_bytes = 3e5;
  const model_shape model{
      "two",
      {{.name = "one", .layers = 4, .width = 64, .heads = 4, .tokens = 16, .embedding = 16},
       {.name = "other", .layers = 1, .width = 16, .heads = 2, .tokens = 4, .embedding = 16}}};
  search_options options;
  try {
    search_plans(model, on, 8, options);
    FAIL("it fits");
  } catch (const error& problem) {
    const std::string text = problem.what();
    CHECK(std::string(problem.code()) == "MT-P85");
    CHECK(text.find("one is ") != std::string::npos);
    CHECK(text.find(" bytes short of 300000 bytes on each of 2 devices") != std::string::npos);
    const std::size_t at = text.find("that would do has ");
    REQUIRE(at != std::string::npos);
    const std::int32_t nodes = std::atoi(text.c_str() + at + 18);
    REQUIRE(nodes > 1);
    cluster_facts enough = on, less = on;
    enough.nodes = nodes;
    less.nodes = nodes - 1;
    CHECK(search_plans(model, enough, 8, options).plans.size() > 0);
    CHECK_THROWS_AS(search_plans(model, less, 8, options), error);
  }
}

namespace {

// A vision tower of a third of the work.
model_shape pictures_beside_words() {
  return {"two",
          {{.name = "vision", .layers = 4, .width = 128, .heads = 4, .tokens = 64, .embedding = 16},
           {.name = "words", .layers = 8, .width = 160, .heads = 4, .tokens = 64, .embedding = 16}}};
}
// Neither contexts nor anything that saves memory.
search_options plain_plans(const model_shape& of) {
  search_options out;
  for (const tower_outline& each : of.towers)
    out.pins.push({.name = each.name, .context = 1, .stash = -1, .recompute = 0, .zero = 0});
  return out;
}
node_run slower_than(const cluster_facts& on) {
  node_run out = on.run(0);
  out.device.name = "slow";
  out.device.half_flops /= 2;
  out.device.single_flops /= 2;
  return out;
}

}  // namespace

TEST_CASE("a vision tower goes to slower devices, and that is faster than either kind alone") {
  const cluster_facts fast = small_cluster(1, 2);
  cluster_facts both = fast, slow = of_kinds(fast, 1);
  REQUIRE(both.add(1, slower_than(fast)));
  slow.device = slower_than(fast).device;
  const model_shape model = pictures_beside_words();
  const search_options plain = plain_plans(model);
  const auto seconds_on = [&](const cluster_facts& on) {
    return search_plans(model, on, 16, plain).plans[0].gives.step_seconds;
  };
  search_options apart = plain;
  apart.together = false;
  const search_result found = search_plans(model, both, 16, apart);
  const plan& how = found.plans[0].how;
  CHECK(kinds_of(how.modules[0].on.ranks(), both) == 2);
  CHECK(kinds_of(how.modules[1].on.ranks(), both) == 1);
  CHECK(prove_plan(how, facts_of(model), 16).ok());
  const double seconds = found.plans[0].gives.step_seconds;
  for (const cluster_facts& alone : {fast, slow}) CHECK(seconds < 0.95 * seconds_on(alone));
  // Faster than as if all were of the slower kind, yet not than as if all were of the faster one; and where
  // towers may share ranks, no slower.
  CHECK(seconds_on(both) <= seconds * (1 + 1e-9));
  CHECK(seconds < seconds_on(as_one_kind(both)));
  CHECK(seconds > seconds_on(of_kinds(both, 3, of_unlike::fastest)));
}

TEST_CASE("one kind that is written as two runs gives exactly what one kind gives") {
  const cluster_facts one = small_cluster(2, 2);
  cluster_facts two = small_cluster(1, 2);
  REQUIRE(two.add(1, two.run(0)));
  const model_shape model = pictures_beside_words();
  const search_options plain = plain_plans(model);
  const search_result a = search_plans(model, one, 16, plain), b = search_plans(model, two, 16, plain);
  REQUIRE(a.plans.size() == b.plans.size());
  CHECK(a.considered == b.considered);
  CHECK(a.simulated == b.simulated);
  for (motet::isize i = 0; i < a.plans.size(); ++i) {
    CHECK(a.plans[i].how == b.plans[i].how);
    CHECK(a.plans[i].gives.step_seconds == b.plans[i].gives.step_seconds);
    CHECK(a.plans[i].gives.memory_bytes == b.plans[i].gives.memory_bytes);
  }
}

TEST_CASE("each rank has the room of its own kind, and what fits on no kind is told beside all") {
  cluster_facts on = small_cluster(1, 2);
  node_run roomy = slower_than(on);
  on.device.memory_bytes = 6e5;
  REQUIRE(on.add(1, roomy));
  const model_shape model = pictures_beside_words();
  const search_result found = search_plans(model, on, 4);
  CHECK(kinds_of(found.plans[0].how.modules[1].on.ranks(), on) == 2);
  for (const ranked_plan& each : found.plans) CHECK(fits(each.gives, on));
  cluster_facts small = on;
  small.others[0].device.memory_bytes = 9e5;
  CHECK_THROWS_WITH_AS(
      search_plans(model, small, 4),
      doctest::Contains(
          "bytes short of the roomiest of 2 devices with 600000 bytes and 2 devices with 900000 "
          "bytes, however it is cut"),
      error);
  CHECK_THROWS_WITH_AS(search_plans(model, small, 4), doctest::Contains("MT-P85"), error);
}
