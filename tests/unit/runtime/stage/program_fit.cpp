// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/stage/program_fit.hpp>

#include <motet/nn/towers/text.hpp>
#include <motet/schedule/write/batch_sync.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <unit/runtime/small_edges.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using ear = text_tower<text_config{
    .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 1, .embedding = 4}>;
using both = model<join<info_nce, motet::module<"left", ear>, motet::module<"right", ear>>>;
using one_frozen = model<join<info_nce, motet::module<"left", ear>, motet::module<"right", frozen<ear>>>>;
using all_frozen =
    model<join<info_nce, motet::module<"left", frozen<ear>>, motet::module<"right", frozen<ear>>>>;

score two(int groups = 1) { return joined(beside(gpipe::write({2, 4}), gpipe::write({1, 4})), groups); }

}  // namespace

TEST_CASE("a score becomes the model's program, with its names") {
  const program of = program_for<both>(two(2), true);
  REQUIRE(of.voices.size() == 2);
  CHECK(of.voices[0].name.view() == "left");
  CHECK(of.voices[1].name.view() == "right");
  int updates = 0;
  for (const instruction& each : of.instructions) updates += each.what == op::optimizer_step ? 1 : 0;
  CHECK(updates == 3);
  for (const instruction& each : program_for<both>(two(), false).instructions)
    CHECK(each.what != op::optimizer_step);
  CHECK(program_for<one_frozen>(without_backward(two(), 1), true).ranks() == 3);
}

TEST_CASE("modules must be the model's, once each, in its join") {
  const score lone = joined(gpipe::write({1, 2}), 1),
              three =
                  joined(beside(beside(gpipe::write({1, 2}), gpipe::write({1, 2})), gpipe::write({1, 2})), 1);
  CHECK_THROWS_WITH_AS(program_for<both>(lone, true), doctest::Contains("the program lacks right"), error);
  CHECK_THROWS_WITH_AS(program_for<both>(three, true),
                       doctest::Contains("the program has a module 2, the model 2"), error);
  CHECK_THROWS_WITH_AS(program_for<both>(beside(gpipe::write({1, 2}), gpipe::write({1, 2})), true),
                       doctest::Contains("left does not meet the others in join 0"), error);
  CHECK_THROWS_WITH_AS(program_for<both>(three, true), doctest::Contains("MT-R09"), error);
}

TEST_CASE("what is frozen agrees") {
  CHECK_THROWS_WITH_AS(program_for<one_frozen>(two(), true),
                       doctest::Contains("right is frozen in the model and learns in the program"), error);
  CHECK_THROWS_WITH_AS(program_for<both>(without_backward(two(), 0), true),
                       doctest::Contains("left learns in the model and is frozen in the program"), error);
  CHECK_THROWS_WITH_AS(program_for<all_frozen>(without_backward(without_backward(two(), 0), 1), true),
                       doctest::Contains("nothing to train"), error);
}

TEST_CASE("a microbatch runs forward again on all stages or on none") {
  const auto order = [](bool first, bool second) {
    score out;
    for (int k = 0; k < 2; ++k) {
      voice made;
      made.module = k;
      made.stages = k == 0 ? 2 : 1;
      made.join = 0;
      out.add(made, [](int) { return 0; });
    }
    out.rank();
    out.play(first ? op::forward_only : op::forward, 0, 0, 0);
    out.play(second ? op::forward_only : op::forward, 0, 1, 0);
    out.play(op::forward, 1, 0, 0);
    out.join(0, 0);
    if (first) out.play(op::re_forward, 0, 0, 0);
    if (second) out.play(op::re_forward, 0, 1, 0);
    for (int s = 2; s-- > 0;) out.play(op::backward, 0, s, 0);
    out.play(op::backward, 1, 0, 0);
    return out;
  };
  CHECK(program_for<both>(order(false, false), true).ranks() == 1);
  CHECK(program_for<both>(order(true, true), true).ranks() == 1);
  CHECK_THROWS_WITH_AS(program_for<both>(order(true, false), true),
                       doctest::Contains("microbatch 0 of module 0 runs forward again on stage 0 and not"),
                       error);
  CHECK_THROWS_WITH_AS(program_for<both>(order(false, true), true),
                       doctest::Contains("microbatch 0 of module 0 runs forward again on stage 1 and not"),
                       error);
  CHECK(program_for<both>(batch_sync::write({{{2, 4, 4, 1}, {2, 4, 4, 0}}, 2}), true).ranks() == 4);
}

TEST_CASE("degrees of a module divide what the program gives it") {
  const program of = program_for<both>(two(), true);
  const std::vector<module_choice> none, tensor{{.tensor = 2}}, experts{{}, {.experts = 2}};
  CHECK(tensor_degrees_of(of, none, 2) == std::vector<std::int32_t>{1, 1});
  CHECK(expert_degrees_of(of, none, 2) == std::vector<std::int32_t>{1, 1});
  CHECK_THROWS_WITH_AS(
      tensor_degrees_of(of, tensor, 2),
      doctest::Contains("left has 1 shards in the program, tensor degree 2 must divide them"), error);
  CHECK_THROWS_WITH_AS(
      expert_degrees_of(of, experts, 2),
      doctest::Contains("right has 1 replicas in the program, of which 2 cannot share experts"), error);
}

TEST_CASE("who feeds whom, and where gradients go on, agrees") {
  // An eye, the glue behind it and a language model.
  const auto three = [](bool eye, bool talk) {
    score out;
    for (int k = 0; k < 3; ++k) {
      voice made;
      made.module = k;
      made.join = k == 2 ? 0 : -1;
      made.learns = k == 0 ? eye : k == 1 || talk;
      made.fixed = k == 2 && made.learns && !eye;
      out.add(made, [](int) { return 0; });
    }
    return out;
  };
  using whole = small_fed_speech<>;
  using glue_learns = small_fed_speech<true, true>;
  score fed = three(true, true);
  CHECK_THROWS_WITH_AS(program_for<whole>(fed, true),
                       doctest::Contains("eye does not feed glue in the program"), error);
  fed.feed(0, 2);
  CHECK_THROWS_WITH_AS(program_for<whole>(fed, true),
                       doctest::Contains("eye feeds talk in the program, and the model has no such edge"),
                       error);
  // The glue alone learns, by what comes back through a language model that stays as it is.
  CHECK_THROWS_WITH_AS(program_for<glue_learns>(three(false, false), true),
                       doctest::Contains("talk passes gradients on in the model and does not in the program"),
                       error);
  score back = three(false, true);
  CHECK_THROWS_WITH_AS(program_for<glue_learns>(back, true),
                       doctest::Contains("eye does not feed glue in the program"), error);
}
