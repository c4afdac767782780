// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/attention/cudnn_object.hpp>
#include <motet/meta/config.hpp>

#include <array>
#include <memory>
#include <vector>

// Attention as a graph of cuDNN's operations. The library knows the pattern and has one kernel for it; all
// that lies between the first and the last product is virtual. Masks are made of row and column numbers.

#if MOTET_CUDNN_ATTENTION

namespace motet::cuda::detail {

// One graph serves all samples that have this in common. Tensors are counted as they come: q, k, v, y, lse
// and, of backward, dy, dq, dk, dv.
struct attention_problem {
  static constexpr int most_tensors = 9;
  bool backward = false, deterministic = true;
  bool ragged = false;     // samples lie where offsets say; rows are then at most so many
  bool padded = false;     // samples have the lengths that are given; always so when ragged
  bool causal = false;     // a query sees the keys up to its own place
  bool ends_meet = false;  // ... counted from the ends of its sample, not from the beginnings
  isize samples = 0, q_rows = 0, kv_rows = 0, heads = 0, kv_heads = 0, width = 0;
  isize strides[most_tensors] = {};
  bool operator==(const attention_problem&) const = default;
  int tensors() const { return backward ? most_tensors : 5; }
};

// Names of what is given when a recipe runs. The tensors of a problem have 1 to 9, their offsets 11 to 19;
// `nothing` is minus infinity.
namespace attention_ids {
inline constexpr std::int64_t tensors = 1, offsets = 11, scale = 21, nothing = 22, one = 23, q_lengths = 24,
                              kv_lengths = 25, row_sums = 26, dq_sums = 27, inside = 28;
}

// A tensor of a graph.
struct graph_tensor {
  const cudnn_object* is = nullptr;
  std::array<std::int64_t, 4> size{}, stride{};
  const cudnn_object* offsets = nullptr;
};

class attention_graph {
 public:
  explicit attention_graph(const attention_problem& of) : problem(of) {
    for (int i = 0; i < problem.tensors(); ++i) given_[i] = i == lse ? rows_of_logs() : rows_of_heads(i);
    scale_ = number(attention_ids::scale);
    if (problem.padded || problem.causal) nothing_ = number(attention_ids::nothing);
    if (problem.padded)
      q_lengths_ = lengths(attention_ids::q_lengths), kv_lengths_ = lengths(attention_ids::kv_lengths);
    if (problem.backward) backward();
    else forward();
  }
  const attention_problem problem;
  const std::vector<cudnnBackendDescriptor_t>& operations() const { return operations_; }
  bool good() const { return good_; }
  // A run is given a tensor or a number for each of these.
  const std::vector<std::int64_t>& given() const { return ids_; }

  // Sums that backward leaves in memory between its steps, in floats. Without a fixed order queries'
  // gradients are added up there.
  isize row_sums() const { return problem.backward ? problem.samples * problem.heads * problem.q_rows : 0; }
  isize dq_sums() const { return problem.deterministic ? 0 : row_sums() * problem.width; }

 private:
  using four = std::array<std::int64_t, 4>;
  using tensor = graph_tensor;
  enum operand : int { q, k, v, y, lse, dy, dq, dk, dv };

