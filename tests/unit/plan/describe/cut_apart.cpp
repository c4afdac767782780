// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/describe/cut_apart.hpp>

#include <motet/plan/prove/check_plan.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Each module has a first rank, replicas and microbatches.
struct seat {
  int first, data, parts;
};
// An eye feeds its glue, and that a language model.
constexpr list<module_facts> seeing() {
  list<module_facts> out;
  for (const char* const name : {"eye", "glue", "talk"}) {
    module_facts known;
    known.name = name;
    known.layers = 4;
    if (!out.empty()) known.from.push(static_cast<std::int32_t>(out.size() - 1));
    known.meets = out.size() == 2;
    out.push(known);
  }
  return out;
}
constexpr plan plan_of(std::int32_t ranks, seat eye, seat glue, seat talk) {
  plan out{.cluster = {.ranks = ranks}, .schedule = "1f1b", .modules = {}};
  for (const auto& [name, at] : {std::pair{"eye", eye}, {"glue", glue}, {"talk", talk}}) {
    out.modules.push(on_ranks(name, at.first, {.data = at.data}, at.parts));
    out.modules.back().group = 1;
  }
  return out;
}
struct cuts {
  int eye, glue, talk;
  friend bool operator==(const cuts&, const cuts&) = default;
};
constexpr cuts cuts_of(const plan& of) {
  return {of.modules[0].microbatches, of.modules[1].microbatches, of.modules[2].microbatches};
}

static_assert(!rows_cross(plan_of(4, {0, 2, 3}, {0, 2, 3}, {2, 2, 3}), seeing(), 12));
static_assert(rows_cross(cut_apart(plan_of(4, {0, 2, 3}, {0, 2, 3}, {2, 2, 3}), seeing(), 12), seeing(), 12));

}  // namespace

TEST_CASE("replicas feed all of those behind them where there are samples for it, and a plan is cut once") {
  struct row {
    plan of;
    motet::isize samples;
    cuts wanted;
    bool crosses;
  };
  const row rows[] = {{plan_of(4, {0, 2, 3}, {0, 2, 3}, {2, 2, 3}), 12, {6, 6, 3}, true},
                      {plan_of(4, {0, 2, 3}, {2, 2, 3}, {2, 2, 3}), 12, {6, 3, 3}, true},
                      // Too few samples for shorter microbatches; then for some.
                      {plan_of(4, {0, 2, 3}, {0, 2, 3}, {2, 2, 3}), 11, {3, 3, 3}, false},
                      {plan_of(8, {0, 4, 2}, {0, 4, 2}, {4, 4, 2}), 16, {4, 4, 2}, true},
                      // Three modules on ranks of their own: each feeds all replicas of the next.
                      {plan_of(6, {0, 2, 1}, {2, 2, 1}, {4, 2, 1}), 8, {4, 2, 1}, true},
                      // One replica has all samples, so who has them elsewhere is free already.
                      {plan_of(3, {0, 2, 2}, {2, 1, 2}, {2, 1, 2}), 8, {2, 2, 2}, true},
                      // The same ranks have all modules: rows have nowhere to go.
                      {plan_of(2, {0, 2, 2}, {0, 2, 2}, {0, 2, 2}), 16, {2, 2, 2}, false},
                      // A plan that cuts modules unlike says so itself.
                      {plan_of(4, {0, 2, 6}, {0, 2, 3}, {2, 2, 3}), 24, {6, 6, 3}, true},
                      {plan_of(4, {0, 2, 2}, {0, 2, 2}, {2, 2, 4}), 24, {2, 2, 4}, true}};
  for (const row& each : rows) {
    CAPTURE(&each - rows);
    const plan made = cut_apart(each.of, seeing(), each.samples);
    CHECK(cuts_of(made) == each.wanted);
    CHECK(rows_cross(made, seeing(), each.samples) == each.crosses);
    CHECK(made == cut_apart(made, seeing(), each.samples));
    CHECK(prove_plan(made, seeing(), each.samples).ok());
  }
}

TEST_CASE("modules that fill others' gaps stay as they are") {
  plan of = plan_of(4, {0, 2, 3}, {0, 2, 3}, {2, 2, 3});
  of.modules[0].fills = of.modules[1].fills = true;
  CHECK(cut_apart(of, seeing(), 24) == of);
}
