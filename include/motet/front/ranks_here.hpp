// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/embedder.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/save/pipeline_checkpoint.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace motet {

// A module's own pace: see module_pace.
struct named_pace {
  std::string module;
  double rate = 1;                          // share of the learning rate
  std::optional<double> decay{};            // of its weights, in place of the optimizer's
  std::optional<rate_schedule> schedule{};  // its own, in place of the rates that steps are given
  std::optional<double> layers{};           // in place of layer_rate
};

struct trainer_options {
  index batch = 64;  // samples of a step
  // of a batch, without a plan: each passes through the towers twice, when memory holds fewer; negatives come
  // from all
  index parts = 1;
  std::uint64_t seed = 1;
  optimizer_settings optimizer{};
  double ema = 0;                   // decay of the moving average of the weights; 0: there is none
  double layer_rate = 1;            // the rate of a block, as a share of that of the block above it
  std::vector<named_pace> paces{};  // of modules that learn at another pace than the others
  bool clamp_scale = true;  // keeps the loss's number at or below its limit, such as CLIP's scale below 100
  // seconds for a step; then the ranks are stopped and who waits for whom is told. 0: none
  double deadline = 600;
  resplit_options resplit{};  // whether samples move between replicas by the time that they take, and how far
  // Of GPUs: room for a second batch, see trainer::expect(); linear layers in fp8 where they would be in
  // bf16; and the multiprocessors that each of several ranks computes on, one number for all or one for each
  // (none, or 0: all ranks on all).
  bool ahead = false, fp8 = false;
  std::vector<int> processors{};
};

// The ranks of a trainer that live in this process, wherever the others are and whatever they compute on.
template <class Numbers, class Device>
class ranks_here {
 public:
  using master = typename Numbers::master;
  using model_type = model_table<typename Device::context, Numbers>;

  ranks_here(const model_type& model, int threads) : model_(model), threads_(threads) {}
  ranks_here(const ranks_here&) = delete;
  ranks_here& operator=(const ranks_here&) = delete;
  virtual ~ranks_here() = default;

  const model_type& model() const { return model_; }
  int threads() const { return threads_; }  // of each rank
  // What tests and measures here beside the ranks; of a GPU what the first rank here has of it.
  virtual Device& device() = 0;

  virtual const program& of() const = 0;
  virtual std::vector<rank_memory> memory() = 0;
  virtual void prepare() = 0;
  // The batch of the step after the next one, where there is room for it.
  virtual void expect(std::span<const void* const>) = 0;
  virtual step_result step(std::span<const void* const> inputs, double rate, timeline* record) = 0;
  virtual index updates() const = 0;
  // Brings weights together that embed() needs; called by all processes.
  virtual void gather(weights_of which) = 0;
  virtual void embed(std::size_t module, const void* input, master* out) = 0;
  virtual std::vector<master> weights() = 0;
  virtual std::vector<master> averages() = 0;
  virtual flat_state<master> state() = 0;
  virtual void set_state(const flat_state<master>& from) = 0;
  virtual std::filesystem::path save(const std::filesystem::path& run, const std::string& name, json state,
                                     json description, std::size_t keep) = 0;
  virtual void load(const checkpoint& from, const std::string& name) = 0;
  virtual step_costs costs() = 0;
  virtual void clear_costs() = 0;
  virtual double sum(double own) = 0;
  virtual void require_same(const run_identity&) = 0;

 private:
  const model_type& model_;
  int threads_;
};

// Ranks that a host runs.
template <class Numbers, class Device, class Host>
class hosted_ranks final : public ranks_here<Numbers, Device> {
 public:
  using base = ranks_here<Numbers, Device>;
  using typename base::master;
  using typename base::model_type;

  hosted_ranks(const model_type& model, const score& order, pipeline_config config, const run_identity& same)
      : base(model, config.each.threads), fp8_(config.each.fp8), trained_(model, order, std::move(config)) {
    trained_.ranks().require_same(same);
  }
  Host& host() { return trained_.ranks(); }

  Device& device() override {
    if (device_) return *device_;
    if constexpr (Device::shares_memory) {
      device_.emplace(this->threads());
    } else {
      device_.emplace([this]() -> auto& { return first_end().on(); });
      device_->set_fp8(fp8_);
    }
    return *device_;
  }
  const program& of() const override { return trained_.of(); }
  std::vector<rank_memory> memory() override { return trained_.forecast(); }
  void prepare() override { trained_.prepare(); }
  void expect(std::span<const void* const> next) override { trained_.expect(next); }
  step_result step(std::span<const void* const> inputs, double rate, timeline* record) override {
    gathered_.reset();
    return trained_.step(inputs, rate, record);
  }
  index updates() const override { return trained_.updates(); }
  void gather(weights_of which) override {
    if (gathered_ && gathered_of_ == which) return;
    gathered_.reset();
    gathered_of_ = which;
    if (which == weights_of::averages) {
      gathered_ = trained_.averages();
      return;
    }
    bool whole = true;
    for (std::size_t k = 0; k < this->model().nets.size(); ++k)
      whole = whole && trained_.find_whole(k).weights != nullptr;
    if (!whole) gathered_ = trained_.weights();
  }
  void embed(std::size_t module, const void* input, master* out) override {
    if (!gathered_) gather(weights_of::last_step);
    if (!embedder_) embedder_.emplace(this->model(), this->device());
    const auto whole = trained_.find_whole(module);
    if (gathered_) embedder_->embed(module, input, gathered_->data() + trained_.offset_of(module), out);
    else if constexpr (Device::shares_memory) embedder_->embed(module, input, whole.weights, out);
    else
      embedder_->embed_on(trained_.between_steps(whole.rank), whole.samples, module, input, whole.weights,
                          out);
  }
  std::vector<master> weights() override { return trained_.weights(); }
  std::vector<master> averages() override { return trained_.averages(); }
  flat_state<master> state() override { return trained_.state(); }
  void set_state(const flat_state<master>& from) override {
    gathered_.reset();
    trained_.set_state(from);
  }
  std::filesystem::path save(const std::filesystem::path& run, const std::string& name, json state,
                             json description, std::size_t keep) override {
    std::filesystem::path made =
        motet::save(trained_, run, name, std::move(state), std::move(description), keep);
    trained_.ranks().note_checkpoint(run.string() + ", step " + std::to_string(updates()));
    return made;
  }
  void load(const checkpoint& from, const std::string& name) override {
    gathered_.reset();
    motet::load(trained_, from, name);
  }
  step_costs costs() override { return trained_.costs(); }
  void clear_costs() override { trained_.clear_costs(); }
  double sum(double own) override {
    trained_.ranks().sum(&own, 1);
    return own;
  }
  void require_same(const run_identity& identity) override { trained_.ranks().require_same(identity); }

 private:
  auto& first_end() { return trained_.ranks().end(trained_.ranks().local_ranks().front()); }

  bool fp8_;
  model_trainer<Device, Numbers, Host> trained_;
  std::optional<Device> device_;
  std::optional<embedder<Numbers, Device>> embedder_;
  std::optional<std::vector<master>> gathered_;  // weights, until they change
  weights_of gathered_of_ = weights_of::last_step;
};

}  // namespace motet
