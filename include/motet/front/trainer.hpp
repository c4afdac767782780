// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/local_group.hpp>
#include <motet/front/compiled.hpp>
#include <motet/front/embedder.hpp>
#include <motet/front/launched_world.hpp>
#include <motet/model/describe.hpp>
#include <motet/plan/describe/model_facts.hpp>
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/prove/require_plan.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#include <motet/runtime/save/pipeline_checkpoint.hpp>
#include <motet/runtime/stage/plan_choices.hpp>
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
#include <motet/backend/transport/mpi_group.hpp>
#include <motet/backend/transport/mpi_place.hpp>
#endif

#include <filesystem>
#include <memory>
#include <optional>

namespace motet {

struct trainer_options {
  index batch = 64;  // samples of a step
  // of a batch, without a plan: each passes through the towers twice, when memory holds fewer; negatives come
  // from all
  index parts = 1;
  std::uint64_t seed = 1;
  adamw_settings optimizer{};
  bool clamp_scale = true;  // keeps the loss's number at or below its limit, such as CLIP's scale below 100
  // seconds for a step; then the ranks are stopped and who waits for whom is told. 0: none
  double deadline = 600;
  resplit_options resplit{};  // whether samples move between replicas by the time that they take, and how far
};

namespace detail {

// The ranks of a trainer that live in this process, wherever the others are.
template <class Master>
class ranks_here {
 public:
  ranks_here() = default;
  ranks_here(const ranks_here&) = delete;
  ranks_here& operator=(const ranks_here&) = delete;
  virtual ~ranks_here() = default;

  virtual const program& of() const = 0;
  virtual std::vector<rank_memory> memory() const = 0;
  virtual void prepare() = 0;
  virtual step_result step(std::span<const void* const> inputs, double rate, timeline* record) = 0;
  virtual index updates() const = 0;
  virtual const Master* whole_module(std::size_t module) const = 0;
  virtual std::vector<Master> weights() = 0;
  virtual flat_state<Master> state() = 0;
  virtual void set_state(const flat_state<Master>& from) = 0;
  virtual std::filesystem::path save(const std::filesystem::path& run, const std::string& name, json state,
                                     json description, std::size_t keep) = 0;
  virtual void load(const checkpoint& from, const std::string& name) = 0;
};

template <class Numbers, class Host>
class hosted_ranks final : public ranks_here<typename Numbers::master> {
 public:
  using master = typename Numbers::master;

  hosted_ranks(const model_table<cpu::context, Numbers>& model, const score& order, pipeline_config config,
               const run_identity& same)
      : trained_(model, order, std::move(config)) {
    trained_.ranks().require_same(same);
  }
  const program& of() const override { return trained_.of(); }
  std::vector<rank_memory> memory() const override { return trained_.plan(); }
  void prepare() override { trained_.prepare(); }
  step_result step(std::span<const void* const> inputs, double rate, timeline* record) override {
    return trained_.step(inputs, rate, record);
  }
  index updates() const override { return trained_.updates(); }
  const master* whole_module(std::size_t module) const override { return trained_.whole_module(module); }
  std::vector<master> weights() override { return trained_.weights(); }
  flat_state<master> state() override { return trained_.state(); }
  void set_state(const flat_state<master>& from) override { trained_.set_state(from); }
  std::filesystem::path save(const std::filesystem::path& run, const std::string& name, json state,
                             json description, std::size_t keep) override {
    std::filesystem::path made =
        motet::save(trained_, run, name, std::move(state), std::move(description), keep);
    trained_.ranks().note_checkpoint(run.string() + ", step " + std::to_string(updates()));
    return made;
  }
  void load(const checkpoint& from, const std::string& name) override { motet::load(trained_, from, name); }

 private:
  model_trainer<cpu::device, Numbers, Host> trained_;
};

// All modules on one rank; in parts, every part runs forward again before its backward.
inline plan plan_of_one(const list<module_facts>& facts, index parts) {
  plan one;
  for (const module_facts& each : facts) {
    module_plan own = on_ranks(each.name, 0, {}, static_cast<int>(parts));
    if (parts > 1) own.stash = 0;
    one.modules.push(own);
  }
  one.cluster.ranks = 1;
  return one;
}

}  // namespace detail

// Trains a model on the ranks of a plan, wherever launch() found them: as threads of this process, or one in
// each of many processes, of which all then make the same calls. Without a plan all modules are on one rank,
// which has all processors. A plan is proven before anything starts, and any plan gives the loss and
// gradients of one rank within rounding. After the first step, a step allocates nothing.
template <class Model, class Numbers = fp32>
class trainer {
 public:
  using master = typename Numbers::master;
  using batch = typename Model::batch;
  template <fixed_string Name>
  using input = typename Model::template module_at<Model::template position<Name>()>::input;

