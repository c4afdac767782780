// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/nccl/nccl_channels.hpp>

namespace motet::nccl {

// The meetings of a program: of each set of ranks that meet a communicator, on which its meetings follow each
// other.
class meetings {
 public:
  meetings(const session& all, std::span<const std::vector<std::int32_t>> of) : all_(all), items_(of.size()) {
    std::map<std::vector<std::int32_t>, std::size_t> numbers;
    std::vector<std::vector<std::int32_t>> sets;
    for (std::size_t m = 0; m < of.size(); ++m) {
      items_[m].members = of[m];
      if (of[m].size() < 2) continue;
      const auto [at, is_new] = numbers.try_emplace(of[m], sets.size());
      if (is_new) sets.push_back(of[m]);
      items_[m].set = at->second;
    }
    sets_ = all.split(sets);
  }

  void begin_step() {
    for (item& each : items_) each.now = doing::nothing;
  }
  // Numbers of the host: to the GPUs and back.
  bool gather(std::int32_t meeting, std::int32_t member, const std::byte* own, isize bytes, std::byte* to) {
    item& it = of(meeting);
    if (it.now == doing::nothing) {
      const isize count = size_of(it);
      it.host.resize(bytes * count);
      if (bytes > 0) std::memcpy(it.host.here.data() + member * bytes, own, as_size(bytes));
      if (count > 1) begin_gather(it, member, bytes);
      it.now = doing::sizes;
    }
    if (it.now == doing::sizes) {
      if (size_of(it) > 1 && !it.done.is_past()) return false;
      it.now = doing::rows;
    }
    if (bytes > 0) std::memcpy(to, it.host.here.data(), as_size(bytes * size_of(it)));
    return true;
  }
  bool exchange(std::int32_t meeting, std::int32_t member, const std::byte* own,
                std::span<const byte_range> out, std::byte* to, std::span<const byte_range> in,
                cudaStream_t compute) {
    item& it = of(meeting);
    if (it.now == doing::nothing) {
      it.now = doing::rows;
      pass(it, member, own, out, to, in, compute);
      it.done.hold(compute);
    }
    return true;
  }
  // All rows come at once into memory here, as who brings them cannot wait to be asked; first their sizes.
  bool fetch(std::int32_t meeting, std::int32_t member, const std::byte* own, std::span<const byte_range> out,
             std::int32_t from, std::byte* to, isize bytes, cudaStream_t compute) {
    item& it = of(meeting);
    if (it.now == doing::nothing) {
      it.member = member;
      it.own = own;
      it.out = out;
      const isize count = size_of(it), row = count * static_cast<isize>(sizeof(isize));
      it.host.resize(row * count);
      auto* const mine = reinterpret_cast<isize*>(it.host.here.data() + member * row);
      for (isize m = 0; m < count; ++m) mine[m] = out[as_size(m)].bytes;
      if (count > 1) begin_gather(it, member, row);
      it.now = doing::sizes;
    }
    move(it, compute);
    if (from == member || bytes == 0) return true;
    if (it.now != doing::rows) return false;
    const byte_range& there = it.in[as_size(from)];
    if (there.bytes != bytes)
      fail(group_disagrees,
           sentence({"member ", from, " brings ", there.bytes, " bytes, ", bytes, " were wanted"}));
    cuda::check(
        cudaMemcpyAsync(to, it.rows.data() + there.offset, as_size(bytes), cudaMemcpyDeviceToDevice, compute),
        "cudaMemcpyAsync");
    return true;
  }
  // Goes on with what nobody asks for any more. True: nothing waits for its turn.
  bool move(cudaStream_t compute) {
    bool done = true;
    for (item& each : items_)
      if (each.now == doing::sizes && each.own != nullptr) done = move(each, compute) && done;
    return done;
  }
  bool over() const {
    for (const item& each : items_)
      if (each.now != doing::nothing && each.members.size() > 1 && !each.done.is_past()) return false;
    return true;
  }
  // A meeting lacks its members while it has begun and is not done, as channels do.
  void lacking(std::vector<std::int32_t>& into) const {
    for (const item& each : items_)
      if (each.now != doing::nothing && each.members.size() > 1 && each.before.is_past() &&
          !each.done.is_past())
        into.insert(into.end(), each.members.begin(), each.members.end());
  }
  void look() const {
    for (const communicator& each : sets_)
      if (each) each.look();
  }
  void abort() noexcept {
    for (communicator& each : sets_) each.abort();
  }

