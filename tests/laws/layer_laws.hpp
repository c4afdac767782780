// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/front/check_gradients.hpp>
#include <motet/nn/layers/patch_embedding.hpp>
#include <motet/nn/layers/sound_embedding.hpp>
#include <motet/nn/layers/token_embedding.hpp>

#include "cpu_run.hpp"
#include "deviation.hpp"
#include "each_kernel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

// Every layer must hold to these laws, whatever it computes. A test names a layer and its batches;
// check_layer, check_embedding and check_tower do the rest.
namespace motet::laws {

using namespace trial;

// By pointers, as iterators are calls where nothing is optimised, and there are millions of numbers.
template <class T>
std::vector<T> narrowed(const reals& from) {
  std::vector<T> out(from.size());
  std::transform(from.data(), from.data() + from.size(), out.data(), [](double x) {
    if constexpr (sizeof(T) == 8) return x;
    else return T(static_cast<float>(x));
  });
  return out;
}
template <class T>
reals widened(const std::vector<T>& from) {
  reals out(from.size());
  std::transform(from.data(), from.data() + from.size(), out.data(),
                 [](T x) { return static_cast<double>(x); });
  return out;
}
inline reals in_bf16(const reals& from) { return widened(narrowed<bf16>(from)); }

struct outcome {
  reals y, dx, g;
  isize foretold = 0, used = 0;  // peaks of the arena, in the dry run and in the real one
};

// A subject's run on numbers N, whatever the subject, so that all around it is compiled once for each N.
template <class N, class T = typename N::stream>
using run_of = work_ref<cpu::context&, way, weights<N>, const T*, T*, const T*, T*, gradients<N>>;

// Runs a subject on numbers N, in exactly the memory that a dry run asks for. `g` is what the gradient holds
// before.
template <class N>
outcome evaluate_run(run_of<N> subject, way how, int threads, const reals& w, const reals& x, const reals& dy,
                     const reals& g) {
  using stream = typename N::stream;
  using master = typename N::master;
  std::vector<master> weight = narrowed<master>(w), gradient = narrowed<master>(g);
  std::vector<stream> from = narrowed<stream>(x), d_to = narrowed<stream>(dy);
  std::vector<stream> to(dy.size(), stream(static_cast<float>(not_written))),
      d_from(x.size(), stream(static_cast<float>(not_written)));
  const auto run = [&](cpu::context& ctx) {
    subject(ctx, how, weights<N>{weight.data()}, from.data(), to.data(), d_to.data(), d_from.data(),
            gradients<N>{gradient.data()});
  };
  cpu::context dry;
  dry.threads = threads;
  dry.draws = {5, 3, 0};
  run(dry);
  outcome out;
  out.foretold = dry.memory.peak();
  cpu_run(
      threads, dry.memory.peak(), dry.scratch.peak(),
      [&](cpu::context& ctx) {
        run(ctx);
        if (ctx.thread == 0) out.used = ctx.memory.peak();
      },
      dry.draws);
  out.y = widened(to);
  out.dx = widened(d_from);
  out.g = widened(gradient);
  return out;
}
template <class N, class Subject>
outcome evaluate(const Subject& subject, way how, int threads, const reals& w, const reals& x,
                 const reals& dy, const reals& g) {
  const auto run = [&](cpu::context& ctx, way in, weights<N> weight, auto... numbers) {
    subject.run(ctx, in, weight, numbers...);
  };
  return evaluate_run<N>(run_of<N>(run), how, threads, w, x, dy, g);
}

// |a - b| / (|b| + floor); NaN becomes infinite.
inline deviation apart(const reals& a, const reals& b, double floor = 0) {
  const deviation elements = off_by(a, b);
  if (a.size() != b.size()) return elements;
  double off = 0, length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    off += (a[i] - b[i]) * (a[i] - b[i]);
    length += b[i] * b[i];
  }
  return elements.measured(off == 0 ? 0 : std::sqrt(off) / (std::sqrt(length) + floor));
}
inline double size_of(const reals& a) {
  double sum = 0;
  for (const double x : a) sum += x * x;
  return std::sqrt(sum);
}

inline reals piece(const reals& flat, const parameter& p) {
  return reals(flat.begin() + p.offset, flat.begin() + p.offset + p.size());
}

// Tensors whose gradient cancels to nearly nothing are measured against the rest.
inline void check_close(const std::vector<parameter>& list, const outcome& got, const outcome& want,
                        double tolerance) {
  CHECK_LE(apart(got.y, want.y), tolerance);
  CHECK_LE(apart(got.dx, want.dx, 1e-2 * size_of(want.dx)), tolerance);
  double total = 0;
  for (const parameter& p : list) total += std::pow(size_of(piece(want.g, p)), 2);
  for (const parameter& p : list) {
    INFO(p.name);
    CHECK_LE(apart(piece(got.g, p), piece(want.g, p), 1e-2 * std::sqrt(total)), tolerance);
  }
}

