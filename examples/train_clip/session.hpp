// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "named_plan.hpp"

#include <motet/format/checkpoint.hpp>
#include <motet/front/trainer.hpp>
#include <motet/nn/layers/pictured_tokens.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>
#include <motet/runtime/ranks/run_identity.hpp>
#include <motet/runtime/stage/foretell.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <variant>

// What the program sees of a model. Each model is compiled in a translation unit of its own, as an instance
// of typed_session; the program is compiled once, whatever the models.
namespace motet::train_clip {

using pair_input = std::tuple<pictures, tokens>;
// A step's samples: pairs, or of any number of pieces each.
using step_input = std::variant<pair_input, pictured_tokens>;

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

class session {
 public:
  session() = default;
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  virtual ~session() = default;

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

  // Features of any number of samples; of several processes, one may do so after all of them gathered.
  virtual void gather() = 0;
  virtual void embed(const pictures& batch, float* features) = 0;
  virtual void embed(const tokens& batch, float* features) = 0;
  // Of a model that speaks, in the place of features: what it says after one sample, until `end`.
  virtual std::vector<std::int32_t> say(const pictured_tokens& sample, std::int32_t end, index most) = 0;
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
  // Whether any process was asked to stop.
  virtual bool any(bool asked) = 0;
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
