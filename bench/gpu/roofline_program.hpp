// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "roofline_page.hpp"

#include "../../examples/train_clip/models.hpp"

#include <motet/backend/cuda/operations.hpp>
#include <motet/model/model.hpp>
#include <motet/runtime/stage/count_step.hpp>
#include <motet/tools/options.hpp>

#include <type_traits>

// The table of a step, for a program with a command line. It needs no GPU, and no kernel.
namespace motet::bench {

// Counts what the operations of a step say that they do, of one rank that has a GPU.
template <vit_config Picture, text_config Caption, class Numbers>
step_costs counted(index batch) {
  using net = model<join<info_nce, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>;
  return count_step(table_of_model<net, cuda::context, Numbers>, batch, {}, true);  // ahead, as train_clip
}

struct roofline_request {
  std::string model = "l14", streams = "fp32", emit = "markdown", measured, out;
  index batch = 512;
  double gemm = 790, bandwidth = 4.3, link = 55;
  bool roofline = false;

  // False: help was asked for, and printed.
  bool parse(int count, const char* const* words, const std::string& program) {
    options all(program,
                "what a step of training takes at least, operation by operation, and what may be expected; "
                "needs no GPU");
    all.flag("--roofline", roofline, "print that");
    all.choice("--model", model, {"l14", "b16"}, "towers of CLIP");
    all.count("--batch", batch, 1, "samples of a step");
    all.choice("--streams", streams, {"fp32", "bf16"},
               "type of rows between blocks: of mixed_bf16 or of bf16_streams");
    all.real("--gemm", gemm, 1, 1e6, "TFLOP/s of a large product in bf16");
    all.real("--bandwidth", bandwidth, 0.01, 1e3, "TB/s of a copy, read and written");
    all.real("--link", link, 0.01, 1e4, "GB/s from the host");
    all.choice("--emit", emit, {"markdown", "json"}, "as what");
    all.text("--measured", measured, "FILE",
             "lines of bench_gpu_step --kernels of this model and batch, to stand beside");
    all.text("--out", out, "FILE", "write there; else it is printed");
    if (all.parse(count, words)) return true;
    std::fputs(all.help().c_str(), stdout);
    return false;
  }
  step_roofline made() const { return streams == "fp32" ? made_of<mixed_bf16>() : made_of<bf16_streams>(); }
  // This step has the other streams.
  step_roofline other() const { return streams == "fp32" ? made_of<bf16_streams>() : made_of<mixed_bf16>(); }

 private:
  template <class Numbers>
  step_roofline made_of() const {
    using namespace train_clip;
    const chip on{.gemm = gemm * 1e12, .bandwidth = bandwidth * 1e12, .link = link * 1e9};
    const step_costs costs = model == "l14" ? counted<l14_picture, l14_caption, Numbers>(batch)
                                            : counted<b16_picture, b16_caption, Numbers>(batch);
    return {model, batch, std::is_same_v<Numbers, bf16_streams> ? "bf16" : "fp32", on, costs};
  }
};

// Prints the table; the status of the program.
inline int print_roofline(int count, const char* const* words, const std::string& program) {
  try {
    roofline_request wanted;
    if (!wanted.parse(count, words, program)) return 0;
    const step_roofline found = wanted.made();
    std::optional<measured_step> beside;
    if (!wanted.measured.empty()) beside.emplace(wanted.measured, found.model, found.batch);
    const std::string text =
        wanted.emit == "json" ? json_of(found, beside) : page_of(found, wanted.other(), beside);
    std::FILE* const to = wanted.out.empty() ? stdout : std::fopen(wanted.out.c_str(), "w");
    if (to == nullptr || std::fputs(text.c_str(), to) < 0 || std::fflush(to) != 0)
      throw std::runtime_error("cannot write " + wanted.out);
    if (to != stdout && std::fclose(to) != 0) throw std::runtime_error("cannot write " + wanted.out);
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), problem.what());
    return 1;
  }
}

}  // namespace motet::bench
