// SPDX-License-Identifier: Apache-2.0
#include <motet/run/work_of_data.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

// Its steps have a FLOP more each.
struct counting_session : scripted_session {
  using scripted_session::scripted_session;
  program_work work() override { return of(100); }
  program_work work(const step_input&) override { return of(++steps); }
  static program_work of(double flops) {
    program_work out;
    out.places.resize(1);
    out.places[0].forward = flops;
    return out;
  }
  int steps = 0;
};

}  // namespace

TEST_CASE("without data the longest samples are counted, and random ones once") {
  counting_session model(session_request{});
  const counted_work longest = work_of_data(model, settings_of({"--plan", "beside", "--batch", "6"}));
  CHECK(longest.of.places[0].forward == 100);
  CHECK(holds(longest.words, "samples as long as any can be"));
  CHECK(model.steps == 0);
  const counted_work random = work_of_data(model, settings_of({"--data", "random", "--batch", "6"}));
  CHECK(random.of.places[0].forward == 1);
  CHECK(holds(random.words, "random"));
  CHECK(model.steps == 1);
}

TEST_CASE("of data that there are, the mean of the first steps counts") {
  const scratch folder;
  write_pairs(folder, "train-000.tar", 0, 10);
  write_vocabulary(folder);
  const std::string data = folder.path().string();
  counting_session model(session_request{});
  const counted_work found = work_of_data(model, settings_of({"--data", data.c_str(), "--batch", "4"}));
  CHECK(model.steps == 4);
  CHECK(found.of.places[0].forward == 2.5);
  CHECK(found.words == "the mean of the first 4 steps of " + data);
}
