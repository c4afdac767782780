// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "roofline_page.hpp"

#include "../../examples/train_clip/models.hpp"

#include <motet/backend/cuda/operations.hpp>
#include <motet/model/model.hpp>
#include <motet/runtime/stage/count_step.hpp>
#include <motet/runtime/stage/stage_needs.hpp>
#include <motet/tools/process/options.hpp>

#include <type_traits>

// The table of a step, for a program with a command line. It needs no GPU, and no kernel.
namespace motet::bench {

// What the operations of a step say that they do, of one rank that has a GPU, and bytes that its towers keep.
struct counted_step {
  step_costs costs;
  double kept = 0;
};
template <vit_config Picture, text_config Caption, class Numbers>
counted_step counted(isize batch, bool keep_outputs) {
  using net = model<join<info_nce, module<"picture", vit<Picture>>, module<"caption", text_tower<Caption>>>>;
  constexpr bool ahead = true;  // as train_clip
  const auto& table = table_of_model<net, cuda::context, Numbers>;
  counted_step found{count_step(table, batch, {}, ahead, {}, keep_outputs)};
  for (const auto* each : table.nets) {
    stage_position at;
    at.range = {0, each->of->layers};
    at.keep_outputs = keep_outputs;
    const auto parts = each->of->microbatches({batch, 1, 1, 1}, 0, {}, {}, {}, 0);
    found.kept += static_cast<double>(measure_stage(*each, at, *parts).slot);
  }
  return found;
}

struct roofline_request {
  std::string model = "l14", streams = "fp32", emit = "markdown", measured, out;
  isize batch = 512;
  double gemm = 790, bandwidth = 4.3, link = 55;
  bool roofline = false, keep_outputs = false;

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
    all.flag("--keep-outputs", keep_outputs,
             "keep what norms and activations made, instead of making it again");
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
  step_roofline made() const { return made(streams, keep_outputs); }
  // The same step with each choice of streams and of what is kept, but this one.
  std::vector<step_roofline> others() const {
    std::vector<step_roofline> all;
    for (const char* const each : {"fp32", "bf16"})
      for (const bool keep : {false, true})
        if (each != streams || keep != keep_outputs) all.push_back(made(each, keep));
    return all;
  }

 private:
  step_roofline made(const std::string& of_streams, bool keep) const {
    return of_streams == "fp32" ? made_of<mixed_bf16>(keep) : made_of<bf16_streams>(keep);
  }
  template <class Numbers>
  step_roofline made_of(bool keep) const {
    using namespace train_clip;
    const chip on{.gemm = gemm * 1e12, .bandwidth = bandwidth * 1e12, .link = link * 1e9};
    const counted_step of = model == "l14" ? counted<l14_picture, l14_caption, Numbers>(batch, keep)
                                           : counted<b16_picture, b16_caption, Numbers>(batch, keep);
    return {model, batch,   std::is_same_v<Numbers, bf16_streams> ? "bf16" : "fp32", keep, of.kept,
            on,    of.costs};
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
        wanted.emit == "json" ? json_of(found, beside) : page_of(found, wanted.others(), beside);
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
