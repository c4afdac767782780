// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/measure_operations.hpp>
#include <motet/front/feed/batch_headers.hpp>
#include <motet/front/feed/conducted_steps.hpp>
#include <motet/front/feed/share_line.hpp>
#include <motet/nn/layers/entering_rows.hpp>
#include <motet/nn/layers/token_embedding.hpp>
#include <motet/run/session.hpp>
#include <motet/run/session_inputs.hpp>
#include <motet/runtime/feeds/own_samples.hpp>
#include <motet/tools/messages.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace motet {

// The session of a model by its type, whatever it makes of a batch: Own::inputs(batch) are the inputs of its
// modules, and Own says what is tested of it (tested_model). Device: on what it trains.
// Asks for: a class Own derived from it, and what Own tells of the model in words.
// Memory: that of trainer<Net>.
// Errors: MT-P74, MT-R01, MT-R02, MT-R03, MT-R07, MT-R08, MT-R09, MT-R29, MT-R30
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using twins = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   // Both eyes see the same picture. It is trained, and nothing is tested.
//   class twin_session final : public trained_session<twin_session, cpu::device, twins, fp32> {
//    public:
//     explicit twin_session(const session_request& wanted) : trained_session({"twins"}, wanted) {}
//     twins::batch inputs(const step_input& batch) const {
//       const pictures& shown = std::get<0>(std::get<pair_input>(batch));
//       return {shown, shown};
//     }
//   };
template <class Own, class Device, class Net, class Numbers>
class trained_session : public session {
 public:
  trained_session(session_facts facts, const session_request& wanted)
      : world_(wanted.by, wanted.threads),
        averages_(wanted.options.ema > 0),
        train_(wanted.how ? trainer_type(world_, *wanted.how, wanted.options)
                          : trainer_type(world_, wanted.options)),
        facts_(std::move(facts)) {
    facts_.loss = wanted.loss;
    if constexpr (Net::joins.size() > 1) {
      facts_.loss.clear();
      for (const join_facts& each : Net::joins) {
        facts_.losses.push_back(loss_part{each.name, each.of}.told());
        facts_.loss += (facts_.loss.empty() ? "" : ", ") + facts_.losses.back();
      }
    }
    facts_.precision = wanted.precision;
    for (const parameter& each : parameters_) facts_.parameters += each.size();
    conducts_ = wanted.options.conduct;
    reorders_ = wanted.reorder.ranks || wanted.reorder.slots;
    if constexpr (steers)
      if (conducts_ || reorders_)
        steered_.emplace(train_, wanted.options.batch,
                         conduct_options{.by = shortest_by_simulation{.margin = wanted.conduct_margin},
                                         .orders = {.asked = wanted.reorder}});
    find_own_places(wanted);
  }

  const session_facts& facts() const override { return facts_; }
  std::string machine() override { return train_.device().describe(); }
  int threads() const override { return train_.threads(); }
  double measure_peak() override {
    return train_.sum(train_.device().template measure_peak<typename Numbers::value>());
  }
  std::string peak_product() const override { return Device::peak_product; }
  operation_rates measure_rates(int threads) override {
    using value = typename Numbers::value;
    if constexpr (requires(Device& of) { measure_operations(of, value(), isize{}); }) {
      Device at_once(threads);
      isize widest = 1;
      for (const net_outline* each : outline_of_model<Net>.nets) widest = std::max(widest, each->width);
      return measure_operations(at_once, value(), widest);
    } else {
      return {.products = train_.device().template measure_peak<value>()};
    }
  }
  const program& of() const override {
    const conduct_told* const told = conducted();
    return train_.order(told != nullptr ? told->score : 0);
  }
  const score_names* scores() const override { return conducted() != nullptr ? &train_.scores() : nullptr; }
  const conduct_told* conducted() const override {
    if constexpr (steers)
      if (conducts_) return &steered_->told();
    return nullptr;
  }
  std::vector<rank_memory> memory() override { return train_.memory(); }
  program_work work() override { return train_.work(); }
  program_work work(const step_input& batch) override { return train_.work(own().inputs(batch)); }
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
  step_result step(const step_input& batch, double rate, timeline* record = nullptr) override {
    if constexpr (steers)
      if (steered_) return steered_->step(own().inputs(batch), rate, record);
    return train_.step(own().inputs(batch), rate, record);
  }
  // Inputs that another call makes anew cannot wait: Own overrides this where its inputs stay. An order looks
  // at them at once, and so does a conductor.
  void expect(const step_input& next) override {
    if constexpr (steers)
      if (steered_) steered_->expect(own().inputs(next));
  }
  const reorder_told* reordered() const override {
    if constexpr (steers)
      if (reorders_) return &steered_->ordered();
    return nullptr;
  }
  step_headers loads(const step_input& batch) override {
    return loads_of<Net>(own().inputs(batch), samples_of(batch));
  }
  std::optional<std::vector<interval>> own_samples() const override {
    if (follows_order()) return {};
    return own_places_;
  }
  bool tells_own_samples(std::shared_ptr<share_line> to) override {
    if constexpr (steers)
      if (follows_order())
        steered_->when_found([to = std::move(to), places = *own_places_](const sample_order& order) {
          to->say(samples_at(places, order));
        });
    return follows_order();
  }
  void choose(const step_input& next) override {
    if constexpr (steers)
      if (reorders_) steered_->find(own().inputs(next));
  }
  isize updates() const override { return train_.updates(); }
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
  std::vector<given_module> begin(const checkpoint& from, const begin_options& how) override {
    return train_.begin(from, how);
  }