  explicit trainer(const launched_world& world, const trainer_options& options = {})
      : trainer(world, detail::plan_of_one(facts_of<Model>(), checked(options).parts), options) {}
  trainer(const launched_world& world, const plan& how, const trainer_options& options)
      : main_(world.is_main()) {
    proven_plan proven = require_proven(how, facts_of<Model>(), options.batch);
    plan_ = std::move(proven.value);
    world.require_ranks(plan_.cluster.ranks);
    threads_ = world.threads(world.is_one_of_many() ? 1 : plan_.cluster.ranks);
    run_identity same;
    same.add("model", write_json(describe<Model>()));
    same.add("plan", write_json(plan_json(plan_)));
    same.add("batch", std::to_string(options.batch));
    same.add("seed", std::to_string(options.seed));
    const auto make = [&]<class Host>() {
      here_ = std::make_unique<detail::hosted_ranks<Numbers, Host>>(
          table_of_model<Model, cpu::context, Numbers>, proven.order, config_of(options), same);
    };
#if defined(MOTET_HAS_MPI) && MOTET_HAS_MPI
    if (world.is_one_of_many()) make.template operator()<process_rank<mpi::world, mpi::endpoint>>();
#endif
    if (!world.is_one_of_many()) make.template operator()<thread_ranks<local::world, local::endpoint>>();
  }

  // What is proven, and what each rank that lives here will hold, before anything is allocated.
  const plan& of() const { return plan_; }
  const program& order() const { return here_->of(); }
  std::vector<rank_memory> memory() const { return here_->memory(); }
  // Whether it is this process that tells, tests and writes.
  bool is_main() const { return main_; }
  int threads() const { return threads_; }  // of each rank

  // Takes all memory and draws the weights. What needs them does it otherwise.
  void prepare() {
    if (!prepared_) here_->prepare();
    prepared_ = true;
  }
  // Forward, backward, clipping and one update at this learning rate. When a number is not finite: MT-R01,
  // and the weights are as before.
  step_result step(const batch& whole, double rate, timeline* record = nullptr) {
    prepare();
    gathered_.reset();
    return here_->step(inputs_of<Model>(whole), rate, record);
  }
  // Features of any number of a module's samples, rows of length one. All processes call it; where ranks hold
  // parts of the module, each process brings its weights together first.
  template <fixed_string Name>
  void embed(const input<Name>& samples, master* out) {
    constexpr std::size_t module = Model::template position<Name>();
    prepare();
    if (!embedder_) embedder_.emplace(table_of_model<Model, cpu::context, Numbers>, threads_);
    const master* own = here_->whole_module(module);
    if (own == nullptr) {
      if (!gathered_) gathered_ = here_->weights();
      own = gathered_->data() + Model::offsets[module];
    }
    embedder_->embed(module, &samples, own, out);
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
    gathered_.reset();
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
    gathered_.reset();
    here_->load(from, name);
  }

 private:
  static const trainer_options& checked(const trainer_options& options) {
    if (options.batch < 1 || options.parts < 1 || options.parts > options.batch)
      fail(bad_training_option, "a batch of " + std::to_string(options.batch) + " samples in " +
                                    std::to_string(options.parts) + " parts");
    return options;
  }
  pipeline_config config_of(const trainer_options& options) const {
    pipeline_config out;
    out.batch = options.batch;
    out.modules = choices_of(plan_);
    out.seed = options.seed;
    out.optimizer = options.optimizer;
    out.clamp_scale = options.clamp_scale;
    out.threads = threads_;
    out.deadline = options.deadline;
    out.resplit = options.resplit;
    return out;
  }

  bool main_, prepared_ = false;
  plan plan_;
  int threads_ = 1;
  std::unique_ptr<detail::ranks_here<master>> here_;
  std::optional<embedder<Numbers>> embedder_;
  std::optional<std::vector<master>> gathered_;  // weights, until they change
};

}  // namespace motet
