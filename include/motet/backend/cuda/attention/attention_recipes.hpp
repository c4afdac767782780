// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/cuda/attention/attention_graph.hpp>
#include <motet/backend/cuda/attention/attention_settings.hpp>
#include <motet/backend/cuda/device/taken_paths.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Attention by cuDNN: graphs of its operations, made once for each shape. It is asked for bf16 and heads
// that lie in packs of 16 bytes, with or without a causal mask, samples of one length or of many. What it has
// no recipe for is left to our own kernels.

namespace motet::cuda {
namespace detail {

inline constexpr bool has_library_attention = MOTET_CUDNN_ATTENTION != 0;

#if MOTET_CUDNN_ATTENTION

// Of the many reasons that the library gives for its last failure, the first one is told.
inline std::string last_words() {
  char words[512] = "";
  cudnnGetLastErrorString(words, sizeof words);
  std::string_view all = words;
  if (const auto at = all.find("Reason: "); at != std::string_view::npos) all.remove_prefix(at + 8);
  all = all.substr(0, all.find('\n'));
  return all.empty() ? "" : ", " + std::string(all);
}

// A recipe finds here what it is given.
struct attention_operands {
  void* tensors[attention_problem::most_tensors] = {};
  std::int32_t *q_lengths = nullptr, *kv_lengths = nullptr;
  isize* offsets = nullptr;  // of each tensor `pitch` of them
  isize pitch = 0;
  float scale = 1;
};

class cudnn_attention_recipe {
 public:
  cudnn_attention_recipe(const cudnn_target& on, const attention_problem& of) : problem(of), graph_(of) {
    build(on);
  }
  const attention_problem problem;

  bool usable() const { return execution_ != nullptr; }
  // The library says why a recipe is not usable.
  const std::string& said() const { return said_; }
  isize workspace() const { return own_workspace() + workspace_; }

  cudnnStatus_t run(cudnnHandle_t library, const attention_operands& with, std::byte* workspace) const {
    float numbers[] = {with.scale, -std::numeric_limits<float>::infinity(), 1};
    std::vector<void*> addresses;
    for (const std::int64_t id : graph_.given())
      addresses.push_back(address_of(id, with, numbers, workspace));
    const auto count = static_cast<std::int64_t>(addresses.size());
    void* rest = workspace + own_workspace();
    cudnn_object pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, graph_.given().data(), count);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses.data(), count);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &rest);
    if (!pack.finish()) return pack.status();
    return cudnnBackendExecute(library, execution_->get(), pack.get());
  }

 private:
  isize row_sums() const { return round_up(graph_.row_sums() * 4, 256); }
  isize own_workspace() const { return row_sums() + round_up(graph_.dq_sums() * 4, 256); }
  void* address_of(std::int64_t id, const attention_operands& with, float (&numbers)[3],
                   std::byte* workspace) const {
    namespace ids = attention_ids;
    if (id < ids::offsets) return with.tensors[id - ids::tensors];
    if (id < ids::scale) return with.offsets + (id - ids::offsets) * with.pitch;
    if (id < ids::q_lengths) return numbers + (id - ids::scale);
    if (id < ids::row_sums) return id == ids::q_lengths ? with.q_lengths : with.kv_lengths;
    return id == ids::row_sums ? workspace : workspace + row_sums();
  }
  cudnn_object& make(cudnnBackendDescriptorType_t kind) {
    return *objects_.emplace_back(std::make_unique<cudnn_object>(kind));
  }

  void build(const cudnn_target& on) {
    said_ = "the graph cannot be described";
    if (!graph_.good()) return;
    last_words();  // what was said before is not about this
    cudnn_object& graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    on.tell(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, graph_.operations().data(),
              static_cast<std::int64_t>(graph_.operations().size()));
    graph.finish();
    cudnn_object& offers = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    offers.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    offers.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode);
    on.tell_properties(offers, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
    if (!offers.finish()) return tell(offers);
    const std::int64_t count =
        offers.get<void>(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
    std::vector<cudnn_object*> configurations;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t i = 0; i < count; ++i) {
      configurations.push_back(&make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      raw.push_back(configurations.back()->get());
    }
    const std::int64_t found = count == 0 ? 0
                                          : offers.get(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data());
    said_ = (found == 0 ? "no engine is offered" : "no engine repeats its sums") + last_words();
    for (std::int64_t i = 0; i < found && execution_ == nullptr; ++i) {
      cudnn_object& configuration = *configurations[as_size(i)];
      if (problem.deterministic && !repeats(configuration)) continue;
      cudnn_object& execution = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      on.tell(execution, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
      on.tell_properties(execution, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
      execution.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      if (!execution.finish()) {
        tell(execution);
        continue;
      }
      std::int64_t bytes = 0;
      if (execution.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes) != 1) continue;
      workspace_ = bytes;
      execution_ = &execution;
    }
  }
  void tell(const cudnn_object& failed) { said_ = cudnnGetErrorString(failed.status()) + last_words(); }
  // An engine repeats itself when its sums have a fixed order.
  static bool repeats(cudnn_object& configuration) {
    cudnn_object engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = engine.get();
    if (configuration.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw) != 1)
      return false;
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    const std::int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                          CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
    if (engine.status() != CUDNN_STATUS_SUCCESS) return false;
    for (std::int64_t i = 0; i < count; ++i)
      if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) return false;
    return true;
  }

  attention_graph graph_;
  std::vector<std::unique_ptr<cudnn_object>> objects_;  // those that a recipe was made of live as long
  cudnn_object* execution_ = nullptr;
  std::string said_;
  isize workspace_ = 0;
};

