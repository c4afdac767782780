// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/emulate.hpp"

#include <motet/backend/groups/any_group.hpp>
#include <motet/backend/transport/nccl/nccl_group.hpp>

#include <doctest/doctest.h>

#include "nccl_ranks.hpp"
#include "transport_laws.hpp"

#include <numeric>

namespace laws = motet::laws;
namespace nccl = motet::nccl;
using laws::demand;

namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& numbers) {
  const auto* const from = reinterpret_cast<const std::byte*>(numbers.data());
  return {from, from + numbers.size() * sizeof(T)};
}
template <class T>
std::vector<T> numbers_of(const std::vector<std::byte>& bytes) {
  std::vector<T> found(bytes.size() / sizeof(T));
  std::memcpy(found.data(), bytes.data(), bytes.size());
  return found;
}
// Small whole numbers, of which every sum is exact.
template <class T>
std::vector<T> drawn(std::int32_t member, motet::isize count) {
  std::vector<T> found;
  for (motet::isize i = 0; i < count; ++i)
    found.push_back(static_cast<T>(static_cast<float>((i * 7 + member * 13) % 11 - 5)));
  return found;
}

template <class T>
void sums(nccl::group& group, nccl::endpoint& end, const std::vector<motet::isize>& counts) {
  const std::int32_t members = group.size(), me = group.member();
  const motet::isize all = std::accumulate(counts.begin(), counts.end(), motet::isize{0});
  std::vector<T> wanted(static_cast<std::size_t>(all), T(0.0f));
  for (std::int32_t m = 0; m < members; ++m)
    for (motet::isize i = 0; i < all; ++i) {
      T& at = wanted[static_cast<std::size_t>(i)];
      at = T(static_cast<float>(at) + static_cast<float>(drawn<T>(m, all)[static_cast<std::size_t>(i)]));
    }
  const auto same = [](const std::vector<T>& a, const std::vector<T>& b) {
    return bytes_of(a) == bytes_of(b);
  };
  const laws::gpu_bytes one(bytes_of(drawn<T>(me, all)));
  group.wait(group.all_reduce_sum(reinterpret_cast<T*>(one.data()), all));
  demand(same(numbers_of<T>(one.back(end.on())), wanted), "the sum of all in everyone's place");

  const motet::isize begin = std::accumulate(counts.begin(), counts.begin() + me, motet::isize{0}),
                     own = counts[static_cast<std::size_t>(me)];
  const laws::gpu_bytes two(bytes_of(drawn<T>(me, all)));
  auto* const from = reinterpret_cast<T*>(two.data());
  group.wait(group.reduce_scatter_sum(static_cast<const T*>(from), from + begin, counts));
  const auto scattered = numbers_of<T>(two.back(end.on()));
  const auto part = [&](const std::vector<T>& of) {
    return std::vector<T>(of.begin() + begin, of.begin() + begin + own);
  };
  demand(same(part(scattered), part(wanted)), "each gets its part of the sum, in its place");

  // The sums are passed on, without the host.
  std::vector<motet::isize> bytes;
  for (const motet::isize each : counts) bytes.push_back(each * static_cast<motet::isize>(sizeof(T)));
  group.wait(group.all_gather(two.data() + begin * static_cast<motet::isize>(sizeof(T)), two.data(), bytes));
  demand(same(numbers_of<T>(two.back(end.on())), wanted), "everyone gets all parts");
}

}  // namespace

