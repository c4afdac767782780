// SPDX-License-Identifier: Apache-2.0
// The part of cuDNN's graph API that attention uses, on the emulated GPU: descriptors with their attributes, of which types and counts must fit, that
// are set before they are finished and used after; plans from heuristics; execution in the order of the stream. Attention itself is computed as its
// definition says. As of version 9.17 and later: one operation for each direction.
#include "support/cuda/machine.hpp"

#include <motet/tensor/dtype.hpp>

#include <cudnn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace motet::emulation {
namespace {

using std::int64_t;

struct object {
  cudnnBackendDescriptorType_t kind;
  bool finished = false;
  struct attribute {
    cudnnBackendAttributeType_t type;
    int64_t count = 0;
    std::vector<unsigned char> bytes;
  };
  std::map<cudnnBackendAttributeName_t, attribute> attributes;
  int engine = 0;  // of an engine, a configuration and a plan

  bool has(cudnnBackendAttributeName_t name) const { return attributes.count(name) > 0; }
  template <class T>
  T get(cudnnBackendAttributeName_t name, T otherwise = {}, std::size_t which = 0) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return otherwise;
    T value;
    std::memcpy(&value, found->second.bytes.data() + which * sizeof(T), sizeof(T));
    return value;
  }
  const object* link(cudnnBackendAttributeName_t name) const { return static_cast<const object*>(get<cudnnBackendDescriptor_t>(name)); }
};

// What may be set: its type, how many values, whether it must be, and of which kind a descriptor must be.
struct rule {
  cudnnBackendDescriptorType_t of;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t least, most;
  bool required;
  int kind = -1;
};
constexpr auto desc = CUDNN_TYPE_BACKEND_DESCRIPTOR;
constexpr auto tensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
constexpr auto sdpa = CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR;
constexpr auto sdpa_backward = CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR;
const rule rules[] = {
    {tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1, true},
    {tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, true},
    {tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1, true},
    {tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, 8, true},
    {tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 1, 8, true},
    {tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, 1, false},
    {tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 1, false},
    {sdpa, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, desc, 1, 1, true, tensor},
    {sdpa, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, desc, 1, 1, true, tensor},
    {sdpa, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, desc, 1, 1, true, tensor},
    {sdpa, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, desc, 1, 1, true, tensor},
    {sdpa, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, desc, 1, 1, false, tensor},
    {sdpa, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, desc, 1, 1, true, tensor},
    {sdpa_backward, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, desc, 1, 1, true, tensor},
    {sdpa_backward, CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, desc, 1, 1, true, tensor},
    {sdpa_backward, CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC, desc, 1, 1, true, tensor},
    {sdpa_backward, CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC, desc, 1, 1, true, tensor},
    {sdpa_backward, CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC, desc, 1, 1, true, tensor},
    {sdpa_backward, CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC, desc, 1, 1, true, tensor},
    {sdpa_backward, CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC, desc, 1, 1, true, tensor},
    {sdpa_backward, CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC, desc, 1, 1, true, tensor},
    {sdpa_backward, CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC, desc, 1, 1, true, tensor},
    {sdpa_backward, CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC, desc, 1, 1, true, tensor},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, true},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, desc, 1, 1, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, desc, 1, 1, true, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1, true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, false},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, desc, 1, 1, true, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, 64, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, 64, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1, false},
};
std::size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_HEUR_MODE: return sizeof(int);
    default: return 8;
  }
}
object* as(cudnnBackendDescriptor_t from) { return static_cast<object*>(from); }

// A tensor of four sizes.
struct shape {
  const object* from = nullptr;
  int64_t id = 0, size[4] = {}, stride[4] = {};
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  explicit shape(const object* of) : from(of), id(of->get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)) {
    type = of->get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    for (std::size_t i = 0; i < 4; ++i) {
      size[i] = of->get<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, 0, i);
      stride[i] = of->get<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, 0, i);
    }
  }
  bool by_value() const { return from->get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE); }
  bool is(cudnnDataType_t wanted, int64_t a, int64_t b, int64_t c, int64_t d) const {
    return type == wanted && size[0] == a && size[1] == b && size[2] == c && size[3] == d && !by_value();
  }
  int64_t at(int64_t b, int64_t h, int64_t r, int64_t c) const { return b * stride[0] + h * stride[1] + r * stride[2] + c * stride[3]; }
  int64_t last() const { return at(size[0] - 1, size[1] - 1, size[2] - 1, size[3] - 1); }
  std::size_t width() const { return type == CUDNN_DATA_FLOAT ? 4 : 2; }
};

