// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/core/posted_group.hpp>
#include <motet/backend/transport/gpu/gpu_group.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu.hpp>

namespace motet::shared_gpu {

namespace detail {

// Begins to add numbers [at.begin, at.end) of the parts, in their order, and to write the sum to each of
// `outs`.
using sum_launch = void (*)(cudaStream_t, const std::byte* const* parts, isize part_count,
                            std::byte* const* outs, isize out_count, interval at);

// An out may be a part: whoever reads an element of all parts then writes it. Moves each byte once; 16 at a
// time.
template <class T>
struct sum_members {
  static constexpr isize most = 32;
  using accumulator = std::conditional_t<std::is_same_v<T, bf16>, float, T>;
  const T* parts[most];
  T* outs[most];
  int part_count, out_count;
  interval at;
  bool packs;  // everything lies at multiples of 16 bytes

  template <class Thread>
  MOTET_HOST_DEVICE void operator()(Thread& self) const {
    constexpr isize size = cuda::pack<T>::size;
    const isize count = at.end - at.begin, whole = packs ? count / size : 0;
    for (isize i = self.number(); i < whole; i += self.all()) {
      const isize from = at.begin + i * size;
      accumulator sum[size];
      {
        const cuda::pack<T> first = cuda::load_pack(parts[0] + from);
        MOTET_UNROLLED
        for (int e = 0; e < size; ++e) sum[e] = static_cast<accumulator>(first.of[e]);
      }
      for (int p = 1; p < part_count; ++p) {
        const cuda::pack<T> next = cuda::load_pack(parts[p] + from);
        MOTET_UNROLLED
        for (int e = 0; e < size; ++e) sum[e] += static_cast<accumulator>(next.of[e]);
      }
      cuda::pack<T> result;
      MOTET_UNROLLED
      for (int e = 0; e < size; ++e) result.of[e] = T(sum[e]);
      for (int o = 0; o < out_count; ++o) cuda::store_pack(outs[o] + from, result);
    }
    for (isize i = at.begin + whole * size + self.number(); i < at.end; i += self.all()) {
      auto sum = static_cast<accumulator>(parts[0][i]);
      for (int p = 1; p < part_count; ++p) sum += static_cast<accumulator>(parts[p][i]);
      for (int o = 0; o < out_count; ++o) outs[o][i] = T(sum);
    }
  }
};
template <class T>
void begin_sum(cudaStream_t stream, const std::byte* const* parts, isize part_count, std::byte* const* outs,
               isize out_count, interval at) {
  if (at.size() <= 0) return;
  if (part_count > sum_members<T>::most)
    fail(group_disagrees,
         sentence({part_count, " members share a GPU, sums are of ", sum_members<T>::most, " at most"}));
  sum_members<T> all{};
  all.part_count = static_cast<int>(part_count);
  all.out_count = static_cast<int>(out_count);
  all.at = at;
  all.packs = true;
  const auto lies_well = [&](const T* data) {
    all.packs = all.packs && reinterpret_cast<std::uintptr_t>(data + at.begin) % 16 == 0;
  };
  for (isize p = 0; p < part_count; ++p) lies_well(all.parts[p] = reinterpret_cast<const T*>(parts[p]));
  for (isize o = 0; o < out_count; ++o) lies_well(all.outs[o] = reinterpret_cast<T*>(outs[o]));
  cuda::launch(stream, {cuda::blocks_for(at.size(), 256 * cuda::pack<T>::size), 256, 0}, all);
}

// By which numbers a call adds; none: it only moves bytes.
inline sum_launch launch_of(const transports::call& it) {
  if (it.sum == transports::sum_parts<float>) return &begin_sum<float>;
  if (it.sum == transports::sum_parts<double>) return &begin_sum<double>;
  if (it.sum == transports::sum_parts<bf16>) return &begin_sum<bf16>;
  return nullptr;
}

// A call, and points in the work of its member: what it brings is there; its part is done.
struct post : transports::call {
  sum_launch begin_sum = nullptr;
  cuda::event ready, done;
  bool is_piece() const { return !places.empty(); }
};

}  // namespace detail

class group_set : public transports::posted_groups<group, world, detail::post> {
 public:
  using posted_groups::posted_groups;
};

// One member's end. A call is done when every member's part was given to its stream, and then what this
// member computes next sees it; the host waits for nothing else. Of a group that went beside, what is
// computed sees it after see(), and does not wait before. A piece, which has places of its own, goes beside,
// too, and who waits for it waits for no piece behind it.
class group : public transports::posted_group<group, world, endpoint, detail::post, transports::gpu_group> {
  using base = transports::posted_group<group, world, endpoint, detail::post, transports::gpu_group>;

 public:
  using seen = transports::gpu_group;

  group(group_set& set, std::int32_t number, endpoint& own) : base(set, number, own) {}
  ~group() override { end_calls(); }

  // From the first call on, a stream of its own does this member's part.
  void go_beside() { beside_ = true; }
  void see() override {
    if (!std::exchange(unseen_, false)) return;
    through_.mark(end().beside());
    through_.hold(end().on().stream());
  }

  void wait(ticket which) override {
    base::wait(which);
    if (beside_ || !own_post(which).is_piece()) return;
    own_post(which).done.hold(end().on().stream());
    // Others have read what was given them, too.
    if (which + 1 == begun()) see();
  }

 private:
  friend base;
  using post = detail::post;

  bool goes_beside(const post& own) const { return beside_ || own.is_piece(); }
  // It does this member's part.
  cudaStream_t stream(const post& own) { return goes_beside(own) ? end().beside() : end().on().stream(); }
  void posts(post& own) {
    own.begin_sum = detail::launch_of(own);
    own.ready.mark(end().on().stream());
  }
  void perform(const std::vector<post>& posts) {
    const auto me = as_size(member());
    const post& own = posts[me];
    const cudaStream_t by = stream(own);
    for (std::size_t m = 0; m < posts.size(); ++m)
      if (m != me || goes_beside(own)) posts[m].ready.hold(by);
    switch (own.what) {
      case transports::call_kind::barrier: break;
      case transports::call_kind::all_reduce:
      case transports::call_kind::reduce_scatter:
        the_sum(posts, [&](const std::byte* const* parts, std::byte* const* outs, isize count, interval at) {
          own.begin_sum(by, parts, size(), outs, count, at);
        });
        break;
      default:
        each_copy(posts, [&](std::byte* to, const std::byte* from, isize bytes) {
          if (bytes > 0 && to != from)
            cuda::check(cudaMemcpyAsync(to, from, as_size(bytes), cudaMemcpyDeviceToDevice, by),
                        "cudaMemcpyAsync");
        });
    }
  }
  void performed(post& own) { own.done.mark(stream(own)); }
  void completes(const std::vector<post>& posts) {
    const auto me = as_size(member());
    for (std::size_t m = 0; m < posts.size(); ++m)
      if (m != me) posts[m].done.hold(stream(posts[me]));
    unseen_ = unseen_ || goes_beside(posts[me]);
  }
  void leaves(const std::vector<post>& posts) {
    for (const post& each : posts) each.done.finish();
  }

  bool beside_ = false, unseen_ = false;
  cuda::event through_;
};

static_assert(collective_group<group>, "motet: ranks that share a GPU offer every collective");

}  // namespace motet::shared_gpu
