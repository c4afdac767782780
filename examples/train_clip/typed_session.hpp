// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"

#include <motet/backend/cpu/device.hpp>

namespace motet::train_clip {

template <vit_config Picture, text_config Caption, class Loss, class Numbers>
class typed_session final : public session {
 public:
  using picture_module = module<"picture", vit<Picture>>;
  using caption_module = module<"caption", text_tower<Caption>>;
  using net = model<join<Loss, picture_module, caption_module>>;

  typed_session(const char* name, const session_config& config) : device_(config.threads), trainer_(device_, config.trainer) {
    facts_ = {name, config.loss, config.precision, Picture, Caption, 0};
    for (const parameter& each : trainer_.parameters()) facts_.parameters += each.size();
  }

  const model_facts& facts() const override { return facts_; }
  std::string machine() const override { return device_.describe(); }
  int threads() const override { return device_.threads(); }
  double measure_peak() override { return device_.template measure_peak<typename Numbers::value>(); }
  training_plan plan() override { return trainer_.plan(); }
  cpu::profile planned_costs() override { return trainer_.dry_run().costs; }
  void prepare() override { trainer_.prepare(); }

  double flops(const pair_input& batch) override { return trainer_.flops(batch); }
  step_result step(const pair_input& batch, double rate) override { return trainer_.step(batch, rate); }
  index updates() const override { return trainer_.updates(); }
  index embed_samples() const override { return trainer_.part_samples(); }
  void embed(const pictures& batch, float* features) override { trainer_.template embed<0>(batch, features); }
  void embed(const tokens& batch, float* features) override { trainer_.template embed<1>(batch, features); }
  const cpu::profile& costs() const override { return device_.costs(); }
  void clear_costs() override { device_.clear_costs(); }

  trained_state state() override { return trainer_.state(); }
  void set_updates(index updates) override { trainer_.set_updates(updates); }

 private:
  cpu::device device_;
  trainer<net, cpu::device, Numbers> trainer_;
  model_facts facts_;
};

// The nets do not depend on the loss, so both losses share their code.
template <vit_config Picture, text_config Caption>
std::unique_ptr<session> make_session(const char* name, const session_config& config) {
  const bool sigmoid = config.loss == "sigmoid", half = config.precision == "bf16";
  if (sigmoid && half) return std::make_unique<typed_session<Picture, Caption, pairwise_sigmoid, mixed_bf16>>(name, config);
  if (sigmoid) return std::make_unique<typed_session<Picture, Caption, pairwise_sigmoid, fp32>>(name, config);
  if (half) return std::make_unique<typed_session<Picture, Caption, info_nce, mixed_bf16>>(name, config);
  return std::make_unique<typed_session<Picture, Caption, info_nce, fp32>>(name, config);
}

}  // namespace motet::train_clip
