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
  refused({"--reorder", "slots", "--reorder-groups", "2"},
          "--reorder-groups 2 with --reorder slots, which gives no rank");
  refused({"--device", "cuda"}, "--reorder all with --device cuda: ranks on processors alone");
}

TEST_CASE("scores that take turns: which, how often each plays, and what that cannot be beside") {
  const training_program speaks = speaking_program();
  const ended found = run({"--data", "random", "--steps", "3", "--plan", "beside", "--conduct"}, speaks);
  CHECK(found.status == 0);
  CHECK(holds(found.said,
              "conduct 1f1b, gpipe take turns: a step plays another one where that is shorter by "
              "more than 2 %, by simulation"));
  CHECK(holds(found.said, "by simulation; --explain says why others do not"));
  CHECK(holds(found.said, "  score gpipe  ETA"));
  CHECK(holds(found.said,
              "conducted: 1f1b played 2 steps, gpipe 1, with 3 changes; steps 1.071 times as fast as "
              "by the plan's own, by simulation with measured times; a score took 1 ms to find"));
  CHECK_FALSE(holds(run({"--data", "random", "--steps", "2", "--plan", "beside"}, speaks).said, "conduct"));
  const ended both =
      run({"--data", "random", "--steps", "2", "--plan", "beside", "--conduct", "--reorder", "all"}, speaks);
  CHECK(both.status == 0);
  // Without a model the proof alone says which take turns.
  const ended proven = run({"--plan", "beside", "--check", "--conduct", "--rank-bytes", "9"}, speaks);
  CHECK(proven.status == 0);
  CHECK(holds(proven.said, "conduct   batch_sync"));
  CHECK(holds(proven.said, "conduct   without zb_v: "));
  CHECK(holds(proven.said, "conduct   --explain says which of them need more than --rank-bytes\n"));
  for (const char* const each :
       {"  score gpipe", "reordered 1.25x", "conducted: 1f1b played", "reordered: steps"})
    CHECK(holds(both.said, each));
  const auto refused = [&](std::vector<const char*> words, const char* what) {
    words.insert(words.begin(), {"--data", "random", "--conduct"});
    run_settings s(speaks);
    options line = command_line(s);
    words.insert(words.begin(), "train_scripted");
    line.parse(static_cast<int>(words.size()), words.data());
    CHECK_THROWS_WITH_AS(detail::run_settled(s, line), doctest::Contains(what), error);
  };
  refused({}, "--plan with several ranks, whose scores take turns by --conduct");
  const auto spread = [&](std::vector<const char*> words, const char* what) {
    words.insert(words.begin(), {"--plan", "beside"});
    refused(words, what);
  };
  spread({"--resplit", "5"}, "--conduct with --resplit, which gives");
  spread({"--device", "cuda"}, "--conduct with --device cuda: scores take turns on processors alone");
  spread({"--record-times", "times.json"}, "--conduct with --record-times times.json, which puts");
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
  // With data they are looked at as well.
  const ended both = run({"--plan", "beside", "--check", "--data", "random"});
  CHECK(both.status == 0);
  CHECK(holds(both.said, "proven    "));
  CHECK(holds(both.said, "all is well"));
  const ended meant = run({"--plan", "beside", "--explain"});
  CHECK(meant.status == 0);
  CHECK(holds(meant.said, "counted   samples as long as any can be"));
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
  CHECK(run({"--produce"}).status == exit_usage.status);
  const training_program speaks = speaking_program();
  CHECK(run({"--orchestrate", "here", "--plan", "beside"}, speaks).status == exit_usage.status);
  CHECK(run({"--orchestrate", "here"}, speaks).status == exit_usage.status);
  trained_model large = scripted_models[0];
  large.make = [](const session_request&) -> std::unique_ptr<session> { throw std::bad_alloc(); };
  training_program of = scripted_program;
  of.models = {&large, 1};
  CHECK(run({"--data", "random"}, of).status == exit_no_memory.status);
}

TEST_CASE("a run that is resumed by the name of one checkpoint goes on beside it") {
  const scratch folder;
  const std::string to = (folder / "kept").string(), saved = to + "/step-000004";
  save_part({to, "scripted/infonce", 4, 0, 1}, {});
  finish({to, "scripted/infonce", 4, 0, 1}, json{{"settings", json{{"batch", 6}}}}, {});
  const ended found = run({"--data", "random", "--checkpoint", saved.c_str(), "--resume", "--steps", "5"});
  CHECK(found.status == 0);
  CHECK(holds(found.said, "resumed after step 4 from " + saved));
  CHECK(holds(found.said, "1 steps of 6 samples; saved in " + to + "/ at the end"));
}

