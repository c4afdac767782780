// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/gradients/parameter_piece.hpp>
#include <motet/runtime/state/held_memory.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace motet {

// A parameter's name leads to where it begins in a flat buffer.
using parameter_offsets = std::map<std::string, isize, std::less<>>;

// Parameters that ranks hold, where the host may read and write their numbers: those themselves, or copies of
// them. They live for moments between steps.
template <class Context, class Master>
class host_pieces {
 public:
  void add(Context& ctx, std::int32_t rank, parameter_piece<Master> piece) {
    const isize moments = piece.share != nullptr ? piece.share->moments : piece.size,
                seconds = piece.share != nullptr ? piece.share->seconds : piece.size;
    see(ctx, piece.weights, piece.shares_only ? moments : piece.size);
    see(ctx, piece.gradients, piece.sums_only ? moments : piece.size);
    see(ctx, piece.first, moments);
    see(ctx, piece.second, seconds);
    see(ctx, piece.average, moments);
    ranks_.push_back(rank);
    pieces_.push_back(std::move(piece));
  }
  std::span<const parameter_piece<Master>> all() const { return pieces_; }
  std::int32_t rank(std::size_t piece) const { return ranks_[piece]; }
  // Copies what address(piece, element) points to into a flat buffer, where each parameter has its offset;
  // null: it is not there. Elements whose moments lie together lie together.
  template <class Address>
  void collect(const parameter_offsets& offsets, std::vector<Master>& flat, Address&& address) const {
    for (const parameter_piece<Master>& piece : pieces_)
      each_own_run(piece, [&](const parameter& each, isize at, isize element, isize count) {
        const isize to = offsets.find(each.name)->second + element;
        for (isize i = 0, together; i < count; i += together) {
          together = moments_together(piece, at + i, count - i);
          if (const Master* const from = address(piece, at + i); from != nullptr)
            std::copy_n(from, together, flat.data() + to + i);
        }
      });
  }
  // Calls write(piece, element, numbers, count) with the numbers of a flat buffer, and brings them where
  // they are held.
  template <class Write>
  void scatter(const parameter_offsets& offsets, std::span<const Master> from, Write&& write) {
    for (const parameter_piece<Master>& piece : pieces_)
      for (const parameter& each : piece.parameters) {
        const isize begin = offsets.find(each.name)->second;
        if (begin >= static_cast<isize>(from.size())) continue;
        each_run(each, [&](isize at, isize element, isize count) {
          write(piece, at, from.data() + begin + element, count);
        });
      }
    write_back();
  }
  // Brings what was written to them where they are held.
  void write_back() {
    for (const copy& each : copies_) {
      const auto count = static_cast<isize>(each.numbers.size());
      upload(*each.ctx, each.numbers.data(), each.held, count);
      weights_changed(*each.ctx, static_cast<const Master*>(each.held), count);
    }
  }

 private:
  struct copy {
    Context* ctx;
    Master* held;
    std::vector<Master> numbers;
  };
  void see(Context& ctx, Master*& held, isize count) {
    if constexpr (!works_on_host<Context>) {
      if (held == nullptr || count == 0) return;
      copy& own =
          copies_.emplace_back(copy{&ctx, held, std::vector<Master>(static_cast<std::size_t>(count))});
      download(ctx, static_cast<const Master*>(held), own.numbers.data(), count);
      held = own.numbers.data();
    }
  }

  std::vector<parameter_piece<Master>> pieces_;
  std::vector<std::int32_t> ranks_;
  std::deque<copy> copies_;
};

}  // namespace motet
