// SPDX-License-Identifier: Apache-2.0
// roofline_page [options of bench_gpu_step --roofline]: the same table without nvcc. A dry run launches
// nothing, so no kernel is compiled.
#include <motet/backend/cuda/device/launch.hpp>

#include <cstdlib>

namespace motet::cuda {
template <class Kernel>
struct emulator {
  [[noreturn]] static void launch(cudaStream_t, const grid&, const Kernel&) { std::abort(); }
};
}  // namespace motet::cuda

#include <gpu/roofline_program.hpp>

int main(int count, char** words) { return motet::bench::print_roofline(count, words, "roofline_page"); }