TEST_CASE("what a program of one's own kept need be no object: a run goes on by its own settings") {
  const scratch folder;
  const std::string to = (folder / "kept").string();
  save_part({to, "scripted/infonce", 4, 0, 1}, {});
  finish({to, "scripted/infonce", 4, 0, 1}, json(7), {});
  const ended found =
      run({"--data", "random", "--checkpoint", to.c_str(), "--resume", "--steps", "5", "--batch", "4"});
  CHECK(found.status == 0);
  CHECK(holds(found.said, "resumed after step 4 from " + to + "/step-000004"));
  CHECK(holds(found.said, "1 steps of 4 samples"));
}

TEST_CASE("a run of phases: each tells what it is, and all are looked at before the first") {
  const scratch folder;
  const std::string file = (folder / "phases.json").string(), to = (folder / "kept").string();
  const auto phased = [&](const char* text, std::vector<const char*> more = {}) {
    write_file(file, std::string_view(text));
    std::vector<const char*> words{"--data",      "random",   "--batch",   "4",
                                   "--no-report", "--phases", file.c_str()};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  const std::vector<const char*> kept{"--checkpoint", to.c_str()};
  const ended one = phased(R"([{"name": "only", "steps": 2, "plan": "beside"}])", kept);
  CHECK(one.status == 0);
  CHECK(holds(one.said, "phase 1 of 1, only: scripted, 2 steps\n"));
  CHECK(holds(one.said, "plan beside: one rank for each"));
  CHECK(holds(one.said, "kept/only"));
  // Nothing runs where anything is wrong with the last one.
  for (const char* wrong : {R"([{"name": "a", "steps": 1}, {"name": "b", "step": 1}])",
                            R"([{"name": "a", "steps": 1}, {"name": "b", "steps": 0}])",
                            R"([{"name": "a", "steps": 1}, {"name": "b", "plan": "aside"}])"}) {
    CAPTURE(wrong);
    const ended found = phased(wrong, kept);
    CHECK(found.status != 0);
    CHECK(found.said.empty());
  }
  // What all begin with is for the first; the second one looks for the first one's checkpoint, which this
  // model does not write.
  const std::string from = (folder / "from").string();
  save_part({from, "other", 7, 0, 1}, {});
  finish({from, "other", 7, 0, 1}, {}, {});
  std::vector<const char*> begins = kept;
  begins.insert(begins.end(), {"--begin", from.c_str()});
  const ended second = phased(R"([{"name": "a", "steps": 1}, {"name": "b", "steps": 1}])", begins);
  CHECK(second.status == 3);
  CHECK(holds(second.said, "begins with left of " + from + "/step-000007, step 7"));
  CHECK(holds(second.said, "phase 2 of 2, b: scripted, 1 steps\n"));
  CHECK(phased(R"([{"name": "a"}])").status == 2);
  std::vector<const char*> unknown = kept;
  unknown.insert(unknown.end(), {"--phase", "c"});
  CHECK(phased(R"([{"name": "a", "steps": 1}, {"name": "b", "steps": 1}])", unknown).status == 2);
  // What is done stays done.
  for (const char* const name : {"a", "b"}) {
    const checkpoint_writer by{to + "/" + name, "scripted/infonce", 1, 0, 1};
    save_part(by, {});
    finish(by, json(json::object{}), {});
  }
  std::vector<const char*> again = kept;
  again.push_back("--resume");
  const ended done = phased(R"([{"name": "a", "steps": 1}, {"name": "b", "steps": 2}])", again);
  CHECK(done.status == 0);
  CHECK(holds(done.said, "a: scripted, 1 steps\nis done, in " + to + "/a/step-000001\n"));
  CHECK(holds(done.said, "resumed after step 1 from " + to + "/b/step-000001"));
  // One of many processes runs one of them.
  for (const auto& [name, value] : {std::pair("RANK", "0"),
                                    {"WORLD_SIZE", "2"},
                                    {"LOCAL_RANK", "0"},
                                    {"LOCAL_WORLD_SIZE", "2"},
                                    {"MASTER_ADDR", "127.0.0.1"},
                                    {"MASTER_PORT", "9"}})
    ::setenv(name, value, 1);
  const ended many = phased(R"([{"name": "a", "steps": 1}])", kept);
  for (const char* const name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    ::unsetenv(name);
  CHECK(many.status == 2);
  CHECK_FALSE(holds(many.said, "phase 1"));
  CHECK(run({"--data", "random", "--phase", "a"}).status == 2);
}
