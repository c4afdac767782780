// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/cuda/device/context.hpp>
#include <motet/backend/cuda/device/graphs.hpp>
#include <motet/backend/cuda/device/taken_paths.hpp>
#include <motet/backend/groups/microbatch_spread.hpp>

#include <bit>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

namespace motet::cuda {

namespace detail {

// A group whose calls become calls of a record; what any_group asks of it.
class recorded_group {
 public:
  recorded_group(const any_group& real, recorded_work& into) : real_(real), into_(&into) {}
  std::int32_t size() const { return real_.size(); }
  std::int32_t member() const { return real_.member(); }

  template <class T>
  ticket all_reduce_sum(T* numbers, isize count) {
    into_->then([real = real_, numbers, count] { real.all_reduce_sum(numbers, count); });
    return done;
  }
  template <class T>
  ticket reduce_scatter_sum(const T* from, T* to, std::span<const isize> counts,
                            std::span<const isize> places = {}) {
    return begin(counts, places, [real = real_, from, to](const exchange& of) {
      return real.begin_reduce_scatter_sum(from, to, of.first, of.second);
    });
  }
  ticket all_gather(const std::byte* own, std::byte* all, std::span<const isize> bytes,
                    std::span<const isize> places = {}) {
    return begin(bytes, places, [real = real_, own, all](const exchange& of) {
      return real.begin_all_gather(own, all, of.first, of.second);
    });
  }
  ticket all_to_all(const std::byte* from, std::span<const isize> from_bytes, std::byte* to,
                    std::span<const isize> to_bytes) {
    return begin(from_bytes, to_bytes, [real = real_, from, to](const exchange& of) {
      return real.begin_all_to_all(from, of.first, to, of.second);
    });
  }
  void wait(ticket which) {
    if (which == done) return;
    into_->then([real = real_, own = begun_[which - 1]] { real.finish(own->which); });
  }
  bool test(ticket) const { return false; }
  // Layers have no way to these.
  ticket broadcast(std::byte*, isize, std::int32_t) const { return done; }
  ticket barrier() const { return done; }

 private:
  static constexpr ticket done = 0;
  struct exchange {
    std::vector<isize> first, second;  // the numbers that the call was given
    ticket which = 0;                  // in the replay under way
  };
  // call(exchange) begins it, and is made in each replay.
  template <class Call>
  ticket begin(std::span<const isize> first, std::span<const isize> second, Call call) {
    const auto own =
        std::make_shared<exchange>(exchange{{first.begin(), first.end()}, {second.begin(), second.end()}});
    into_->then([own, call] { own->which = call(*own); });
    begun_.push_back(own);
    return begun_.size();
  }

  any_group real_;
  recorded_work* into_;
  std::vector<std::shared_ptr<exchange>> begun_;
};

// A spread whose groups are recorded.
class recorded_spread {
 public:
  recorded_spread(const microbatch_spread& of, recorded_work& into)
      : tensor_(of.tensor, into), context_(of.context, into), experts_(of.experts, into), all_(of) {
    if (!of.tensor.alone()) all_.tensor = any_group(tensor_);
    if (!of.context.alone()) all_.context = any_group(context_);
    if (!of.experts.alone()) all_.experts = any_group(experts_);
    if (of.ends == nullptr) return;
    ends_ = *of.ends;
    ends_.tensor = all_.tensor;
    all_.ends = &ends_;
  }
  recorded_spread(const recorded_spread&) = delete;
  recorded_spread& operator=(const recorded_spread&) = delete;
  const microbatch_spread& all() const { return all_; }

 private:
  recorded_group tensor_, context_, experts_;
  microbatch_spread all_, ends_;
};

}  // namespace detail

// A part of the engine: work that its stream is given again and again in the same shape becomes CUDA graphs.
// MOTET_CUDA_GRAPHS=0 does without.
class recorder {
 public:
  explicit recorder(engine& on) : on_(on) {
    const char* const asked = std::getenv("MOTET_CUDA_GRAPHS");
    wanted_ = asked == nullptr || std::string_view(asked) != "0";
  }
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;
  ~recorder() {
    if (loads_ != nullptr) cudaStreamDestroy(loads_);
  }

  // Of a rank's lanes, the first one's wish is that of all.
  bool wanted() const { return wanted_ && (&on_.first() == &on_ || on_.first().part<recorder>().wanted()); }
  void want(bool graphs) { wanted_ = graphs; }
  // From now on so many records are kept; those that are there go.
  void keep(std::size_t most) {
    on_.finish();
    shelf_ = record_shelf(most);
  }
  // Callers forget records before memory goes away that records know by its address.
  void forget() {
    if (shelf_.size() > 0) on_.finish();
    shelf_.clear();
  }
  // The reason for which graphs were given up is empty while they are not.
  const std::string& not_recorded() const { return why_; }
  std::size_t recorded() const { return shelf_.size(); }
  long replayed() const { return replayed_; }
  std::size_t most_records() const { return shelf_.most_records(); }

