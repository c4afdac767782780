// SPDX-License-Identifier: Apache-2.0
// Plans of this library do what those of the paper on DistMM cannot; this tells it in numbers:
// docs/results.md, "Beyond the paper". The numbers are counters of each row and none of them is measured:
// plans are made, proven and simulated for the paper's cluster. Only the time that this takes is measured.
//
//   bench_beyond [flags of Google Benchmark]
#include "suite.hpp"

#include <motet/plan/cost/plan_join.hpp>
#include <motet/plan/describe/cluster_presets.hpp>
#include <motet/plan/describe/model_presets.hpp>
#include <motet/plan/distmm/search_distmm.hpp>
#include <motet/plan/distmm/search_megatron.hpp>
#include <motet/plan/prove/check_plan.hpp>
#include <motet/plan/search/search.hpp>

namespace {

using namespace motet;

// A row: what the body finds, once.
template <class Body>
void add(const std::string& name, Body body) {
  const auto row = [body](benchmark::State& state) {
    bench::series took;
    for (auto _ : state) state.SetIterationTime(took.take([&] { body(state); }));
  };
  bench::add(name, row)->Iterations(1)->Unit(benchmark::kMillisecond);
}

std::string ways(const plan& of) {
  std::string out;
  for (const module_plan& each : of.modules) {
    const degrees& split = each.on.split();
    out += (out.empty() ? "" : "; ") + std::string(each.name.view()) + " " +
           std::to_string(each.on.ranks().size()) + " ranks from " + std::to_string(each.on.ranks()[0]) +
           ": stages " + std::to_string(split.stages) + ", data " + std::to_string(split.data) + ", tensor " +
           std::to_string(split.tensor);
    if (split.context > 1) out += ", context " + std::to_string(split.context);
    out += ", microbatches " + std::to_string(each.microbatches);
    if (each.stash >= 0) out += ", kept " + std::to_string(each.stash);
    if (!each.remade.empty()) out += ", remade";
    if (each.zero > 0) out += ", zero " + std::to_string(each.zero);
  }
  return out;
}

// A plan is proven and simulated, or the reason why not is told.
run_forecast play(const plan& of, const model_shape& model, const cluster_facts& on, isize samples,
                  const estimate_options& options = {}) {
  run_forecast out;
  enforce(prove_plan(of, facts_of(model), samples), "the plan");
  enforce(estimate(of, model, on, {}, samples, out, options), "the plan");
  return out;
}
double gigabytes(double bytes) { return bytes / 1e9; }

// Both towers on 32 ranks each, pipelines of four with tensor groups of eight.
plan pipelines(isize microbatches) {
  plan out;
  out.cluster.ranks = 64;
  out.cluster.ranks_per_node = 8;
  out.modules.push(on_ranks("vision", 0, {.stages = 4, .tensor = 8}, static_cast<int>(microbatches)));
  out.modules.push(on_ranks("text", 32, {.stages = 4, .tensor = 8}, static_cast<int>(microbatches)));
  return out;
}

// A pipelined tower keeps all microbatches of a loss, with or without what backward can make again, or none
// (h = 0): these run forward twice.
void contrastive_batch() {
  for (const isize batch : {512, 2048, 8192, 32768, 131072})
    for (const std::string kept : {"all", "all, remade", "none"})
      add("contrastive_batch/batch:" + std::to_string(batch) + "/kept:" + kept, [=](benchmark::State& state) {
        const model_shape model = find_model("clip-9.3b")->make();
        const cluster_facts on = *find_cluster("v100");
        plan how = pipelines(batch / 8);
        for (module_plan& each : how.modules) {
          if (kept == "none") each.stash = 0;
          if (kept == "all, remade") each.remade.resize(4, 1);
        }
        const run_forecast gives = play(how, model, on, batch);
        auto& row = state.counters;
        row["activation_gigabytes"] = gigabytes(gives.modules[0].bytes.activations);
        row["memory_gigabytes"] = gigabytes(gives.memory_bytes);
        row["fits"] = fits(gives, on);
        row["samples_per_second"] = gives.samples_per_second;
      });
}

// A few microbatches more at hand, and the loss is exchanged and computed behind their forwards.
plan with_ahead(const cluster_facts& on, int losses, int ahead) {
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
  return how;
}
void hidden_sync() {
  for (const int losses : {1, 2, 4})
    for (const int ahead : {0, 1, 4})
      add("hidden_sync/losses:" + std::to_string(losses) + "/ahead:" + std::to_string(ahead),
          [=](benchmark::State& state) {
            const model_shape model = find_model("b16")->make();
            const cluster_facts on = *find_cluster("v100");
            constexpr isize pairs = 32768;  // of each loss
            const plan how = with_ahead(on, losses, ahead);
            const run_forecast gives = play(how, model, on, pairs * losses),
                               plain = play(with_ahead(on, losses, 0), model, on, pairs * losses);
            const join_cost join = join_of(how, model, on, {}, pairs * losses);
            auto& row = state.counters;
            row["syncs_milliseconds"] = 1e3 * losses * (join.compute + join.exchange);
            row["step_seconds"] = gives.step_seconds;
            row["shorter_milliseconds"] = 1e3 * (plain.step_seconds - gives.step_seconds);
            row["memory_gigabytes"] = gigabytes(gives.memory_bytes);
            row["fits"] = fits(gives, on);
          });
}

// Counts what comes to the busiest rank and into the busiest node for one loss over 32768 pairs.
void exchange() {
  struct way {
    const char* name;
    bool apart, gradients;
  };
  for (const way& how : {way{"local loss, gradients gathered", false, true},
                         way{"DistMM: towers apart, gradients sent back", true, true},
                         way{"here: towers apart, sums of rows", true, false}})
    add("exchange/" + std::string(how.name), [=](benchmark::State& state) {
      const model_shape model = find_model("clip-1.1b")->make();
      const cluster_facts on = *find_cluster("v100");
      constexpr isize batch = 32768;
      plan made;
      made.cluster.ranks = on.devices();
      made.modules.push(on_ranks("vision", 0, {.data = how.apart ? 56 : 64}));
      made.modules.push(on_ranks("text", how.apart ? 56 : 0, {.data = how.apart ? 8 : 64}));
      estimate_options options;
      options.exchange_gradients = how.gradients;
      const join_cost join = join_of(made, model, on, {}, batch, options);
      auto& row = state.counters;
      row["batch"] = batch;
      row["rank_megabytes"] = join.bytes / 1e6;
      row["node_megabytes"] = join.node_bytes / 1e6;
      row["milliseconds"] = 1e3 * join.exchange;
    });
}

ranked_plan best(const search_result& of) { return of.plans[0]; }
void tell(benchmark::State& state, const ranked_plan& found) {
  auto& row = state.counters;
  row["step_seconds"] = found.gives.step_seconds;
  row["samples_per_second"] = found.gives.samples_per_second;
  row["bubble_rate"] = found.gives.bubble_rate;
  row["memory_gigabytes"] = gigabytes(found.gives.memory_bytes);
  state.SetLabel(ways(found.how));
}

// LiT: the tower of pictures does not learn. DistMM times it as if it did.
void frozen_tower() {
  struct learns {
    const char* name;
    bool frozen, cached;
  };
  for (const learns& how :
       {learns{"both learn (as DistMM plans it)", false, false},
        learns{"frozen, run in each step", true, false}, learns{"frozen, features cached", true, true}})
    add("frozen_tower/locked-9.4b/v100/" + std::string(how.name), [=](benchmark::State& state) {
      model_shape model = find_model("locked-9.4b")->make();
      model.towers[0].frozen = how.frozen;
      model.towers[0].cached = how.cached;
      tell(state, best(search_plans(model, *find_cluster("v100"), 4096)));
    });
}

// A small tower wants another share of the devices than a whole number of them.
void colocation() {
  struct question {
    const char* model;
    const char* cluster;
    isize batch;
  };
  for (const question& asked :
       {question{"clip-1.1b", "v100:1x4", 64}, question{"l14", "a100:1x4", 512},
        question{"three-towers", "a100:1x4", 512}, question{"clip-1.1b", "v100:1x8", 64}})
    for (const bool together : {false, true})
      add("colocation/" + std::string(asked.model) + "/" + asked.cluster +
              (together ? "/free to share ranks" : "/each tower on ranks of its own"),
          [=](benchmark::State& state) {
            search_options options;
            options.together = together;
            tell(state, best(search_plans(find_model(asked.model)->make(), cluster_named(asked.cluster),
                                          asked.batch, options)));
          });
}

// Pictures, texts and sounds in one loss.
void three_towers() {
  using searched = search_result (*)(const model_shape&, const cluster_facts&, isize, const search_options&);
  for (const std::string cluster : {"v100", "a100"})
    for (const auto& [name, search] : {std::pair<const char*, searched>{"searched", search_plans},
                                       {"DistMM's rules", search_distmm},
                                       {"one layout for all (Megatron)", search_megatron}})
      add("three_towers/" + cluster + "/" + name, [cluster, search = search](benchmark::State& state) {
        tell(state, best(search(find_model("three-towers")->make(), *find_cluster(cluster), 4096, {})));
      });
}

}  // namespace

int main(int count, char** words) {
  return bench::run(count, words,
                    options("bench_beyond", "plans of this library beside those of the paper on DistMM"), [] {
                      for (const auto part :
                           {contrastive_batch, hidden_sync, exchange, frozen_tower, colocation, three_towers})
                        part();
                    });
}
