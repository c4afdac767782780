// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/disttrain/orchestrate.hpp>

#include "unit/plan/disttrain/counted_speech.hpp"

#include <doctest/doctest.h>

using namespace motet;

TEST_CASE("the best plan is no slower than any other plan that was looked at") {
  for (const double eye : {1e8, 1e9, 4e9})
    for (const bool learns : {true, false}) {
      const counted_graph of = counted_speech({.ranks = 3, .samples = 8, .eye = eye, .eye_learns = learns});
      const promised_plans found = orchestrate(of);
      REQUIRE(!found.plans.empty());
      double least = 1e300;
      each_graph_plan(of, [&](const plan& how) {
        least = std::min(least, detail::seconds_of(of, of.mean_loads(), how));
      });
      // All were played, or those that the formula left out are not much better.
      CHECK(found.plans.front().seconds <= 1.05 * least);
      CHECK(found.plans.front().seconds >= least);
      for (const promised_plan& each : found.plans) CHECK(each.seconds >= found.plans.front().seconds);
    }
}

TEST_CASE("on one rank a step takes the work of all samples") {
  const counted_graph of = counted_speech({.ranks = 1, .samples = 8, .cuts = false});
  const promised_plans found = orchestrate(of);
  REQUIRE(!found.plans.empty());
  // Three times forward of each module, and its updates.
  const double work = 8 * 3 * (1e9 + 1e6 + 1e9) / 1e11;
  CHECK(found.plans.front().seconds >= work);
  CHECK(found.plans.front().seconds <= 1.1 * work);
}

TEST_CASE("more ranks make no best step longer, and an eye that rests asks for fewer of them") {
  double before = 1e300;
  for (const std::int32_t ranks : {1, 2, 4}) {
    const promised_plans found = orchestrate(counted_speech({.ranks = ranks, .samples = 32}));
    REQUIRE(!found.plans.empty());
    CHECK(found.plans.front().seconds <= before * (1 + 1e-9));
    before = found.plans.front().seconds;
  }
  const auto best = [](bool learns) {
    return orchestrate(counted_speech({.ranks = 4, .samples = 32, .eye_learns = learns}))
        .plans.front()
        .seconds;
  };
  CHECK(best(false) < 0.8 * best(true));
}

TEST_CASE("a plan is played with what samples bring, not with their mean") {
  // Of a pipeline, microbatches of unlike weight take longer than equal ones with as much work together.
  counted_graph skewed = counted_speech({.ranks = 2, .samples = 8, .eye = 4e9, .sigma = 1});
  counted_graph even = skewed;
  for (isize k = 0; k < 3; ++k) {
    const double mean = skewed.mean_load(k);
    for (step_headers& each : even.steps)
      for (std::int32_t s = 0; s < each.samples; ++s) each.work[k * each.samples + s] = mean;
  }
  motet::isize compared = 0;
  each_graph_plan(skewed, [&](const plan& how) {
    if (how.modules[0].on.find(how.modules[2].on.ranks()[0]) >= 0 || how.modules[0].microbatches < 8) return;
    ++compared;
    CHECK(detail::seconds_of(skewed, skewed.mean_loads(), how) >
          detail::seconds_of(even, even.mean_loads(), how));
  });
  CHECK(compared > 0);
}

// Two samples on four ranks, where samples alone keep two of them busy, and a pipeline of which half idles.
TEST_CASE("long samples that are few are cut in context parts, and a deep pipeline is interleaved") {
  counted_graph few = counted_speech({.ranks = 4, .samples = 2, .eye = 1e7});
  for (counted_cut& cut : few.cuts)
    if (cut.tensor > 1)
      for (counted_module& each : cut.modules) each.forward_bytes = each.backward_bytes = 1e9;
  CHECK(orchestrate(few).plans.front().how.modules[2].on.split().context == 2);
  // Tensor and context parts exchange more than they save here.
  counted_graph deep = counted_speech({.ranks = 4, .samples = 8, .eye = 1e6, .talk = 1e10, .layers = 16});
  for (counted_cut& cut : deep.cuts)
    if (cut.tensor * cut.context > 1)
      for (counted_module& each : cut.modules) each.forward_bytes = each.backward_bytes = 1e11;
  // So do replicas.
  for (counted_cut& cut : deep.cuts) cut.modules[2].parameters = 1e10;
  const promised_plan best = orchestrate(deep).plans.front();
  CHECK(best.how.modules[2].chunks > 1);
  CHECK(best.how.schedule == label("interleaved"));
  double plain = 1e300;
  each_graph_plan(deep, [&](const plan& how) {
    if (how.modules[2].chunks == 1) plain = std::min(plain, detail::seconds_of(deep, deep.mean_loads(), how));
  });
  CHECK(best.seconds < plain);
}

