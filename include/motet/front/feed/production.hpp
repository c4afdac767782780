// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/transport/meet/proof.hpp>
#include <motet/backend/transport/meet/socket.hpp>
#include <motet/backend/transport/meet/token_file.hpp>
#include <motet/data/produce/step_maker.hpp>
#include <motet/data/produce/step_share.hpp>
#include <motet/format/text/json.hpp>
#include <motet/format/text/json_read.hpp>
#include <motet/format/text/json_write.hpp>
#include <motet/tools/data_folder.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What ranks and producers say to each other: where a producer is, what decides its steps, which one is
// wanted.
namespace motet {

// A producer listens there.
struct producer_address {
  std::string host;
  std::uint16_t port = 0;
  std::string text() const { return sentence({host, ":", port}); }
};
// "10.0.0.7:29600", "node3:29600". least: 0 where any port that is free will do.
inline producer_address read_producer_address(std::string_view text, unsigned least = 1) {
  const std::size_t colon = text.rfind(':');
  unsigned port = 0;
  bool good = colon != std::string_view::npos && colon > 0;
  if (good) {
    const char *const from = text.data() + colon + 1, *const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(from, end, port);
    good = failed == std::errc{} && stop == end && port >= least && port <= 65535;
  }
  if (!good)
    fail(bad_data_option, sentence({"\"", text, "\" is where no producer can be; wanted HOST:PORT, as in ",
                                    "127.0.0.1:29600"}));
  return {std::string(text.substr(0, colon)), static_cast<std::uint16_t>(port)};
}
// Reads addresses with commas between.
inline std::vector<producer_address> read_producer_addresses(std::string_view text) {
  std::vector<producer_address> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    out.push_back(read_producer_address(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return out;
}

inline constexpr int production_version = 7;

// All that decides what the steps hold, and how they are written: of a rank, which asks for them.
inline json production_of(const data_wishes& wishes, const sample_shape& shape, const data_folder& data) {
  json out;
  out.set("version", sentence({"motet ", MOTET_VERSION_MAJOR, ".", MOTET_VERSION_MINOR, ".",
                               MOTET_VERSION_PATCH, ", producers ", production_version}));
  out.set("model", shape.model);
  out.set("image", shape.image);
  out.set("vocabulary", shape.vocabulary);
  out.set("context", shape.context);
  out.set("pieces", shape.pieces);
  out.set("rows_of_picture", shape.rows_of_picture);
  out.set("lead", shape.lead);
  out.set("most_pictures", shape.most_pictures);
  out.set("least_pictures", shape.least_pictures);
  out.set("most_sounds", shape.heard.most);
  out.set("rows_of_sound", shape.heard.rows);
  out.set("bins", shape.heard.bins);
  out.set("frames", shape.heard.frames);
  out.set("patch", shape.shapes.patch);
  out.set("most_patches", shape.shapes.most_patches);
  out.set("batch", wishes.batch);
  out.set("rows", wishes.rows);
  out.set("window_steps", wishes.windows.steps);
  out.set("window_together", wishes.windows.together);
  out.set("seed", wishes.seed);
  out.set("smallest_crop", wishes.smallest_crop);
  out.set("flip", wishes.flip);
  out.set("strict", wishes.strict);
  out.set("pictures_as_bytes", wishes.form == picture_form::bytes);
  out.set("samples", data.size());
  out.set("fingerprint of names",
          data.has_pieces() ? data.samples().fingerprint() : data.pairs().fingerprint());
  out.set("fingerprint of contents", data.content_fingerprint());
  // Each producer finds the order by itself, of sizes that all have to know alike.
  if (wishes.windows.any()) out.set("fingerprint of sizes", data.size_fingerprint());
  out.set("fingerprint of the vocabulary", data.vocabulary_fingerprint());
  return out;
}
// A producer's own data, threads and nothing else decide what it does for others.
inline sample_shape shape_in(const json& from) {
  return {.model = from.at("model").string(),
          .image = from.at("image").integer(),
          .vocabulary = from.at("vocabulary").integer(),
          .context = from.at("context").integer(),
          .pieces = from.at("pieces").boolean(),
          .rows_of_picture = from.at("rows_of_picture").integer(),
          .lead = from.at("lead").integer(),
          .most_pictures = from.at("most_pictures").integer(),
          .least_pictures = from.at("least_pictures").integer(),
          .heard = {.most = from.at("most_sounds").integer(),
                    .rows = from.at("rows_of_sound").integer(),
                    .bins = from.at("bins").integer(),
                    .frames = from.at("frames").integer()},
          .shapes = {.patch = from.at("patch").integer(), .most_patches = from.at("most_patches").integer()}};
}
inline data_wishes wishes_in(const json& from, const std::string& data, isize threads) {
  return {.data = data,
          .batch = from.at("batch").integer(),
          .rows = from.at("rows").integer(),
          .threads = threads,
          .seed = from.at("seed").unsigned_integer(),
          .smallest_crop = from.at("smallest_crop").number(),
          .flip = from.at("flip").boolean(),
          .strict = from.at("strict").boolean(),
          .form = from.at("pictures_as_bytes").boolean() ? picture_form::bytes : picture_form::floats,
          .windows = {.steps = from.at("window_steps").integer(),
                      .together = static_cast<std::int32_t>(from.at("window_together").integer())}};
}
// "seed: got 4, wanted 3" of the first that differs; empty: they are the same.
inline std::string first_difference(const json& got, const json& wanted) {
  const auto text = [](const json* of) { return of != nullptr ? write_json(*of) : std::string("nothing"); };
  for (const auto& [name, value] : wanted.members()) {
    const json* const other = got.find(name);
    if (text(other) != write_json(value))
      return sentence({name, ": got ", text(other), ", wanted ", write_json(value)});
  }
  return {};
}

// A place in the data, of which both ends know seed and data.
inline json place_of(const data_position& at) {
  json out;
  out.set("next", at.next);
  json waiting(json::array{});
  for (const isize each : at.waiting) waiting.push_back(each);
  out.set("waiting", std::move(waiting));
  out.set("windows", at.windows);
  return out;
}
inline void read_place(const json& from, data_position& at) {
  at.next = from.at("next").integer();
  at.windows = from.at("windows").unsigned_integer();
  at.waiting.clear();
  for (const json& each : from.at("waiting").items()) at.waiting.push_back(each.integer());
}

// A step's share as the request for the step says it.
inline json json_of(const step_share& share) {
  json out(json::array{});
  for (const interval& each : *share) out.push_back(json(json::array{each.begin, each.end}));
  return out;
}
inline step_share share_in(const json& from, isize samples) {
  step_share out(std::in_place);
  for (const json& each : from.items())
    out->push_back({each.items().at(0).integer(), each.items().at(1).integer()});
  if (!fits(out, samples))
    fail(meeting_refused, sentence({"samples ", write_json(from), " of a step of ", samples}));
  return out;
}

// All of it is wanted where nothing is said.
inline json json_of(asked_parts parts) { return parts == asked_parts::words ? "words" : "pictures"; }
inline asked_parts parts_in(const json& request) {
  const json* const parts = request.find("parts");
  if (parts == nullptr) return asked_parts::all;
  if (parts->string() == "words") return asked_parts::words;
  if (parts->string() != "pictures")
    fail(meeting_refused, "a request for \"" + parts->string() + "\" of a step");
  return asked_parts::pictures;
}

// How both ends show that they know the token. The producer asks first.
namespace production {

inline constexpr double greeting_seconds = 5;
inline constexpr std::uint64_t most_said = 1 << 20;

// Says whether the guest knows the token, to the guest as well.
inline bool welcome(const tcp::connection& guest, const std::string& token) {
  const tcp::deadline until(greeting_seconds);
  const std::string asked = meet::fresh_nonce();
  guest.send(asked, until, "a guest");
  const std::string said = guest.receive(until, "a guest", 256);
  std::size_t at = 0;
  const std::string own = meet::part(said, at), proven = meet::part(said, at);
  const bool knows = meet::same_proof(proven, meet::proof(token, "rank of producers", asked, own));
  guest.send(knows ? meet::proof(token, "producer", own, asked) : "token", until, "a guest");
  return knows;
}
// A producer on this machine that was given no token left one for its own user.
inline void greet(const tcp::connection& host, std::string token, const sockaddr_in& there,
                  const std::string& name) {
  const tcp::deadline until(greeting_seconds);
  const std::string asked = host.receive(until, name, 256), own = meet::fresh_nonce();
  // Ranks may share a token that this producer was not told.
  if (tcp::is_loopback(there))
    if (std::string left = token_file::read(ntohl(there.sin_addr.s_addr), ntohs(there.sin_port));
        !left.empty())
      token = std::move(left);
  std::string said;
  meet::append(said, own);
  meet::append(said, meet::proof(token, "rank of producers", asked, own));
  host.send(said, until, name);
  const std::string answer = host.receive(until, name, 256);
  if (!meet::same_proof(answer, meet::proof(token, "producer", own, asked)))
    fail(producer_unlike, name + " has another token than this run (MOTET_TOKEN)");
}

// Much may take long; each part of it has its time.
inline constexpr std::size_t part_bytes = std::size_t{8} << 20;
inline void put_all(const tcp::connection& to, std::span<const std::byte> bytes, double seconds,
                    const std::string& name) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(part_bytes, bytes.size())))
    to.put(bytes.first(std::min(part_bytes, bytes.size())), tcp::deadline(seconds), name);
}
inline void get_all(const tcp::connection& from, std::span<std::byte> bytes, double seconds,
                    const std::string& name) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(part_bytes, bytes.size())))
    from.get(bytes.first(std::min(part_bytes, bytes.size())), tcp::deadline(seconds), name);
}

}  // namespace production
}  // namespace motet
