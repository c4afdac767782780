// SPDX-License-Identifier: Apache-2.0
// The part of cuDNN's graph API that attention uses, on the emulated GPU: descriptors with their attributes,
// of which types and counts must fit, that are set before they are finished and used after; plans from
// heuristics; execution in the order of the stream. What graphs of operations mean is in
// fake_cudnn_graph.cpp.
#include "fake_cudnn.hpp"
#include "support/cuda/machine.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace motet::emulation::cudnn {
namespace {

// A rule says what may be set: its type, how many values, whether it must be, and of which kind a descriptor
// must be.
struct rule {
  cudnnBackendDescriptorType_t of;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t least, most;
  bool required;
  int kind = -1;
};
constexpr auto desc = CUDNN_TYPE_BACKEND_DESCRIPTOR;
constexpr auto of_tensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
constexpr auto product = CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
constexpr auto pointwise = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
constexpr auto reduction = CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR;
constexpr auto reshape = CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR;
const rule rules[] = {
    {of_tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1, true},
    {of_tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, true},
    {of_tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1, true},
    {of_tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, 8, true},
    {of_tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 1, 8, true},
    {of_tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, 1, false},
    {of_tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 1, false},
    {of_tensor, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, desc, 1, 1, false, of_tensor},
    {CUDNN_BACKEND_MATMUL_DESCRIPTOR, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, true},
    {CUDNN_BACKEND_MATMUL_DESCRIPTOR, CUDNN_ATTR_MATMUL_PADDING_VALUE, CUDNN_TYPE_DOUBLE, 1, 1, false},
    {product, CUDNN_ATTR_OPERATION_MATMUL_ADESC, desc, 1, 1, true, of_tensor},
    {product, CUDNN_ATTR_OPERATION_MATMUL_BDESC, desc, 1, 1, true, of_tensor},
    {product, CUDNN_ATTR_OPERATION_MATMUL_CDESC, desc, 1, 1, true, of_tensor},
    {product, CUDNN_ATTR_OPERATION_MATMUL_DESC, desc, 1, 1, true, CUDNN_BACKEND_MATMUL_DESCRIPTOR},
    {product, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, desc, 1, 1, false, of_tensor},
    {product, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, desc, 1, 1, false, of_tensor},
    {product, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, desc, 1, 1, false, of_tensor},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1, true},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1, true},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, 1, false},
    {pointwise, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, desc, 1, 1, true,
     CUDNN_BACKEND_POINTWISE_DESCRIPTOR},
    {pointwise, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, desc, 1, 1, true, of_tensor},
    {pointwise, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, desc, 1, 1, false, of_tensor},
    {pointwise, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, desc, 1, 1, false, of_tensor},
    {pointwise, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, desc, 1, 1, true, of_tensor},
    {CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1,
     1, true},
    {CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, true},
    {reduction, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, desc, 1, 1, true, of_tensor},
    {reduction, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, desc, 1, 1, true, of_tensor},
    {reduction, CUDNN_ATTR_OPERATION_REDUCTION_DESC, desc, 1, 1, true, CUDNN_BACKEND_REDUCTION_DESCRIPTOR},
    {reshape, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, desc, 1, 1, true, of_tensor},
    {reshape, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, desc, 1, 1, true, of_tensor},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1,
     true},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, desc, 1, 1000, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, desc, 1, 1, true,
     CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1, true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1,
     true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, desc, 1, 1, true,
     CUDNN_BACKEND_ENGINECFG_DESCRIPTOR},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, 64,
     true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, 64,
     true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1,
     false},
};
std::size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_POINTWISE_MODE:
    case CUDNN_TYPE_REDUCTION_OPERATOR_TYPE:
    case CUDNN_TYPE_HEUR_MODE: return sizeof(int);
    default: return 8;
  }
}
int64_t bytes_of_element(cudnnDataType_t type) {
  return type == CUDNN_DATA_INT64 ? 8 : type == CUDNN_DATA_BFLOAT16 ? 2 : type == CUDNN_DATA_BOOLEAN ? 1 : 4;
}
bool is_operation(const object& it) {
  return it.kind == product || it.kind == pointwise || it.kind == reduction || it.kind == reshape;
}
object* as(cudnnBackendDescriptor_t from) { return static_cast<object*>(from); }

std::atomic<const char*> last_words = "";

