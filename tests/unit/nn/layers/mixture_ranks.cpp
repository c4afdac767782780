// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/nn/layers/mixture.hpp>

#include "cut_layer.hpp"
#include "spread_ranks.hpp"

namespace motet {
using laws::problem, laws::random_problem, laws::reals;

namespace {
constexpr mixture_config dropless{.width = 6, .experts = 5, .hidden = 7, .balance = 0.5f, .z = 0.2f};
constexpr mixture_config tight{.width = 4,
                               .experts = 6,
                               .hidden = 3,
                               .top_k = 3,
                               .gated = true,
                               .capacity = 0.7f,
                               .balance = 0.5f,
                               .z = 0.2f};
constexpr mixture_config single{
    .width = 4, .experts = 3, .hidden = 5, .top_k = 1, .gates = gate_kind::probability};

// A group that counts what all_to_all sends to others.
class counted_group {
 public:
  counted_group(const any_group& inner, std::atomic<isize>& bytes) : inner_(inner), bytes_(bytes) {}
  std::int32_t size() const { return inner_.size(); }
  std::int32_t member() const { return inner_.member(); }
  bool test(ticket) const { return true; }
  void wait(ticket) const {}
  ticket all_gather(const std::byte* own, std::byte* all, std::span<const isize> bytes) {
    return inner_.all_gather(own, all, bytes), 0;
  }
  ticket all_to_all(const std::byte* from, std::span<const isize> from_bytes, std::byte* to,
                    std::span<const isize> to_bytes) {
    for (std::size_t m = 0; m < from_bytes.size(); ++m)
      if (static_cast<std::int32_t>(m) != member()) bytes_ += from_bytes[m];
    return inner_.all_to_all(from, from_bytes, to, to_bytes), 0;
  }
  template <class T>
  ticket all_reduce_sum(T* numbers, isize count) {
    return inner_.all_reduce_sum(numbers, count), 0;
  }
  template <class T>
  ticket reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts) {
    return inner_.reduce_scatter_sum(from, to, counts), 0;
  }
  ticket broadcast(std::byte*, isize, std::int32_t) { return 0; }
  ticket barrier() { return 0; }

 private:
  any_group inner_;
  std::atomic<isize>& bytes_;
};

// A batch on ranks, and what they made of it, put together.
struct spread_case {
  isize tensor = 1, context = 1;
  bool balanced = false;
  int threads = 1;
};
struct spread_outcome {
  laws::outcome all;
  isize bytes = 0;
  double flops = 0;
};
template <class L>
spread_outcome run(const spread_case& how, const sequences& whole, laws::way way, const problem& given) {
  spread_outcome out;
  out.all.y.assign(given.x.size(), laws::not_written);
  out.all.dx.assign(given.x.size(), laws::not_written);
  out.all.g.assign(given.w.size(), 0);
  std::mutex mutex;
  std::atomic<isize> bytes{0};
  const std::string thrown = laws::run_shards(
      how.tensor, how.context, how.balanced, whole, [&](microbatch_spread& is, const spread_seat& seat) {
        counted_group counted(is.tensor, bytes);
        is.tensor = any_group(counted);
        laws::cut_layer<L> own(is, seat, whole, given);
        const bool as_planned = own.step(way, how.threads);
        const std::lock_guard lock(mutex);
        CHECK(as_planned);
        out.flops += own.flops;
        own.each_number([&](std::size_t global, std::size_t here) {
          out.all.y[global] = own.y[here];
          out.all.dx[global] = own.dx[here];
        });
        own.each_held([&](std::size_t global, std::size_t here) { out.all.g[global] += own.g[here]; });
      });
  CHECK_EQ(thrown, "");
  out.bytes = bytes;
  return out;
}

template <class L>
void check_ranks(const sequences& seq, const problem& given, const std::vector<spread_case>& cases) {
  const auto one = laws::evaluate<fp64>(laws::layer_subject<L>{seq, seq}, laws::way::whole, 1, given.w,
                                        given.x, given.dy, reals(given.w.size(), 0.0));
  for (const spread_case& how : cases)
    for (const laws::way way : {laws::way::whole, laws::way::split}) {
      INFO("tensor " << how.tensor << ", context " << how.context << ", balanced " << how.balanced
                     << ", threads " << how.threads);
      const auto many = run<L>(how, seq, way, given).all;
      CHECK_LE(laws::apart(many.y, one.y), 1e-12);
      CHECK_LE(laws::apart(many.dx, one.dx), 1e-12);
      CHECK_LE(laws::apart(many.g, one.g), 1e-12);
    }
}
const std::vector<spread_case> all_cases{{1, 1, false, 1}, {2, 1, false, 1}, {3, 1, false, 2},
                                         {4, 1, false, 1}, {1, 2, false, 1}, {2, 2, true, 1},
                                         {1, 3, true, 2}};
const std::vector<isize> ragged{0, 4, 4, 13, 14, 20};
}  // namespace

