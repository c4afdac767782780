// SPDX-License-Identifier: Apache-2.0
#include <motet/run/step_record.hpp>

#include "run_parts.hpp"
#include "tiny_pair.hpp"

#include <motet/format/text/json_read.hpp>
#include <motet/plan/cost/require_gaps.hpp>
#include <motet/run/training.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

using namespace motet;

namespace {

std::string text_in(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}
std::size_t count_of(const std::string& part, const std::string& in) {
  std::size_t found = 0;
  for (std::size_t at = in.find(part); at != std::string::npos; at = in.find(part, at + 1)) ++found;
  return found;
}
step_record record_of(std::vector<const char*> words) { return step_record(settings_of(std::move(words))); }

class silent_session final : public trained_session<silent_session, cpu::device, tiny_pair, fp32> {
 public:
  explicit silent_session(const session_request& wanted) : trained_session({.name = "silent"}, wanted) {}
  const pair_input& inputs(const step_input& batch) const { return std::get<pair_input>(batch); }
};

}  // namespace

TEST_CASE("the step that was asked for is drawn as two ranks ran it, and no other") {
  const scratch folder;
  session_request wanted = tiny_request();
  wanted.how = plan_of("apart", facts_of<tiny_pair>());
  wanted.by = find_launch({}, {.ranks = 2});
  silent_session made(wanted);
  session& model = made;
  random_feed source(6, 1, {.model = "tiny", .image = 8, .vocabulary = 300, .context = 16});
  for (const char* form : {"svg", "json"}) {
    const std::string path = (folder / form).string() + "/step." + form;
    std::filesystem::create_directory(folder / form);
    step_record record = record_of({"--data", "random", "--plan", "apart", "--steps", "9", "--record",
                                    path.c_str(), "--record-step", model.updates() == 0 ? "2" : "5"});
    record.probe();
    CHECK_FALSE(std::filesystem::exists(path));
    const isize first = model.updates() + 1, last = first + 2;
    for (isize step = first; step <= last; ++step) {
      model.step(source.next(), 1e-3, record.at(step));
      CHECK(record.write(model.of()) == (step == record.step()));
    }
    const std::string text = text_in(path);
    if (std::string_view(form) == "svg") {
      CHECK(text.starts_with("<svg"));
      CHECK(text.find("train_scripted, plan apart, step 2") != std::string::npos);
      // Each rank has its name and two rows.
      for (const char* part : {">rank 0", ">rank 1"}) CHECK(count_of(part, text) >= 1);
      CHECK(count_of(">plan<", text) == 2);
      CHECK(count_of(">run<", text) == 2);
    } else {
      const json trace = read_json(text);
      isize events = 0;
      std::vector<bool> seen(4);
      double longest = 0;
      for (const json& each : trace.at("traceEvents").items()) {
        if (each.at("ph").string() != "X") continue;
        ++events;
        seen.at(as_size(each.at("pid").integer())) = true;
        longest = std::max(longest, each.at("dur").number());
      }
      // Every instruction was planned and ran, on both ranks.
      CHECK(events == 2 * model.of().instructions.size());
      CHECK(seen == std::vector<bool>(4, true));
      CHECK(longest > 0);
    }
  }
}

TEST_CASE(
    "ranks of a tensor group wait for each other inside what they compute, and ranks by themselves do not") {
  const scratch folder;
  for (const bool cut : {false, true}) {
    CAPTURE(cut);
    session_request wanted = tiny_request();
    wanted.how = plan_of(cut ? "tensor-2" : "apart", facts_of<tiny_pair>());
    wanted.by = find_launch({}, {.ranks = 2});
    silent_session made(wanted);
    session& model = made;
    random_feed source(6, 1, {.model = "tiny", .image = 8, .vocabulary = 300, .context = 16});
    const std::string path = (folder / (cut ? "cut.json" : "whole.json")).string();
    step_record record = record_of({"--data", "random", "--steps", "1", "--record", path.c_str()});
    model.step(source.next(), 1e-3, record.at(1));
    REQUIRE(record.write(model.of()));
    CHECK((count_of("\"cat\": \"gap\"", text_in(path)) > 0) == cut);
    INFO(record.gaps());
    for (const char* each : {"picture.0 stage 0 waits", "picture.1 stage 0 waits", "caption.0 stage 0 waits",
                             "caption.1 stage 0 waits"})
      CHECK((count_of(each, record.gaps()) > 0) == cut);
    CHECK(record.gaps().empty() != cut);
  }
}

