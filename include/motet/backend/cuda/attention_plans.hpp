// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention_settings.hpp>
#include <motet/backend/cuda/attention_tile.hpp>
#include <motet/backend/messages.hpp>

#include <memory>
#include <string>
#include <vector>

// Attention by cuDNN: operations of its graph API (SDPA forward and backward), planned once for each shape. It is asked for bf16, samples of one
// length and no mask, as picture encoders have them. All else, and what it has no plan for, is left to our own kernels: its operations know causal
// masks and samples of several lengths only in part.

namespace motet::cuda {
namespace detail {

inline constexpr bool has_library_attention = MOTET_CUDNN_ATTENTION != 0;

#if MOTET_CUDNN_ATTENTION

// A descriptor of the library. The first failure is kept, and nothing is done after it.
class cudnn_object {
 public:
  explicit cudnn_object(cudnnBackendDescriptorType_t kind) { keep(cudnnBackendCreateDescriptor(kind, &it_)); }
  cudnn_object(const cudnn_object&) = delete;
  cudnn_object& operator=(const cudnn_object&) = delete;
  ~cudnn_object() {
    if (it_ != nullptr) cudnnBackendDestroyDescriptor(it_);
  }
  cudnnBackendDescriptor_t get() const { return it_; }
  cudnnStatus_t status() const { return status_; }

  template <class T>
  cudnn_object& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T* values, std::int64_t count = 1) {
    if (good()) keep(cudnnBackendSetAttribute(it_, name, type, count, values));
    return *this;
  }
  cudnn_object& set(cudnnBackendAttributeName_t name, const cudnn_object& value) {
    keep(value.status_);
    const cudnnBackendDescriptor_t raw = value.it_;
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &raw);
  }
  bool finish() {
    if (good()) keep(cudnnBackendFinalize(it_));
    return good();
  }
  // How many values there are; no more than `most` are written.
  template <class T>
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most, T* values) {
    std::int64_t count = 0;
    if (good()) keep(cudnnBackendGetAttribute(it_, name, type, most, &count, values));
    return good() ? count : 0;
  }

 private:
  bool good() const { return status_ == CUDNN_STATUS_SUCCESS; }
  void keep(cudnnStatus_t status) {
    if (good()) status_ = status;
  }
  cudnnBackendDescriptor_t it_ = nullptr;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

// What a plan is made for. Tensors are counted as they come: q, k, v, y, lse and, of backward, dy, dq, dk, dv.
struct attention_problem {
  static constexpr int most_tensors = 9;
  bool backward = false, deterministic = true;
  index samples = 0, q_rows = 0, kv_rows = 0, heads = 0, kv_heads = 0, width = 0;
  index strides[most_tensors] = {};
  bool operator==(const attention_problem&) const = default;
  int tensors() const { return backward ? most_tensors : 5; }
};

class cudnn_attention_plan {
 public:
  cudnn_attention_plan(cudnnHandle_t library, const attention_problem& of) : problem(of) { build(library); }
  const attention_problem problem;

  bool usable() const { return plan_ != nullptr; }
  index workspace() const { return workspace_; }

