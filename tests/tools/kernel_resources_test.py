#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles kernels that break each rule of kernel_resources.py, beside others that keep it: a checker that cannot fail checks nothing. Status 77: no
nvcc, or none of the tools that read machine code."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import kernel_resources  # noqa: E402
import sass  # noqa: E402

KERNELS = """
namespace motet::cuda::detail {
template <class Kernel>
__global__ void __launch_bounds__(Kernel::most_threads) run_kernel(const Kernel kernel) { kernel(); }

struct quick { static constexpr int most_threads = 256; };

template <class T> struct good : quick {
  T *x; int count;
  __device__ void operator()() const { for (int i = threadIdx.x; i < count; i += 256) x[i] = x[i] * T(2) + T(1); }
};
struct indexes_registers : quick {  // stack
  float* x; const int* at;
  __device__ void operator()() const {
    float v[32];
    for (int i = 0; i < 32; ++i) v[i] = x[32 * threadIdx.x + i];
    for (int i = 0; i < 32; ++i) x[i] = v[at[i]];
  }
};
struct keeps_too_much : quick {  // threads
  float* x; int rounds;
  __device__ void operator()() const {
    float v[140];
#pragma unroll
    for (int i = 0; i < 140; ++i) v[i] = x[i * 256 + threadIdx.x];
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
      for (int i = 0; i < 140; ++i) v[i] = v[i] * v[(i + 1) % 140] + x[r];
    }
#pragma unroll
    for (int i = 0; i < 140; ++i) x[i * 256 + threadIdx.x] = v[i];
  }
};
template <class T, bool Packed> struct finish_product : quick {  // wide, by numbers one by one
  T *x, *y;
  __device__ void operator()() const { y[2 * threadIdx.x] = x[2 * threadIdx.x]; y[2 * threadIdx.x + 1] = x[2 * threadIdx.x + 1] * T(2); }
};
template <class T> struct adamw_values : quick {  // keeps it
  float4 *x, *y;
  __device__ void operator()() const { y[threadIdx.x] = x[threadIdx.x]; }
};
template <int Width> struct attention_some_matrix : good<float> {};  // matrix
struct tenth : quick {  // double, by a number without f
  float* x;
  __device__ void operator()() const { x[threadIdx.x] *= 0.1; }
};
struct divides_often : quick {  // divide
  float* x; long count, width;
  __device__ void operator()() const { for (long i = threadIdx.x; i < count; i += 256) x[i / width] += x[i]; }
};
struct divides_once : quick {  // keeps it
  float* x; long count, width;
  __device__ void operator()() const { const long first = blockIdx.x / width; for (long i = threadIdx.x; i < count; i += 256) x[first + i] += 1; }
};
struct stores_across : quick {  // window
  float* x;
  __device__ void operator()() const {
    extern __shared__ float own[];
    asm volatile("st.global.f32 [%0], %1;" ::"l"(own + threadIdx.x), "f"(x[threadIdx.x]) : "memory");
    __syncthreads();
    x[threadIdx.x] = own[threadIdx.x ^ 1];
  }
};
struct takes_either : quick {  // keeps it
  float* x; int count;
  __device__ void operator()() const {
    extern __shared__ float own[];
    own[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    const float* const from = count > 5 ? own : x;
    x[threadIdx.x] = from[threadIdx.x ^ 1];
  }
};
#define RUN(...) template __global__ void run_kernel(const __VA_ARGS__)
RUN(good<float>); RUN(good<double>); RUN(indexes_registers); RUN(keeps_too_much); RUN(finish_product<float, true>); RUN(finish_product<float, false>);
RUN(adamw_values<float>); RUN(attention_some_matrix<64>); RUN(tenth); RUN(divides_often); RUN(divides_once);
RUN(stores_across); RUN(takes_either);
}
"""
BROKEN = {
    "indexes_registers": "stack",
    "keeps_too_much": "threads",
    "finish_product<float, true>": "wide",
    "attention_some_matrix<64>": "matrix",
    "tenth": "double",
    "divides_often": "divide",
    "stores_across": "window",
}
CHIPS = ["sm_80", "sm_90"]


class Rules(unittest.TestCase):
    def test_each_rule_finds_its_kernel_and_no_other(self):
        self.assertEqual({name for name, _ in self.kernels} - set(BROKEN),
                         {"good<float>", "good<double>", "finish_product<float, false>", "adamw_values<float>", "divides_once", "takes_either"})
        for chip in CHIPS:
            for (name, of), kernel in self.kernels.items():
                if of == chip:
                    rules = {rule for rule, _ in kernel_resources.findings(kernel, name)}
                    self.assertEqual(rules, {BROKEN[name]} if name in BROKEN else set(), f"{name} {chip}")

    def test_exceptions_allow_and_are_missed_when_no_kernel_needs_them(self):
        allow = [(rule, re.compile(re.escape(name)), "a test", number) for number, (name, rule) in enumerate(BROKEN.items())]
        problems, allowed = kernel_resources.check(self.kernels, allow, False)
        self.assertEqual((problems, len(allowed)), ([], len(BROKEN) * len(CHIPS)))
        problems, _ = kernel_resources.check(self.kernels, allow[1:], False)
        self.assertEqual(len(problems), len(CHIPS))
        problems, _ = kernel_resources.check(self.kernels, allow + [("double", re.compile("good<float>"), "a test", 99)], True)
        self.assertEqual(sum("no kernel needs it" in line for line in problems), 1)
        self.assertTrue(any("no kernel is called" in line for line in problems))  # most kernels that rules name are not there

    def test_names(self):
        name = "void motet::cuda::detail::run_kernel<motet::cuda::detail::a<motet::bf16, (motet::kind)1, b<int> > >(motet::cuda::detail::a<>)"
        self.assertEqual(kernel_resources.short(name), "a<bf16, (kind)1, b<int>>")
        self.assertIsNone(kernel_resources.short("void cub::some<int>()"))


if __name__ == "__main__":
    nvcc = sass.find_tool("nvcc")
    tools = [sass.find_tool("cuobjdump"), sass.find_tool("nvdisasm")]
    if not nvcc or not all(tools):
        print("nvcc, cuobjdump or nvdisasm is not here: skipped")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        source, made = pathlib.Path(folder, "kernels.cu"), pathlib.Path(folder, "kernels.o")
        source.write_text(KERNELS)
        codes = [f"-gencode=arch=compute_{chip[3:]},code={chip}" for chip in CHIPS]
        subprocess.run([nvcc, "-std=c++20", "-O3", *codes, "-c", str(source), "-o", str(made)], check=True)
        Rules.kernels, _ = kernel_resources.collect(tools, [str(made)], CHIPS)
        unittest.main()