TEST_CASE("groups of some ranks sum, gather, pass on and wait") {
  const std::vector<std::vector<std::int32_t>> lists{{0, 1, 2, 3}, {3, 1}, {0, 2}, {2, 3}};
  laws::run_nccl_ranks(4, [&](nccl::session&) {
    nccl::world world(4, {}, {});
    nccl::endpoint end(world, world.rank());
    end.begin_step();
    nccl::group_set set(world, lists);
    for (std::int32_t number = 0; number < 4; ++number) {
      const auto& members = lists[static_cast<std::size_t>(number)];
      if (std::find(members.begin(), members.end(), world.rank()) == members.end()) continue;
      nccl::group group(set, number, end);
      demand(members[static_cast<std::size_t>(group.member())] == world.rank(),
             "members have their places in the list");
      const auto size = members.size();
      std::vector<motet::isize> even(size, 6), uneven(size, 0);
      uneven[0] = 5;
      uneven[size - 1] += 12;
      for (const auto& counts : {even, uneven}) {
        sums<float>(group, end, counts);
        sums<double>(group, end, counts);
        sums<motet::bf16>(group, end, counts);
      }
      // All send to all, in sizes that differ.
      std::vector<motet::isize> to_each, of_each;
      const auto count = [](std::int32_t a, std::int32_t b) { return motet::isize{3 * a + 5 * b}; };
      std::vector<std::byte> out, wanted;
      for (std::int32_t m = 0; m < group.size(); ++m) {
        to_each.push_back(count(group.member(), m));
        of_each.push_back(count(m, group.member()));
        const auto sent = laws::message_text(10 * group.member() + m, number, to_each.back()),
                   got = laws::message_text(10 * m + group.member(), number, of_each.back());
        out.insert(out.end(), sent.begin(), sent.end());
        wanted.insert(wanted.end(), got.begin(), got.end());
      }
      const laws::gpu_bytes from(out), to(wanted.size());
      motet::any_group(group).all_to_all(from.data(), to_each, to.data(), of_each);
      demand(to.back(end.on()) == wanted, "parts go to their members");
      const auto text = laws::message_text(number, 7, 1001);
      const std::int32_t root = group.size() - 1;
      const laws::gpu_bytes told(group.member() == root ? text : std::vector<std::byte>(1001));
      group.wait(group.broadcast(told.data(), 1001, root));
      demand(told.back(end.on()) == text, "one tells all");
      const motet::ticket last = group.barrier();
      laws::until(end, [&] { return group.test(last); });
    }
    end.finish_step();
  });
}

TEST_CASE("many calls are under way at once") {
  laws::run_nccl_ranks(2, [&](nccl::session&) {
    nccl::world world(2, {}, {});
    nccl::endpoint end(world, world.rank());
    const std::vector<std::vector<std::int32_t>> lists{{0, 1}};
    nccl::group_set set(world, lists, {.in_flight = 4});
    nccl::group group(set, 0, end);
    std::vector<laws::gpu_bytes> memory;
    std::vector<motet::ticket> tickets;
    for (int i = 0; i < 10; ++i) memory.emplace_back(bytes_of(drawn<float>(world.rank() + i, 100)));
    for (const auto& each : memory)
      tickets.push_back(group.all_reduce_sum(reinterpret_cast<float*>(each.data()), 100));
    for (const motet::ticket each : tickets) laws::until(end, [&] { return group.test(each); });
    for (int i = 0; i < 10; ++i) {
      const auto got = numbers_of<float>(memory[static_cast<std::size_t>(i)].back(end.on()));
      for (std::size_t k = 0; k < 100; ++k)
        demand(got[k] == drawn<float>(i, 100)[k] + drawn<float>(i + 1, 100)[k], "each call sums its own");
    }
  });
}

TEST_CASE("who is no member is refused") {
  laws::run_nccl_ranks(2, [&](nccl::session&) {
    nccl::world world(2, {}, {});
    nccl::endpoint end(world, world.rank());
    const std::vector<std::vector<std::int32_t>> lists{{1}};
    nccl::group_set set(world, lists);
    std::string told;
    try {
      if (world.rank() == 0) nccl::group group(set, 0, end);
    } catch (const motet::error& problem) {
      told = problem.what();
    }
    demand(world.rank() == 1 || told.find("rank 0 is no member of group 0") != std::string::npos,
           "it is told who is no member");
  });
}
