// SPDX-License-Identifier: Apache-2.0
#include <motet/nn/compose/stage.hpp>

#include <motet/nn/compose/frozen.hpp>
#include <motet/nn/towers/in_halves.hpp>
#include <motet/nn/towers/text.hpp>
#include <motet/nn/towers/vit.hpp>

#include "layer_laws.hpp"

#include <deque>

using namespace motet;

namespace {

constexpr vit_config eye{.image = 4,
                         .patch = 2,
                         .width = 8,
                         .layers = 4,
                         .heads = 2,
                         .hidden = 9,
                         .embedding = 5,
                         .pre_norm = true};
constexpr text_config ear{
    .vocabulary = 7, .context = 6, .width = 8, .layers = 4, .heads = 2, .hidden = 9, .embedding = 5};

// Bytes of a stage: what forward keeps, what an operation takes for itself, and what lies between the parts
// of backward with what the parts take.
struct bytes {
  motet::isize kept = 0, forward = 0, infer = 0, backward = 0, split = 0, scratch = 0;
};
template <class N, class Net>
bytes measure(stage_range range, const typename Net::input& batch, int threads) {
  using stage = typename Net::stage;
  using stream = typename N::stream;
  const sequences seq = Net::rows(batch);
  arena outside;  // addresses that nobody reads
  const auto rows = [&] { return outside.take_rows<stream, stage::width>(seq.rows()); };
  const auto unit_rows = [&] { return outside.take_rows<stream, stage::embedding>(seq.samples); };
  const typename stage::template ends<N> e{rows(), rows(), unit_rows(), rows(), unit_rows(), rows()};
  const weights<N> w{outside.take<typename N::master>(Net::parameter_size)};
  const gradients<N> g{outside.take<typename N::master>(Net::parameter_size)};
  typename stage::template saved<N> s;
  cpu::context dry;
  dry.threads = threads;
  const auto peak = [&](auto&& run) {
    dry.memory = arena{};
    run();
    return dry.memory.peak();
  };
  bytes out;
  out.kept = peak([&] { stage::template reserve<N>(dry, range, batch, s); });
  out.forward = peak([&] { stage::forward(dry, range, w, batch, e, s); });
  out.infer = peak([&] { stage::infer(dry, range, w, batch, e); });
  out.backward = peak([&] { stage::backward(dry, range, w, batch, e, s, g); });
  out.split = peak([&] {
    stage::backward_input(dry, range, w, batch, e, s);
    stage::backward_weight(dry, range, w, batch, e, s, g);
  });
  out.scratch = dry.scratch.peak();
  return out;
}
template <class N, class Net>
bytes measure(stage_range range, const std::deque<typename Net::input>& batches, int threads) {
  bytes out;
  for (const auto& batch : batches) {
    const bytes one = measure<N, Net>(range, batch, threads);
    for (const auto field :
         {&bytes::kept, &bytes::forward, &bytes::infer, &bytes::backward, &bytes::split, &bytes::scratch})
      out.*field = std::max(out.*field, one.*field);
  }
  return out;
}

template <class N>
struct outcome {
  std::vector<typename N::stream> features, inferred;  // of all microbatches
  std::vector<typename N::master> g;
};
template <class Net, class Inputs>
motet::isize samples_of(const Inputs& batches) {
  motet::isize sum = 0;
  for (const auto& batch : batches) sum += Net::rows(batch).samples;
  return sum;
}
template <class N, class Net>
struct numbers_of {
  std::vector<typename N::master> w = laws::narrowed<typename N::master>(
      laws::random_weights(layer::parameters_of<Net>(), Net::parameter_size));
  std::vector<typename N::stream> d_features;
  explicit numbers_of(motet::isize samples)
      : d_features(laws::narrowed<typename N::stream>(laws::random_reals(samples * Net::embedding, "dy"))) {}
};

// The whole tower, microbatch by microbatch.
template <class N, class Net>
outcome<N> run_whole(const std::deque<typename Net::input>& batches) {
  using stream = typename N::stream;
  numbers_of<N, Net> given(samples_of<Net>(batches));
  outcome<N> out{
      std::vector<stream>(given.d_features.size()), {}, std::vector<typename N::master>(given.w.size())};
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    motet::isize first = 0;
    for (const auto& batch : batches) {
      const motet::isize samples = Net::rows(batch).samples, mark = ctx.memory.mark();
      typename Net::template saved<N> s;
      Net::template reserve<N>(ctx, batch, s);
      Net::forward(ctx, weights<N>{given.w.data()}, batch,
                   {out.features.data() + first * Net::embedding, samples}, s);
      Net::backward(ctx, weights<N>{given.w.data()}, batch,
                    {given.d_features.data() + first * Net::embedding, samples}, s,
                    gradients<N>{out.g.data()});
      release(ctx, mark);
      first += samples;
    }
  });
  return out;
}