  cudnn_object& make(cudnnBackendDescriptorType_t kind) {
    return *objects_.emplace_back(std::make_unique<cudnn_object>(kind));
  }
  cudnn_object& done(cudnn_object& object) {
    good_ = object.finish() && good_;
    return object;
  }
  tensor finish(std::int64_t id, cudnnDataType_t type, const four& size, const four& stride,
                const cudnn_object* offsets = nullptr, std::int64_t alignment = 16, bool by_value = false) {
    const bool inside = id >= attention_ids::inside;
    cudnn_object& made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &id);
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &type);
    made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &alignment);
    made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, size.data(), 4);
    made.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, stride.data(), 4);
    made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, &inside);
    made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, &by_value);
    if (offsets != nullptr) made.set(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, *offsets);
    if (!inside) ids_.push_back(id);
    return {&done(made), size, stride, offsets};
  }
  tensor number(std::int64_t id) {
    return finish(id, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, nullptr, 4, true);
  }
  tensor lengths(std::int64_t id) {
    return finish(id, CUDNN_DATA_INT32, {problem.samples, 1, 1, 1}, {1, 1, 1, 1});
  }
  const cudnn_object* offsets_of(int which) {
    if (!problem.ragged) return nullptr;
    return finish(attention_ids::offsets + which, CUDNN_DATA_INT64, {problem.samples + 1, 1, 1, 1},
                  {1, 1, 1, 1})
        .is;
  }
  // (samples, heads, rows of a sample, width of a head), as they lie in our matrices. Keys, and of backward
  // values, are told across.
  tensor rows_of_heads(int which) {
    const bool of_keys = which == k || which == v || which == dk || which == dv;
    const isize rows = of_keys ? problem.kv_rows : problem.q_rows, stride = problem.strides[which];
    four size{problem.samples, of_keys ? problem.kv_heads : problem.heads, rows, problem.width},
        steps{rows * stride, problem.width, stride, 1};
    if (which == k || (which == v && problem.backward)) {
      std::swap(size[2], size[3]);
      std::swap(steps[2], steps[3]);
    }
    return finish(attention_ids::tensors + which, CUDNN_DATA_BFLOAT16, size, steps, offsets_of(which));
  }
  tensor rows_of_logs() {
    const isize stride = problem.strides[lse];
    return finish(attention_ids::tensors + lse, CUDNN_DATA_FLOAT,
                  {problem.samples, problem.heads, problem.q_rows, 1},
                  {problem.q_rows * stride, 1, stride, 1}, offsets_of(lse), 4);
  }
  // A tensor that is never in memory has its elements one after the other.
  tensor inside(const four& size, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return finish(next_++, type, size, {size[1] * size[2] * size[3], size[2] * size[3], size[3], 1});
  }
  four scores() const { return {problem.samples, problem.heads, problem.q_rows, problem.kv_rows}; }
  four rows() const { return {problem.samples, problem.heads, problem.q_rows, 1}; }

  void add(cudnn_object& operation) { operations_.push_back(done(operation).get()); }
  // to = a b; rows, columns and what is summed over end where the lengths of a sample say.
  void multiply(const tensor& a, const tensor& b, const tensor& to, const tensor& rows, const tensor& columns,
                const tensor& inner, bool zeros = false) {
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    const double zero = 0;
    cudnn_object& how = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &type);
    if (zeros) how.set(CUDNN_ATTR_MATMUL_PADDING_VALUE, CUDNN_TYPE_DOUBLE, &zero);
    cudnn_object& operation = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.is).set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.is);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *to.is).set(CUDNN_ATTR_OPERATION_MATMUL_DESC, done(how));
    if (rows.is != nullptr) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, *rows.is);
    if (columns.is != nullptr) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, *columns.is);
    if (inner.is != nullptr) operation.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, *inner.is);
    add(operation);
  }
  // to = mode(x), mode(x, b) or mode(x, b, t).
  void each(cudnnPointwiseMode_t mode, const tensor& x, const tensor& b, const tensor& t, const tensor& to,
            cudnnDataType_t type = CUDNN_DATA_FLOAT, std::int64_t axis = -1) {
    cudnn_object& how = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode);
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &type);
    if (axis >= 0) how.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, &axis);
    cudnn_object& operation = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, done(how))
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.is);
    if (b.is != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b.is);
    if (t.is != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t.is);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *to.is);
    add(operation);
  }
  tensor each(cudnnPointwiseMode_t mode, const tensor& x, const tensor& b = {}) {
    const tensor made = inside(x.size);
    each(mode, x, b, {}, made);
    return made;
  }
  tensor whole(cudnnPointwiseMode_t mode, const tensor& x, const tensor& b = {}, std::int64_t axis = -1) {
    const tensor made = inside(x.size, CUDNN_DATA_INT32);
    each(mode, x, b, {}, made, CUDNN_DATA_INT32, axis);
    return made;
  }
  tensor test(cudnnPointwiseMode_t mode, const tensor& x, const tensor& b) {
    const tensor made = inside(x.size, CUDNN_DATA_BOOLEAN);
    each(mode, x, b, {}, made, CUDNN_DATA_BOOLEAN);
    return made;
  }
  // Elements along sizes that `to` has not are taken together.
  void reduce(cudnnReduceTensorOp_t by, const tensor& x, const tensor& to) {
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    cudnn_object& how = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, &by);
    how.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &type);
    cudnn_object& operation = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x.is)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *to.is);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, done(how));
    add(operation);
  }
  // The elements stay, with rows as columns.
  tensor across(const tensor& x, cudnnDataType_t type) {
    const tensor made = finish(next_++, type, {x.size[0], x.size[1], x.size[3], x.size[2]},
                               {x.stride[0], x.stride[1], x.stride[3], x.stride[2]}, x.offsets);
    cudnn_object& operation = make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    add(operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.is)
            .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *made.is));
    return made;
  }

  tensor only(const tensor& x, const tensor& where) {
    const tensor made = inside(x.size);
    each(CUDNN_POINTWISE_BINARY_SELECT, x, nothing_, where, made);
    return made;
  }
  tensor within_lengths(const tensor& x) {
    if (!problem.padded) return x;
    const tensor row = whole(CUDNN_POINTWISE_GEN_INDEX, x, {}, 2),
                 column = whole(CUDNN_POINTWISE_GEN_INDEX, x, {}, 3);
    const tensor row_counts = test(CUDNN_POINTWISE_CMP_LT, row, q_lengths_),
                 column_counts = test(CUDNN_POINTWISE_CMP_LT, column, kv_lengths_);
    return only(x, test(CUDNN_POINTWISE_LOGICAL_AND, row_counts, column_counts));
  }
  tensor within_mask(const tensor& x) {
    if (!problem.causal) return x;
    tensor row = whole(CUDNN_POINTWISE_GEN_INDEX, x, {}, 2);
    const tensor column = whole(CUDNN_POINTWISE_GEN_INDEX, x, {}, 3);
    if (problem.ends_meet) {
      row = whole(CUDNN_POINTWISE_ADD, row, kv_lengths_);
      row = whole(CUDNN_POINTWISE_SUB, row, q_lengths_);
    }
    return only(x, test(CUDNN_POINTWISE_CMP_GE, row, column));
  }

  void forward() {
    tensor s = inside(scores());
    multiply(given_[q], given_[k], s, q_lengths_, kv_lengths_, {}, problem.padded);
    s = within_mask(within_lengths(each(CUDNN_POINTWISE_MUL, s, scale_)));
    const tensor peak = inside(rows()), sum = inside(rows()), p = inside(scores(), CUDNN_DATA_BFLOAT16);
    reduce(CUDNN_REDUCE_TENSOR_MAX, s, peak);
    const tensor e = each(CUDNN_POINTWISE_EXP, each(CUDNN_POINTWISE_SUB, s, peak));
    reduce(CUDNN_REDUCE_TENSOR_ADD, e, sum);
    each(CUDNN_POINTWISE_ADD, peak, each(CUDNN_POINTWISE_LOG, sum), {}, given_[lse]);
    each(CUDNN_POINTWISE_DIV, e, sum, {}, p);
    multiply(p, given_[v], given_[y], q_lengths_, {}, kv_lengths_);
  }

  // Gradients of keys or values; several heads of queries may share one of keys.
  void gather(const tensor& weights, const tensor& x, const tensor& to) {
    const tensor turned = across(weights, CUDNN_DATA_BFLOAT16);
    if (problem.heads == problem.kv_heads) return multiply(turned, x, to, kv_lengths_, {}, q_lengths_);
    const tensor all =
        inside({problem.samples, problem.heads, problem.kv_rows, problem.width}, CUDNN_DATA_BFLOAT16);
    multiply(turned, x, all, kv_lengths_, {}, q_lengths_);
    reduce(CUDNN_REDUCE_TENSOR_ADD, all, to);
  }
  void backward() {
    const four packed{problem.heads * problem.q_rows, problem.q_rows, 1, 1};
    const tensor sum = inside(rows()),
                 delta = finish(attention_ids::row_sums, CUDNN_DATA_FLOAT, rows(), packed);
    reduce(CUDNN_REDUCE_TENSOR_ADD, each(CUDNN_POINTWISE_MUL, given_[dy], given_[y]), sum);
    each(CUDNN_POINTWISE_MUL, sum, number(attention_ids::one), {}, delta);

    tensor s = inside(scores());
    multiply(given_[q], given_[k], s, q_lengths_, kv_lengths_, {});
    s = within_lengths(each(CUDNN_POINTWISE_MUL, s, scale_));
    const tensor p = each(CUDNN_POINTWISE_EXP, within_mask(each(CUDNN_POINTWISE_SUB, s, given_[lse])));
    gather(p, given_[dy], given_[dv]);

    tensor ds = inside(scores());
    multiply(given_[dy], given_[v], ds, q_lengths_, kv_lengths_, {});
    ds = each(CUDNN_POINTWISE_MUL, each(CUDNN_POINTWISE_SUB, ds, delta), p);
    ds = each(CUDNN_POINTWISE_MUL, ds, scale_);
    gather(ds, given_[q], given_[dk]);

    const tensor keys = across(given_[k], CUDNN_DATA_BFLOAT16);
    if (problem.deterministic) return multiply(ds, keys, given_[dq], q_lengths_, {}, kv_lengths_);
    const isize apart = problem.q_rows * problem.width;
    const tensor sums = finish(attention_ids::dq_sums, CUDNN_DATA_FLOAT,
                               {problem.samples, problem.heads, problem.q_rows, problem.width},
                               {problem.heads * apart, apart, problem.width, 1});
    multiply(ds, keys, sums, q_lengths_, {}, kv_lengths_);
    each(CUDNN_POINTWISE_IDENTITY, sums, {}, {}, given_[dq]);
  }

  std::vector<std::unique_ptr<cudnn_object>> objects_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<std::int64_t> ids_;
  tensor given_[attention_problem::most_tensors], scale_, nothing_, q_lengths_, kv_lengths_;
  std::int64_t next_ = attention_ids::inside;
  bool good_ = true;
};

}  // namespace motet::cuda::detail

#endif
