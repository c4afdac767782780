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
ended run(std::vector<const char*> words) {
  words.insert(words.begin(), "train_scripted");
  ended out;
  out.said = printed_by(
      [&] { out.status = run_program(scripted_program, static_cast<int>(words.size()), words.data()); });
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
