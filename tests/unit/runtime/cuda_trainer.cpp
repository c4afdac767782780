// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/front/cuda_ranks.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include <unit/runtime/small_model.hpp>
#include <unit/runtime/wet_tower.hpp>
#if !defined(__CUDACC__)
#include <gpu/kernel_table.hpp>
#include <gpu/roofline.hpp>
#endif

#include <doctest/doctest.h>

#include "deviation.hpp"
#include "single_rank.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <unordered_set>

// One rank that has a GPU trains the way that the single rank of the tests does on a processor.

using namespace motet;
using idx = motet::isize;

namespace {

using wet_model = model<join<info_nce, small_picture, motet::module<"wet", wet_tower>>>;
using sigmoid_model = model<join<pairwise_sigmoid, small_picture, small_caption>>;

template <class Model, class Numbers = fp32>
using on_gpu = trainer<Model, Numbers, motet::cuda::device>;

launched_world alone() {
  const char* const words[] = {"program", "--threads", "1"};
  return launch(3, words);
}
// Some batches in turn, one that comes again soon, and captions of equal or of unequal length.
std::vector<small_batch> batches(idx samples, idx count, bool ragged) {
  std::vector<small_batch> out;
  for (idx i = 0; i < count; ++i) {
    out.emplace_back(samples, static_cast<std::uint64_t>(10 + i));
    if (ragged) continue;
    small_batch& last = out.back();
    last.ids.resize(static_cast<std::size_t>(4 * samples), 3);
    for (std::size_t s = 0; s < last.offsets.size(); ++s) last.offsets[s] = static_cast<idx>(4 * s);
  }
  return out;
}

struct course {
  std::vector<double> losses, norms;
};
template <class Trainer>
course follow(Trainer& train, const std::vector<small_batch>& from, int steps, double rate = 2e-3) {
  course out;
  for (int k = 0; k < steps; ++k) {
    const step_result result = train.step(from[static_cast<std::size_t>(k) % from.size()].get(), rate);
    out.losses.push_back(result.loss);
    out.norms.push_back(result.gradient_norm);
  }
  return out;
}
// The worst step counts, whose number a failed check prints.
laws::deviation apart(const std::vector<double>& a, const std::vector<double>& b) {
  return laws::off_by(a, b, true);
}

struct both_courses {
  course cpu, gpu;
};
// The same steps on both. On the GPU they are graphs, and until all of those have been replayed, kernel
// by kernel as well; these two are the same to the last bit.
constexpr int kernel_by_kernel = 9;  // batches of three shapes: each is met, recorded and replayed
template <class Model, class Numbers = fp32>
both_courses compare(const trainer_options& how, const std::vector<small_batch>& from, int steps,
                     double close, int replays, double rate = 2e-3) {
  const launched_world world = alone();
  single_rank<Model, Numbers> wanted(how.batch, 1, how.optimizer, how.seed);
  const course right = follow(wanted, from, steps, rate);
  course found[2];
  for (const bool graphs : {false, true}) {
    on_gpu<Model, Numbers> train(world, how);
    train.device().set_graphs(graphs);
    found[graphs] = follow(train, from, graphs ? steps : std::min(steps, kernel_by_kernel), rate);
    CHECK(train.device().replayed() == (graphs ? replays : 0));
    CHECK(train.device().graphs() == graphs);
  }
  CHECK(apart(found[1].losses, right.losses) < close);
  CHECK(apart(found[1].norms, right.norms) < 50 * close);
  CHECK(apart({found[1].norms[0]}, {right.norms[0]}) < (std::is_same_v<Numbers, fp32> ? 0.1 : 0.25) * close);
  CHECK(right.losses.back() < right.losses.front());
  CHECK(std::ranges::equal(found[0].losses, std::span(found[1].losses).first(found[0].losses.size())));
  CHECK(std::ranges::equal(found[0].norms, std::span(found[1].norms).first(found[0].norms.size())));
  return {right, found[1]};
}
// Forward and backward of both towers are a record each. Pictures are of one shape in all steps, captions of
// so many; what comes for the first time is not recorded yet.
int records(int steps, int captions, int forwards = 1) {
  return (1 + forwards) * (steps - 1) + (1 + forwards) * (steps - captions);
}

}  // namespace

