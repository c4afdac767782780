// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/proven.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include "schedule_text.hpp"
#include "test_schedules.hpp"

#include <algorithm>

using namespace motet;
using laws::from_paper;
using laws::rehearsed;

namespace {

constexpr batch_sync::shape one_tower{.towers = {{.stages = 4, .microbatches = 8, .group = 4, .stash = 2}}},
    two_towers{.towers = {{.stages = 4, .microbatches = 12, .group = 4},
                          {.stages = 2, .microbatches = 6, .group = 2, .ahead = 1}},
               .count = 2};
static_assert(proven_by_compiler<batch_sync, one_tower> && proven_by_compiler<batch_sync, two_towers>);

batch_sync::shape single(int stages, int microbatches, int group, int stash = -1, int ahead = 0) {
  return {{{stages, microbatches, group, stash, ahead}}, 1};
}
rehearsed run(const batch_sync::shape& shape, double f, double b, double sync) {
  REQUIRE(batch_sync::check(shape).ok());
  return laws::rehearse(batch_sync::write(shape), {f, b, 0}, sync);
}
// The paper's unit: a forward takes 1, a backward 2, a loss 1.
rehearsed paper(const batch_sync::shape& shape, double sync = 1) { return run(shape, 1, 2, sync); }

std::string times(const rehearsed& of, int rank) { return laws::times_of(of.of, of.when, rank); }
std::vector<double> numbers(const list<double>& of) { return {of.begin(), of.end()}; }

// Flushes the pipeline after every `round` microbatches, with a loss for every `group` of them: what the
// paper's figure shows above its own.
struct flushing {
  struct shape {
    int stages, microbatches, group, round;
  };
  static constexpr score write(const shape& p) {
    score out;
    voice tower;
    tower.stages = p.stages;
    tower.microbatches = p.microbatches;
    tower.join = 0;
    tower.group = p.group;
    out.add(tower, [](int stage) { return stage; });
    for (int d = 0; d < p.stages; ++d) {
      out.rank();
      for (int first = 0; first < p.microbatches; first += p.round) {
        for (int m = first; m < first + p.round; ++m) {
          out.play(op::forward, 0, d, m);
          if (d + 1 == p.stages && (m + 1) % p.group == 0) out.join(0, m / p.group);
        }
        for (int m = first; m < first + p.round; ++m) out.play(op::backward, 0, d, m);
      }
    }
    return out;
  }
};

}  // namespace

TEST_CASE("figure 6 of the paper, slot by slot") {
  const rehearsed figure = paper(single(4, 16, 4));
  CHECK(figure.when.makespan == 61);
  CHECK(numbers(figure.found.joined) == std::vector<double>{8, 21, 34, 47});
  const std::string rows[] = {
      "F1-7@0 B1@14 F8@16 B2@17 F9@19 B3@20 F10@22 B4@23 F11@25 B5@27 F12@29 B6@30 F13@32 B7@33 F14@35 B8@36 "
      "F15@38 B9@40 F16@42 B10@43 B11@46 "
      "B12@49 "
      "B13@53 B14@55 B15@57 B16@59",
      "F1-6@1 B1@12 F7@14 B2@15 F8@17 B3@18 F9@20 B4@21 F10@23 B5@25 F11@27 B6@28 F12@30 B7@31 F13@33 B8@34 "
      "F14@36 B9@38 F15@40 B10@41 F16@43 B11@44 "
      "B12@47 B13@51 B14@53 B15@55 B16@57",
      "F1-5@2 B1@10 F6@12 B2@13 F7@15 B3@16 F8@18 B4@19 F9@21 B5@23 F10@25 B6@26 F11@28 B7@29 F12@31 B8@32 "
      "F13@34 B9@36 F14@38 B10@39 F15@41 B11@42 "
      "F16@44 B12@45 B13@49 B14@51 B15@53 B16@55",
      "F1-4@3 S1@7 B1@8 F5@10 B2@11 F6@13 B3@14 F7@16 B4@17 F8@19 S2@20 B5@21 F9@23 B6@24 F10@26 B7@27 "
      "F11@29 B8@30 F12@32 S3@33 B9@34 F13@36 B10@37 "
      "F14@39 B11@40 F15@42 B12@43 F16@45 S4@46 B13@47 B14@49 B15@51 B16@53"};
  for (int r = 0; r < 4; ++r) CHECK(times(figure, r) == from_paper(rows[r]));
  for (int r = 0; r < 4; ++r) CHECK(figure.found.peak_live[r] == 7 - r);
}

