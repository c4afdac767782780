// SPDX-License-Identifier: Apache-2.0
#include <motet/run/run_program.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

struct ended {
  int status;
  std::string said;
};
ended run(std::vector<const char*> words, const training_program& of = scripted_program) {
  words.insert(words.begin(), "train_scripted");
  ended out;
  out.said = printed_by([&] { out.status = run_program(of, static_cast<int>(words.size()), words.data()); });
  return out;
}

}  // namespace

TEST_CASE("a program trains as its command line says, and ends with 0") {
  const ended found = run({"--data", "random", "--steps", "3", "--batch", "4"});
  CHECK(found.status == 0);
  CHECK(holds(found.said, "model scripted/infonce, 40 parameters"));
  CHECK(holds(found.said, "step 3/3 100%  loss 1.0000"));
  CHECK(holds(found.said, "next: the weights end with this run"));
  const ended spread = run({"--data", "random", "--steps", "1", "--plan", "beside"});
  CHECK(spread.status == 0);
  CHECK(holds(spread.said, "plan beside: one rank for each"));
}

TEST_CASE("samples in another order: what is done, what it gains, and what it cannot be beside") {
  const training_program speaks = speaking_program();
  const char* const order =
      "all: samples go to the ranks that have least to do, microbatches run in the "
      "turns in which ranks wait least";
  const ended found =
      run({"--data", "random", "--steps", "2", "--plan", "beside", "--reorder", "all"}, speaks);
  CHECK(found.status == 0);
  CHECK(holds(found.said, (std::string("order ") + order).c_str()));
  CHECK(holds(found.said, "reordered 1.25x  ETA"));
  CHECK(holds(found.said,
              "reordered: steps 1.250 times as fast as their samples came, by simulation with "
              "measured times; an order took 1 ms to find"));
  const ended proven = run({"--plan", "beside", "--check", "--reorder", "all"}, speaks);
  CHECK(proven.status == 0);
  CHECK(holds(proven.said, (std::string("order     ") + order + "\n").c_str()));
  CHECK_FALSE(holds(run({"--data", "random", "--steps", "2", "--plan", "beside"}, speaks).said, "order"));
  const auto refused = [&](std::vector<const char*> words, const char* what) {
    words.insert(words.begin(), {"--data", "random", "--plan", "beside", "--reorder", "all"});
    run_settings s(speaks);
    options line = command_line(s);
    words.insert(words.begin(), "train_scripted");
    line.parse(static_cast<int>(words.size()), words.data());
    CHECK_THROWS_WITH_AS(detail::run_settled(s, line), doctest::Contains(what), error);
  };
  refused({"--resplit", "5"}, "--reorder all with --resplit");
  refused({"--device", "cuda"}, "--reorder all with --device cuda: ranks on processors alone");
}

TEST_CASE("what is asked for instead of training") {
  const ended help = run({"--help"});
  CHECK(help.status == 0);
  CHECK(holds(help.said, "trains nothing"));
  CHECK(holds(help.said, "exit codes:"));
  CHECK(holds(run({"--list-plans"}).said, "beside      2 ranks"));
  const ended explained = run({"--data", "random", "--explain"});
  CHECK(explained.status == 0);
  CHECK(holds(explained.said, "FLOPs of a step"));
  const ended checked = run({"--data", "random", "--check"});
  CHECK(checked.status == 0);
  CHECK(holds(checked.said, "all is well"));
  const ended proven = run({"--plan", "beside", "--check"});
  CHECK(proven.status == 0);
  CHECK(holds(proven.said, "proven    "));
}

TEST_CASE("what is wrong ends a program in its own way, and with a message") {
  CHECK(run({}).status == exit_usage.status);
  CHECK(run({"--datum", "random"}).status == exit_usage.status);
  CHECK(run({"--data", "random", "--precision", "fp8"}).status == exit_usage.status);
  CHECK(run({"--data", "random", "--device", "cuda"}).status == exit_usage.status);
  CHECK(run({"--data", "random", "--resume"}).status == exit_usage.status);
  CHECK(run({"--data", "random", "--model", "absent"}).status == exit_usage.status);
  CHECK(run({"--data", "random", "--plan", "best"}).status == exit_refused.status);
  CHECK(run({"--data", "/no/such/folder"}).status == exit_refused.status);
}