TEST_CASE("experts on many ranks give what one rank gives") {
  for (const sequences& seq : {sequences{5, 1, ragged.data()}, sequences{4, 5, nullptr}}) {
    check_ranks<mixture<dropless>>(seq, random_problem<mixture<dropless>>(seq), all_cases);
    check_ranks<mixture<tight>>(seq, random_problem<mixture<tight>>(seq), all_cases);
    check_ranks<mixture<single>>(seq, random_problem<mixture<single>>(seq), all_cases);
  }
}

TEST_CASE("ranks without samples, without rows or without experts do their part") {
  static const std::vector<isize> empty{0, 0, 0, 6};
  const std::vector<spread_case> cases{{2, 1, false, 1}, {3, 1, false, 1}, {4, 1, false, 1}};
  for (const sequences& seq :
       {sequences{1, 9, nullptr}, sequences{3, 1, empty.data()}, sequences{0, 5, nullptr}})
    check_ranks<mixture<single>>(seq, random_problem<mixture<single>>(seq), cases);
}

TEST_CASE("a cut mixture on a context without a spread says so") {
  using L = mixture<single>;
  cpu::context dry;
  L::saved<fp64> s;
  CHECK_THROWS_WITH((L::reserve<fp64>(dry, sequences{1, 2, nullptr}, s, tensor_cut{2, 0})),
                    doctest::Contains("MT-B05"));
}

TEST_CASE("all rows on one expert, and none on the others") {
  using L = mixture<single>;
  const sequences seq{4, 5, nullptr};
  problem given = random_problem<L>(seq);
  for (double& value : given.x) value = std::abs(value);
  for (isize expert = 0; expert < 3; ++expert) {
    for (isize e = 0; e < 3; ++e)
      for (isize c = 0; c < L::in; ++c)
        given.w[static_cast<std::size_t>(e * L::in + c)] = e == expert ? 0.3 : -0.2;
    check_ranks<L>(seq, given, {{2, 1, false, 1}, {3, 1, false, 1}});
  }
}

TEST_CASE("the ranks of a dry run share the work of one rank") {
  using L = mixture<dropless>;
  const sequences seq{4, 5, nullptr};
  const problem given = random_problem<L>(seq);
  const double one = run<L>({}, seq, laws::way::whole, given).flops;
  const double rows = 20, router = 2 * 6 * 5, chosen = 2 * (2 * 6 * 7) * 2;
  CHECK(one > 3 * rows * (router + chosen));  // forward, and both parts of backward
  CHECK(one < 4.5 * rows * (router + chosen));
  for (isize tensor = 2; tensor <= 4; ++tensor)
    CHECK(run<L>({tensor, 1, false, 1}, seq, laws::way::whole, given).flops ==
          doctest::Approx(one).epsilon(1e-12));
}

TEST_CASE("a row crosses once to each rank that has an expert for it, and once back") {
  using L = mixture<tight>;
  const sequences seq{5, 1, ragged.data()};
  const problem given = random_problem<L>(seq);
  constexpr isize tensor = 3;
  // The counts follow from what one rank chose.
  isize crossing = 0, single_rows = 0;
  laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
    L::saved<fp64> s;
    L::reserve<fp64>(ctx, seq, s);
    reals y(given.x.size());
    L::forward(ctx, weights<fp64>{given.w.data()}, seq, view<const double, L::in>(given.x.data(), seq.rows()),
               view<double, L::in>(y.data(), seq.rows()), s);
    if (ctx.measuring()) return;
    for (isize sample = 0; sample < seq.samples; ++sample)
      for (isize r = seq.begin(sample); r < seq.end(sample); ++r) {
        bool to[tensor] = {};
        for (isize j = 0; j < L::top_k; ++j)
          if (s.chosen.row(r)[j].kept) to[owner(L::shape.experts, tensor, s.chosen.row(r)[j].expert)] = true;
        to[owner(seq.samples, tensor, sample)] = false;
        for (const bool each : to) crossing += each;
        for (isize j = 0; j < L::top_k; ++j)
          single_rows +=
              s.chosen.row(r)[j].kept && owner(L::shape.experts, tensor, s.chosen.row(r)[j].expert) !=
                                             owner(seq.samples, tensor, sample);
      }
  });
  CHECK_LT(crossing, single_rows);  // some rows go to two experts of one rank
  const isize counts = tensor * (tensor - 1) * static_cast<isize>(sizeof(isize)),
              row = L::in * static_cast<isize>(sizeof(double)),
              choices = L::top_k * static_cast<isize>(sizeof(choice<double>)),
              gates = L::top_k * static_cast<isize>(sizeof(double));
  const auto bytes = [&](laws::way way) { return run<L>({tensor, 1, false, 1}, seq, way, given).bytes; };
  CHECK_EQ(bytes(laws::way::forward), counts + crossing * (choices + 2 * row));
  CHECK_EQ(bytes(laws::way::whole), counts + crossing * (choices + 4 * row + gates));
}

}  // namespace motet
