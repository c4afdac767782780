// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/ranks/ranks_here.hpp>
#include <motet/front/trained/embedder.hpp>
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/plan/prove/scores_of_plan.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/save/pipeline_checkpoint.hpp>
#include <motet/runtime/stage/count_step.hpp>
#include <motet/runtime/stage/plan_choices.hpp>
#include <motet/runtime/train/choose_pieces.hpp>
#include <motet/runtime/train/foretell.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace motet {

// Proven ranks are what is known once a plan is proven, before any rank is made.
struct proven_ranks {
  motet::plan plan;
  plan_scores scores;  // the plan's own, and others that take turns with it
  pipeline_config config;
  run_identity same;
  json description;
  bool recompute;     // blocks of towers, in backward
  bool keep_outputs;  // of norms and activations, until backward

  std::int32_t ranks() const { return scores.orders.front().ranks(); }
};

namespace detail {

inline std::vector<module_choice> choices_of(const plan& of, bool recompute, bool keep_outputs) {
  std::vector<module_choice> out = motet::choices_of(of);
  for (module_choice& each : out) each.recompute = recompute, each.keep_outputs = keep_outputs;
  return out;
}

}  // namespace detail

// Ranks that a host runs.
template <class Numbers, class Device, class Host>
class hosted_ranks final : public ranks_here<Numbers, Device> {
 public:
  using base = ranks_here<Numbers, Device>;
  using typename base::master;
  using typename base::model_type;

  hosted_ranks(const model_type& model, proven_ranks wanted)
      : model_(model),
        plan_(std::move(wanted.plan)),
        scores_(wanted.scores),
        description_(std::move(wanted.description)),
        batch_(wanted.config.batch),
        threads_(wanted.config.each.threads),
        fp8_(wanted.config.each.fp8),
        recompute_(wanted.recompute),
        keep_outputs_(wanted.keep_outputs),
        learning_{wanted.config.optimizer, wanted.config.ema},
        trained_(model, wanted.scores.orders, std::move(wanted.config)) {
    trained_.ranks().require_same(wanted.same);
  }
  Host& host() { return trained_.ranks(); }

  const motet::plan& proven() const override { return plan_; }
  const program& of(std::int32_t score) const override { return trained_.of(score); }
  const score_names& scores() const override { return scores_; }
  int threads() const override { return threads_; }

  Device& device() override {
    if (device_) return *device_;
    if constexpr (Device::shares_memory) {
      device_.emplace(threads_);
    } else {
      device_.emplace([this]() -> auto& { return first_end().on(); });
      device_->set_fp8(fp8_);
    }
    return *device_;
  }
  std::vector<rank_memory> memory() override { return trained_.forecast(); }
  std::vector<rank_memory> memory(std::span<const std::vector<const void*>> steps) override {
    return trained_.forecast(steps);
  }
  std::vector<isize> rooms() const override { return trained_.rooms().held(); }
  void prepare() override { trained_.prepare(); }
  void expect(std::span<const void* const> next) override { trained_.expect(next); }
  step_result step(std::span<const void* const> inputs, double rate, timeline* record,
                   const picked_score& by) override {
    gathered_.reset();
    return trained_.step(inputs, rate, record, by);
  }
  isize updates() const override { return trained_.updates(); }
  void gather(weights_of which) override {
    if (gathered_ && gathered_of_ == which) return;
    gathered_.reset();
    gathered_of_ = which;
    if (which == weights_of::averages) {
      gathered_ = trained_.averages();
      return;
    }
    bool whole = true;
    for (std::size_t k = 0; k < model_.nets.size(); ++k)
      whole = whole && trained_.find_whole(k).weights != nullptr;
    if (!whole) gathered_ = trained_.weights();
  }
  void embed(std::size_t module, const void* input, master* out) override {
    if (!gathered_) gather(weights_of::last_step);
    if (!embedder_) embedder_.emplace(model_, this->device());
    const auto whole = trained_.find_whole(module);
    if (gathered_) embedder_->embed_gathered(module, input, *gathered_, out);
    else if constexpr (Device::shares_memory) embedder_->embed(module, input, whole.weights, out);
    else
      embedder_->embed_on(trained_.between_steps(whole.rank, whole.lane), whole.samples, module, input,
                          whole.weights, out);
  }
  std::vector<master> weights() override { return trained_.weights(); }
  std::vector<master> averages() override { return trained_.averages(); }
  flat_state<master> state() override { return trained_.state(); }
  void set_state(const flat_state<master>& from) override {
    gathered_.reset();
    trained_.set_state(from);
  }
  std::string save(const std::string& run, const std::string& name, json state, std::size_t keep) override {
    std::string made = motet::save(trained_, run, name, std::move(state), description_, keep).string();
    trained_.ranks().note_checkpoint(run + ", step " + std::to_string(updates()));
    return made;
  }
  void load(const checkpoint& from, const std::string& name) override {
    gathered_.reset();
    motet::load(trained_, from, name);
  }
  std::vector<given_module> begin(const checkpoint& from, const begin_options& how) override {
    gathered_.reset();
    return motet::begin(trained_, from, how, adapters());
  }
  step_costs costs() override { return trained_.costs(); }
  void clear_costs() override { trained_.clear_costs(); }
  void share_lanes(const std::vector<double>& shares) override { trained_.share_lanes(shares); }
  step_costs count(isize samples, std::span<const void* const> inputs) const override {
    return count_step(model_, samples, inputs, false, learning_, keep_outputs_);
  }
  program_work work(std::span<const void* const> inputs) const override {
    return foretell(model_, of(0), detail::choices_of(plan_, recompute_, keep_outputs_), batch_, inputs);
  }
  double sum(double own) override {
    trained_.ranks().sum(&own, 1);
    return own;
  }
  void require_same(const run_identity& identity) override { trained_.ranks().require_same(identity); }

