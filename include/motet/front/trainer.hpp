// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/cpu_ranks.hpp>
#include <motet/model/describe.hpp>
#include <motet/plan/describe/model_facts.hpp>
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/runtime/stage/count_step.hpp>
#include <motet/runtime/stage/foretell.hpp>
#include <motet/runtime/stage/plan_choices.hpp>

#include <cmath>
#include <utility>

namespace motet {

namespace detail {

// All modules on one rank; in parts, every part runs forward again before its backward, unless samples have
// losses of their own: then each part is done with before the next one.
inline plan plan_of_one(const list<module_facts>& facts, index parts, bool own_loss) {
  plan one;
  const bool through = has_edges(facts);
  if (through) one.schedule = one_f_one_b::name;
  for (const module_facts& each : facts) {
    module_plan own = on_ranks(each.name, 0, {}, static_cast<int>(parts));
    if (through || (parts > 1 && own_loss)) own.group = 1;
    else if (parts > 1) own.stash = 0;
    one.modules.push(own);
  }
  one.cluster.ranks = 1;
  return one;
}

}  // namespace detail

// Trains a model on the ranks of a plan, wherever launch() found them: as threads of this process, or one in
// each of many processes, of which all then make the same calls. Without a plan all modules are on one rank,
// which has all processors, or a GPU. A plan is proven before anything starts, and any plan gives the loss
// and gradients of one rank within rounding. After the first step, a step allocates nothing.
// Asks for: a world of as many ranks as the plan has, and batches of `batch` samples. All processes
// make the same calls.
// Memory: what memory() says, counted by a dry run; prepare(), or the first step, takes it all.
// Errors: MT-P74, MT-R01, MT-R02, MT-R03, MT-R07, MT-R08, MT-R09
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   double first_loss(const launched_world& world, const pair::batch& batch) {
//     trainer<pair> train(world, {.batch = 64, .optimizer = {.decay = 0.1}});
//     return train.step(batch, 1e-3).loss;
//   }
template <class Model, class Numbers = fp32, class Device = cpu::device>
class trainer {
 public:
  using master = typename Numbers::master;
  using batch = typename Model::batch;
  template <fixed_string Name>
  using input = typename Model::template module_at<Model::template position<Name>()>::input;

  explicit trainer(const launched_world& world, const trainer_options& how = {})
      : trainer(world,
                detail::plan_of_one(facts_of<Model>(), checked(how).parts, is_own_loss<typename Model::loss>),
                how) {}
  trainer(const launched_world& world, const plan& from, const trainer_options& how)
      : main_(world.is_main()), batch_(how.batch) {
    proven_plan proven = require_proven(from, facts_of<Model>(), how.batch);
    plan_ = std::move(proven.value);
    world.require_ranks(plan_.cluster.ranks);
    run_identity same;
    same.add("model", write_json(describe<Model>()));
    same.add("plan", write_json(plan_json(plan_)));
    same.add("batch", std::to_string(how.batch));
    same.add("seed", std::to_string(how.seed));
    std::string kinds;
    for (const dtype each :
         {dtype_of<typename Numbers::value>, dtype_of<typename Numbers::stream>, dtype_of<master>})
      kinds += (kinds.empty() ? "" : ", ") + std::string(name_of(each));
    same.add("type of numbers", kinds + (how.fp8 ? ", products in fp8" : ""));
    const adamw_settings& moved = how.optimizer;
    const std::pair<const char*, double> numbers_of_optimizer[] = {{"beta1", moved.beta1},
                                                                   {"beta2", moved.beta2},
                                                                   {"epsilon", moved.epsilon},
                                                                   {"decay", moved.decay},
                                                                   {"clip", moved.clip}};
    for (const auto& [what, is] : numbers_of_optimizer)
      same.add(std::string("optimizer's ") + what, write_json(json(is)));
    same.add("limit of the loss's number", how.clamp_scale ? "kept" : "none");
    for (const named_pace& each : how.paces)
      same.add("pace of " + each.module, write_json(json(json::array{each.rate, each.decay})));
    pipeline_config config;
    config.batch = how.batch;
    config.modules = choices_of(plan_);
    set_paces(config.modules, how.paces);
    config.seed = how.seed;
    config.optimizer = how.optimizer;
    config.clamp_scale = how.clamp_scale;
    config.deadline = how.deadline;
    config.resplit = how.resplit;
    config.each.ahead = how.ahead;
    config.each.fp8 = how.fp8;
    here_ =
        ranks_on<Device>::template make<Model, Numbers>(world, proven.order, std::move(config), same, how);
  }

  // What is proven, and what each rank that lives here will hold, before anything is allocated.
  const plan& of() const { return plan_; }
  const program& order() const { return here_->of(); }
  std::vector<rank_memory> memory() const { return here_->memory(); }
  // Whether it is this process that tells, tests and writes.
  bool is_main() const { return main_; }
  int threads() const { return here_->threads(); }  // of each rank

  // Takes all memory and draws the weights. What needs them does it otherwise.
  void prepare() {
    if (!prepared_) here_->prepare();
    prepared_ = true;
  }
  // Forward, backward, clipping and one update at this learning rate, which is the same in all processes:
  // that of the first step is compared. When a number is not finite: MT-R01, and the weights are as before.
  step_result step(const batch& whole, double rate, timeline* record = nullptr) {
    prepare();
    return here_->step(inputs_of<Model>(whole), rate, record);
  }
  // Before step(): the batch of the step after it, which a device may take meanwhile. It stays as it is until
  // its own step has returned.
  void expect(const batch& next) { here_->expect(inputs_of<Model>(next)); }
  // Features of any number of a module's samples, rows of length one. All processes call it; where ranks hold
  // parts of the module, each process brings its weights together first. After gather(), and until weights
  // change, a process may call it by itself.
  template <fixed_string Name>
  void embed(const input<Name>& samples, master* out) {
    static_assert(
        !gives_rows<typename Model::template module_at<Model::template position<Name>()>::net> &&
            takes_rows<typename Model::template module_at<Model::template position<Name>()>::net> == 0,
        "motet: a module that feeds others, or is fed, has no features of its own to embed with");
    prepare();
    here_->embed(Model::template position<Name>(), &samples, out);
  }
  void gather() {
    prepare();
    here_->gather();
  }

  index updates() const { return here_->updates(); }
  // All weights in the model's flat order (Model::parameters()), and with them what a run needs to go on
  // exactly; called by all processes.
  std::vector<master> weights() {
    prepare();
    return here_->weights();
  }
  flat_state<master> state() {
    prepare();
    return here_->state();
  }
  void set_state(const flat_state<master>& from) {
    prepare();
    here_->set_state(from);
  }
  // A checkpoint of all ranks, of which each writes its part, in a folder of the run; any other plan goes on
  // from it. Called by all processes; returns the folder on the one that finishes it. `name` is the model's,
  // `state` the program's own.
  std::filesystem::path save(const std::filesystem::path& run, const std::string& name, json state = {},
                             std::size_t keep = 2) {
    prepare();
    return here_->save(run, name, std::move(state), describe<Model>(), keep);
  }
  void load(const checkpoint& from, const std::string& name) {
    prepare();
    here_->load(from, name);
  }

  // What tests and measures here beside the ranks: describe(), measure_peak<T>(), pin().
  Device& device() { return here_->device(); }
  // Seconds by section since the last clear, where threads of the host compute; FLOPs and bytes of a step by
  // section, counted; and the FLOPs of this batch, nothing computed twice, which utilisation is counted by.
  step_costs costs() { return here_->costs(); }
  void clear_costs() { here_->clear_costs(); }
  step_costs foretold_costs() const { return count_step(here_->model(), batch_); }
  double flops(const batch& of) const {
    const batch_inputs<Model> inputs(of);
    return count_step(here_->model(), here_->model().nets[0]->of->samples(inputs[0]), inputs).flops();
  }
  // The work of each place of the plan, as the ranks will run it.
  program_work work() const { return foretell(here_->model(), order(), choices_of(plan_), batch_); }
  // Over all processes, which all call it: a sum; and that they have the same of what decides results, such
  // as settings and data, else none goes on and the error names what differs, where, and both values.
  double sum(double own) { return here_->sum(own); }
  void require_same(const run_identity& identity) { here_->require_same(identity); }

 private:
  static void set_paces(std::vector<module_choice>& modules, const std::vector<named_pace>& paces) {
    modules.resize(Model::size);
    std::array<bool, Model::size> known{};
    for (const named_pace& each : paces) {
      std::size_t k = 0;
      while (k < Model::size && Model::names[k] != each.module) ++k;
      if (k == Model::size)
        fail(bad_training_option, "a pace of " + std::string(not_among(each.module, Model::names).view()));
      const auto refuse = [&](const std::string& what) {
        fail(bad_training_option, "the pace of " + each.module + " " + what);
      };
      if (std::exchange(known[k], true)) refuse("is given twice");
      if (Model::frozen[k]) refuse("is of a frozen module, which does not learn");
      for (const double number : {each.rate, each.decay})
        if (!std::isfinite(number) || number < 0)
          refuse(sentence({"is ", std::to_string(number), ", wanted 0 or more"}));
      modules[k].pace = {each.rate, each.decay};
    }
  }
  static const trainer_options& checked(const trainer_options& how) {
    if (how.batch < 1 || how.parts < 1 || how.parts > how.batch)
      fail(bad_training_option,
           "a batch of " + std::to_string(how.batch) + " samples in " + std::to_string(how.parts) + " parts");
    return how;
  }

  bool main_, prepared_ = false;
  index batch_;
  plan plan_;
  std::unique_ptr<ranks_here<Numbers, Device>> here_;
};

}  // namespace motet