// The tensors of an operation: q, k, v, o, stats, scale, then do, dq, dk, dv.
std::vector<shape> tensors_of(const object& operation) {
  static const cudnnBackendAttributeName_t forward[] = {CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC,     CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
                                                        CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,     CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC,
                                                        CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC};
  static const cudnnBackendAttributeName_t backward[] = {CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC,     CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC,
                                                         CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC,     CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC,
                                                         CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC,
                                                         CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC,   CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC,
                                                         CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC,    CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC};
  std::vector<shape> found;
  if (operation.kind == sdpa) {
    for (const auto name : forward) found.emplace_back(operation.link(name));
  } else {
    for (const auto name : backward) found.emplace_back(operation.link(name));
  }
  return found;
}
bool fits(const object& operation) {
  const auto t = tensors_of(operation);
  const int64_t b = t[0].size[0], h = t[0].size[1], rows = t[0].size[2], d = t[0].size[3], kv_heads = t[1].size[1], keys = t[1].size[2];
  const auto half = CUDNN_DATA_BFLOAT16;
  const auto& scale = t[5];
  bool good = t[0].is(half, b, h, rows, d) && t[1].is(half, b, kv_heads, keys, d) && t[2].is(half, b, kv_heads, keys, d) &&
              t[3].is(half, b, h, rows, d) && t[4].is(CUDNN_DATA_FLOAT, b, h, rows, 1) && scale.by_value() && scale.type == CUDNN_DATA_FLOAT &&
              scale.last() == 0;
  if (t.size() > 6)
    good = good && t[6].is(half, b, h, rows, d) && t[7].is(half, b, h, rows, d) && t[8].is(half, b, kv_heads, keys, d) &&
           t[9].is(half, b, kv_heads, keys, d);
  for (const auto& each : t) good = good && (&each == &t[4] || each.stride[3] == 1);
  for (std::size_t i = 0; i < t.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) good = good && t[i].id != t[j].id;
  return good && kv_heads > 0 && h % kv_heads == 0 && b > 0 && rows > 0 && keys > 0;
}

// An operation with its memory.
struct work {
  std::vector<shape> t;
  std::vector<void*> data;
  float scale = 1;
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;

  double read(std::size_t which, int64_t at) const {
    return which == 4 ? static_cast<double>(static_cast<const float*>(data[4])[at]) : static_cast<double>(static_cast<const bf16*>(data[which])[at]);
  }
  void write(std::size_t which, int64_t at, double value) const { static_cast<bf16*>(data[which])[at] = bf16(static_cast<float>(value)); }

