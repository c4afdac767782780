// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cpu/compiled.hpp>
#include <motet/backend/cpu/device.hpp>
#include <motet/front/plan_of.hpp>
#include <motet/front/ranks/ranks_here.hpp>
#include <motet/model/describe.hpp>
#include <motet/model/merged_weights.hpp>
#include <motet/plan/prove/scores_of_plan.hpp>
#include <motet/runtime/messages.hpp>
#if !defined(MOTET_COMPILED_RANKS)
#include <motet/front/ranks/cpu_ranks.hpp>
#endif

#include <deque>
#include <string_view>
#include <type_traits>
#include <utility>

namespace motet {

// Says whether the files of front/compiled/ have what these need.
template <class Numbers, class Device>
inline constexpr bool has_compiled_ranks = false;
template <>
inline constexpr bool has_compiled_ranks<fp32, cpu::device> = true;
#if !defined(MOTET_COMPILED_WITHOUT_BF16)
template <>
inline constexpr bool has_compiled_ranks<mixed_bf16, cpu::device> = true;
#endif

// Trains a model on the ranks of a plan, wherever launch() found them: as threads of this process, or one in
// each of many processes, of which all then make the same calls. Without a plan all modules are on one rank,
// which has all processors, or a GPU. A plan is proven before anything starts, and any plan gives the loss
// and gradients of one rank within rounding. After the first step, a step allocates nothing.
// Asks for: a world of as many ranks as the plan has, and batches of `batch` samples. All processes
// make the same calls.
// Memory: what memory() says, counted by a dry run; prepare(), or the first step, takes it all. Rooms that
// follow rows (trainer_options::rooms) grow to the longest step.
// Errors: MT-P73, MT-P74, MT-R01, MT-R02, MT-R03, MT-R07, MT-R08, MT-R09, MT-R29, MT-R60, MT-R61, MT-R72,
// MT-R73, MT-R74, MT-R75
// Example:
//   #include <motet/nn/towers/vit.hpp>
//   using eye = vit<vit_config{.image = 16, .patch = 4, .width = 32, .layers = 1, .heads = 2}>;
//   using pair = model<join<info_nce, module<"left", eye>, module<"right", eye>>>;
//   double first_loss(const launched_world& world, const pair::batch& batch) {
//     trainer<pair> train(world, {.batch = 64, .optimizer = {.decay = 0.1}});
//     return train.step(batch, 1e-3).loss;
//   }
template <class Model, class Numbers = fp32, class Device = cpu::device>
class trainer {
 public:
  using master = typename Numbers::master;
  using batch = typename Model::batch;
  template <fixed_string Name>
  using input = typename Model::template module_at<Model::template position<Name>()>::input;

  explicit trainer(const launched_world& world, const trainer_options& how = {})
      : trainer(world, nullptr, how) {}
  trainer(const launched_world& world, const plan& from, const trainer_options& how)
      : trainer(world, &from, how) {}
  // The plan of this name, of those that any model has, or in this file: see plan_of().
  trainer(const launched_world& world, std::string_view name, const trainer_options& how)
      : trainer(world, plan_of(name, facts_of<Model>()), how) {}

  // The plan, its program, and what each rank that lives here will hold are known before anything is
  // allocated.
  const plan& of() const { return here_->proven(); }
  const program& order() const { return here_->of(0); }
  // Where scores of its cast take turns (trainer_options::conduct), what they are called, the plan's own
  // first; and the program of each.
  const score_names& scores() const { return here_->scores(); }
  const program& order(std::int32_t score) const { return here_->of(score); }
  std::vector<rank_memory> memory() const { return here_->memory(); }
  // Where rooms follow rows (trainer_options::rooms): for the largest of these steps, and the bytes that the
  // room of each rank has grown to.
  std::vector<rank_memory> memory(std::span<const batch> steps) const {
    std::deque<batch_inputs<Model>> kept;
    std::vector<std::vector<const void*>> inputs;
    for (const batch& each : steps) {
      const std::span<const void* const> own = kept.emplace_back(each);
      inputs.emplace_back(own.begin(), own.end());
    }
    return here_->memory(inputs);
  }
  std::vector<isize> rooms() const { return here_->rooms(); }
  // One process of a run tells, tests and writes: this one where it is so.
  bool is_main() const { return main_; }
  int threads() const { return here_->threads(); }  // of each rank

  // Takes all memory and draws the weights. Functions that need them call it otherwise.
  void prepare() {
    if (!prepared_) here_->prepare();
    prepared_ = true;
  }
  // Forward, backward, clipping and one update at this learning rate, which is the same in all processes:
  // that of the first step is compared. When a number is not finite: MT-R01, and the weights are as before.
  // by: the score that is played, the same in all processes.
  step_result step(const batch& whole, double rate, timeline* record = nullptr, const picked_score& by = {}) {
    prepare();
    return here_->step(inputs_of<Model>(whole), rate, record, by);
  }
  // Called before step(), this tells the batch of the step after it, which a device may take meanwhile. It
  // stays as it is until its own step has returned.
  void expect(const batch& next) { here_->expect(inputs_of<Model>(next)); }
  // Features of any number of a module's samples, rows of length one. All processes call it; where ranks hold
  // parts of the module, each process brings its weights together first. After gather(), and until weights
  // change, a process may call it by itself.
  template <fixed_string Name>
  void embed(const input<Name>& samples, master* out) {
    static_assert(
        !gives_rows<typename Model::template module_at<Model::template position<Name>()>::net> &&
            takes_rows<typename Model::template module_at<Model::template position<Name>()>::net> == 0,
        "motet: a module that feeds others, or is fed, has no features of its own to embed with");
    prepare();
    here_->embed(Model::template position<Name>(), &samples, out);
  }
  // embed() takes these weights until they change: those of the last step, or after
  // gather(weights_of::averages) their averages (include <motet/format/checkpoint/checkpoint.hpp>).
  void gather(weights_of which) {
    prepare();
    here_->gather(which);
  }
  void gather() { gather({}); }