TEST_CASE("gaps of a recorded step go to a profile, are read again, and make its plan's forecast longer") {
  const scratch folder;
  const std::string path = (folder / "gaps.json").string();
  session_request wanted = tiny_request();
  const list<module_facts> facts = facts_of<tiny_pair>();
  wanted.how = plan_of("tensor-2", facts);
  wanted.by = find_launch({}, {.ranks = 2});
  silent_session made(wanted);
  session& model = made;
  random_feed source(6, 1, {.model = "tiny", .image = 8, .vocabulary = 300, .context = 16});
  step_record record =
      record_of({"--data", "random", "--plan", "tensor-2", "--steps", "1", "--record-gaps", path.c_str()});
  record.probe();
  model.step(source.next(), 1e-3, record.at(1));
  REQUIRE(record.write(model.of(), &*wanted.how, "two threads"));
  CHECK(holds(record.told(), "gaps of 2 modules measured: " + path));
  machine_profile seen = load_profile(path);
  CHECK((seen.machine == "two threads" && seen.activation_bytes == 4));
  CHECK_NOTHROW(require_gaps_of(seen, path, facts));
  for (const char* name : {"picture", "caption"}) {
    const gap_shares* const found = find_gaps(seen.gaps, name, {.tensor = 2});
    REQUIRE(found != nullptr);
    CHECK((found->forward > 0 && found->forward <= most_waited && found->input > 0));
  }
  // By any rates, a step takes longer by what is waited beside its computations, and not by bytes.
  const program_work work = model.work();
  const auto seconds = [&](double share) {
    cost_table costs = work.costs(model.of(), {1e9, 1e12});
    for (measured_gaps& each : seen.gaps) each.of = {share, share, share};
    put_measured_gaps(costs, model.of(), *wanted.how, seen.gaps);
    costs.updates = {};
    costs.reduction = 0;
    for (double& each : costs.joins) each = 0;
    timeline when;
    REQUIRE(simulate(model.of(), costs, when).ok());
    return when.makespan;
  };
  CHECK(seconds(.5) == doctest::Approx(2 * seconds(0)).epsilon(1e-2));

  // Another step replaces what is of the same, and keeps the rest.
  put_gaps(seen.gaps, {"picture", {.tensor = 4}, {.5, .5, .5}});
  write_file(path, format_profile(seen));
  model.step(source.next(), 1e-3, record.at(1));
  REQUIRE(record.write(model.of(), &*wanted.how, "others"));
  const machine_profile again = load_profile(path);
  CHECK((again.machine == "two threads" && again.gaps.size() == 3));
  CHECK(*find_gaps(again.gaps, "picture", {.tensor = 4}) == gap_shares{.5, .5, .5});
  // It refuses where numbers are of another size.
  const step_record half = record_of({"--data", "random", "--plan", "tensor-2", "--steps", "1", "--precision",
                                      "bf16", "--record-gaps", path.c_str()});
  CHECK_THROWS_WITH_AS(half.probe(), doctest::Contains("numbers of 4 bytes between layers, and the run has"),
                       error);
}

TEST_CASE("what cannot be recorded is refused before anything is done") {
  const auto refused = [](std::vector<const char*> words, const char* text) {
    CHECK_THROWS_WITH_AS(run_of(std::move(words)), doctest::Contains(text), error);
    CHECK(scripted_session::made == nullptr);
  };
  refused({"--data", "random", "--record", "step.png"}, "step.png wants a file that ends in .svg, or .json");
  refused({"--data", "random", "--steps", "4", "--record", "a.svg", "--record-step", "5"},
          "--record-step 5 of 4 steps");
  refused({"--data", "random", "--record-step", "5"}, "--record, a file for --record-step 5");
  refused({"--data", "random", "--record-gaps", "a.json"}, "without --plan: one rank has nobody to wait for");
  refused({"--data", "random", "--plan", "beside", "--record-gaps", "a.svg"},
          "a.svg wants a file that ends in .json");
  refused({"--data", "random", "--record", "a.svg", "--paced"}, "--record with --paced");

  opened_run nowhere = run_of({"--data", "random", "--no-report", "--record", "nowhere/at/all.svg"});
  printed_by([&] {
    CHECK_THROWS_WITH_AS(training(nowhere).run(), doctest::Contains("nowhere/at/all.svg"), error);
    CHECK_THROWS_WITH_AS(nowhere.check(), doctest::Contains("MT-F05"), error);
  });
  CHECK(scripted(nowhere).rates.empty());
}