  void run() const {
    if (workspace_bytes > 0) std::memset(workspace, 0xee, static_cast<std::size_t>(workspace_bytes));
    const bool backward = t.size() > 6;
    const int64_t samples = t[0].size[0], heads = t[0].size[1], rows = t[0].size[2], width = t[0].size[3], keys = t[1].size[2];
    const int64_t kv_heads = t[1].size[1], group = heads / kv_heads;
    const auto size = [](int64_t n) { return static_cast<std::size_t>(n); };
    for (int64_t b = 0; b < samples; ++b)
      for (int64_t g = 0; g < kv_heads; ++g) {
        std::vector<double> dk(size(keys * width)), dv(size(keys * width));
        for (int64_t h = g * group; h < (g + 1) * group; ++h)
          for (int64_t i = 0; i < rows; ++i) {
            std::vector<double> p(size(keys)), out(size(width));
            double peak = -INFINITY, sum = 0, delta = 0;
            for (int64_t j = 0; j < keys; ++j) {
              for (int64_t c = 0; c < width; ++c) p[size(j)] += read(0, t[0].at(b, h, i, c)) * read(1, t[1].at(b, g, j, c));
              p[size(j)] *= static_cast<double>(scale);
              peak = std::max(peak, p[size(j)]);
            }
            for (const double x : p) sum += std::exp(x - peak);
            const double log = backward ? read(4, t[4].at(b, h, i, 0)) : peak + std::log(sum);
            for (double& x : p) x = std::exp(x - log);
            if (!backward) {
              for (int64_t c = 0; c < width; ++c) {
                double y = 0;
                for (int64_t j = 0; j < keys; ++j) y += p[size(j)] * read(2, t[2].at(b, g, j, c));
                write(3, t[3].at(b, h, i, c), y);
              }
              static_cast<float*>(data[4])[t[4].at(b, h, i, 0)] = static_cast<float>(log);
              continue;
            }
            for (int64_t c = 0; c < width; ++c) delta += read(3, t[3].at(b, h, i, c)) * read(6, t[6].at(b, h, i, c));
            for (int64_t j = 0; j < keys; ++j) {
              double dp = 0;
              for (int64_t c = 0; c < width; ++c) dp += read(6, t[6].at(b, h, i, c)) * read(2, t[2].at(b, g, j, c));
              const double ds = p[size(j)] * (dp - delta) * static_cast<double>(scale);
              for (int64_t c = 0; c < width; ++c) {
                dv[size(j * width + c)] += p[size(j)] * read(6, t[6].at(b, h, i, c));
                dk[size(j * width + c)] += ds * read(0, t[0].at(b, h, i, c));
                out[size(c)] += ds * read(1, t[1].at(b, g, j, c));
              }
            }
            for (int64_t c = 0; c < width; ++c) write(7, t[7].at(b, h, i, c), out[size(c)]);
          }
        for (int64_t j = 0; backward && j < keys; ++j)
          for (int64_t c = 0; c < width; ++c) {
            write(8, t[8].at(b, g, j, c), dk[size(j * width + c)]);
            write(9, t[9].at(b, g, j, c), dv[size(j * width + c)]);
          }
      }
  }
};

const object* operation_of(const object& plan) {
  const object* const configuration = plan.link(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  return configuration->link(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->link(CUDNN_ATTR_OPERATIONGRAPH_OPS);
}
// Of the first engine the gradients' sums have no fixed order.
constexpr int engines = 2;
int64_t workspace_of(const object& plan) {
  const auto t = tensors_of(*operation_of(plan));
  return t.size() > 6 ? t[0].size[0] * t[0].size[1] * t[0].size[2] * 4 * (1 + plan.engine) : 16;
}

}  // namespace
}  // namespace motet::emulation

using namespace motet::emulation;

