// SPDX-License-Identifier: Apache-2.0
// What plans of this library do that those of the paper on DistMM cannot, in numbers: docs/results.md, "Beyond the paper". Prints JSON, a line for each
// number. Nothing is measured: plans are made, proven and simulated for the paper's cluster.
//
//   bench_beyond
#include <motet/format/json_write.hpp>
#include <motet/plan/cost/plan_join.hpp>
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/distmm/search_distmm.hpp>
#include <motet/plan/distmm/search_megatron.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/plan/search/search.hpp>

#include <cstdio>

namespace {

using namespace motet;

void print(json line) { std::printf("%s\n", write_json(line).c_str()); }

std::string ways(const plan& of) {
  std::string out;
  for (const module_plan& each : of.modules) {
    const degrees& split = each.on.split();
    out += (out.empty() ? "" : "; ") + std::string(each.name.view()) + " " + std::to_string(each.on.ranks().size()) + " ranks from " +
           std::to_string(each.on.ranks()[0]) + ": stages " + std::to_string(split.stages) + ", data " + std::to_string(split.data) + ", tensor " +
           std::to_string(split.tensor);
    if (split.context > 1) out += ", context " + std::to_string(split.context);
    out += ", microbatches " + std::to_string(each.microbatches);
    if (each.stash >= 0) out += ", kept " + std::to_string(each.stash);
    if (!each.remade.empty()) out += ", remade";
    if (each.zero > 0) out += ", zero " + std::to_string(each.zero);
  }
  return out;
}

// Proven and simulated, or the reason why not.
plan_estimate play(const plan& of, const model_shape& model, const cluster_facts& on, index samples, const estimate_options& options = {}) {
  plan_estimate out;
  enforce(prove_plan(of, facts_of(model), samples), "the plan");
  enforce(estimate(of, model, on, {}, samples, out, options), "the plan");
  return out;
}
double gigabytes(double bytes) { return bytes / 1e9; }

// Both towers on 32 ranks each, pipelines of four with tensor groups of eight.
plan pipelines(index microbatches) {
  plan out;
  out.cluster.ranks = 64;
  out.cluster.ranks_per_node = 8;
  out.modules.push(on_ranks("vision", 0, {.stages = 4, .tensor = 8}, static_cast<int>(microbatches)));
  out.modules.push(on_ranks("text", 32, {.stages = 4, .tensor = 8}, static_cast<int>(microbatches)));
  return out;
}

// A pipelined tower keeps all microbatches of a loss, with or without what backward can make again, or none (h = 0): these run forward twice.
void contrastive_batch() {
  const model_shape model = find_model("clip-9.3b")->make();
  const cluster_facts on = *find_cluster("v100");
  for (const index batch : {512, 2048, 8192, 32768, 131072}) {
    for (const char* kept : {"all", "all, remade", "none"}) {
      plan how = pipelines(batch / 8);
      for (module_plan& each : how.modules) {
        if (kept == std::string_view("none")) each.stash = 0;
        if (kept == std::string_view("all, remade")) each.remade.resize(4, 1);
      }
      const plan_estimate gives = play(how, model, on, batch);
      print({{"part", "contrastive_batch"},
             {"batch", batch},
             {"kept", kept},
             {"activation_gigabytes", gigabytes(gives.modules[0].bytes.activations)},
             {"memory_gigabytes", gigabytes(gives.memory_bytes)},
             {"fits", gives.memory_bytes <= on.device.memory_bytes},
             {"samples_per_second", gives.samples_per_second}});
    }
  }
}

// A few microbatches more at hand, and the loss is exchanged and computed behind their forwards.
void hidden_sync() {
  const model_shape model = find_model("b16")->make();
  const cluster_facts on = *find_cluster("v100");
  constexpr index pairs = 32768;  // of each loss
  for (const int losses : {1, 2, 4}) {
    double plain = 0;
    for (const int ahead : {0, 1, 4}) {
      plan how;
      how.cluster.ranks = on.devices();
      how.cluster.ranks_per_node = on.devices_per_node;
      how.modules.push(on_ranks("picture", 0, {.stages = 4, .data = 14}, 32 * losses));
      how.modules.push(on_ranks("caption", 56, {.stages = 4, .data = 2}, 32 * losses));
      for (module_plan& each : how.modules) {
        each.group = 32;
        each.ahead = ahead;
        each.remade.resize(4, 1);
      }
      const plan_estimate gives = play(how, model, on, pairs * losses);
      const join_cost join = join_of(how, model, on, {}, pairs * losses);
      if (ahead == 0) plain = gives.step_seconds;
      print({{"part", "hidden_sync"},
             {"losses", losses},
             {"ahead", ahead},
             {"syncs_milliseconds", 1e3 * losses * (join.compute + join.exchange)},
             {"step_seconds", gives.step_seconds},
             {"shorter_milliseconds", 1e3 * (plain - gives.step_seconds)},
             {"memory_gigabytes", gigabytes(gives.memory_bytes)},
             {"fits", gives.memory_bytes <= on.device.memory_bytes}});
    }
  }
}

// What comes to the busiest rank and into the busiest node for one loss over 32768 pairs.
void exchange() {
  const model_shape model = find_model("clip-1.1b")->make();
  const cluster_facts on = *find_cluster("v100");
  constexpr index batch = 32768;
  plan apart, together;
  apart.cluster.ranks = together.cluster.ranks = on.devices();
  apart.modules.push(on_ranks("vision", 0, {.data = 56}));
  apart.modules.push(on_ranks("text", 56, {.data = 8}));
  together.modules.push(on_ranks("vision", 0, {.data = 64}));
  together.modules.push(on_ranks("text", 0, {.data = 64}));
  const auto line = [&](const char* what, const plan& how, bool gradients) {
    estimate_options options;
    options.exchange_gradients = gradients;
    const join_cost join = join_of(how, model, on, {}, batch, options);
    print({{"part", "exchange"},
           {"how", what},
           {"batch", batch},
           {"rank_megabytes", join.bytes / 1e6},
           {"node_megabytes", join.node_bytes / 1e6},
           {"milliseconds", 1e3 * join.exchange}});
  };
  line("local loss, gradients gathered", together, true);
  line("DistMM: towers apart, gradients sent back", apart, true);
  line("here: towers apart, sums of rows", apart, false);
}

ranked_plan best(const search_result& of) { return of.plans[0]; }
void print_plan(const char* part, const char* cluster, const char* what, const model_shape& model, const ranked_plan& found) {
  print({{"part", part},
         {"model", model.name.view()},
         {"cluster", cluster},
         {"how", what},
         {"step_seconds", found.gives.step_seconds},
         {"samples_per_second", found.gives.samples_per_second},
         {"bubble_rate", found.gives.bubble_rate},
         {"memory_gigabytes", gigabytes(found.gives.memory_bytes)},
         {"layout", ways(found.how)}});
}

// LiT: the tower of pictures does not learn. DistMM times it as if it did.
void frozen_tower() {
  const cluster_facts on = *find_cluster("v100");
  constexpr index batch = 4096;
  model_shape model = find_model("locked-9.4b")->make();
  search_options options;
  for (const auto& [what, frozen, cached] : {std::tuple{"both learn (as DistMM plans it)", false, false},
                                             {"frozen, run in each step", true, false},
                                             {"frozen, features cached", true, true}}) {
    model.towers[0].frozen = frozen;
    model.towers[0].cached = cached;
    print_plan("frozen_tower", "v100", what, model, best(search_plans(model, on, batch, options)));
  }
}

// A small tower wants another share of the devices than a whole number of them.
void colocation() {
  for (const auto& [name, cluster, batch] :
       {std::tuple{"clip-1.1b", "v100:1x4", 64}, {"l14", "a100:1x4", 512}, {"three-towers", "a100:1x4", 512}, {"clip-1.1b", "v100:1x8", 64}}) {
    const model_shape model = find_model(name)->make();
    const cluster_facts on = cluster_named(cluster);
    search_options options;
    options.together = false;
    print_plan("colocation", cluster, "each tower on ranks of its own", model, best(search_plans(model, on, batch, options)));
    options.together = true;
    print_plan("colocation", cluster, "free to share ranks", model, best(search_plans(model, on, batch, options)));
  }
}

// Pictures, texts and sounds in one loss.
void three_towers() {
  const model_shape model = find_model("three-towers")->make();
  for (const char* cluster : {"v100", "a100"}) {
    const cluster_facts on = *find_cluster(cluster);
    constexpr index batch = 4096;
    print_plan("three_towers", cluster, "searched", model, best(search_plans(model, on, batch)));
    print_plan("three_towers", cluster, "DistMM's rules", model, best(search_distmm(model, on, batch)));
    print_plan("three_towers", cluster, "one layout for all (Megatron)", model, best(search_megatron(model, on, batch)));
  }
}

}  // namespace

int main() {
  for (const auto part : {contrastive_batch, hidden_sync, exchange, frozen_tower, colocation, three_towers}) {
    try {
      part();
    } catch (const error& problem) {
      std::fprintf(stderr, "%s\n", problem.what());
      return 2;
    }
    std::fflush(stdout);
  }
  return 0;
}
