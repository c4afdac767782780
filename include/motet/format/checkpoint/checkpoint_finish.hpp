// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/format/checkpoint/checkpoint_parts.hpp>
#include <motet/format/checkpoint/checkpoint_trend.hpp>
#include <motet/format/files/atomic_directory.hpp>

namespace motet {

struct checkpoint_summary {
  std::int64_t step = 0;
  std::string model;  // what tells this model from others, e.g. its name and the hash of its configuration
  isize parts = 1;
  json state;  // whatever the program resumes from
  // of the nets, as describe<Model>() says it (model/describe.hpp); converters read it
  json description = {};
};

namespace detail {

inline std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::error_code ignored;
  std::vector<std::filesystem::path> out;
  for (std::filesystem::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored))
    out.push_back(it->path());
  return out;
}

}  // namespace detail

// Removes what killed writers left of checkpoints up to `step`. One rank may call it while nobody writes one
// of those.
inline void remove_unfinished_checkpoints(const std::filesystem::path& run, std::int64_t step = INT64_MAX) {
  for (const auto& entry : detail::entries_of(run)) {
    const std::string name = entry.filename().string();
    const std::size_t suffix = name.find(".tmp-");
    if (suffix == std::string::npos || name.front() != '.') continue;
    const std::string_view target = std::string_view(name).substr(1, suffix - 1);
    const auto of = detail::folder_step(target);
    std::error_code ignored;
    if (target == "latest") std::filesystem::remove(entry, ignored);
    if (of && *of <= step) std::filesystem::remove_all(entry, ignored);
  }
}

