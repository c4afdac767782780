// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/plan/describe/messages.hpp>
#include <motet/plan/disttrain/chain_model.hpp>
#include <motet/plan/optimus/filled_model.hpp>
#include <motet/plan/search/search_result.hpp>
#include <motet/tools/process/exit_code.hpp>
#include <motet/tools/process/options.hpp>

#include <array>
#include <cstdio>
#include <optional>

namespace motet::plan_cluster {

// The command line of plan_cluster, understood as far as that goes without the model.
struct settings {
  std::string model, cluster, profile, search = "motet", emit = "text", output, name;
  std::string frozen;  // parts of a chain that do not learn
  double sigma = 0.6;  // how much pictures of samples differ
  isize batch = 0;
  double seconds = 120;                        // for the search
  search_options wishes;                       // without pins
  std::optional<std::array<double, 4>> bytes;  // of a weight, its gradient, its state and an activation
  std::vector<std::string> pins;
  bool list_models = false, list_clusters = false;
};

// Batches for which sums of samples stay exact in any number.
inline constexpr isize most_samples = isize{1} << 31;

namespace detail {

// "4,4,8,2", each at least 0.
inline std::array<double, 4> read_bytes(const std::string& text) {
  std::array<double, 4> out{};
  const char *at = text.data(), *const end = at + text.size();
  for (double& each : out) {
    const auto [next, problem] = std::from_chars(at, end, each);
    const bool last = &each == &out.back();
    if (problem != std::errc{} || !(each >= 0 && each <= 1024) ||
        (last ? next != end : next == end || *next != ','))
      fail(bad_option_value,
           "--bytes wants four numbers from 0 to 1024, of a weight, its gradient, its state and an "
           "activation, got \"" +
               text + "\"");
    at = next + (last ? 0 : 1);
  }
  return out;
}

}  // namespace detail

// The result is false when --help was asked for and printed.
inline bool read_settings(int count, const char* const* words, settings& to) {
  std::string bytes;
  bool together = false, apart = false;
  options line("plan_cluster",
               "finds how to spread the towers of a model over a cluster: the best plans by simulation, "
               "their pictures, and the plan that runs");
  line.text("--model", to.model, "NAME|FILE.json", "towers and where they meet; --list-models");
  line.text(
      "--cluster", to.cluster, "NAME[:NODES[xDEVICES]][+...]|FILE.json|here[:RANKS]",
      "nodes, devices and wires, several kinds with + between them; --list-clusters; here: this machine, "
      "measured");
  line.count("--batch", to.batch, 1, "samples of a step");
  line.count("--contrastive", to.wishes.contrastive_batch, 1,
             "samples that one loss sees together; 0: all of a step");
  line.choice(
      "--search", to.search,
      {"motet", "distmm", "megatron", "disttrain", "proportional", "optimus", "megatron-balanced", "crius",
       "cells", "quotas"},
      "all plans; the rules published for DistMM; one tensor degree for all on all ranks; for chains also "
      "those published for DistTrain, and ranks in proportion to FLOPs; for encoders with a language model "
      "also those "
      "published for Optimus, and all layers as even as possible in one pipeline; crius: a plan for each "
      "number "
      "of devices and stages of a job by the rules published for Crius, cells: by our costs; quotas: modules "
      "share devices, each with multiprocessors of its own");
  line.count("--top", to.wishes.top, 1, "plans to tell, best first");
  line.texts("--pin", to.pins, "TOWER:FIELD=VALUE,...",
             "what is settled before the search: stages, data, context, tensor, experts, ranks, "
             "microbatches, stash, "
             "recompute, zero; may be given several times");
  line.flag("--together", together, "towers share ranks; without this and --apart, as is best");
  line.flag("--apart", apart, "each tower has ranks of its own");
  line.text("--bytes", bytes, "W,G,S,A",
            "bytes of a weight, its gradient, its optimizer state and an activation; without it what the "
            "cluster says");
  line.text("--profile", to.profile, "FILE.json",
            "times that the program profile measured, for the towers that it has, instead of those that "
            "follow from FLOPs, and gaps inside operations that a run recorded; of encoders with a language "
            "model these gaps alone");
  line.text(
      "--frozen", to.frozen, "PART,...",
      "of a chain: encoder, language, generator do not learn; of encoders with a language model: encoder");
  line.real("--sigma", to.sigma, 0, 3, "of a chain: the deviation of the logarithm of a sample's pictures");
  line.real("--seconds", to.seconds, 0.001, 1e9,
            "for the search; then the best plan so far is told, and what was not tried");
  line.choice("--emit", to.emit, {"text", "json", "header", "svg"},
              "what to print: header and svg are of the best plan");
  line.text("--name", to.name, "NAME", "of the function in the header; without it, of model and cluster");
  line.text("--output", to.output, "FILE", "write there instead of standard output");
  line.flag("--list-models", to.list_models, "print the models that have names, and stop");
  line.flag("--list-clusters", to.list_clusters, "print the clusters that have names, and stop");
  if (!line.parse(count, words)) {
    std::fputs((line.help() + exit_table()).c_str(), stdout);
    return false;
  }
  if (to.list_models || to.list_clusters) return true;
  for (const char* needed : {"--model", "--cluster", "--batch"}) line.require(needed);
  const auto refuse = [](const std::string& what) { fail(bad_option_value, what); };
  if (to.batch > most_samples)
    refuse("--batch wants at most " + std::to_string(most_samples) + ", got " + std::to_string(to.batch));
  if (to.wishes.contrastive_batch > to.batch)
    refuse("--contrastive wants at most the batch of " + std::to_string(to.batch) + ", got " +
           std::to_string(to.wishes.contrastive_batch));
  if (to.wishes.top > 1000) refuse("--top wants at most 1000, got " + std::to_string(to.wishes.top));
  if (together && apart) refuse("--apart wants no --together beside it, got both");
  if (!to.name.empty() && to.emit != "header")
    refuse("--name wants --emit header beside it, got --emit " + to.emit);
  const bool chain = find_chain(to.model) != nullptr, of_quotas = to.search == "quotas",
             of_cells = to.search == "crius" || to.search == "cells" || of_quotas;
  if (chain) {
    if (to.search == "distmm" || to.search == "optimus" || to.search == "megatron-balanced" || of_cells)
      refuse("--search " + to.search + " wants " +
             (to.search == "distmm" || of_cells ? "towers" : "encoders and a language model") +
             ", got the chain " + to.model);
    if (to.emit != "text" && to.emit != "json") refuse("--emit of a chain is text or json, got " + to.emit);
    for (const char* const other : {"--contrastive", "--top", "--pin", "--together", "--apart", "--bytes",
                                    "--profile", "--seconds", "--name"})
      if (line.given(other)) refuse(std::string(other) + " wants towers, got the chain " + to.model);
    return true;
  }
  if (find_filled_model(to.model)) {
    if (to.search == "distmm" || to.search == "disttrain" || to.search == "proportional" || of_cells)
      refuse("--search " + to.search + " of " + to.model +
             " wants one of motet, optimus, megatron, megatron-balanced");
    if (to.emit != "text" && to.emit != "json")
      refuse("--emit of " + to.model + " is text or json, got " + to.emit);
    for (const char* const other : {"--contrastive", "--top", "--pin", "--together", "--apart", "--bytes",
                                    "--seconds", "--name", "--sigma"})
      if (line.given(other)) refuse(std::string(other) + " wants towers or a chain, got " + to.model);
    if (!to.frozen.empty() && to.frozen != "encoder")
      refuse("--frozen of " + to.model + " is encoder, got " + to.frozen);
    return true;
  }
  if (to.search == "optimus" || to.search == "megatron-balanced")
    refuse("--search " + to.search + " wants encoders and a language model such as vit-22b+gpt-175b, got " +
           to.model);
  if (to.search == "disttrain" || to.search == "proportional")
    refuse("--search " + to.search + " wants a chain such as mllm-9b, got " + to.model);
  for (const char* const other : {"--frozen", "--sigma"})
    if (line.given(other)) refuse(std::string(other) + " wants a chain such as mllm-9b, got " + to.model);
  if (to.search != "motet") {
    if (line.given("--seconds")) refuse("--seconds wants --search motet, got " + to.search);
    if (!to.pins.empty()) refuse("--pin wants --search motet, got " + to.search);
    if (together || apart)
      refuse(std::string(together ? "--together" : "--apart") + " wants --search motet, got " + to.search);
  }
  if (of_cells) {
    if (to.emit != "text" && to.emit != "json")
      refuse("--emit of " + std::string(of_quotas ? "quotas" : "cells") + " is text or json, got " + to.emit);
    for (const char* const other : {"--contrastive", "--top"})
      if (line.given(other)) refuse(std::string(other) + " is not for --search " + to.search);
  }
  to.wishes.apart = !together;
  to.wishes.together = !apart;
  if (!bytes.empty()) to.bytes = detail::read_bytes(bytes);
  return true;
}

}  // namespace motet::plan_cluster
