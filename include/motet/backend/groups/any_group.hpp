// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/groups/collectives.hpp>
#include <motet/backend/groups/noted_wait.hpp>

#include <tuple>

namespace motet {

// Any collective_group behind one type, so that layers are instantiated once for all transports. Calls return
// when they are done; those that begin_... begins are finished apart, with something to compute in between.
// What they are given stays until then. One that is empty is a rank by itself.
class any_group {
 public:
  any_group() = default;
  // Keeps the address of `one`.
  template <collective_group G>
  explicit any_group(G& one) : self_(&one), calls_(&calls_of<G>), size_(one.size()), member_(one.member()) {}
  // A dry run has a seat among others, and nobody to call.
  any_group(std::int32_t size, std::int32_t member) : size_(size), member_(member) {}

  std::int32_t size() const { return size_; }
  std::int32_t member() const { return member_; }
  bool alone() const { return size_ == 1; }

  // `own` may lie in its place within `all`.
  void all_gather(const std::byte* own, std::byte* all, std::span<const isize> bytes) const {
    wait_for_call(wait_for::gather, begin_all_gather(own, all, bytes));
  }
  ticket begin_all_gather(const std::byte* own, std::byte* all, std::span<const isize> bytes,
                          std::span<const isize> places = {}) const {
    return calls_->gather(self_, own, all, bytes, places);
  }
  void all_to_all(const std::byte* from, std::span<const isize> from_bytes, std::byte* to,
                  std::span<const isize> to_bytes) const {
    wait_for_call(wait_for::exchange, begin_all_to_all(from, from_bytes, to, to_bytes));
  }
  ticket begin_all_to_all(const std::byte* from, std::span<const isize> from_bytes, std::byte* to,
                          std::span<const isize> to_bytes) const {
    return calls_->exchange(self_, from, from_bytes, to, to_bytes);
  }
  void finish(ticket which) const { wait_for_call(wait_for::rows, which); }
  // A call also moves on when it is asked whether it is done.
  bool test(ticket which) const { return calls_->test(self_, which); }
  template <class T>
  void all_reduce_sum(T* numbers, isize count) const {
    const noted_wait noted(wait_for::sum);
    std::get<sums<T>>(calls_->of_types).all_reduce(self_, numbers, count);
  }
  // Member m gets part m of the sum; `to` may lie in its place within `from`.
  template <class T>
  void reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts) const {
    wait_for_call(wait_for::sum, begin_reduce_scatter_sum(from, to, counts));
  }
  template <class T>
  ticket begin_reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts,
                                  std::span<const isize> places = {}) const {
    return std::get<sums<T>>(calls_->of_types).reduce_scatter(self_, from, to, counts, places);
  }

 private:
  void wait_for_call(wait_for what, ticket which) const {
    const noted_wait noted(what);
    calls_->wait(self_, which);
  }
  template <class T>
  struct sums {
    void (*all_reduce)(void*, T*, isize);
    ticket (*reduce_scatter)(void*, const T*, T*, std::span<const isize>, std::span<const isize>);
  };
  struct table {
    ticket (*gather)(void*, const std::byte*, std::byte*, std::span<const isize>, std::span<const isize>);
    ticket (*exchange)(void*, const std::byte*, std::span<const isize>, std::byte*, std::span<const isize>);
    void (*wait)(void*, ticket);
    bool (*test)(void*, ticket);
    std::tuple<sums<float>, sums<double>, sums<bf16>> of_types;
  };
  template <class G, class T>
  static constexpr sums<T> sums_of() {
    return {[](void* g, T* numbers, isize count) {
              auto& one = *static_cast<G*>(g);
              one.wait(one.all_reduce_sum(numbers, count));
            },
            [](void* g, const T* from, T* to, std::span<const isize> counts, std::span<const isize> places) {
              auto& one = *static_cast<G*>(g);
              if constexpr (takes_places<G>) return one.reduce_scatter_sum(from, to, counts, places);
              require_none(places);
              return one.reduce_scatter_sum(from, to, counts);
            }};
  }
  static void require_none(std::span<const isize> places) {
    if (!places.empty())
      fail(group_disagrees, "parts at places of their own, of which this group knows none");
  }
  template <class G>
  static constexpr table calls_of{[](void* g, const std::byte* own, std::byte* all,
                                     std::span<const isize> bytes, std::span<const isize> places) {
                                    auto& one = *static_cast<G*>(g);
                                    if constexpr (takes_places<G>)
                                      return one.all_gather(own, all, bytes, places);
                                    require_none(places);
                                    return one.all_gather(own, all, bytes);
                                  },
                                  [](void* g, const std::byte* from, std::span<const isize> from_bytes,
                                     std::byte* to, std::span<const isize> to_bytes) {
                                    return static_cast<G*>(g)->all_to_all(from, from_bytes, to, to_bytes);
                                  },
                                  [](void* g, ticket which) { static_cast<G*>(g)->wait(which); },
                                  [](void* g, ticket which) { return static_cast<G*>(g)->test(which); },
                                  {sums_of<G, float>(), sums_of<G, double>(), sums_of<G, bf16>()}};

  void* self_ = nullptr;
  const table* calls_ = nullptr;
  std::int32_t size_ = 1, member_ = 0;
};

}  // namespace motet
