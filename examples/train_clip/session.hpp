// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/context.hpp>
#include <motet/nn/text.hpp>
#include <motet/nn/vit.hpp>
#include <motet/runtime/trainer.hpp>

#include <memory>
#include <string>
#include <tuple>

// What the program sees of a model. Each model is compiled in a translation unit of its own, as an instance of typed_session; the program is
// compiled once, whatever the models.
namespace motet::train_clip {

using pair_input = std::tuple<pictures, tokens>;

struct model_facts {
  std::string name;       // "tiny"
  std::string loss;       // "infonce" or "sigmoid"
  std::string precision;  // "fp32" or "bf16"
  vit_config picture;
  text_config caption;
  index parameters = 0;  // numbers, without the gaps between tensors
};

struct session_config {
  std::string loss = "infonce";
  std::string precision = "fp32";
  int threads = 0;
  trainer_config trainer;
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
  virtual training_plan plan() = 0;
  virtual cpu::profile planned_costs() = 0;
  virtual void prepare() = 0;

  virtual double flops(const pair_input& batch) = 0;
  virtual step_result step(const pair_input& batch, double rate) = 0;
  virtual index updates() const = 0;
  virtual index embed_samples() const = 0;  // most for one call of embed
  virtual void embed(const pictures& batch, float* features) = 0;
  virtual void embed(const tokens& batch, float* features) = 0;
  virtual const cpu::profile& costs() const = 0;
  virtual void clear_costs() = 0;

  virtual trained_state state() = 0;
  virtual void set_updates(index updates) = 0;
};

using session_maker = std::unique_ptr<session> (*)(const session_config&);

std::unique_ptr<session> make_tiny(const session_config& config);
std::unique_ptr<session> make_small(const session_config& config);
std::unique_ptr<session> make_b16(const session_config& config);
std::unique_ptr<session> make_l14(const session_config& config);
std::unique_ptr<session> make_quick(const session_config& config);

struct model_entry {
  const char* name;
  session_maker make;
};
inline constexpr model_entry models[] = {{"quick", make_quick}, {"tiny", make_tiny}, {"small", make_small}, {"b16", make_b16}, {"l14", make_l14}};

}  // namespace motet::train_clip
