// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/groups/collectives.hpp>
#include <motet/meta/mixed_bits.hpp>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

// Every group of ranks keeps these laws, whatever carries its data. Each member calls check_collectives on
// its own end; the result is a list of what went wrong, empty when all is well. Expectations are computed
// alone, from the same generator, in the plainest way.
namespace motet::laws {

template <class Group>
class collective_law {
 public:
  collective_law(Group& group, std::uint64_t seed)
      : group_(group), seed_(seed), members_(group.size()), me_(group.member()) {}

  std::vector<std::string> run() {
    for (const isize count : {0, 1, 5, 16, 17, 1023, 1024, 1025, 4099, 30001}) {
      all_reduce<float>(count);
      all_reduce<double>(count);
      all_reduce<bf16>(count);
    }
    for (std::int32_t shape = 0; shape < 6; ++shape) {
      for (const bool in_place : {false, true}) {
        reduce_scatter<float>(shape, in_place);
        reduce_scatter<double>(shape, in_place);
        reduce_scatter<bf16>(shape, in_place);
        all_gather(shape, in_place);
      }
      all_to_all(shape);
      if constexpr (takes_places<Group>) {
        reduce_scatter_pieces<float>(shape);
        reduce_scatter_pieces<double>(shape);
        reduce_scatter_pieces<bf16>(shape);
        all_gather_pieces(shape);
      }
    }
    for (std::int32_t root = 0; root < members_; ++root)
      for (const isize bytes : {0, 1, 100, 4000 + 66000 * (root % 2), 300001 * (root == 1 ? 1 : 0)})
        broadcast(bytes, root);
    for (int turn = 0; turn < 3; ++turn) barrier();
    many_in_flight();
    for (int turn = 0; turn < 40; ++turn) {  // boards and tags are used again and again
      all_reduce<float>(33);
      all_gather(turn % 6, false);
    }
    return wrong_;
  }

 private:
  std::uint64_t number(std::int32_t member, isize at) const {
    const std::uint64_t x = seed_ + call_ * golden_step +
                            static_cast<std::uint64_t>(member) * 0xbf58476d1ce4e5b9u +
                            static_cast<std::uint64_t>(at);
    return mixed_bits(x);
  }
  // Numbers are of many sizes and both signs, so that the order of a sum shows in its bits.
  template <class T>
  T real(std::int32_t member, isize at) const {
    const std::uint64_t bits = number(member, at);
    const double scale = static_cast<double>(std::uint64_t{1} << (bits % 20)) / 1024;
    return T(static_cast<float>((static_cast<double>(bits >> 11) / 9007199254740992.0 - 0.5) * scale));
  }
  template <class T>
  T sum(isize at) const {
    using accumulator = std::conditional_t<std::is_same_v<T, bf16>, float, T>;
    auto total = static_cast<accumulator>(real<T>(0, at));
    for (std::int32_t m = 1; m < members_; ++m) total += static_cast<accumulator>(real<T>(m, at));
    return T(total);
  }
  // Sizes of the parts: even, uneven, mostly empty, only one, none, large.
  isize part(std::int32_t shape, std::int32_t member) const {
    switch (shape) {
      case 0: return 24;
      case 1: return 7 + 13 * member;
      case 2: return member % 2 == 0 ? 0 : 100 + member;
      case 3: return member == members_ - 1 ? 5001 : 0;
      case 4: return 0;
      default: return 8011 - 7 * member;
    }
  }
  std::vector<isize> parts(std::int32_t shape) const {
    std::vector<isize> all;
    for (std::int32_t m = 0; m < members_; ++m) all.push_back(part(shape, m));
    return all;
  }
  void expect(bool good, const std::string& what) {
    if (!good && wrong_.size() < 10)
      wrong_.push_back("member " + std::to_string(me_) + " of " + std::to_string(members_) + ", call " +
                       std::to_string(call_) + ": " + what);
  }
  template <class T>
  static bool same_bits(const T& a, const T& b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  }
  // Memory with a known byte on both sides.
  template <class T>
  struct fenced {
    std::vector<T> all;
    explicit fenced(isize size) : all(static_cast<std::size_t>(size + 32)) {
      std::memset(static_cast<void*>(all.data()), 0x5a, all.size() * sizeof(T));
    }
    T* data() { return all.data() + 16; }
    T& operator[](isize at) { return all[static_cast<std::size_t>(at + 16)]; }
    bool is_whole() const {
      const auto* const bytes = reinterpret_cast<const unsigned char*>(all.data());
      for (std::size_t b = 0; b < 16 * sizeof(T); ++b)
        if (bytes[b] != 0x5a || bytes[all.size() * sizeof(T) - 1 - b] != 0x5a) return false;
      return true;
    }
  };

