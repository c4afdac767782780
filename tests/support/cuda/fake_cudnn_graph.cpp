// SPDX-License-Identifier: Apache-2.0
// Graphs of cuDNN's operations, read strictly and computed one operation after the other, each by its
// definition, in double. A number that an operation leaves undefined, such as what a product has beyond the
// lengths of a sample, is known as such: it may be selected away, but is never written.
#include "fake_cudnn.hpp"
#include "support/cuda/machine.hpp"

#include <motet/tensor/dtype.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace motet::emulation::cudnn {

bool tensor::same_size(const tensor& other) const { return std::equal(size, size + 4, other.size); }

std::vector<int64_t> graph::written() const {
  std::vector<int64_t> found;
  for (const step& each : steps)
    if (!tensors.at(each.y).is_virtual) found.push_back(each.y);
  return found;
}

namespace {

struct reader {
  graph& to;
  std::string& why;
  std::map<int64_t, const object*> seen;

  bool refuse(const std::string& what) {
    if (why.empty()) why = what;
    return false;
  }
  bool read_tensor(const object* from, int64_t& id) {
    id = 0;
    if (from == nullptr) return refuse("a tensor is missing");
    tensor made;
    made.id = id = from->get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    if (id == 0) return refuse("a tensor without a name");
    if (const auto found = seen.find(id); found != seen.end())
      return found->second == from || refuse("two tensors have the name " + std::to_string(id));
    seen[id] = from;
    made.type = from->get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    made.alignment = from->get<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    made.is_virtual = from->get<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    made.by_value = from->get<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE);
    for (std::size_t i = 0; i < 4; ++i) {
      made.size[i] = from->get<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, 0, i);
      made.stride[i] = from->get<int64_t>(CUDNN_ATTR_TENSOR_STRIDES, 0, i);
    }
    if (made.by_value && (made.count() != 1 || made.is_virtual))
      return refuse("a number by value is one number");
    if (const object* const offsets = from->link(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC)) {
      if (!read_tensor(offsets, made.offsets)) return false;
      const tensor& at = to.tensors.at(made.offsets);
      if (at.is_virtual || at.by_value || (at.type != CUDNN_DATA_INT32 && at.type != CUDNN_DATA_INT64) ||
          at.size[0] != made.size[0] + 1 || at.count() != at.size[0])
        return refuse("offsets of samples are one more than samples, of whole numbers");
    }
    to.tensors[id] = made;
    return true;
  }
  bool read_optional(const object* from, int64_t& id) { return from == nullptr || read_tensor(from, id); }
  const tensor& at(int64_t id) const { return to.tensors.at(id); }
  bool is_float(int64_t id) const {
    return at(id).type == CUDNN_DATA_FLOAT || at(id).type == CUDNN_DATA_BFLOAT16;
  }
  bool is_whole(int64_t id) const { return at(id).type == CUDNN_DATA_INT32; }
  bool is_truth(int64_t id) const { return at(id).type == CUDNN_DATA_BOOLEAN; }
  // Says whether b is spread over x.
  bool spreads(int64_t b, int64_t x) const {
    for (int i = 0; i < 4; ++i)
      if (at(b).size[i] != at(x).size[i] && at(b).size[i] != 1) return false;
    return true;
  }
  bool lengths(int64_t id) const {
    if (id == 0) return true;
    const tensor& of = at(id);
    return is_whole(id) && !of.is_virtual && !of.by_value && of.count() == of.size[0];
  }

  bool product(const object& from, step& now) {
    if (!read_tensor(from.link(CUDNN_ATTR_OPERATION_MATMUL_ADESC), now.x) ||
        !read_tensor(from.link(CUDNN_ATTR_OPERATION_MATMUL_BDESC), now.b) ||
        !read_tensor(from.link(CUDNN_ATTR_OPERATION_MATMUL_CDESC), now.y) ||
        !read_optional(from.link(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC), now.rows) ||
        !read_optional(from.link(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC), now.columns) ||
        !read_optional(from.link(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC), now.inner))
      return false;
    const object& how = *from.link(CUDNN_ATTR_OPERATION_MATMUL_DESC);
    now.zeros = how.has(CUDNN_ATTR_MATMUL_PADDING_VALUE);
    if (now.zeros && how.get<double>(CUDNN_ATTR_MATMUL_PADDING_VALUE) != 0)
      return refuse("a product is filled up with zeros");
    if (how.get<cudnnDataType_t>(CUDNN_ATTR_MATMUL_COMP_TYPE) != CUDNN_DATA_FLOAT)
      return refuse("products are summed in float");
    const tensor &a = at(now.x), &b = at(now.b), &c = at(now.y);
    if (a.size[0] != b.size[0] || a.size[0] != c.size[0] || a.size[1] != c.size[1] || b.size[1] < 1 ||
        a.size[1] % b.size[1] != 0 || a.size[2] != c.size[2] || a.size[3] != b.size[2] ||
        b.size[3] != c.size[3])
      return refuse("sizes of a product");
    if (!is_float(now.x) || !is_float(now.b) || !is_float(now.y)) return refuse("types of a product");
    for (const int64_t each : {now.rows, now.columns, now.inner})
      if (!lengths(each) || (each != 0 && at(each).size[0] != a.size[0]))
        return refuse("lengths of a product");
    return true;
  }
  bool pointwise(const object& from, step& now) {
    if (!read_tensor(from.link(CUDNN_ATTR_OPERATION_POINTWISE_XDESC), now.x) ||
        !read_optional(from.link(CUDNN_ATTR_OPERATION_POINTWISE_BDESC), now.b) ||
        !read_optional(from.link(CUDNN_ATTR_OPERATION_POINTWISE_TDESC), now.t) ||
        !read_tensor(from.link(CUDNN_ATTR_OPERATION_POINTWISE_YDESC), now.y))
      return false;
    const object& how = *from.link(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    now.mode = how.get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    now.axis = how.get<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
    if (!at(now.x).same_size(at(now.y)) || (now.b != 0 && !spreads(now.b, now.x)) ||
        (now.t != 0 && !spreads(now.t, now.x)))
      return refuse("sizes of a pointwise operation");
    const auto type = how.get<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC);
    const bool floats =
        is_float(now.x) && is_float(now.y) && (now.b == 0 || is_float(now.b)) && type == CUDNN_DATA_FLOAT;
    const bool wholes =
        is_whole(now.x) && is_whole(now.y) && (now.b == 0 || is_whole(now.b)) && type == CUDNN_DATA_INT32;
    bool good = false;
    switch (now.mode) {
      case CUDNN_POINTWISE_MUL:
      case CUDNN_POINTWISE_DIV: good = now.b != 0 && now.t == 0 && floats; break;
      case CUDNN_POINTWISE_ADD:
      case CUDNN_POINTWISE_SUB: good = now.b != 0 && now.t == 0 && (floats || wholes); break;
      case CUDNN_POINTWISE_EXP:
      case CUDNN_POINTWISE_LOG:
      case CUDNN_POINTWISE_IDENTITY: good = now.b == 0 && now.t == 0 && floats; break;
      case CUDNN_POINTWISE_GEN_INDEX:
        good = now.b == 0 && now.t == 0 && is_whole(now.y) && now.axis >= 0 && now.axis < 4;
        break;
      case CUDNN_POINTWISE_CMP_LT:
      case CUDNN_POINTWISE_CMP_GE:
        good = now.b != 0 && now.t == 0 && is_whole(now.x) && is_whole(now.b) && is_truth(now.y);
        break;
      case CUDNN_POINTWISE_LOGICAL_AND:
        good = now.b != 0 && now.t == 0 && is_truth(now.x) && is_truth(now.b) && is_truth(now.y);
        break;
      case CUDNN_POINTWISE_BINARY_SELECT: good = now.b != 0 && now.t != 0 && floats && is_truth(now.t); break;
      default: return refuse("a pointwise mode that attention has no use for");
    }
    return good || refuse("arguments of a pointwise operation, mode " + std::to_string(now.mode));
  }
  bool reduction(const object& from, step& now) {
    if (!read_tensor(from.link(CUDNN_ATTR_OPERATION_REDUCTION_XDESC), now.x) ||
        !read_tensor(from.link(CUDNN_ATTR_OPERATION_REDUCTION_YDESC), now.y))
      return false;
    const object& how = *from.link(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
    now.by = how.get<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
    if ((now.by != CUDNN_REDUCE_TENSOR_ADD && now.by != CUDNN_REDUCE_TENSOR_MAX) || !is_float(now.x) ||
        !is_float(now.y) || how.get<cudnnDataType_t>(CUDNN_ATTR_REDUCTION_COMP_TYPE) != CUDNN_DATA_FLOAT)
      return refuse("a reduction");
    for (int i = 0; i < 4; ++i)
      if (at(now.y).size[i] < 1 || at(now.x).size[i] % at(now.y).size[i] != 0)
        return refuse("sizes of a reduction");
    return true;
  }
  bool turn(const object& from, step& now) {
    if (!read_tensor(from.link(CUDNN_ATTR_OPERATION_RESHAPE_XDESC), now.x) ||
        !read_tensor(from.link(CUDNN_ATTR_OPERATION_RESHAPE_YDESC), now.y))
      return false;
    const tensor &x = at(now.x), &y = at(now.y);
    const int other[] = {0, 1, 3, 2};
    for (int i = 0; i < 4; ++i)
      if (x.size[i] != y.size[other[i]] || x.stride[i] != y.stride[other[i]])
        return refuse("a reshape is a transposition here");
    return (y.is_virtual && x.offsets == y.offsets) || refuse("a reshape of samples that lie elsewhere");
  }
};

