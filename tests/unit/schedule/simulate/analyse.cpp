// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/place/replicate.hpp>
#include <motet/schedule/simulate/analyse.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>
#include <motet/schedule/write/zero_bubble.hpp>

#include "schedule_text.hpp"
#include "test_schedules.hpp"

using namespace motet;
using laws::a_voice;
using laws::rehearse;
using laws::rehearsed;
using laws::written;

namespace {

void check_rank(const rehearsed& of, int rank, const rank_time& wanted) {
  CAPTURE(rank);
  const rank_time& own = of.found.ranks[rank];
  CHECK(own.busy == doctest::Approx(wanted.busy));
  CHECK(own.warm_up == doctest::Approx(wanted.warm_up));
  CHECK(own.cool_down == doctest::Approx(wanted.cool_down));
  CHECK(own.dependency == doctest::Approx(wanted.dependency));
  CHECK(own.transfer == doctest::Approx(wanted.transfer));
  CHECK(own.sync == doctest::Approx(wanted.sync));
  CHECK(own.idle_inside() == doctest::Approx(wanted.dependency + wanted.transfer + wanted.sync));
  CHECK(own.busy + own.idle() == doctest::Approx(of.when.makespan));
}
// The critical path, without messages that take no time.
std::string path_of(const rehearsed& of) {
  std::string text;
  for (const std::int32_t i : of.found.critical_path) {
    const instruction& it = of.of.instructions[i];
    if (it.what == op::optimizer_step || (is_transfer(it.what) && of.when.start[i] == of.when.finish[i]))
      continue;
    if (!text.empty()) text += ' ';
    text += is_transfer(it.what) ? std::string(name_of(it.what))
                                 : std::string(1, laws::letters[static_cast<int>(it.what)]);
    text += std::to_string(it.microbatch) + "/" + std::to_string(of.of.rank_of(i));
  }
  return text;
}

}  // namespace

TEST_CASE("warm-up, cool-down, and waiting for a computation") {
  // Rank 0: F 0-1, waits, B 4-6. Rank 1: F 1-2, B 2-4.
  const rehearsed found = rehearse(written(a_voice(2, 1), {"F0 B0", "F0 B0"}), {1, 2, 0});
  CHECK(found.when.makespan == 6);
  check_rank(found, 0, {.busy = 3, .dependency = 3});
  check_rank(found, 1, {.busy = 3, .warm_up = 1, .cool_down = 2});
  CHECK(found.found.bubble_rate == doctest::Approx(.5));
  CHECK(path_of(found) == "F0/0 F0/1 B0/1 B0/0");
}

TEST_CASE("waiting for rows on their way") {
  const program of = compile(written(a_voice(2, 1), {"F0 B0", "F0 B0"}));
  cost_table costs = even_costs(of, {1, 2, 0, 0, 10, 5});
  costs.wires.inside = {.5, 10};
  // Forward rows take 1 and fly .5, gradients .5 and .5: rank 1 computes from 2.5 to 5.5, rank 0 goes on at
  // 6.5.
  const rehearsed buffered = rehearse(of, costs);
  CHECK(buffered.when.makespan == 8.5);
  check_rank(buffered, 0, {.busy = 3, .dependency = 4.5, .transfer = 1});
  check_rank(buffered, 1, {.busy = 3, .warm_up = 2.5, .cool_down = 3});
  CHECK(path_of(buffered) == "F0/0 send_forward0/0 F0/1 B0/1 send_backward0/1 B0/0");
  const rehearsed meeting = rehearse(of, costs, delivery::rendezvous);
  check_rank(meeting, 0, {.busy = 3, .dependency = 4.5, .transfer = 1});
}

