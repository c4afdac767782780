// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products by oneDNN 2.x or 3.x, to measure against, where it is installed and the build defines
// MOTET_HAS_ONEDNN. Without it this header is empty. The library itself multiplies on its own
// (docs/decisions/0001-own-gemm.md).
#if defined(MOTET_HAS_ONEDNN) && MOTET_HAS_ONEDNN

#include <motet/backend/cpu/products/gemm_pack.hpp>

#include <dnnl.hpp>

#include <unordered_map>

// Resolved when oneDNN was built with OpenMP; null otherwise.
extern "C" void omp_set_num_threads(int) __attribute__((weak));

namespace bench::onednn {

using motet::bf16, motet::isize, motet::cpu::gemm_operand;

// A team brings its own threads, so a call of oneDNN must not start others. The setting belongs to the
// calling thread.
inline void one_thread() {
  thread_local bool done = false;
  if (done) return;
  if (&omp_set_num_threads != nullptr) omp_set_num_threads(1);
  done = true;
}

inline const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

template <class T>
inline constexpr dnnl::memory::data_type data_type_of = dnnl::memory::data_type::f32;
template <>
inline constexpr dnnl::memory::data_type data_type_of<bf16> = dnnl::memory::data_type::bf16;

// out[m, n] = a[m, k] b[k, n] (+ out) in fp32.
inline bool sgemm(isize m, isize n, isize k, const gemm_operand<float>& a, const gemm_operand<float>& b,
                  float* out, isize out_stride, bool accumulate) {
  one_thread();
  return dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1.0f, a.data, a.stride,
                    b.data, b.stride, accumulate ? 1.0f : 0.0f, out, out_stride) == dnnl_success;
}

// One product of fixed shape, types and strides; what it needs beside the operands is `scratch_bytes` of
// memory from the caller.
class product {
 public:
  struct shape {
    isize m, n, k, a_stride, b_stride, out_stride;
    bool a_transposed, b_transposed, accumulate;
    dnnl::memory::data_type a, b, out;
    bool operator==(const shape&) const = default;
  };

  explicit product(const shape& s)
      : a_({s.m, s.k}, s.a,
           s.a_transposed ? dnnl::memory::dims{1, s.a_stride} : dnnl::memory::dims{s.a_stride, 1}),
        b_({s.k, s.n}, s.b,
           s.b_transposed ? dnnl::memory::dims{1, s.b_stride} : dnnl::memory::dims{s.b_stride, 1}),
        out_({s.m, s.n}, s.out, dnnl::memory::dims{s.out_stride, 1}) {
    one_thread();
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (s.accumulate) {
      dnnl::post_ops after;
      after.append_sum(1.0f);
      attributes.set_post_ops(after);
    }
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc description(cpu_engine(), a_, b_, out_, attributes);
#else
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a_, b_, out_), attributes,
                                                   cpu_engine());
#endif
    scratch_ = description.scratchpad_desc();
    run_ = dnnl::matmul(description);
  }

  isize scratch_bytes() const { return static_cast<isize>(scratch_.get_size()); }

  void operator()(const void* a, const void* b, void* out, void* scratch) const {
    one_thread();
    thread_local dnnl::stream stream(cpu_engine());
    const auto memory = [](const dnnl::memory::desc& d, const void* at) {
      return dnnl::memory(d, cpu_engine(), const_cast<void*>(at));
    };
    run_.execute(stream, {{DNNL_ARG_SRC, memory(a_, a)},
                          {DNNL_ARG_WEIGHTS, memory(b_, b)},
                          {DNNL_ARG_DST, memory(out_, out)},
                          {DNNL_ARG_SCRATCHPAD, memory(scratch_, scratch)}});
  }

 private:
  dnnl::memory::desc a_, b_, out_, scratch_;
  dnnl::matmul run_;
};

}  // namespace bench::onednn

#endif
