// SPDX-License-Identifier: Apache-2.0
#include "contrastive_step.hpp"

#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include "goldens.hpp"

using namespace motet;

namespace {

using picture_net =
    vit<vit_config{.image = 8, .patch = 4, .width = 16, .layers = 2, .heads = 2, .embedding = 12}>;
using caption_net = text_tower<text_config{
    .vocabulary = 17, .context = 6, .width = 12, .layers = 2, .heads = 2, .embedding = 12}>;
using picture = module<"picture", picture_net>;
using caption = module<"caption", caption_net>;
template <class Loss>
using clip = model<join<Loss, picture, caption>>;

// Pictures and ragged captions, with pointers into the vectors.
struct pair_batch {
  std::vector<float> pixels;
  std::vector<std::int32_t> ids;
  std::vector<motet::isize> offsets;
  std::tuple<pictures, tokens> view() const {
    const motet::isize samples = static_cast<motet::isize>(offsets.size()) - 1;
    return {pictures{pixels.data(), samples}, tokens{ids.data(), {samples, 1, offsets.data()}}};
  }
};

pair_batch random_batch(const std::vector<motet::isize>& lengths, std::string_view name) {
  pair_batch out;
  const random_stream draw(3, name);
  out.offsets.push_back(0);
  for (const motet::isize length : lengths) out.offsets.push_back(out.offsets.back() + length);
  for (std::uint64_t i = 0; i < lengths.size() * 3 * 8 * 8; ++i)
    out.pixels.push_back(static_cast<float>(draw.normal(i)));
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(out.offsets.back()); ++i)
    out.ids.push_back(static_cast<std::int32_t>(draw.below(1000 + i, 17)));
  return out;
}

struct step_outcome {
  double loss = 0;
  laws::reals g;
  motet::isize foretold = 0, used = 0;
};

template <class Model, class N>
step_outcome run_step(const std::vector<typename Model::batch>& parts, int threads, const laws::reals& w) {
  using master = typename N::master;
  const std::vector<master> weight = laws::narrowed<master>(w);
  std::vector<master> gradient(static_cast<std::size_t>(Model::trainable_size));
  step_outcome out;
  const auto body = [&](cpu::context& ctx) {
    const double loss =
        contrastive_step<Model>::run(ctx, weights<N>{weight.data()}, gradients<N>{gradient.data()},
                                     std::span<const typename Model::batch>(parts));
    if (ctx.thread == 0 && !ctx.measuring()) {
      out.loss = loss;
      out.used = ctx.memory.peak();
    }
  };
  cpu::context dry;
  dry.threads = threads;
  body(dry);
  out.foretold = dry.memory.peak();
  laws::cpu_run(threads, dry.memory.peak(), dry.scratch.peak(), body);
  out.g = laws::widened(gradient);
  return out;
}

// All gradients together, and each tensor by itself; in bf16 a tensor may be as far off as PyTorch's own bf16
// gradient is.
void check_gradients(const laws::golden_file& file, const std::string& name,
                     const std::vector<parameter>& list, const laws::reals& got, const laws::reals& want,
                     double tolerance) {
  CHECK_LE(laws::apart(got, want), tolerance);
  for (const parameter& p : list) {
    INFO(name << " " << p.name);
    CHECK_LE(laws::apart(laws::piece(got, p), laws::piece(want, p)),
             laws::allowed_error(file, name, p, tolerance));
  }
}

// 20 steps of AdamW with clipping, as make_training() of make_goldens.py takes them.
template <class Loss, class N>
void check_training(const std::string& name, double tolerance) {
  using model_type = clip<Loss>;
  const laws::golden_file file("training");
  const auto list = model_type::parameters();
  const auto read = [&](const char* part) {
    return file.flat(list, model_type::parameter_size, name + part);
  };
  std::vector<float> weight = laws::narrowed<float>(read("/start/"));
  const laws::reals first_gradient = read("/g/"), end = read("/end/"), losses = file.at(name + "/losses"),
                    norms = file.at(name + "/norms");
  const std::size_t size = weight.size();
  std::vector<float> gradient(size), first(size), second(size);
  for (std::size_t step = 0; step < losses.size(); ++step) {
    const std::string at = name + "/batch/" + std::to_string(step);
    const auto stored = file.values<std::int64_t>(at + "/offsets");
    const pair_batch batch{file.values<float>(at + "/pixels"),
                           file.values<std::int32_t>(at + "/ids"),
                           {stored.begin(), stored.end()}};
    const typename model_type::batch part = batch.view();
    const double t = static_cast<double>(step) + 1;
    double loss = 0, norm = 0;
    const auto body = [&](cpu::context& ctx) {
      const double found = contrastive_step<model_type>::run(
          ctx, weights<N>{weight.data()}, gradients<N>{gradient.data()}, std::span(&part, 1));
      const double length = std::sqrt(sum_of_squares(ctx, gradient.data(), static_cast<motet::isize>(size)));
      synchronize(ctx);
      if (ctx.thread == 0 && !ctx.measuring()) {
        loss = found;
        norm = length;
        if (step == 0) check_gradients(file, name, list, laws::widened(gradient), first_gradient, tolerance);
      }
      synchronize(ctx);
      for (const parameter& p : list) {
        const cpu::update_step settings{5e-4,
                                        0.9,
                                        0.98,
                                        1e-6,
                                        p.decay ? 0.2 : 0.0,
                                        std::min(1.0, 1 / (length + 1e-6)),
                                        1 - std::pow(0.9, t),
                                        1 - std::pow(0.98, t)};
        adamw(ctx, weight.data() + p.offset, gradient.data() + p.offset, first.data() + p.offset,
              second.data() + p.offset, p.size(), settings, true);
      }
    };
    cpu::context dry;
    dry.threads = 2;
    body(dry);
    laws::cpu_run(2, dry.memory.peak(), dry.scratch.peak(), body);
    INFO(name << " step " << step);
    CHECK_LE(laws::apart({loss}, {losses[step]}), tolerance);
    CHECK_LE(laws::apart({norm}, {norms[step]}), tolerance);
  }
  for (const parameter& p : list) {
    laws::reals got = laws::piece(laws::widened(weight), p), want = laws::piece(end, p);
    // Softmax does not see a number added to all keys, so the gradient of their bias is rounding alone, which
    // AdamW blows up to full steps.
    if (p.name.ends_with("qkv.bias"))
      for (std::size_t i = want.size() / 3; i < want.size() / 3 * 2; ++i) got[i] = want[i];
    INFO(name << " " << p.name);
    CHECK_LE(laws::apart(got, want), tolerance);
  }
}