// The same cut at `cut` (0, ..., layers), as a pipeline runs it: each stage has parameters of its own and two
// slots for microbatches in flight, each of exactly the bytes that were measured. Backward of a microbatch,
// or its weight part, comes after the forward of the next.
template <class N, class Net>
outcome<N> run_cut(const std::deque<typename Net::input>& batches, const std::vector<motet::isize>& cut,
                   int threads, bool split) {
  using stage = typename Net::stage;
  using stream = typename N::stream;
  using master = typename N::master;
  struct rank {
    stage_range range;
    bytes need;
    std::vector<master> w, g;
    motet::isize slot_used = 0, temporary_used = 0;
    motet::isize temporary() const { return std::max({need.forward, need.infer, need.backward}); }
  };
  numbers_of<N, Net> given(samples_of<Net>(batches));
  outcome<N> out{
      std::vector<stream>(given.d_features.size()), std::vector<stream>(given.d_features.size()), {}};
  std::vector<rank> ranks;
  motet::isize next = 0, most = 0, total = 0, scratch = 0;
  for (const auto& batch : batches) most = std::max(most, Net::rows(batch).rows());
  const motet::isize row_bytes =
      round_up(most * stage::width * static_cast<motet::isize>(sizeof(stream)), arena::alignment);
  for (std::size_t i = 0; i + 1 < cut.size(); ++i) {
    const stage_range range{cut[i], cut[i + 1]};
    REQUIRE(stage::check(range).ok());
    const motet::isize begin = stage::parameter_begin(range), end = stage::parameter_end(range);
    REQUIRE_EQ(begin, next);
    next = end;
    ranks.push_back({range,
                     measure<N, Net>(range, batches, threads),
                     {given.w.begin() + begin, given.w.begin() + end},
                     {},
                     0,
                     0});
    ranks.back().g.resize(static_cast<std::size_t>(end - begin));
    const bytes& need = ranks.back().need;
    total += ranks.back().temporary() + 2 * (need.kept + need.split + 2 * row_bytes);
    scratch = std::max(scratch, need.scratch);
  }
  REQUIRE_EQ(next, Net::parameter_size);

  const auto body = [&](cpu::context& ctx) {
    const auto piece = [&](motet::isize size) { return arena(ctx.memory.take<std::byte>(size), size); };
    struct in_flight {
      typename stage::template saved<N> s;
      typename stage::template ends<N> e;
      arena memory;
      stream *x = nullptr, *dx = nullptr;
    };
    std::vector<std::array<in_flight, 2>> slots(ranks.size());
    std::vector<arena> temporary;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (in_flight& f : slots[i]) {
        f.memory = piece(ranks[i].need.kept + (split ? ranks[i].need.split : 0));
        f.x = ctx.memory.take<stream>(most * stage::width);
        f.dx = ctx.memory.take<stream>(most * stage::width);
      }
      temporary.push_back(piece(ranks[i].temporary()));
    }
    std::vector<motet::isize> starts{0};
    for (const auto& batch : batches) starts.push_back(starts.back() + Net::rows(batch).samples);

    const auto start = [&](std::size_t m) {
      const auto& batch = batches[m];
      const sequences seq = Net::rows(batch);
      const motet::isize at = starts[m] * Net::embedding;
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        in_flight& f = slots[i][m % 2];
        f.e = {};
        if (i > 0) f.e.x = {f.x, seq.rows()}, f.e.dx = {f.dx, seq.rows()};
        if (i + 1 < ranks.size())
          f.e.y = {slots[i + 1][m % 2].x, seq.rows()}, f.e.dy = {slots[i + 1][m % 2].dx, seq.rows()};
        else
          f.e.features = {out.features.data() + at, seq.samples},
          f.e.d_features = {given.d_features.data() + at, seq.samples};
      }
      // A first forward keeps nothing; its features are to be those of the second.
      for (std::size_t i = 0; split && i < ranks.size(); ++i) {
        auto e = slots[i][m % 2].e;
        if (i + 1 == ranks.size()) e.features = {out.inferred.data() + at, seq.samples};
        ctx.memory = temporary[i];
        stage::infer(ctx, ranks[i].range, weights<N>{ranks[i].w.data()}, batch, e);
        temporary[i] = ctx.memory;
      }
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        in_flight& f = slots[i][m % 2];
        ctx.memory = f.memory;
        release(ctx, 0);
        stage::template reserve<N>(ctx, ranks[i].range, batch, f.s);
        f.memory = ctx.memory;
        ctx.memory = temporary[i];
        stage::forward(ctx, ranks[i].range, weights<N>{ranks[i].w.data()}, batch, f.e, f.s);
        temporary[i] = ctx.memory;
      }
      for (std::size_t i = ranks.size(); split && i-- > 0;) {
        in_flight& f = slots[i][m % 2];
        ctx.memory = f.memory;
        stage::backward_input(ctx, ranks[i].range, weights<N>{ranks[i].w.data()}, batch, f.e, f.s);
        f.memory = ctx.memory;
      }
    };
    const auto finish = [&](std::size_t m) {
      synchronize(ctx);
      for (std::size_t i = ranks.size(); i-- > 0;) {
        in_flight& f = slots[i][m % 2];
        const weights<N> w{ranks[i].w.data()};
        const gradients<N> g{ranks[i].g.data()};
        ctx.memory = split ? f.memory : temporary[i];
        typename stage::template saved<N> moved = f.s;
        if (split) stage::backward_weight(ctx, ranks[i].range, w, batches[m], f.e, moved, g);
        else stage::backward(ctx, ranks[i].range, w, batches[m], f.e, moved, g);
        (split ? f.memory : temporary[i]) = ctx.memory;
      }
    };
    for (std::size_t m = 0; m < batches.size(); ++m) {
      if (m >= 2) finish(m - 2);
      start(m);
    }
    for (std::size_t m = batches.size() < 2 ? 0 : batches.size() - 2; m < batches.size(); ++m) finish(m);
    for (std::size_t i = 0; ctx.thread == 0 && i < ranks.size(); ++i) {
      ranks[i].slot_used = std::max(slots[i][0].memory.peak(), slots[i][1].memory.peak());
      ranks[i].temporary_used = temporary[i].peak();
    }
  };
  laws::cpu_run(threads, total, scratch, body);
  for (const rank& r : ranks) {
    CHECK_EQ(r.slot_used, r.need.kept + (split ? r.need.split : 0));
    CHECK_EQ(r.temporary_used, std::max(r.need.forward, split ? r.need.infer : r.need.backward));
    out.g.insert(out.g.end(), r.g.begin(), r.g.end());
  }
  return out;
}

