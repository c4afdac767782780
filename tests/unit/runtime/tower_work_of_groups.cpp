// SPDX-License-Identifier: Apache-2.0
#include "tower_dry_runs.hpp"

#include <motet/nn/towers/in_halves.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

using namespace motet;
using namespace motet::dry_runs;

TEST_CASE("towers of experts, where dispatch keeps small tables that are not counted") {
  using sparse = text_tower<text_config{.vocabulary = 50,
                                        .context = 16,
                                        .width = 32,
                                        .layers = 3,
                                        .heads = 4,
                                        .embedding = 16,
                                        .mix = {.experts = 4, .hidden = 48, .top_k = 2}}>;
  const tower_outline of = outline_of<sparse>("sparse");
  CHECK(parameters_of(of) == sparse::parameter_size);
  for (const stage_range range : {stage_range{0, 3}, stage_range{1, 2}})
    check_range<sparse>(of, range, {}, 0.01, 0.02);
  check_range<sparse>(of, {0, 3}, {.tensor = 2}, 0.01, 0.05);
  // Replicas share them, with a cut of rows or without; so many rows are swapped.
  tower_outline shared = of;
  for (const std::int32_t sharers : {2, 4}) {
    shared.sharers = sharers;
    check_range<sparse>(shared, {0, 3}, {}, 0.01, 0.06);
    check_range<sparse>(shared, {0, 3}, {.context = 2}, 0.01, 0.06);
    const counted real = dry_run<sparse, fp32>({1, 2}, {}, sharers);
    const part_work told = work_of_layers(shared, 1, 2);
    const double others = 4 * samples * static_cast<double>(sharers - 1) / sharers;
    CHECK(apart(others * told.expert_numbers, real.work.forward_group_bytes) < 0.2);
    CHECK(apart(others * told.backward_expert_numbers, real.work.backward_group_bytes) < 0.2);
    CHECK(told.of_experts == 4 / sharers * 2 * 32 * 48);
  }
  // Their tensor groups do so, too: attention is cut as ever, and each of four ranks has an expert.
  shared.sharers = 2;
  check_range<sparse>(shared, {0, 3}, {.tensor = 2}, 0.01, 0.06);
  const counted real = dry_run<sparse, fp32>({1, 2}, {.tensor = 2}, 2);
  const part_work told = work_of_layers(shared, 1, 2, {.tensor = 2});
  const double others = 4 * samples * 3 / 4.0, of_group = 4 * samples / 2.0;
  CHECK(apart(others * told.expert_numbers + of_group * told.group_numbers, real.work.forward_group_bytes) <
        0.2);
  CHECK(apart(others * told.backward_expert_numbers + of_group * told.backward_group_numbers,
              real.work.backward_group_bytes) < 0.2);
  CHECK(told.of_experts == 2 * 32 * 48);
}

TEST_CASE("context groups, where rows and heads go round evenly") {
  using heads = text_tower<text_config{.vocabulary = 50,
                                       .context = 16,
                                       .width = 32,
                                       .layers = 3,
                                       .heads = 4,
                                       .embedding = 16,
                                       .pool = pool_kind::mean}>;
  using ring = text_tower<text_config{.vocabulary = 50,
                                      .context = 16,
                                      .width = 32,
                                      .layers = 3,
                                      .heads = 4,
                                      .embedding = 16,
                                      .pool = pool_kind::mean,
                                      .context_kind = context_attention::ring}>;
  for (const std::int32_t context : {2, 4}) {
    check_range<heads>(outline_of<heads>("heads"), {0, 3}, {.context = context}, 0.01, 0.03);
    check_range<ring>(outline_of<ring>("ring"), {0, 3}, {.context = context}, 0.01, 0.03);
  }
}

TEST_CASE("numbers that groups exchange") {
  using net = text_tower<text_config{.vocabulary = 50,
                                     .context = 16,
                                     .width = 32,
                                     .layers = 3,
                                     .heads = 4,
                                     .embedding = 16,
                                     .pool = pool_kind::mean}>;
  const tower_outline of = outline_of<net>("net");
  for (const std::int32_t tensor : {2, 4}) {
    const counted real = dry_run<net, fp32>({1, 2}, {.tensor = tensor});
    const part_work told = work_of_layers(of, 1, 2, {.tensor = tensor});
    // Of what all have in the end a member gets what it did not have itself. Dry runs know it within a tenth:
    // not whether a sum has a residual.
    const double others = static_cast<double>(tensor - 1) / tensor;
    CHECK(samples * 4 * told.group_numbers * others ==
          doctest::Approx(real.work.forward_group_bytes).epsilon(0.01));
    CHECK(samples * 4 * told.backward_group_numbers * others ==
          doctest::Approx(real.work.backward_group_bytes).epsilon(0.1));
  }
}

