// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint.hpp>
#include <motet/format/tensors/safetensors_write.hpp>

#include <unordered_set>

namespace motet {

// Writing a checkpoint by several ranks, whoever carries their messages:
//   every rank    write_checkpoint_part(run, part)     its own numbers, into a hidden folder that all share
//   all           wait for each other
//   one rank      finish_checkpoint(run, summary)      the index; then the folder appears as RUN/step-000123
// A rank that stops anywhere in between leaves the checkpoints before as they were; what is left over goes
// away with the next checkpoint.
struct checkpoint_part {
  std::int64_t step = 0;
  std::string model;
  isize part = 0, parts = 1;
  std::span<const saved_slice> weights, optimizer;
  std::string moved_by = "adamw";  // the name of the optimizer
};

namespace detail {

inline constexpr isize checksum_block = isize{1} << 20;

inline std::filesystem::path shared_folder(const std::filesystem::path& run, std::int64_t step) {
  return run / ("." + step_folder(step) + ".tmp-parts");
}
inline std::string part_record(isize part) { return "part-" + five_digits(part + 1) + ".json"; }

// The slices that one part writes, by tensor.
inline std::vector<checkpoint_tensor> tensors_of(std::span<const saved_slice> slices, isize part) {
  std::vector<checkpoint_tensor> out;
  std::unordered_map<std::string_view, std::size_t> known;
  for (const saved_slice& slice : slices) {
    const auto [found, added] = known.emplace(slice.name, out.size());
    if (added) out.push_back({slice.name, slice.shape, dtype::f32, {}});
    const rectangle all = matrix_of(slice.shape), &own = slice.covers;
    const auto refuse = [&](const std::string& why) {
      fail(checkpoint_parts_differ,
           sentence({"part ", part + 1, " holds rows ", interval_text(own.rows), " and columns ",
                     interval_text(own.columns), " of \"", slice.name, "\" ", shape_text(slice.shape), why}));
    };
    if (out[found->second].shape != slice.shape)
      refuse(", elsewhere " + shape_text(out[found->second].shape));
    if (own.empty()) continue;
    if (!holds(all, own))
      refuse(", which has rows " + interval_text(all.rows) + " and columns " + interval_text(all.columns));
    out[found->second].pieces.push_back({part, own, {}});
  }
  return out;
}

// Writes one use's file and notes its size and checksums.
inline void write_part_file(const std::filesystem::path& folder, tensor_use use,
                            std::span<const saved_slice> slices, isize part, checkpoint_index& out) {
  auto& own = out.of(use);
  own.files.resize(as_size(out.parts));
  own.tensors = tensors_of(slices, part);
  if (slices.empty() && (use == tensor_use::optimizer || out.block != 0)) return;
  std::vector<declared_tensor> declared;
  for (const checkpoint_tensor& tensor : own.tensors) {
    if (tensor.elements() == 0) declared.push_back({tensor.name, dtype::f32, tensor.shape});
    for (const checkpoint_piece& piece : tensor.pieces) {
      declared.push_back({piece_name(tensor.name, tensor.shape, piece.covers), dtype::f32,
                          piece_shape(tensor.shape, piece.covers)});
    }
  }
  safetensors_writer::metadata about{{"format", "pt"}};
  if (out.block != 0) {
    for (auto& each : origin_of(out, part)) about.push_back(std::move(each));
  }
  const std::filesystem::path path = folder / part_file(use, part, out.parts);
  safetensors_writer writer(path, std::move(declared), about);
  std::unordered_map<std::string_view, std::size_t> next;  // piece of each tensor, in the order of the slices
  std::unordered_map<std::string_view, checkpoint_tensor*> by_name;
  for (checkpoint_tensor& tensor : own.tensors) by_name.emplace(tensor.name, &tensor);
  for (const saved_slice& slice : slices) {
    if (slice.covers.empty()) continue;
    checkpoint_piece& piece = by_name.at(slice.name)->pieces[next[slice.name]++];
    const std::span bytes(reinterpret_cast<const std::byte*>(slice.data), as_size(4 * slice.covers.size()));
    each_block(bytes, out.block, 0, std::ssize(bytes),
               [&](std::size_t, auto block) { piece.checksums.push_back(checksum_text(checksum(block))); });
    writer.write(piece_name(slice.name, slice.shape, slice.covers), bytes);
  }
  writer.commit();
  own.files[as_size(part)] = std::filesystem::file_size(path);
}

// A part by itself that holds whole tensors only is written as one program alone writes it: version 1.
inline checkpoint_index write_part_files(const std::filesystem::path& folder, const checkpoint_part& part) {
  if (part.parts < 1 || part.parts > most_parts || part.part < 0 || part.part >= part.parts)
    fail(checkpoint_parts_differ, sentence({"part ", part.part + 1, " of ", part.parts}));
  std::unordered_set<std::string_view> names;
  for (const saved_slice& each : part.weights) names.insert(each.name);
  for (const saved_slice& each : part.optimizer) {
    if (names.contains(each.name))
      fail(safetensors_misuse, "\"" + each.name + "\" is both a weight and optimizer state");
  }
  checkpoint_index out;
  out.step = part.step;
  out.model = part.model;
  out.optimizer = part.moved_by;
  out.parts = part.parts;
  const auto whole = [](const saved_slice& slice) { return is_whole(slice.shape, slice.covers); };
  const bool alone = part.parts == 1 && std::ranges::all_of(part.weights, whole) &&
                     std::ranges::all_of(part.optimizer, whole);
  out.block = alone ? 0 : checksum_block;
  write_part_file(folder, tensor_use::weights, part.weights, part.part, out);
  write_part_file(folder, tensor_use::optimizer, part.optimizer, part.part, out);
  return out;
}

}  // namespace detail

// Call from every rank, also from one that holds nothing; an element that several ranks hold is written by
// one of them.
inline void write_checkpoint_part(const std::filesystem::path& run, const checkpoint_part& part) {
  const std::filesystem::path folder = detail::shared_folder(run, part.step);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) refuse_to_write(folder, failed.value());
  const checkpoint_index written = detail::write_part_files(folder, part);
  write_file(folder / detail::part_record(part.part), write_checkpoint_index(written, part.part));
}

}  // namespace motet
