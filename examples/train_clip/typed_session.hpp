// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"

namespace motet::train_clip {

// Device: where it trains; compiled by whoever has it.
template <class Device, vit_config Picture, text_config Caption, class Loss, class Numbers>
class typed_session final : public session {
 public:
  using picture_module = module<"picture", vit<Picture>>;
  using caption_module = module<"caption", text_tower<Caption>>;
  using net = model<join<Loss, picture_module, caption_module>>;

  typed_session(const char* name, const session_config& config)
      : device_(threads_of(config)), trainer_(device_, config.trainer) {
    if constexpr (requires { device_.set_fp8(true); }) device_.set_fp8(config.precision == "fp8");
    facts_ = {name, config.loss, config.precision, Picture, Caption, 0};
    for (const parameter& each : trainer_.parameters()) facts_.parameters += each.size();
  }

  const model_facts& facts() const override { return facts_; }
  std::string machine() const override { return device_.describe(); }
  int threads() const override { return device_.threads(); }
  double measure_peak() override { return device_.template measure_peak<typename Numbers::value>(); }
  std::string peak_product() const override { return Device::peak_product; }
  training_plan plan() override { return trainer_.plan(); }
  step_costs planned_costs() override { return trainer_.dry_run().costs; }
  void prepare() override { trainer_.prepare(); }
  std::shared_ptr<void> pin(const void* at, std::size_t bytes) override { return device_.pin(at, bytes); }
  std::vector<std::string> paths() override {
    std::vector<std::string> told;
    if constexpr (requires { device_.paths(); })
      for (const auto& each : device_.paths()) told.push_back(each.sentence());
    return told;
  }

  double flops(const pair_input& batch) override { return trainer_.flops(batch); }
  void expect(const pair_input& next) override {
    if (trainer_.config().ahead) trainer_.expect(next);
  }
  step_result step(const pair_input& batch, double rate) override { return trainer_.step(batch, rate); }
  index updates() const override { return trainer_.updates(); }
  void finish() override {
    if constexpr (!Device::shares_memory) device_.finish();
  }
  index embed_samples() const override { return trainer_.part_samples(); }
  void embed(const pictures& batch, float* features) override { trainer_.template embed<0>(batch, features); }
  void embed(const tokens& batch, float* features) override { trainer_.template embed<1>(batch, features); }
  const step_costs& costs() const override { return device_.costs(); }
  void clear_costs() override { device_.clear_costs(); }

  const std::vector<parameter>& parameters() const override { return trainer_.parameters(); }
  trained_state state() override { return trainer_.state(); }
  void set_state(const trained_state& from) override { trainer_.set_state(from); }

 private:
  // A GPU has no threads of the host to choose.
  static int threads_of(const session_config& config) { return Device::shares_memory ? config.threads : -1; }

  Device device_;
  device_trainer<net, Device, Numbers> trainer_;
  model_facts facts_;
};

// The nets do not depend on the loss, so both losses share their code.
template <class Device, vit_config Picture, text_config Caption>
std::unique_ptr<session> make_session(const char* name, const session_config& config) {
  const bool sigmoid = config.loss == "sigmoid", half = config.precision != "fp32";
  if (sigmoid && half)
    return std::make_unique<typed_session<Device, Picture, Caption, pairwise_sigmoid, mixed_bf16>>(name,
                                                                                                   config);
  if (sigmoid)
    return std::make_unique<typed_session<Device, Picture, Caption, pairwise_sigmoid, fp32>>(name, config);
  if (half)
    return std::make_unique<typed_session<Device, Picture, Caption, info_nce, mixed_bf16>>(name, config);
  return std::make_unique<typed_session<Device, Picture, Caption, info_nce, fp32>>(name, config);
}

}  // namespace motet::train_clip