 private:
  enum class doing : std::uint8_t { nothing, sizes, rows };
  // Numbers on their way between the host and the GPU.
  struct room {
    cuda::pinned_buffer<std::byte> here;
    cuda::buffer<std::byte> there;
    void resize(isize bytes) {
      if (here.size() >= bytes) return;
      here = cuda::pinned_buffer<std::byte>(bytes);
      there = cuda::buffer<std::byte>(bytes);
    }
  };
  struct item {
    std::vector<std::int32_t> members;
    std::size_t set = 0;
    doing now = doing::nothing;
    room host;
    cuda::event done, before;
    // The rest is of a fetch.
    std::int32_t member = 0;
    const std::byte* own = nullptr;
    std::span<const byte_range> out;
    std::vector<byte_range> in;
    cuda::buffer<std::byte> rows;
  };

  item& of(std::int32_t meeting) { return items_[as_size(meeting)]; }
  static isize size_of(const item& it) { return static_cast<isize>(it.members.size()); }
  const communicator& by(const item& it) const { return sets_[it.set]; }

  void begin_gather(item& it, std::int32_t member, isize bytes) {
    const communicator& one = by(it);
    it.before = {};
    const auto size = as_size(bytes), all = size * it.members.size(), mine = as_size(member) * size;
    cuda::check(cudaMemcpyAsync(it.host.there.data() + mine, it.host.here.data() + mine, size,
                                cudaMemcpyHostToDevice, one.stream()),
                "cudaMemcpyAsync");
    if (size > 0)
      check(ncclAllGather(it.host.there.data() + mine, it.host.there.data(), size, ncclUint8, one.get(),
                          one.stream()),
            "ncclAllGather");
    one.settle("ncclAllGather", all_.patience());
    cuda::check(
        cudaMemcpyAsync(it.host.here.data(), it.host.there.data(), all, cudaMemcpyDeviceToHost, one.stream()),
        "cudaMemcpyAsync");
    it.done.mark(one.stream());
  }
  bool move(item& it, cudaStream_t compute) {
    if (it.now != doing::sizes || (size_of(it) > 1 && !it.done.is_past())) return it.now != doing::sizes;
    const isize count = size_of(it);
    const auto* const sizes = reinterpret_cast<const isize*>(it.host.here.data());
    it.in.assign(it.members.size(), {});
    isize end = 0;
    for (isize m = 0; m < count; ++m) {
      if (m == it.member) continue;
      it.in[as_size(m)] = {end, sizes[m * count + it.member]};
      end += round_up(sizes[m * count + it.member], 256);
    }
    if (it.rows.size() < end) it.rows = cuda::buffer<std::byte>(end);
    std::vector<byte_range> out(it.out.begin(), it.out.end());
    out[as_size(it.member)] = {};
    pass(it, it.member, it.own, out, it.rows.data(), it.in, compute);
    it.done.hold(compute);
    it.now = doing::rows;
    return true;
  }
  void pass(item& it, std::int32_t member, const std::byte* own, std::span<const byte_range> out,
            std::byte* to, std::span<const byte_range> in, cudaStream_t compute) {
    const auto me = as_size(member);
    const auto copy = [&](cudaStream_t stream) {
      if (out[me].bytes > 0)
        cuda::check(cudaMemcpyAsync(to + in[me].offset, own + out[me].offset, as_size(out[me].bytes),
                                    cudaMemcpyDeviceToDevice, stream),
                    "cudaMemcpyAsync");
    };
    if (size_of(it) < 2) {
      copy(compute);
      it.done.mark(compute);
      return;
    }
    const communicator& one = by(it);
    one.after(compute, it.before);
    one.grouped(all_.patience(), [&](ncclComm_t handle) {
      for (std::size_t m = 0; m < out.size(); ++m) {
        if (m == me) continue;
        const int peer = static_cast<int>(m);
        if (out[m].bytes > 0)
          check(ncclSend(own + out[m].offset, as_size(out[m].bytes), ncclUint8, peer, handle, one.stream()),
                "ncclSend");
        if (in[m].bytes > 0)
          check(ncclRecv(to + in[m].offset, as_size(in[m].bytes), ncclUint8, peer, handle, one.stream()),
                "ncclRecv");
      }
    });
    copy(one.stream());
    it.done.mark(one.stream());
  }

  const session& all_;
  std::vector<item> items_;
  std::vector<communicator> sets_;
};

}  // namespace motet::nccl
