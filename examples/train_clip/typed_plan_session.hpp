// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan_session.hpp"

#include <motet/backend/cpu/device.hpp>
#include <motet/backend/transport/local_group.hpp>
#include <motet/model/describe.hpp>
#include <motet/plan/files/plan_json.hpp>
#include <motet/plan/prove/plan_score.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/save/pipeline_checkpoint.hpp>
#include <motet/runtime/stage/plan_choices.hpp>
#if defined(MOTET_HAS_MPI)
#include <motet/backend/transport/mpi_group.hpp>
#include <motet/runtime/ranks/process_rank.hpp>
#endif

namespace motet::train_clip {

// Host: where the ranks live. Tests and predictions are made by a session of one rank, which is filled with
// the weights when they are asked for.
template <class Device, vit_config Picture, text_config Caption, class Loss, class Numbers, class Host>
class typed_plan_session final : public plan_session {
 public:
  using picture_module = module<"picture", vit<Picture>>;
  using caption_module = module<"caption", text_tower<Caption>>;
  using net = model<join<Loss, picture_module, caption_module>>;
  static constexpr bool processes = requires(Host& host) { host.barrier(); };

  typed_plan_session(const plan_task& task, std::unique_ptr<session> alone)
      : task_(task), alone_(std::move(alone)), train_(order_of(task.value), config_of(task)) {
    if constexpr (requires(Host& host) { host.world().share(0); })
      train_.ranks().world().share(task.config.sm_share);
    if constexpr (processes) {
      run_identity same;
      same.add("model", alone_->facts().name + "/" + alone_->facts().loss);
      same.add("plan", write_json(plan_json(task.value)));
      same.add("batch", std::to_string(task.config.trainer.batch));
      same.add("seed", std::to_string(task.config.trainer.seed));
      train_.ranks().require_same(same);
    }
  }

  const model_facts& facts() const override { return alone_->facts(); }
  std::string machine() const override { return alone_->machine(); }
  int threads() const override { return alone_->threads(); }
  // Of all processes, which measure at the same time.
  double measure_peak() override {
    double peak = alone_->measure_peak();
    train_.ranks().sum(&peak, 1);
    return peak;
  }
  std::string peak_product() const override { return alone_->peak_product(); }
  training_plan plan() override {
    training_plan out = alone_->plan();
    out.weights = out.gradients = out.optimizer = out.arena = out.scratch = 0;
    for (const rank_memory& each : memory()) {
      out.weights += each.stages.weights;
      out.gradients += each.stages.gradients;
      out.optimizer += each.stages.optimizer;
      out.arena +=
          each.total() - each.stages.weights - each.stages.gradients - each.stages.optimizer - each.scratch;
      out.scratch += each.scratch;
    }
    return out;
  }
  step_costs planned_costs() override { return alone_->planned_costs(); }
  void prepare() override { train_.prepare(); }
  std::shared_ptr<void> pin(const void*, std::size_t) override { return nullptr; }

  double flops(const pair_input& batch) override { return alone_->flops(batch); }
  step_result step(const pair_input& batch, double rate) override { return train_.step(batch, rate); }
  index updates() const override { return train_.updates(); }
  index embed_samples() const override { return alone_->embed_samples(); }
  void embed(const pictures& batch, float* features) override { alone_->embed(batch, features); }
  void embed(const tokens& batch, float* features) override { alone_->embed(batch, features); }
  const step_costs& costs() const override { return alone_->costs(); }
  void clear_costs() override { alone_->clear_costs(); }

  const std::vector<parameter>& parameters() const override { return alone_->parameters(); }
  trained_state state() override { return alone_->state(); }
  void set_state(const trained_state& from) override {
    const auto flat = [](const float* data, index count) { return std::vector<float>(data, data + count); };
    train_.set_state({flat(from.weights, from.size), flat(from.first, from.trainable),
                      flat(from.second, from.trainable), from.updates});
  }
  void gather() override {
    const std::vector<float> weights = train_.weights();
    if (!is_main()) return;
    if (!filled_) alone_->prepare();
    filled_ = true;
    const trained_state own = alone_->state();
    std::copy(weights.begin(), weights.end(), own.weights);
    alone_->set_state(own);
  }
  bool is_main() const override { return task_.by.rank == 0; }
  bool any(bool asked) override {
    double sum = asked ? 1 : 0;
    train_.ranks().sum(&sum, 1);
    return sum > 0;
  }

  std::filesystem::path save(save_target to) override {
    const auto made =
        motet::save(train_, to.run, to.name, std::move(to.state), std::move(to.description), to.keep);
    if constexpr (processes)
      train_.ranks().note_checkpoint(to.run.string() + ", step " + std::to_string(updates()));
    return made;
  }
  void load(const checkpoint& from, const std::string& name) override { motet::load(train_, from, name); }

  const program& of() const override { return train_.of(); }
  std::vector<rank_memory> memory() const override { return train_.plan(); }
  program_work work() const override {
    return foretell<net, typename Device::context, Numbers>(of(), choices_of(task_.value),
                                                            task_.config.trainer.batch);
  }

 private:
  static score order_of(const motet::plan& from) {
    score order;
    enforce(write_plan(from, motet::facts_of<net>(), order), "the plan");
    return order;
  }
  static pipeline_config config_of(const plan_task& task) {
    const trainer_config& from = task.config.trainer;
    pipeline_config out;
    out.batch = from.batch;
    out.modules = choices_of(task.value);
    out.seed = from.seed;
    out.optimizer = from.optimizer;
    out.clamp_scale = from.clamp_scale;
    out.resplit = task.config.resplit;
    return out;
  }
  plan_task task_;
  std::unique_ptr<session> alone_;
  bool filled_ = false;
  pipeline_trainer<net, Device, Numbers, Host> train_;
};

template <class Device, vit_config Picture, text_config Caption, class Numbers, class Host>
std::unique_ptr<plan_session> make_plan_session(const plan_task& task, session_maker alone) {
  if (task.config.loss == "sigmoid")
    return std::make_unique<typed_plan_session<Device, Picture, Caption, pairwise_sigmoid, Numbers, Host>>(
        task, alone(task.config));
  return std::make_unique<typed_plan_session<Device, Picture, Caption, info_nce, Numbers, Host>>(
      task, alone(task.config));
}

// Ranks are threads of this process, or processes. Products are in fp32: every number type is another copy of
// all layers for the compiler.
template <vit_config Picture, text_config Caption>
std::unique_ptr<plan_session> make_plan_session(const plan_task& task, session_maker alone) {
  if (task.config.precision != "fp32")
    fail(bad_option_value, "--plan runs with --precision fp32, got " + task.config.precision);
  if (task.config.trainer.parts != 1)
    fail(bad_option_value, "--plan has microbatches of its own; leave --accumulate out");
#if defined(MOTET_HAS_MPI)
  if (task.by.ranks > task.by.threads)
    return make_plan_session<cpu::device, Picture, Caption, fp32, process_rank<mpi::world, mpi::endpoint>>(
        task, alone);
#endif
  return make_plan_session<cpu::device, Picture, Caption, fp32, thread_ranks<local::world, local::endpoint>>(
      task, alone);
}

}  // namespace motet::train_clip