#endif

}  // namespace detail

// All recipes of an engine, a part of it. The library's workspace is its own, as a dry run has no library to
// ask: it grows when a recipe is made, which is before a step is recorded; recorded steps go on with the one
// they know.
class attention_recipes {
 public:
#if MOTET_CUDNN_ATTENTION
  explicit attention_recipes(engine& on) : on_(on) {
    begin();
    check(cudaDeviceGetAttribute(&chip_, cudaDevAttrComputeCapabilityMajor, on.gpu()),
          "cudaDeviceGetAttribute");
  }
  attention_recipes(const attention_recipes&) = delete;
  attention_recipes& operator=(const attention_recipes&) = delete;
  ~attention_recipes() { drop(); }

  // The result is null where our own kernels are to do it. Where the library would take too much memory for
  // all heads at once, they go in so many `parts`.
  const detail::cudnn_attention_recipe* find(detail::attention_problem problem, isize& parts, detour& why) {
    const auto refused = [&why](const detour& because) {
      return why = because.with(attention_off_library), nullptr;
    };
    const auto& settings = on_.part<attention_settings>();
    if (!settings.library) return why = {"own kernels were asked for"}, nullptr;
    if (library_ == nullptr) return why = absent_.with(attention_library_missing), nullptr;
    problem.deterministic = settings.deterministic || !problem.backward;
    // The library's documents exclude these.
    if (problem.backward && problem.q_rows == 1 && problem.kv_rows == 1)
      return refused({"backward of a single query and key"});
    if (problem.backward && problem.ragged && chip_ < 9)
      return refused({"backward of samples of many lengths on chips before Hopper"});
    const isize group = problem.heads / problem.kv_heads, all = problem.kv_heads;
    for (parts = 1; parts <= all;) {
      problem.kv_heads = all / parts, problem.heads = group * problem.kv_heads;
      const detail::cudnn_attention_recipe* const found = find_recipe(problem);
      if (found == nullptr && recipes_.size() == most_recipes)
        return refused({"# shapes are planned, and there are more", isize{most_recipes}});
      if (found == nullptr) return refused({"its shape came for the first time while a graph was recorded"});
      if (!found->usable())
        return refused({"cuDNN has no plan for heads that are # wide", problem.width,
                        on_.part<taken_paths>().kept(found->said())});
      if (found->workspace() <= settings.workspace)
        return has_room(found->workspace())
                   ? found
                   : refused({"it needs a larger workspace while a graph is recorded"});
      why = {"one head needs # bytes of workspace, more than attention_settings has", found->workspace(),
             nullptr, &attention_off_library};
      const isize most = std::max<isize>(settings.workspace, 1),
                  wanted = (parts * found->workspace() + most - 1) / most;
      for (parts = std::max(parts + 1, wanted); parts <= all && all % parts != 0;) ++parts;
    }
    return nullptr;
  }
  const detail::cudnn_attention_recipe* find(const detail::attention_problem& problem, isize& parts) {
    detour why;
    return find(problem, parts, why);
  }
  void run(const detail::cudnn_attention_recipe& recipe, const detail::attention_operands& with) {
    const cudnnStatus_t status = recipe.run(library_, with, workspaces_.back().data());
    if (status != CUDNN_STATUS_SUCCESS)
      fail(gpu_library_failed, std::string("cuDNN: attention: ") + cudnnGetErrorString(status));
    ++runs_;
  }
  std::string describe() const {
    if (library_ == nullptr) return "attention by own kernels: " + absent_.sentence();
    if (!on_.part<attention_settings>().library) return "attention by own kernels";
    const auto version = cudnnGetVersion();
    return sentence({"attention by cuDNN ", version / 10000, '.', version / 100 % 100, '.', version % 100,
                     " where it takes the shape, else by own kernels"});
  }
  isize runs() const { return runs_; }
  // The engine has another stream.
  void moved() {
    if (library_ == nullptr) return;
    if (const cudnnStatus_t set = cudnnSetStream(library_, on_.stream()); set != CUDNN_STATUS_SUCCESS)
      drop(), fails_to_begin(set);
  }
  // Each shape has a recipe, usable or not.
  isize made() const { return static_cast<isize>(recipes_.size()); }

