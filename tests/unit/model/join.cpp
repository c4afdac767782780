// SPDX-License-Identifier: Apache-2.0
#include <motet/model/join.hpp>

#include "goldens.hpp"

using namespace motet;

static_assert(join<info_nce, int, int>::pairs == 1);
static_assert(join<info_nce, int, int, int, int>::pairs == 6);

namespace {

// Losses that ranks cannot share: one without part(), one that says that its rows tell, and cannot.
struct only_whole {
  static constexpr bool tells = false;
  template <class C, class M, class S>
  static double pair(C&, const M*, M*, matrix<S>, matrix<S>, double, matrix<S>, matrix<S>);
};
struct dumb : pairwise_sigmoid {
  static constexpr bool tells = true;
};
template <class Loss>
constexpr bool is_shared = spread_loss<Loss, cpu::context, double, float>;

}  // namespace

static_assert(is_shared<info_nce> && is_shared<pairwise_sigmoid>);
static_assert(!is_shared<only_whole> && !is_shared<dumb>);

namespace {

template <class T>
struct loss_outcome {
  double loss = 0;
  std::vector<T> da, db, numbers;
};

template <class Loss, class T>
loss_outcome<T> run_loss(const laws::golden_file& file, const std::string& name, int threads, double share) {
  auto a = file.values<T>(name + "/a"), b = file.values<T>(name + "/b");
  const auto list = layer::parameters_of<Loss>();
  const auto w = laws::narrowed<T>(file.flat(list, Loss::parameter_size, name + "/w/"));
  constexpr motet::isize width = 6;
  const motet::isize samples = static_cast<motet::isize>(a.size()) / width;
  loss_outcome<T> out{0, std::vector<T>(a.size()), std::vector<T>(b.size()), std::vector<T>(w.size())};
  const auto body = [&](cpu::context& ctx) {
    const auto rows = [&](std::vector<T>& of) { return matrix<T>{of.data(), samples, width, width}; };
    const double loss =
        Loss::pair(ctx, w.data(), out.numbers.data(), rows(a), rows(b), share, rows(out.da), rows(out.db));
    if (ctx.thread == 0) out.loss = loss;
  };
  cpu::context dry;
  dry.threads = threads;
  body(dry);
  laws::cpu_run(threads, dry.memory.peak(), dry.scratch.peak(), body);
  return out;
}

template <class Loss>
void check_loss(const std::string& name) {
  const laws::golden_file file("losses");
  const auto list = layer::parameters_of<Loss>();
  for (const char* samples : {"_1", "_7", "_33"}) {
    const std::string at = name + samples;
    INFO(at);
    const laws::reals g = file.flat(list, Loss::parameter_size, at + "/g/");
    for (const int threads : {1, 2, 3}) {
      const auto got = run_loss<Loss, float>(file, at, threads, 1);
      // Where there is one sample only, InfoNCE and its gradients are nothing but rounding.
      const double floor = at == "info_nce_1" ? 1 : 0;
      CHECK_LE(laws::apart({got.loss}, file.at(at + "/loss"), floor), 1e-5);
      CHECK_LE(laws::apart(laws::widened(got.da), file.at(at + "/da"), floor), 1e-5);
      CHECK_LE(laws::apart(laws::widened(got.db), file.at(at + "/db"), floor), 1e-5);
      for (const parameter& p : list)
        CHECK_LE(laws::apart(laws::piece(laws::widened(got.numbers), p), laws::piece(g, p), floor), 1e-5);
    }
    // The share scales the loss and every gradient.
    const auto one = run_loss<Loss, double>(file, at, 1, 1),
               third = run_loss<Loss, double>(file, at, 2, 1.0 / 3);
    CHECK_LE(std::abs(third.loss - one.loss / 3), 1e-12 * (1 + one.loss));
    laws::reals scaled = one.da;
    for (double& d : scaled) d /= 3;
    CHECK_LE(laws::apart(third.da, scaled, 1), 1e-12);
  }
}

}  // namespace

TEST_CASE("InfoNCE agrees with PyTorch") { check_loss<info_nce>("info_nce"); }
TEST_CASE("the pairwise sigmoid loss agrees with PyTorch") {
  check_loss<pairwise_sigmoid>("pairwise_sigmoid");
}

TEST_CASE("temperatures and biases start as their papers say, and do not decay") {
  const auto softmax = layer::parameters_of<info_nce>("join");
  REQUIRE_EQ(softmax.size(), 1);
  CHECK(softmax[0].name == "join.log_scale");
  CHECK(static_cast<double>(softmax[0].start.scale) == doctest::Approx(std::log(1 / 0.07)));
  const auto sigmoid = layer::parameters_of<pairwise_sigmoid>("join");
  REQUIRE_EQ(sigmoid.size(), 2);
  CHECK(static_cast<double>(sigmoid[0].start.scale) == doctest::Approx(std::log(10)));
  CHECK_EQ(static_cast<double>(sigmoid[1].start.scale), -10);
  for (const auto& p : sigmoid) CHECK(!p.decay);
}
