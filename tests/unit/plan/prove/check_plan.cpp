// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>

#include <doctest/doctest.h>

#include <functional>

using namespace motet;

namespace {

using picture =
    module<"picture",
           vit<vit_config{.image = 8, .patch = 4, .width = 16, .layers = 4, .heads = 4, .embedding = 8}>>;
using caption =
    module<"caption",
           text_tower<text_config{
               .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using both = model<join<info_nce, picture, caption>>;

// Heavy on four ranks, light on three others.
constexpr plan apart() {
  plan of{{.ranks = 7}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, degrees{.stages = 2, .tensor = 2}, 8));
  of.modules.push(on_ranks("caption", 4, degrees{.data = 3}, 4));
  of.modules[0].group = 4;
  of.modules[0].stash = 2;
  of.modules[1].group = 2;
  return of;
}
static_assert(require<prove_plan<both, apart, 64>()>);

using change = std::function<void(plan&, list<module_facts>&)>;
verdict after(const change& make, isize samples = 64) {
  plan of = apart();
  list<module_facts> facts = facts_of<both>();
  make(of, facts);
  return prove_plan(of, facts, samples);
}
void check_refused(broken_rule why, isize where, isize got, isize wanted, const change& make,
                   isize samples = 64) {
  const verdict found = after(make, samples);
  CAPTURE(why->sentence);
  REQUIRE(!found.ok());
  CAPTURE(found.why->sentence);
  CHECK(found.why == why);
  CHECK(found.where == where);
  CHECK(found.got == got);
  CHECK(found.wanted == wanted);
}

}  // namespace

