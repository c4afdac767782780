// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/feed/batch_headers.hpp>
#include <motet/front/feed/counted_costs.hpp>
#include <motet/front/trainer.hpp>
#include <motet/plan/order/program_order.hpp>
#include <motet/plan/order/reorder_told.hpp>
#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/stage/arranged_input.hpp>
#include <motet/runtime/train/foretell.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

namespace motet {

// An order of a step's samples, of one's own: from what is known of them. It names each of them once. Orders
// of steps that are expected are asked for by a thread of their own, one after the other.
using step_sorter = std::function<sample_order(const step_headers&)>;

struct reorder_options {
  // The library answers one of two questions.
  step_questions asked{};
  // A user's own order takes the place of the library's.
  step_sorter by{};
  // Better orders are looked for as long as this allows. Where ranks live in several processes, `seconds` is
  // not for this.
  swap_limits until{.tries = 100};
  // Steps between two that are recorded, from which costs are corrected, and three at the start; 0: costs
  // stay as they were counted.
  isize every = 8;
};

// Takes a trainer's steps with their samples in an order in which its plan is through sooner: which replica
// gets which sample, which samples share a microbatch, in which turn microbatches run. A step keeps its
// samples, so loss and gradients are what they are without this, within rounding. All processes compute the
// same order from the same batch and the same records, and compare what they found when they record. The
// order of a batch that is expected is looked for while the step before it runs.
// Asks for: batches of `batch` samples, of which all processes have all but the pictures of others; the trainer
// outlives this.
// Memory: a copy of the batch.
// Errors: MT-R26, MT-R37
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   double loss_of_one(trainer<pair>& train, const pair::batch& batch) {
//     reordered_steps steps(train, 64);
//     return steps.step(batch, 1e-3).loss;
//   }
template <class Model, class Numbers = fp32, class Device = cpu::device>
class reordered_steps {
 public:
  using batch = typename Model::batch;

  // samples: of a step, as the trainer has them.
  reordered_steps(trainer<Model, Numbers, Device>& train, isize samples, reorder_options how = {})
      : train_(train),
        how_(std::move(how)),
        of_(train.order(), splits_of(train.order(), samples), !is_own_loss<typename Model::loss>,
            how_.asked.together),
        clock_(of_, counted_costs<Model>(train.order(), train.work(), samples)),
        orders_(of_, clock_),
        samples_(static_cast<std::int32_t>(samples)) {}
  reordered_steps(const reordered_steps&) = delete;
  reordered_steps& operator=(const reordered_steps&) = delete;

  // Before step(): the batch of the step after it, of which no more is looked at than what its samples bring.
  void expect(const batch& next) { expected_ = headers_of<Model>(next, samples_); }
  // Before the first step: hears the order of each step that is expected or found before it, by any thread.
  void when_found(std::function<void(const sample_order&)> hear) { hear_ = std::move(hear); }
  // Between steps: the order of the next one is known when this returns, whether it was expected or not.
  void find(const batch& next) {
    const auto asked = std::chrono::steady_clock::now();
    if (!looking_.valid()) look_for(std::launch::deferred, headers_of<Model>(next, samples_));
    looking_.wait();
    found_seconds_ = seconds_since(asked);
  }

  step_result step(const batch& whole, double rate, timeline* record = nullptr) {
    step_headers headers = headers_of<Model>(whole, samples_);
    const auto asked = std::chrono::steady_clock::now();
    const found_order found = order_of(std::move(headers));
    told_ = found.told;
    told_.waited_seconds = seconds_since(asked) + std::exchange(found_seconds_, 0.0);
    // No order is being looked for now. The last step counts for all that are looked for from here on, so that
    // processes which expect a step and those which do not look with the same costs.
    if (recorded_) clock_.note(of_, recorded_->work, recorded_->when);
    recorded_.reset();
    look_ahead();
    // The first step takes memory, and is none to measure by.
    const bool learns = how_.every > 0 && steps_ > 0 && (steps_ < 4 || steps_ % how_.every == 0);
    for (const std::int32_t each : found.order) mark_ = mixed_bits(mark_ + static_cast<std::uint64_t>(each));
    if (learns) compare();
    ++steps_;
    timeline own;
    if (record == nullptr && learns) record = &own;
    const step_result done = train_.step(arranged(whole, found.order), rate, record);
    if (learns) {
      recorded_.emplace();
      of_.add_work(found.of, found.order, recorded_->work);
      recorded_->when = *record;
    }
    return done;
  }

  // This is told of the last step.
  const reorder_told& told() const { return told_; }

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

  struct found_order {
    step_headers of;
    sample_order order;
    reorder_told told;
  };
  struct recorded_step {
    list<double> work;  // of its cells
    timeline when;
  };

  static double seconds_since(std::chrono::steady_clock::time_point from) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  }
  // Of headers, and of the costs that are known meanwhile, alone.
  found_order look_for(step_headers of) const {
    const auto began = std::chrono::steady_clock::now();
    const ordered_step listed = orders_.as_listed(of);
    ordered_step taken =
        how_.by ? orders_.judged(of, checked(how_.by(of))) : orders_.find(of, how_.asked, how_.until);
    const reorder_told told{listed.seconds,
                            taken.seconds,
                            listed.uneven,
                            taken.uneven,
                            clock_.measured(),
                            seconds_since(began),
                            0};
    return {std::move(of), std::move(taken.order), told};
  }
  // A batch other than the expected one has an order of its own.
  found_order order_of(step_headers of) {
    if (looking_.valid()) {
      found_order found = looking_.get();
      if (found.of.rows == of.rows) return found;
    }
    return look_for(std::move(of));
  }
  void look_for(std::launch how, step_headers next) {
    looking_ = std::async(how, [this, of = std::move(next)]() mutable {
      found_order found = look_for(std::move(of));
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

  sample_order checked(sample_order order) const {
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
    for (std::int32_t b = 0; b < of_.blocks().size(); ++b) at.resize(of_.blocks()[b].places.end, b);
    for (isize p = 0; p < order.size(); ++p) {
      const std::int32_t to = at[p], from = at[order[p]];
      if (of_.meets(to) != of_.meets(from))
        refuse(sentence({"it takes sample ", order[p], " out of the group that it meets in the loss"}));
      if (of_.group_of(to) != of_.group_of(from))
        refuse(sentence({"it takes sample ", order[p], " out of its group of ranks"}));
    }
    return order;
  }
  // Other orders on other processes would be other gradients.
  void compare() {
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
  reorder_options how_;
  program_samples of_;
  place_clock clock_;
  program_order orders_;
  std::int32_t samples_;
  typename rooms_of<std::make_index_sequence<inputs>>::type rooms_;
  reorder_told told_;
  isize steps_ = 0;
  std::uint64_t mark_ = 0;
  double found_seconds_ = 0;  // that the step at hand waited for its order before it began
  std::function<void(const sample_order&)> hear_;
  std::optional<step_headers> expected_;   // no order is looked for yet
  std::optional<recorded_step> recorded_;  // the clock does not know it yet
  std::future<found_order> looking_;       // last: it reads the others until it ends
};

}  // namespace motet
