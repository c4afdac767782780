// SPDX-License-Identifier: Apache-2.0
#include <motet/plan/search/search_refusals.hpp>

#include <doctest/doctest.h>

using namespace motet;

namespace {

model_shape two_towers() {
  return {"two",
          {{.name = "picture", .layers = 4, .width = 64, .heads = 4, .tokens = 16},
           {.name = "caption", .layers = 2, .width = 64, .heads = 4}}};
}
cluster_facts nodes_of(std::int32_t nodes, std::int32_t devices) {
  cluster_facts out;
  out.nodes = nodes;
  out.devices_per_node = devices;
  out.device.memory_bytes = 1e6;
  return out;
}
// The message of what is refused; empty: nothing is.
std::string asked(const search_options& options, isize samples = 48, cluster_facts on = nodes_of(2, 4),
                  model_shape model = two_towers()) {
  try {
    require_question(model, on, samples, options);
  } catch (const error& problem) {
    return problem.what();
  }
  return {};
}
std::string pinned(tower_pin pin) {
  pin.name = "picture";
  search_options options;
  options.pins.push(pin);
  return asked(options);
}
bool says(const std::string& text, const char* what) { return text.find(what) != std::string::npos; }

}  // namespace

TEST_CASE("nothing to plan") {
  CHECK(says(asked({}, 48, nodes_of(0, 8)), "MT-P88"));
  CHECK(says(asked({}, 48, nodes_of(2, 4), {}), "MT-P88"));
  CHECK(asked({}).empty());
}

TEST_CASE("a batch that does not divide comes with the nearest two") {
  search_options options;
  options.contrastive_batch = 20;
  CHECK(says(asked(options), "48 samples of a step, 20 of each loss; the nearest are 40 or 60"));
  options.contrastive_batch = 64;
  CHECK(says(asked(options), "the nearest are 64 or 128"));
  options = {};
  options.pins.push({.name = "caption", .data = 5});
  CHECK(says(asked(options),
             "caption: 48 samples over 5 microbatches of all replicas; the nearest are 45 or 50"));
  CHECK(says(asked(options), "MT-P86"));
  CHECK(says(asked({}, 0), "MT-P86"));
}

TEST_CASE("of pins that contradict, both are named") {
  CHECK(says(pinned({.tensor = 3}), "picture: tensor=3 and 4 heads"));
  CHECK(says(pinned({.tensor = 4, .ranks = 6}), "picture: tensor=4 and ranks=6"));
  CHECK(says(pinned({.stages = 2, .data = 2, .context = 1, .tensor = 1, .ranks = 8}), "ranks=8"));
  CHECK(says(pinned({.stages = 5}), "stages=5 and 4 layers"));
  CHECK(says(pinned({.context = 4, .tensor = 2}), "context=4 and tensor=2"));
  CHECK(says(pinned({.ranks = 9}), "ranks=9 and 8 devices"));
  CHECK(says(pinned({.stages = 4, .data = 4}), "stages=4 x data=4 and 8 devices"));
  CHECK(says(pinned({.stash = 0, .recompute = 1}), "recompute=1 and stash=0"));
  CHECK(says(pinned({.microbatches = 2, .stash = 3}), "stash=3 and microbatches=2"));
  CHECK(says(pinned({.data = 1, .context = 1, .zero = 1}), "zero=1 and data=1"));
  CHECK(pinned({.stages = 2, .data = 2, .tensor = 2, .microbatches = 3, .stash = 1, .zero = 1}).empty());
  search_options options;
  options.pins = {
      {.name = "picture", .tensor = 2}, {.name = "picture", .data = 2}, {.name = "picture", .tensor = 4}};
  CHECK(says(asked(options), "picture: tensor=2 and tensor=4"));
  options.pins = {{.name = "sound", .tensor = 2}};
  CHECK(says(asked(options), "a pin of sound and a model of picture, caption"));
  options.pins = {{.name = "picture", .microbatches = 3}};
  options.contrastive_batch = 24;
  CHECK(says(asked(options), "microbatches=3 and 2 losses in a step"));
  options = {};
  options.apart = options.together = false;
  CHECK(says(asked(options), "MT-P87"));
  model_shape frozen = two_towers();
  frozen.towers[0].frozen = true;
  options = {};
  options.pins = {{.name = "picture", .zero = 1}};
  CHECK(says(asked(options, 48, nodes_of(2, 4), frozen), "zero=1 and frozen"));
}

TEST_CASE("pins of several towers on ranks of their own") {
  search_options options;
  options.pins = {{.name = "picture", .ranks = 6}, {.name = "caption", .data = 4}};
  CHECK(asked(options).empty());
  options.together = false;
  CHECK(says(asked(options), "picture on 6 and caption on 4 ranks of their own, got 8 devices, wanted 10"));
  CHECK(says(asked(options), "MT-P89"));
}

TEST_CASE("what fits nowhere says which tower, how many bytes, and what would do") {
  const auto refused = [](const list<tower_need>& needs, std::int32_t nodes, bool together = true) {
    search_options options;
    options.together = together;
    try {
      refuse_model(two_towers(), nodes_of(2, 4), needs, nodes, options);
    } catch (const error& problem) {
      return std::string(problem.what());
    }
  };
  const std::string one = refused({{12, 1.5e6}, {1, 2e5}}, 3);
  CHECK(says(one, "picture is 500000 bytes short of 1000000 bytes on each of 8 devices"));
  CHECK(says(one, "has 3 nodes of 4 devices"));
  CHECK(says(one, "MT-P85"));
  CHECK(says(refused({{0, 1.5e6}, {1, 2e5}}, 0), "no number of such devices would do"));
  const std::string both = refused({{6, 9e5}, {4, 4e5}}, 3);
  CHECK(says(both, "picture wants 6 and caption wants 4 of their own, got 8 devices"));
  CHECK(says(both, "300000 bytes short"));
  CHECK(says(refused({{6, 9e5}, {4, 4e5}}, 3, false), "MT-P89"));
  CHECK(says(refused({{6, 1e300}, {4, 4e5}}, 3), "no plan of picture has what is pinned"));
}
