// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/runtime/save/begin_weights.hpp>
#include <motet/runtime/save/checkpoint.hpp>
#include <motet/runtime/train/pipeline_trainer.hpp>

namespace motet {

namespace detail {

// All ranks go on, or none: one that failed throws its own error, the others say that it did. When all know,
// one rank clears away what was begun.
template <class Host, class Body, class Clear>
void all_or_none(Host& ranks, const char* what, Body&& body, Clear&& clear) {
  std::exception_ptr problem;
  try {
    body();
  } catch (const std::exception&) {
    problem = std::current_exception();
  }
  double failed = problem ? 1 : 0;
  ranks.sum(&failed, 1);
  if (failed > 0 && ranks.local_ranks().front() == 0) clear();
  if (problem) std::rethrow_exception(problem);
  if (failed > 0)
    fail(checkpoint_failed_elsewhere, sentence({what, " on ", static_cast<int>(failed), " other ranks"}));
}

}  // namespace detail

// A checkpoint of all ranks, each of which writes what it counts as its own; called by all. It is there when
// all parts are, or not at all. Any other plan, on any other ranks, goes on from it, and so does a single
// rank. Returns its folder, on the rank that finishes it.
template <class Device, class Numbers, class Host>
std::filesystem::path save(model_trainer<Device, Numbers, Host>& from, const std::filesystem::path& run,
                           const std::string& name, json state, json description, std::size_t keep = 2) {
  const isize ranks = from.of().ranks();
  const auto clear = [&] { remove_unfinished_checkpoints(run, from.updates()); };
  const auto write = [&] {
    for (const std::int32_t rank : from.ranks().local_ranks())
      save_part({run, name, from.updates(), rank, ranks, from.optimizer()}, from.pieces(rank).all());
  };
  detail::all_or_none(from.ranks(), "writing a part", write, clear);
  std::filesystem::path folder;
  const auto close = [&] {
    if (from.ranks().local_ranks().front() == 0)
      folder = finish({run, name, from.updates(), 0, ranks}, std::move(state), std::move(description), keep);
  };
  detail::all_or_none(from.ranks(), "finishing", close, clear);
  return folder;
}

// Fills a prepared trainer from a checkpoint of any ranks; called by all. A rank reads what it holds, and no
// more. After an error nothing was changed on this rank, and no rank goes on.
template <class Device, class Numbers, class Host>
void load(model_trainer<Device, Numbers, Host>& into, const checkpoint& from, const std::string& name) {
  const auto read = [&] {
    for (const std::int32_t rank : into.ranks().local_ranks()) {
      auto own = into.pieces(rank);
      into.set_updates(
          load(own.all(), into.parameters(), into.model().trainable_size, from, name, into.optimizer()));
      own.write_back();
    }
    if (into.has_averages() && !from.has_averages()) into.begin_averages();
  };
  detail::all_or_none(into.ranks(), "reading a part", read, [] {});
}

// Gives a prepared trainer that made no step what weights_given() finds; called by all. Each rank reads what
// it holds. Returns the modules.
template <class Device, class Numbers, class Host>
std::vector<given_module> begin(model_trainer<Device, Numbers, Host>& with, const checkpoint& from,
                                const begin_options& how, const std::set<std::string>& adapters) {
  if (with.updates() > 0)
    fail(bad_training_option,
         sentence({"weights of ", from.path().string(), " to begin with, after ", with.updates(), " steps"}));
  given_weights given;
  const auto read = [&] {
    given = weights_given(from, with.parameters(), how, adapters);
    for (const std::int32_t rank : with.ranks().local_ranks()) {
      auto own = with.pieces(rank);
      fill_given(own.all(), given, from, how.which);
      own.write_back();
    }
    if (with.has_averages()) with.begin_averages();
  };
  detail::all_or_none(with.ranks(), "reading weights to begin with", read, [] {});
  return std::move(given.modules);
}

}  // namespace motet
