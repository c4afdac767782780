// SPDX-License-Identifier: Apache-2.0
#include <motet/backend/exchange/rows_exchange.hpp>
#include <motet/backend/exchange/spread_rows.hpp>
#include <motet/tensor/arena.hpp>

#include <doctest/doctest.h>

#include <deque>

namespace motet {
namespace {

TEST_CASE("what a member sends is what the other one expects, and all of it moves") {
  const std::vector<isize> offsets = {0, 3, 3, 4, 16, 23, 23, 24, 24};
  const sequences whole{8, 1, offsets.data()};
  for (isize members = 1; members <= 5; ++members)
    for (const bool balanced : {false, true}) {
      CAPTURE(members);
      CAPTURE(balanced);
      const auto count = static_cast<std::size_t>(members);
      std::deque<spread_rows> rows;
      std::vector<microbatch_spread> all(count);
      std::vector<std::vector<isize>> room(count, std::vector<isize>(2 * count));
      std::vector<detail::exchange_counts> counts;
      for (std::size_t m = 0; m < count; ++m) {
        rows.emplace_back(spread_seat{1, 0, members, static_cast<isize>(m), balanced}, whole.samples);
        all[m].context = any_group(static_cast<std::int32_t>(members), static_cast<std::int32_t>(m));
        rows.back().fill(whole, all[m]);
        counts.emplace_back(all[m], 6, room[m]);
      }
      for (std::size_t a = 0; a < count; ++a) {
        isize samples = 0, parts = 0;
        for (std::size_t b = 0; b < count; ++b) {
          CHECK(counts[a].by_part[b] == counts[b].by_owner[a]);
          samples += counts[a].by_part[b];
          parts += counts[a].by_owner[b];
        }
        CHECK(samples == 6 * all[a].mine.rows());
        CHECK(parts == 6 * all[a].own.rows());
      }
    }
}

// A back end that does nothing but say what it was asked.
struct told {
  arena memory, scratch;
  const microbatch_spread* shared = nullptr;
  int thread = 0, orders = 0, copies = 0, open = 0;
  double bytes = 0;
  bool measuring() const { return memory.measuring(); }
  void note(const char*, double, double more, flops_of kind) {
    CHECK(kind == flops_of::exchanges);
    bytes += more;
  }
};
struct told_order {
  template <class X, class Y>
  void to_parts(told& ctx, matrix<X>, matrix<Y>) const {
    ++ctx.copies;
  }
  template <class X, class Y>
  void to_samples(told& ctx, matrix<X>, matrix<Y>) const {
    ++ctx.copies;
  }
};
struct told_section {
  int* open;
  ~told_section() { --*open; }
};
told_section enter(told& ctx, const char*) { return {&++ctx.open}; }
void synchronize(told&) {}
void release(told& ctx, isize mark) { ctx.memory.release(mark); }
std::vector<isize> host_numbers(told&, isize count) {
  return std::vector<isize>(static_cast<std::size_t>(count));
}
told_order order_of_parts(told& ctx, const sequences&, isize) {
  ++ctx.orders;
  ctx.scratch.take<char>(100);
  return {};
}

TEST_CASE("a dry run takes the memory, notes the work and moves nothing") {
  const std::vector<isize> offsets = {0, 6, 12};
  spread_rows rows({1, 0, 2, 0, false}, 2);
  microbatch_spread is;
  is.context = any_group(2, 0);
  rows.fill({2, 1, offsets.data()}, is);
  told ctx;
  ctx.shared = &is;
  const matrix<float> here{reinterpret_cast<float*>(64), 6, 4, 4};
  rows_to_parts(ctx, here, here);
  rows_to_samples(ctx, here, here);
  CHECK(ctx.orders == 2);
  CHECK(ctx.copies == 0);
  CHECK(ctx.open == 0);
  CHECK(ctx.bytes == 2 * 2 * 6 * 4 * 4);
  CHECK(ctx.memory.mark() == 0);
  CHECK(ctx.memory.peak() == round_up(6 * 4 * 4, arena::alignment));
  CHECK(ctx.scratch.mark() == 0);
  CHECK(ctx.scratch.peak() == round_up(100, arena::alignment));
}

}  // namespace
}  // namespace motet