namespace detail {

// Reads what part `part` says that it wrote; refuses it unless the others wrote the same and its files are
// there.
inline checkpoint_index read_part_record(const std::filesystem::path& folder,
                                         const checkpoint_summary& wanted, isize part) {
  const std::filesystem::path path = folder / part_record(part);
  const auto refuse = [&](const std::string& why) {
    fail(checkpoint_part_absent, path.string() + " " + why);
  };
  std::error_code failed;
  if (!std::filesystem::exists(path, failed))
    refuse(sentence({"is missing; wanted part ", part + 1, " of ", wanted.parts}));
  checkpoint_index out;
  try {
    const mapped_file text(path);
    const json whole = read_json(text.text(), path.string());
    if (!seal_holds(whole) || whole.at("part").integer() != part)
      refuse("does not have the contents that were written");
    out = read_checkpoint_index(whole);
  } catch (const error& cause) {
    if (std::string_view(cause.code()) == checkpoint_part_absent.code) throw;
    refuse(std::string("cannot be read (") + cause.what() + ")");
  }
  if (out.parts != wanted.parts) refuse(sentence({"is of ", out.parts, " parts, wanted ", wanted.parts}));
  if (out.step != wanted.step) refuse(sentence({"is of step ", out.step, ", wanted ", wanted.step}));
  if (out.model != wanted.model) refuse("is of model " + out.model + ", wanted " + wanted.model);
  for (const tensor_use use : tensor_uses) {
    const auto bytes = out.of(use).files[as_size(part)];
    const std::string name = part_file(use, part, out.parts);
    if (!bytes) continue;
    const auto size = std::filesystem::file_size(folder / name, failed);
    if (failed || size != *bytes)
      refuse(sentence({"names ", name, " of ", *bytes, " bytes, which is missing or of another size"}));
  }
  return out;
}

// The parts' tensors together. Every fault is named in one error.
inline checkpoint_index join_parts(const std::filesystem::path& folder, const checkpoint_summary& wanted) {
  if (wanted.parts < 1) fail(checkpoint_parts_differ, sentence({"a checkpoint of ", wanted.parts, " parts"}));
  checkpoint_index out;
  std::string faults;
  std::unordered_map<std::string, std::size_t> known[2];
  for (isize part = 0; part < wanted.parts; ++part) {
    checkpoint_index own = read_part_record(folder, wanted, part);
    if (part == 0) {
      out.step = own.step, out.model = own.model, out.optimizer = own.optimizer;
      out.parts = own.parts, out.block = own.block;
    }
    if (own.optimizer != out.optimizer)
      faults += sentence(
          {"\n  part ", part + 1, " was moved by ", own.optimizer, ", one before by ", out.optimizer});
    for (const tensor_use use : tensor_uses) {
      auto& all = out.of(use);
      all.files.push_back(own.of(use).files[as_size(part)]);
      for (checkpoint_tensor& tensor : own.of(use).tensors) {
        const auto [found, added] = known[as_size(use)].emplace(tensor.name, all.tensors.size());
        if (added) {
          all.tensors.push_back(std::move(tensor));
          continue;
        }
        checkpoint_tensor& joined = all.tensors[found->second];
        if (joined.shape != tensor.shape) {
          faults += sentence({"\n  \"", tensor.name, "\" is ", shape_text(tensor.shape), " in part ",
                              part + 1, ", ", shape_text(joined.shape), " in one before"});
          continue;
        }
        std::ranges::move(tensor.pieces, std::back_inserter(joined.pieces));
      }
    }
  }
  for (const auto& use : out.uses) {
    for (const checkpoint_tensor& tensor : use.tensors) {
      if (const std::string fault = tiling_fault(tensor); !fault.empty()) faults += "\n  " + fault;
    }
  }
  if (!faults.empty()) fail(checkpoint_parts_differ, folder.string() + ":" + faults + "\n");
  return out;
}

// The index, then the folder under its name, then RUN/latest; after that older checkpoints go, but the best
// by its trend.
inline std::filesystem::path publish_checkpoint(const std::filesystem::path& run, atomic_directory& folder,
                                                const checkpoint_index& whole, std::size_t keep) {
  write_file(folder.path() / "index.json", write_checkpoint_index(whole));
  folder.commit();
  const std::string name = step_folder(whole.step);
  write_file(run / "latest", name + "\n");
  std::vector<std::int64_t> steps;
  for (const auto& entry : entries_of(run)) {
    if (const auto step = folder_step(entry.filename().string())) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  std::error_code ignored;
  const auto trends = keep > 0 && steps.size() > keep ? trends_of(run) : std::vector<kept_checkpoint>{};
  const kept_checkpoint* const best = best_of(trends);
  for (std::size_t i = 0; keep > 0 && steps.size() - i > keep; ++i) {
    if (steps[i] == whole.step || (best != nullptr && steps[i] == best->step)) continue;
    // Out of sight first, so that a killed writer leaves no half of a checkpoint behind.
    const std::filesystem::path hidden = run / ("." + step_folder(steps[i]) + ".tmp-removed");
    std::filesystem::rename(run / step_folder(steps[i]), hidden, ignored);
    std::filesystem::remove_all(ignored ? run / step_folder(steps[i]) : hidden, ignored);
  }
  return run / name;
}

}  // namespace detail

// One rank calls this when every part is written. Whatever does not fit together is an error (MT-R54,
// MT-R55), and the parts are removed then. Keeps the newest `keep` checkpoints (0 keeps all) and the best one
// by its trend; a checkpoint of the same step is replaced. Returns the new checkpoint's folder.
inline std::filesystem::path finish_checkpoint(const std::filesystem::path& run,
                                               const checkpoint_summary& summary, std::size_t keep = 2) {
  atomic_directory folder(run / detail::step_folder(summary.step), detail::shared_folder(run, summary.step));
  checkpoint_index whole = detail::join_parts(folder.path(), summary);
  whole.state = summary.state;
  whole.description = summary.description;
  // An earlier attempt may have left parts of another number of ranks.
  std::unordered_set<std::string> wanted;
  for (const tensor_use use : tensor_uses) {
    for (isize part = 0; part < whole.parts; ++part) {
      if (whole.of(use).files[as_size(part)]) wanted.insert(detail::part_file(use, part, whole.parts));
    }
  }
  for (const auto& path : detail::entries_of(folder.path())) {
    std::error_code ignored;
    if (!wanted.contains(path.filename().string())) std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path made = detail::publish_checkpoint(run, folder, whole, keep);
  remove_unfinished_checkpoints(run, summary.step);
  return made;
}

}  // namespace motet
