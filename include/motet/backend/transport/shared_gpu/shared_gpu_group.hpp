// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/core/posted_group.hpp>
#include <motet/backend/transport/gpu/gpu_group.hpp>
#include <motet/backend/transport/shared_gpu/shared_gpu.hpp>

namespace motet::shared_gpu {

namespace detail {

// A call, and points in the work of its member: what it brings is there; its part is done.
struct post : transports::call {
  transports::sum_launch begin_sum = nullptr;
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
    own.begin_sum = begin_sum_;
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