struct values {
  std::vector<double> of;
  std::vector<char> known;
};

struct run {
  const graph& of;
  const std::map<int64_t, void*>& places;
  std::map<int64_t, values> found;

  static std::size_t place(const tensor& t, int64_t b, int64_t h, int64_t r, int64_t c) {
    return static_cast<std::size_t>(((b * t.size[1] + h) * t.size[2] + r) * t.size[3] + c);
  }
  int64_t length(int64_t id, int64_t sample, int64_t otherwise) const {
    if (id == 0) return otherwise;
    const int64_t here = static_cast<const std::int32_t*>(places.at(id))[sample];
    if (here < 1 || here > otherwise)
      fault("cuDNN: a sample has " + std::to_string(here) + " rows, of at most " + std::to_string(otherwise));
    return here;
  }
  int64_t offset(int64_t id, int64_t sample) const {
    return of.tensors.at(id).type == CUDNN_DATA_INT64
               ? static_cast<const int64_t*>(places.at(id))[sample]
               : static_cast<const std::int32_t*>(places.at(id))[sample];
  }
  // Calls with each element that lies in memory: its number and its place there. Rows of ragged samples end
  // where the next one begins.
  template <class Each>
  void in_memory(const tensor& t, Each each) const {
    for (int64_t b = 0; b < t.size[0]; ++b) {
      const int64_t begin = t.offsets != 0 ? offset(t.offsets, b) : b * t.stride[0];
      const int64_t end = t.offsets != 0 ? offset(t.offsets, b + 1) : std::numeric_limits<int64_t>::max();
      // The longer stride of the last two is from row to row.
      const bool across = t.stride[2] < t.stride[3];
      if (end <= begin) fault("cuDNN: offsets of samples do not grow");
      for (int64_t h = 0; h < t.size[1]; ++h)
        for (int64_t r = 0; r < t.size[2]; ++r)
          for (int64_t c = 0; c < t.size[3]; ++c) {
            const int64_t row = across ? c * t.stride[3] : r * t.stride[2];
            if (t.offsets != 0 && begin + row >= end) continue;
            each(place(t, b, h, r, c), begin + h * t.stride[1] + r * t.stride[2] + c * t.stride[3]);
          }
    }
  }
  static double rounded(cudnnDataType_t type, double x) {
    if (type == CUDNN_DATA_FLOAT) return static_cast<double>(static_cast<float>(x));
    if (type == CUDNN_DATA_BFLOAT16)
      return static_cast<double>(static_cast<float>(bf16(static_cast<float>(x))));
    return x;
  }
  const values& read(int64_t id) {
    if (const auto at = found.find(id); at != found.end()) return at->second;
    const tensor& t = of.tensors.at(id);
    values& made = found[id];
    const auto count = static_cast<std::size_t>(t.count());
    made.of.assign(count, std::nan("")), made.known.assign(count, 0);
    const void* const from = places.at(id);
    in_memory(t, [&](std::size_t to, int64_t at) {
      made.of[to] = t.type == CUDNN_DATA_FLOAT ? static_cast<double>(static_cast<const float*>(from)[at])
                    : t.type == CUDNN_DATA_INT32
                        ? static_cast<double>(static_cast<const std::int32_t*>(from)[at])
                        : static_cast<double>(static_cast<float>(static_cast<const bf16*>(from)[at]));
      made.known[to] = 1;
    });
    return made;
  }
  void write(int64_t id, values made) {
    const tensor& t = of.tensors.at(id);
    for (double& x : made.of) x = rounded(t.type, x);
    // Seen on an H200 with 9.19: logarithms of a plan for one query of each sample that lies by an offset.
    if (t.offsets != 0 && t.type == CUDNN_DATA_FLOAT && t.size[2] == 1 && t.size[3] == 1)
      made.of.assign(made.of.size(), std::nan(""));
    if (!t.is_virtual) {
      void* const to = places.at(id);
      in_memory(t, [&](std::size_t from, int64_t at) {
        if (made.known[from] == 0) return;
        if (t.type == CUDNN_DATA_FLOAT) static_cast<float*>(to)[at] = static_cast<float>(made.of[from]);
        else static_cast<bf16*>(to)[at] = bf16(static_cast<float>(made.of[from]));
      });
    }
    found[id] = std::move(made);
  }
  static values none(const tensor& t) {
    const auto count = static_cast<std::size_t>(t.count());
    return {std::vector<double>(count, std::nan("")), std::vector<char>(count, 0)};
  }

