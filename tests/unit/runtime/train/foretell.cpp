// SPDX-License-Identifier: Apache-2.0
#include <motet/runtime/train/foretell.hpp>

#include <motet/backend/cpu/device/context.hpp>
#include <motet/backend/cpu/operations.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/runtime/stage/plan_choices.hpp>
#include <motet/schedule/simulate/simulate.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

using picture =
    module<"picture",
           vit<vit_config{.image = 8, .patch = 4, .width = 16, .layers = 4, .heads = 2, .embedding = 8}>>;
using caption =
    module<"caption",
           text_tower<text_config{
               .vocabulary = 20, .context = 6, .width = 8, .layers = 2, .heads = 2, .embedding = 8}>>;
using towers = model<join<info_nce, picture, caption>>;

struct foretold {
  program of;
  program_work work;

  double flops() const {
    double sum = 0;
    for (const instruction& it : of.instructions) {
      if (!is_compute(it.what) || it.what == op::join) continue;
      const stage_work& own =
          work.places[static_cast<std::size_t>(of.voices[it.voice].first_place + it.stage)];
      sum += is_forward(it.what) ? own.forward : own.backward_input + own.backward_weight;
    }
    return sum;
  }
  double seconds(const machine_rates& rates) const {
    timeline when;
    REQUIRE(simulate(of, work.costs(of, rates), when).ok());
    return when.makespan;
  }
};
foretold of_plan(module_plan of_picture, module_plan of_caption, const char* schedule = "gpipe",
                 std::span<const void* const> inputs = {}) {
  plan from{{.ranks = 8}, schedule, {}};
  from.modules.push(of_picture);
  from.modules.push(of_caption);
  score order;
  REQUIRE(prove_plan(from, facts_of<towers>(), 24).ok());
  REQUIRE(write_plan(from, facts_of<towers>(), order).ok());
  foretold out{compile(order), {}};
  out.work = foretell<towers, cpu::context, fp32>(out.of, choices_of(from), 24, inputs);
  return out;
}

}  // namespace

TEST_CASE("the same work whatever the plan, but for what cannot be cut") {
  const foretold one = of_plan(on_ranks("picture", 0, {}), on_ranks("caption", 0, {}));
  CHECK(one.work.places.size() == 2);
  CHECK(one.work.parameters[0] + one.work.parameters[1] ==
        towers::parameter_size - towers::loss::parameter_size);
  const foretold pipeline = of_plan(on_ranks("picture", 0, degrees{.stages = 4}, 4),
                                    on_ranks("caption", 4, degrees{.stages = 2}, 4));
  CHECK(pipeline.flops() == doctest::Approx(one.flops()));
  CHECK(pipeline.work.places.size() == 6);
  const foretold data =
      of_plan(on_ranks("picture", 0, degrees{.data = 4}, 2), on_ranks("caption", 4, degrees{.data = 3}));
  CHECK(data.flops() == doctest::Approx(one.flops()));
  CHECK(data.work.parameters[0] == one.work.parameters[0]);
  const foretold tensor = of_plan(on_ranks("picture", 0, degrees{.tensor = 2}), on_ranks("caption", 4, {}));
  CHECK(tensor.flops() == doctest::Approx(one.flops()).epsilon(0.1));
  CHECK(tensor.work.parameters[0] < one.work.parameters[0] * 2 / 3);
  CHECK(tensor.work.places[0].forward_group_bytes > 0);
  const stage_cost cost = tensor.work.costs(tensor.of, {1e9, 2e9}).stages[0];
  CHECK(cost.forward_gaps == tensor.work.places[0].forward_group_bytes / 2e9);
  CHECK(cost.input_gaps == tensor.work.places[0].backward_group_bytes / 2e9);
  const foretold context = of_plan(on_ranks("picture", 0, degrees{.context = 2}), on_ranks("caption", 4, {}));
  CHECK(context.flops() == doctest::Approx(one.flops()).epsilon(0.1));
  CHECK(context.work.parameters[0] == one.work.parameters[0]);
}

TEST_CASE("work is that of the samples of a step, where these are told") {
  const std::vector<float> pixels(24 * 3 * 8 * 8, 0.5f);
  const std::vector<std::int32_t> ids(24 * 6, 7);
  const pictures shown{pixels.data(), 24};
  const tokens full{ids.data(), {24, 6, nullptr}}, half{ids.data(), {24, 3, nullptr}};
  // The first twelve captions have six words, the others one.
  std::vector<isize> offsets{0};
  for (isize k = 0; k < 24; ++k) offsets.push_back(offsets.back() + (k < 12 ? 6 : 1));
  const tokens uneven{ids.data(), {24, 6, offsets.data()}};
  const auto work = [&](module_plan of_caption, const tokens& said) {
    const void* const inputs[] = {&shown, &said};
    return of_plan(on_ranks("picture", 0, {}), of_caption, "gpipe", inputs).work;
  };
  const program_work longest = of_plan(on_ranks("picture", 0, {}), on_ranks("caption", 1, {})).work;
  for (const degrees& split : {degrees{}, degrees{.context = 2}, degrees{.tensor = 2}}) {
    const program_work all = work(on_ranks("caption", 1, split), full),
                       some = work(on_ranks("caption", 1, split), half);
    CHECK(all.places[0].forward == longest.places[0].forward);
    CHECK(some.places[0].forward == longest.places[0].forward);
    CHECK(some.places[1].forward < 0.6 * all.places[1].forward);
    CHECK(some.places[1].backward_weight < 0.6 * all.places[1].backward_weight);
    CHECK(some.places[1].forward_group_bytes <= 0.6 * all.places[1].forward_group_bytes);
  }
  CHECK(work(on_ranks("caption", 1, {}), full).places[1].forward == longest.places[1].forward);
  // Of two microbatches, a long and a short one, the mean.
  program_work two = work(on_ranks("caption", 1, {}, 2), uneven);
  const program_work whole = work(on_ranks("caption", 1, {}), uneven);
  CHECK(2 * two.places[1].forward == doctest::Approx(whole.places[1].forward));
  const double once = two.places[1].forward, sent = two.messages.empty() ? 0 : two.messages[0];
  two.add(two);
  CHECK(two.places[1].forward == doctest::Approx(2 * once));
  two.scale(0.5);
  CHECK(two.places[1].forward == doctest::Approx(once));
  if (!two.messages.empty()) CHECK(two.messages[0] == doctest::Approx(sent));
}