TEST_CASE("the upper half of figure 6: twice as long microbatches, flushed after each four") {
  const score order = flushing::write({4, 8, 2, 4});
  REQUIRE(prove(order).ok());
  const rehearsed figure = laws::rehearse(order, {2, 4, 0}, 1);
  CHECK(figure.when.makespan == 88);
  CHECK(times(figure, 3) ==
        "F0@6 F1@8 S0@10 F2@11 F3@13 S1@15 B0@16 B1@20 B2@24 B3@28 F4@50 F5@52 S2@54 F6@55 F7@57 S3@59 B4@60 "
        "B5@64 B6@68 B7@72");
  // The pipeline is flushed for each loss: n((G+P-1)(F+B)+S).
  for (int group = 1; group <= 4; ++group)
    for (int n = 1; n <= 3; ++n)
      CHECK(laws::rehearse(flushing::write({4, n * group, group, group}), {1, 2, 0}, 1).when.makespan ==
            n * ((group + 3) * 3 + 1));
}

TEST_CASE("4 stages, 8 microbatches, groups of 4: lists and start times") {
  const rehearsed whole = paper(single(4, 8, 4));
  CHECK(whole.when.makespan == 35);
  const std::string rows[] = {
      "F1-7@0 B1@14 F8@16 B2@17 B3@20 B4@23 B5@27 B6@29 B7@31 B8@33",
      "F1-6@1 B1@12 F7@14 B2@15 F8@17 B3@18 B4@21 B5@25 B6@27 B7@29 B8@31",
      "F1-5@2 B1@10 F6@12 B2@13 F7@15 B3@16 F8@18 B4@19 B5@23 B6@25 B7@27 B8@29",
      "F1-4@3 S1@7 B1@8 F5@10 B2@11 F6@13 B3@14 F7@16 B4@17 F8@19 S2@20 B5@21 B6@23 B7@25 B8@27"};
  for (int r = 0; r < 4; ++r) CHECK(times(whole, r) == from_paper(rows[r]));
  for (int r = 0; r < 4; ++r) CHECK(whole.found.peak_live[r] == 7 - r);

  const rehearsed half = paper(single(4, 8, 4, 2));
  CHECK(half.when.makespan == 39);
  const std::string orders[] = {"f1 f2 F3 F4 R1 f5 R2 f6 F7 B1 F8 R5 B2 R6 B3 B4 B5 B6 B7 B8",
                                "f1 f2 F3 F4 R1 f5 R2 f6 B1 F7 B2 F8 R5 B3 R6 B4 B5 B6 B7 B8",
                                "f1 f2 F3 F4 R1 f5 R2 B1 f6 B2 F7 B3 F8 R5 B4 R6 B5 B6 B7 B8",
                                "f1 f2 F3 F4 S1 R1 B1 f5 R2 B2 f6 B3 F7 B4 F8 S2 R5 B5 R6 B6 B7 B8"};
  for (int r = 0; r < 4; ++r) CHECK(laws::order_of(score_of(half.of), r) == from_paper(orders[r]));
  for (int r = 0; r < 4; ++r) CHECK(half.found.peak_live[r] == 6 - r);

  const rehearsed none = paper(single(4, 8, 4, 0));
  CHECK(none.when.makespan == 43);
  for (int r = 0; r < 4; ++r) CHECK(none.found.peak_live[r] == 4 - r);
}

TEST_CASE("groups of one are 1F1B") {
  for (int stages = 1; stages <= 6; ++stages) {
    for (int m = 1; m <= 8; ++m) {
      const score made = batch_sync::write(single(stages, m, 1)), usual = one_f_one_b::write({stages, m});
      for (int d = 0; d < stages; ++d) {
        std::string order = laws::order_of(made, d);
        for (std::size_t at; (at = order.find('S')) != order.npos;)
          order.erase(at, order.find(' ', at) + 1 - at);
        CHECK(order == laws::order_of(usual, d));
      }
      const rehearsed found = paper(single(stages, m, 1), 0);
      CHECK(found.when.makespan == (m + stages - 1) * 3);
      for (int d = 0; d < stages; ++d) CHECK(found.found.peak_live[d] == least(m, stages - d));
    }
  }
}