TEST_CASE("rows that wait for a link that others use are on their way") {
  // Modules 0 and 1 from ranks 0 and 1 to 2 and 3, between two nodes; each second stage has some work before
  // it.
  score from;
  for (int k = 0; k < 4; ++k) {
    voice each = a_voice(k < 2 ? 2 : 1, 1);
    each.module = k;
    each.learns = false;
    from.add(each, [&](int stage) { return k < 2 ? 2 * stage + k : k; });
  }
  for (int r = 0; r < 4; ++r) {
    from.rank();
    if (r >= 2) from.play(op::forward, r, 0, 0);
    from.play(op::forward, r % 2, r / 2, 0);
  }
  const program of = compile(from);
  cost_table costs = even_costs(of, {1, 0, 0, 0, 10});
  costs.wires = {{}, {.5, 5}, 2};
  for (const delivery how : {delivery::buffered, delivery::rendezvous}) {
    const rehearsed found = rehearse(of, costs, how);
    // Both sends are ready at 1; one runs 1-3, the other 3-5, each half a unit more in the air.
    check_rank(found, 2, {.busy = 2, .cool_down = 2, .transfer = 2.5});
    check_rank(found, 3, {.busy = 2, .transfer = 4.5});
  }
}

TEST_CASE("waiting for the others of a join, in its lane or aside") {
  const auto two = [](const std::string& first, const std::string& second) {
    score from;
    for (int k = 0; k < 2; ++k) {
      voice each = a_voice(1, 1, 0, 1);
      each.module = k;
      from.add(each, [k](int) { return k; });
    }
    laws::play(from, first, 0, 0);
    laws::play(from, second, 1, 0);
    const program of = compile(from);
    cost_table costs = even_costs(of, {1, 1, 0}, .5);
    costs.stages[1].forward = 3;
    return rehearse(of, costs);
  };
  const rehearsed found = two("F0 S0 B0", "F0 S0 B0");
  CHECK(found.found.joined == list<double>{3.5});
  check_rank(found, 0, {.busy = 2.5, .sync = 2});
  check_rank(found, 1, {.busy = 4.5});
  CHECK(path_of(found) == "F0/1 S0/0 B0/0");
  // Aside, the loss is no work of the rank; its backward waits for it.
  const rehearsed aside = two("F0 s0 B0", "F0 s0 B0");
  check_rank(aside, 0, {.busy = 2, .sync = 2.5});
  check_rank(aside, 1, {.busy = 4, .sync = .5});
}

TEST_CASE("waiting for replicas before the update") {
  const program of = compile(replicate(written(a_voice(1, 1), {"F0 B0"}), 2));
  cost_table costs = even_costs(of, {1, 1, 0});
  costs.stages[1].forward = 3;
  costs.reduction = .5;
  costs.update = .25;
  const rehearsed found = rehearse(of, costs);
  check_rank(found, 0, {.busy = 2.25, .sync = 2.5});
  check_rank(found, 1, {.busy = 4.25, .sync = .5});
  // An update at no cost is not waited for.
  costs.update = 0;
  check_rank(rehearse(of, costs), 0, {.busy = 2, .cool_down = 2.5});
}

TEST_CASE("what overlaps is counted once") {
  const program of = compile(written(a_voice(1, 2), {"F0 F1+ B0 B1"}));
  cost_table costs = even_costs(of, {1, 1, 1});
  costs.overlapped = 2.5;
  check_rank(rehearse(of, costs), 0, {.busy = 5.5});
  const rehearsed waits = rehearse(written(a_voice(2, 2), {"F0 F1+ B0 B1", "F0 B0 F1 B1"}), {1, 1, 1});
  check_rank(waits, 0, {.busy = 6, .dependency = 6});
}

TEST_CASE("a rank with nothing to do is idle throughout, and no bubble") {
  score from = written(a_voice(1, 1), {"F0 B0"});
  from.rank();
  const rehearsed found = rehearse(from, {1, 1, 0});
  check_rank(found, 1, {.cool_down = 2});
  CHECK(found.found.peak_live[1] == 0);
  CHECK(found.found.bubble_rate == 0);
}

