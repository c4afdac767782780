// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/produce/tell_step.hpp>
#include <motet/front/feed/produced_queue.hpp>
#include <motet/tools/data_folder.hpp>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace motet {

// What a producer's step may be, for those who asked for batches by this configuration.
inline step_limits limits_of(const loader_config& config, const pair_source&, const tokenizer& words) {
  return {.count = config.batch,
          .pictures = config.batch,
          .room = picture_room::bytes(config.batch, config.example.image),
          .context = config.example.context,
          .vocabulary = words.size(),
          .side = config.example.image,
          .bytes = config.form == picture_form::bytes};
}
inline step_limits limits_of(const sample_loader_config& config, const sample_source& source,
                             const tokenizer& words) {
  const isize places = sample_maker::places_of(config, source);
  return {.count = config.batch,
          .pictures = places,
          .room = picture_room::bytes(places, config.example.image, config.sample.shapes),
          .context = config.example.context,
          .rows_shown = config.sample.rows_shown(),
          .rows = config.rows,
          .vocabulary = words.size(),
          .side = config.example.image,
          .bytes = config.form == picture_form::bytes,
          .heard = config.sample.heard,
          .shapes = config.sample.shapes,
          .lead = config.sample.lead};
}
inline void prepare_slot(pair_maker::slot& own, const loader_config& config, const step_limits&,
                         std::byte* memory) {
  own.prepare(config, memory);
}
inline void prepare_slot(sample_maker::slot& own, const sample_loader_config& config, const step_limits& most,
                         std::byte* memory) {
  own.prepare(config, most.pictures, memory);
}

// The batches that a loader would make (Maker: sample_maker or pair_maker), made by producers elsewhere, bit
// for bit: how many they are, and who of them is lost on the way, changes nothing but the time.
// Asks for: producers (sample_producer) with the same data; the source, which names samples that producers
// leave out, outlives it, and the vocabulary is looked at now alone.
// Memory: `ready` batches and the one that is used.
// Errors: MT-D12, MT-D13, MT-D22, MT-D23, MT-D24
// Example:
//   isize rows_of_first(const data_folder& data, const data_position& from, const produced_options& by) {
//     produced_steps<sample_maker> steps(data.samples(), data.words(), data.sample_config(), from, by);
//     return steps.next().input().seq.rows();
//   }
template <class Maker>
class produced_steps {
 public:
  using slot = typename Maker::slot;

  template <class Source, class Config>
  produced_steps(const Source& source, const tokenizer& words, const Config& config, data_position from,
                 produced_options how)
      : slots_(as_size(config.ready + 1)) {
    check_place(source, config, from);
    // Words of steps do not tell in which windows their samples have waited: all of a run's are the same.
    if constexpr (requires { config.windows; }) from.windows = config.windows.mark(config.batch);
    how.most = limits_of(config, source, words);
    choose_ = how.choose;
    // As if they had been left out, or resampled, here.
    how.skipped = [&source](const skip_log::reported& each) {
      if (!each.why) source.skips().report_resampled(source.name(each.sample), each.detail, each.sample);
      else if (!source.skips().strict())
        source.skips().report(*each.why, source.name(each.sample), each.detail, each.sample);
    };
    memory_ = buffer<std::byte>(static_cast<isize>(slots_.size()) * how.most.room);
    std::vector<std::span<std::byte>> rooms;
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      std::byte* const own = memory_.data() + static_cast<isize>(s) * how.most.room;
      rooms.emplace_back(own, as_size(how.most.room));
      prepare_slot(slots_[s], config, how.most, own);
    }
    queue_.emplace(std::move(how), from, std::move(rooms),
                   [this](isize which, const step_words& told) { hear_step(told, slots_[as_size(which)]); });
  }

  const buffer<std::byte>& memory() const { return memory_; }
  const auto& next() {
    const auto choose = [this](isize which) {
      if (choose_) choose_(input_of(slots_[as_size(which)].batch));
    };
    return slots_[as_size(queue_->next(choose))].batch;
  }
  auto* ahead() const {
    const std::optional<isize> found = queue_->ahead();
    return found ? &slots_[as_size(*found)].batch : nullptr;
  }
  const data_position& position() const { return queue_->position(); }
  loader_statistics statistics() const { return queue_->statistics(); }
  isize ready() const { return queue_->ready(); }
  json by_producer() const { return queue_->by_producer(); }
  std::vector<std::string> take_notes() { return queue_->take_notes(); }

 private:
  buffer<std::byte> memory_;
  std::vector<slot> slots_;
  std::function<void(const step_input&)> choose_;
  std::optional<produced_queue> queue_;  // last: its threads fill the slots
};

}  // namespace motet