  template <class T>
  void all_reduce(isize count) {
    ++call_;
    fenced<T> numbers(count);
    for (isize i = 0; i < count; ++i) numbers[i] = real<T>(me_, i);
    group_.wait(group_.all_reduce_sum(numbers.data(), count));
    bool good = numbers.is_whole();
    for (isize i = 0; i < count; ++i) good = good && same_bits(numbers[i], sum<T>(i));
    expect(good, "all_reduce_sum of " + std::to_string(count));
  }
  template <class T>
  void reduce_scatter(std::int32_t shape, bool in_place) {
    ++call_;
    const std::vector<isize> counts = parts(shape);
    isize total = 0, before = 0;
    for (std::int32_t m = 0; m < members_; ++m) {
      if (m < me_) before += counts[static_cast<std::size_t>(m)];
      total += counts[static_cast<std::size_t>(m)];
    }
    const isize own = counts[static_cast<std::size_t>(me_)];
    fenced<T> from(total), to(own);
    for (isize i = 0; i < total; ++i) from[i] = real<T>(me_, i);
    T* const result = in_place ? from.data() + before : to.data();
    group_.wait(group_.reduce_scatter_sum(static_cast<const T*>(from.data()), result, counts));
    bool good = from.is_whole() && to.is_whole();
    for (isize i = 0; i < total; ++i)
      if (!in_place || i < before || i >= before + own) good = good && same_bits(from[i], real<T>(me_, i));
    for (isize i = 0; i < own; ++i) good = good && same_bits(result[i], sum<T>(before + i));
    expect(good, "reduce_scatter_sum, shape " + std::to_string(shape));
  }
  std::byte byte(std::int32_t member, isize at) const {
    return static_cast<std::byte>(number(member, at) & 0xff);
  }
  void all_gather(std::int32_t shape, bool in_place) {
    ++call_;
    const std::vector<isize> bytes = parts(shape);
    isize total = 0, before = 0;
    for (std::int32_t m = 0; m < members_; ++m) {
      if (m < me_) before += bytes[static_cast<std::size_t>(m)];
      total += bytes[static_cast<std::size_t>(m)];
    }
    fenced<std::byte> own(part(shape, me_)), all(total);
    std::byte* const from = in_place ? all.data() + before : own.data();
    for (isize i = 0; i < part(shape, me_); ++i) from[i] = byte(me_, i);
    group_.wait(group_.all_gather(from, all.data(), bytes));
    bool good = all.is_whole() && own.is_whole();
    isize at = 0;
    for (std::int32_t m = 0; m < members_; ++m)
      for (isize i = 0; i < part(shape, m); ++i) good = good && all[at++] == byte(m, i);
    expect(good, "all_gather, shape " + std::to_string(shape));
  }
  // Piece p of each member's part, where it lies among the others; all pieces are under way at once.
  static constexpr isize pieces = 3;
  struct placed_pieces {
    std::vector<isize> counts[pieces], places[pieces];
    isize total = 0, own[pieces + 1] = {};  // where this member's pieces begin, and end
  };
  placed_pieces cut(std::int32_t shape) const {
    placed_pieces made;
    for (std::int32_t m = 0; m < members_; ++m) {
      const isize size = part(shape, m);
      for (isize p = 0; p < pieces; ++p) {
        const isize begin = size * p / pieces, end = size * (p + 1) / pieces;
        made.counts[p].push_back(end - begin);
        made.places[p].push_back(made.total + begin);
        if (m == me_) made.own[p] = made.total + begin, made.own[p + 1] = made.total + end;
      }
      made.total += size;
    }
    return made;
  }
  template <class T>
  void reduce_scatter_pieces(std::int32_t shape) {
    ++call_;
    const placed_pieces at = cut(shape);
    fenced<T> from(at.total);
    for (isize i = 0; i < at.total; ++i) from[i] = real<T>(me_, i);
    std::vector<ticket> under_way;
    for (isize p = 0; p < pieces; ++p)
      under_way.push_back(group_.reduce_scatter_sum(static_cast<const T*>(from.data()),
                                                    from.data() + at.own[p], at.counts[p], at.places[p]));
    for (const ticket each : under_way) group_.wait(each);
    bool good = from.is_whole();
    for (isize i = 0; i < at.total; ++i)
      good = good && same_bits(from[i], i >= at.own[0] && i < at.own[pieces] ? sum<T>(i) : real<T>(me_, i));
    expect(good, "pieces of reduce_scatter_sum, shape " + std::to_string(shape));
  }
  void all_gather_pieces(std::int32_t shape) {
    ++call_;
    const placed_pieces at = cut(shape);
    fenced<std::byte> all(at.total);
    for (isize i = at.own[0]; i < at.own[pieces]; ++i) all[i] = byte(me_, i - at.own[0]);
    std::vector<ticket> under_way;
    for (isize p = 0; p < pieces; ++p)
      under_way.push_back(group_.all_gather(all.data() + at.own[p], all.data(), at.counts[p], at.places[p]));
    for (const ticket each : under_way) group_.wait(each);
    bool good = all.is_whole();
    isize next = 0;
    for (std::int32_t m = 0; m < members_; ++m)
      for (isize i = 0; i < part(shape, m); ++i) good = good && all[next++] == byte(m, i);
    expect(good, "pieces of all_gather, shape " + std::to_string(shape));
  }
  void all_to_all(std::int32_t shape) {
    ++call_;
    // From a to b: what both decide.
    const auto size = [&](std::int32_t a, std::int32_t b) {
      return part(shape, a) + (shape == 1 ? 3 * b : 0);
    };
    std::vector<isize> from_bytes, to_bytes;
    isize out = 0, in = 0;
    for (std::int32_t m = 0; m < members_; ++m) {
      from_bytes.push_back(size(me_, m));
      to_bytes.push_back(size(m, me_));
      out += from_bytes.back();
      in += to_bytes.back();
    }
    fenced<std::byte> from(out), to(in);
    isize at = 0;
    for (std::int32_t m = 0; m < members_; ++m)
      for (isize i = 0; i < size(me_, m); ++i) from[at++] = byte(me_ * members_ + m, i);
    group_.wait(group_.all_to_all(from.data(), from_bytes, to.data(), to_bytes));
    bool good = from.is_whole() && to.is_whole();
    at = 0;
    for (std::int32_t m = 0; m < members_; ++m)
      for (isize i = 0; i < size(m, me_); ++i) good = good && to[at++] == byte(m * members_ + me_, i);
    expect(good, "all_to_all, shape " + std::to_string(shape));
  }
  void broadcast(isize bytes, std::int32_t root) {
    ++call_;
    fenced<std::byte> data(bytes);
    if (me_ == root)
      for (isize i = 0; i < bytes; ++i) data[i] = byte(root, i);
    group_.wait(group_.broadcast(data.data(), bytes, root));
    bool good = data.is_whole();
    for (isize i = 0; i < bytes; ++i) good = good && data[i] == byte(root, i);
    expect(good, "broadcast of " + std::to_string(bytes) + " from " + std::to_string(root));
  }
  // Nobody leaves before the last has come. All members have one clock.
  void barrier() {
    ++call_;
    struct visit {
      std::int64_t came, left;
    };
    std::this_thread::sleep_for(std::chrono::microseconds(number(me_, 0) % 2000));
    visit own{};
    own.came = std::chrono::steady_clock::now().time_since_epoch().count();
    group_.wait(group_.barrier());
    own.left = std::chrono::steady_clock::now().time_since_epoch().count();
    std::vector<visit> all(static_cast<std::size_t>(members_));
    const std::vector<isize> bytes(all.size(), static_cast<isize>(sizeof(visit)));
    group_.wait(group_.all_gather(reinterpret_cast<const std::byte*>(&own),
                                  reinterpret_cast<std::byte*>(all.data()), bytes));
    for (const visit& early : all)
      for (const visit& late : all)
        expect(early.left >= late.came, "a member left the barrier before another came");
  }
  // More calls than a group holds at a time, asked for by each member in an order of its own.
  void many_in_flight() {
    ++call_;
    constexpr isize calls = 11, count = 3001;
    std::vector<fenced<float>> numbers;
    std::vector<ticket> tickets;
    for (isize c = 0; c < calls; ++c) {
      numbers.emplace_back(count);
      for (isize i = 0; i < count; ++i) numbers.back()[i] = real<float>(me_, c * count + i);
    }
    for (isize c = 0; c < calls; ++c) {
      tickets.push_back(group_.all_reduce_sum(numbers[static_cast<std::size_t>(c)].data(), count - c));
      tickets.push_back(group_.barrier());
    }
    for (std::size_t t = 0; t < tickets.size(); ++t)
      group_.wait(tickets[me_ % 3 == 0   ? t
                          : me_ % 3 == 1 ? tickets.size() - 1 - t
                                         : (t * 5 + 3) % tickets.size()]);
    for (const ticket each : tickets) expect(group_.test(each), "a finished call stays finished");
    bool good = true;
    for (isize c = 0; c < calls; ++c)
      for (isize i = 0; i < count - c; ++i)
        good = good && same_bits(numbers[static_cast<std::size_t>(c)][i], sum<float>(c * count + i));
    expect(good, "many calls in flight");
  }