TEST_CASE("what ranks keep, in microbatches of a device and in bytes") {
  const program of = compile(interleaved::write({2, 4}));
  cost_table costs = even_costs(of, {1, 1, 1, 100});
  const rehearsed even = rehearse(of, costs);
  CHECK(even.found.peak_live[0] == 2.5);  // five chunks, each a half
  CHECK(even.found.peak_bytes[0] == 250);
  CHECK(even.found.peak_live[1] == 1.5);
  CHECK(even.found.peak_bytes[1] == 150);
  // One microbatch four times as large, at the stages of rank 1.
  costs.scale.resize(of.cells(), 1);
  for (const int stage : {1, 3}) costs.scale[of.voices[0].cell(stage, 3)] = 4;
  const rehearsed uneven = rehearse(of, costs);
  CHECK(uneven.found.peak_live[1] == 1.5);
  CHECK(uneven.found.peak_bytes[1] == 50 * (4 + 4 + 1));
  CHECK(uneven.found.peak_bytes[0] == 250);
}

TEST_CASE("when joins are done, join after join") {
  score from;
  for (int k = 0; k < 2; ++k) {
    voice each = a_voice(1, 2, k, k == 0 ? 1 : 2);
    each.module = k;
    from.add(each, [k](int) { return k; });
  }
  from.rank();
  for (int m = 0; m < 2; ++m) {
    from.play(op::forward, 0, 0, m);
    from.join(0, m);
    from.play(op::backward, 0, 0, m);
  }
  from.rank();
  for (int m = 0; m < 2; ++m) from.play(op::forward, 1, 0, m);
  from.join(1, 0);
  for (int m = 0; m < 2; ++m) from.play(op::backward, 1, 0, m);
  CHECK(rehearse(from, {1, 1, 0}, .5).found.joined == list<double>{1.5, 4, 2.5});
}

TEST_CASE("the table of bubbles and peaks") {
  struct row {
    int stages, microbatches;
    stage_cost each;
    double usual, two, four, h1, h2;
    double peaks[5];  // 1F1B, two and four chunks, ZB-H1, ZB-H2
  };
  const row rows[] = {{4, 8, {1, 1, 1}, 9, 4.5, 2.25, 3, 0, {4, 5.5, 4.75, 4, 7}},
                      {8, 24, {1, 1, 1}, 21, 10.5, 5.25, 7, 0, {8, 11.5, 9.75, 8, 15}},
                      {4, 12, {1, 1.2, .8}, 9, 4.5, 2.25, 4.2, 1.8, {4, 5.5, 4.75, 4, 7}}};
  for (const row& each : rows) {
    const pipeline_shape p{each.stages, each.microbatches}, folded{each.stages, each.microbatches, 4};
    const auto run = [&](const score& of) { return rehearse(of, each.each); };
    const rehearsed first = run(gpipe::write(p)), second = run(one_f_one_b::write(p)),
                    two = run(interleaved::write(p)), four = run(interleaved::write(folded)),
                    h1 = run(zb_h1::write(p)), h2 = run(zb_h2::write(p));
    for (int r = 0; r < each.stages; ++r) {
      CHECK(first.bubble(r) == doctest::Approx(each.usual));
      CHECK(second.bubble(r) == doctest::Approx(each.usual));
      CHECK(two.bubble(r) == doctest::Approx(each.two));
      CHECK(four.bubble(r) == doctest::Approx(each.four));
      CHECK(h1.bubble(r) == doctest::Approx(each.h1));
    }
    CHECK(h2.found.ranks[0].idle_inside() == doctest::Approx(each.h2));
    CHECK(first.most_live() == each.microbatches);
    const double peaks[] = {second.most_live(), two.most_live(), four.most_live(), h1.most_live(),
                            h2.most_live()};
    for (int k = 0; k < 5; ++k) CHECK(peaks[k] == each.peaks[k]);
  }
}
