// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "session.hpp"

#include <motet/tools/contrast.hpp>

#include <cmath>
#include <limits>

namespace motet::train_clip {

// What all models have in common, whatever they make of a batch: Own::inputs(batch) are the inputs of its
// modules. Device: on what it trains; compiled by whoever has it.
template <class Own, class Device, class Net, class Numbers>
class trained_session : public session {
 public:
  trained_session(model_facts facts, const session_request& wanted)
      : world_(wanted.by, wanted.threads),
        averages_(wanted.options.ema > 0),
        train_(wanted.how ? trainer_type(world_, *wanted.how, wanted.options)
                          : trainer_type(world_, wanted.options)),
        facts_(std::move(facts)) {
    facts_.loss = wanted.loss;
    facts_.precision = wanted.precision;
    for (const parameter& each : parameters_) facts_.parameters += each.size();
  }

  const model_facts& facts() const override { return facts_; }
  std::string machine() override { return train_.device().describe(); }
  int threads() const override { return train_.threads(); }
  double measure_peak() override {
    return train_.sum(train_.device().template measure_peak<typename Numbers::value>());
  }
  std::string peak_product() const override { return Device::peak_product; }
  const program& of() const override { return train_.order(); }
  std::vector<rank_memory> memory() override { return train_.memory(); }
  program_work work() override { return train_.work(); }
  step_costs foretold_costs() override { return train_.foretold_costs(); }
  double flops(const step_input& batch) override { return train_.flops(own().inputs(batch)); }

  void prepare() override { train_.prepare(); }
  std::shared_ptr<void> pin(const void* at, std::size_t bytes) override {
    return train_.device().pin(at, bytes);
  }
  std::vector<std::string> paths() override {
    std::vector<std::string> told;
    if constexpr (requires { train_.device().paths(); })
      for (const auto& each : train_.device().paths()) told.push_back(each.sentence());
    return told;
  }
  step_result step(const step_input& batch, double rate) override {
    return train_.step(own().inputs(batch), rate);
  }
  index updates() const override { return train_.updates(); }
  void finish() override {
    if constexpr (!Device::shares_memory) train_.device().finish();
  }
  step_costs costs() override { return train_.costs(); }
  void clear_costs() override { train_.clear_costs(); }

  void gather() override { train_.gather(tests_averages() ? weights_of::averages : weights_of::last_step); }
  const std::vector<parameter>& parameters() const override { return parameters_; }
  std::vector<float> weights() override { return train_.weights(); }
  std::filesystem::path save(const std::filesystem::path& run, const std::string& name, json state,
                             std::size_t keep) override {
    return train_.save(run, name, std::move(state), keep);
  }
  void load(const checkpoint& from, const std::string& name) override { train_.load(from, name); }

  bool is_main() const override { return train_.is_main(); }
  void require_same(const run_identity& identity) override { train_.require_same(identity); }
  bool any(bool here) override { return any(here, false).first; }
  std::pair<bool, bool> any(bool first, bool second) override {
    // Both in one sum, as processes are fewer than that.
    constexpr double many = 1 << 26;
    const double all = train_.sum((first ? 1 : 0) + (second ? many : 0));
    return {std::fmod(all, many) > 0, all >= many};
  }

 protected:
  using trainer_type = trainer<Net, Numbers, Device>;
  trainer_type& trained() { return train_; }
  bool tests_averages() const { return averages_; }

 private:
  Own& own() { return static_cast<Own&>(*this); }

  launched_world world_;
  bool averages_;  // are what is tested
  trainer_type train_;
  model_facts facts_;
  std::vector<parameter> parameters_ = Net::parameters();
};

template <vit_config Picture, text_config Caption, class Loss>
using pair_model = model<join<Loss, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>;

// Two towers, which take a batch as it is.
template <class Device, vit_config Picture, text_config Caption, class Loss, class Numbers>
class typed_session final : public trained_session<typed_session<Device, Picture, Caption, Loss, Numbers>,
                                                   Device, pair_model<Picture, Caption, Loss>, Numbers> {
 public:
  typed_session(const char* name, const session_request& wanted)
      : typed_session::trained_session({name, {}, {}, Picture, Caption, 0}, wanted) {}

  const pair_input& inputs(const step_input& batch) const { return std::get<pair_input>(batch); }
  void expect(const step_input& next) override { this->trained().expect(inputs(next)); }
  void embed(const pictures& batch, float* features) override {
    this->trained().template embed<"picture">(batch, features);
  }
  void embed(const tokens& batch, float* features) override {
    this->trained().template embed<"caption">(batch, features);
  }
  void gather() override {
    typed_session::trained_session::gather();
    const std::vector<float> all = this->trained().weights();
    for (const parameter& each : this->parameters()) {
      if (each.name == "join.log_scale") log_scale_ = static_cast<double>(all[as_size(each.offset)]);
      if (each.name == "join.bias") bias_ = static_cast<double>(all[as_size(each.offset)]);
    }
  }
  double logit_scale() const override { return std::exp(log_scale_); }
  double loss_of(const step_input& batch) override {
    const auto& [shown, captions] = inputs(batch);
    constexpr index width = Picture.embedding;
    std::vector<float> of_pictures(as_size(shown.samples * width)), of_captions(of_pictures.size());
    embed(shown, of_pictures.data());
    embed(captions, of_captions.data());
    const auto rows = [&](const std::vector<float>& of) {
      return matrix<const float>{of.data(), shown.samples, width, width};
    };
    if constexpr (std::is_same_v<Loss, pairwise_sigmoid>)
      return pairwise_sigmoid_of(rows(of_pictures), rows(of_captions), logit_scale(), bias_);
    else return info_nce_of(rows(of_pictures), rows(of_captions), logit_scale());
  }
  std::vector<std::int32_t> say(const pictured_tokens&, std::int32_t, index) override { return {}; }

 private:
  double log_scale_ = std::numeric_limits<double>::quiet_NaN(), bias_ = 0;  // of the last gather()
};

// A program may be compiled for fp32 alone, in half of the time; on a GPU it has both.
template <class Device>
inline constexpr bool trains_in_bf16 =
    !std::is_same_v<Device, cpu::device> || has_compiled_ranks<mixed_bf16, cpu::device>;
[[noreturn]] inline void refuse_precision(const std::string& asked) {
  fail(bad_option_value, "--precision " + asked +
                             ", in a program that was compiled without bf16 (MOTET_NUMBERS); build it with "
                             "-DMOTET_NUMBERS=\"fp32;bf16\"");
}

// The nets do not depend on the loss, so both losses share their code.
template <class Device, vit_config Picture, text_config Caption, class Numbers>
std::unique_ptr<session> make_session_of(const char* name, const session_request& wanted) {
  if (wanted.loss == "sigmoid")
    return std::make_unique<typed_session<Device, Picture, Caption, pairwise_sigmoid, Numbers>>(name, wanted);
  return std::make_unique<typed_session<Device, Picture, Caption, info_nce, Numbers>>(name, wanted);
}
template <class Device, vit_config Picture, text_config Caption>
std::unique_ptr<session> make_session(const char* name, const session_request& wanted) {
  if (wanted.precision == "fp32") return make_session_of<Device, Picture, Caption, fp32>(name, wanted);
  if constexpr (trains_in_bf16<Device>)
    return make_session_of<Device, Picture, Caption, mixed_bf16>(name, wanted);
  else refuse_precision(wanted.precision);
}

}  // namespace motet::train_clip
