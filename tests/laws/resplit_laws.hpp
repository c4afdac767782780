// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <plan_laws.hpp>

#include "deviation.hpp"

// Whatever shares replicas have, and however they change from step to step, a plan gives the single rank's
// loss, gradients and steps.
namespace {

bool has_replicas(const plan& of) {
  bool any = false;
  for (const module_plan& each : of.modules) any = any || each.on.split().data > 1;
  return any;
}
plan make_with_replicas(plan_maker& maker, int groups = 0) {
  for (;;)
    if (plan made = maker.make(groups); has_replicas(made)) return made;
}

// Any shares that the options allow.
list<motet::isize> random_shares(laws::dice& roll, motet::isize size, motet::isize replicas,
                                 motet::isize microbatches, const resplit_options& how) {
  const share_bounds within = bounds_of(how, size, replicas, microbatches);
  list<motet::isize> weights;
  for (motet::isize r = 0; r < replicas; ++r) weights.push(1 + roll.below(1000));
  return weighted_shares(size, weights, within);
}
template <class Trainer>
void change_shares(Trainer& train, const plan& of, laws::dice& roll, const resplit_options& how) {
  for (motet::isize k = 0; k < of.modules.size(); ++k) {
    const module_plan& own = of.modules[k];
    train.set_shares(
        k, random_shares(roll, law_samples / own.groups(), own.on.split().data, own.whole_group(), how));
  }
}

template <class Host>
void compare_any_shares(const plan& of, std::uint64_t seed) {
  using trained = pipeline_trainer<towers, cpu::device, fp32, Host>;
  const std::string text = text_of(of);
  CAPTURE(text);
  laws::dice roll(seed);
  // Captions of full length fill what is planned.
  const test_data data(law_samples, 1, seed % 2 == 0);
  const auto whole = data.batch<towers>();
  score order;
  REQUIRE(write_plan(of, facts_of<towers>(), order).ok());
  const motet::isize groups = order.voices()[0].joins();
  pipeline_config config;
  config.batch = law_samples;
  config.modules = choices_of(of);
  config.deadline = 120;
  config.resplit.most = 1.25 + 0.25 * static_cast<double>(roll.below(5));
  {
    single_rank<towers, fp32> one(law_samples, groups);
    const double loss = one.differentiate(whole);
    config.update = false;
    trained many(order, config);
    many.prepare();
    for (int turn = 0; turn < 4; ++turn) {
      change_shares(many, of, roll, config.resplit);
      CHECK(laws::off_by(many.step(whole, 0).loss, loss) <= 1e-5 * std::abs(loss));
      CHECK(apart<towers>(many.gradients(), one.gradients) <= gradient_rounding);
    }
    const std::vector<motet::isize> used = many.used_of_slots();
    for (std::size_t r = 0; r < used.size(); ++r) CHECK(used[r] <= many.forecast()[r].stages.slots);
  }
  single_rank<towers, fp32> one(law_samples, groups);
  config.update = true;
  trained many(order, config);
  many.prepare();
  check_steps(many, one, whole, [&] { change_shares(many, of, roll, config.resplit); });
}

}  // namespace