TEST_CASE("one tower, over the whole grid: T = m(F+B) + n(G-h)F + (P-1)(F+B) + nS") {
  int cases = 0;
  for (int stages = 1; stages <= 8; ++stages) {
    for (int group = 1; group <= 12; ++group) {
      for (int n = 1; n <= 5; ++n) {
        int turn = stages + group + n;
        for (int stash = group; stash >= 0; stash -= stash == group && group > 3 ? group / 3
                                                     : group > 6                 ? 3
                                                                                 : 1) {
          const int m = n * group;
          for (const double sync : {0., .5, 1., 3.}) {
            // Every loss time with everything kept; with less, in turn.
            if (stash < group && ++turn % 4 != 0) continue;
            const rehearsed found = paper(single(stages, m, group, stash), sync);
            const double wanted = m * 3 + n * (group - stash) + (stages - 1) * 3 + n * sync;
            CHECK_MESSAGE(found.when.makespan == wanted,
                          stages << ' ' << group << ' ' << n << ' ' << stash << ' ' << sync);
            for (int d = 0; d < stages; ++d)
              CHECK(found.found.peak_live[d] == std::min({stash + stages - d, group + stages - 1 - d, m}));
            ++cases;
          }
        }
      }
    }
  }
  CHECK(cases >= 1920 + 1620 / 2);
}

TEST_CASE("a loss that is hidden behind forwards") {
  // F6 with one more forward ahead; then every n >= 2 and G > e.
  CHECK(paper(single(4, 16, 4, -1, 1), 1).when.makespan == 57);
  CHECK(paper(single(4, 16, 4, -1, 1), 2).when.makespan == 58);
  CHECK(paper(single(4, 16, 4, -1, 1), 3).when.makespan == 60);
  int cases = 0;
  for (int stages = 1; stages <= 5; ++stages) {
    for (int group = 2; group <= 6; ++group) {
      for (int n = 2; n <= 4; ++n) {
        for (int ahead = 1; ahead < least(group, 4); ++ahead) {
          for (const double sync : {.5, 1., 2., 3., 5., 8.}) {
            const int m = n * group;
            const auto exposed = [&](double hidden) { return std::max(0., sync - hidden); };
            const rehearsed found = paper(single(stages, m, group, -1, ahead), sync);
            CHECK_MESSAGE(found.when.makespan == (m + stages - 1) * 3 + exposed(ahead) +
                                                     (n - 2) * exposed(ahead * 3) + exposed(ahead * 2),
                          stages << ' ' << group << ' ' << n << ' ' << ahead << ' ' << sync);
            for (int d = 0; d < stages; ++d)
              CHECK(found.found.peak_live[d] == least(m, group + stages - 1 - d + ahead));
            ++cases;
          }
        }
      }
    }
  }
  CHECK(cases > 600);
}

namespace {

struct tower_times {
  double f, b;
};
rehearsed joint(const batch_sync::shape& shape, const std::vector<tower_times>& times, double sync) {
  REQUIRE(batch_sync::check(shape).ok());
  const program of = compile(batch_sync::write(shape));
  cost_table costs = even_costs(of, {}, sync);
  for (const voice& each : of.voices)
    for (int s = 0; s < each.stages; ++s)
      costs.stages[each.first_place + s] = {times[static_cast<std::size_t>(each.module)].f,
                                            times[static_cast<std::size_t>(each.module)].b, 0};
  return laws::rehearse(of, costs);
}
void check_joint(laws::dice& draw, bool keep_all) {
  batch_sync::shape shape;
  shape.count = draw.between(1, 3);
  const int n = draw.between(1, 4);
  const double sync = draw.below(9) / 4.0;
  std::vector<tower_times> times;
  double lead = 0, between = 0, drain = 0;
  for (int k = 0; k < shape.count; ++k) {
    const int stages = draw.between(1, 5), group = draw.between(1, 5),
              stash = keep_all ? group : draw.between(0, group);
    shape.towers[k] = {stages, n * group, group, stash};
    const double f = draw.between(1, 12) / 4.0, b = draw.between(0, 16) / 4.0;
    times.push_back({f, b});
    lead = std::max(lead, (stages - 1 + group) * f);
    between = std::max(between, group * (f + b) + (group - stash) * f);
    drain = std::max(drain, (group - stash) * f + (group + stages - 1) * b);
  }
  CHECK(joint(shape, times, sync).when.makespan == lead + (n - 1) * between + n * sync + drain);
}

}  // namespace

