// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/step_costs.hpp>
#include <motet/format/text/json.hpp>
#include <motet/front/ranks/launched_world.hpp>
#include <motet/plan/describe/plan.hpp>
#include <motet/runtime/stage/model_table.hpp>
#include <motet/runtime/state/optimizer.hpp>
#include <motet/runtime/state/rank_memory.hpp>
#include <motet/runtime/state/trained_state.hpp>
#include <motet/runtime/train/picked_score.hpp>
#include <motet/strategy/resplit.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace motet {

// A module's own pace: see module_pace.
struct named_pace {
  std::string module;
  double rate = 1;                          // share of the learning rate
  std::optional<double> decay{};            // of its weights, in place of the optimizer's
  std::optional<rate_schedule> schedule{};  // its own, in place of the rates that steps are given
  std::optional<double> layers{};           // in place of layer_rate
};

struct trainer_options {
  isize batch = 64;  // samples of a step
  // of a batch, without a plan: each passes through the towers twice, when memory holds fewer; negatives come
  // from all
  isize parts = 1;
  std::uint64_t seed = 1;
  optimizer_settings optimizer{};
  double ema = 0;                   // decay of the moving average of the weights; 0: there is none
  double layer_rate = 1;            // the rate of a block, as a share of that of the block above it
  std::vector<named_pace> paces{};  // of modules that learn at another pace than the others
  // Towers keep only the input of each block, and backward makes the rest again: less memory, a third more
  // work, the same numbers.
  bool recompute = false;
  // Outputs of norms and of activations are kept until backward, which makes them again otherwise: on GPUs a
  // little less time, for half as much memory again as activations take.
  bool keep_outputs = false;
  // seconds for a step; then the ranks are stopped and who waits for whom is told. 0: none
  double deadline = 600;
  resplit_options resplit{};  // whether samples move between replicas by the time that they take, and how far
  // These are for GPUs: room for a second batch, see trainer::expect(); linear layers in fp8 where they would
  // be in bf16; and the multiprocessors that each of several ranks computes on, one number for all or one for
  // each (none, or 0: all ranks on all).
  bool ahead = false, fp8 = false;
  std::vector<int> processors{};
  // Whether memory of what backward needs, and of rows that ranks hand on, follows the rows of each step, and
  // how much a rank may hold.
  room_options rooms{};
  // Whether scores of the plan's cast take turns from step to step (plan/prove/scores_of_plan.hpp): each
  // step says which it plays, see conducted_steps. On processors alone.
  bool conduct = false;
  // Schedules of the program's own whose scores take turns with these, as in {mine{}}; with one they do,
  // asked or not.
  std::vector<named_schedule> own_scores{};
  // Where ranks of processors put what backward needs, by a plan that offloads: into files in this folder,
  // or, without one, elsewhere in memory.
  std::string offload_folder{};
};

// The wish says what ranks are made for, whatever the type of the model.
struct ranks_wanted {
  const plan* of;  // null: all modules on one rank
  list<module_facts> facts;
  json description;  // of the model
  const trainer_options& how;
};

class checkpoint;
struct given_module;
enum class weights_of : std::uint8_t;
class run_identity;
struct program;
struct program_work;
struct score_names;
struct timeline;

// The ranks of a trainer that live in this process, wherever the others are and whatever they compute on. A
// program that trains sees no more of them than this; what they are made of is in hosted_ranks.hpp, which may
// be compiled elsewhere (compiled.hpp).
template <class Numbers, class Device>
class ranks_here {
 public:
  using master = typename Numbers::master;
  using model_type = model_table<typename Device::context, Numbers>;

  // Proves the plan, and then makes what of its ranks belongs here. hosted_ranks.hpp defines it.
  static std::unique_ptr<ranks_here> make(const launched_world& world, const model_type& model,
                                          ranks_wanted wanted);

  ranks_here() = default;
  ranks_here(const ranks_here&) = delete;
  ranks_here& operator=(const ranks_here&) = delete;
  virtual ~ranks_here() = default;

  virtual const plan& proven() const = 0;
  // The program of the score with this number; the first is the plan's own.
  virtual const program& of(std::int32_t score) const = 0;
  virtual const score_names& scores() const = 0;
  virtual int threads() const = 0;  // of each rank
  // This device tests and measures beside the ranks; on a GPU it has what the first rank here has of it.
  virtual Device& device() = 0;

  virtual std::vector<rank_memory> memory() = 0;
  virtual std::vector<rank_memory> memory(std::span<const std::vector<const void*>> steps) = 0;
  virtual std::vector<isize> rooms() const = 0;
  virtual void prepare() = 0;
  // The batch of the step after the next one, where there is room for it.
  virtual void expect(std::span<const void* const>) = 0;
  virtual step_result step(std::span<const void* const> inputs, double rate, timeline* record,
                           const picked_score& by) = 0;
  virtual isize updates() const = 0;
  // Brings weights together that embed() needs; called by all processes.
  virtual void gather(weights_of which) = 0;
  virtual void embed(std::size_t module, const void* input, master* out) = 0;
  virtual std::vector<master> weights() = 0;
  virtual std::vector<master> averages() = 0;
  virtual flat_state<master> state() = 0;
  virtual void set_state(const flat_state<master>& from) = 0;
  virtual std::string save(const std::string& run, const std::string& name, json state, std::size_t keep) = 0;
  virtual void load(const checkpoint& from, const std::string& name) = 0;
  virtual std::vector<given_module> begin(const checkpoint& from, const begin_options& how) = 0;
  virtual step_costs costs() = 0;
  virtual void clear_costs() = 0;
  virtual void share_lanes(const std::vector<double>& shares) = 0;
  // Counts a step over `samples` samples, of these inputs or, where there are none, as long as any can be.
  virtual step_costs count(isize samples, std::span<const void* const> inputs) const = 0;
  virtual program_work work(std::span<const void* const> inputs) const = 0;
  virtual double sum(double own) = 0;
  virtual void require_same(const run_identity&) = 0;
};

// The ranks of a trainer live where a specialisation for their device puts them: see cpu_ranks.hpp and
// cuda_ranks.hpp.
template <class Device>
struct ranks_on;

}  // namespace motet
