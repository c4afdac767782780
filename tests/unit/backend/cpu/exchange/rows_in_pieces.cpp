// SPDX-License-Identifier: Apache-2.0
// labels: threads
#include <motet/backend/cpu/exchange/rows_in_pieces.hpp>

#include <motet/backend/groups/silent_group.hpp>
#include <motet/nn/compose/residual.hpp>
#include <motet/nn/layers/attention.hpp>
#include <motet/nn/layers/gated_mlp.hpp>
#include <motet/nn/layers/mlp.hpp>

#include <cstring>
#include <each_kernel.hpp>
#include <grid.hpp>
#include <tensor_members.hpp>

using namespace motet;

namespace {

using block =
    residual<layer_norm<12>,
             self_attention<attention_config{
                 .width = 12, .heads = 5, .head_width = 4, .mask = mask_kind::causal, .rotary = 100}>>;
using widened = residual<layer_norm<12>, mlp<12, 19, activation::gelu_tanh>>;
using gated = residual<layer_norm<12>, gated_mlp<12, 7, false>>;

bool same_bits(const laws::whole_outcome& a, const laws::whole_outcome& b) {
  const auto same = [](const auto& one, const auto& other) {
    const std::size_t bytes = one.second.size() * sizeof(double);
    return one.first == other.first && one.second.size() == other.second.size() &&
           (bytes == 0 || std::memcmp(one.second.data(), other.second.data(), bytes) == 0);
  };
  return std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(), same) &&
         std::equal(a.gradients.begin(), a.gradients.end(), b.gradients.begin(), b.gradients.end(), same);
}

constexpr motet::isize ragged[] = {0, 3, 3, 8, 9, 13}, long_one[] = {0, 41, 42, 90};

// Members, threads of each, pieces, and rows: more pieces than a member has rows; members without any.
struct drawn {
  sequences rows;
  std::int32_t members;
  int threads;
  motet::isize pieces;
};
constexpr drawn cases[] = {
    {{5, 1, ragged}, 2, 1, 2},   {{5, 1, ragged}, 3, 2, 3},   {{2, 4, nullptr}, 3, 1, 2},
    {{3, 1, long_one}, 2, 2, 3}, {{3, 1, long_one}, 2, 1, 8}, {{0, 4, nullptr}, 2, 1, 2},
};

template <class L, class N>
void check_pieces() {
  for (const drawn& each : cases) {
    CAPTURE(each.members);
    CAPTURE(each.pieces);
    CAPTURE(each.rows.samples);
    const laws::layer_part<L> subject{each.rows};
    for (const laws::way how : {laws::way::whole, laws::way::split})
      CHECK(same_bits(laws::run_spread<N>(subject, how, each.members, each.threads, each.pieces),
                      laws::run_spread<N>(subject, how, each.members, each.threads)));
  }
}

}  // namespace

TEST_CASE("layers do the same to the bit, in however many pieces their rows come") {
  check_pieces<block, fp32>();
  check_pieces<widened, fp32>();
  check_pieces<gated, fp64>();
}

TEST_CASE("in bf16 too") {
  check_pieces<block, mixed_bf16>();
  check_pieces<widened, mixed_bf16>();
}

namespace {

// What a rank does in a group whose other members are not there.
template <class Work>
void alone_among(std::int32_t members, motet::isize pieces, courier* beside, Work&& work) {
  silent_group inside(members, 0);
  microbatch_spread shared;
  shared.tensor = any_group(inside);
  shared.part = {1, 5, nullptr};
  shared.tensor_rows.assign(static_cast<std::size_t>(members), 0);
  shared.tensor_rows[0] = 5;
  shared.pieces = pieces;
  shared.beside = beside;
  cpu::context ctx;
  ctx.shared = &shared;
  buffer<std::byte> memory(64), scratch(4096);
  ctx.memory = arena(memory.data(), memory.size());
  ctx.scratch = arena(scratch.data(), scratch.size());
  work(ctx);
}

}  // namespace