  // Own says nothing of what it has not.
  void embed(const pictures&, float*) override {}
  void embed(const tokens&, float*) override {}
  std::vector<std::int32_t> say(const pictured_tokens&, std::int32_t, isize) override { return {}; }
  double loss_of(const step_input&) override { return std::numeric_limits<double>::quiet_NaN(); }
  double logit_scale() const override { return std::numeric_limits<double>::quiet_NaN(); }

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
  // Programs put samples in order that have losses of their own, on processors; and let scores take turns.
  static constexpr bool steers = Device::shares_memory && is_own_loss<typename Net::loss>;
  struct not_steered {};

  Own& own() {
    static_assert(detail::says_inputs<Own, step_input, typename Net::batch>());
    return static_cast<Own&>(*this);
  }

  static isize samples_of(const step_input& batch) {
    if (const auto* const pieces = std::get_if<pictured_tokens>(&batch)) return pieces->seq.samples;
    return std::get<pictures>(std::get<pair_input>(batch)).samples;
  }
  // A process of many finds the places of which it needs the samples.
  void find_own_places(const session_request& wanted) {
    if (!Device::shares_memory || !world_.is_one_of_many()) return;
    const launched& by = world_.by();
    const std::vector<interval> places =
        motet::own_samples(train_.order(), wanted.options.batch, {by.rank, by.rank + by.threads},
                           looks_at_pictures(), wanted.options.resplit);
    // Whoever looks at all of them need not name them.
    if (size_of(places) < wanted.options.batch) own_places_ = places;
  }
  // Which samples stand at these places is known with the order of a step; of no place it is known before.
  bool follows_order() const { return steers && reorders_ && own_places_ && !own_places_->empty(); }
  // These are words alone; whatever else a module takes may have pictures.
  template <class Input>
  static constexpr bool is_words =
      std::is_same_v<Input, tokens> || std::is_same_v<Input, labelled_tokens> ||
      std::is_same_v<Input, placed_tokens> || std::is_same_v<Input, through_rows>;
  static list<std::uint8_t> looks_at_pictures() {
    return []<std::size_t... K>(std::index_sequence<K...>) {
      return list<std::uint8_t>{
          static_cast<std::uint8_t>(is_words<typename Net::template module_at<K>::net::input> ? 0 : 1)...};
    }(std::make_index_sequence<Net::size>{});
  }

  launched_world world_;
  bool averages_;  // are what is tested
  trainer_type train_;
  // Compiled for no other.
  std::conditional_t<steers, std::optional<conducted_steps<Net, Numbers, Device>>, not_steered> steered_;
  bool conducts_ = false, reorders_ = false;
  std::optional<std::vector<interval>> own_places_;  // of samples whose pictures it looks at
  session_facts facts_;
  std::vector<parameter> parameters_ = Net::parameters();
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

}  // namespace motet

#if defined(MOTET_COMPILED_RANKS)
extern template motet::operation_rates motet::cpu::measure_operations(motet::cpu::device&, float,
                                                                      motet::isize);
#if !defined(MOTET_COMPILED_WITHOUT_BF16)
extern template motet::operation_rates motet::cpu::measure_operations(motet::cpu::device&, motet::bf16,
                                                                      motet::isize);
#endif
#endif
