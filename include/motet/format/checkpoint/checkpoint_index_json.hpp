// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint_index.hpp>

namespace motet {

namespace detail {

inline json interval_json(interval of) { return json::array{of.begin, of.end}; }

inline json tensors_json(const std::vector<checkpoint_tensor>& tensors) {
  json out{json::object{}};
  for (const checkpoint_tensor& tensor : tensors) {
    json shape{json::array{}}, pieces{json::array{}};
    for (const isize extent : tensor.shape) shape.push_back(extent);
    for (const checkpoint_piece& piece : tensor.pieces) {
      json checksums{json::array{}};
      for (const std::string& each : piece.checksums) checksums.push_back(each);
      pieces.push_back(json{{"part", piece.part},
                            {"rows", interval_json(piece.covers.rows)},
                            {"columns", interval_json(piece.covers.columns)},
                            {"checksums", std::move(checksums)}});
    }
    out.set(tensor.name, json{{"shape", std::move(shape)}, {"pieces", std::move(pieces)}});
  }
  return out;
}
// Version 1: tensors are whole, and their files say how large.
inline json checksums_json(const checkpoint_index& from) {
  json out{json::object{}};
  for (const auto& use : from.uses) {
    for (const checkpoint_tensor& tensor : use.tensors) {
      out.set(tensor.name, tensor.pieces.empty() ? checksum_text(checksum(std::string_view()))
                                                 : tensor.pieces.front().checksums.front());
    }
  }
  return out;
}

inline std::string sealed(json whole) {
  whole.set("checksum", checksum_text(checksum(write_json(whole))));
  return write_json(whole, 1) + "\n";
}
// The result is false when the contents are not those that were sealed.
inline bool seal_holds(const json& whole) {
  json::object rest;
  for (const auto& [name, value] : whole.members()) {
    if (name != "checksum") rest.insert(name, value);
  }
  return checksum_text(checksum(write_json(json(std::move(rest))))) == whole.at("checksum").string();
}

// Refuses what is not a count below or at `most`.
inline isize read_count(const json& value, isize most, const char* what) {
  const std::int64_t count = value.integer();
  if (count < 0 || count > most)
    fail(json_wrong_kind, sentence({what, " is ", count, ", wanted 0 to ", most}));
  return static_cast<isize>(count);
}
inline interval read_interval(const json& value, isize most, const char* what) {
  if (value.items().size() != 2) fail(json_wrong_kind, std::string(what) + " are not [begin, end]");
  const interval read{read_count(value.items()[0], most, what), read_count(value.items()[1], most, what)};
  if (read.begin >= read.end)
    fail(json_wrong_kind, sentence({what, " end at ", read.end, ", before they begin"}));
  return read;
}

inline checkpoint_tensor read_tensor_pieces(const std::string& name, const json& entry,
                                            const checkpoint_index& of) {
  checkpoint_tensor out{name, {}, dtype::f32, {}};
  for (const json& extent : entry.at("shape").items())
    out.shape.push_back(read_count(extent, INT64_MAX, "an extent"));
  if (!tensor_bytes(out.shape, dtype::f32))
    fail(json_wrong_kind, shape_text(out.shape) + " is more than 64 bits count");
  const rectangle all = matrix_of(out.shape);
  for (const json& each : entry.at("pieces").items()) {
    checkpoint_piece piece;
    piece.part = read_count(each.at("part"), of.parts - 1, "a part");
    piece.covers = {read_interval(each.at("rows"), all.rows.end, "rows"),
                    read_interval(each.at("columns"), all.columns.end, "columns")};
    for (const json& text : each.at("checksums").items()) piece.checksums.push_back(text.string());
    const isize bytes = 4 * piece.covers.size(),
                wanted = of.block == 0 ? 1 : bytes / of.block + (bytes % of.block != 0 ? 1 : 0);
    if (std::ssize(piece.checksums) != wanted)
      fail(json_wrong_kind, sentence({piece.checksums.size(), " checksums of a piece, wanted ", wanted}));
    out.pieces.push_back(std::move(piece));
  }
  return out;
}

inline void read_pieces(const json& whole, checkpoint_index& out) {
  out.parts = read_count(whole.at("parts"), most_parts, "the number of parts");
  if (out.parts == 0) fail(json_wrong_kind, "a checkpoint has at least one part");
  out.block = read_count(whole.at("block"), INT64_MAX, "a block");
  for (const tensor_use use : tensor_uses) {
    const json* tensors = whole.find(use_name(use));
    if (tensors == nullptr) continue;
    for (const auto& [name, entry] : tensors->members()) {
      try {
        out.of(use).tensors.push_back(read_tensor_pieces(name, entry, out));
      } catch (const error& cause) {
        throw error(cause, "tensor \"" + name + "\"");
      }
    }
  }
}

// Finds whose file is called `name`, in a checkpoint of so many parts.
inline std::optional<std::pair<tensor_use, isize>> owner_of_file(std::string_view name, isize parts) {
  for (const tensor_use use : tensor_uses) {
    isize part = 0;
    if (parts > 1) {
      const std::size_t digits = name.find('-');
      if (digits == std::string_view::npos) continue;
      std::from_chars(name.data() + digits + 1, name.data() + name.size(), part);
      --part;
    }
    if (part >= 0 && part < parts && name == part_file(use, part, parts)) return std::pair(use, part);
  }
  return std::nullopt;
}

// Every file named must be one that a checkpoint of so many parts can have.
inline void read_files(const json& files, checkpoint_index& out) {
  for (auto& use : out.uses) use.files.resize(as_size(out.parts));
  for (const auto& [name, bytes] : files.members()) {
    const auto found = owner_of_file(name, out.parts);
    if (!found) fail(checkpoint_damaged, "the index names the unknown file " + name);
    out.of(found->first).files[as_size(found->second)] = bytes.unsigned_integer();
  }
  for (const tensor_use use : tensor_uses) {
    for (const checkpoint_tensor& tensor : out.of(use).tensors) {
      for (const checkpoint_piece& piece : tensor.pieces) {
        if (!out.of(use).files[as_size(piece.part)])
          fail(checkpoint_damaged, "tensor \"" + tensor.name + "\" is in " +
                                       part_file(use, piece.part, out.parts) +
                                       ", which the index does not name");
      }
    }
  }
}

}  // namespace detail

// `part` is written beside the others' until they are put together.
inline std::string write_checkpoint_index(const checkpoint_index& from, std::optional<isize> part = {}) {
  const bool whole = from.block == 0 && !part;
  json files{json::object{}};
  for (const tensor_use use : tensor_uses) {
    const auto& sizes = from.of(use).files;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (sizes[k]) files.set(detail::part_file(use, static_cast<isize>(k), from.parts), *sizes[k]);
    }
  }
  json out{{"version", whole ? 1 : checkpoint_version}, {"step", from.step},   {"model", from.model},
           {"description", from.description},           {"state", from.state}, {"files", std::move(files)}};
  if (from.optimizer != "adamw") out.set("moved_by", from.optimizer);
  if (whole) {
    out.set("tensors", detail::checksums_json(from));
    return detail::sealed(std::move(out));
  }
  if (part) out.set("part", *part);
  out.set("parts", from.parts);
  out.set("block", from.block);
  for (const tensor_use use : tensor_uses) {
    const auto& tensors = from.of(use).tensors;
    if (use == tensor_use::weights || !tensors.empty())
      out.set(detail::use_name(use), detail::tensors_json(tensors));
  }
  return detail::sealed(std::move(out));
}

// Reads a file whose seal holds. In version 1 the tensors are left to their files. Throws MT-F02 or MT-R52
// for what makes no sense; whoever needs a tensor asks whether its pieces make it whole.
inline checkpoint_index read_checkpoint_index(const json& whole) {
  checkpoint_index out;
  out.step = whole.at("step").integer();
  out.model = whole.at("model").string();
  out.state = whole.at("state");
  out.description = whole.at("description");
  if (const json* by = whole.find("moved_by"); by != nullptr) out.optimizer = by->string();
  if (whole.at("version").integer() == 1) {
    out.checksums = whole.at("tensors");
    detail::read_files(whole.at("files"), out);
    if (!out.of(tensor_use::weights).files[0]) fail(checkpoint_damaged, "the index names no file of weights");
    return out;
  }
  detail::read_pieces(whole, out);
  detail::read_files(whole.at("files"), out);
  return out;
}

}  // namespace motet