  // See run_recorded().
  template <class Shape, class Work, class... State>
  void run(context& ctx, Shape& shape, Work& work, State&... state) {
    // Where gradients are kept elsewhere, their place is another one each time.
    if (ctx.measuring()) return work(ctx);
    if (!wanted()) return by_kernels(ctx, work, why_.empty() ? detour{"graphs are not asked for"} : failed_);
    if (ctx.sink.where != nullptr) return by_kernels(ctx, work, {"gradients have another place each time"});
    shape_.clear();
    shape(shape_);
    tell(ctx);
    recorded_work* found = shelf_.find(shape_);
    if (found == nullptr) {
      if (!shelf_.came_before(shape_))
        return by_kernels(ctx, work, {"its shape did not come before, or new ones are not looked at"});
      if (shelf_.full()) on_.finish();
      found = &shelf_.make(shape_);
      try {
        record(*found, ctx, work, state...);
      } catch (const std::exception& problem) {
        on_.copy_into(nullptr);
        shelf_.drop_newest();
        wanted_ = false;
        why_ = problem.what();
        failed_ = detour{"recording failed", 0, on_.part<taken_paths>().kept(why_)}.with(work_not_recorded);
        return by_kernels(ctx, work, failed_);  // it runs as it is, or says what is wrong
      }
    }
    took(ctx, "work", "a graph");
    const profiler_range shown("replay");
    found->replay(on_.stream());
    ++replayed_;
    const auto& left = std::any_cast<const std::tuple<arena, State...>&>(found->found);
    std::tie(ctx.memory, state...) = left;
  }

 private:
  template <class Work>
  void by_kernels(context& ctx, Work& work, const detour& why) {
    took(ctx, "work", "single kernels", why);
    work(ctx);
  }
  template <class Work, class... State>
  void record(recorded_work& into, const context& ctx, Work& work, State&... state) {
    struct teller {
      gradient_sink real;
      recorded_work* into;
    } told{ctx.sink, &into};
    std::unique_ptr<detail::recorded_spread> shared;
    context recording = ctx;
    if (ctx.shared != nullptr) {
      shared = std::make_unique<detail::recorded_spread>(*ctx.shared, into);
      recording.shared = &shared->all();
    }
    if (ctx.sink)
      recording.sink = {
          [](void* self, const void* data, isize count) {
            const auto& own = *static_cast<const teller*>(self);
            own.into->then([real = own.real, data, count] { real.told(real.self, data, count); });
          },
          &told};
    // The host's arrays do not change with a shape: they are copied once, beside what is recorded.
    if (loads_ == nullptr)
      check(cudaStreamCreateWithFlags(&loads_, cudaStreamNonBlocking), "cudaStreamCreate");
    on_.copy_into(&into.copies, loads_);
    into.record(on_.stream(), [&] { work(recording); });
    on_.copy_into(nullptr);
    check(cudaStreamSynchronize(loads_), "cudaStreamSynchronize");
    into.found = std::tuple<arena, State...>(recording.memory, state...);
  }

  // Every operation depends on this.
  void tell(const context& ctx) {
    const auto address = [](arena of) { return reinterpret_cast<isize>(of.take<std::byte>(0)); };
    shape_.insert(shape_.end(),
                  {static_cast<isize>(ctx.draws.seed), ctx.draws.first_row, ctx.draws.dropout ? 1 : 0,
                   address(ctx.memory), address(ctx.scratch), std::bit_cast<isize>(ctx.sample_share),
                   ctx.sink ? 1 : 0, reinterpret_cast<isize>(ctx.sink.self), ctx.shared != nullptr ? 1 : 0});
    if (ctx.shared == nullptr) return;
    const microbatch_spread& of = *ctx.shared;
    shape_.insert(shape_.end(), {of.tensor.size(), of.tensor.member(), of.context.size(), of.context.member(),
                                 of.cut.parts, of.cut.balanced ? 1 : 0, of.pieces, of.experts.size()});
    // All else follows from these; where samples are several sequences, from these alone.
    for (const auto* each : {&of.tensor_rows, &of.owned_rows, &of.expert_rows, &of.expert_samples})
      shape_.insert(shape_.end(), each->begin(), each->end());
    for (const sequences* each : {&of.whole, &of.own, &of.mine}) {
      shape_.insert(shape_.end(), {each->samples, each->offsets == nullptr ? each->length : -1});
      if (each->offsets != nullptr)
        shape_.insert(shape_.end(), each->offsets, each->offsets + each->samples + 1);
    }
  }

  engine& on_;
  bool wanted_ = true;
  long replayed_ = 0;
  std::string why_;
  detour failed_;
  record_shelf shelf_{256};
  record_shelf::shape shape_;
  cudaStream_t loads_ = nullptr;
};

// work(ctx), or a replay of it. What it gives the GPU depends on nothing but the numbers that shape(numbers)
// appends to a std::vector<isize>, on the context, and on memory that is read; so it is recorded when such a
// shape comes again, and replayed from then on. `state`: what it changes on the host, besides ctx.memory; a
// replay leaves it as the recording did. What it calls on other ranks, and tells the context's sink, is done
// between parts of the replay.
template <class Shape, class Work, class... State>
void run_recorded(context& ctx, Shape&& shape, Work&& work, State&... state) {
  if (ctx.on == nullptr) return work(ctx);
  ctx.on->part<recorder>().run(ctx, shape, work, state...);
}
// Callers forget records where memory that these know by its address goes away, or may have.
inline void forget_recorded(context& ctx) {
  if (ctx.on != nullptr) ctx.on->part<recorder>().forget();
}

}  // namespace motet::cuda
