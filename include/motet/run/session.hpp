// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/operation_rates.hpp>
#include <motet/format/checkpoint/checkpoint.hpp>
#include <motet/front/feed/share_line.hpp>
#include <motet/front/ranks/ranks_here.hpp>
#include <motet/nn/core/parameter.hpp>
#include <motet/plan/order/conduct_told.hpp>
#include <motet/plan/order/reorder_told.hpp>
#include <motet/plan/order/step_headers.hpp>
#include <motet/plan/order/step_order.hpp>
#include <motet/plan/prove/scores_of_plan.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/save/begin_weights.hpp>
#include <motet/runtime/train/foretell.hpp>
#include <motet/tools/held_out/held_out.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// The facts are what a run tells of the model that it trains.
struct session_facts {
  std::string name;         // of the model
  std::string loss{};       // as --loss has it, or all of several
  std::string precision{};  // "fp32", "bf16" or "fp8"
  sample_shape shape{};     // of samples that it reads
  isize caption = 0;        // tokens of a text alone, at most
  isize embedding = 0;      // width of its features; 0: it has none
  isize parameters = 0;     // numbers, without the gaps between tensors
  // Its parts in words: for --explain, and for the page.
  std::vector<std::pair<std::string, std::string>> outline{}, parts{};
  std::vector<std::string> losses{};  // where there are several, the name of each (loss_part::told)

  // Random captions are as long as any.
  sample_shape random_shape() const {
    sample_shape out = shape;
    out.context = caption;
    return out;
  }
};

// A request says which session is wanted, and where its ranks live.
struct session_request {
  std::string loss;
  std::string precision = "fp32";
  trainer_options options;
  int threads = 0;          // of each rank on a CPU; 0: all processors, shared by the ranks here
  std::optional<plan> how;  // proven; none: one rank
  launched by;
  step_questions reorder{false, false};  // what is asked of each step's order
  double conduct_margin = 0;  // of shortest_by_simulation, where scores take turns (options.conduct)
};

// A model in training, as a run sees it, whatever its type: each model is compiled in a translation unit of
// its own, as a trained_session, and what is told, saved and tested on the way is compiled once.
class session : public tested_model {
 public:
  virtual const session_facts& facts() const = 0;
  virtual std::string machine() = 0;
  virtual int threads() const = 0;  // of each rank
  // The peak of all ranks, which measure at the same time where they are processes; and the product that it
  // was measured by.
  virtual double measure_peak() = 0;
  virtual std::string peak_product() const = 0;
  // The rates of one of so many threads of this machine that compute at once; or of the GPU, which has no
  // threads here.
  virtual operation_rates measure_rates(int threads) = 0;
  virtual const program& of() const = 0;  // of the score that the last step played
  // Scores that take turns, and how the last step was conducted; null where one plays all steps by itself.
  virtual const score_names* scores() const { return nullptr; }
  virtual const conduct_told* conducted() const { return nullptr; }
  virtual std::vector<rank_memory> memory() = 0;  // of each rank; of ranks in other processes nothing
  virtual program_work work() = 0;                // of samples as long as any can be
  virtual program_work work(const step_input& batch) = 0;  // of these
  virtual step_costs foretold_costs() = 0;
  virtual double flops(const step_input& batch) = 0;

  virtual void prepare() = 0;
  // Tells where batches will lie, which end after the result; a GPU reads them faster then.
  virtual std::shared_ptr<void> pin(const void* at, std::size_t bytes) = 0;
  // One sentence for each operation says which way it took so far, where there is more than one, and why.
  virtual std::vector<std::string> paths() = 0;
  // Called before step() with the batch of the step after it, which a GPU may take meanwhile, or whose order
  // or score be found.
  virtual void expect(const step_input& next) = 0;
  // A record gets when each instruction of the step ran; all processes ask for one, or none does.
  virtual step_result step(const step_input& batch, double rate, timeline* record = nullptr) = 0;
  // The order of the last step's samples; null where they are taken as they come.
  virtual const reorder_told* reordered() const { return nullptr; }
  // What each sample of a batch brings to each module, its work as a share of that of the longest sample; of
  // none where a session does not tell.
  virtual step_headers loads(const step_input&) { return {}; }
  // Samples of a step whose pictures this process looks at; none said: all.
  virtual std::optional<std::vector<interval>> own_samples() const { return {}; }
  // Whether they are other ones in each step: said then of the step after the one that runs, once it is
  // known, by any thread.
  virtual bool tells_own_samples(std::shared_ptr<share_line>) { return false; }
  // Says that this step is next, and waits until it is said, if it was not.
  virtual void choose(const step_input&) {}
  virtual isize updates() const = 0;
  // Waits until all that steps began is done, where a device works on by itself.
  virtual void finish() = 0;
  virtual step_costs costs() = 0;
  virtual void clear_costs() = 0;

  // Brings the weights of all processes together; then one of them may test.
  virtual void gather() = 0;
  virtual const std::vector<parameter>& parameters() const = 0;
  // All numbers, in the order of parameters(); called by all processes.
  virtual std::vector<float> weights() = 0;
  // The folder of what was saved; empty where another process saves.
  virtual std::filesystem::path save(const std::filesystem::path& run, const std::string& name, json state,
                                     std::size_t keep) = 0;
  virtual void load(const checkpoint& from, const std::string& name) = 0;
  // Called before the first step: see trainer::begin().
  virtual std::vector<given_module> begin(const checkpoint& from, const begin_options& how) = 0;

  // Several processes all make the same calls, and one of them tests, prints and writes.
  virtual bool is_main() const = 0;
  // None goes on where processes have something else of what decides the run.
  virtual void require_same(const run_identity& identity) = 0;
  // Says whether it is so in any process; two questions may be asked at once.
  virtual bool any(bool here) = 0;
  virtual std::pair<bool, bool> any(bool first, bool second) = 0;
};

using session_maker = std::unique_ptr<session> (*)(const session_request&);

}  // namespace motet
