// SPDX-License-Identifier: Apache-2.0
#include <motet/model/graph.hpp>
#include <motet/nn/towers/fed_decoder.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/nn/towers/vit_rows.hpp>
#include <motet/plan/prove/plan_for.hpp>

#include "unit/plan/last_first.hpp"

#include <doctest/doctest.h>

using namespace motet;
using namespace motet::strategy;

namespace {

using picture =
    module<"picture",
           vit<vit_config{.image = 8, .patch = 4, .width = 24, .layers = 4, .heads = 3, .embedding = 8}>>;
using caption =
    module<"caption",
           text_tower<text_config{
               .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;

constexpr plan by_hand() {
  plan of{{.ranks = 7}, "batch_sync", {}};
  of.modules.push(on_ranks("picture", 0, {.stages = 2, .tensor = 2}, 8));
  of.modules.push(on_ranks("caption", 4, {.data = 3}, 8));
  for (module_plan& each : of.modules) each.group = 4;
  of.modules[0].stash = 2;
  return of;
}

}  // namespace

TEST_CASE("a plan that is written as a type is the value of the constant function") {
  using layout = plan_for<towers, on<"picture", ranks<0, 4>, stages<2>, tensor<2>, stash<2>>,
                          on<"caption", ranks<4, 7>, data<3>>, by<batch_sync, microbatches<8>, group<4>>>;
  static_assert(layout::value() == by_hand());
  static_assert(require<prove_plan<towers, layout::value, 48>()>);
  CHECK(layout::value() == by_hand());
}

TEST_CASE(
    "modules come in any order and leave it with the model's; what is said of one holds before what is said "
    "of all") {
  using turned = plan_for<towers, by<batch_sync, stash<4>, microbatches<8>, group<4>>,
                          on<"caption", ranks<4, 7>, data<3>, stash<-1>>,
                          on<"picture", tensor<2>, stash<2>, ranks<0, 4>, stages<2>>>;
  static_assert(turned::value() == by_hand());
  CHECK(turned::value().modules[0].name == label("picture"));
}

TEST_CASE("every word reaches its number") {
  using all = plan_for<towers,
                       on<"picture", ranks_in_order<2, 0, 3, 1>, stages<2>, context<2>, layers<1, 3>,
                          remade<true, false>, zero<1>>,
                       on<"caption", ranks<4, 6>, stages<2>, layers<1, 1>>,
                       by<one_f_one_b, microbatches<4>, group<1>>, cluster<8, 4>>;
  const plan got = all::value();
  plan wanted{{.ranks = 8, .ranks_per_node = 4}, "1f1b", {}};
  wanted.modules.push(on_ranks("picture", 0, {.stages = 2, .context = 2}, 4));
  wanted.modules.push(on_ranks("caption", 4, {.stages = 2}, 4));
  wanted.modules[0].on = mesh({.stages = 2, .context = 2}, {2, 0, 3, 1});
  wanted.modules[0].layers = {1, 3};
  wanted.modules[0].remade = {1, 0};
  wanted.modules[0].zero = 1;
  for (module_plan& each : wanted.modules) each.group = 1;
  wanted.modules[1].layers = {1, 1};
  CHECK(got == wanted);

  using chunked = plan_for<towers, on<"picture", ranks<0, 2>, stages<2>, chunks<2>>,
                           on<"caption", ranks<0, 1>, chunks<2>>, by<interleaved, microbatches<4>, group<1>>>;
  CHECK((chunked::value().modules[0].chunks == 2 && chunked::value().cluster.ranks == 2));
  using halved = plan_for<towers, on<"picture", ranks<0, 2>, tensor<2>, in_pieces<3>>,
                          on<"caption", ranks<0, 2>, data<2>>, by<batch_sync, microbatches<4>>>;
  CHECK((halved::value().modules[0].pieces == 3 && halved::value().modules[1].pieces == 1));
  using whole = plan_for<towers, on<"picture", ranks<0, 2>, context<2>, long_from<9>>,
                         on<"caption", ranks<0, 2>, data<2>>, by<batch_sync, microbatches<4>>>;
  CHECK((whole::value().modules[0].long_rows == 9 && whole::value().modules[1].long_rows == 0));
  using chosen = plan_for<towers, on<"picture", ranks<0, 2>, context<2>, long_from<long_rows_chosen>>,
                          on<"caption", ranks<0, 2>, data<2>>, by<batch_sync, microbatches<4>>>;
  CHECK(chosen::value().modules[0].long_rows == long_rows_chosen);
  using open = plan_for<towers, on<"picture", ranks<0, 2>, tensor<2>, in_pieces<0>>,
                        on<"caption", ranks<0, 2>, data<2>>, by<batch_sync, microbatches<4>>>;
  CHECK(open::value().modules[0].pieces == 0);
  static_assert([] {
    spoken said;
    experts_over<2>::say(said);
    return said.module.experts == 2;
  }());
  using hidden = plan_for<towers, on<"picture", ranks<0, 1>, ahead<1>>, on<"caption", ranks<1, 2>>,
                          by<batch_sync, microbatches<4>, group<2>>>;
  CHECK((hidden::value().modules[0].ahead == 1 && hidden::value().modules[1].ahead == 0));
}

TEST_CASE(
    "a schedule of the program's own is played as one of the library's is, and proven by the compiler") {
  using mine = plan_for<towers, on<"picture", ranks<0, 4>, stages<2>, tensor<2>>,
                        on<"caption", ranks<4, 7>, data<3>>, by<last_first<>, microbatches<4>, group<2>>>;
  static_assert(require<prove_plan<towers, mine::value, 24>()>);
  const plan got = mine::value();
  CHECK(got.schedule == label("last_first"));
  CHECK(got.own);
  plan by_value = got;
  CHECK(by_value.by(gpipe{}).own == own_schedule{});
  CHECK(by_value.schedule == label("gpipe"));
  CHECK_FALSE(by_value == got);
  CHECK(by_value.by<last_first<>>() == got);
  // In the library's order of the same computations backwards come the other way round.
  const list<module_facts> facts = facts_of<towers>();
  score own, theirs;
  REQUIRE(write_plan(got, facts, own).ok());
  REQUIRE(write_plan(by_value.by(gpipe{}), facts, theirs).ok());
  CHECK(own.codes().size() == theirs.codes().size());
  CHECK_FALSE(own.codes() == theirs.codes());
}

TEST_CASE("the compiler fills gaps or multiplexes, and proves what comes of it") {
  using eye =
      module<"eye", vit_rows<vit_config{.image = 8, .patch = 4, .width = 24, .layers = 2, .heads = 3}>>;
  using talk = module<
      "talk",
      fed_decoder<decoder_config{.vocabulary = 20, .context = 16, .width = 24, .layers = 4, .heads = 2}, 8>>;
  using say = model<modules<eye, talk>, edge<"eye", "talk">, loss<next_token, "talk">>;
  using filled = plan_for<say, on<"eye", ranks<0, 2>, data<2>, microbatches<2>, fills, room<2>, takes<2, 4>>,
                          on<"talk", ranks<0, 2>, stages<2>, chunks<2>, microbatches<4>, takes<9, 18>>,
                          by<interleaved, group<1>>>;
  constexpr bool said = [] {
    const plan of = filled::value();
    return of.modules[0].fills && of.modules[0].room == 2 && of.modules[0].backward_takes == 4 &&
           of.modules[1].forward_takes == 9 && of.modules[1].chunks == 2;
  }();
  static_assert(said);
  static_assert(require<prove_plan<say, filled::value, 8>()>);
  CHECK(prove_plan(filled::value(), facts_of<say>(), 8).ok());
  using joint = plan_for<say, on<"eye", ranks<0, 2>, data<2>, multiplexed, ahead<1>>,
                         on<"talk", ranks<0, 2>, stages<2>>, by<one_f_one_b, group<1>, microbatches<4>>>;
  static_assert(joint::value().modules[0].multiplexed && joint::value().modules[0].ahead == 1);
  static_assert(require<prove_plan<say, joint::value, 8>()>);
}

// The compiler asks these of each plan that is written as a type.
TEST_CASE(
    "what a module cannot be is found with the smallest batch of which each of its parts gets a sample") {
  const list<module_facts> facts = facts_of<towers>();
  plan of = by_hand();
  CHECK_EQ(detail::least_batch(of), 24);
  of.modules[1].microbatches = 1;
  CHECK_EQ(detail::least_batch(of), 8);
  CHECK(detail::check_modules(by_hand(), facts).ok());
  plan twice = by_hand();
  twice.modules[1].name = twice.modules[0].name;
  const verdict found = detail::check_modules(twice, facts);
  CHECK(found.why == reason::duplicate_module);
  CHECK_EQ(found.got, 1);
  CHECK_EQ(found.wanted, 0);
  plan strange = by_hand();
  strange.modules[0].name = "sound";
  CHECK(detail::check_modules(strange, facts).why == reason::unknown_module);
  plan uneven = by_hand();
  uneven.modules[0].layers = {3, 2};
  CHECK_FALSE(detail::check_modules(uneven, facts).ok());
}
