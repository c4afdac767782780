// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/nn/core/cut_rows.hpp>

#include <motet/nn/compose/residual.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/gated_mlp.hpp>
#include <motet/nn/layers/mlp.hpp>

#include <atomic>
#include <tensor_members.hpp>

using namespace motet;

namespace {

// Ragged, one of them without rows; and fewer samples than members.
constexpr motet::isize ragged[] = {0, 3, 3, 8, 9, 13};
const sequences batches[] = {{5, 1, ragged}, {2, 4, nullptr}};

template <class L, class N = fp64>
void check_layer(std::initializer_list<std::int32_t> members, double tolerance = 1e-12) {
  for (const sequences& seq : batches) {
    CAPTURE(seq.samples);
    laws::check_members<N>(laws::layer_part<L>{seq}, members, tolerance);
  }
}

// A group that counts the bytes of all members' parts: what a gather makes, and what a sum begins with.
struct counting_group {
  local::group& inside;
  motet::isize gathered = 0, summed = 0;
  std::int32_t size() const { return inside.size(); }
  std::int32_t member() const { return inside.member(); }
  bool test(ticket which) { return inside.test(which); }
  void wait(ticket which) { inside.wait(which); }
  ticket barrier() { return inside.barrier(); }
  ticket all_gather(const std::byte* own, std::byte* all, std::span<const motet::isize> bytes) {
    for (const motet::isize each : bytes) gathered += each;
    return inside.all_gather(own, all, bytes);
  }
  template <class T>
  ticket reduce_scatter_sum(const T* from, T* to, std::span<const motet::isize> counts) {
    for (const motet::isize each : counts) summed += each * static_cast<motet::isize>(sizeof(T));
    return inside.reduce_scatter_sum(from, to, counts);
  }
  template <class T>
  ticket all_reduce_sum(T* numbers, motet::isize count) {
    return inside.all_reduce_sum(numbers, count);
  }
  ticket all_to_all(const std::byte* from, std::span<const motet::isize> from_bytes, std::byte* to,
                    std::span<const motet::isize> to_bytes) {
    return inside.all_to_all(from, from_bytes, to, to_bytes);
  }
  ticket broadcast(std::byte* data, motet::isize bytes, std::int32_t root) {
    return inside.broadcast(data, bytes, root);
  }
};
static_assert(collective_group<counting_group>);

}  // namespace

TEST_CASE("hidden units that do not divide, and fewer of them than members") {
  check_layer<mlp<5, 7>>({1, 2, 4});
  check_layer<residual<layer_norm<5>, mlp<5, 2, activation::relu, false>>>({3});
}

TEST_CASE("gates and what they let through stay together") { check_layer<gated_mlp<5, 7>>({2, 3}); }

TEST_CASE("heads that do not divide, and fewer of them than members") {
  check_layer<self_attention<attention_config{.width = 6, .heads = 5, .head_width = 4}>>({1, 2, 3});
  check_layer<residual<layer_norm<6>,
                       self_attention<attention_config{.width = 6, .heads = 2, .mask = mask_kind::causal}>>>(
      {3});
}

TEST_CASE("heads that share keys go together, and turn with their positions") {
  check_layer<self_attention<attention_config{
      .width = 6, .heads = 6, .kv_heads = 3, .head_width = 4, .mask = mask_kind::causal, .rotary = 100}>>(
      {2, 4});
}

TEST_CASE("a member is a team of threads") {
  using block =
      residual<layer_norm<6>, self_attention<attention_config{.width = 6, .heads = 5, .head_width = 4}>>;
  const laws::layer_part<block> subject{batches[0]};
  laws::check_same(laws::run_spread<fp64>(subject, laws::way::split, 2, 3),
                   laws::run_spread<fp64>(subject, laws::way::whole, 0), 1e-12);
}

TEST_CASE("no more bytes move than are said to") {
  using block = residual<layer_norm<6>, mlp<6, 7>>;
  const sequences whole{4, 3, nullptr};
  const motet::isize elements = whole.rows() * 6;
  std::atomic<motet::isize> forward_gathered{0}, forward_summed{0}, gathered{0}, summed{0};
  const auto member = [&](auto& group, auto numbers) {
    using N = decltype(numbers);
    const tensor_cut cut{2, group.member()};
    spread_rows places({.tensor = 2, .tensor_member = cut.shard}, whole.samples);
    microbatch_spread shared;
    places.fill(whole, shared);
    shared.tensor = any_group(group);
    std::vector<float> w(static_cast<std::size_t>(block::size(cut))), g(w.size()),
        rows(static_cast<std::size_t>(shared.own.rows() * 6));
    laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
      ctx.shared = &shared;
      const view<float, 6> x(rows.data(), shared.own.rows());
      typename block::template saved<N> s;
      block::reserve<N>(ctx, shared.own, s, cut);
      block::forward(ctx, weights<N>{w.data(), cut}, shared.own, x, x, s);
      forward_gathered = group.gathered;
      forward_summed = group.summed;
      layer::backward<block>(ctx, weights<N>{w.data(), cut}, shared.own, x, x, x, s,
                             gradients<N>{g.data(), cut});
      gathered = group.gathered;
      summed = group.summed;
    });
  };
  const auto run = [&](auto numbers) {
    local::world world(2, 0, {});
    const std::vector<std::vector<std::int32_t>> lists{{0, 1}};
    local::group_set set(world, lists);
    const auto rank = [&](std::int32_t r) {
      local::endpoint end(world, r);
      local::group group(set, 0, end);
      counting_group counted{group};
      member(counted, numbers);
    };
    std::thread other([&] { rank(1); });
    rank(0);
    other.join();
  };
  run(fp32{});
  CHECK_EQ(forward_gathered, 4 * elements);
  CHECK_EQ(forward_summed, 4 * elements);
  CHECK_EQ(gathered, 12 * elements);
  CHECK_EQ(summed, 8 * elements);
  run(mixed_bf16{});
  CHECK_EQ(forward_gathered, 2 * elements);
  CHECK_EQ(forward_summed, 4 * elements);
  CHECK_EQ(gathered, 6 * elements);
  CHECK_EQ(summed, 6 * elements);
}

TEST_CASE("weights of a part without a spread are refused") {
  using layer_type = mlp<5, 7>;
  const weights<fp64> w{nullptr, {2, 0}};
  cpu::context ctx;
  layer_type::saved<fp64> s;
  CHECK_THROWS_WITH_AS(layer_type::reserve<fp64>(ctx, batches[0], s, w.cut), doctest::Contains("MT-B05"),
                       error);
}