TEST_CASE("joint towers: T = max lead + (n-1) max group + nS + max drain, in 4000 random cases") {
  laws::dice draw(61);
  for (int k = 0; k < 4000; ++k) check_joint(draw, true);
}

TEST_CASE("joint towers that run some microbatches twice, in 3000 random cases") {
  laws::dice draw(62);
  for (int k = 0; k < 3000; ++k) check_joint(draw, false);
}

TEST_CASE("laws") {
  laws::dice draw(63);
  for (int k = 0; k < 24; ++k) {
    batch_sync::shape shape;
    shape.count = draw.between(1, 3);
    const int n = draw.between(1, 3);
    std::vector<int> bounds;
    for (int t = 0; t < shape.count; ++t) {
      const int stages = draw.between(1, 3), group = draw.between(1, 3), stash = draw.between(0, group),
                ahead = draw.below(3);
      shape.towers[t] = {stages, n * group, group, stash, ahead};
      shape.towers[t].joins = k % 3 != 0 || t == 0;
      const int whole = shape.towers[t].whole_group(), all = n * group;
      shape.towers[t].stash = least(stash, whole);
      for (int d = 0; d < stages; ++d) bounds.push_back(least(all, whole + stages - 1 - d + ahead));
    }
    laws::check_schedule<batch_sync>(shape, static_cast<std::uint64_t>(k),
                                     [&](int place) { return bounds[static_cast<std::size_t>(place)]; });
  }
}

TEST_CASE("a tower with losses of its own waits for nobody") {
  batch_sync::shape shape{{{3, 6, 3}, {2, 6}}, 2};
  shape.towers[1].joins = false;
  const score made = batch_sync::write(shape);
  CHECK(made.voices()[0].join == 0);
  CHECK(made.voices()[1].join == -1);
  for (int d = 0; d < 2; ++d) {
    score alone = one_f_one_b::write({2, 6});
    for (int i = 0; i < 12; ++i) {
      const cue own = made[made.begin_of(3 + d) + i], usual = alone[alone.begin_of(d) + i];
      CHECK((own.what == usual.what && own.stage == usual.stage && own.microbatch == usual.microbatch));
    }
  }
  const rehearsed found = joint(shape, {{1, 2}, {1, 2}}, 100);
  double last = 0;
  for (int i = found.of.starts[3]; i < found.of.starts[5]; ++i) last = std::max(last, found.when.finish[i]);
  CHECK(last == (6 + 2 - 1) * 3);
}

TEST_CASE("numbers that make no towers") {
  const auto told = [](batch_sync::shape shape, broken_rule why, motet::isize where, motet::isize got,
                       motet::isize wanted) {
    const verdict found = batch_sync::check(shape);
    CHECK((found.why == why && found.where == where && found.got == got && found.wanted == wanted));
  };
  told({{{4, 8, 3}}, 1}, reason::group_does_not_divide, 0, 3, 8);
  told({{{4, 8, 4, 5}}, 1}, reason::stash_out_of_range, 0, 5, 4);
  told({{{4, 8, 4, -2}}, 1}, reason::stash_out_of_range, 0, -2, 4);
  told({{{4, 8, 4}, {2, 6, 2}}, 2}, reason::joins_differ, 1, 3, 2);
  told({{{0, 8, 4}}, 1}, reason::no_stages, 0, 0, 1);
  told({{{4, 8, 4}, {4, 0, 4}}, 2}, reason::no_stages, 1, 0, 1);
  told({{{4, 8, -1}}, 1}, reason::no_stages, 0, 4, 1);
  told({{}, 0}, reason::no_stages, 0, 0, 1);
  told({{}, 9}, reason::no_stages, 9, 9, 1);
  CHECK(batch_sync::check({{{1 << 15, 1 << 15, 1}}, 1}).why == reason::too_large);
  CHECK(batch_sync::check({{{4, 8, 4, -1, 1 << 30}}, 1}).why == reason::too_large);
}
