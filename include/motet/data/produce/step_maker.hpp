// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/produce/step_share.hpp>
#include <motet/data/produce/tell_step.hpp>
#include <motet/data/steps/made_ahead.hpp>
#include <motet/tensor/arena.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace motet {

// Which step is wanted, and where one of those before it begins, or itself: `from` is the place of step
// `known`. Whoever makes it needs no more.
struct step_request {
  std::uint64_t step = 0, known = 0;
  data_position from;
};

struct finished_step {
  step_kind kind = step_kind::step;
  std::string words;
  buffer<std::byte> memory;
  std::span<const std::byte> pixels;
  std::vector<isize> begins{};  // of each sample's pictures among all
  std::uint64_t words_checksum = 0, pixels_checksum = 0;
};

// Makes the steps that are wanted. Whoever takes them may be many, and each takes all that it wants.
class step_source {
 public:
  step_source() = default;
  step_source(const step_source&) = delete;
  step_source& operator=(const step_source&) = delete;
  virtual ~step_source() = default;

  // Refuses a place where no run of this data can stand.
  virtual void want(const step_request& which) = 0;
  // Null: it is not made yet.
  virtual std::shared_ptr<const finished_step> made(std::uint64_t step) const = 0;
  // One of `takers` has it.
  virtual void taken(std::uint64_t step, isize takers) = 0;
};

// Makes steps of Maker's on threads, the first ones that are wanted first, whatever their order; `told` is
// called when there is one more.
template <class Maker>
class step_maker final : public step_source {
 public:
  using slot = typename Maker::slot;

  template <class Source, class Config>
  step_maker(const Source& source, const tokenizer& words, const Config& config, std::function<void()> told)
      : check_([&source, config](const data_position& at) { check_place(source, config, at); }),
        told_(std::move(told)),
        maker_(source, words, config),
        memory_((config.ready + 1) * maker_.room()),
        made_(*this, config.ready + 1) {
    for (isize s = 0; s < made_.size(); ++s)
      maker_.prepare(made_.slot(s), memory_.data() + s * maker_.room());
    made_.start(config.threads);
    pump_ = std::thread([this] { pump(); });
  }
  ~step_maker() override {
    {
      const std::lock_guard hold(guard_);
      closing_ = true;
    }
    asked_.notify_all();
    pump_.join();
  }

  void want(const step_request& which) override {
    check_(which.from);
    if (which.known > which.step || which.step - which.known > most_apart)
      fail(bad_data_state, sentence({"step ", which.step, ", from the place of step ", which.known}));
    {
      const std::lock_guard hold(guard_);
      const bool has = finished_.contains(which.step) ||
                       std::find(making_.begin(), making_.end(), which.step) != making_.end();
      if (!has) wanted_.emplace(which.step, which);
    }
    asked_.notify_all();
  }
  std::shared_ptr<const finished_step> made(std::uint64_t step) const override {
    const std::lock_guard hold(guard_);
    const auto found = finished_.find(step);
    return found != finished_.end() ? found->second.of : failure_;
  }
  void taken(std::uint64_t step, isize takers) override {
    const std::lock_guard hold(guard_);
    const auto found = finished_.find(step);
    if (found != finished_.end() && ++found->second.taken >= takers) finished_.erase(found);
  }

 private:
  friend class made_ahead<step_maker, slot>;
  static constexpr std::uint64_t most_apart = 4096;  // steps that are planned for the sake of one
  // Steps for which nobody came, as a rank that wanted them is gone.
  static constexpr std::size_t most_kept = 64;
  struct closed {};  // ends a thread that waits for somebody to want a step
  struct kept {
    std::shared_ptr<const finished_step> of;
    isize taken = 0;
  };

  auto worker() { return maker_.worker(); }
  void begin(auto& by, slot& own, isize) {
    step_request next;
    {
      std::unique_lock hold(guard_);
      asked_.wait(hold, [&] { return closing_ || !wanted_.empty(); });
      if (closing_) throw closed{};
      next = std::move(wanted_.extract(wanted_.begin()).mapped());
      making_.push_back(next.step);
    }
    // What was planned last may be nearer than what the request knows.
    if (!planned_ || planned_->step > next.step || planned_->step < next.known)
      planned_ = place{next.known, next.from};
    for (; planned_->step <= next.step; ++planned_->step) maker_.plan(by, own, planned_->at);
  }
  isize parts(const slot& own) const { return maker_.parts(own); }
  void fill(auto& by, slot& own, isize part, isize& at) { maker_.fill(by, own, part, at); }
  void complete(auto& by, slot& own) { maker_.complete(by, own); }

  // Takes what is made out of its slot, so that the slot is free for another one.
  void pump() {
    std::shared_ptr<finished_step> out;
    do {
      out = std::make_shared<finished_step>();
      try {
        copy(made_.next(), *out);
      } catch (const std::exception& problem) {
        out->kind = step_kind::failed;
        out->words = problem.what();
      } catch (const closed&) {
        return;
      }
      out->words_checksum = checksum(std::string_view(out->words));
      out->pixels_checksum = checksum(out->pixels);
      {
        const std::lock_guard hold(guard_);
        if (out->kind == step_kind::failed) {
          failure_ = out;
        } else {
          finished_.emplace(making_.front(), kept{out});
          making_.pop_front();
          if (finished_.size() > most_kept) finished_.erase(finished_.begin());
        }
      }
      told_();
    } while (out->kind != step_kind::failed);
  }
  static void copy(const slot& from, finished_step& to) {
    step_words words;
    tell_step(from, words);
    write_words(words, to.words);
    const std::span<const std::byte> pixels = from.shown.used();
    to.memory = buffer<std::byte>(static_cast<isize>(pixels.size()));
    std::copy(pixels.begin(), pixels.end(), to.memory.data());
    to.pixels = {to.memory.data(), pixels.size()};
    to.begins = picture_begins(words, static_cast<isize>(pixels.size()));
  }

  struct place {
    std::uint64_t step;
    data_position at;
  };
  std::function<void(const data_position&)> check_;
  std::function<void()> told_;
  Maker maker_;
  std::optional<place> planned_;
  mutable std::mutex guard_;
  std::condition_variable asked_;
  bool closing_ = false;
  std::map<std::uint64_t, step_request> wanted_;
  std::deque<std::uint64_t> making_;  // in the order in which they were begun, and come out
  std::map<std::uint64_t, kept> finished_;
  std::shared_ptr<const finished_step> failure_;
  buffer<std::byte> memory_;
  made_ahead<step_maker, slot> made_;
  std::thread pump_;  // last: it takes what the others make
};

}  // namespace motet