  cudnnStatus_t run(cudnnHandle_t library, void* const (&data)[attention_problem::most_tensors], float scale, void* workspace) const {
    std::int64_t ids[attention_problem::most_tensors + 1];
    void* places[attention_problem::most_tensors + 1];
    const int count = problem.tensors();
    for (int i = 0; i <= count; ++i) {
      ids[i] = i + 1;
      places[i] = i < count ? data[i] : &scale;
    }
    cudnn_object pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids, count + 1);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, places, count + 1);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, &workspace);
    if (!pack.finish()) return pack.status();
    return cudnnBackendExecute(library, plan_->get(), pack.get());
  }

 private:
  cudnn_object& make(cudnnBackendDescriptorType_t kind) { return *objects_.emplace_back(std::make_unique<cudnn_object>(kind)); }
  cudnn_object& tensor(std::int64_t id, cudnnDataType_t type, const std::int64_t (&sizes)[4], const std::int64_t (&strides)[4],
                       bool by_value = false) {
    const std::int64_t alignment = by_value || type == CUDNN_DATA_FLOAT ? 4 : 16;
    cudnn_object& made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &id);
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type);
    made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &alignment);
    made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes, 4);
    made.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides, 4);
    made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, &by_value);
    made.finish();
    return made;
  }
  // (samples, heads, rows of a sample, width of a head), as they lie in our matrices.
  cudnn_object& heads_at(int place, index heads, index rows) {
    const index stride = problem.strides[place];
    return tensor(place + 1, CUDNN_DATA_BFLOAT16, {problem.samples, heads, rows, problem.width}, {rows * stride, problem.width, stride, 1});
  }

  void build(cudnnHandle_t library) {
    static constexpr cudnnBackendAttributeName_t forward[] = {CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
                                                              CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC,
                                                              CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC};
    static constexpr cudnnBackendAttributeName_t backward[] = {
        CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC,  CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC,     CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC,
        CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC,  CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC,
        CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC,    CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC};
    constexpr int lse = 4;
    constexpr bool of_keys[] = {false, true, true, false, false, false, false, true, true};
    cudnn_object& operation = make(problem.backward ? CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR : CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
    for (int i = 0; i < problem.tensors(); ++i) {
      const index stride = problem.strides[i];
      const cudnn_object& each =
          i == lse ? tensor(i + 1, CUDNN_DATA_FLOAT, {problem.samples, problem.heads, problem.q_rows, 1}, {problem.q_rows * stride, 1, stride, 1})
                   : heads_at(i, of_keys[i] ? problem.kv_heads : problem.heads, of_keys[i] ? problem.kv_rows : problem.q_rows);
      operation.set(problem.backward ? backward[i] : forward[i], each);
    }
    operation.set(problem.backward ? CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC : CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC,
                  tensor(problem.tensors() + 1, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, true));
    operation.finish();

    cudnn_object& graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &library);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    graph.finish();
    cudnn_object& offers = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    offers.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    offers.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode);
    if (!offers.finish()) return;
    const std::int64_t count = offers.get<void>(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
    std::vector<cudnn_object*> configurations;
    std::vector<cudnnBackendDescriptor_t> raw;
    for (std::int64_t i = 0; i < count; ++i) {
      configurations.push_back(&make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
      raw.push_back(configurations.back()->get());
    }
    const std::int64_t found = count == 0 ? 0 : offers.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, raw.data());
    for (std::int64_t i = 0; i < found && plan_ == nullptr; ++i) {
      cudnn_object& configuration = *configurations[static_cast<std::size_t>(i)];
      if (problem.deterministic && !repeats(configuration)) continue;
      cudnn_object& plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &library);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
      if (!plan.finish()) continue;
      std::int64_t bytes = 0;
      if (plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes) != 1) continue;
      workspace_ = bytes;
      plan_ = &plan;
    }
  }
  // Whether an engine's sums have a fixed order.
  static bool repeats(cudnn_object& configuration) {
    cudnn_object engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t raw = engine.get();
    if (configuration.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw) != 1) return false;
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    const std::int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
    if (engine.status() != CUDNN_STATUS_SUCCESS) return false;
    for (std::int64_t i = 0; i < count; ++i)
      if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) return false;
    return true;
  }

  std::vector<std::unique_ptr<cudnn_object>> objects_;  // those that a plan was made of live as long
  cudnn_object* plan_ = nullptr;
  index workspace_ = 0;
};

#endif

}  // namespace detail

// What the library needs, a part of the engine. Its workspace is its own, as a dry run has no library to ask: it grows when a plan is made, which is
// before a step is recorded; recorded steps go on with the one they know.
class attention_plans {
 public:
#if MOTET_CUDNN_ATTENTION
  explicit attention_plans(engine& on) : on_(on) {
    if (cudnnGetVersion() < 91700 || cudnnCreate(&library_) != CUDNN_STATUS_SUCCESS) library_ = nullptr;
    if (library_ != nullptr && cudnnSetStream(library_, on.stream()) != CUDNN_STATUS_SUCCESS) drop();
  }
  attention_plans(const attention_plans&) = delete;
  attention_plans& operator=(const attention_plans&) = delete;
  ~attention_plans() { drop(); }