TEST_CASE("twenty steps give the losses of the CPU") {
  compare<small_model>({.batch = 6}, batches(6, 2, false), 20, 1e-4, records(20, 1));
}

// Rows of eight numbers go other ways soon in larger steps: where a loss falls by a half in one step, what
// bf16 rounds decides which half. The products of the picture tower are in fp8; the caption tower is too
// narrow.
TEST_CASE("fifty small steps with captions of equal and unequal length, in fp32, bf16 and fp8") {
  std::vector<small_batch> from = batches(6, 1, false);
  for (small_batch& each : batches(6, 2, true)) from.push_back(std::move(each));
  constexpr double rate = 3e-4;
  const course right = compare<small_model>({.batch = 6}, from, 50, 1e-4, records(50, 3), rate).cpu;
  // Whether a processor rounds what products read, as a GPU does, or reads it as it is, decides little: with
  // the instruction sets of one machine losses are apart by 0.027 to 0.069, with those that round by 0.050.
  constexpr double close = 0.1;
  const course in_bf16 =
      compare<small_model, mixed_bf16>({.batch = 6}, from, 50, close, records(50, 3), rate).gpu;

  const launched_world world = alone();
  on_gpu<small_model, mixed_bf16> train(world, {.batch = 6, .fp8 = true});
  const idx of_loss = info_nce::parameter_size;
  CHECK(train.memory()[0].stages.weights == (small_model::parameter_size - of_loss) * 8 + 2 * 4096 * 16);
  const course in_fp8 = follow(train, from, 50, rate);
  CHECK(train.device().replayed() == records(50, 3));
  CHECK(train.device().describe().find("linear layers in fp8") != std::string::npos);
  CHECK(train.device().describe().find("product by cuBLASLt in fp8") != std::string::npos);
  CHECK(apart(in_bf16.losses, right.losses) < 0.1);
  CHECK(apart(in_fp8.losses, right.losses) < 0.3);
  CHECK(in_fp8.losses.back() < 0.5 * in_fp8.losses.front());
}

// docs/precision.md says what bf16 moves the gradient of such narrow towers by, and why. It is as often too
// long as too short.
TEST_CASE("the gradient's norm in bf16 is off by chance and not to one side") {
  constexpr int seeds = 8;
  double sum = 0, squares = 0;
  std::string all;
  const launched_world world = alone();
  for (int seed = 1; seed <= seeds; ++seed) {
    std::vector<small_batch> from;
    from.emplace_back(6, static_cast<std::uint64_t>(9 + seed));
    single_rank<small_model, fp32> wanted(6, 1, {}, static_cast<std::uint64_t>(seed));
    on_gpu<small_model, mixed_bf16> train(world, {.batch = 6, .seed = static_cast<std::uint64_t>(seed)});
    const double off = follow(train, from, 1).norms[0] / follow(wanted, from, 1).norms[0] - 1;
    sum += off;
    squares += off * off;
    all += std::to_string(100 * off) + " % ";
  }
  INFO("deviations from fp32: ", all);
  CHECK(std::abs(sum / seeds) < 0.01);
  CHECK(std::sqrt(squares / seeds) < 0.025);
}

TEST_CASE("captions of unequal length are recorded when the same lengths come again") {
  compare<small_model>({.batch = 5}, batches(5, 3, true), 12, 1e-4, records(12, 3));
  compare<small_model>({.batch = 5}, batches(5, 9, true), 9, 1e-4, records(9, 9));
}

TEST_CASE("a batch in parts") {
  // Three microbatches, each forward twice, the second time with what backward needs.
  compare<small_model>({.batch = 7, .parts = 3}, batches(7, 2, true), 10, 1e-4, 3 * records(10, 2, 2));
}

