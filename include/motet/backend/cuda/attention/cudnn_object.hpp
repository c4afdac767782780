// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention/attention_settings.hpp>

#include <cstdint>

// Descriptors of cuDNN's graph API.

#if MOTET_CUDNN_ATTENTION

namespace motet::cuda::detail {

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
  cudnn_object& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T* values,
                    std::int64_t count = 1) {
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
  // The result is how many values there are; no more than `most` are written.
  template <class T>
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most,
                   T* values) {
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

// Recipes are made for a target: the library's handle for this GPU, or the properties of one that need not be
// here.
struct cudnn_target {
  cudnnHandle_t library = nullptr;
  const cudnn_object* properties = nullptr;

  void tell(cudnn_object& object, cudnnBackendAttributeName_t by_handle) const {
    if (library != nullptr) object.set(by_handle, CUDNN_TYPE_HANDLE, &library);
  }
  void tell_properties(cudnn_object& object, cudnnBackendAttributeName_t by_properties) const {
    if (properties != nullptr) object.set(by_properties, *properties);
  }
};

}  // namespace motet::cuda::detail

#endif