  // Null where our own kernels are to do it.
  const detail::cudnn_attention_plan* find(detail::attention_problem problem) {
    const auto& settings = on_.part<attention_settings>();
    if (library_ == nullptr || !settings.library) return nullptr;
    problem.deterministic = settings.deterministic;
    for (const auto& each : plans_)
      if (each->problem == problem) return each->usable() ? each.get() : nullptr;
    cudaStreamCaptureStatus recording = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(on_.stream(), &recording), "cudaStreamIsCapturing");
    if (recording != cudaStreamCaptureStatusNone) return nullptr;
    const auto& made = *plans_.emplace_back(std::make_unique<detail::cudnn_attention_plan>(library_, problem));
    if (!made.usable()) return nullptr;
    if (workspaces_.empty() || workspaces_.back().size() < made.workspace()) workspaces_.emplace_back(made.workspace());
    return &made;
  }
  void run(const detail::cudnn_attention_plan& plan, void* const (&data)[detail::attention_problem::most_tensors], double scale) {
    const cudnnStatus_t status = plan.run(library_, data, static_cast<float>(scale), workspaces_.back().data());
    if (status != CUDNN_STATUS_SUCCESS) fail(gpu_library_failed, std::string("cuDNN: attention: ") + cudnnGetErrorString(status));
    ++runs_;
  }
  std::string describe() const {
    if (library_ == nullptr) return "attention by own kernels, as there is no cuDNN from 9.17 on";
    if (!on_.part<attention_settings>().library) return "attention by own kernels";
    const auto version = cudnnGetVersion();
    return "attention of samples of one length by cuDNN " + std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
           std::to_string(version % 100) + ", else by own kernels";
  }
  // How often the library was asked.
  index runs() const { return runs_; }

 private:
  void drop() {
    plans_.clear();
    if (library_ != nullptr) cudnnDestroy(library_);
    library_ = nullptr;
  }
  engine& on_;
  cudnnHandle_t library_ = nullptr;
  std::vector<std::unique_ptr<detail::cudnn_attention_plan>> plans_;
  std::vector<buffer<std::byte>> workspaces_;  // the last one is the largest
  index runs_ = 0;
#else
  explicit attention_plans(engine&) {}
  std::string describe() const { return "attention by own kernels, as this program was built without cuDNN"; }
  index runs() const { return 0; }
#endif
};

namespace detail {

// Whether the library did it. All rows can be moved in packs of 16 bytes where `packed`.
inline bool library_attention([[maybe_unused]] context& ctx, [[maybe_unused]] bool backward, [[maybe_unused]] const sequences& q_seq,
                              [[maybe_unused]] const sequences& kv_seq, [[maybe_unused]] const attention_shape& shape,
                              [[maybe_unused]] const matrix<const bf16>* const* of, [[maybe_unused]] const matrix<const float>& lse) {
#if MOTET_CUDNN_ATTENTION
  if (q_seq.offsets != nullptr || kv_seq.offsets != nullptr || shape.mask != mask_kind::full || q_seq.rows() == 0 || kv_seq.rows() == 0) return false;
  attention_problem problem{backward, true, q_seq.samples, q_seq.length, kv_seq.length, shape.heads, shape.kv_heads, shape.head_width, {}};
  void* data[attention_problem::most_tensors] = {};
  for (int i = 0, next = 0; i < problem.tensors(); ++i) {
    if (i == 4) {
      problem.strides[i] = lse.stride;
      data[i] = const_cast<float*>(lse.data);
      continue;
    }
    const matrix<const bf16>& each = *of[next++];
    if (!in_packs(each.data, shape.head_width, each.stride)) return false;
    problem.strides[i] = each.stride;
    data[i] = const_cast<bf16*>(each.data);
  }
  attention_plans& plans = ctx.on->part<attention_plans>();
  const cudnn_attention_plan* const plan = plans.find(problem);
  if (plan == nullptr) return false;
  plans.run(*plan, data, attention_scale(shape));
  return true;
#else
  return false;
#endif
}
inline bool library_attention_forward(context& ctx, const sequences& q_seq, const sequences& kv_seq, const attention_shape& shape,
                                      const matrix<const bf16>& q, const matrix<const bf16>& k, const matrix<const bf16>& v,
                                      const matrix<const bf16>& y, const matrix<const float>& lse) {
  const matrix<const bf16>* const of[] = {&q, &k, &v, &y};
  return library_attention(ctx, false, q_seq, kv_seq, shape, of, lse);
}
inline bool library_attention_backward(context& ctx, const sequences& q_seq, const sequences& kv_seq, const attention_shape& shape,
                                       const matrix<const bf16>& q, const matrix<const bf16>& k, const matrix<const bf16>& v,
                                       const matrix<const bf16>& y, const matrix<const float>& lse, const matrix<const bf16>& dy,
                                       const matrix<const bf16>& dq, const matrix<const bf16>& dk, const matrix<const bf16>& dv) {
  const matrix<const bf16>* const of[] = {&q, &k, &v, &y, &dy, &dq, &dk, &dv};
  return library_attention(ctx, true, q_seq, kv_seq, shape, of, lse);
}

}  // namespace detail
}  // namespace motet::cuda