  void product(const step& now) {
    const tensor &ta = of.tensors.at(now.x), &tb = of.tensors.at(now.b), &tc = of.tensors.at(now.y);
    const values a = read(now.x), b = read(now.b);
    values c = none(tc);
    const int64_t group = ta.size[1] / tb.size[1];
    for (int64_t s = 0; s < tc.size[0]; ++s) {
      const int64_t rows = length(now.rows, s, tc.size[2]), columns = length(now.columns, s, tc.size[3]),
                    inner = length(now.inner, s, ta.size[3]);
      for (int64_t h = 0; h < tc.size[1]; ++h)
        for (int64_t i = 0; i < tc.size[2]; ++i)
          for (int64_t j = 0; j < tc.size[3]; ++j) {
            const std::size_t to = place(tc, s, h, i, j);
            if (i >= rows || j >= columns) {
              if (now.zeros) c.of[to] = 0, c.known[to] = 1;
              continue;
            }
            double sum = 0;
            bool known = true;
            for (int64_t l = 0; l < inner && known; ++l) {
              const std::size_t left = place(ta, s, h, i, l), right = place(tb, s, h / group, l, j);
              known = a.known[left] != 0 && b.known[right] != 0;
              sum += a.of[left] * b.of[right];
            }
            if (known) c.of[to] = sum, c.known[to] = 1;
          }
    }
    write(now.y, std::move(c));
  }
  void pointwise(const step& now) {
    const tensor& t = of.tensors.at(now.x);
    // Numbers of rows and columns are made of the sizes alone.
    const values x = now.mode == CUDNN_POINTWISE_GEN_INDEX ? none(t) : read(now.x),
                 b = now.b != 0 ? read(now.b) : values{}, c = now.t != 0 ? read(now.t) : values{};
    values y = none(t);
    const auto spread = [&](int64_t id, const int64_t(&at)[4]) {
      const tensor& from = of.tensors.at(id);
      int64_t k[4];
      for (int i = 0; i < 4; ++i) k[i] = from.size[i] == 1 ? 0 : at[i];
      return place(from, k[0], k[1], k[2], k[3]);
    };
    int64_t k[4];
    for (k[0] = 0; k[0] < t.size[0]; ++k[0])
      for (k[1] = 0; k[1] < t.size[1]; ++k[1])
        for (k[2] = 0; k[2] < t.size[2]; ++k[2])
          for (k[3] = 0; k[3] < t.size[3]; ++k[3]) {
            const std::size_t to = place(t, k[0], k[1], k[2], k[3]);
            if (now.mode == CUDNN_POINTWISE_GEN_INDEX) {
              y.of[to] = static_cast<double>(k[now.axis]), y.known[to] = 1;
              continue;
            }
            const std::size_t bt = now.b != 0 ? spread(now.b, k) : 0, ct = now.t != 0 ? spread(now.t, k) : 0;
            if (now.mode == CUDNN_POINTWISE_BINARY_SELECT) {
              const bool first = c.of[ct] != 0;
              y.of[to] = first ? x.of[to] : b.of[bt];
              y.known[to] = static_cast<char>(c.known[ct] != 0 && (first ? x.known[to] : b.known[bt]) != 0);
              continue;
            }
            y.of[to] = value(now.mode, x.of[to], now.b != 0 ? b.of[bt] : 0);
            y.known[to] = static_cast<char>(x.known[to] != 0 && (now.b == 0 || b.known[bt] != 0));
          }
    write(now.y, std::move(y));
  }
  static double value(cudnnPointwiseMode_t mode, double x, double b) {
    switch (mode) {
      case CUDNN_POINTWISE_MUL: return x * b;
      case CUDNN_POINTWISE_DIV: return x / b;
      case CUDNN_POINTWISE_ADD: return x + b;
      case CUDNN_POINTWISE_SUB: return x - b;
      case CUDNN_POINTWISE_EXP: return std::exp(x);
      case CUDNN_POINTWISE_LOG: return std::log(x);
      case CUDNN_POINTWISE_CMP_LT: return x < b ? 1 : 0;
      case CUDNN_POINTWISE_CMP_GE: return x >= b ? 1 : 0;
      case CUDNN_POINTWISE_LOGICAL_AND: return x != 0 && b != 0 ? 1 : 0;
      default: return x;
    }
  }
  void reduction(const step& now) {
    const tensor &tx = of.tensors.at(now.x), &ty = of.tensors.at(now.y);
    const values x = read(now.x);
    values y = none(ty);
    std::vector<char> begun(y.of.size(), 0);
    int64_t part[4], k[4];
    for (int i = 0; i < 4; ++i) part[i] = tx.size[i] / ty.size[i];
    for (k[0] = 0; k[0] < tx.size[0]; ++k[0])
      for (k[1] = 0; k[1] < tx.size[1]; ++k[1])
        for (k[2] = 0; k[2] < tx.size[2]; ++k[2])
          for (k[3] = 0; k[3] < tx.size[3]; ++k[3]) {
            const std::size_t from = place(tx, k[0], k[1], k[2], k[3]),
                              to = place(ty, k[0] / part[0], k[1] / part[1], k[2] / part[2], k[3] / part[3]);
            if (begun[to] == 0) y.of[to] = x.of[from], y.known[to] = x.known[from];
            else {
              y.of[to] =
                  now.by == CUDNN_REDUCE_TENSOR_ADD ? y.of[to] + x.of[from] : std::max(y.of[to], x.of[from]);
              y.known[to] = static_cast<char>(y.known[to] != 0 && x.known[from] != 0);
            }
            begun[to] = 1;
          }
    write(now.y, std::move(y));
  }
  void turn(const step& now) {
    const tensor& t = of.tensors.at(now.x);
    const values x = read(now.x);
    values y = none(t);
    for (int64_t b = 0; b < t.size[0]; ++b)
      for (int64_t h = 0; h < t.size[1]; ++h)
        for (int64_t r = 0; r < t.size[2]; ++r)
          for (int64_t c = 0; c < t.size[3]; ++c) {
            const std::size_t from = place(t, b, h, r, c), to = place(of.tensors.at(now.y), b, h, c, r);
            y.of[to] = x.of[from], y.known[to] = x.known[from];
          }
    write(now.y, std::move(y));
  }
};

}  // namespace

