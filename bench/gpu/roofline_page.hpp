// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "roofline.hpp"

#include <motet/format/text/json_read.hpp>

#include <fstream>
#include <map>
#include <optional>

// The table as a page, with what a GPU measured beside it where somebody has that.
namespace motet::bench {

// Milliseconds that a step's kernels took, by family: from the lines that `bench_gpu_step --kernels` printed.
struct measured_step {
  std::map<const operation_family*, double> milliseconds;
  double unknown = 0;  // of kernels that no row of operation_kinds names

  // Kernels of libraries are known by what their names contain.
  static const operation_family* family_of(std::string_view kernel) {
    if (const operation_kind* const own = kind_of_kernel(kernel)) return &about(own->belongs);
    const auto has = [&](std::initializer_list<std::string_view> pieces) {
      return std::any_of(pieces.begin(), pieces.end(), [&](std::string_view piece) {
        return kernel.find(piece) != std::string_view::npos;
      });
    };
    if (has({"RadixSort"})) return &about(family::small);
    if (has({"fprop", "flash_fwd", "sdpa_fwd"}) && has({"cudnn", "flash", "sdpa", "fmha"}))
      return &about(family::attention);
    if (has({"cudnn", "flash", "sdpa", "fmha"})) return &about(family::attention_backward);
    // dy^T x by rows is x^T dy by columns; sums that are cut into pieces are of weights.
    if (has({"_NTN", "_NTT", "splitKreduce"})) return &about(family::weight_gradients);
    if (has({"gemm", "nvjet", "cutlass", "splitK", "cublas"})) return &about(family::products);
    if (has({"copy, host to GPU"})) return &about(family::inputs);
    return nullptr;
  }

