// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/place/filler_seats.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace motet;

namespace {

// A language model on two ranks, behind it a drawer with a replica on each; the loss is the drawer's.
score talk_and_draw() {
  score out;
  voice talk;
  talk.stages = talk.microbatches = 2;
  out.add(talk, [](int s) { return s; });
  voice draw;
  draw.module = 1;
  draw.join = 0;
  draw.stages = draw.chunks = 2;
  for (const int replica : {0, 1}) {
    draw.replica = replica;
    out.add(draw, [&](int) { return replica; });
    out.feed({0, replica, 1 + replica, 0});
  }
  for (const int rank : {0, 1}) {
    out.rank();
    for (const op what : {op::forward, op::backward})
      for (int m = 0; m < 2; ++m) out.play(what, 0, rank, m);
  }
  return out;
}
filling filled(const score& of, std::initializer_list<std::uint8_t> modules) {
  filling how;
  for (const std::uint8_t each : modules) how.modules.push(each);
  how.costs.stages.resize(of.places().size(), {1, 2, 1});
  how.costs.joins.push(0.5);
  return how;
}
// What the filler of gaps sees.
struct seen_seats : detail::filler_seats {
  using filler_seats::filler_seats;
  std::string words() const {
    std::string out;
    for (const filler_seat& each : seats_)
      out += sentence({each.what == op::join   ? "loss"
                       : is_forward(each.what) ? "forward"
                                               : "backward",
                       " ", each.stage, " of ", each.voices.size(), " slice ", each.slice, " takes ",
                       static_cast<motet::isize>(10 * takes(each)), " times ", times(each), "; "});
    return out;
  }
  double busiest() const {
    double most = 0;
    for (const double each : filler_seconds_of_ranks()) most = each > most ? each : most;
    return most;
  }
};

}  // namespace

TEST_CASE("what fills has seats for each operation of each stage, and one for its loss with all members") {
  const score of = talk_and_draw();
  const filling how = filled(of, {0, 1});
  const seen_seats found(of, how);
  CHECK(found.check().ok());
  const std::string one =
      "forward 0 of 1 slice 0 takes 10 times 1; forward 1 of 1 slice 1 takes 10 times 1; "
      "backward 0 of 1 slice 1 takes 30 times 1; backward 1 of 1 slice 0 takes 30 times 1; ";
  CHECK(found.words() == one + one + "loss 1 of 2 slice 0 takes 5 times 1; ");
  CHECK(found.busiest() == 8);
}
TEST_CASE("some fill and others do not, and no loss has both") {
  const score of = talk_and_draw();
  for (const filling& how : {filled(of, {0, 0}), filled(of, {1, 1})})
    CHECK(seen_seats(of, how).check().why == reason::nothing_to_fill);
  score both;
  for (voice each : of.voices()) {
    each.join = 0;
    both.add(each, [&](int s) { return of.place(each, s); });
  }
  const filling how = filled(both, {0, 1});
  const verdict found = seen_seats(both, how).check();
  CHECK(found.why == reason::nothing_to_fill);
  CHECK(found.where == 1);
}