// Checks with this machine's kernels, and with those that round the operands of products to bf16. All others
// are too slow for a whole training, and single layers and towers are compared under every kernel.
template <class Check>
void with_bf16_kernels(Check check) {
  const cpu::kernel_kind usual = cpu::current_kernel();
  check();
  for (const cpu::kernel_kind kind : {cpu::kernel_kind::avx512_bf16, cpu::kernel_kind::amx}) {
    if (kind == usual || !cpu::set_kernel(kind)) continue;
    INFO("kernels " << cpu::kernel_name(kind));
    check();
  }
  cpu::set_kernel(usual);
}

}  // namespace

TEST_CASE("20 AdamW steps with InfoNCE agree with PyTorch") {
  check_training<info_nce, fp32>("info_nce", 1e-5);
  with_bf16_kernels([] { check_training<info_nce, mixed_bf16>("info_nce", 2e-2); });
}
TEST_CASE("20 AdamW steps with the pairwise sigmoid loss agree with PyTorch") {
  check_training<pairwise_sigmoid, fp32>("pairwise_sigmoid", 1e-5);
  with_bf16_kernels([] { check_training<pairwise_sigmoid, mixed_bf16>("pairwise_sigmoid", 2e-2); });
}

TEST_CASE("a step in parts is the step at once, and threads change nothing") {
  using model_type = clip<info_nce>;
  const laws::reals w = laws::random_weights(model_type::parameters(), model_type::parameter_size);
  const pair_batch all = random_batch({3, 6, 1, 2, 6, 4}, "all");
  const step_outcome once = run_step<model_type, fp64>({all.view()}, 1, w);
  CHECK_EQ(once.used, once.foretold);
  CHECK(std::isfinite(once.loss));
  CHECK(laws::size_of(once.g) > 1e-3);

  // The samples are cut into parts of 2, 1 and 3.
  std::vector<pair_batch> cut;
  const std::size_t starts[] = {0, 2, 3, 6};
  for (std::size_t p = 0; p < 3; ++p) {
    const auto first = starts[p], last = starts[p + 1];
    pair_batch part;
    part.pixels.assign(all.pixels.begin() + static_cast<std::ptrdiff_t>(first * 192),
                       all.pixels.begin() + static_cast<std::ptrdiff_t>(last * 192));
    part.ids.assign(all.ids.begin() + all.offsets[first], all.ids.begin() + all.offsets[last]);
    for (std::size_t s = first; s <= last; ++s) part.offsets.push_back(all.offsets[s] - all.offsets[first]);
    cut.push_back(part);
  }
  const std::vector<model_type::batch> parts{cut[0].view(), cut[1].view(), cut[2].view()};
  for (int threads = 1; threads <= 3; ++threads) {
    INFO("threads " << threads);
    for (const auto& batches : {std::vector<model_type::batch>{all.view()}, parts}) {
      const step_outcome other = run_step<model_type, fp64>(batches, threads, w);
      CHECK_LE(std::abs(other.loss - once.loss), 1e-12 * once.loss);
      CHECK_LE(laws::apart(other.g, once.g), 1e-11);
      CHECK_EQ(other.used, other.foretold);
    }
  }
}

TEST_CASE(
    "gradients of the whole step agree with finite differences, in a join of three with a frozen module") {
  using sound = module<
      "sound",
      vit<vit_config{
          .image = 4, .patch = 2, .channels = 3, .width = 6, .layers = 1, .heads = 1, .embedding = 12}>>;
  using model_type = model<join<pairwise_sigmoid, module<"caption", frozen<caption_net>>, picture, sound>>;
  const auto list = model_type::parameters();
  laws::reals w = laws::random_weights(list, model_type::parameter_size);
  const pair_batch batch = random_batch({3, 1, 4}, "three");
  const laws::picture_batch noise(3, 3, 4);
  const auto [pixels, words] = batch.view();
  const std::vector<model_type::batch> parts{{words, pixels, noise.input}};
  const step_outcome base = run_step<model_type, fp64>(parts, 2, w);
  CHECK_EQ(base.g.size(), static_cast<std::size_t>(model_type::trainable_size));
  const random_stream choose(1, "entries");
  std::uint64_t draw = 0;
  for (const parameter& p : list) {
    if (p.offset >= model_type::trainable_size) continue;
    const std::size_t at =
        static_cast<std::size_t>(p.offset) + choose.below(draw++, static_cast<std::uint32_t>(p.size()));
    const double here = w[at], step = 1e-5;
    w[at] = here + step;
    const double high = run_step<model_type, fp64>(parts, 1, w).loss;
    w[at] = here - step;
    const double low = run_step<model_type, fp64>(parts, 1, w).loss;
    w[at] = here;
    INFO(p.name);
    CHECK_LE(std::abs(base.g[at] - (high - low) / (2 * step)), 1e-6 * (1 + std::abs(base.g[at])));
  }
}