namespace {

// One half of a middle block, which is a stage by itself where blocks are halves: layer 2 or 3.
template <class Net>
void check_half(const tower_outline& of, tower_part half, degrees split) {
  const motet::isize layer = half == tower_part::attention ? 2 : 3;
  CAPTURE(of.name.view());
  CAPTURE(layer);
  CAPTURE(split.tensor);
  CAPTURE(split.context);
  CAPTURE(of.sharers);
  const counted real =
      dry_run<in_halves<Net>, fp32>({layer, layer + 1}, {.tensor = split.tensor, .context = split.context},
                                    static_cast<std::int32_t>(of.sharers));
  const part_steps steps = steps_of(of, half, split);
  const part_work told = work_of_part(of, half, split);
  double products = 0, pairs = 0;
  for (const product_step& each : steps.products) products += samples * each.flops();
  for (const attention_step& each : steps.attention) pairs += samples * each.width * each.pairs;
  const auto rest = [](double flops, const slower_work& slower) {
    return flops - slower.attention - slower.elements - slower.exchanges;
  };
  CHECK(told.parameters == real.parameters);
  CHECK(products == rest(real.work.forward, real.work.of_forward));
  CHECK(products == rest(real.work.backward_input, real.work.of_input));
  CHECK(products == rest(real.work.backward_weight, real.work.of_weight));
  CHECK(4 * pairs == real.work.of_forward.attention);
  CHECK(10 * pairs == real.work.of_input.attention);
  CHECK(samples * told.forward_flops == products + 4 * pairs + real.work.of_forward.elements);
  CHECK(samples * told.input_flops == products + 10 * pairs + real.work.of_input.elements);
  // Gradients of what a tensor group holds alike are summed there.
  const double sums = real.work.of_weight.elements - (samples * told.weight_flops - products);
  CHECK((split.tensor == 1 ? sums == 0 : sums >= 0));
  // Places in memory are rounded to 64 bytes, and experts have small tables of who chose them.
  CHECK(apart(samples * 4 * told.kept, real.kept_bytes) <
        (half == tower_part::perceptron && of.experts > 0 ? 0.1 : 0.005));
  // What comes from others of each group. A norm's gradients are among it, and these tables. Keys that go
  // round while scores are computed are not: dry runs take them to be hidden.
  const auto from_others = [&](double tensor, double context, double experts) {
    const auto share = [](double group) { return 4 * samples * (group - 1) / group; };
    return share(split.tensor) * tensor + (of.ring ? 0 : share(split.context) * context) +
           share(static_cast<double>(of.sharers) * split.tensor) * experts;
  };
  CHECK(apart(from_others(told.group_numbers, told.context_numbers, told.expert_numbers),
              real.work.forward_group_bytes) < 0.1);
  CHECK(apart(from_others(told.backward_group_numbers, told.backward_context_numbers,
                          told.backward_expert_numbers),
              real.work.backward_group_bytes) < 0.15);
}

}  // namespace

TEST_CASE("each half of a block, by kind, rows and cut, has the numbers of a dry run of its type") {
  using dense = text_tower<text_config{.vocabulary = 50,
                                       .context = 16,
                                       .width = 32,
                                       .layers = 3,
                                       .heads = 4,
                                       .embedding = 16,
                                       .pool = pool_kind::mean}>;
  using ring = text_tower<text_config{.vocabulary = 50,
                                      .context = 9,
                                      .width = 32,
                                      .layers = 3,
                                      .heads = 4,
                                      .embedding = 16,
                                      .pool = pool_kind::mean,
                                      .norm = norm_kind::rms,
                                      .gated = true,
                                      .context_kind = context_attention::ring}>;
  using sparse = text_tower<text_config{.vocabulary = 50,
                                        .context = 7,
                                        .width = 32,
                                        .layers = 3,
                                        .heads = 4,
                                        .embedding = 16,
                                        .pool = pool_kind::mean,
                                        .mix = {.experts = 4, .hidden = 48, .top_k = 2}}>;
  for (const tower_part half : {tower_part::attention, tower_part::perceptron})
    for (const degrees& split :
         {degrees{}, degrees{.tensor = 2}, degrees{.context = 2}, degrees{.context = 2, .tensor = 2}}) {
      check_half<dense>(outline_of<dense>("dense"), half, split);
      check_half<ring>(outline_of<ring>("ring"), half, split);
      tower_outline experts = outline_of<sparse>("sparse");
      check_half<sparse>(experts, half, split);
      experts.sharers = 2;
      check_half<sparse>(experts, half, split);
    }
}

TEST_CASE("mixed numbers keep the stream in 4 bytes, the rest in 2") {
  using net = vit<vit_config{
      .image = 20, .patch = 5, .width = 40, .layers = 3, .heads = 4, .embedding = 16, .pre_norm = true}>;
  for (const stage_range range : {stage_range{0, 3}, stage_range{1, 2}, stage_range{2, 3}})
    check_range<net, mixed_bf16>(outline_of<net>("mixed"), range, {}, 0.005, 0.01);
}
