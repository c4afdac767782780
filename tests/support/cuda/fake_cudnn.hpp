// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

// The files of cuDNN's fake share descriptors with their attributes, and graphs of operations.

namespace motet::emulation::cudnn {

using std::int64_t;

struct graph;

struct object {
  cudnnBackendDescriptorType_t kind;
  bool finished = false;
  struct attribute {
    cudnnBackendAttributeType_t type;
    int64_t count = 0;
    std::vector<unsigned char> bytes;
  };
  std::map<cudnnBackendAttributeName_t, attribute> attributes;
  int engine = 0;                     // of an engine, a configuration and a plan
  std::shared_ptr<const graph> made;  // of an operation graph, and of all that was made of it

  bool has(cudnnBackendAttributeName_t name) const { return attributes.count(name) > 0; }
  template <class T>
  T get(cudnnBackendAttributeName_t name, T otherwise = {}, std::size_t which = 0) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return otherwise;
    T value;
    std::memcpy(&value, found->second.bytes.data() + which * sizeof(T), sizeof(T));
    return value;
  }
  const object* link(cudnnBackendAttributeName_t name, std::size_t which = 0) const {
    return static_cast<const object*>(get<cudnnBackendDescriptor_t>(name, nullptr, which));
  }
};

// A tensor of four sizes.
struct tensor {
  int64_t id = 0, size[4] = {}, stride[4] = {}, alignment = 1;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool is_virtual = false, by_value = false;
  int64_t offsets = 0;  // the id of the tensor that says where samples begin

  int64_t count() const { return size[0] * size[1] * size[2] * size[3]; }
  bool same_size(const tensor& other) const;
};
enum class step_kind { product, pointwise, reduction, turn };
struct step {
  step_kind kind;
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_IDENTITY;
  cudnnReduceTensorOp_t by = CUDNN_REDUCE_TENSOR_ADD;
  int64_t axis = -1;
  bool zeros = false;                        // a product has zeros where the lengths of a sample end
  int64_t x = 0, b = 0, t = 0, y = 0;        // tensors by id; 0: none
  int64_t rows = 0, columns = 0, inner = 0;  // lengths of a product
};

// Operations in an order in which they can be done.
struct graph {
  std::map<int64_t, tensor> tensors;
  std::vector<step> steps;
  bool backward = false;
  int64_t scores = 0;                    // bytes of the largest product's result in half precision
  std::vector<int64_t> written() const;  // tensors in memory that it makes
};
// Null where the operations do not fit each other; `why` says what is wrong then.
std::shared_ptr<const graph> read_graph(const std::vector<const object*>& operations, std::string& why);
// The graph is run, with memory for each tensor that is not virtual.
void run_graph(const graph& of, const std::map<int64_t, void*>& places);

}  // namespace motet::emulation::cudnn
