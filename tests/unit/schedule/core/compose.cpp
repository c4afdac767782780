// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/core/compose.hpp>

#include <motet/schedule/check/check.hpp>
#include <motet/schedule/check/prove.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/schedules.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

int count(const score& of, std::int32_t rank, op what) {
  int found = 0;
  for (std::int32_t i = of.begin_of(rank); i < of.end_of(rank); ++i) found += of[i].what == what ? 1 : 0;
  return found;
}
// A rank plays this of one voice, joins left out, as numbers.
list<std::int64_t> played(const score& of, std::int32_t rank, int voice) {
  list<std::int64_t> found;
  for (std::int32_t i = of.begin_of(rank); i < of.end_of(rank); ++i) {
    const cue each = of[i];
    if (each.what == op::join || each.voice != voice) continue;
    found.push(static_cast<std::int64_t>(each.what) + 100 * (each.paired ? 1 : 0) +
               1000 * (each.stage + 1000 * std::int64_t{each.microbatch}));
  }
  return found;
}
// Both voices on ranks of their own choice, all forward and then all backward.
constexpr score shared(int ranks, list<std::int32_t> first, list<std::int32_t> second, int microbatches) {
  score out;
  const list<std::int32_t>* const places[] = {&first, &second};
  for (int v = 0; v < 2; ++v) {
    voice made;
    made.module = v;
    made.stages = static_cast<int>(places[v]->size());
    made.microbatches = microbatches;
    out.add(made, [&](int stage) { return (*places[v])[stage]; });
  }
  for (int r = 0; r < ranks; ++r) {
    out.rank();
    for (int m = 0; m < microbatches; ++m)
      for (int v = 0; v < 2; ++v)
        for (int s = 0; s < static_cast<int>(places[v]->size()); ++s)
          if ((*places[v])[s] == r) out.play(op::forward, v, s, m);
    for (int m = 0; m < microbatches; ++m)
      for (int v = 2; v-- > 0;)
        for (int s = static_cast<int>(places[v]->size()); s-- > 0;)
          if ((*places[v])[s] == r) out.play(op::backward, v, s, m);
  }
  return out;
}

static_assert(prove(joined(beside(one_f_one_b::write({2, 4}), one_f_one_b::write({3, 4})), 4)).ok());
static_assert(prove(without_backward(joined(beside(gpipe::write({2, 3}), gpipe::write({1, 3})), 1), 1)).ok());

}  // namespace

TEST_CASE("two scores side by side keep their order, the second behind the first") {
  const score a = zb_h1::write({3, 5}), b = interleaved::write({2, 4}), both = beside(a, b);
  REQUIRE(both.ranks() == 5);
  REQUIRE(both.voices().size() == 2);
  CHECK(both.voices()[0].module == 0);
  CHECK(both.voices()[1].module == 1);
  CHECK(both.voices()[1].stages == 4);
  for (std::int32_t r = 0; r < 5; ++r) {
    CHECK(played(both, r, 0) == (r < 3 ? played(a, r, 0) : list<std::int64_t>{}));
    CHECK(played(both, r, 1) == (r < 3 ? list<std::int64_t>{} : played(b, r - 3, 0)));
  }
  CHECK(both.place(both.voices()[1], 3) == 4);
  CHECK(prove(both).ok());
  // Three, however they are put together.
  const score left = beside(beside(a, b), a), right = beside(a, beside(b, a));
  CHECK(left.codes() == right.codes());
  CHECK(left.places() == right.places());
  for (std::int32_t v = 0; v < 3; ++v) CHECK(left.voices()[v].module == v);
}

TEST_CASE("joins and pairs of both stay") {
  const score both = beside(batch_sync::write({{{2, 4, 2, 1}, {1, 4, 2, -1, 1}}, 2}),
                            batch_sync::write({{{1, 6, 2}, {2, 3, 1}}, 2}));
  CHECK(both.joins() == 2);
  CHECK(both.voices()[3].join == 1);
  CHECK(both.voices()[3].module == 3);
  CHECK(prove(both).ok());
  CHECK(check(compile(both)).ok());
  for (std::int32_t i = both.begin_of(2); i < both.end_of(2); ++i)
    if (both[i].what == op::join) CHECK(both[i].aside);
  for (std::int32_t i = both.begin_of(3); i < both.end_of(3); ++i)
    if (both[i].what == op::join) CHECK(both[i].voice == 1);
  const score pairs = dualpipe_v::write({2, 6}), next = beside(gpipe::write({1, 1}), pairs);
  for (std::int32_t r = 0; r < 2; ++r) CHECK(played(next, r + 1, 1) == played(pairs, r, 0));
}