TEST_CASE("dropout draws anew in each step, recorded or not") {
  compare<wet_model>({.batch = 6}, batches(6, 1, true), 12, 1e-4, records(12, 1));
}

TEST_CASE("the sigmoid loss") {
  compare<sigmoid_model>({.batch = 5}, batches(5, 1, true), 10, 1e-4, records(10, 1));
}

TEST_CASE("products in bf16") {
  // An operation agrees to 2e-2; here each step's rounding, which attention by a library does elsewhere,
  // moves the next.
  compare<small_model, mixed_bf16>({.batch = 6}, batches(6, 1, true), 8, 5e-2, records(8, 1));
  compare<small_model, mixed_bf16>({.batch = 6, .parts = 2}, batches(6, 1, true), 6, 5e-2,
                                   2 * records(6, 1, 2));
}
TEST_CASE("rows between blocks in bf16, with outputs made again or kept") {
  for (const bool keep : {false, true})
    compare<small_model, bf16_streams>({.batch = 6, .keep_outputs = keep}, batches(6, 1, true), 8, 5e-2,
                                       records(8, 1));
}
TEST_CASE("twenty steps with outputs kept give the losses of the CPU, which makes them again") {
  compare<small_model>({.batch = 6, .keep_outputs = true}, batches(6, 2, false), 20, 1e-4, records(20, 1));
}

#if !defined(__CUDACC__)
static void check_what_is_listed(bool keep_outputs) {
  using picture = motet::module<
      "picture",
      vit<vit_config{
          .image = 8, .patch = 4, .width = 16, .layers = 3, .heads = 2, .embedding = 8, .pre_norm = true}>>;
  using caption = motet::module<
      "caption", text_tower<text_config{
                     .vocabulary = 20, .context = 40, .width = 16, .layers = 2, .heads = 2, .embedding = 8}>>;
  using net = model<join<info_nce, picture, caption>>;
  // dry runs count the libraries' ways
  if (!motet::cuda::detail::has_library_attention || MOTET_CUBLASLT == 0) return;
  constexpr idx samples = 5;
  const small_batch data(samples);
  const std::vector<std::int32_t> ids(samples * 40, 7);
  const launched_world world = alone();
  on_gpu<net, mixed_bf16> train(world, {.batch = samples, .keep_outputs = keep_outputs});
  motet::cuda::device& gpu = train.device();
  gpu.set_graphs(false);
  const net::batch batch{pictures{data.pixels.data(), samples}, tokens{ids.data(), {samples, 40, nullptr}}};
  train.step(batch, 1e-3);  // clears gradients, which later ones do not
  gpu.finish();
  std::map<std::string, long> ran, listed;
  std::map<std::string, double> moved, noted;  // bytes
  // by the kernel under way: pairs of bytes that it loads, and stores
  std::unordered_set<std::uintptr_t> touched[2];
  emulation::watch_accesses([&](const void* at, int bytes, bool stores) {
    for (int i = 0; i < bytes; i += 2)
      touched[stores].insert(reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(i));
  });
  emulation::watch_work([&](const std::string& name, double, double) {
    const bench::operation_kind* const kind = bench::kind_of_kernel(bench::readable_name(name));
    ++ran[kind != nullptr ? kind->name : name];
    moved[kind != nullptr ? kind->name : name] +=
        2 * static_cast<double>(touched[0].size() + touched[1].size());
    for (auto& each : touched) each.clear();
  });
  train.step(batch, 1e-3);
  gpu.finish();
  emulation::watch_work({});
  emulation::watch_accesses({});
  const step_costs costs = train.foretold_costs();
  CHECK(costs.unlisted() == 0);
  for (const operation_cost& each : costs.operations()) {
    const std::string name = each.name;
    const bool library = name == "linear_forward" || name == "linear_backward_input" ||
                         name == "linear_backward_weight" || name == "attention_forward" ||
                         name == "attention_backward";
    listed[library                             ? "call"
           : name == "bring" || name == "move" ? "cudaMemcpyAsync"
           : name == "clear"                   ? "cudaMemsetAsync"
                                               : name] += each.calls;
    noted[name] += static_cast<double>(each.calls) * each.bytes;
  }
  // These read and write in runs, each byte once for each kernel.
  for (const char* const name :
       {"activation_backward", "activation_forward", "adamw", "cast", "class_token_backward_weight", "copy",
        "info_nce_loss", "normalize_backward", "normalize_forward", "patches", "pick_backward",
        "pick_forward", "position_backward_weight", "sum_of_squares", "zero"})
    CHECK_MESSAGE(moved[name] == noted[name], name);
  // Statistics are single numbers; gains and biases, a row or two of each kernel, are not noted.
  for (const char* const name : {"norm_forward", "norm_backward_input"})
    CHECK_MESSAGE(std::abs(moved[name] - noted[name]) < 0.06 * noted[name], name);
  listed["cudaMemcpyAsync"] += 1;  // the number of the step
  CHECK(listed["call"] > 50);
  for (const auto& [name, count] : listed) CHECK_MESSAGE(ran[name] == count, name);
  for (const auto& [name, count] : ran) CHECK_MESSAGE(listed[name] == count, name);
}
TEST_CASE("a step launches what its dry run lists, operation by operation, and moves as many bytes") {
  for (const bool keep : {false, true}) check_what_is_listed(keep);
}
#endif