struct law_settings {
  double half = 2e-2;         // what bf16 may be off
  double difference = 2e-6;   // what finite differences may be off
  int samples_of_tensor = 6;  // entries of each tensor whose gradient is compared with differences
  int samples_of_x = 20;
  bool reduced = true;  // also in fp32 and mixed bf16
};

// What the laws ask of a subject, without its type, so that they are compiled once.
struct any_subject {
  std::vector<parameter> list;
  isize size = 0, x_size = 0, y_size = 0;
  const void* self = nullptr;
  using evaluated = outcome (*)(const void* self, way how, int threads, const reals& w, const reals& x,
                                const reals& dy, const reals& g);
  evaluated in_fp64 = nullptr, in_fp32 = nullptr, in_bf16 = nullptr;
};
template <class N, class Subject>
outcome evaluate_any(const void* self, way how, int threads, const reals& w, const reals& x, const reals& dy,
                     const reals& g) {
  return evaluate<N>(*static_cast<const Subject*>(self), how, threads, w, x, dy, g);
}

inline void check_laws(const any_subject& subject, const law_settings& settings) {
  const std::vector<parameter>& list = subject.list;
  const isize size = subject.size;

  // The list and the memory agree: in order, apart, inside.
  isize next = 0;
  for (const parameter& p : list) {
    INFO(p.name);
    CHECK_EQ(p.offset, next);
    next = p.offset + parameter_space(p.size());
  }
  CHECK_EQ(next, size);

  // Numbers that bf16 holds: some kernels round fp32 weights to bf16 and some do not, and both must compute
  // the same function here. What is left to differ is what the computation itself rounds.
  const reals w = in_bf16(random_weights(list, size)), x = in_bf16(random_reals(subject.x_size, "x"));
  const reals dy = in_bf16(random_reals(subject.y_size, "dy")), none(static_cast<std::size_t>(size), 0.0);
  const outcome base = subject.in_fp64(subject.self, way::whole, 1, w, x, dy, none);
  CHECK_EQ(base.used, base.foretold);
  for (const double value : base.y) REQUIRE(std::isfinite(value));
  for (const double value : base.dx) REQUIRE(std::isfinite(value));
  for (const double value : base.g) REQUIRE(std::isfinite(value));

  {
    const outcome split = subject.in_fp64(subject.self, way::split, 1, w, x, dy, none);
    CHECK_LE(apart(split.y, base.y), 1e-13);
    CHECK_LE(apart(split.dx, base.dx), 1e-13);
    CHECK_LE(apart(split.g, base.g), 1e-13);
    CHECK_EQ(split.used, split.foretold);
    const outcome infer = subject.in_fp64(subject.self, way::infer, 1, w, x, dy, none);
    CHECK_LE(apart(infer.y, base.y), 1e-13);
    CHECK_EQ(infer.used, infer.foretold);
    CHECK_EQ(size_of(infer.g), 0);
  }
  for (int threads = 2; threads <= 3; ++threads) {
    INFO("threads " << threads);
    for (const way how : {way::whole, way::split}) {
      const outcome other = subject.in_fp64(subject.self, how, threads, w, x, dy, none);
      CHECK_LE(apart(other.y, base.y), 1e-12);
      CHECK_LE(apart(other.dx, base.dx), 1e-12);
      CHECK_LE(apart(other.g, base.g), 1e-12);
      CHECK_EQ(other.used, other.foretold);
    }
    CHECK_LE(apart(subject.in_fp64(subject.self, way::infer, threads, w, x, dy, none).y, base.y), 1e-12);
  }
  {
    // Gradients are added to, and the gaps between tensors stay as they are.
    const reals before = random_reals(size, "before", 3);
    outcome added = subject.in_fp64(subject.self, way::whole, 2, w, x, dy, before);
    for (std::size_t i = 0; i < added.g.size(); ++i) added.g[i] -= before[i];
    CHECK_LE(apart(added.g, base.g, 1), 1e-12);
  }

  // Finite differences of sum(y dy).
  reals w_now = w, x_now = x;
  const auto loss = [&] {
    const outcome now = subject.in_fp64(subject.self, way::infer, 1, w_now, x_now, dy, none);
    double sum = 0;
    for (std::size_t i = 0; i < dy.size(); ++i) sum += now.y[i] * dy[i];
    return sum;
  };
  difference_check differences({.tolerance = settings.difference});
  differences.compare("x", x_now.data(), base.dx.data(), subject.x_size, settings.samples_of_x, loss);
  for (const parameter& p : list)
    differences.compare(p.name, w_now.data() + p.offset, base.g.data() + p.offset, p.size(),
                        settings.samples_of_tensor, loss);
  for (const gradient_report::fault& each : differences.found().wrong) FAIL_CHECK(each.text());

  if (settings.reduced) {
    with_each_kernel([&] {
      check_close(list, subject.in_fp32(subject.self, way::whole, 2, w, x, dy, none), base, 1e-5);
      check_close(list, subject.in_bf16(subject.self, way::whole, 2, w, x, dy, none), base, settings.half);
    });
  }
}
template <class Subject>
void check_laws(const Subject& subject, const law_settings& settings = {}) {
  using L = typename Subject::layer_type;
  check_laws(any_subject{layer::parameters_of<L>(), L::parameter_size, subject.x_size(),
                         subject.y_rows() * Subject::width, &subject, evaluate_any<fp64, Subject>,
                         evaluate_any<fp32, Subject>, evaluate_any<mixed_bf16, Subject>},
             settings);
}