std::shared_ptr<const graph> read_graph(const std::vector<const object*>& operations, std::string& why) {
  auto made = std::make_shared<graph>();
  reader from{*made, why, {}};
  int products = 0;
  for (const object* const each : operations) {
    step now{};
    bool good = false;
    switch (each->kind) {
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        now.kind = step_kind::product, good = from.product(*each, now), ++products;
        if (good) made->scores = std::max(made->scores, 2 * made->tensors.at(now.y).count());
        break;
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        now.kind = step_kind::pointwise, good = from.pointwise(*each, now);
        break;
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        now.kind = step_kind::reduction, good = from.reduction(*each, now);
        break;
      case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        now.kind = step_kind::turn, good = from.turn(*each, now);
        break;
      default: why = "an operation that attention has no use for";
    }
    if (!good) return nullptr;
    made->steps.push_back(now);
  }
  // Each tensor is made once, and before it is read; what is virtual is made and read.
  std::set<int64_t> written, read;
  for (const step& now : made->steps) {
    for (const int64_t id : {now.x, now.b, now.t, now.rows, now.columns, now.inner})
      if (id != 0) {
        read.insert(id);
        if (made->tensors.at(id).is_virtual && written.count(id) == 0)
          why = "virtual tensor " + std::to_string(id) + " is read before it is made";
      }
    if (!written.insert(now.y).second || (!made->tensors.at(now.y).is_virtual && read.count(now.y) > 0))
      why = "tensor " + std::to_string(now.y) + " is made twice, or after it was read";
    if (made->tensors.at(now.y).by_value) why = "a number by value is made";
  }
  for (const auto& [id, each] : made->tensors)
    if (each.is_virtual && (written.count(id) == 0 || read.count(id) == 0))
      why = "virtual tensor " + std::to_string(id) + " is not used";
  if (!why.empty() || products < 2) return nullptr;
  made->backward = products > 2;
  return made;
}

void run_graph(const graph& of, const std::map<int64_t, void*>& places) {
  run now{of, places, {}};
  for (const step& each : of.steps) switch (each.kind) {
      case step_kind::product: now.product(each); break;
      case step_kind::pointwise: now.pointwise(each); break;
      case step_kind::reduction: now.reduction(each); break;
      case step_kind::turn: now.turn(each); break;
    }
}

}  // namespace motet::emulation::cudnn