// Numbers are the same to the last bit.
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return laws::apart(laws::widened(a), laws::widened(b)) == 0;
}

// Every way to cut the tower into one stage and more.
template <class Net>
std::vector<std::vector<motet::isize>> every_cut() {
  std::vector<std::vector<motet::isize>> out;
  for (motet::isize bits = 0; bits < motet::isize{1} << (Net::layers - 1); ++bits) {
    std::vector<motet::isize> cut{0};
    for (motet::isize i = 1; i < Net::layers; ++i)
      if (bits >> (i - 1) & 1) cut.push_back(i);
    cut.push_back(Net::layers);
    out.push_back(cut);
  }
  return out;
}

template <class N, class Net>
void check_cuts(const std::deque<typename Net::input>& batches) {
  const outcome<N> whole = run_whole<N, Net>(batches);
  for (const auto& value : whole.features) REQUIRE(std::isfinite(static_cast<double>(value)));
  for (const auto& cut : every_cut<Net>()) {
    std::string text;
    for (const motet::isize at : cut) text += " " + std::to_string(at);
    INFO("cut at" << text);
    for (int threads = 1; threads <= 2; ++threads)
      for (const bool split : {false, true}) {
        INFO("threads " << threads << (split ? ", parts of backward apart" : ""));
        const outcome<N> found = run_cut<N, Net>(batches, cut, threads, split);
        CHECK(same(found.features, whole.features));
        CHECK(same(found.g, whole.g));
        if (split) CHECK(same(found.inferred, whole.features));
      }
  }
}

