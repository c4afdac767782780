// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/data/steps/deferred_order.hpp>

#include <motet/data/steps/sample_loader.hpp>

#include <unit/data/written_set.hpp>

#include <doctest/doctest.h>

#include <set>

using namespace motet;

namespace {

using idx = motet::isize;

// A few giants among many that are light.
double cost_of(idx sample) { return sample % 13 == 5 ? 40 : 1 + static_cast<double>(sample % 3); }

deferred_order order_of(idx count, idx batch, const step_windows& windows, bool shuffle = true) {
  return deferred_order(run_order(count, 3, shuffle), count, batch, windows, cost_of);
}
// What the steps take together where each has four replicas.
double seconds_of(deferred_order& by, idx steps, idx batch) {
  double sum = 0;
  for (idx step = 0; step < steps; ++step) {
    list<double> costs;
    for (idx k = 0; k < batch; ++k) costs.push(cost_of(by(step * batch + k)));
    const list<double> loads = loads_of(deal_largest_first(costs, 4), costs);
    sum += *std::max_element(loads.begin(), loads.end());
  }
  return sum;
}

}  // namespace

TEST_CASE(
    "an epoch has each of its samples once, in windows that follow from the place, wherever a run goes on") {
  struct row {
    idx count, batch, steps;
  };
  for (const row& each : {row{96, 8, 4}, row{100, 8, 4}, row{101, 7, 3}, row{40, 16, 5}, row{40, 40, 2}}) {
    CAPTURE(each.count);
    const step_windows windows{.steps = each.steps, .together = 4};
    deferred_order by = order_of(each.count, each.batch, windows);
    run_order plain(each.count, 3, true);
    std::vector<idx> all;
    for (idx place = 0; place < 3 * each.count; ++place) all.push_back(by(place));
    for (idx epoch = 0; epoch < 3; ++epoch) {
      const auto begin = all.begin() + epoch * each.count;
      CHECK(std::set<idx>(begin, begin + each.count).size() == static_cast<std::size_t>(each.count));
    }
    // From any place on, forwards or backwards, the same.
    for (idx place = 3 * each.count - 1; place >= 0; place -= 5) {
      deferred_order anew = order_of(each.count, each.batch, windows);
      CHECK(anew(place) == all[static_cast<std::size_t>(place)]);
      CHECK(by(place) == all[static_cast<std::size_t>(place)]);
    }
    deferred_order nobody = order_of(each.count, each.batch, {});
    for (idx place = 0; place < each.count; ++place) CHECK(nobody(place) == plain(place));
  }
}

TEST_CASE("giants meet in the last step of a window, and all steps together take less") {
  const idx count = 192, batch = 16;
  deferred_order waits = order_of(count, batch, {.steps = 4, .together = 4}),
                 none = order_of(count, batch, {});
  CHECK(seconds_of(waits, count / batch, batch) < 0.85 * seconds_of(none, count / batch, batch));
  // Each window has the samples that it would have without.
  for (idx window = 0; window < count / batch / 4; ++window) {
    std::multiset<idx> with, without;
    idx before_last = 0, in_last = 0;
    for (idx place = window * 4 * batch; place < (window + 1) * 4 * batch; ++place) {
      with.insert(waits(place));
      without.insert(none(place));
      if (cost_of(waits(place)) >= 40) ++(place >= ((window + 1) * 4 - 1) * batch ? in_last : before_last);
    }
    CHECK(with == without);
    CHECK(in_last >= before_last);
  }
}

TEST_CASE(
    "a loader whose samples wait goes on exactly, on any number of threads, and in its own windows alone") {
  const scratch folder;
  const tokenizer words = pairs_tokenizer();
  const std::vector<std::string> shards{write_mixed(folder, "a.tar", 0, 40)};
  skip_log skips;
  const sample_source source(shards, skips);
  const auto config = [&](int threads, idx batch, const step_windows& windows) {
    sample_loader_config made;
    made.batch = batch;
    made.threads = threads;
    made.example.image = 8;
    made.example.context = 40;
    made.sample = {5, 1, 2, marks_of(words)};
    made.windows = windows;
    return made;
  };
  const step_windows four{.steps = 4, .together = 2};
  const idx steps = 12;
  std::vector<std::vector<idx>> wanted, plain;
  sample_loader whole(source, words, config(1, 8, four)), listed(source, words, config(1, 8, {}));
  for (idx k = 0; k < steps; ++k)
    wanted.push_back(whole.next().samples), plain.push_back(listed.next().samples);
  CHECK(wanted != plain);
  for (idx epoch = 0; epoch < 2; ++epoch) {
    std::set<idx> seen;
    for (idx k = 5 * epoch; k < 5 * (epoch + 1); ++k)
      seen.insert(wanted[static_cast<std::size_t>(k)].begin(), wanted[static_cast<std::size_t>(k)].end());
    CHECK(seen.size() == 40);
  }
  for (const idx at : {1, 2, 6}) {
    sample_loader first(source, words, config(3, 8, four));
    for (idx k = 0; k < at; ++k) first.next();
    sample_loader then(source, words, config(2, 8, four), first.position());
    for (idx k = at; k < steps; ++k) CHECK(then.next().samples == wanted[static_cast<std::size_t>(k)]);
    for (const auto& [batch, windows] : {std::pair<idx, step_windows>{8, {}},
                                         {8, {.steps = 2, .together = 2}},
                                         {8, {.steps = 4, .together = 4}},
                                         {4, {.steps = 8, .together = 2}}})
      CHECK_THROWS_WITH_AS(sample_loader(source, words, config(1, batch, windows), first.position()),
                           doctest::Contains("MT-D27"), error);
  }
  sample_loader_config filled = config(1, 8, four);
  filled.rows = 150;
  CHECK_THROWS_WITH_AS(sample_loader(source, words, filled), doctest::Contains("windows of 4 steps"), error);
  CHECK_THROWS_WITH_AS(sample_loader(source, words, config(1, 8, {.steps = 0})),
                       doctest::Contains("windows of 0 steps"), error);
}