// Batches that every layer must handle: none, one row, odd numbers, ragged with samples that have no rows.
template <class L, bool Pools = false>
void check_layer(const law_settings& settings = {}) {
  static const std::vector<std::vector<isize>> ragged{{0, 3, 3, 4, 11, 11}, {0, 0, 7}};
  std::vector<sequences> batches{{0, 5, nullptr}, {1, 1, nullptr}, {3, 5, nullptr}, {2, 9, nullptr}};
  for (const auto& offsets : ragged)
    batches.push_back({static_cast<isize>(offsets.size()) - 1, 1, offsets.data()});
  for (const sequences& seq : batches) {
    INFO("samples " << seq.samples << ", rows " << seq.rows() << std::string(seq.offsets ? ", ragged" : ""));
    check_laws(layer_subject<L>{seq, Pools ? seq.pooled() : seq}, settings);
  }
}

// Two layers that are one function, with the same parameters at the same places. Where one row of each sample
// is left, every sample has one.
template <class A, class B, bool Pools = false>
void check_equal_layers(double tolerance = 1e-12) {
  static const std::vector<isize> with_empty{0, 3, 3, 4, 11, 11}, without_empty{0, 3, 4, 5, 12, 14};
  const std::vector<isize>& offsets = Pools ? without_empty : with_empty;
  REQUIRE_EQ(A::parameter_size, B::parameter_size);
  const auto names_a = layer::parameters_of<A>(), names_b = layer::parameters_of<B>();
  REQUIRE_EQ(names_a.size(), names_b.size());
  for (std::size_t i = 0; i < names_a.size(); ++i) {
    CHECK_EQ(names_a[i].name, names_b[i].name);
    CHECK_EQ(names_a[i].offset, names_b[i].offset);
  }
  const reals w = random_weights(names_a, A::parameter_size),
              none(static_cast<std::size_t>(A::parameter_size), 0.0);
  for (const sequences& seq :
       {sequences{3, 5, nullptr}, sequences{1, 1, nullptr}, sequences{5, 1, offsets.data()}}) {
    const sequences pooled = Pools ? seq.pooled() : seq;
    const reals x = random_reals(seq.rows() * A::in, "x"), dy = random_reals(pooled.rows() * A::out, "dy");
    for (int threads = 1; threads <= 2; ++threads) {
      const outcome a = evaluate<fp64>(layer_subject<A>{seq, pooled}, way::whole, threads, w, x, dy, none);
      const outcome b = evaluate<fp64>(layer_subject<B>{seq, pooled}, way::whole, threads, w, x, dy, none);
      CHECK_LE(apart(a.y, b.y), tolerance);
      CHECK_LE(apart(a.dx, b.dx), tolerance);
      CHECK_LE(apart(a.g, b.g), tolerance);
    }
  }
}

// Pictures, sounds and tokens for tests.
struct picture_batch {
  std::vector<float> pixels;
  pictures input;
  picture_batch(isize samples, isize channels, isize side)
      : pixels(static_cast<std::size_t>(samples * channels * side * side)) {
    const random_stream draw(23, "pixels");
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(draw.normal(i));
    input = {pixels.data(), samples};
  }
};
struct sound_batch {
  std::vector<float> features;
  sounds input;
  sound_batch(isize samples, const frame_config& of)
      : features(static_cast<std::size_t>(samples * of.frames * of.bins)) {
    const random_stream draw(31, "features");
    for (std::size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(draw.normal(i));
    input = {features.data(), samples};
  }
};
struct token_batch {
  std::vector<std::int32_t> ids;
  std::vector<isize> offsets;
  tokens input;
  token_batch(std::vector<isize> starts, isize vocabulary) : offsets(std::move(starts)) {
    const random_stream draw(29, "ids");
    for (isize i = 0; i < offsets.back(); ++i)
      ids.push_back(static_cast<std::int32_t>(
          draw.below(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(vocabulary))));
    input = {ids.data(), {static_cast<isize>(offsets.size()) - 1, 1, offsets.data()}};
  }
  token_batch(const token_batch&) = delete;
  token_batch& operator=(const token_batch&) = delete;
};

}  // namespace motet::laws