TEST_CASE("attention and operations on single elements have rates of their own") {
  const program_work work = of_plan(on_ranks("picture", 0, {}), on_ranks("caption", 1, {})).work;
  for (const stage_work& each : work.places) {
    CHECK(each.of_forward.attention > 0);
    CHECK(each.of_input.attention > 0);
    CHECK(each.of_weight.attention == 0);
    CHECK(each.of_forward.bytes > 0);
    CHECK(each.of_forward.attention + each.of_forward.elements < each.forward);
    const slower_work& own = each.of_forward;
    CHECK(machine_rates{2, 1}.seconds(each.forward, own) == doctest::Approx(each.forward / 2));
    CHECK(machine_rates{2, 1, 0.5, 4}.seconds(each.forward, own) ==
          doctest::Approx((each.forward - own.attention - own.elements) / 2 + own.attention / 0.5 +
                          own.bytes / 4));
  }
  plan from{{.ranks = 2}, "gpipe", {}};
  from.modules.push(on_ranks("picture", 0, {}));
  from.modules.push(on_ranks("caption", 1, {}));
  from.modules[1].remade.resize(1, 1);
  score order;
  REQUIRE(write_plan(from, facts_of<towers>(), order).ok());
  const program of = compile(order);
  const program_work again = foretell<towers, cpu::context, fp32>(of, choices_of(from), 24);
  CHECK(again.places[1].of_input.bytes ==
        doctest::Approx(work.places[1].of_input.bytes + work.places[1].of_forward.bytes));
}

TEST_CASE("seconds follow from the rates") {
  const foretold one = of_plan(on_ranks("picture", 0, {}), on_ranks("caption", 0, {}));
  const machine_rates slow{1e6, 1e12}, slower{0.5e6, 1e12};
  // One rank is never idle: its work, the join and the updates.
  CHECK(one.seconds(slow) == doctest::Approx((one.flops() + one.work.join_flops) / 1e6).epsilon(0.001));
  CHECK(one.seconds(slower) == doctest::Approx(2 * one.seconds(slow)).epsilon(0.001));
  const foretold two =
      of_plan(on_ranks("picture", 0, degrees{.data = 2}), on_ranks("caption", 0, degrees{.data = 2}));
  CHECK(two.seconds(slow) < 0.6 * one.seconds(slow));
  CHECK(two.seconds(slow) > 0.45 * one.seconds(slow));
  // On wires that are slow, what is sent counts.
  const foretold pipeline =
      of_plan(on_ranks("picture", 0, degrees{.stages = 2}, 4), on_ranks("caption", 4, {}, 4));
  CHECK(pipeline.seconds({1e6, 1e4}) > 2 * pipeline.seconds(slow));
}

TEST_CASE("what ranks exchange is no operation on single elements") {
  const program_work one = of_plan(on_ranks("picture", 0, {}), on_ranks("caption", 1, {})).work;
  for (const degrees& split : {degrees{.tensor = 2}, degrees{.context = 2}}) {
    const program_work cut = of_plan(on_ranks("picture", 0, split), on_ranks("caption", 4, split)).work;
    const std::size_t caption = cut.places.size() - 1;
    // Rows are cut as well as columns, so each rank has about half of the bytes that one has.
    for (const std::size_t place : {std::size_t{0}, caption}) {
      const stage_work &whole = one.places[place == 0 ? 0 : 1], &own = cut.places[place];
      CAPTURE(place);
      CHECK(own.forward_group_bytes > 0);
      CHECK(own.of_forward.bytes < 0.65 * whole.of_forward.bytes);
      CHECK(own.of_input.bytes < 0.65 * whole.of_input.bytes);
      CHECK((own.of_forward.exchanges > 0) == (split.tensor > 1));
      CHECK(whole.of_forward.exchanges == 0);
    }
  }
}

TEST_CASE("the work of blocks is a part, and of stages in the middle all") {
  const program_work work =
      of_plan(on_ranks("picture", 0, degrees{.stages = 4}, 4), on_ranks("caption", 4, {})).work;
  for (const std::size_t middle : {1u, 2u}) {
    const stage_work& own = work.places[middle];
    CHECK(own.forward_blocks.flops == doctest::Approx(own.forward));
    CHECK(own.input_blocks.flops == doctest::Approx(own.backward_input));
    CHECK(own.weight_blocks.flops == doctest::Approx(own.backward_weight));
    CHECK(own.forward_blocks.slower.bytes == doctest::Approx(own.of_forward.bytes));
  }
  const stage_work& first = work.places[0];
  CHECK(first.forward_blocks.flops < first.forward);
  CHECK(first.forward_blocks.flops > 0.3 * first.forward);
  CHECK(first.weight_blocks.flops < first.backward_weight);
}