// The best of those without multiplexed modules, which wait less for uneven samples.
static promised_plan first_of_others(const promised_plans& of) {
  for (const promised_plan& each : of.plans)
    if (!each.how.modules[0].multiplexed) return each;
  return {};
}

// Of samples as they are listed, replicas of an eye look slower than one pipeline or than shared ranks.
TEST_CASE(
    "a search that knows the orders of a run finds a shorter step than orders of the plan found without") {
  struct row {
    speech_question asked;
    double afterwards;  // gained at least over the plan found before, as it is or cut apart
    double apart;       // gained at least by cutting apart inside the search
  };
  const auto skewed = [](int ranks, int samples, double eye) {
    return speech_question{.ranks = ranks,
                           .samples = samples,
                           .eye = eye,
                           .sigma = 0.6,
                           .cuts = false,
                           .spoken = 0.6,
                           .parameters = 1e7};
  };
  const row rows[] = {{skewed(4, 32, 1.66e9), 1.05, 1.015}, {skewed(6, 20, 3.32e9), 1.05, 1}};
  for (const row& each : rows) {
    CAPTURE(&each - rows);
    const counted_graph listed = counted_speech(each.asked);
    counted_graph known = listed;
    known.ordered = {true, true};
    const auto takes = [&](const plan& how) { return detail::seconds_of(known, known.mean_loads(), how); };
    const plan before = first_of_others(orchestrate(listed)).how;
    const plan afterwards = cut_apart(before, listed.facts, listed.samples);
    const promised_plan whole = first_of_others(orchestrate(known));
    known.may_cut_apart = true;
    const promised_plans all = orchestrate(known);
    const promised_plan found = first_of_others(all);
    CHECK(all.plans.front().seconds <= found.seconds);
    CHECK(found.seconds == takes(found.how));
    CHECK(found.seconds * each.afterwards < std::min(takes(before), takes(afterwards)));
    CHECK(found.seconds * each.apart <= whole.seconds);
    CHECK(rows_cross(found.how, listed.facts, listed.samples));
    CHECK(cut_apart(found.how, listed.facts, listed.samples) == found.how);
    CHECK((found.how == whole.how) == (each.apart == 1));
  }
}

// An eye that rests, before a language model whose pipeline waits, of samples that differ.
TEST_CASE(
    "modules are multiplexed where that is shorter, and a search without such plans finds none longer") {
  struct row {
    speech_question asked;
    double gains;  // at least, over all others
  };
  const auto asked = [](int ranks, int samples, double eye, bool learns, double sigma) {
    return speech_question{.ranks = ranks,
                           .samples = samples,
                           .eye = eye,
                           .eye_learns = learns,
                           .sigma = sigma,
                           .between = 1e5,
                           .spoken = sigma};
  };
  const row rows[] = {{asked(2, 8, 2e9, true, 0), 1.003},
                      {asked(3, 12, 2e9, false, 0.6), 1.055},
                      {asked(4, 8, 4e9, false, 0.6), 1.05},
                      {asked(4, 8, 1e8, true, 0), 0}};
  for (const row& each : rows) {
    CAPTURE(&each - rows);
    const counted_graph of = counted_speech(each.asked);
    const promised_plans found = orchestrate(of);
    double others = 1e300;
    motet::isize played = 0;
    for (const promised_plan& one : found.plans) {
      if (one.how.modules[0].multiplexed) played += one.how.modules[2].long_rows == 0 ? 1 : 0;
      else others = std::min(others, one.seconds);
    }
    const promised_plan& best = found.plans.front();
    CHECK((played > 0 && played <= 50));
    CHECK(best.seconds <= others);
    CHECK(best.how.modules[0].multiplexed == (each.gains > 0));
    CHECK(best.seconds * each.gains <= others);
    CHECK(prove_plan(best.how, of.facts, of.samples).ok());
    // Whoever leaves them out of what is played has the same others.
    promised_plan shortest{{}, 1e300};
    each_graph_plan(of, [&](const plan& how) {
      if (how.modules[0].multiplexed || of.samples > 8) return;
      if (const double own = detail::seconds_of(of, of.mean_loads(), how); own < shortest.seconds)
        shortest = {how, own};
    });
    if (of.samples <= 8) CHECK(best.seconds <= 1.02 * shortest.seconds);
  }
}