TEST_CASE("voices meet behind the forward that completes a group") {
  // 1F1B of one loss for each microbatch: the last stage meets the others right behind each of its forwards.
  const score both = joined(beside(one_f_one_b::write({2, 3}), one_f_one_b::write({1, 3})), 3);
  CHECK(prove(both).ok());
  CHECK(count(both, 0, op::join) == 0);
  for (const std::int32_t rank : {1, 2}) {
    int met = 0;
    for (std::int32_t i = both.begin_of(rank); i < both.end_of(rank); ++i) {
      if (both[i].what != op::join) continue;
      CHECK(both[i].microbatch == met++);
      CHECK(both[i - 1].what == op::forward);
      CHECK(both[i - 1].microbatch == both[i].microbatch);
    }
    CHECK(met == 3);
  }
  // A whole step in one loss only suits an order that is all forward first.
  CHECK(prove(joined(beside(gpipe::write({2, 3}), gpipe::write({1, 3})), 1)).ok());
  CHECK(!prove(joined(beside(one_f_one_b::write({2, 3}), one_f_one_b::write({1, 3})), 1)).ok());
  // Microbatches of unequal size: as many losses.
  const score uneven = joined(beside(gpipe::write({2, 6}), gpipe::write({1, 4})), 2);
  CHECK(uneven.voices()[0].group == 3);
  CHECK(uneven.voices()[1].group == 2);
  CHECK(prove(uneven).ok());
}

TEST_CASE("every schedule of one module can meet another") {
  for (const char* name :
       {"gpipe", "1f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "zb_auto", "dualpipe_v"}) {
    CAPTURE(name);
    const score one = write_schedule(name, {.stages = 2, .microbatches = 8}),
                both = joined(beside(one, one), 8);
    CHECK(prove(both).ok());
    CHECK(check(compile(both)).ok());
    const std::int32_t last = both.place(both.voices()[0], both.voices()[0].stages - 1);
    CHECK(count(both, last, op::join) == 8);
    for (int r = 0; r < 2; ++r) CHECK(played(both, r, 0) == played(one, r, 0));
  }
}

TEST_CASE("a rank with several last stages meets the others once for each group") {
  for (const auto& [first, second] :
       {std::pair<list<std::int32_t>, list<std::int32_t>>{{0, 1}, {1, 0, 1}}, {{0}, {0}}, {{1, 2}, {0, 2}}}) {
    const score both = joined(shared(3, first, second, 2), 1);
    CHECK(prove(both).ok());
    CHECK(check(compile(both)).ok());
    for (std::int32_t r = 0; r < 3; ++r)
      CHECK(count(both, r, op::join) == (r == first.back() || r == second.back() ? 1 : 0));
  }
  // Ranks 0 and 1 each hold the start of one and the end of the other.
  CHECK(count(joined(shared(2, {0, 1}, {1, 0}, 2), 1), 0, op::join) == 1);
}

TEST_CASE("a module that does not learn goes forward once") {
  const score both = batch_sync::write({{{2, 8, 4, 1}, {3, 8, 4, 2}}, 2}), still = without_backward(both, 1);
  CHECK(prove(still).ok());
  CHECK(still.voices()[0].learns);
  CHECK(!still.voices()[1].learns);
  for (std::int32_t r = 0; r < 2; ++r) CHECK(played(still, r, 0) == played(both, r, 0));
  for (std::int32_t r = 2; r < 5; ++r) {
    CHECK(count(still, r, op::forward) + count(still, r, op::forward_only) == 8);
    for (const op gone : {op::re_forward, op::backward, op::backward_input, op::backward_weight})
      CHECK(count(still, r, gone) == 0);
    CHECK(count(still, r, op::join) == count(both, r, op::join));
  }
  const program made = compile(still);
  CHECK(check(made).ok());
  for (const instruction& each : made.instructions)
    if (each.voice == 1) CHECK((each.what != op::optimizer_step && each.what != op::send_backward));
  // A cue that overlapped with one that is gone stands alone.
  const score pairs = without_backward(dualpipe_v::write({2, 6}), 0);
  for (std::int32_t r = 0; r < 2; ++r)
    for (std::int32_t i = pairs.begin_of(r); i < pairs.end_of(r); ++i) {
      CHECK(is_forward(pairs[i].what));
      CHECK(!pairs[i].paired);
    }
  // Pairs of what stays, stay.
  const score next = without_backward(beside(dualpipe_v::write({2, 6}), gpipe::write({1, 2})), 1);
  for (std::int32_t r = 0; r < 2; ++r) CHECK(played(next, r, 0) == played(dualpipe_v::write({2, 6}), r, 0));
}

TEST_CASE("names are for all copies of a module") {
  program of = named_voices(compile(beside(gpipe::write({1, 1}), gpipe::write({1, 1}))),
                            {label("picture"), label("caption")});
  CHECK(of.voices[0].name.view() == "picture");
  CHECK(of.voices[1].name.view() == "caption");
  of.voices[1].module = 0;
  CHECK(named_voices(of, {label("both")}).voices[1].name.view() == "both");
}
