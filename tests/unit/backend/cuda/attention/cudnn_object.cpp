// SPDX-License-Identifier: Apache-2.0
// Where kernels are emulated, so is cuDNN: its headers are enough.
#if !defined(__CUDACC__) && !defined(MOTET_HAS_CUDNN) && __has_include(<cudnn.h>)
#define MOTET_HAS_CUDNN 1
#endif
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/attention/cudnn_object.hpp>

#include <doctest/doctest.h>

#if MOTET_CUDNN_ATTENTION

namespace motet {
namespace {

using motet::cuda::detail::cudnn_object;

TEST_CASE("the first failure is kept, and nothing is done after it") {
  cudnn_object how(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const double number = 0;
  CHECK(how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DOUBLE, &number).status() != CUDNN_STATUS_SUCCESS);
  const cudnnStatus_t first = how.status();
  CHECK(how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &type).status() == first);
  CHECK_FALSE(how.finish());
  std::int64_t found = 7;
  CHECK(how.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &found) == 0);
  CHECK(found == 7);
}

TEST_CASE("what was made of something that failed fails as well") {
  cudnn_object how(CUDNN_BACKEND_MATMUL_DESCRIPTOR), good(CUDNN_BACKEND_MATMUL_DESCRIPTOR),
      bad(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  CHECK(good.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &type).finish());
  const double number = 0;
  CHECK_FALSE(bad.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DOUBLE, &number).finish());
  cudnn_object one(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR),
      other(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  CHECK(one.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, good).status() == CUDNN_STATUS_SUCCESS);
  CHECK(other.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, bad).status() == bad.status());
}

}  // namespace
}  // namespace motet

#else

TEST_CASE("without cuDNN there is nothing of it") { CHECK(MOTET_CUDNN_ATTENTION == 0); }

#endif
