// SPDX-License-Identifier: Apache-2.0
// labels: threads
// races: front/edges and tests of nets
// What is foretold of each message is what both of its ends count in a step, byte for byte.
#include <motet/runtime/train/message_bytes.hpp>

#include <motet/front/ranks/compiled.hpp>
#include <motet/front/trainer.hpp>
#include <motet/plan/prove/plan_score.hpp>
#include <motet/runtime/stage/plan_choices.hpp>
#include <motet/runtime/train/foretell.hpp>
#include <motet/schedule/simulate/simulate.hpp>

#include "unit/runtime/drawn_unlike.hpp"
#include "unit/runtime/small_fan.hpp"
#include "unit/runtime/small_hearing.hpp"

#include <doctest/doctest.h>

#include <map>
#include <mutex>

using namespace motet;

namespace {

// The bytes of each tag of a step, as one of its ends was told them.
struct message_counts {
  std::mutex alone;
  std::map<std::int32_t, double> sent, received;
};
message_counts* counting = nullptr;

class counting_end : public local::endpoint {
 public:
  using local::endpoint::endpoint;
  void send(std::int32_t tag, std::int32_t peer, const std::byte* from, motet::isize bytes) {
    note(counting->sent, tag, bytes);
    local::endpoint::send(tag, peer, from, bytes);
  }
  bool receive(std::int32_t tag, std::int32_t peer, std::byte* to, motet::isize bytes) {
    if (!local::endpoint::receive(tag, peer, to, bytes)) return false;
    note(counting->received, tag, bytes);
    return true;
  }

 private:
  static void note(std::map<std::int32_t, double>& of, std::int32_t tag, motet::isize bytes) {
    const std::lock_guard guard(counting->alone);
    of[tag] += static_cast<double>(bytes);
  }
};

constexpr motet::isize samples = 12;

template <class Model>
using counting_trainer = pipeline_trainer<Model, cpu::device, fp32, thread_ranks<local::world, counting_end>>;

small_fan::batch batch_of(const small_fan_text& data) { return data.get(); }
small_parted_hearing<>::batch batch_of(const small_heard_text& data) { return {data.sounds(), data.words()}; }

// Returns the bytes that crossed.
template <class model = small_fan, class Data = small_fan_text>
double check_plan(const plan& how) {
  score order;
  REQUIRE(write_plan(how, facts_of<model>(), order, samples).ok());
  pipeline_config config;
  config.batch = samples;
  config.modules = choices_of(how);
  config.update = false;
  config.deadline = 20;
  counting_trainer<model> many(order, config);
  many.prepare();
  const score_sheet& sheet = many.ranks().sheet();
  double all = 0;
  for (std::uint64_t step = 0; step < 2; ++step) {
    const Data data(samples, 1 + step);
    const typename model::batch whole = batch_of(data);
    message_counts counts;
    counting = &counts;
    many.step(whole, 0);
    const program_work work =
        foretell<model, cpu::context, fp32>(sheet.of, config.modules, samples, batch_inputs<model>(whole));
    REQUIRE_EQ(work.messages.size(), sheet.of.instructions.size());
    for (std::int32_t i = 0; i < sheet.of.instructions.size(); ++i) {
      const instruction& it = sheet.of.instructions[i];
      if (!is_send(it.what)) {
        CHECK_EQ(work.messages[i], 0);
        continue;
      }
      CAPTURE(locate(sheet.of, i));
      const std::int32_t tag = sheet.tags[i];
      REQUIRE_EQ(counts.sent.count(tag), 1u);
      REQUIRE_EQ(counts.received.count(tag), 1u);
      CHECK_EQ(work.messages[i], counts.sent[tag]);
      CHECK_EQ(work.messages[i], counts.received[tag]);
      all += work.messages[i];
    }
  }
  return all;
}

}  // namespace

TEST_CASE("each message is as large as foretold from the step, whatever the plan") {
  double all = 0;
  for (std::uint64_t k = 0; k < 24; ++k) {
    CAPTURE(k);
    all += check_plan(drawn_unlike<small_fan>(40 + k));
  }
  CHECK(all > 0);
}

TEST_CASE("rows that blocks look at count between their stages") {
  plan how;
  how.schedule = "1f1b";
  how.cluster.ranks = 8;
  how.modules.push(on_ranks("ear", 0, {.data = 2}, 2));
  how.modules.push(on_ranks("talk", 2, {.stages = 3, .data = 2}, 2));
  how.modules[0].group = how.modules[1].group = 1;
  const double several = check_plan<small_parted_hearing<>, small_heard_text>(how);
  how.cluster.ranks = 4;
  how.modules[1].on = mesh::from(2, {.data = 2});
  CHECK(several > 3 * check_plan<small_parted_hearing<>, small_heard_text>(how));
}

TEST_CASE("without a step, samples count as long as any can be, and each row crosses once") {
  // Of 13 samples five microbatches of the eye have 3, 3, 3, 2 and 2, and two replicas of the glue 7 and 6.
  plan how;
  how.schedule = "1f1b";
  how.cluster.ranks = 4;
  const auto add = [&](const char* name, std::int32_t first, degrees split, int parts) {
    module_plan own = on_ranks(name, first, split, parts);
    own.group = 1;
    how.modules.push(own);
  };
  add("eye", 0, {}, 5);
  add("glue", 1, {.data = 2}, 1);
  add("talk", 3, {}, 1);
  using model = small_fed_speech<>;
  score order;
  REQUIRE(write_plan(how, facts_of<model>(), order, 13).ok());
  const program of = compile(order);
  const program_work work = foretell<model, cpu::context, fp32>(of, choices_of(how), 13);
  // A sample has two pictures of five rows at most, of eight numbers, and of sixteen behind the glue.
  double eye = 0, glue = 0, back = 0, most = 0;
  for (std::int32_t i = 0; i < of.instructions.size(); ++i) {
    const instruction& it = of.instructions[i];
    if (!is_send(it.what)) continue;
    const std::int32_t module = of.voices[it.voice].module;
    if (it.what == op::send_backward) back += work.messages[i];
    else (module == 0 ? eye : glue) += work.messages[i];
    most = std::max(most, work.messages[i]);
  }
  CHECK_EQ(eye, 13 * 10 * 8 * 4);
  CHECK_EQ(glue, 13 * 10 * 16 * 4);
  CHECK_EQ(back, eye + glue);
  CHECK_EQ(most, 7 * 10 * 16 * 4);
  // A simulation takes them as they are.
  cost_table costs = work.costs(of, {1e30, 1});
  timeline when;
  REQUIRE(simulate(of, costs, when).ok());
  const double longer = when.makespan;
  for (double& each : costs.messages) each *= 2;
  REQUIRE(simulate(of, costs, when).ok());
  CHECK(when.makespan > longer + 7 * 10 * 16 * 4);
}
