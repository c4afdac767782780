// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/feed/batch_headers.hpp>
#include <motet/front/feed/counted_costs.hpp>
#include <motet/front/trainer.hpp>
#include <motet/plan/order/step_finder.hpp>
#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/stage/arranged_input.hpp>
#include <motet/runtime/train/foretell.hpp>
#include <motet/runtime/train/picked_score.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace motet {

// A mark of headers, the same in all processes that see the same samples.
inline std::uint64_t mark_of(const step_headers& of) {
  std::uint64_t mark = mixed_bits(static_cast<std::uint64_t>(of.samples));
  for (const double each : of.rows)
    mark = mixed_bits(mark + golden_step + std::bit_cast<std::uint64_t>(each));
  return mark;
}

// Takes a trainer's steps each by the score that a conductor picks of those that take turns
// (trainer_options::conduct), and with its samples in an order in which that score is through sooner, where
// orders are asked for: which replica gets which sample, which samples share a microbatch, in which turn
// microbatches run. A step keeps its samples, so any score and any order give the same loss and gradients
// within rounding. Both are found a step ahead, by a thread of its own, where the batch after the next one is
// told. Each process finds them by itself, from the same batch and the same records; where processes pick
// unlike scores, no step begins, and what they found of orders is compared when steps are recorded.
// Asks for: a trainer that outlives this; with one score, each step plays that; batches of `batch` samples,
// of which all processes have all but the pictures of others.
// Memory: some numbers for each sample and each instruction; where orders are asked for, a copy of the batch.
// Errors: MT-R26, MT-R37, MT-R72, MT-R73
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   double loss_of_one(trainer<pair>& train, const pair::batch& batch) {
//     conducted_steps steps(train, 64);
//     return steps.step(batch, 1e-3).loss;
//   }
template <class Model, class Numbers = fp32, class Device = cpu::device>
class conducted_steps {
 public:
  using batch = typename Model::batch;

  // samples: of a step, as the trainer has them.
  conducted_steps(trainer<Model, Numbers, Device>& train, isize samples, conduct_options how = {})
      : train_(train),
        orders_(how.orders.wanted()),
        samples_(static_cast<std::int32_t>(samples)),
        finder_{cast_scores(
                    programs_of(train), splits_of(train.order(), samples), !is_own_loss<typename Model::loss>,
                    counted_costs<Model>(train.order(), train.work(), samples), how.orders.asked.together),
                checking(std::move(how))} {}
  conducted_steps(const conducted_steps&) = delete;
  conducted_steps& operator=(const conducted_steps&) = delete;

  // Called before step() with the batch of the step after it, of which no more is looked at than what its
  // samples bring.
  void expect(const batch& next) { expected_ = headers_of<Model>(next, samples_); }
  // Called before the first step: `hear` is told the order of each step that is expected or found before it,
  // by any thread.
  void when_found(std::function<void(const sample_order&)> hear) { hear_ = std::move(hear); }
  // Called between steps: the order of the next one is known when this returns, whether it was expected or
  // not.
  void find(const batch& next) {
    const auto asked = std::chrono::steady_clock::now();
    if (!looking_.valid()) look_for(std::launch::deferred, headers_of<Model>(next, samples_));
    looking_.wait();
    found_seconds_ = seconds_since(asked);
  }

  step_result step(const batch& whole, double rate, timeline* record = nullptr) {
    step_headers headers = headers_of<Model>(whole, samples_);
    const auto asked = std::chrono::steady_clock::now();
    found_step found = found_of(std::move(headers));
    told_ = found.told;
    ordered_ = found.ordered;
    told_.waited_seconds = ordered_.waited_seconds =
        seconds_since(asked) + std::exchange(found_seconds_, 0.0);
    // Nothing is being looked for now.
    const bool learns = finder_.begin(found);
    look_ahead();
    if (orders_) mark_order(found.order, learns);
    timeline own;
    if (record == nullptr && learns) record = &own;
    const picked_score by{found.score(), mark_of(found.of)};
    const step_result done = orders_ && !found.order.empty()
                                 ? train_.step(arranged(whole, found.order), rate, record, by)
                                 : train_.step(whole, rate, record, by);
    if (learns) finder_.note(std::move(found), *record);
    return done;
  }

  // These are told of the last step: its score, and its order.
  const conduct_told& told() const { return told_; }
  const reorder_told& ordered() const { return ordered_; }
  // What conductors are told of the scores.
  const cast_scores& scores() const { return finder_.scores(); }

 private:
  template <std::size_t K>
  using net_at = typename Model::template module_at<K>::net;
  static constexpr bool is_through(std::size_t k) {
    if constexpr (requires { Model::through; }) return Model::through[k];
    else return false;
  }
  // Each input of a batch is for one module.
  static constexpr std::size_t inputs = std::tuple_size_v<batch>;
  static constexpr std::array<std::size_t, inputs> module_of = [] {
    std::array<std::size_t, inputs> out{};
    for (std::size_t k = 0, at = 0; k < Model::size; ++k)
      if (!is_through(k)) out[at++] = k;
    return out;
  }();
  template <class Indices>
  struct rooms_of;
  template <std::size_t... I>
  struct rooms_of<std::index_sequence<I...>> {
    using type = std::tuple<arranged_input<net_at<module_of[I]>>...>;
  };

  static std::vector<const program*> programs_of(const trainer<Model, Numbers, Device>& train) {
    std::vector<const program*> all;
    for (std::size_t k = 0; k < train.scores().names.size(); ++k)
      all.push_back(&train.order(static_cast<std::int32_t>(k)));
    return all;
  }
  static double seconds_since(std::chrono::steady_clock::time_point from) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  }
  // A batch other than the expected one is looked at anew.
  found_step found_of(step_headers of) {
    if (looking_.valid()) {
      found_step found = looking_.get();
      if (found.of.rows == of.rows) return found;
    }
    return finder_.find(std::move(of));
  }
  void look_for(std::launch how, step_headers next) {
    looking_ = std::async(how, [this, of = std::move(next)]() mutable {
      found_step found = finder_.find(std::move(of));
      if (hear_) hear_(found.order);
      return found;
    });
  }
  void look_ahead() {
    if (!expected_) return;
    try {
      look_for(std::launch::async, std::move(*expected_));
    } catch (const std::system_error&) {
      // Where there is no thread for it, the step looks itself.
    }
    expected_.reset();
  }

  // A user's order is checked before a step takes its samples so.
  conduct_options checking(conduct_options how) const {
    if (how.orders.by)
      how.orders.by = [this, by = std::move(how.orders.by)](const step_headers& of) {
        return checked(by(of));
      };
    return how;
  }
  sample_order checked(sample_order order) const {
    const program_samples& of = finder_.scores().samples(0);
    list<std::uint8_t> seen(samples_, 0);
    const auto refuse = [](const std::string& what) { fail(bad_sample_order, what); };
    if (order.size() != samples_) refuse(sentence({"it names ", order.size(), " of ", samples_, " samples"}));
    for (const std::int32_t each : order) {
      if (each < 0 || each >= samples_)
        refuse(sentence({"it names sample ", each, ", the step has ", samples_}));
      if (seen[each] != 0) refuse(sentence({"it names sample ", each, " twice"}));
      seen[each] = 1;
    }
    list<std::int32_t> at;  // of each sample, its block
    for (std::int32_t b = 0; b < of.blocks().size(); ++b) at.resize(of.blocks()[b].places.end, b);
    for (isize p = 0; p < order.size(); ++p) {
      const std::int32_t to = at[p], from = at[order[p]];
      if (of.meets(to) != of.meets(from))
        refuse(sentence({"it takes sample ", order[p], " out of the group that it meets in the loss"}));
      if (of.group_of(to) != of.group_of(from))
        refuse(sentence({"it takes sample ", order[p], " out of its group of ranks"}));
    }
    return order;
  }
  // Other orders on other processes would be other gradients.
  void mark_order(const sample_order& order, bool compare) {
    for (const std::int32_t each : order) mark_ = mixed_bits(mark_ + static_cast<std::uint64_t>(each));
    if (!compare) return;
    run_identity same;
    same.add("orders of samples so far", std::to_string(mark_));
    train_.require_same(same);
  }

  batch arranged(const batch& whole, const sample_order& order) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return batch{std::get<I>(rooms_).of(std::get<I>(whole), order)...};
    }(std::make_index_sequence<inputs>{});
  }

  trainer<Model, Numbers, Device>& train_;
  bool orders_;
  std::int32_t samples_;
  step_finder finder_;
  typename rooms_of<std::make_index_sequence<inputs>>::type rooms_;
  conduct_told told_;
  reorder_told ordered_;
  std::uint64_t mark_ = 0;
  double found_seconds_ = 0;  // that the step at hand waited for what was found before it began
  std::function<void(const sample_order&)> hear_;
  std::optional<step_headers> expected_;  // nothing was looked for yet
  std::future<found_step> looking_;       // last: it reads the others until it ends
};

}  // namespace motet
