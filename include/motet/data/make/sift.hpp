// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/in_parallel.hpp>
#include <motet/data/make/listing.hpp>
#include <motet/format/files/checksum.hpp>
#include <motet/format/text/utf8.hpp>

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

namespace motet {

struct sift_options {
  double held_out = 0.1;  // share of the pictures that no training sees
  std::uint64_t seed = 1;
  int threads = 1;
  bool strict = false;  // the first pair that cannot be used is an error
  picture_limits limits{};
};

// Facts are what is known of a picture once it was decoded.
struct picture_facts {
  std::uint64_t content = 0;  // equal for equal bytes
  isize bytes = 0, width = 0, height = 0;
  const char* field = nullptr;  // how its file is to be called: "png"; null: it cannot be used
};

struct left_out {
  std::string where, why;
};

// Some pairs of a listing become samples, in its order, and others have reasons why they do not.
struct sifted {
  std::vector<picture_facts> pictures;  // of the listing
  std::vector<isize> train, held_out;   // pairs of the listing
  std::vector<left_out> left;
};

namespace detail {

inline const char* field_of_bytes(std::span<const std::uint8_t> bytes) {
  return bytes.size() > 1 && bytes[0] == 0x89 ? "png" : bytes.size() > 1 && bytes[0] == 0xff ? "jpg" : "ppm";
}

// Each picture has facts, or a reason why it cannot be used.
struct looked_at {
  std::vector<picture_facts> facts;
  std::vector<std::string> why;
};

// Decodes every picture once.
inline looked_at look_at_pictures(const listing& from, const sift_options& by,
                                  const std::function<void(isize)>& tell) {
  looked_at out{std::vector<picture_facts>(as_size(from.pictures())),
                std::vector<std::string>(as_size(from.pictures()))};
  std::mutex guard;
  isize done = 0;
  const auto look = [&](isize i) {
    std::vector<std::uint8_t> bytes;
    bitmap shot;
    try {
      from.read(i, bytes);
      decode_picture(bytes, shot, by.limits);
      out.facts[as_size(i)] = {checksum(std::as_bytes(std::span(bytes))), static_cast<isize>(bytes.size()),
                               shot.width, shot.height, field_of_bytes(bytes)};
    } catch (const error& problem) {
      // A missing library is no fault of the picture; leaving it out would leave nothing.
      if (by.strict || problem.code() == std::string_view(picture_library_missing.code)) {
        const bool named = std::string_view(problem.what()).find(from.name(i)) != std::string_view::npos;
        throw named ? problem : error(problem, from.name(i));
      }
      out.why[as_size(i)] = problem.what();
    }
    const std::lock_guard hold(guard);
    ++done;
    if (tell) tell(done);
  };
  in_parallel(from.pictures(), look, by.threads);
  return out;
}

// Chooses pictures by their content and the seed alone, so that it matters neither in which order they were
// listed nor what they are called, and the same picture never stands on both sides. Of each class there is
// the same share, and one at least where it has two; in all there is the share that was asked for.
inline std::set<std::uint64_t> choose_held_out(const std::map<std::uint64_t, std::string>& label_of,
                                               const sift_options& by) {
  std::set<std::uint64_t> out;
  const auto all = static_cast<isize>(label_of.size());
  const auto share = [&](isize of) {
    return static_cast<isize>(by.held_out * static_cast<double>(of) + 0.5);
  };
  if (!(by.held_out > 0) || all < 2) return out;
  std::map<std::string, std::vector<std::pair<std::uint64_t, std::uint64_t>>> classes;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
  for (const auto& [content, label] : label_of) {
    order.emplace_back(checksum(std::as_bytes(std::span(&content, 1)), by.seed), content);
    classes[label].push_back(order.back());
  }
  for (auto& [label, own] : classes) {
    std::sort(own.begin(), own.end());
    const auto count = static_cast<isize>(own.size());
    const isize wanted = std::max(share(count), isize{!label.empty() && count > 1});
    for (isize i = 0; i < wanted && static_cast<isize>(out.size()) + 1 < all; ++i)
      out.insert(own[as_size(i)].second);
  }
  std::sort(order.begin(), order.end());
  const isize wanted = std::clamp<isize>(share(all), 1, all - 1);
  for (std::size_t i = 0; static_cast<isize>(out.size()) < wanted; ++i) out.insert(order[i].second);
  return out;
}

}  // namespace detail

// Looks at every picture of a listing and takes what can be learnt from: a picture that decodes, with a
// caption in UTF-8, once. `tell`, if given, hears how many pictures were looked at. Throws MT-D05 or MT-D07
// where strict, MT-D06 for pictures that this build cannot read, MT-D10 where nothing is left.
inline sifted sift(const listing& from, const sift_options& by = {},
                   const std::function<void(isize)>& tell = {}) {
  if (!(by.held_out >= 0 && by.held_out < 1) || by.threads < 1)
    fail(bad_data_option, sentence({"held out ", by.held_out, ", threads ", by.threads,
                                    "; wanted a share from 0 to below 1, and one thread at least"}));
  detail::looked_at seen = detail::look_at_pictures(from, by, tell);
  sifted out{std::move(seen.facts), {}, {}, {}};
  std::set<std::pair<std::uint64_t, std::string_view>> known;
  std::map<std::uint64_t, std::string> label_of;
  std::vector<isize> kept;
  for (isize i = 0; i < static_cast<isize>(from.pairs().size()); ++i) {
    const listed_pair& pair = from.pairs()[as_size(i)];
    const picture_facts& shown = out.pictures[as_size(pair.picture)];
    const std::string_view caption = trimmed(pair.caption);
    std::string why;
    if (shown.field == nullptr) why = seen.why[as_size(pair.picture)];
    else if (caption.empty()) why = "has no caption";
    else if (utf8_first_bad(caption) != std::string_view::npos ||
             utf8_first_bad(pair.label) != std::string_view::npos)
      why = "its caption or class is not UTF-8";
    else if (!known.emplace(shown.content, caption).second) why = "is there already, with the same caption";
    if (!why.empty()) {
      if (by.strict) fail(missing_field, from.name(pair.picture) + " " + why);
      out.left.push_back({from.name(pair.picture), std::move(why)});
      continue;
    }
    kept.push_back(i);
    label_of.emplace(shown.content, pair.label);
  }
  if (kept.empty())
    fail(no_samples, out.left.empty()
                         ? "nothing is listed"
                         : sentence({out.left.size(), " were listed; the first: ", out.left[0].where, ": ",
                                     out.left[0].why}));
  const std::set<std::uint64_t> apart = detail::choose_held_out(label_of, by);
  for (const isize i : kept) {
    const std::uint64_t content = out.pictures[as_size(from.pairs()[as_size(i)].picture)].content;
    (apart.contains(content) ? out.held_out : out.train).push_back(i);
  }
  return out;
}

}  // namespace motet