TEST_CASE("measured blocks that are slow in small microbatches ask for larger ones") {
  counted_graph of = counted_speech({.ranks = 2, .samples = 32, .cuts = false});
  // Replicas would send for ever, so there is a pipeline, and it wants many microbatches.
  for (counted_module& each : of.cuts[0].modules) each.parameters = 1e10;
  // A block takes 50 ms for one sample, and hardly more for sixteen.
  const tower_outline outline{.name = "talk", .layers = 4, .width = 64, .heads = 4, .tokens = 32};
  const double flops = work_of_part(outline, tower_part::block).forward_flops;
  const double samples = 1e9 / 4 / flops;  // of the outline, that a sample of the step is as much as
  const module_profile measured{
      .of = outline,
      .points = {{1, samples, {}, {5e-2, 5e-2, 5e-2}, {}}, {1, 16 * samples, {}, {6e-2, 6e-2, 6e-2}, {}}}};
  const auto microbatches = [&] { return orchestrate(of).plans.front().how.modules[2].microbatches; };
  const int by_flops = microbatches();
  of.paces = {{&measured, 4}, {}, {&measured, 4}};
  CHECK(microbatches() < by_flops);
}

// One or two long videos on four ranks, of which some idle or make up a pipeline where they are whole.
TEST_CASE(
    "rows are cut before the loss where samples are few, and not where keys take longer than they save") {
  struct row {
    const char* what;
    speech_question asked;
    double gains;  // at least, over all others; 0: they win nothing
  };
  const auto asked = [](motet::isize samples, motet::isize seen, double keys, double columns) {
    return speech_question{
        .ranks = 4, .samples = samples, .eye = 8e9, .seen = seen, .keys = keys, .columns = columns};
  };
  const row rows[] = {{"one", asked(1, 1024, 1e6, 1e6), 1.8},
                      {"two, with slow columns", asked(2, 1024, 1e6, 4e8), 1.25},
                      {"many", asked(32, 1024, 1e6, 4e8), 0},
                      {"slow keys", asked(1, 1024, 1e11, 1e6), 0},
                      {"short", asked(1, 100, 1e6, 1e6), 0}};
  for (const row& each : rows) {
    CAPTURE(each.what);
    const counted_graph of = counted_speech(each.asked);
    const promised_plans found = orchestrate(of);
    double others = 1e300;
    motet::isize played = 0;
    for (const promised_plan& one : found.plans) {
      if (of.cuts_before_loss(one.how)) ++played;
      else others = std::min(others, one.seconds);
    }
    const promised_plan& best = found.plans.front();
    CHECK((played > 0) == (each.asked.seen >= 128));
    CHECK(of.cuts_before_loss(best.how) == (each.gains > 0));
    CHECK(best.seconds * each.gains <= others);
    CHECK(prove_plan(best.how, of.facts, of.samples).ok());
    // They take no place of others.
    speech_question without = each.asked;
    without.seen = 0;
    CHECK(orchestrate(counted_speech(without)).plans.front().seconds == others);
  }
}

// Replicas that share experts sum fewer gradients, and send each other rows instead.
TEST_CASE(
    "replicas share experts where their gradients take longer than the rows that these are chosen for") {
  const auto found = [](double chosen) {
    return orchestrate(counted_speech({.ranks = 2,
                                       .samples = 16,
                                       .eye = 1e6,
                                       .layers = 1,
                                       .cuts = false,
                                       .parameters = 1e9,
                                       .experts = 0.9,
                                       .chosen = chosen}));
  };
  const promised_plans few = found(1e3), many = found(1e11);
  const module_plan& talk = few.plans.front().how.modules[2];
  CHECK(talk.experts == talk.on.split().data);
  CHECK(talk.experts > 1);
  CHECK(!some_share_experts(many.plans.front().how));
  // Both are played either way, and a model without experts is asked for none.
  const auto sharing = [](const promised_plan& each) { return some_share_experts(each.how); };
  for (const promised_plans* const each : {&few, &many}) {
    CHECK(std::ranges::any_of(each->plans, sharing));
    CHECK(!std::ranges::all_of(each->plans, sharing));
  }
  CHECK(std::ranges::none_of(orchestrate(counted_speech({.ranks = 4})).plans, sharing));
  // Alone a replica sums nothing of its experts, and with half as many as there are it sums with one other.
  const counted_graph of = counted_speech({.ranks = 4, .parameters = 1e9, .experts = 0.9});
  module_plan own = on_ranks("talk", 0, {.data = 4});
  const double whole = of.sum_seconds_of(2, own, of.counted(2, own.on.split()).parameters, false);
  double before = whole;
  for (own.experts = 2; own.experts <= 4; own.experts *= 2) {
    const double parameters = of.counted(2, own.on.split(), own.experts).parameters;
    CHECK(of.share_of_experts(2, own) == doctest::Approx(0.9e9 / own.experts / parameters));
    const double less = of.sum_seconds_of(2, own, parameters, false);
    CHECK(less < before);
    before = less;
  }
  CHECK(before == doctest::Approx(sum_seconds(1e8, 4, false, of.on)));
}
