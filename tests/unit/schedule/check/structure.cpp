// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/structure.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/batch_sync.hpp>

#include "schedule_laws.hpp"

using namespace motet;

namespace {
constexpr batch_sync::shape towers{{{2, 4, 2}, {1, 2, 1}}, 2};

template <class Change>
finding changed(Change change) {
  program made = compile(batch_sync::write(towers));
  change(made);
  return check_structure(made);
}
void refused(const finding& found, broken_rule why, isize got, isize wanted) {
  CHECK(std::string(found.why->code) == why->code);
  CHECK(found.got == got);
  CHECK(found.wanted == wanted);
}
}  // namespace

TEST_CASE("tables of compiled programs fit") {
  CHECK(changed([](program&) {}).ok());
  CHECK(check_structure(program{}).ok());
}

TEST_CASE("what does not fit is refused, with its numbers") {
  constexpr broken_rule bad = reason::bad_structure;
  refused(changed([](program& p) { p.voices[0].stages = 0; }), reason::no_stages, 0, 1);
  refused(changed([](program& p) { p.voices[1].microbatches = -1; }), reason::no_stages, 1, 1);
  refused(changed([](program& p) { p.voices[0].chunks = 0; }), reason::no_stages, 2, 1);
  refused(changed([](program& p) { p.voices[1].first_place = 3; }), bad, 3, 2);
  refused(changed([](program& p) { p.voices[1].first_cell = 7; }), bad, 2, 2);
  refused(changed([](program& p) { p.voices[1].module = 2; }), bad, 2, 2);
  refused(changed([](program& p) { p.voices[1].module = -1; }), bad, -1, 2);
  // two replicas, of one and two stages
  refused(changed([](program& p) { p.voices[1].module = 0; }), bad, 1, 2);
  refused(changed([](program& p) { p.voices[1].join = 1; }), bad, 1, 1);
  refused(changed([](program& p) { p.voices[0].group = 3; }), reason::group_does_not_divide, 3, 4);
  refused(changed([](program& p) { p.voices[0].group = 0; }), reason::group_does_not_divide, 0, 4);
  refused(changed([](program& p) { p.joins = 3; }), bad, 3, 2);
  refused(changed([](program& p) { p.joins = -1; }), bad, -1, 2);
  refused(changed([](program& p) { p.places.pop(); }), bad, 2, 3);
  refused(changed([](program& p) { p.slots.push(0); }), bad, 4, 3);
  refused(changed([](program& p) { p.places[1] = 3; }), bad, 3, 3);
  refused(changed([](program& p) { p.places[1] = -1; }), bad, -1, 3);
  const program whole = compile(batch_sync::write(towers));
  refused(changed([](program& p) { p.starts[1] = p.starts[2] + 1; }), bad, whole.starts[2] + 1,
          whole.starts[2]);
  refused(changed([](program& p) { p.starts[0] = 1; }), bad, 4, whole.instructions.size());
  refused(changed([](program& p) { p.instructions.pop(); }), bad, 4, whole.instructions.size() - 1);
  refused(changed([](program& p) { p.starts.clear(); }), bad, 0, whole.instructions.size());
  refused(changed([](program& p) {
            for (voice& each : p.voices) each.microbatches *= 100;
            p.voices[1].first_cell *= 100;
          }),
          bad, whole.instructions.size(), 1000);
}

TEST_CASE("what is too large is refused before anything is counted in it") {
  program huge;
  voice of;
  of.stages = of.microbatches = 1 << 20;
  huge.voices.push(of);
  refused(check_structure(huge), reason::too_large, isize{1} << 40, most_cells);
  huge = program{};
  huge.voices.resize(65536, {});
  refused(check_structure(huge), reason::too_large, 65536, most_voices);
}