  isize updates() const { return here_->updates(); }
  // All weights in the model's flat order (Model::parameters()), and with them what a run needs to go on
  // exactly; called by all processes.
  std::vector<master> weights() {
    prepare();
    return here_->weights();
  }
  // The weights of these modules, one module behind the other, whether they learn or not (in the flat order
  // what is frozen stands last), with adapters merged: as a net takes them that has the modules for its
  // parts, such as seeing_decoder.
  template <fixed_string First, fixed_string... Others>
  std::vector<master> weights() {
    const auto size_of = [](std::size_t k) {
      return Model::resting[k] > 0 ? Model::resting[k] : Model::sizes[k];
    };
    const std::vector<master> all = merged_weights<Model>(weights());
    std::vector<master> out;
    for (const std::size_t wanted :
         {Model::template position<First>(), Model::template position<Others>()...}) {
      isize begin = 0;
      for (std::size_t k = 0; k < wanted; ++k) begin += size_of(k);
      out.insert(out.end(), all.begin() + begin, all.begin() + begin + size_of(wanted));
    }
    return out;
  }
  // The moving averages of all weights, with those that do not learn as they are; only a run with ema has
  // them.
  std::vector<master> averages() {
    prepare();
    return here_->averages();
  }
  flat_state<master> state() {
    prepare();
    return here_->state();
  }
  void set_state(const flat_state<master>& from) {
    prepare();
    here_->set_state(from);
  }
  // A checkpoint of all ranks, of which each writes its part, in a folder of the run; any other plan goes on
  // from it. Called by all processes; returns the folder on the one that finishes it. `name` is the model's,
  // `state` the program's own.
  std::string save(const std::string& run, const std::string& name, json state = {}, std::size_t keep = 2) {
    prepare();
    return here_->save(run, name, std::move(state), keep);
  }
  void load(const checkpoint& from, const std::string& name) {
    prepare();
    here_->load(from, name);
  }
  // Before the first step, takes weights of another model's checkpoint in the place of drawn ones: of every
  // module that both have, or of one, see begin_options; adapters that are not there stay as they are. Called
  // by all processes; returns what was given (include <motet/runtime/save/begin_weights.hpp>). MT-R58: there
  // is none, or a part of one, and nothing changes.
  auto begin(const checkpoint& from, const begin_options& how = {}) {
    prepare();
    return here_->begin(from, how);
  }

  // This device tests and measures beside the ranks: describe(), measure_peak<T>(), pin().
  Device& device() { return here_->device(); }
  // Seconds by section since the last clear, where threads of the host compute; FLOPs and bytes of a step by
  // section, counted; and the FLOPs of this batch, nothing computed twice, which utilisation is counted by.
  step_costs costs() { return here_->costs(); }
  void clear_costs() { here_->clear_costs(); }
  // Each lane of the plan (plan::beside) has this share of its ranks' threads, or multiprocessors, from the
  // next step on, without a restart: 0.75 and 0.25, or 3 and 1. What is learnt does not depend on it but
  // for rounding.
  void share_lanes(const std::vector<double>& shares) {
    prepare();
    here_->share_lanes(shares);
  }
  step_costs foretold_costs() const { return here_->count(batch_, {}); }
  double flops(const batch& of) const {
    const batch_inputs<Model> inputs(of);
    return here_->count(outline_of_model<Model>.nets[0]->samples(inputs[0]), inputs).flops();
  }
  // The work of each place of the plan, as the ranks will run it, and the bytes of each message: of this
  // step, or of one whose samples are as long as any can be. Include <motet/runtime/train/foretell.hpp>.
  auto work() const { return here_->work({}); }
  auto work(const batch& of) const { return here_->work(batch_inputs<Model>(of)); }
  // Over all processes, which all call it: a sum; and that they have the same of what decides results, such
  // as settings and data, else none goes on and the error names what differs, where, and both values.
  double sum(double own) { return here_->sum(own); }
  void require_same(const run_identity& identity) { here_->require_same(identity); }

 private:
  static_assert(
      requires { sizeof(ranks_on<Device>); } || has_compiled_ranks<Numbers, Device>,
      "motet: ranks of these numbers are not compiled elsewhere; include <motet/front/ranks/cpu_ranks.hpp>");

  trainer(const launched_world& world, const plan* from, const trainer_options& how)
      : main_(world.is_main()),
        batch_(how.batch),
        here_(ranks_here<Numbers, Device>::make(world,
                                                table_of_model<Model, typename Device::context, Numbers>,
                                                {from, facts_of<Model>(), describe<Model>(), how})) {}

  bool main_, prepared_ = false;
  isize batch_;  // samples of a step
  std::unique_ptr<ranks_here<Numbers, Device>> here_;
};

}  // namespace motet

#if defined(MOTET_COMPILED_RANKS)
extern template double motet::cpu::device::measure_peak<float>();
MOTET_PAIR_LOSSES(extern, cpu::context, fp32)
#if !defined(MOTET_COMPILED_WITHOUT_BF16)
extern template double motet::cpu::device::measure_peak<motet::bf16>();
MOTET_PAIR_LOSSES(extern, cpu::context, mixed_bf16)
#endif
#endif
