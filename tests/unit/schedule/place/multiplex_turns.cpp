// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/place/multiplex_turns.hpp>
#include <motet/schedule/write/dualpipe_v.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

// A language model, and an encoder with a stage on each of these ranks.
score order_of(const score& talk, const list<std::int32_t>& ranks) {
  score out;
  const voice only = talk.voices()[0];
  out.add(only, [&](int s) { return talk.place(only, s); });
  voice eye;
  eye.module = 1;
  eye.stages = static_cast<std::int32_t>(ranks.size());
  eye.microbatches = only.microbatches;
  out.feed(out.add(eye, [&](int s) { return ranks[s]; }), 0);
  for (std::int32_t r = 0; r < talk.ranks(); ++r) {
    out.rank();
    for (std::int32_t i = talk.begin_of(r); i < talk.end_of(r); ++i) {
      out.play(talk[i].what, 0, talk[i].stage, talk[i].microbatch);
      if (talk[i].paired) out.pair_with_next();
    }
  }
  return out;
}
// So many of the encoder's forwards stand on a rank before the first computation of the language model.
int leads(const score& of, std::int32_t r) {
  int found = 0;
  for (std::int32_t i = of.begin_of(r); i < of.end_of(r) && of[i].voice == 1; ++i) ++found;
  return found;
}

}  // namespace

TEST_CASE("a stage that is a rank further from the others comes a microbatch earlier") {
  const multiplexing how{{0, 1}};
  const score talk = one_f_one_b::write({2, 6});
  const score near = detail::multiplex_turns(order_of(talk, {0}), how).write(),
              far = detail::multiplex_turns(order_of(talk, {1, 0}), how).write();
  CHECK((prove(near).ok() && prove(far).ok()));
  CHECK(leads(near, 0) == 1);
  CHECK((leads(far, 0) == 1 && leads(far, 1) == 3));  // one for its distance, and one for the change of ranks
}
TEST_CASE("nothing comes between what overlaps") {
  const score from = order_of(dualpipe_v::write({2, 6}), {0, 1});
  const score made = detail::multiplex_turns(from, {{0, 1}}).write();
  REQUIRE(prove(made).ok());
  int pairs = 0, wanted = 0;
  for (std::int32_t i = 0; i < from.codes().size(); ++i) wanted += from[i].paired ? 1 : 0;
  for (std::int32_t i = 0; i < made.codes().size(); ++i) {
    if (!made[i].paired) continue;
    ++pairs;
    CHECK((made[i].voice == 0 && made[i + 1].voice == 0));
  }
  CHECK((pairs == wanted && pairs > 0));
}
