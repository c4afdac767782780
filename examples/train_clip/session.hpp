// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "named_plan.hpp"

#include <motet/format/checkpoint.hpp>
#include <motet/front/trainer.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/stage/foretell.hpp>
#include <motet/tools/held_out.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

// What the program sees of a model. Each model is compiled in a translation unit of its own, as an instance
// of typed_session; the program is compiled once, whatever the models.
namespace motet::train_clip {

struct model_facts {
  std::string name;       // "tiny"
  std::string loss;       // "infonce", "sigmoid" or "next_token"
  std::string precision;  // "fp32", "bf16" or "fp8"
  vit_config picture;
  text_config caption;
  index parameters = 0;  // numbers, without the gaps between tensors
  bool speaks = false;   // says captions, instead of comparing them
  // Of one that speaks: rows that a picture is made, of which the first are not shown; the most pictures and
  // rows of a sample.
  index rows_of_picture = 0, lead = 0, most_pictures = 0, rows = 0;

  sample_shape shape() const {
    return {name,
            picture.image,
            caption.vocabulary,
            speaks ? rows : caption.context,
            speaks,
            rows_of_picture,
            lead,
            speaks ? most_pictures : 1};
  }
  // Of random captions, which are as long as any.
  sample_shape random_shape() const {
    sample_shape out = shape();
    out.context = caption.context;
    return out;
  }
};

// Which session is wanted, and where its ranks live.
struct session_request {
  std::string loss = "infonce";
  std::string precision = "fp32";
  trainer_options options;
  bool on_gpu = false;
  int threads = 0;          // of each rank on a CPU; 0: all processors, shared by the ranks here
  std::optional<plan> how;  // proven; none: one rank
  launched by;
};

class session : public tested_model {
 public:
  virtual const model_facts& facts() const = 0;
  virtual std::string machine() = 0;
  virtual int threads() const = 0;  // of each rank
  // Of all ranks, which measure at the same time where they are processes; and which product that was.
  virtual double measure_peak() = 0;
  virtual std::string peak_product() const = 0;
  virtual const program& of() const = 0;
  virtual std::vector<rank_memory> memory() = 0;  // of each rank; of ranks in other processes nothing
  virtual program_work work() = 0;
  virtual step_costs foretold_costs() = 0;
  virtual double flops(const step_input& batch) = 0;

  virtual void prepare() = 0;
  // Tells where batches will lie, which end after the result; a GPU reads them faster then.
  virtual std::shared_ptr<void> pin(const void* at, std::size_t bytes) = 0;
  // Which way the operations took so far, where there is more than one, and why; one sentence for each.
  virtual std::vector<std::string> paths() = 0;
  // Before step(): the batch of the step after it, which a GPU may take meanwhile.
  virtual void expect(const step_input& next) = 0;
  virtual step_result step(const step_input& batch, double rate) = 0;
  virtual index updates() const = 0;
  // Until all that steps began is done, where a device works on by itself.
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

  // Of several processes, which all make the same calls, one tests, prints and writes.
  virtual bool is_main() const = 0;
  // None goes on where processes have something else of what decides the run.
  virtual void require_same(const run_identity& identity) = 0;
  // Whether it is so in any process; of two questions at once.
  virtual bool any(bool here) = 0;
  virtual std::pair<bool, bool> any(bool first, bool second) = 0;
};

using session_maker = std::unique_ptr<session> (*)(const session_request&);

// A model is compiled in units of its own, as many as one asks for (MOTET_MODELS, MOTET_CUDA_MODELS).
struct model_entry {
  const char* name;
  session_maker make, on_gpu;  // null: not compiled
  const vit_config* picture;
  const text_config* caption;
};

// What makes a program of all this: each has a file this_program.cpp.
struct program_entry {
  const char *name, *about;
  bool speaks;  // its models do
  std::span<const model_entry> models;
  std::span<const named_plan> plans;
  // What plans must know of a model, without making one.
  list<motet::module_facts> (*facts)(const model_entry&);
};
extern const program_entry this_program;

inline const model_entry& find_model(std::string_view name) {
  for (const model_entry& each : this_program.models)
    if (name == each.name) return each;
  return this_program.models[0];  // the command line allows no other
}

}  // namespace motet::train_clip