TEST_CASE("every rule is kept, and says which module broke it") {
  CHECK(after([](plan&, auto&) {}).ok());
  check_refused(reason::degree_not_positive, 1, 0, 1,
                [](plan& of, auto&) { of.modules[1].on = mesh(degrees{.data = 0}, {4}); });
  check_refused(reason::degrees_do_not_multiply, 0, 6, 4, [](plan& of, auto&) {
    of.modules[0].on = mesh(degrees{.stages = 2, .tensor = 2}, {0, 1, 2, 3, 4, 5});
  });
  check_refused(reason::rank_outside, 1, 7, 7,
                [](plan& of, auto&) { of.modules[1].on = mesh::from(5, degrees{.data = 3}); });
  check_refused(reason::rank_twice, 1, 4, 0, [](plan& of, auto&) {
    of.modules[1].on = mesh(degrees{.data = 3}, {4, 5, 4});
  });
  check_refused(reason::tensor_crosses_nodes, 0, 1, 0,
                [](plan& of, auto&) { of.cluster.ranks_per_node = 3; });
  CHECK(after([](plan& of, auto&) {
          of.cluster.ranks_per_node = 3;
          of.cluster.tensor_may_cross_nodes = true;
        }).ok());
  check_refused(reason::no_ranks, 1, 0, 1, [](plan& of, auto&) { of.modules[1].on = mesh(degrees{}, {}); });
  check_refused(reason::no_ranks, 1, 1, 2, [](plan& of, auto&) { of.modules.pop(); });
  check_refused(reason::no_ranks, 0, 2, 2, [](plan& of, auto&) { std::swap(of.modules[0], of.modules[1]); });
  check_refused(reason::unknown_module, 1, 2, 2, [](plan& of, auto&) { of.modules[1].name = "captoin"; });
  check_refused(reason::duplicate_module, 2, 3, 2, [](plan& of, auto&) { of.modules.push(of.modules[1]); });
  check_refused(reason::unknown_module, 2, 3, 2,
                [](plan& of, auto&) { of.modules.push(on_ranks("sound", 0, {})); });
  check_refused(reason::context_without_attention, 1, 3, 1, [](plan& of, auto& facts) {
    of.modules[1].on = mesh::from(4, degrees{.context = 3});
    facts[1].attends = false;
  });
  CHECK(after([](plan& of, auto&) { of.modules[1].on = mesh::from(4, degrees{.context = 3}); }).ok());
  check_refused(reason::frozen_with_optimizer, 0, 1, 0, [](plan& of, auto& facts) {
    of.modules[0].zero = 1;
    facts[0].frozen = true;
  });
  check_refused(reason::too_many_tensor_parts, 1, 3, 2,
                [](plan& of, auto&) { of.modules[1].on = mesh::from(4, degrees{.tensor = 3}); });
  check_refused(
      reason::too_few_samples, 1, 10, 12,
      [](plan& of, auto&) { of.modules[0].on = mesh::from(0, degrees{.stages = 2, .tensor = 2}); }, 10);
  check_refused(
      reason::groups_do_not_divide_batch, 0, 65, 2, [](plan&, auto&) {}, 65);
  check_refused(reason::layers_do_not_add_up, 0, 5, 4, [](plan& of, auto&) {
    of.modules[0].layers = {2, 3};
  });
  check_refused(reason::layers_do_not_add_up, 0, 4, 4, [](plan& of, auto&) {
    of.modules[0].layers = {4, 0};
  });
  check_refused(reason::layers_do_not_add_up, 0, 4, 4, [](plan& of, auto&) {
    of.modules[0].layers = {1, 2, 1};
  });
  CHECK(after([](plan& of, auto&) { of.modules[0].layers = {3, 1}; }).ok());
  check_refused(reason::recompute_does_not_fit, 1, 2, 1, [](plan& of, auto&) {
    of.modules[1].remade = {1, 0};
  });
  CHECK(after([](plan& of, auto&) { of.modules[0].remade = {1, 0}; }).ok());
  check_refused(reason::unknown_zero_level, 1, 4, 3, [](plan& of, auto&) { of.modules[1].zero = 4; });
  CHECK(after([](plan& of, auto&) { of.modules[1].zero = 1; }).ok());
  CHECK(after([](plan& of, auto&) { of.modules[1].zero = 2; }).ok());
  CHECK(after([](plan& of, auto&) { of.modules[1].pieces = 0; }).ok());
  for (const int pieces : {2, -1, 65})
    check_refused(reason::pieces_without_group, 1, pieces, 64,
                  [=](plan& of, auto&) { of.modules[1].pieces = pieces; });
  for (const int rows : {9, -1})
    check_refused(reason::whole_without_context, 1, rows, 0,
                  [=](plan& of, auto&) { of.modules[1].long_rows = rows; });
  const auto cut = [](int rows) {
    return [=](plan& of, auto&) {
      of.modules[1].on = mesh::from(4, degrees{.context = 3});
      of.modules[1].long_rows = rows;
    };
  };
  CHECK(after(cut(long_rows_chosen)).ok());
  check_refused(reason::whole_without_context, 1, -2, 0, cut(-2));
  const auto sharing = [](int experts, isize held, degrees split) {
    return [=](plan& of, auto& facts) {
      of.modules[1].on = mesh::from(0, split);
      of.modules[1].experts = experts;
      facts[1].experts = held;
    };
  };
  CHECK(after(sharing(2, 4, {.data = 4})).ok());
  CHECK(after(sharing(4, 4, {.data = 4})).ok());
  for (const int experts : {3, 0, -1})
    check_refused(reason::experts_do_not_divide, 1, experts, 4, sharing(experts, 8, {.data = 4}));
  check_refused(reason::too_few_experts, 1, 4, 3, sharing(4, 3, {.data = 4}));
  check_refused(reason::too_few_experts, 1, 2, 0, sharing(2, 0, {.data = 2}));
  // Beside a tensor degree all ranks of the replicas have some.
  CHECK(after(sharing(2, 4, {.data = 2, .tensor = 2})).ok());
  check_refused(reason::too_few_experts, 1, 4, 3, sharing(2, 3, {.data = 2, .tensor = 2}));
  check_refused(reason::unknown_schedule, 0, 0, 0, [](plan& of, auto&) { of.schedule = "1f2b"; });
  check_refused(reason::only_batch_sync_keeps, 0, 2, 0, [](plan& of, auto&) { of.schedule = "gpipe"; });

  check_refused(reason::no_stages, 0, 0, 1, [](plan& of, auto&) { of.modules[0].microbatches = 0; });
  check_refused(reason::no_stages, 0, -1, 1, [](plan& of, auto&) { of.modules[0].chunks = -1; });
  check_refused(reason::group_does_not_divide, 0, 3, 8, [](plan& of, auto&) { of.modules[0].group = 3; });
  check_refused(reason::group_does_not_divide, 0, 16, 8, [](plan& of, auto&) { of.modules[0].group = 16; });
  check_refused(reason::joins_differ, 1, 1, 2, [](plan& of, auto&) { of.modules[1].group = 0; });
  check_refused(reason::more_stages_than_layers, 1, 3, 2,
                [](plan& of, auto&) { of.modules[1].on = mesh::from(4, degrees{.stages = 3}); });
  check_refused(reason::stash_out_of_range, 0, 5, 4, [](plan& of, auto&) { of.modules[0].stash = 5; });
  check_refused(reason::chunks_are_fixed, 0, 2, 1, [](plan& of, auto&) { of.modules[0].chunks = 2; });
}

TEST_CASE("an order that cannot run is found") {
  const verdict found = after([](plan& of, auto&) {
    of.schedule = "1f1b";
    of.modules[0].stash = -1;
  });
  CHECK(!found.ok());
}

TEST_CASE("programs too large for their numbers are refused before they are written") {
  const list<module_facts> facts{{.name = "picture", .layers = 1}};
  plan of{{.ranks = 70000}, "gpipe", {}};
  of.modules.push(on_ranks("picture", 0, degrees{.data = 70000}));
  CHECK(prove_plan(of, facts, 100000).why == reason::too_large);
  of.modules[0] = on_ranks("picture", 0, degrees{.data = 60000}, 60000);
  CHECK(prove_plan(of, facts, motet::isize{1} << 40).why == reason::too_large);
}

TEST_CASE("four thousand ranks") {
  const list<module_facts> facts{{.name = "picture", .layers = 32, .key_heads = 16},
                                 {.name = "caption", .layers = 12, .key_heads = 16}};
  plan of{{.ranks = 4096, .ranks_per_node = 8}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, degrees{.stages = 8, .data = 32, .tensor = 8}, 16));
  of.modules.push(on_ranks("caption", 2048, degrees{.stages = 2, .data = 1024}, 16));
  CHECK(prove_plan(of, facts, 1 << 16).ok());
  of.cluster.ranks_per_node = 4;
  CHECK(prove_plan(of, facts, 1 << 16).why == reason::tensor_crosses_nodes);
}
