// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/feeds/feed_seat.hpp>
#include <motet/runtime/state/held_memory.hpp>
#include <motet/tensor/arena.hpp>

#include <algorithm>

namespace motet {

// The microbatches under way at one seat of a feed, each in a slot with memory of its own: that of the rows
// that its messages carry, packed, behind room for `gathered` columns of all its rows.
template <class T, class Context>
class feed_slots {
 public:
  struct slot {
    index holds = -1;  // which microbatch
    buffer_for<Context, std::byte> memory;
    std::vector<index> starts;  // of its samples
  };
  // Where the rows of a message lie in the rows of its microbatch.
  struct parcel_rows {
    index first = 0, rows = 0;
    bool in_one = true;  // one behind the other, from `first` on
  };

  explicit feed_slots(const feed_seat& seat) : seat_(seat) {}

  const feed_seat& seat() const { return seat_; }
  static index bytes_of(index numbers) {
    return round_up(numbers * static_cast<index>(sizeof(T)), arena::alignment);
  }

  // Rows lie where the operations of ctx work; it stays.
  void prepare(Context& ctx, const sequences& largest, index count, index gathered) {
    ctx_ = &ctx;
    most_rows_ = most_rows(largest);
    index messages = 0, samples = 0;
    for (index m = 0; m < seat_.microbatches(); ++m) {
      messages = std::max(messages, seat_.parcels_of(m).size());
      samples = std::max(samples, seat_.samples_of(m).size());
    }
    const index packed = most_rows_ * seat_.columns(seat_.tensor_member()).size();
    slots_ = std::vector<slot>(as_size(std::min(std::max(count, index{1}), seat_.microbatches())));
    for (slot& each : slots_) {
      each.memory = buffer_for<Context, std::byte>(bytes_of(most_rows_ * gathered) + bytes_of(packed) +
                                                   messages * arena::alignment);
      each.starts.reserve(as_size(samples + 1));
    }
  }
  void begin_step(const sequences& all) {
    if (all.samples != seat_.samples())
      fail(feed_misfit,
           sentence({"a step has ", all.samples, " samples, the feed was made for ", seat_.samples()}));
    if (const index rows = most_rows(all); rows > most_rows_)
      fail(feed_misfit, sentence({"a microbatch has ", rows, " rows here, planned were up to ", most_rows_}));
    all_ = all;
    for (slot& each : slots_) each.holds = -1;
  }

  slot& of(index m) {
    if (m < 0 || m >= seat_.microbatches() || slots_.empty())
      fail(feed_misfit, sentence({"microbatch ", m, " of ", seat_.microbatches(), " on a rank with ",
                                  slots_.size(), " slots"}));
    return slots_[as_size(m) % slots_.size()];
  }
  void open(slot& here, index m, index rows, index width) const {
    seat_.starts(m, all_, here.starts);
    if (rows != here.starts.back() || width != seat_.width())
      fail(feed_misfit, sentence({"microbatch ", m, " is given as ", rows, " x ", width, ", not ",
                                  here.starts.back(), " x ", seat_.width()}));
    here.holds = m;
  }

  parcel_rows find_rows(const slot& here, const feed_seat::parcel& it) const {
    parcel_rows out;
    seat_.each_run(it, here.holds, all_, here.starts, [&](index first, index count) {
      out.in_one = out.rows == 0;
      if (out.in_one) out.first = first;
      out.rows += count;
    });
    return out;
  }
  // The rows and columns of a message, out of rows of all columns, or into rows that begin with column
  // `first_column`.
  void pack(const slot& here, const feed_seat::parcel& it, matrix<const T> rows, T* to) const {
    const index columns = it.what.columns.size();
    seat_.each_run(it, here.holds, all_, here.starts, [&](index first, index count) {
      move(rows.slice(first, count).columns(it.what.columns.begin, columns), {to, count, columns, columns});
      to += count * columns;
    });
  }
  void unpack(const slot& here, const feed_seat::parcel& it, const T* from, matrix<T> rows,
              index first_column) const {
    const index columns = it.what.columns.size();
    seat_.each_run(it, here.holds, all_, here.starts, [&](index first, index count) {
      move({from, count, columns, columns},
           rows.slice(first, count).columns(it.what.columns.begin - first_column, columns));
      from += count * columns;
    });
  }
  void move(matrix<const T> from, matrix<T> to) const { copy(*ctx_, from, to); }

 private:
  index most_rows(const sequences& all) const {
    index most = 0;
    for (index m = 0; m < seat_.microbatches(); ++m) most = std::max(most, seat_.rows_of(m, all));
    return most;
  }

  const feed_seat& seat_;
  Context* ctx_ = nullptr;
  sequences all_;
  index most_rows_ = 0;
  std::vector<slot> slots_;
};

}  // namespace motet