// MOTET_FAKE_CUDNN=1 says why graphs are refused.
cudnnStatus_t refused(const std::string& why) {
  if (std::getenv("MOTET_FAKE_CUDNN") != nullptr) std::fprintf(stderr, "cuDNN: %s\n", why.c_str());
  last_words = "the graph is not supported";
  return CUDNN_STATUS_BAD_PARAM;
}

constexpr int engines = 2, most_width = 256;  // of heads, backward
// The second takes more, and so does a fixed order of sums.
int64_t workspace_of(const object& plan) {
  const graph& of = *plan.made;
  if (!of.backward) return 16;
  const bool fixed = std::none_of(of.steps.begin(), of.steps.end(), [](const step& each) {
    return each.mode == CUDNN_POINTWISE_IDENTITY && each.kind == step_kind::pointwise;
  });
  return 256 * (1 + plan.engine) + (fixed ? of.scores : 0);
}
// The widest head.
int64_t width_of(const graph& of) { return of.tensors.at(of.steps.back().y).size[3]; }

}  // namespace
}  // namespace motet::emulation::cudnn

using namespace motet::emulation;
using namespace motet::emulation::cudnn;

extern "C" {

size_t cudnnGetVersion(void) { return is_refused("cudnnGetVersion") ? 91600 : CUDNN_VERSION; }
void cudnnGetLastErrorString(char* message, size_t most) {
  std::snprintf(message, most, "%s", last_words.exchange(""));
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "success" : "refused by the emulation";
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (is_refused("cudnnCreate"))
    return last_words = "libcudnn_graph.so.9 is not there", CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED;
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t kind,
                                           cudnnBackendDescriptor_t* made) {
  auto* const found = new object;
  found->kind = kind;
  *made = found;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t it) {
  delete as(it);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t it, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  object& to = *as(it);
  if (to.finished || values == nullptr) return CUDNN_STATUS_BAD_PARAM;
  for (const rule& each : rules) {
    if (each.of != to.kind || each.name != name) continue;
    if (type != each.type || count < each.least || count > each.most) return CUDNN_STATUS_BAD_PARAM;
    if (type == desc) {
      for (int64_t i = 0; i < count; ++i) {
        const object* const linked = static_cast<const object* const*>(values)[i];
        if (!linked->finished || (each.kind < 0 ? !is_operation(*linked) : linked->kind != each.kind))
          return CUDNN_STATUS_BAD_PARAM;
      }
    }
    object::attribute& place = to.attributes[name];
    place.type = type;
    place.count = count;
    const auto* const from = static_cast<const unsigned char*>(values);
    place.bytes.assign(from, from + static_cast<std::size_t>(count) * bytes_of(type));
    return CUDNN_STATUS_SUCCESS;
  }
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t it) {
  object& of = *as(it);
  if (of.finished) return CUDNN_STATUS_BAD_PARAM;
  for (const rule& each : rules)
    if (each.of == of.kind && each.required && !of.has(each.name)) return CUDNN_STATUS_BAD_PARAM;
  if (of.kind == of_tensor) {
    const auto alignment = of.get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    if (alignment < bytes_of_element(of.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)))
      return CUDNN_STATUS_BAD_PARAM;
    const auto &sizes = of.attributes[CUDNN_ATTR_TENSOR_DIMENSIONS],
               &strides = of.attributes[CUDNN_ATTR_TENSOR_STRIDES];
    if (sizes.count != 4 || strides.count != 4) return CUDNN_STATUS_BAD_PARAM;
    for (std::size_t i = 0; i < 4; ++i)
      if (of.get<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, 0, i) < 1 ||
          of.get<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, 0, i) < 1)
        return CUDNN_STATUS_BAD_PARAM;
  }
  if (of.kind == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    std::vector<const object*> operations;
    for (int64_t i = 0; i < of.attributes[CUDNN_ATTR_OPERATIONGRAPH_OPS].count; ++i)
      operations.push_back(of.link(CUDNN_ATTR_OPERATIONGRAPH_OPS, static_cast<std::size_t>(i)));
    std::string why;
    of.made = read_graph(operations, why);
    if (of.made == nullptr || is_refused("cudnnBackendFinalize")) return refused(why);
  }
  if (of.kind == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
      of.attributes[CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS].count !=
          of.attributes[CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS].count)
    return CUDNN_STATUS_BAD_PARAM;
  if (of.kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const object* const configuration = of.link(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    of.engine = configuration->engine, of.made = configuration->made;
  }
  of.finished = true;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const it, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted, int64_t* count,
                                       void* values) {
  const object& of = *as(it);
  if (!of.finished) return CUDNN_STATUS_BAD_PARAM;
  if (of.kind == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR && name == CUDNN_ATTR_ENGINEHEUR_RESULTS &&
      type == desc) {
    const object* const from = of.link(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const int64_t width = width_of(*from->made);
    const int64_t offered = width % 8 != 0 || (from->made->backward && width > most_width) ? 0 : engines;
    if (values == nullptr) {
      *count = offered;
      return CUDNN_STATUS_SUCCESS;
    }
    *count = std::min(wanted, offered);
    for (int64_t i = 0; i < *count; ++i) {
      object& configuration = *as(static_cast<cudnnBackendDescriptor_t*>(values)[i]);
      if (configuration.kind != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) return CUDNN_STATUS_BAD_PARAM;
      configuration.engine = static_cast<int>(i);
      configuration.finished = true;
      configuration.made = from->made;
    }
    return CUDNN_STATUS_SUCCESS;
  }
  if (of.kind == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR && name == CUDNN_ATTR_ENGINECFG_ENGINE && type == desc &&
      wanted == 1) {
    object& engine = *as(*static_cast<cudnnBackendDescriptor_t*>(values));
    if (engine.kind != CUDNN_BACKEND_ENGINE_DESCRIPTOR) return CUDNN_STATUS_BAD_PARAM;
    engine.made = of.made;
    engine.engine = of.engine;
    engine.finished = true;
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  if (of.kind == CUDNN_BACKEND_ENGINE_DESCRIPTOR && name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE &&
      type == CUDNN_TYPE_NUMERICAL_NOTE) {
    auto* const notes = static_cast<cudnnBackendNumericalNote_t*>(values);
    *count = of.engine == 0 && of.made->backward ? 2 : 1;
    if (wanted < *count) return CUDNN_STATUS_BAD_PARAM;
    notes[0] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    if (*count > 1) notes[1] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    return CUDNN_STATUS_SUCCESS;
  }
  if (of.kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
      name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64 && wanted == 1) {
    *static_cast<int64_t*>(values) = workspace_of(of);
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const object &how = *as(plan), &with = *as(pack);
  if (!how.finished || !with.finished || how.kind != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      with.kind != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return CUDNN_STATUS_BAD_PARAM;
  const std::shared_ptr<const graph> todo = how.made;
  std::map<int64_t, void*> places;
  const auto given = static_cast<std::size_t>(with.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count);
  for (std::size_t i = 0; i < given; ++i) {
    const auto id = with.get<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 0, i);
    const auto known = todo->tensors.find(id);
    if (known == todo->tensors.end() || known->second.is_virtual)
      return refused("tensor " + std::to_string(id) + " is not asked for");
    if (!places.emplace(id, with.get<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, nullptr, i)).second)
      return refused("a tensor is given twice");
  }
  auto numbers = std::make_shared<std::map<int64_t, float>>();  // are read now
  for (const auto& [id, each] : todo->tensors) {
    if (each.is_virtual) continue;
    void* const at = places[id];
    if (at == nullptr) return refused("tensor " + std::to_string(id) + " is not given");
    if (each.by_value) {
      if (memory_kind_of(at) == memory_kind::gpu) fault("cuDNN: a number by value is in memory of the GPU");
      (*numbers)[id] = *static_cast<const float*>(at);
      continue;
    }
    if (memory_kind_of(at) != memory_kind::gpu) fault("cuDNN: a tensor is not in memory of the GPU");
    if (reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(each.alignment) != 0)
      fault("cuDNN: a tensor is not aligned as its descriptor says");
  }
  for (auto& [id, value] : *numbers) places[id] = &value;
  void* const workspace = with.get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const auto bytes = static_cast<std::size_t>(workspace_of(how));
  if (bytes > 0 && (workspace == nullptr || memory_kind_of(workspace) != memory_kind::gpu))
    fault("cuDNN: no workspace");
  // Nothing that is written is read. Tensors that lie between each other's rows may share a range of memory,
  // but not its elements.
  for (const int64_t out : todo->written())
    for (const auto& [id, at] : places)
      if (id != out && at == places[out]) fault("cuDNN: an output is the memory of another tensor");
  call(handle->stream, [todo, places, numbers, workspace, bytes] {
    std::memset(workspace, 0xee, bytes);
    run_graph(*todo, places);
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