 private:
  auto& first_end() { return trained_.ranks().end(trained_.ranks().local_ranks().front()); }

  // The names of modules that learn by adapters alone.
  std::set<std::string> adapters() const {
    std::set<std::string> out;
    for (std::size_t k = 0; k < model_.nets.size(); ++k) {
      const net_outline& net = *model_.nets[k]->of;
      if (net.resting_size({0, net.layers}, {}) == 0) continue;
      for (const parameter& each : net.parameters_of(model_.of->names[k], {0, net.layers}, {}))
        out.insert(each.name);
    }
    return out;
  }

  const model_type& model_;
  motet::plan plan_;
  score_names scores_;
  json description_;
  isize batch_;
  int threads_;
  bool fp8_, recompute_, keep_outputs_;
  learning learning_;
  model_trainer<Device, Numbers, Host> trained_;
  std::optional<Device> device_;
  std::optional<embedder<Numbers, Device>> embedder_;
  std::optional<std::vector<master>> gathered_;  // weights, until they change
  weights_of gathered_of_ = weights_of::last_step;
};

namespace detail {

// All modules on one rank; in parts, every part runs forward again before its backward, unless samples have
// losses of their own: then each part is done with before the next one.
inline plan plan_of_one(const list<module_facts>& facts, const trainer_options& how, bool own_loss) {
  const isize parts = how.parts;
  if (how.batch < 1 || parts < 1 || parts > how.batch)
    fail(bad_training_option, sentence({"a batch of ", how.batch, " samples in ", parts, " parts"}));
  plan one;
  const bool through = one_way(facts), at_once = through && !own_loss;
  if (through) one.schedule = label(at_once ? gpipe::name : one_f_one_b::name);
  for (const module_facts& each : facts) {
    module_plan own = on_ranks(each.name, 0, {}, static_cast<int>(parts));
    if ((through && !at_once) || (parts > 1 && own_loss)) own.group = 1;
    else if (parts > 1 && !at_once) own.stash = 0;
    one.modules.push(own);
  }
  one.cluster.ranks = 1;
  return one;
}

inline std::string text_of(const named_pace& pace) {
  std::string out = write_json(json(pace.rate));
  if (pace.decay) out += sentence({", decay ", write_json(json(*pace.decay))});
  if (pace.layers) out += sentence({", from block to block ", write_json(json(*pace.layers))});
  if (!pace.schedule) return out;
  const rate_schedule& own = *pace.schedule;
  return out + ", schedule " +
         write_json(json(
             json::array{static_cast<int>(own.kind), own.peak, own.warmup, own.steps, own.floor, own.delay}));
}

// The paces of modules, by name, put to what a plan leaves open of each.
inline void set_paces(std::vector<module_choice>& modules, const trainer_options& how,
                      const model_outline& of) {
  modules.resize(of.size());
  for (module_choice& each : modules) each.pace.layers = how.layer_rate;
  std::vector<bool> known(of.size());
  for (const named_pace& each : how.paces) {
    const auto found = std::find(of.names.begin(), of.names.end(), each.module);
    if (found == of.names.end())
      fail(bad_training_option, "a pace of " + std::string(not_among(each.module, of.names).view()));
    const auto k = static_cast<std::size_t>(found - of.names.begin());
    const auto refuse = [&](const std::string& what) {
      fail(bad_training_option, "the pace of " + each.module + " " + what);
    };
    if (known[k]) refuse("is given twice");
    known[k] = true;
    if (of.frozen[k]) refuse("is of a frozen module, which does not learn");
    const rate_schedule own = each.schedule.value_or(rate_schedule{});
    for (const double number :
         {each.rate, each.decay.value_or(0), each.layers.value_or(1), own.peak, own.floor})
      if (!std::isfinite(number) || number < 0)
        refuse(sentence({"is ", std::to_string(number), ", wanted 0 or more"}));
    if (own.warmup < 0 || own.delay < 0)
      refuse(sentence(
          {"has a warm-up of ", own.warmup, " steps and a delay of ", own.delay, ", wanted 0 or more"}));
    modules[k].pace = {each.rate, each.decay, each.schedule, each.layers.value_or(how.layer_rate)};
  }
}

inline void require_learning(const trainer_options& how) {
  const optimizer_settings& by = how.optimizer;
  for (const auto& [name, number] : {std::pair("ema", how.ema), std::pair("beta1", by.beta1),
                                     std::pair("beta2", by.beta2), std::pair("momentum", by.momentum)})
    if (!(number >= 0 && number < 1))
      fail(bad_training_option,
           sentence({name, " = ", std::to_string(number), ", wanted 0 or more, and less than 1"}));
  if (!std::isfinite(how.layer_rate) || how.layer_rate < 0)
    fail(bad_training_option, "layer_rate = " + std::to_string(how.layer_rate) + ", wanted 0 or more");
}

// A plan with a number of pieces for each module: those that pay where it has none.
template <class Context, class Numbers>
void settle_pieces(plan& of, const model_table<Context, Numbers>& model, const program& by,
                   const std::vector<module_choice>& choices, isize samples) {
  program_work work;
  if (leaves_pieces(of)) work = foretell(model, by, choices, samples);
  constexpr const choice_rates& rates = works_on_host<Context> ? choice_of_processors : choice_of_gpus;
  for (isize k = 0; k < of.modules.size(); ++k) {
    module_plan& own = of.modules[k];
    if (own.pieces != 0) continue;
    own.pieces = own.on.split().tensor == 1 || work.places.empty()
                     ? 1
                     : choose_pieces(by, work, k, model.of->nets[as_size(k)]->blocks, rates).pieces;
  }
}

}  // namespace detail

