// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/messages.hpp>
#include <motet/data/samples/sample_reader.hpp>
#include <motet/data/steps/run_order.hpp>
#include <motet/format/files/checksum.hpp>
#include <motet/tensor/packed_pictures.hpp>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// A finished step as it travels: a head of fixed size, then its words (who is in it, texts as tokens, sizes
// of pictures, sounds as they are heard), then the bytes of its pictures. Numbers are little-endian.
namespace motet {

// What the step holds beside the bytes of its pictures. Texts are stretches of tokens, as a reader makes
// them.
struct step_words {
  isize first = 0, next = 0;     // places of the run: of its first sample, and behind it
  std::vector<isize> waiting;    // see data_position
  isize pictures = 0;            // of all samples
  std::vector<isize> samples;    // (count), numbers in the source; -1 of one that is empty
  std::vector<isize> stretches;  // (count), of each sample
  std::vector<read_sample::stretch> order;
  std::vector<tokenizer::token> tokens;  // of all stretches
  std::vector<packed_picture> packed;    // (pictures), where they are bytes; else none
  std::vector<float> heard;              // (sounds x frames, bins)

  void clear() {
    waiting.clear(), samples.clear(), stretches.clear(), order.clear(), tokens.clear(), packed.clear();
    heard.clear();
  }
};

enum class step_kind : std::uint32_t { step = 1, busy = 2, failed = 3, skipped = 4 };

// The words of a failure are its sentence, those of what was skipped samples (tell_skips.hpp); who is busy
// says so and no more.
struct step_head {
  static constexpr std::uint32_t our_mark = 0x5054534D;  // "MSTP"

  std::uint32_t mark = our_mark;
  step_kind kind = step_kind::busy;
  std::uint64_t run = 0;                // marks seed, settings and data
  std::uint64_t step = 0;               // counted from where the run went on
  std::uint64_t words = 0, pixels = 0;  // bytes
  std::uint64_t words_checksum = 0, pixels_checksum = 0;
  std::uint64_t checksum = 0;  // of all before it

  std::uint64_t own_checksum() const {
    return motet::checksum({reinterpret_cast<const std::byte*>(this), offsetof(step_head, checksum)});
  }
};
static_assert(std::is_trivially_copyable_v<step_head> && sizeof(step_head) == 64,
              "motet: producers and ranks read the head of a step byte by byte");

// What a rank takes of a step. A model, and the memory that waits, have no room for more.
struct step_limits {
  isize count = 0;        // samples, exactly
  isize pictures = 0;     // most
  isize room = 0;         // bytes of pictures
  isize context = 0;      // most rows of a sample, of its tokens and its pictures
  isize rows_shown = 0;   // of a picture, among a sample's; none where it is a module's own
  isize rows = 0;         // most of all samples; 0: as many as they have
  isize vocabulary = 0;   // tokens are below
  isize side = 0;         // pixels of a picture, as the model sees it
  bool bytes = false;     // pictures come as bytes
  heard_form heard{};     // sounds of a sample
  shape_limits shapes{};  // of pictures of any shape, which tell their grids
  isize lead = 0;         // rows of such a picture before its patches

  // Pictures come with sizes of their own.
  bool sized() const { return bytes || shapes.any(); }
};

namespace detail {

class words_writer {
 public:
  explicit words_writer(std::string& to) : to_(to) {}
  template <class T>
  void number(T value) {
    const auto wide = static_cast<std::int64_t>(value);
    to_.append(reinterpret_cast<const char*>(&wide), sizeof wide);
  }
  template <class T>
  void all(const std::vector<T>& of) {
    static_assert(std::is_trivially_copyable_v<T>, "motet: what travels is copied byte by byte");
    number(of.size());
    to_.append(reinterpret_cast<const char*>(of.data()), of.size() * sizeof(T));
  }

 private:
  std::string& to_;
};

class words_reader {
 public:
  explicit words_reader(std::span<const std::byte> from) : from_(from) {}
  isize number() {
    std::int64_t value = 0;
    take(&value, sizeof value);
    return static_cast<isize>(value);
  }
  template <class T>
  void all(std::vector<T>& into, const char* what) {
    const isize count = number();
    if (count < 0 || as_size(count) > (from_.size() - at_) / sizeof(T))
      fail(damaged_step,
           sentence({what, ": there are said to be ", count, ", with ", from_.size() - at_, " bytes left"}));
    into.resize(as_size(count));
    take(into.data(), into.size() * sizeof(T));
  }
  bool over() const { return at_ == from_.size(); }