TEST_CASE("all rows come once, piece after piece, and without a courier the rank asks for them itself") {
  std::vector<float> own{1, 2, 3, 4, 5}, all(5);
  alone_among(3, 2, nullptr, [&](cpu::context& ctx) {
    std::vector<motet::isize> seen;
    gather_rows(ctx, matrix<const float>{own.data(), 5, 1, 1}, matrix<float>{all.data(), 5, 1, 1},
                [&](const sequences& some, interval rows) {
                  CHECK(some.rows() == rows.size());
                  for (motet::isize r = rows.begin; r < rows.end; ++r) seen.push_back(r);
                });
    CHECK(seen == std::vector<motet::isize>{0, 1, 2, 3, 4});
  });
  CHECK(all == own);
}

TEST_CASE("what fails while rows are exchanged is what comes out") {
  struct failure {};
  local::world world(2, 0, {});
  const std::vector<std::vector<std::int32_t>> lists{{0, 1}};
  local::group_set set(world, lists);
  local::endpoint end(world, 0);
  local::group group(set, 0, end);  // the other member never comes
  courier beside(end);
  std::vector<float> own{1, 2}, all(4);
  alone_among(2, 2, &beside, [&](cpu::context& ctx) {
    microbatch_spread here = *ctx.shared;
    here.tensor = any_group(group);
    here.tensor_rows = {2, 2};
    here.part = {1, 4, nullptr};
    ctx.shared = &here;
    CHECK_THROWS_AS(gather_rows_beside(ctx, matrix<const float>{own.data(), 2, 1, 1},
                                       matrix<float>{all.data(), 4, 1, 1}, [] { throw failure{}; }),
                    failure);
  });
  CHECK(world.is_stopped());
}

namespace {

// The numbers of rows that differ when they are computed a few at a time.
template <class X, class W, class Y>
motet::isize changed_rows(motet::isize in, motet::isize out) {
  constexpr motet::isize bounds[] = {0, 1, 6, 6, 20, 21, 53}, rows = 53;
  auto x = laws::grid<X>(rows, in).random(1);
  auto weight = laws::grid<W>(out, in).random(2), turned = laws::grid<W>(in, out).random(3);
  auto residual = laws::grid<Y>(rows, out, 3).random(4);
  auto pre = laws::grid<Y>(rows, out).random(5);
  laws::grid<Y> made[2][3];
  for (const bool some : {false, true}) {
    for (auto& each : made[some ? 1 : 0]) each = laws::grid<Y>(rows, out, 1);
    auto &sums = made[some ? 1 : 0][0], &active = made[some ? 1 : 0][1], &back = made[some ? 1 : 0][2];
    laws::cpu_run_foretold(1, [&](cpu::context& ctx) {
      const auto run = [&](interval at) {
        const sequences seq{at.size(), 1, nullptr};
        const auto of = [&](auto& of_all) { return of_all.view().slice(at.begin, at.size()); };
        linear_forward(ctx, seq, of(x), weight.view(), nullptr, of(residual), of(sums));
        linear_forward(ctx, seq, of(x), weight.view(), nullptr, activation::gelu, matrix<Y>{}, of(active));
        linear_backward_input(ctx, seq, of(x), turned.view(), activation::gelu, of(pre), matrix<Y>{},
                              of(back));
      };
      if (!some) return run({0, rows});
      for (std::size_t b = 0; b + 1 < std::size(bounds); ++b) run({bounds[b], bounds[b + 1]});
    });
  }
  motet::isize changed = 0;
  for (int which = 0; which < 3; ++which)
    for (motet::isize r = 0; r < rows; ++r)
      for (motet::isize c = 0; c < out; ++c) changed += made[0][which](r, c) != made[1][which](r, c) ? 1 : 0;
  return changed;
}

}  // namespace

TEST_CASE("a row's product does not depend on how many rows are computed with it, by any kernel") {
  laws::with_each_kernel([] {
    for (const motet::isize in : {7, 96, 1500})  // one block of sums, and several
      for (const motet::isize out : {5, 130}) {
        CAPTURE(in);
        CAPTURE(out);
        CHECK(changed_rows<float, float, float>(in, out) == 0);
        CHECK(changed_rows<double, double, double>(in, out) == 0);
        CHECK(changed_rows<bf16, float, bf16>(in, out) == 0);
      }
  });
}
