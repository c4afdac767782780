// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models.hpp"

#include <motet/backend/step_costs.hpp>
#include <motet/runtime/save/checkpoint.hpp>
#include <motet/runtime/train/device_trainer.hpp>
#include <motet/strategy/resplit.hpp>

#include <memory>
#include <string>
#include <tuple>

// What the program sees of a model. Each model is compiled in a translation unit of its own, as an instance
// of typed_session; the program is compiled once, whatever the models.
namespace motet::train_clip {

using pair_input = std::tuple<pictures, tokens>;

struct model_facts {
  std::string name;       // "tiny"
  std::string loss;       // "infonce" or "sigmoid"
  std::string precision;  // "fp32", "bf16" or "fp8"
  vit_config picture;
  text_config caption;
  index parameters = 0;  // numbers, without the gaps between tensors
};

struct session_config {
  std::string loss = "infonce";
  std::string precision = "fp32";
  int threads = 0;  // of a CPU
  trainer_config trainer;
  resplit_options resplit{};  // of a plan's replicas
  bool on_gpu = false;
  // multiprocessors of each rank of a plan, or one number for each; 0 or none: all ranks on all
  std::vector<int> sm_share{};
};

// Where and as what a run is saved.
struct save_target {
  std::filesystem::path run;
  std::string name;
  json state, description;
  std::size_t keep = 2;
};

class session {
 public:
  session() = default;
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  virtual ~session() = default;

  virtual const model_facts& facts() const = 0;
  virtual std::string machine() const = 0;
  virtual int threads() const = 0;
  virtual double measure_peak() = 0;
  virtual std::string peak_product() const = 0;  // which product that was
  virtual training_plan plan() = 0;
  virtual step_costs planned_costs() = 0;
  virtual void prepare() = 0;
  // Tells where batches will lie, which end after the result; a GPU reads them faster then.
  virtual std::shared_ptr<void> pin(const void* at, std::size_t bytes) = 0;

  // Which way the operations took so far, where there is more than one, and why; one sentence for each.
  virtual std::vector<std::string> paths() { return {}; }

  virtual double flops(const pair_input& batch) = 0;
  // Before step(): the batch of the step after it, which a GPU may take meanwhile.
  virtual void expect(const pair_input&) {}
  virtual step_result step(const pair_input& batch, double rate) = 0;
  virtual index updates() const = 0;
  virtual index embed_samples() const = 0;  // most for one call of embed
  virtual void embed(const pictures& batch, float* features) = 0;
  virtual void embed(const tokens& batch, float* features) = 0;
  virtual const step_costs& costs() const = 0;
  virtual void clear_costs() = 0;

  virtual const std::vector<parameter>& parameters() const = 0;
  virtual trained_state state() = 0;  // where another device has it, a copy
  virtual void set_state(const trained_state& from) = 0;
  // The folder of what was saved; empty where another process saves.
  virtual std::filesystem::path save(save_target to) {
    return motet::save(state(), to.run, to.name, std::move(to.state), std::move(to.description), to.keep);
  }
  virtual void load(const checkpoint& from, const std::string& name) {
    trained_state own = state();
    own.updates = motet::load(own, from, name);
    set_state(own);
  }

  // Of several processes, which all make the same calls, one tests, prints and writes; the others wait for it
  // in gather().
  virtual bool is_main() const { return true; }
  // Before embed() and state(): they see the weights of now, where ranks have parts of them.
  virtual void gather() {}
  // Until all that steps began is done, where a device works on by itself.
  virtual void finish() {}
  // Whether any process was asked to stop.
  virtual bool any(bool asked) { return asked; }
};

class plan_session;
struct plan_task;

using session_maker = std::unique_ptr<session> (*)(const session_config&);
using plan_session_maker = std::unique_ptr<plan_session> (*)(const plan_task&);

// Each model is compiled in units of its own, as many as one asks for: null where a program was linked
// without one (MOTET_MODELS).
[[gnu::weak]] std::unique_ptr<session> make_quick(const session_config& config);
[[gnu::weak]] std::unique_ptr<session> make_tiny(const session_config& config);
[[gnu::weak]] std::unique_ptr<session> make_small(const session_config& config);
[[gnu::weak]] std::unique_ptr<session> make_b16(const session_config& config);
[[gnu::weak]] std::unique_ptr<session> make_l14(const session_config& config);

// The same on a GPU, in units that nvcc compiles (MOTET_CUDA_MODELS).
[[gnu::weak]] std::unique_ptr<session> cuda_quick(const session_config& config);
[[gnu::weak]] std::unique_ptr<session> cuda_tiny(const session_config& config);
[[gnu::weak]] std::unique_ptr<session> cuda_small(const session_config& config);
[[gnu::weak]] std::unique_ptr<session> cuda_b16(const session_config& config);
[[gnu::weak]] std::unique_ptr<session> cuda_l14(const session_config& config);

// Spread over ranks by a plan; see plan_session.hpp. Each is a unit that takes as long to compile as the
// model's own, so the large models, which one trains elsewhere, have none; five lines as in plan_quick.cpp
// make one.
[[gnu::weak]] std::unique_ptr<plan_session> plan_quick(const plan_task& task);
[[gnu::weak]] std::unique_ptr<plan_session> plan_tiny(const plan_task& task);
[[gnu::weak]] std::unique_ptr<plan_session> plan_small(const plan_task& task);
[[gnu::weak]] std::unique_ptr<plan_session> cuda_plan_quick(const plan_task& task);
[[gnu::weak]] std::unique_ptr<plan_session> cuda_plan_tiny(const plan_task& task);
[[gnu::weak]] std::unique_ptr<plan_session> cuda_plan_small(const plan_task& task);

struct model_entry {
  const char* name;
  session_maker make, on_gpu;                // null: not compiled
  plan_session_maker spread, spread_on_gpu;  // null: not compiled
  const vit_config* picture;
  const text_config* caption;
};
inline const model_entry models[] = {
    {"quick", make_quick, cuda_quick, plan_quick, cuda_plan_quick, &quick_picture, &quick_caption},
    {"tiny", make_tiny, cuda_tiny, plan_tiny, cuda_plan_tiny, &tiny_picture, &tiny_caption},
    {"small", make_small, cuda_small, plan_small, cuda_plan_small, &small_picture, &small_caption},
    {"b16", make_b16, cuda_b16, nullptr, nullptr, &b16_picture, &b16_caption},
    {"l14", make_l14, cuda_l14, nullptr, nullptr, &l14_picture, &l14_caption}};

inline const model_entry& find_model(std::string_view name) {
  for (const model_entry& each : models)
    if (name == each.name) return each;
  return models[0];  // the command line allows no other
}

}  // namespace motet::train_clip
