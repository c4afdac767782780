// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/core/compile.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include "schedule_text.hpp"

using namespace motet;

namespace {
program with_name(program of) {
  of.voices[0].name = "picture";
  return of;
}
template <class Change>
std::string said(Change change) {
  program made = with_name(compile(one_f_one_b::write({2, 2})));
  change(made);
  return explain(made, check(made));
}
}  // namespace

TEST_CASE("instructions in words") {
  program of = with_name(compile(one_f_one_b::write({2, 2})));
  CHECK(describe(of, of.instructions[0]) == "forward of picture, stage 0, microbatch 0");
  CHECK(describe(of, {op::optimizer_step, 0, false, 0, 0, 1, -1}) == "optimizer_step of picture, stage 1");
  CHECK(describe(of, {op::join, 0, false, 0, 3, -1, 7}) == "join 3, group 7");
  CHECK(describe(of, {op::forward, 0, false, 0, 9, 0, 0}) == "forward of module 9");
  CHECK(describe(of, {op::forward, 0, false, 0, -1, 0, 0}) == "forward of module -1");
  of.voices[0].name = {};
  CHECK(describe(of, of.instructions[0]) == "forward of module 0, stage 0, microbatch 0");
  of.voices[0].replica = 2;
  CHECK(describe(of, of.instructions[0]) == "forward of module 0 (replica 2), stage 0, microbatch 0");
  // Rank 0 has ten instructions: four computations, four messages, and the update.
  CHECK(of.starts[1] == 9);
  CHECK(locate(of, 9) ==
        "rank 1, instruction 0 (receive_forward of module 0 (replica 2), stage 1, microbatch 0)");
}

TEST_CASE("what was found, whole") {
  CHECK(said([](program&) {}).empty());
  CHECK(said([](program& of) { of.instructions[1].peer = 0; }) ==
        "every send needs its receive, and every receive its send: rank 0, instruction 1 (send_forward of "
        "picture, stage 0, microbatch 0) (got 0, "
        "wanted 1) [MT-P29]");
  CHECK(said([](program& of) { of.instructions[2].microbatch = 0; }) ==
        "every instruction may happen once: rank 0, instruction 2 (forward of picture, stage 0, microbatch "
        "0); see rank 0, instruction 0 (forward of "
        "picture, stage 0, microbatch 0) [MT-P21]");
  CHECK(said([](program& of) {
          of.instructions.pop();
          --of.starts[2];
        }) == "nothing may be left out: rank 1, the update of stage 1 [MT-P26]");
  CHECK(said([](program& of) { of.voices[0].learns = true, of.slots[0] = 1; }) ==
        "a stage keeps more microbatches than it has slots: rank 0, instruction 2 (forward of picture, stage "
        "0, microbatch 1) (got 2, wanted 1) "
        "[MT-P32]");
  CHECK(said([](program& of) { of.starts[1] = 99; }) ==
        "the tables of a program must fit together: (got 99, wanted 18) [MT-P37]");
}

TEST_CASE("a deadlock names each rank of the cycle, where it stands and for whom it waits") {
  const program of = with_name(compile(one_f_one_b::write({2, 2}), {messages::in_compute}));
  CHECK(explain(of, check(of)) ==
        "ranks would wait for each other for ever: rank 0, instruction 3 (send_forward of picture, stage 0, "
        "microbatch 1), one of 2 lanes that are "
        "stuck "
        "[MT-P28]\n"
        "  rank 0, instruction 3 (send_forward of picture, stage 0, microbatch 1) waits for rank 1, "
        "instruction 4 (receive_forward of picture, stage "
        "1, "
        "microbatch 1)\n"
        "  rank 1, instruction 3 (send_backward of picture, stage 1, microbatch 0) waits for rank 0, "
        "instruction 4 (receive_backward of picture, stage "
        "0, microbatch 0)");
}

TEST_CASE("what is not legal stops with the code and the remedy") {
  const program of = compile(one_f_one_b::write({2, 2}), {messages::in_compute});
  require_legal(of, delivery::buffered);
  try {
    require_legal(of);
    FAIL("no error");
  } catch (const error& each) {
    CHECK(std::string(each.code()) == "MT-P28");
    const std::string text = each.what();
    CHECK(text.find("send_backward") != text.npos);
    CHECK(text.find("give messages lanes of their own") != text.npos);
  }
}