 private:
  // each is half a second and a kernel's code; batches that never repeat are not worth them
  static constexpr std::size_t most_recipes = 256;
  // The library without its parts, which it loads by their names, is of no use.
  void begin() {
    const auto version = static_cast<isize>(cudnnGetVersion());
    if (version < 91700) absent_ = {"cuDNN # is too old, 91700 is wanted", version};
    else if (const cudnnStatus_t status = cudnnCreate(&library_); status != CUDNN_STATUS_SUCCESS)
      fails_to_begin(status);
    else if (const cudnnStatus_t set = cudnnSetStream(library_, on_.stream()); set != CUDNN_STATUS_SUCCESS)
      drop(), fails_to_begin(set);
  }
  void fails_to_begin(cudnnStatus_t status) {
    library_ = nullptr;
    const char* const looked = std::getenv("LD_LIBRARY_PATH");
    absent_ = {
        "cuDNN # does not begin", static_cast<isize>(cudnnGetVersion()),
        on_.part<taken_paths>().kept(cudnnGetErrorString(status) + detail::last_words() +
                                     "; LD_LIBRARY_PATH is " + (looked != nullptr ? looked : "not set"))};
  }
  bool recording() const {
    cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(on_.stream(), &found), "cudaStreamIsCapturing");
    return found != cudaStreamCaptureStatusNone;
  }
  const detail::cudnn_attention_recipe* find_recipe(const detail::attention_problem& problem) {
    for (const auto& each : recipes_)
      if (each->problem == problem) return each.get();
    if (recipes_.size() == most_recipes || recording()) return nullptr;
    return recipes_
        .emplace_back(std::make_unique<detail::cudnn_attention_recipe>(
            detail::cudnn_target{library_, nullptr}, problem))
        .get();
  }
  // Older workspaces stay, as recorded steps go on with the memory that they know.
  bool has_room(isize bytes) {
    if (!workspaces_.empty() && workspaces_.back().size() >= bytes) return true;
    if (recording()) return false;
    workspaces_.emplace_back(bytes);
    return true;
  }
  void drop() {
    recipes_.clear();
    if (library_ != nullptr) cudnnDestroy(library_);
    library_ = nullptr;
  }
  engine& on_;
  cudnnHandle_t library_ = nullptr;
  detour absent_;  // why there is none
  int chip_ = 0;   // 9 is Hopper
  std::vector<std::unique_ptr<detail::cudnn_attention_recipe>> recipes_;
  std::vector<buffer<std::byte>> workspaces_;  // the last one is the largest
  isize runs_ = 0;
#else
  explicit attention_recipes(engine&) {}
  std::string describe() const { return "attention by own kernels, as this program was built without cuDNN"; }
  isize runs() const { return 0; }
  isize made() const { return 0; }
#endif
};

}  // namespace motet::cuda
