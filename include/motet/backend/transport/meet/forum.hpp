// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/messages.hpp>
#include <motet/backend/groups/collectives.hpp>
#include <motet/backend/transport/core/sum.hpp>
#include <motet/backend/transport/meet/rendezvous.hpp>

#include <functional>
#include <memory>

namespace motet {

// In a forum all processes of a program tell each other a few words outside of its steps, however they were
// started: by rendezvous, or by what a launcher brought along (MPI). All ranks make the same calls in the
// same order.
class forum {
 public:
  using all_gather_function = std::function<std::vector<std::string>(const std::string&)>;

  forum(std::int32_t rank, std::int32_t ranks, all_gather_function by)
      : rank_(rank), ranks_(ranks), by_(std::move(by)) {}
  explicit forum(const rendezvous_options& options) : forum(std::make_shared<rendezvous>(options)) {}

  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return ranks_; }
  // The result is what each rank brings, in their order.
  std::vector<std::string> all_gather(const std::string& own) const { return by_(own); }

 private:
  explicit forum(const std::shared_ptr<rendezvous>& at)
      : forum(at->rank(), at->ranks(), [at](const std::string& own) { return at->all_gather(own); }) {}
  std::int32_t rank_, ranks_;
  all_gather_function by_;
};

// All ranks as a group over memory of the host; a call is done when it returns.
class meeting_group {
 public:
  explicit meeting_group(const forum& at) : at_(at) {}

  std::int32_t size() const { return at_.ranks(); }
  std::int32_t member() const { return at_.rank(); }
  bool test(ticket) const { return true; }
  void wait(ticket) const {}

  ticket barrier() {
    at_.all_gather({});
    return 0;
  }
  template <class T>
  ticket all_reduce_sum(T* numbers, isize count) {
    const isize bytes = count * static_cast<isize>(sizeof(T));
    const std::vector<std::string> all = meet(numbers, bytes, bytes);
    std::vector<const std::byte*> parts;
    parts.reserve(all.size());
    for (const std::string& each : all) parts.push_back(reinterpret_cast<const std::byte*>(each.data()));
    std::byte* const out = reinterpret_cast<std::byte*>(numbers);
    if (count > 0) transports::sum_parts<T>(parts.data(), size(), &out, 1, {0, count});
    return 0;
  }
  ticket all_gather(const std::byte* own, std::byte* all, std::span<const isize> bytes) {
    const std::vector<std::string> parts = meet(own, bytes[as_size(member())], -1);
    for (std::size_t m = 0; m < parts.size(); ++m) {
      require(static_cast<isize>(parts[m].size()), bytes[m], m);
      if (bytes[m] > 0) std::memcpy(all, parts[m].data(), parts[m].size());
      all += bytes[m];
    }
    return 0;
  }
  ticket broadcast(std::byte* data, isize bytes, std::int32_t root) {
    const std::vector<std::string> parts = meet(data, member() == root ? bytes : 0, -1);
    const std::string& from = parts[as_size(root)];
    require(static_cast<isize>(from.size()), bytes, as_size(root));
    if (bytes > 0) std::memcpy(data, from.data(), from.size());
    return 0;
  }

 private:
  static void require(isize got, isize wanted, std::size_t member) {
    if (got != wanted)
      fail(group_disagrees,
           sentence({"member ", member, " brings ", got, " bytes, ", wanted, " were wanted"}));
  }
  // Every member gives its bytes to all; each should bring `wanted` of them, where that is not negative.
  std::vector<std::string> meet(const void* own, isize bytes, isize wanted) const {
    std::vector<std::string> all = at_.all_gather(
        bytes > 0 ? std::string(static_cast<const char*>(own), as_size(bytes)) : std::string());
    for (std::size_t m = 0; m < all.size() && wanted >= 0; ++m)
      require(static_cast<isize>(all[m].size()), wanted, m);
    return all;
  }
  const forum& at_;
};

}  // namespace motet