 private:
  void take(void* to, std::size_t bytes) {
    if (bytes > from_.size() - at_) fail(damaged_step, sentence({"it ends after ", from_.size(), " bytes"}));
    if (bytes > 0) std::memcpy(to, from_.data() + at_, bytes);
    at_ += bytes;
  }
  std::span<const std::byte> from_;
  std::size_t at_ = 0;
};

// A stretch without the gap behind its kind, which would have bytes of chance.
struct told_stretch {
  std::int32_t kind, tokens;
};

}  // namespace detail

inline void write_words(const step_words& from, std::string& into) {
  into.clear();
  detail::words_writer put(into);
  for (const isize each : {from.first, from.next, from.pictures}) put.number(each);
  put.all(from.waiting);
  put.all(from.samples);
  put.all(from.stretches);
  std::vector<detail::told_stretch> order;
  order.reserve(from.order.size());
  for (const auto& each : from.order)
    order.push_back({static_cast<std::int32_t>(each.kind), static_cast<std::int32_t>(each.tokens)});
  put.all(order);
  put.all(from.tokens);
  put.all(from.packed);
  put.all(from.heard);
}

// Takes words of a step, or says what is wrong with them; whatever they are, what is taken fits the limits
// and itself. The result is the bytes of all its pictures.
inline isize read_words(std::span<const std::byte> from, const step_limits& most, step_words& into) {
  const auto within = [](const char* what, isize got, isize low, isize high) {
    if (got < low || got > high)
      fail(damaged_step, sentence({what, ": got ", got, ", wanted ", low, " to ", high}));
  };
  constexpr isize any = isize{1} << 62;
  detail::words_reader take(from);
  into.first = take.number(), into.next = take.number(), into.pictures = take.number();
  take.all(into.waiting, "samples that wait");
  take.all(into.samples, "samples");
  take.all(into.stretches, "stretches of samples");
  std::vector<detail::told_stretch> order;
  take.all(order, "stretches");
  take.all(into.tokens, "tokens");
  take.all(into.packed, "sizes of pictures");
  take.all(into.heard, "numbers of sounds");
  if (!take.over()) fail(damaged_step, "more follows behind its words");

  within("first place", into.first, 0, any);
  within("place behind it", into.next, into.first, any);
  for (const isize each : into.waiting) within("a place that waits", each, 0, into.next - 1);
  within("samples", static_cast<isize>(into.samples.size()), most.count, most.count);
  within("samples with stretches", static_cast<isize>(into.stretches.size()), most.count, most.count);
  for (const isize each : into.samples) within("number of a sample", each, -1, any);
  within("pictures", into.pictures, 0, most.pictures);
  within("sizes of pictures", static_cast<isize>(into.packed.size()), most.sized() ? into.pictures : 0,
         most.sized() ? into.pictures : 0);
  for (const packed_picture& each : into.packed) {
    within("rows of patches", each.rows, most.shapes.any() ? 1 : 0, most.shapes.most_patches);
    within("columns of patches", each.columns, most.shapes.any() ? 1 : 0, most.shapes.most_patches);
    within("patches of a picture", each.patches(), 0, most.shapes.most_patches);
  }

  into.order.clear();
  isize shown = 0, sounds = 0, told = 0, rows = 0;
  const piece_kind last = most.heard.most > 0 ? piece_kind::sound : piece_kind::picture;
  std::size_t at = 0;
  for (const isize each : into.stretches) {
    within("stretches of a sample", each, 0, static_cast<isize>(order.size() - at));
    isize own = 0, own_sounds = 0;
    for (isize k = 0; k < each; ++k, ++at) {
      const auto [kind, tokens] = order[at];
      within("kind of a stretch", kind, 0, static_cast<isize>(last));
      const auto is = static_cast<piece_kind>(kind);
      const bool picture = is == piece_kind::picture, sound = is == piece_kind::sound;
      within("tokens of a stretch", tokens, 0, is_text(is) ? most.context : 0);
      into.order.push_back({is, tokens});
      if (picture && most.shapes.any()) {
        within("pictures in all stretches", shown + 1, 1, into.pictures);
        into.order.back().shown = into.packed[as_size(shown)].patches();
      }
      shown += picture ? 1 : 0;
      own_sounds += sound ? 1 : 0;
      told += tokens;
      own += picture ? (most.shapes.any() ? into.order.back().shown : most.rows_shown)
             : sound ? most.heard.rows
                     : tokens;
    }
    within("rows of a sample", own, 0, most.context);
    within("sounds of a sample", own_sounds, 0, most.heard.most);
    rows += own;
    sounds += own_sounds;
  }
  within("rows of all samples", rows, 0, most.rows > 0 ? most.rows : any);
  within("stretches of all samples", static_cast<isize>(at), static_cast<isize>(order.size()),
         static_cast<isize>(order.size()));
  within("tokens of all stretches", told, static_cast<isize>(into.tokens.size()),
         static_cast<isize>(into.tokens.size()));
  within("pictures in all stretches", shown, into.pictures, into.pictures);
  within("numbers of all sounds", static_cast<isize>(into.heard.size()), sounds * most.heard.numbers(),
         sounds * most.heard.numbers());
  for (const tokenizer::token each : into.tokens) within("a token", each, 0, most.vocabulary - 1);

  isize end = most.sized() ? 0
                           : into.pictures * bitmap::channels * most.side * most.side *
                                 static_cast<isize>(sizeof(float));
  for (const packed_picture& each : into.packed) {
    within("where a picture begins", each.at, end, end);
    isize size = packed_pictures::most_bytes(bitmap::channels, most.side);
    if (most.shapes.any()) {
      within("bytes of a line", each.pitch, 0, 0);
      size = round_up(each.bytes(0, most.shapes.numbers_of_patch()), 16);
    } else if (each.pitch != 0) {
      within("width of a picture", each.width, 1, packed_pictures::most_line);
      within("height of a picture", each.height, 1, packed_pictures::most_line);
      within("bytes of a line", each.pitch, packed_pictures::pitch_of(each.width, bitmap::channels),
             packed_pictures::pitch_of(each.width, bitmap::channels));
      if (!packed_pictures::takes(each.width, each.height, bitmap::channels, most.side))
        fail(damaged_step, sentence({"a picture of ", each.width, " x ", each.height,
                                     " pixels, which has to be resized before"}));
      size = isize{each.pitch} * each.height;
    }
    end += size;
  }
  within("bytes of pictures", end, 0, most.room);
  return end;
}
// The same of a step whose pictures are so many bytes.
inline void read_words(std::span<const std::byte> from, isize pixels, const step_limits& most,
                       step_words& into) {
  if (const isize wanted = read_words(from, most, into); pixels != wanted)
    fail(damaged_step, sentence({"bytes of pictures: got ", pixels, ", wanted ", wanted, " to ", wanted}));
}

}  // namespace motet