  Group& group_;
  std::uint64_t seed_, call_ = 0;
  std::int32_t members_, me_;
  std::vector<std::string> wrong_;
};

// Two groups of all ranks with calls under way in both, begun and waited for by each rank in an order of its
// own; the number of wrong results.
template <class Group>
int check_two_groups(Group& one, Group& two) {
  const isize ranks = one.size(), rank = one.member();
  int wrong = 0;
  for (isize turn = 0; turn < 10; ++turn) {
    std::vector<float> a(5000, 1.0f + static_cast<float>(rank)), b(7000, 2.0f);
    ticket first = 0, second = 0;
    if ((rank + turn) % 2 == 0) first = one.all_reduce_sum(a.data(), 5000);
    second = two.all_reduce_sum(b.data(), 7000);
    if ((rank + turn) % 2 == 1) first = one.all_reduce_sum(a.data(), 5000);
    if ((rank + turn / 2) % 2 == 0) one.wait(first);
    two.wait(second);
    one.wait(first);
    for (const float each : a) wrong += each != static_cast<float>(ranks * (ranks + 1) / 2);
    for (const float each : b) wrong += each != static_cast<float>(2 * ranks);
  }
  return wrong;
}

template <class Group>
std::vector<std::string> check_collectives(Group& group, std::uint64_t seed = 1) {
  static_assert(collective_group<Group>);
  return collective_law<Group>(group, seed).run();
}

// Groups of `ranks` ranks that overlap in every way: all, all in reverse, halves, pairs, each alone, all but
// one.
inline std::vector<std::vector<std::int32_t>> groups_of(std::int32_t ranks) {
  std::vector<std::vector<std::int32_t>> all(5);
  for (std::int32_t r = 0; r < ranks; ++r) {
    all[0].push_back(r);
    all[1].insert(all[1].begin(), r);
    all[r % 2 == 0 ? 2 : 3].push_back(r);
    if (r != ranks / 2) all[4].push_back(r);
  }
  for (std::int32_t r = 0; r < ranks; ++r) {
    all.push_back({r});
    if (r + 1 < ranks) all.push_back({r + 1, r});
  }
  std::erase_if(all, [](const auto& each) { return each.empty(); });
  return all;
}

}  // namespace motet::laws