template <vit_config Config, class Net, class... N>
void check_pictures_of() {
  std::deque<laws::picture_batch> batches;
  std::deque<pictures> inputs;
  for (const motet::isize samples : {2, 0, 3, 1})
    inputs.push_back(batches.emplace_back(samples, Config.channels, Config.image).input);
  check_cuts<fp64, Net>(inputs);
  (check_cuts<N, Net>(inputs), ...);
}
template <vit_config Config, class... N>
void check_pictures() {
  check_pictures_of<Config, vit<Config>, N...>();
}
template <vit_config Config, class... N>
void check_halves() {
  check_pictures_of<Config, in_halves<vit<Config>>, N...>();
}
template <text_config Config, class... N>
void check_texts() {
  std::deque<laws::token_batch> batches;
  std::deque<tokens> inputs;
  std::vector<std::vector<motet::isize>> starts{{0, 3, 5, 6, 11}, {0}, {0, 2, 2, 7}, {0, 6, 7}};
  if (Config.pool == pool_kind::mean) starts[2] = {0, 2, 7};  // no direction is right for no words
  for (const auto& offsets : starts) inputs.push_back(batches.emplace_back(offsets, Config.vocabulary).input);
  check_cuts<fp64, text_tower<Config>>(inputs);
  (check_cuts<N, text_tower<Config>>(inputs), ...);
}

constexpr vit_config eye_with(pool_kind pool, bool gated, bool recompute) {
  vit_config c = eye;
  c.pool = pool;
  c.gated = gated;
  c.recompute = recompute;
  c.layers = 3;
  c.pre_norm = !gated;
  return c;
}
constexpr vit_config shallow_eye(pool_kind pool, bool gated, bool recompute) {
  vit_config c = eye_with(pool, gated, recompute);
  c.layers = 2;
  return c;
}
constexpr text_config ear_with(pool_kind pool, mask_kind mask, float rotary, bool recompute) {
  text_config c = ear;
  c.pool = pool;
  c.mask = mask;
  c.rotary = rotary;
  c.recompute = recompute;
  c.gated = rotary > 0;
  c.norm = rotary > 0 ? norm_kind::rms : norm_kind::layer;
  c.layers = 3;
  return c;
}

}  // namespace

TEST_CASE("a stage has a block, inside the tower") {
  using stage = vit<eye>::stage;
  static_assert(require<stage::check(stage_range{0, 4})> && stage::check({0, 1}).ok() &&
                stage::check({3, 4}).ok());
  static_assert(stage::check({2, 2}).why == reason::stage_outside && stage::check({2, 2}).where == 1 &&
                stage::check({2, 2}).wanted == 3);
  static_assert(stage::check({3, 1}).why == reason::stage_outside && stage::check({3, 1}).got == 1);
  static_assert(stage::check({0, 5}).why == reason::stage_outside && stage::check({0, 5}).wanted == 4);
  static_assert(stage::check({-1, 2}).why == reason::stage_outside && stage::check({-1, 2}).where == 0);
  static_assert(stage::check({4, 5}).why == reason::stage_outside && stage::check({4, 5}).where == 0);
  // A net that does not learn is cut like one that does, by the same code.
  static_assert(std::is_same_v<frozen<vit<eye>>::stage, stage>);
  static_assert(std::is_trivially_copyable_v<stage::saved<fp32>>);
}