TEST_CASE("features are of the weights of now, whoever wrote them, in bf16, and records stay") {
  const std::vector<small_batch> data = batches(6, 1, true);
  const launched_world world = alone();
  on_gpu<small_model, mixed_bf16> train(world, {.batch = 6}), fresh(world, {.batch = 6, .seed = 8});
  follow(train, data, 4, 2e-2);
  const long before = train.device().replayed();
  const std::size_t recorded = train.device().recorded();
  flat_state<float> halved = train.state();
  for (float& each : halved.weights) each *= 0.5f;
  train.set_state(halved);
  fresh.set_state(halved);
  std::vector<float> here(6 * 8), there(6 * 8);
  // Features come from the weights where they lie.
  std::size_t before_it = 0, after = 0, all = 0;
  motet::cuda::check(cudaMemGetInfo(&before_it, &all), "cudaMemGetInfo");
  train.embed<"picture">(std::get<0>(data[0].get()), there.data());
  motet::cuda::check(cudaMemGetInfo(&after, &all), "cudaMemGetInfo");
#if !defined(__CUDACC__)
  CHECK(before_it - after < small_model::parameter_size * sizeof(float) / 2);
#endif
  fresh.embed<"picture">(std::get<0>(data[0].get()), here.data());
  CHECK(laws::off_by(there, here) == 0);
  CHECK(train.device().recorded() == recorded);
  CHECK(laws::off_by(follow(train, data, 2).losses, follow(fresh, data, 2).losses) == 0);
  CHECK(train.device().replayed() == before + 8);
}

TEST_CASE("what is not finite is named, and the weights stay") {
  const launched_world world = alone();
  on_gpu<small_model> train(world, {.batch = 4});
  const auto at = [&](std::string_view name) {
    for (const parameter& each : small_model::parameters())
      if (each.name == name) return static_cast<std::size_t>(each.offset);
    return std::size_t(0);
  };
  small_batch data(4);
  for (int i = 0; i < 3; ++i) train.step(data.get(), 1e-3);
  flat_state<float> hot = train.state();
  hot.weights[at("join.log_scale")] = 10;
  train.set_state(hot);
  data.pixels[3 * 64 + 5] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH_AS(train.step(data.get(), 1e-3), doctest::Contains("the input of \"picture\", sample 1"),
                       error);
  CHECK(train.weights() == hot.weights);  // the temperature too
  CHECK(train.state().first == hot.first);
  CHECK(train.updates() == 3);
  data.pixels[3 * 64 + 5] = 0;
  CHECK(std::isfinite(train.step(data.get(), 1e-3).loss));
  CHECK(train.weights()[at("join.log_scale")] == doctest::Approx(4.6051702));

  flat_state<float> spoilt = train.state();
  spoilt.weights[at("caption.blocks.0.mlp.up.weight") + 3] = std::numeric_limits<float>::infinity();
  train.set_state(spoilt);
  CHECK_THROWS_WITH_AS(train.step(data.get(), 1e-3),
                       doctest::Contains("weight caption.blocks.0.mlp.up.weight, element 3 is inf"), error);
}

