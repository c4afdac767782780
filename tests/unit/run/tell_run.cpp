// SPDX-License-Identifier: Apache-2.0
#include <motet/run/tell_run.hpp>

#include "run_parts.hpp"

#include <doctest/doctest.h>

using namespace motet;

namespace {

template <class Tell>
std::string told(Tell&& tell) {
  return printed_by([&] {
    progress out(stdout, false);
    tell(out);
  });
}

}  // namespace

TEST_CASE("a run says what it trains, what it is going to do and how long that takes") {
  opened_run run =
      run_of({"--data", "random", "--batch", "6", "--steps", "40", "--recompute", "--keep-outputs"});
  const auto source = run.open_feed();
  const std::string start = told([&](progress& out) { tell_start(out, run, *source); });
  CHECK(start.starts_with("a machine of paper\n"));
  CHECK(holds(
      start,
      "model scripted/infonce, 40 parameters, precision fp32, blocks recomputed, outputs kept; random"));
  const std::string intent = told([&](progress& out) { tell_intent(out, run, nullptr); });
  CHECK(intent == "40 steps of 6 samples; nothing is saved without --checkpoint\n");
  const std::string outlook = told([](progress& out) { tell_outlook(out, 2, 30); });
  CHECK(outlook.starts_with("a step takes 2 s: 30 more, without tests, are done in 1:00, at "));
}

TEST_CASE("a run that goes on says from where, and what is otherwise than it was") {
  const scratch folder;
  const std::string to = (folder / "run").string();
  json state;
  state.set("losses", 2);
  state.set("threads", 3);
  const checkpoint_writer by{to, "scripted/infonce", 4, 0, 1};
  save_part(by, {});
  opened_run run(settings_of({"--data", "random"}), checkpoint(finish(by, std::move(state), {})), {});
  run.prepare();
  const auto source = run.open_feed();
  const std::string start = told([&](progress& out) { tell_start(out, run, *source); });
  CHECK(holds(start,
              "the saved run had 2 losses in a step, each over its part of the batch, this one has 1\n"));
  CHECK(holds(start, "resumed after step 4 from " + to + "/step-000004\n"));
  CHECK(holds(start,
              "the saved run had 3 threads, this one has 2: it goes on within rounding, not bit for bit\n"));
  // A scheduler that starts a job once more says so.
  run.saved.reset();
  run.s.checkpoint = to;
  ::setenv("SLURM_RESTART_COUNT", "1", 1);
  const std::string again = told([&](progress& out) { tell_start(out, run, *source); });
  ::unsetenv("SLURM_RESTART_COUNT");
  CHECK(holds(again, ", but begun anew, without --resume\n"));
  run.s.producers = "near:7,far:7";
  CHECK(holds(told([&](progress& out) { tell_start(out, run, *source); }),
              "data by producers: near:7,far:7\n"));
}

TEST_CASE("of producers it is told what each sent, and how long steps waited for it") {
  json one;
  one.set("at", "far:7");
  one.set("steps", 12);
  one.set("picture_bytes", 3'400'000);
  one.set("waited_seconds", 0.12345);
  CHECK(told([&](progress& out) { tell_producers(out, json(json::array{one})); }) ==
        "producer far:7: 12 steps, 3 MB of pictures, which waited 0.123 s for it\n");
}

TEST_CASE("the end names the programs that may come next, those that can read what there is") {
  const auto end = [](std::vector<const char*> words) {
    opened_run run = run_of(std::move(words));
    run.s.command = "train_scripted";
    return told([&](progress& out) { tell_next(out, run); });
  };
  CHECK(holds(end({"--data", "random"}), "--checkpoint FOLDER keeps them"));
  // Random data have no report to compare.
  CHECK(end({"--data", "random", "--checkpoint", "kept"}) ==
        "next: embed --checkpoint kept --images FOLDER\n");
  opened_run reported = run_of({"--data", "random", "--checkpoint", "kept"});
  reported.s.command = "/no/such/bin/train_scripted";
  reported.s.data = "there";
  CHECK(told([&](progress& out) { tell_next(out, reported); }) ==
        "next: cmake --build /no/such --target embed compare_runs\n"
        "      /no/such/bin/embed --checkpoint kept --images FOLDER\n"
        "      /no/such/bin/compare_runs --run report --run ANOTHER\n");
  // Some programs take models of some names alone.
  reported.s.model = "say-nothing";
  CHECK(holds(told([&](progress& out) { tell_next(out, reported); }),
              "      /no/such/bin/generate --checkpoint kept --picture FILE\n"));
}
