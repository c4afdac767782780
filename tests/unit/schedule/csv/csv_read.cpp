// SPDX-License-Identifier: Apache-2.0
#include <motet/schedule/csv/csv_read.hpp>

#include "fuzz/mutate.hpp"
#include "fuzz/schedule_targets.hpp"

#include <motet/schedule/simulate/analyse.hpp>
#include <motet/schedule/write/gpipe.hpp>
#include <motet/schedule/write/interleaved.hpp>
#include <motet/schedule/write/one_f_one_b.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

using motet::op;
using motet::program;
using motet::read_csv;

namespace {

std::string file(const std::string& name) {
  std::ifstream in(std::string(MOTET_TEST_DATA) + "/schedules/" + name, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}
double makespan(const program& of, double overlapped = 0) {
  motet::cost_table costs = motet::even_costs(of, {});
  costs.overlapped = overlapped;
  motet::timeline when;
  REQUIRE(motet::simulate(of, costs, when).ok());
  return when.makespan;
}
void refused(std::string_view text, const char* code, const char* part) {
  CAPTURE(text);
  try {
    read_csv(text);
    FAIL("was read");
  } catch (const motet::error& problem) {
    CHECK(std::string(problem.code()) == code);
    CAPTURE(problem.what());
    CHECK(std::string(problem.what()).find(part) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("orders of torch that are also ours give the same program") {
  CHECK(read_csv(file("gpipe_3x4x1.csv")) ==
        motet::compile(motet::gpipe::write({.stages = 3, .microbatches = 4})));
  CHECK(read_csv(file("1f1b_4x8x1.csv")) ==
        motet::compile(motet::one_f_one_b::write({.stages = 4, .microbatches = 8})));
  CHECK(read_csv(file("interleaved_2x4x4.csv")) ==
        motet::compile(motet::interleaved::write({.stages = 2, .microbatches = 4, .chunks = 4})));
}

TEST_CASE("every dump of torch is legal, in both forms, and both forms take the same time") {
  int dumps = 0;
  for (const auto& each : std::filesystem::directory_iterator(std::string(MOTET_TEST_DATA) + "/schedules")) {
    const std::string name = each.path().filename().string();
    CAPTURE(name);
    const program made = read_csv(file(name));
    for (const motet::delivery how : {motet::delivery::buffered, motet::delivery::rendezvous})
      CHECK(motet::explain(made, motet::check(made, how)) == "");
    ++dumps;
    if (name.find("_comms") == std::string::npos) continue;
    const program bare = read_csv(file(name.substr(0, name.find("_comms")) + ".csv"));
    CHECK(made.voices == bare.voices);
    CHECK(makespan(made) == makespan(bare));
    bool gathers = false, reduces = false;
    for (const motet::instruction& it : made.instructions) {
      gathers = gathers || it.what == op::gather_parameters;
      reduces = reduces || it.what == op::reduce_gradient;
      CHECK(it.what != op::optimizer_step);
    }
    CHECK(gathers);
    CHECK(reduces);
  }
  CHECK(dumps == 14);
}

TEST_CASE("cells") {
  const program made = read_csv("0F0,,\"(0F1;0B0)OVERLAP_F_B\", 0I1 ,0W1\n");
  REQUIRE(made.voices.size() == 1);
  CHECK(made.voices[0].stages == 1);
  CHECK(made.voices[0].microbatches == 2);
  const op wanted[] = {op::forward,        op::forward,         op::backward,
                       op::backward_input, op::backward_weight, op::optimizer_step};
  REQUIRE(made.instructions.size() == 6);
  for (int i = 0; i < 6; ++i) {
    CHECK(made.instructions[i].what == wanted[i]);
    CHECK(made.instructions[i].paired == (i == 1));
  }
}

TEST_CASE("an overlapped pair takes the sum of its parts, or the time that is said") {
  const program made = read_csv(file("dualpipe_v_4x10x2.csv"));
  CHECK(made.voices[0].chunks == 2);
  CHECK(makespan(made, 2) < makespan(made, 3));
  CHECK(makespan(made, 3) == makespan(made));
}

TEST_CASE("placement follows from the rows, chunks from the fullest") {
  const program made = read_csv("0F0,3F0,3B0,0B0\n1F0,1B0\n2F0,2B0\n");
  CHECK(made.places == motet::list<std::int32_t>{0, 1, 2, 0});
  CHECK(made.voices[0].chunks == 2);
}

TEST_CASE("a file without backward is for inference") {
  const program made = read_csv("0F0,0F1\n1F0,1F1\n");
  CHECK_FALSE(made.voices[0].learns);
  CHECK(motet::check(made).ok());
}

TEST_CASE("where there are collectives but no messages, messages are added in their places") {
  // torch's GPipe says this of itself.
  const program made = read_csv("0F0,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD\n1UNSHARD,1F0,1B0,1RESHARD\n");
  CHECK(motet::explain(made, motet::check(made)) == "");
  CHECK(made.instructions.size() == 11);
  CHECK(made.instructions[4].what == op::reduce_gradient);
  CHECK(made.instructions[5].what == op::gather_parameters);
  CHECK(made.instructions[5].lane == motet::lane::reduce);
}

TEST_CASE("what cannot be a program is refused with its place") {
  refused("", "MT-P52", "the file is empty");
  refused("0F0,0B0\n\n", "MT-P52", "row 2");
  refused(",,\n0F0,0B0\n", "MT-P52", "row 1");
  refused("0F0,0X7\n", "MT-P50",
          "row 1, column 2: got \"0X7\", wanted a stage, an operation and a microbatch, as in 0F7");
  refused("0F0,F0\n", "MT-P50", "row 1, column 2: got \"F0\"");
  refused("0F0,0F\n", "MT-P50", "row 1, column 2: got \"0F\", wanted a microbatch");
  refused("0F0,0F1x\n", "MT-P50", "wanted nothing behind \"0F1\"");
  refused("0F0,0UNSHARD3\n", "MT-P50", "wanted nothing behind \"0UNSHARD\"");
  refused("0F0,0f1\n", "MT-P50", "the file has no header");
  refused("0F0,(0F1;0B0)OVERLAP\n", "MT-P50", "(0F7;7B3)OVERLAP_F_B");
  refused("0F0,(0F1)OVERLAP_F_B\n", "MT-P50", "two parts");
  refused("0F0,(0F1;0SEND_F0)OVERLAP_F_B\n", "MT-P50", "only forwards and backwards");
  refused("0F0,(0F1;)OVERLAP_F_B\n", "MT-P50", "row 1, column 2");
  refused(std::string_view("\x89PNG\r\n\x1a\n\0\0", 10), "MT-P50", "row 1, column 1: got \"\\x89PNG\"");
  refused("0F0,0B0\n0F1,0B1\n", "MT-P53", "row 2, column 1: stage 0 lies in row 1, column 1");
  refused("0F0,0F2,0B0,0B2\n", "MT-P54", "row 1: stage 0 has no forward of microbatch 1");
  refused("0F0,0F1,0B0,0B1\n1F0,1B0\n", "MT-P54", "row 2: stage 1 has no forward of microbatch 1");
  refused("0F0,0B0\n2F0,2B0\n", "MT-P54", "stage 1 has no forward of microbatch 0");
  refused("0F0,0F0,2F0,0B0,2B0,2B0\n", "MT-P54", "stage 1 is in no row");
  refused("0F0,0F1,0B0\n", "MT-P54", "row 1: stage 0 has no backward of microbatch 1");
  refused("0F0,0F1,0I0,0I1,0W1\n", "MT-P54", "row 1: stage 0 has no weight part of backward of microbatch 0");
  refused("0F1048576\n", "MT-P51", "numbers up to 1048575");
  refused("99999999999999999999F0\n", "MT-P51", "row 1, column 1");
  refused("1048575F1048575\n", "MT-P54", "stage 0 has no forward of microbatch 0");
  refused("0F0,0WAIT_SEND_F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0\n", "MT-P55", "row 1, column 2");
  refused("0F0,0B0,0REDUCE_GRAD,0WAIT_REDUCE_GRAD,0WAIT_REDUCE_GRAD\n", "MT-P55", "row 1, column 5");
  refused("0F0,\"0B0\n", "MT-P57", "row 1, column 2");
}

TEST_CASE("what is missing in a list is for check() to find, and it names the rank") {
  const auto finds = [](std::string text, const std::string& without, const std::string& part) {
    const std::size_t at = text.find(without);
    REQUIRE(at != std::string::npos);
    text.erase(at, without.size());
    const program made = read_csv(text);
    const std::string said = motet::explain(made, motet::check(made));
    CAPTURE(said);
    CHECK(said.find(part) != std::string::npos);
    CHECK(said.empty() == part.empty());
  };
  const std::string comms = motet::write_csv(read_csv(file("1f1b_4x8x1_comms.csv")), {.waits = false});
  finds(comms, "2RECV_F4,", "after the message that brings its rows: rank 2, instruction");
  finds(comms, "1SEND_B3,", "every receive its send: rank 0, instruction");
  finds(comms, ",0REDUCE_GRAD", "");
}

TEST_CASE("headers") {
  const std::string start = "motet,1,computations\r\n", one = "voice,stages=1,microbatches=1\r\n";
  CHECK(read_csv(start + one + "0F0,0B0\r\n") == read_csv("0F0,0B0\r\n"));
  const program idle = read_csv(start + one + "\r\n0F0,0B0\r\n\r\n");
  CHECK(idle.ranks() == 3);
  CHECK(idle.places[0] == 1);
  refused("motet,2,computations\r\n", "MT-P56", "row 1, column 2: got \"2\", wanted version 1");
  refused("motet,1,all\r\n", "MT-P56", "computations or everything");
  refused("motet,1,everything,x\r\n", "MT-P56", "column 4");
  refused(start, "MT-P56", "wanted a voice");
  refused(start + "0F0,0B0\r\n", "MT-P56", "wanted a voice");
  refused(start + "voice,stages=1\r\n0F0\r\n", "MT-P56", "row 2: a voice needs stages and microbatches");
  refused(start + "voice,stages=0,microbatches=1\r\n", "MT-P56",
          "row 2, column 2: got \"stages=0\", wanted a whole number from 1");
  refused(start + "voice,stages=x,microbatches=1\r\n", "MT-P56", "\"stages=x\"");
  refused(start + "voice,speed=3\r\n", "MT-P56", "\"speed=3\", wanted one of name");
  refused(start + "voice,name=a_name_of_16_byt,stages=1,microbatches=1\r\n", "MT-P56", "15 bytes");
  refused(start + "voice,stages=1,microbatches=3,group=2\r\n", "MT-P56", "divide");
  refused(start + "voice,stages=2,microbatches=1,slots=1\r\n", "MT-P56",
          "slots need a number for each stage");
  refused(start + one, "MT-P54", "stage 0 has no forward of microbatch 0");
  refused(start + one + "0F0,0B0,0SEND_F0\r\n", "MT-P50", "computations only");
  refused(start + one + "0F0@,0B0\r\n", "MT-P50", "a lane behind @");
  refused(start + one + "0F0@256,0B0\r\n", "MT-P51", "up to 255");
  refused(start + one + "0F0,0B0,1F0\r\n", "MT-P51", "row 3, column 3: stage 1 of 1");
  refused(start + one + "0F0,0B0,0JOIN0\r\n", "MT-P51", "join 0 has no member");
  refused(start + one + one + "0F0,0B0\r\n", "MT-P50", "the voice in front");
  refused(start + one + one + "2:0F0,0B0\r\n", "MT-P51", "one of 2 voices");
  refused(start + "voice,stages=1,microbatches=1,frozen\r\n" + one + "0:0F0\r\n1:0F0\r\n", "MT-P54",
          "row 5: voice 1, stage 0 has no backward");
  refused(start + one + one + "0:0F0,0:0B0\r\n", "MT-P54", "voice 1, stage 0 has no forward of microbatch 0");
}

TEST_CASE("damaged files are refused or read, never worse") {
  std::vector<std::string> seeds;
  for (const char* name :
       {"1f1b_4x8x1.csv", "gpipe_3x4x1_comms.csv", "looped_bfs_2x4x2_comms.csv", "dualpipe_v_4x10x2.csv"})
    seeds.push_back(file(name));
  seeds.push_back(
      "motet,1,everything\r\nvoice,name=\"a, b\",stages=2,microbatches=2,join=0,group=1,slots=3;0\r\n"
      "0LOAD0,0f0,0SEND_F0,0f1,0SEND_F1,0R0,0SEND_R0,0RECV_B0,0B0,0R1,0SEND_R1,0OFFLOAD1,0ONLOAD1,0RECV_B1,"
      "0B1,0STEP\r\n"
      "0RECV_F0,1f0,0JOIN0@1,1RECV_R0,1R0,1B0,1SEND_B0@9\r\n\r\n");
  int legal = 0;
  for (std::uint64_t run = 0; run < 3000; ++run) legal += fuzz_schedule_csv(mutated(seeds, run)) ? 1 : 0;
  CHECK(legal > 10);
  CHECK(legal < 2900);
}
