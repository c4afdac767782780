// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/trainer.hpp>
#include <motet/plan/order/program_order.hpp>
#include <motet/runtime/feeds/program_splits.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/stage/arranged_input.hpp>
#include <motet/runtime/stage/foretell.hpp>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace motet {

// An order of a step's samples, of one's own: from what is known of them. It names each of them once.
using step_sorter = std::function<sample_order(const step_headers&)>;

struct reorder_options {
  // Which of two questions the library answers.
  step_questions asked{};
  // An order of one's own, in place of the library's.
  step_sorter by{};
  // How long better orders are looked for. Where ranks live in several processes, `seconds` is not for this.
  swap_limits until{.tries = 100};
  // Steps between two that are recorded, from which costs are corrected, and three at the start; 0: costs
  // stay as they were counted.
  index every = 8;
};

// What the order of a step changed, by the costs that were known before it.
struct reorder_told {
  double listed_seconds = 0, seconds = 0;  // as its samples came, and as they were taken; by simulate()
  double listed_uneven = 1, uneven = 1;    // what the busiest rank computes, over the mean
  bool measured = false;                   // costs come from the clock; else seconds are of an unknown unit

  double gained() const { return seconds > 0 ? listed_seconds / seconds : 1; }
};

// Takes a trainer's steps with their samples in an order in which its plan is through sooner: which replica
// gets which sample, which samples share a microbatch, in which turn microbatches run. A step keeps its
// samples, so loss and gradients are what they are without this, within rounding. All processes compute the
// same order from the same batch and the same records, and compare what they found when they record.
// Asks for: batches of `batch` samples, which all processes have whole; the trainer outlives this.
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
  reordered_steps(trainer<Model, Numbers, Device>& train, index samples, reorder_options how = {})
      : train_(train),
        how_(std::move(how)),
        of_(train.order(), splits_of(train.order(), samples), !is_own_loss<typename Model::loss>),
        clock_(of_, counted(train, samples)),
        orders_(of_, clock_) {
    headers_.samples = static_cast<std::int32_t>(samples);
    for (const std::string_view name : Model::names) headers_.modules.push(label(name));
  }
  reordered_steps(const reordered_steps&) = delete;
  reordered_steps& operator=(const reordered_steps&) = delete;

  step_result step(const batch& whole, double rate, timeline* record = nullptr) {
    look_at(whole);
    const ordered_step listed = orders_.as_listed(headers_);
    const ordered_step taken = how_.by ? orders_.judged(headers_, checked(how_.by(headers_)))
                                       : orders_.find(headers_, how_.asked, how_.until);
    told_ = {listed.seconds, taken.seconds, listed.uneven, taken.uneven, clock_.measured()};
    // The first step takes memory, and is none to measure by.
    const bool learns = how_.every > 0 && steps_ > 0 && (steps_ < 4 || steps_ % how_.every == 0);
    for (const std::int32_t each : taken.order) mark_ = mixed_bits(mark_ + static_cast<std::uint64_t>(each));
    if (learns) compare();
    ++steps_;
    timeline own;
    if (record == nullptr && learns) record = &own;
    const step_result done = train_.step(arranged(whole, taken.order), rate, record);
    if (learns) {
      list<double> work;
      of_.add_work(headers_, taken.order, work);
      clock_.note(of_, work, *record);
    }
    return done;
  }

  // Of the last step.
  const reorder_told& told() const { return told_; }

 private:
  template <std::size_t K>
  using net_at = typename Model::template module_at<K>::net;
  static constexpr bool is_through(std::size_t k) {
    if constexpr (requires { Model::through; }) return Model::through[k];
    else return false;
  }
  // Of each input of a batch, the module that it is for.
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

  // Of each place what a unit of work takes, as counted with the largest microbatch.
  static list<stage_cost> counted(trainer<Model, Numbers, Device>& train, index samples) {
    const program& of = train.order();
    const program_work work = train.work();
    const list<sample_split> splits = splits_of(of, samples);
    list<stage_cost> out;
    for (const voice& sings : of.voices) {
      const sample_split& split = splits[sings.module];
      const index most = share_of_most(split);
      const double whole = static_cast<double>(most) * longest(static_cast<std::size_t>(sings.module)) * 1e11;
      for (std::int32_t s = 0; s < sings.stages; ++s) {
        const stage_work& own = work.places[as_size(sings.first_place + s)];
        out.push({own.forward / whole, own.backward_input / whole, own.backward_weight / whole});
      }
    }
    return out;
  }
  static index share_of_most(const sample_split& split) {
    index most = 1;
    for (index g = 0; g < split.groups; ++g)
      for (index r = 0; r < split.replicas; ++r)
        for (index m = 0; m < split.microbatches; ++m) most = std::max(most, split.of(g, r, m).size());
    return most;
  }
  // Work of the longest sample of a module.
  static double longest(std::size_t module) {
    double found = 1;
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((K == module ? void(found = work_of_rows<net_at<K>>(most_rows<net_at<K>>())) : void()), ...);
    }(std::make_index_sequence<Model::size>{});
    return found;
  }
  template <class Net>
  static index most_rows() {
    return Net::rows(input_traits<Net>::largest(1)).rows();
  }

  void look_at(const batch& whole) {
    const batch_inputs<Model> all(whole);
    headers_.rows.clear();
    headers_.work.clear();
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      (look_at<K>(all[K]), ...);
    }(std::make_index_sequence<Model::size>{});
  }
  template <std::size_t K>
  void look_at(const void* input) {
    using net = net_at<K>;
    const auto& own = *static_cast<const typename net::input*>(input);
    if (const index got = input_traits<net>::samples(own); got != headers_.samples)
      fail(bad_sample_order, sentence({"a batch of ", got, " samples, the steps have ", headers_.samples}));
    for (index s = 0; s < headers_.samples; ++s) {
      const index rows = rows_of_sample<net>(own, s);
      headers_.rows.push(static_cast<double>(rows));
      headers_.work.push(work_of_rows<net>(rows));
    }
  }
  // A sample of an eye may have several pictures.
  template <class Net>
  static index rows_of_sample(const typename Net::input& of, index sample) {
    if constexpr (requires { input_traits<Net>::first_row(of, sample); })
      return input_traits<Net>::first_row(of, sample + 1) - input_traits<Net>::first_row(of, sample);
    else return Net::rows(of).rows_of(sample);
  }

  sample_order checked(sample_order order) const {
    list<std::uint8_t> seen(headers_.samples, 0);
    const auto refuse = [](const std::string& what) { fail(bad_sample_order, what); };
    if (order.size() != headers_.samples)
      refuse(sentence({"it names ", order.size(), " of ", headers_.samples, " samples"}));
    for (const std::int32_t each : order) {
      if (each < 0 || each >= headers_.samples)
        refuse(sentence({"it names sample ", each, ", the step has ", headers_.samples}));
      if (seen[each] != 0) refuse(sentence({"it names sample ", each, " twice"}));
      seen[each] = 1;
    }
    list<std::int32_t> meets;
    for (index b = 0; b < of_.blocks().size(); ++b) meets.resize(of_.blocks()[b].places.end, of_.meets(b));
    for (index p = 0; p < order.size(); ++p)
      if (meets[p] != meets[order[p]])
        refuse(sentence({"it takes sample ", order[p], " out of the group that it meets in the loss"}));
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
  step_headers headers_;
  typename rooms_of<std::make_index_sequence<inputs>>::type rooms_;
  reorder_told told_;
  index steps_ = 0;
  std::uint64_t mark_ = 0;
};

}  // namespace motet
