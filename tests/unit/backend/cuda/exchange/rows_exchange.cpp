// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/cuda/exchange/rows_exchange.hpp>

#include <doctest/doctest.h>

#include <mutex>
#include <string>

#include <gpu_members.hpp>

namespace motet {
namespace {

// A number for each element of a batch, so that each row tells where it is from.
double number_at(isize sample, isize row, isize column) {
  return static_cast<double>(100 * sample + row) + 0.25 * static_cast<double>(column % 4);
}

// The first sample of a member's share of a tensor member's share.
isize first_of_mine(const spread_seat& at, isize samples) {
  const interval members = share(samples, at.tensor, at.tensor_member);
  return members.begin + share(members.size(), at.context, at.context_member).begin;
}

// Numbers that went there and back are off by this.
template <class T>
laws::deviation off_after_exchange(const sequences& whole, isize tensor, isize context, bool balanced,
                                   isize width, isize gap) {
  std::mutex mutex;
  laws::deviation worst;
  const std::string thrown = laws::run_gpu_shards(
      tensor, context, balanced, whole,
      [&](motet::cuda::engine& on, microbatch_spread& is, const spread_seat& at) {
        laws::grid<T> mine(is.mine.rows(), width, gap);
        const isize first_mine = first_of_mine(at, whole.samples),
                    first_own = share(whole.samples, tensor, at.tensor_member).begin;
        for (isize s = 0; s < is.mine.samples; ++s)
          for (isize r = 0; r < is.mine.rows_of(s); ++r)
            for (isize c = 0; c < width; ++c)
              mine.at(is.mine.begin(s) + r, c) = T(static_cast<float>(number_at(first_mine + s, r, c)));
        const laws::on_gpu<T> there(mine), back_there(is.mine.rows(), width, width + gap),
            own_there(is.own.rows(), width);
        laws::gpu_run_foretold_on(on, is, [&](motet::cuda::context& ctx) {
          rows_to_parts(ctx, matrix<const T>(there.all()), own_there.all());
          rows_to_samples(ctx, matrix<const T>(own_there.all()), back_there.all());
        });
        const auto own = own_there.back(), back = back_there.back();
        laws::grid<double> own_wanted(own.rows, width);
        for (isize s = 0; s < is.own.samples; ++s)
          for (isize r = 0; r < is.own.rows_of(s); ++r)
            for (isize c = 0; c < width; ++c) {
              const isize row = is.cut.position(whole.rows_of(first_own + s), at.context_member, r);
              own_wanted.at(is.own.begin(s) + r, c) = number_at(first_own + s, row, c);
            }
        const std::string member = "tensor member " + std::to_string(at.tensor_member) + ", context member " +
                                   std::to_string(at.context_member);
        const std::lock_guard lock(mutex);
        worst.add(laws::distance(own, own_wanted), "there, " + member);
        worst.add(laws::distance(back, mine), "and back, " + member);
        if (const laws::intact all = laws::all_intact({own.gaps_intact(), back.gaps_intact()}); !all)
          worst.fail(all.broken);
      });
  CHECK(thrown == "");
  return worst;
}

TEST_CASE_TEMPLATE("whole samples become parts of all samples, and back", T, float, double, bf16) {
  const std::vector<isize> offsets = {0, 3, 3, 4, 16, 23, 23, 24, 24};
  // bf16 holds the numbers of two samples exactly.
  const isize samples = std::is_same_v<T, bf16> ? 2 : 8;
  for (const bool balanced : {false, true})
    for (isize context = 1; context <= 4; ++context)
      for (const isize tensor : {1, 2}) {
        if (tensor * context > 6) continue;
        CAPTURE(context);
        CAPTURE(tensor);
        CHECK(off_after_exchange<T>({samples, 1, offsets.data()}, tensor, context, balanced, 3, 2) == 0);
        if (samples == 8)
          CHECK(off_after_exchange<T>({5, 6, nullptr}, tensor, context, balanced, 24, 8) == 0);
      }
}

TEST_CASE("many samples, and a batch without rows") {
  std::vector<isize> offsets{0};
  for (isize s = 0; s < 700; ++s) offsets.push_back(offsets.back() + (s * 5) % 4);
  CHECK(off_after_exchange<double>({700, 1, offsets.data()}, 1, 3, true, 2, 0) == 0);
  CHECK(off_after_exchange<float>({0, 4, nullptr}, 1, 3, false, 3, 0) == 0);
  const std::vector<isize> empty = {0, 0, 0};
  CHECK(off_after_exchange<float>({2, 1, empty.data()}, 1, 3, true, 3, 0) == 0);
}

TEST_CASE("what moves is noted") {
  const std::vector<isize> offsets = {0, 6, 12};
  spread_rows rows({1, 0, 2, 0, false}, 2);
  microbatch_spread is;
  is.context = any_group(2, 0);
  rows.fill({2, 1, offsets.data()}, is);
  motet::cuda::profile noted;
  motet::cuda::context ctx;
  ctx.costs = &noted;
  ctx.shared = &is;
  const matrix<float> here{reinterpret_cast<float*>(64), 6, 4, 4};
  rows_to_parts(ctx, here, here);
  CHECK(noted.begin()->bytes == 2 * 6 * 4 * 4);
  CHECK(ctx.memory.peak() == round_up(6 * 4 * 4, arena::alignment));
}

}  // namespace
}  // namespace motet