extern "C" {

size_t cudnnGetVersion(void) { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS ? "success" : "refused by the emulation"; }
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
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
cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t kind, cudnnBackendDescriptor_t* made) {
  auto* const found = new object;
  found->kind = kind;
  *made = found;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t it) {
  delete as(it);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t it, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                                       const void* values) {
  object& to = *as(it);
  if (to.finished || values == nullptr) return CUDNN_STATUS_BAD_PARAM;
  for (const rule& each : rules) {
    if (each.of != to.kind || each.name != name) continue;
    if (type != each.type || count < each.least || count > each.most) return CUDNN_STATUS_BAD_PARAM;
    if (type == desc) {
      const object* const linked = *static_cast<const object* const*>(values);
      const bool operation = each.kind < 0 && (linked->kind == sdpa || linked->kind == sdpa_backward);
      if (!linked->finished || (!operation && linked->kind != each.kind)) return CUDNN_STATUS_BAD_PARAM;
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
  if (of.kind == tensor) {
    const auto &sizes = of.attributes[CUDNN_ATTR_TENSOR_DIMENSIONS], &strides = of.attributes[CUDNN_ATTR_TENSOR_STRIDES];
    if (sizes.count != 4 || strides.count != 4) return CUDNN_STATUS_BAD_PARAM;
    for (std::size_t i = 0; i < 4; ++i)
      if (of.get<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, 0, i) < 1 || of.get<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, 0, i) < 1)
        return CUDNN_STATUS_BAD_PARAM;
  }
  if ((of.kind == sdpa && !of.has(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC)) || ((of.kind == sdpa || of.kind == sdpa_backward) && !fits(of)))
    return CUDNN_STATUS_BAD_PARAM;
  if (of.kind == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
      of.attributes[CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS].count != of.attributes[CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS].count)
    return CUDNN_STATUS_BAD_PARAM;
  if (of.kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) of.engine = of.link(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->engine;
  of.finished = true;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const it, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t wanted, int64_t* count, void* values) {
  const object& of = *as(it);
  if (!of.finished) return CUDNN_STATUS_BAD_PARAM;
  if (of.kind == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR && name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == desc) {
    const object* const graph = of.link(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const auto t = tensors_of(*graph->link(CUDNN_ATTR_OPERATIONGRAPH_OPS));
    const int64_t offered = t[0].size[3] % 8 != 0 || t[0].size[3] > 128 ? 0 : engines;
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
      const cudnnBackendDescriptor_t raw = const_cast<object*>(graph);
      auto& place = configuration.attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH];
      place.bytes.resize(sizeof(raw));
      std::memcpy(place.bytes.data(), &raw, sizeof(raw));
    }
    return CUDNN_STATUS_SUCCESS;
  }
  if (of.kind == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR && name == CUDNN_ATTR_ENGINECFG_ENGINE && type == desc && wanted == 1) {
    object& engine = *as(*static_cast<cudnnBackendDescriptor_t*>(values));
    if (engine.kind != CUDNN_BACKEND_ENGINE_DESCRIPTOR) return CUDNN_STATUS_BAD_PARAM;
    engine.attributes = of.attributes;
    engine.engine = of.engine;
    engine.finished = true;
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  if (of.kind == CUDNN_BACKEND_ENGINE_DESCRIPTOR && name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE) {
    auto* const notes = static_cast<cudnnBackendNumericalNote_t*>(values);
    const bool backward = of.link(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->link(CUDNN_ATTR_OPERATIONGRAPH_OPS)->kind == sdpa_backward;
    *count = of.engine == 0 && backward ? 2 : 1;
    if (wanted < *count) return CUDNN_STATUS_BAD_PARAM;
    notes[0] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    if (*count > 1) notes[1] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    return CUDNN_STATUS_SUCCESS;
  }
  if (of.kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64 &&
      wanted == 1) {
    *static_cast<int64_t*>(values) = workspace_of(of);
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  return CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  const object &how = *as(plan), &with = *as(pack);
  if (!how.finished || !with.finished || how.kind != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || with.kind != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return CUDNN_STATUS_BAD_PARAM;
  work todo;
  todo.t = tensors_of(*operation_of(how));
  const int64_t given = with.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count;
  for (const shape& each : todo.t) {
    void* at = nullptr;
    for (std::size_t i = 0; i < static_cast<std::size_t>(given); ++i)
      if (with.get<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 0, i) == each.id)
        at = with.get<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, nullptr, i);
    if (at == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    todo.data.push_back(at);
    if (each.by_value()) continue;
    if (place_of(at) != place::gpu) fault("cuDNN: a tensor is not in memory of the GPU");
    const auto alignment = static_cast<std::uintptr_t>(each.from->get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
    if (reinterpret_cast<std::uintptr_t>(at) % alignment != 0) fault("cuDNN: a tensor is not aligned as its descriptor says");
  }
  todo.scale = *static_cast<const float*>(todo.data[5]);
  todo.workspace = with.get<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  todo.workspace_bytes = workspace_of(how);
  if (todo.workspace_bytes > 0 && (todo.workspace == nullptr || place_of(todo.workspace) != place::gpu)) fault("cuDNN: no workspace");
  // What is written is nothing that is read. Tensors that lie between each other's rows may share a range of memory, but not its elements.
  const std::size_t first_out = todo.t.size() > 6 ? 7 : 3;
  for (std::size_t i = 0; i < todo.t.size(); ++i)
    for (std::size_t j = first_out; j < todo.t.size(); ++j)
      if (i != j && (todo.t.size() > 6 || j < 5) && todo.data[i] == todo.data[j]) fault("cuDNN: an output is the memory of another tensor");
  call(handle->stream, [todo] { todo.run(); });
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