  measured_step(const std::string& file, const std::string& model, long batch) {
    std::ifstream from(file);
    if (!from) throw std::runtime_error("cannot read " + file + ", which --measured names");
    long found = 0;
    for (std::string line; std::getline(from, line);) {
      if (line.find("\"kernel\"") == std::string::npos) continue;
      const json row = read_json(line, file);
      if (row.at("step").string() != model || row.at("batch").integer() != batch) continue;
      const double took = row.at("milliseconds").number();
      const operation_family* const into = family_of(row.at("kernel").string());
      (into != nullptr ? milliseconds[into] : unknown) += took;
      ++found;
    }
    if (found == 0)
      throw std::runtime_error(file + " has no kernels of " + model + " with batch " + std::to_string(batch) +
                               ": bench_gpu_step --model " + model + " --batch " + std::to_string(batch) +
                               " --kernels prints them");
  }
  double all() const {
    double sum = unknown;
    for (const auto& [into, took] : milliseconds) sum += took;
    return sum;
  }
};

inline std::string json_of(const step_roofline& of, const std::optional<measured_step>& measured) {
  std::string text;
  print_to(text,
           "{\"model\": \"%s\", \"batch\": %ld, \"precision\": \"bf16\", \"streams\": \"%s\", "
           "\"keeps_outputs\": %s, \"kept_bytes\": %.0f, \"gemm_tflops\": %.1f, \"bandwidth_tb\": %.2f, "
           "\"link_gb\": %.1f,\n",
           of.model.c_str(), of.batch, of.streams.c_str(), of.keeps_outputs ? "true" : "false", of.kept,
           of.on.gemm * 1e-12, of.on.bandwidth * 1e-12, of.on.link * 1e-9);
  print_to(text,
           " \"floor_ms\": %.3f, \"expected_ms\": %.3f, \"expected_samples_per_second\": %.1f, \"launches\": "
           "%.0f,\n ",
           of.floor() * 1e3, of.expected() * 1e3, static_cast<double>(of.batch) / of.expected(),
           of.launches());
  if (measured) {
    print_to(text, "\"measured_ms\": %.3f, \"measured_families\": {\"no row names\": %.4f", measured->all(),
             measured->unknown);
    for (const auto& [into, took] : measured->milliseconds)
      print_to(text, ", \"%s\": %.4f", into->name, took);
    text += "},\n ";
  }
  text += "\"operations\": [";
  const char* between = "";
  for (const roofline_row& each : of.rows) {
    print_to(text,
             "%s\n  {\"section\": \"%s\", \"operation\": \"%s\", \"family\": \"%s\", \"calls\": %ld, "
             "\"flops\": %.0f, \"bytes\": %.0f, "
             "\"matrix_units\": %s, "
             "\"floor_ms\": %.4f, \"expected_ms\": %.4f}",
             between, each.section.c_str(), each.kind->name, each.family().name, each.calls,
             each.flops * static_cast<double>(each.calls), each.all_bytes(), each.products ? "true" : "false",
             each.floor * 1e3, each.expected * 1e3);
    between = ",";
  }
  return text + "\n]}\n";
}

inline std::string page_of(const step_roofline& of, const std::vector<step_roofline>& others,
                           const std::optional<measured_step>& measured) {
  std::string text;
  const auto ms = [](double seconds) { return 1e3 * seconds; };
  const auto text_of = [](double number) {
    std::string made;
    print_to(made, "%.1f", number);
    return made;
  };
  const double gemm_floor = of.gemm_flops() / of.on.gemm;
  text +=
      "# The floor of a step, line by line\n\n"
      "What a step of training on a GPU takes at least, operation by operation, **as the code does it**, and "
      "what may be expected of it. "
      "`bench_gpu_step\n"
      "--roofline` prints this page, from a dry run of the trainer that a GPU would run: each operation says "
      "what it gives the GPU, so the table "
      "follows\n"
      "the code, and a test compares. Do not edit it; make it again:\n\n"
      "```sh\n"
      "cmake --build build/release --target roofline    # writes this page; needs the headers of CUDA and "
      "cuDNN, no GPU and no nvcc\n"
      "```\n\n"
      "Another model, batch or chip, and beside it what a GPU measured:\n\n"
      "```sh\n"
      "bench_gpu_step --roofline --model b16 --batch 1024 --gemm 620 --bandwidth 2.9 --emit json\n"
      "bench_gpu_step --model l14 --batch 512 --kernels >lines.json && bench_gpu_step --roofline --measured "
      "lines.json\n"
      "```\n\n"
      "Without nvcc `build/release/bin/tests/roofline_page` is the same program.\n\n";
  print_to(text,
           "**%s with CLIP's text tower, batch %ld, bf16**, streams in %s, exact GELU, pictures as floats, "
           "captions of full length,\n"
           "products by cuBLASLt and attention by cuDNN; %.0f TFLOP/s of a large product, %.2f TB/s of a "
           "copy, %.0f GB/s from the host.\n\n",
           of.model == "l14" ? "ViT-L/14" : "ViT-B/16", of.batch, of.streams.c_str(), of.on.gemm * 1e-12,
           of.on.bandwidth * 1e-12, of.on.link * 1e-9);
  text += "| | ms | samples/s | of the GEMM rate | GB kept for backward |\n|---|---:|---:|---:|---:|\n";
  const auto total = [&](const std::string& what, double seconds, double kept) {
    print_to(text, "| %s | %.1f | %.0f | %.0f %% | %s |\n", what.c_str(), ms(seconds),
             static_cast<double>(of.batch) / seconds, 100 * gemm_floor / seconds,
             kept > 0 ? std::to_string(static_cast<long>(kept * 1e-9 + 0.5)).c_str() : "");
  };
  total("products and attention alone, by their FLOPs", gemm_floor, 0);
  total("floor: each operation alone, by FLOPs or by bytes", of.floor(), 0);
  total("expected", of.expected(), of.kept);
  for (const step_roofline& other : others) {
    total("floor with " + other.choice(), other.floor(), 0);
    total("expected with " + other.choice(), other.expected(), other.kept);
  }
  if (measured) total("measured: all kernels, one after the other", 1e-3 * measured->all(), 0);

  print_to(text,
           "\n## By kind\n\n"
           "The floor of a call is the longer of what its FLOPs and its bytes take. Expected is the floor "
           "over the share of the rate that its kind\n"
           "reaches, and %.0f us for each launch: a kernel of a graph begins after the one before has ended, "
           "whose last blocks leave processors idle.\n"
           "The shares are those of an H200 (`bench/results/gpu-h200-l14.jsonl`), rounded; each has its "
           "reason below.\n\n"
           "| kind | calls | TFLOP of matrix units | GB | floor ms | expected ms | measured ms "
           "|\n|---|---:|---:|---:|---:|---:|---:|\n",
           1e6 * of.on.launch);
  for (const operation_family& each : families) {
    double calls = 0, flops = 0, bytes = 0, floor = 0, expected = 0;
    for (const roofline_row& row : of.rows) {
      if (&row.family() != &each) continue;
      calls += static_cast<double>(row.calls), flops += row.all_flops(), bytes += row.all_bytes(),
          floor += row.floor, expected += row.expected;
    }
    std::string beside = "-";
    if (measured) {
      const auto found = measured->milliseconds.find(&each);
      beside = found == measured->milliseconds.end() ? "0" : text_of(found->second);
    }
    print_to(text, "| %s | %.0f | %.1f | %.1f | %.1f | %.1f | %s |\n", each.name, calls, flops * 1e-12,
             bytes * 1e-9, ms(floor), ms(expected), beside.c_str());
  }
  if (measured && measured->unknown > 0)
    print_to(text, "| kernels that no row names | | | | | | %.1f |\n", measured->unknown);
  text += "\n| kind | share of the GEMM rate | of the copy rate | why |\n|---|---:|---:|---|\n";
  for (const operation_family& each : families) {
    const auto share = [](double of_rate) {
      return of_rate > 0 ? std::to_string(static_cast<int>(100 * of_rate + 0.5)) + " %" : std::string("-");
    };
    print_to(text, "| %s | %s | %s | %s |\n", each.name, share(each.of_gemm).c_str(),
             share(each.of_bandwidth).c_str(), each.why);
  }

  text +=
      "\n## What is counted\n\n"
      "- Each operand, result and saved value once for each kernel that touches it, in the type that it has "
      "there. What tiles of a product read\n"
      "  again comes from the cache.\n"
      "- Casts of fp32 gradients before products, the pass that an activation takes behind a product of "
      "cuBLASLt, copies of gradients of queries,\n"
      "  keys and values, lengths for masks, what backward makes again, partial sums, the update with its "
      "bf16 copies of weights, the norm of the\n"
      "  gradient, inputs over the link.\n"
      "- cuDNN's backward in any order of sums, which is the default: gradients of queries in fp32, which "
      "are cleared, added to and rounded. That "
      "is\n"
      "  what its graph says; what its kernels do is not known.\n"
      "- A norm is three kernels: forward, backward, and the sum of what backward left of its gain's and "
      "bias's "
      "gradients.\n"
      "- `outputs kept`: `--keep-outputs` keeps what norms and activations made, so that backward does not "
      "make "
      "it again\n"
      "  ([why by choice](../decisions/0064-outputs-kept-by-choice.md)). Kept for backward is what both "
      "towers "
      "hold of a step from forward on, without\n"
      "  weights, their gradients and state, inputs and scratch memory.\n"
      "- Not counted: workspaces of products that are cut along their sums, second passes for recipes that "
      "the library refuses, waits for the host.\n"
      "- The first step also clears all gradients; copies of weights are made once before it.\n\n"
      "On an [emulated GPU](emulation.md) a small step launches each kernel as often as its dry run lists "
      "the operation, and no other one; kernels\n"
      "that move whole runs move as many bytes as are listed.\n\n"
      "## Every operation\n\n"
      "Calls in one section that cost alike are one line, in the order of their first call. MB and GFLOP are "
      "of one call; `F` and `B` say what "
      "binds\n"
      "the floor, FLOPs or bytes.\n\n"
      "| section | operation | calls | GFLOP | MB | | floor ms | expected ms "
      "|\n|---|---|---:|---:|---:|---|---:|---:|\n";
  for (const roofline_row& row : of.rows) {
    const bool bound_by_flops = row.products && row.flops / of.on.gemm > row.bytes / of.on.bandwidth;
    print_to(text, "| %s | %s | %ld | %.2f | %.2f | %s | %.3f | %.3f |\n", row.section.c_str(),
             row.kind->name, row.calls, row.products ? row.flops * 1e-9 : 0.0, row.bytes * 1e-6,
             row.is_input()   ? "-"
             : bound_by_flops ? "F"
                              : "B",
             ms(row.floor), ms(row.expected));
  }
  return text;
}

}  // namespace motet::bench