TEST_CASE("a run records its last step, or the one that is named") {
  const scratch folder;
  const std::string path = (folder / "step.svg").string();
  for (const auto& [which, step] : {std::pair("0", isize{6}), std::pair("3", isize{3})}) {
    opened_run run = run_of({"--data", "random", "--batch", "4", "--steps", "6", "--no-report", "--record",
                             path.c_str(), "--record-step", which});
    const std::string said = printed_by([&] { CHECK(training(run).run() == 0); });
    CHECK(scripted(run).recorded == std::vector<isize>{step});
    CHECK(holds(said, sentence({"step ", step, " as it ran: ", path})));
    CHECK(std::filesystem::remove(path));
  }
  // A run that goes on behind it says so, and is none the worse.
  opened_run late = run_of({"--data", "random", "--batch", "4", "--steps", "6", "--no-report", "--record",
                            path.c_str(), "--record-step", "3"});
  scripted(late).from = 4;
  const std::string said = printed_by([&] { CHECK(training(late).run() == 0); });
  CHECK(holds(said, "step 3 is done, so " + path + " does not get it"));
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE(
    "times of a run's steps go to a profile, by which its plan is foretold, and another model's are "
    "refused") {
  const scratch folder;
  const std::string path = (folder / "times.json").string();
  session_request wanted = tiny_request();
  const list<module_facts> facts = facts_of<tiny_pair>();
  wanted.how = plan_of("tensor-2", facts);
  wanted.by = find_launch({}, {.ranks = 2});
  silent_session made(wanted);
  session& model = made;
  random_feed source(6, 1, {.model = "tiny", .image = 8, .vocabulary = 300, .context = 16});
  step_record record =
      record_of({"--data", "random", "--plan", "tensor-2", "--steps", "3", "--record-times", path.c_str()});
  record.probe();
  for (isize step = 1; step <= 3; ++step) {
    const step_input batch = source.next();
    model.step(batch, 1e-3, record.at(step));
    CHECK(record.counts(step));
    record.count(model.work(batch));
    CHECK(record.write(model.of(), &*wanted.how, "two threads", facts, 1) == (step == 3));
  }
  CHECK_FALSE(record.counts(4));
  CHECK(holds(record.told(), "times of 2 modules in 3 steps measured: " + path));
  const machine_profile seen = load_profile(path);
  CHECK_NOTHROW(require_times_of(seen, path, facts, 4));
  CHECK(seen.gaps.size() == 2);
  for (const char* name : {"picture", "caption"}) {
    const module_times* const found = find_times(seen.times, name, degrees{.tensor = 2}, 1);
    REQUIRE(found != nullptr);
    CHECK((found->tensor == 2 && found->points.size() == 1 && found->update > 0));
    const counted_seconds pace = found->points[0].pace();
    CHECK((pace.forward > 0 && pace.input > 0 && pace.weight > 0));
  }
  list<module_facts> other = facts;
  other[0].layers += 1;
  CHECK_THROWS_WITH_AS(require_times_of(seen, path, other, 4), doctest::Contains("MT-P103"), error);
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"--plan", "apart", "--record-times", "times.txt"},
        {"--record-times", "times.json"}}) {
    std::vector<const char*> all{"--data", "random", "--steps", "1"};
    all.insert(all.end(), words.begin(), words.end());
    CHECK_THROWS_WITH_AS(record_of(all), doctest::Contains("--record-times"), error);
  }
}