TEST_CASE("parameters of a stage are those of its blocks, with the embedding in front and the tail behind") {
  using net = vit<eye>;
  static_assert(net::picks_block);  // the last block is folded into the head
  const auto names = [](stage_range r) {
    std::vector<std::string> out;
    for (const parameter& p : layer::parameters_of<net>())
      if (p.offset >= net::stage::parameter_begin(r) && p.offset < net::stage::parameter_end(r))
        out.push_back(p.name);
    return out;
  };
  CHECK_EQ(names({0, 1}).front(), "embed.patch.weight");
  CHECK_EQ(names({0, 1}).back(), "blocks.0.mlp.down.bias");
  CHECK_EQ(names({1, 3}).front(), "blocks.1.attention.norm.weight");
  CHECK_EQ(names({1, 3}).back(), "blocks.2.mlp.down.bias");
  CHECK_EQ(names({3, 4}).front(), "blocks.3.attention.norm.weight");
  CHECK_EQ(names({3, 4}).back(), "projection.weight");
  CHECK_EQ(names({0, 4}).size(), layer::parameters_of<net>().size());
}

TEST_CASE("stages keep what the whole tower keeps, less the rows at the cuts, which their senders own") {
  const auto check = [](auto net_type, const auto& batch) {
    using net = typename decltype(net_type)::type;
    const auto kept = [&](stage_range r) { return measure<fp32, net>(r, batch, 1).kept; };
    const motet::isize rows = round_up(net::rows(batch).rows() * net::width * 4, arena::alignment);
    for (const auto& cut : every_cut<net>()) {
      motet::isize sum = -rows;
      for (std::size_t i = 0; i + 1 < cut.size(); ++i) sum += rows + kept({cut[i], cut[i + 1]});
      CHECK_EQ(sum, kept({0, net::layers}));
    }
  };
  const laws::picture_batch seen(5, 3, 4);
  const laws::token_batch heard({0, 3, 3, 11}, 7);
  check(std::type_identity<vit<eye>>{}, seen.input);
  CHECK_EQ(measure<fp32, vit<eye>>({1, 2}, seen.input, 1).kept,
           measure<fp32, vit<eye>>({2, 3}, seen.input, 1).kept);
  check(std::type_identity<text_tower<ear_with(pool_kind::attention, mask_kind::full, 50, true)>>{},
        heard.input);
  check(std::type_identity<in_halves<vit<eye_with(pool_kind::mean, true, false)>>>{}, seen.input);
}

TEST_CASE("pictures read at one row, the last block folded into the head") {
  check_pictures<eye, fp32, mixed_bf16>();
  check_pictures<eye_with(pool_kind::last, true, true)>();
}
TEST_CASE("pictures read as a mean") { check_pictures<eye_with(pool_kind::mean, true, false)>(); }
TEST_CASE("pictures read by attention, recomputed") {
  check_pictures<eye_with(pool_kind::attention, false, true), fp32>();
}

TEST_CASE("stages that begin and end within blocks") {
  check_halves<shallow_eye(pool_kind::mean, true, false), mixed_bf16>();
  check_halves<shallow_eye(pool_kind::attention, false, true)>();
  // The last block is folded into the head and stays one.
  static_assert(in_halves<vit<eye>>::layers == 7 && in_halves<vit<eye>>::stage::layers == 7);
  check_halves<eye_with(pool_kind::first, false, false)>();
}

TEST_CASE("texts read at their last token") { check_texts<ear, fp32>(); }
TEST_CASE("rotary texts read at their last token, recomputed") {
  check_texts<ear_with(pool_kind::last, mask_kind::causal, 50, true), fp32, mixed_bf16>();
}
TEST_CASE("texts read at their first token") {
  check_texts<ear_with(pool_kind::first, mask_kind::causal, 0, false)>();
  check_texts<ear_with(pool_kind::first, mask_kind::full, 0, true)>();
}
TEST_CASE("texts read as a mean") { check_texts<ear_with(pool_kind::mean, mask_kind::full, 50, false)>(); }
TEST_CASE("texts read by attention") {
  check_texts<ear_with(pool_kind::attention, mask_kind::causal, 0, false)>();
}

TEST_CASE("a tower of one block is one stage") {
  static constexpr text_config shallow = [] {
    text_config c = ear;
    c.layers = 1;
    return c;
  }();
  check_texts<shallow>();
}