template <class Numbers, class Device>
std::unique_ptr<ranks_here<Numbers, Device>> ranks_here<Numbers, Device>::make(const launched_world& world,
                                                                               const model_type& model,
                                                                               ranks_wanted wanted) {
  const trainer_options& how = wanted.how;
  detail::require_learning(how);
  proven_plan proven = require_proven(
      wanted.of != nullptr ? *wanted.of : detail::plan_of_one(wanted.facts, how, !model.compares()),
      wanted.facts, how.batch);
  plan& of = proven.value;
  world.require_ranks(of.cluster.ranks);
  plan_scores scores;
  if (how.conduct || !how.own_scores.empty())
    scores = scores_of_plan(proven, wanted.facts, how.batch, how.own_scores);
  else scores.add(std::string(of.schedule.view()), proven.order);
  if (!scores.other_casts.empty()) fail(other_cast, scores.other_casts.front());
  if (std::any_of(of.modules.begin(), of.modules.end(), [](const auto& each) { return each.pieces == 0; }))
    detail::settle_pieces(of, model, compile(proven.order),
                          detail::choices_of(of, how.recompute, how.keep_outputs), how.batch);
  proven_ranks ready{std::move(of), std::move(scores), {}, {}, std::move(wanted.description),
                     how.recompute, how.keep_outputs};
  run_identity& same = ready.same;
  same.add("model", write_json(ready.description));
  same.add("plan", write_json(plan_json(ready.plan)));
  same.add("scores", ready.scores.told());
  same.add("batch", std::to_string(how.batch));
  same.add("seed", std::to_string(how.seed));
  std::string kinds;
  for (const dtype each :
       {dtype_of<typename Numbers::value>, dtype_of<typename Numbers::stream>, dtype_of<master>})
    kinds += (kinds.empty() ? "" : ", ") + std::string(name_of(each));
  same.add("type of numbers", kinds + (how.fp8 ? ", products in fp8" : ""));
  const optimizer_settings& moved = how.optimizer;
  same.add("optimizer", std::string(name_of(moved.kind)));
  const std::pair<const char*, double> numbers_of_optimizer[] = {
      {"beta1", moved.beta1}, {"beta2", moved.beta2}, {"epsilon", moved.epsilon},
      {"decay", moved.decay}, {"clip", moved.clip},   {"momentum", moved.momentum}};
  for (const auto& [what, is] : numbers_of_optimizer)
    same.add(std::string("optimizer's ") + what, write_json(json(is)));
  same.add("bytes that a rank may hold", write_json(json(static_cast<double>(how.rooms.most))));
  same.add("average of weights", write_json(json(how.ema)));
  same.add("rate from block to block", write_json(json(how.layer_rate)));
  for (const named_pace& each : how.paces) same.add("pace of " + each.module, detail::text_of(each));
  pipeline_config& config = ready.config;
  config.batch = how.batch;
  config.modules = detail::choices_of(ready.plan, how.recompute, how.keep_outputs);
  detail::set_paces(config.modules, how, *model.of);
  config.seed = how.seed;
  config.optimizer = how.optimizer;
  config.ema = how.ema;
  config.deadline = how.deadline;
  config.resplit = how.resplit;
  config.each.ahead = how.ahead;
  config.each.fp8 = how.fp8;
  config.each.rooms = how.rooms;
  config.each.offload_folder = how.offload_folder;
  return ranks_on<Device>::template make<Numbers>(world, model, std::move(ready), how);
}

}  // namespace motet