TEST_CASE("what a rank holds is foretold") {
  const launched_world world = alone();
  const on_gpu<small_model> train(world, {.batch = 6}), parts(world, {.batch = 6, .parts = 3});
  const on_gpu<small_model, mixed_bf16> short_products(world, {.batch = 6});
  const idx in_towers = small_model::parameter_size - info_nce::parameter_size;
  CHECK(train.memory()[0].stages.weights == in_towers * 4);
  CHECK(short_products.memory()[0].stages.weights == in_towers * 6);
  const auto room = [](idx bytes) { return round_up(bytes, arena::alignment); };
  CHECK(train.memory()[0].inputs ==
        room(round_up(6 * static_cast<idx>(sizeof(packed_picture)), 64) + 6 * 3 * 8 * 8 * 4) +
            room(6 * 6 * 4));
  CHECK(train.memory()[0].work > 0);
  CHECK(parts.memory()[0].stages.slots < train.memory()[0].stages.slots);
}

#if !defined(__CUDACC__)
TEST_CASE("a batch that was told comes during the step before: the same steps, with room for two") {
  const std::vector<small_batch> from = batches(6, 2, false);
  const launched_world world = alone();
  on_gpu<small_model> plain(world, {.batch = 6}), train(world, {.batch = 6, .ahead = true});
  CHECK(train.memory()[0].inputs == 2 * plain.memory()[0].inputs);
  CHECK(train.memory()[0].total() == plain.memory()[0].total() + plain.memory()[0].inputs);
  for (std::size_t k = 0; k < 12; ++k) {
    // Now and then nothing is told, or what does not come.
    if (k % 5 != 3) train.expect(from[(k + (k % 7 == 6 ? 0 : 1)) % 2].get());
    const step_result right = plain.step(from[k % 2].get(), 2e-3),
                      found = train.step(from[k % 2].get(), 2e-3);
    CHECK(found.loss == right.loss);
    CHECK(found.gradient_norm == right.gradient_norm);
  }
  CHECK(train.device().replayed() == plain.device().replayed());
}

TEST_CASE("without a GPU what a run needs is told, and a run is refused") {
  emulation::set_gpus(0);
  const launched_world world = alone();
  on_gpu<small_model> train(world, {.batch = 6});
  CHECK(train.memory()[0].total() > 0);
  CHECK(train.device().describe().find("no GPU") != std::string::npos);
  CHECK_THROWS_WITH_AS(train.prepare(), doctest::Contains("MT-B11"), error);
  emulation::set_gpus(1);
  train.prepare();
  CHECK(std::isfinite(train.step(small_batch(6).get(), 1e-3).loss));
}

TEST_CASE("too little memory: the error says how much was foretold") {
  const launched_world world = alone();
  on_gpu<small_model> train(world, {.batch = 6});
  train.device().finish();
  std::size_t left = 0, all = 0;
  motet::cuda::check(cudaMemGetInfo(&left, &all), "cudaMemGetInfo");
  const idx foretold = train.memory()[0].total();
  // There is memory for half of it.
  emulation::set_memory(all - left + static_cast<std::size_t>(foretold / 2));
  const std::string text = [&] {
    try {
      train.prepare();
    } catch (const error& problem) {
      return std::string(problem.what());
    }
    return std::string();
  }();
  emulation::set_memory(all);
  CAPTURE(text);
  CHECK(text.find("MT-B12") != std::string::npos);
  CHECK(text.find("foretold as " + std::to_string(foretold) + " bytes") != std::string::npos);
  train.prepare();
  CHECK(std::isfinite(train.step(small_batch(6).get(), 1e-3).loss));
}
#endif
