// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/tensor/sequences.hpp>
#include <motet/tensor/view.hpp>

namespace motet {

// A gate weighs the outputs of a row's experts with their probabilities, or those divided by their sum (the
// softmax over the chosen alone).
enum class gate_kind : std::uint8_t { normalised, probability };

// A router sends each row to top_k of its experts. Room, balance and z are taken over the rows of one sample:
// whichever samples share a microbatch or a rank, a sample is treated alike.
struct router_shape {
  isize experts = 1;
  isize top_k = 1;
  gate_kind gates = gate_kind::normalised;
  // an expert takes so many times its even share of a sample's rows, and drops what comes later; 0: all
  // (dropless)
  double capacity = 0;
  double balance = 0;  // what the balance loss counts
  double z = 0;        // what the z loss counts

  // Rows of a sample that one expert takes.
  constexpr isize room(isize rows) const {
    if (capacity <= 0) return rows;
    const double most = capacity * static_cast<double>(rows * top_k) / static_cast<double>(experts);
    if (most >= static_cast<double>(rows)) return rows;
    const auto whole = static_cast<isize>(most);
    return static_cast<double>(whole) < most ? whole + 1 : whole;
  }
  // Choices that `count` of the experts can get from so many rows of so many samples.
  constexpr isize most_choices(isize rows, isize samples, isize count) const {
    const isize all = rows * (top_k < count ? top_k : count);
    if (capacity <= 0) return all;
    const double most = static_cast<double>(count) *
                        (capacity * static_cast<double>(rows * top_k) / static_cast<double>(experts) +
                         static_cast<double>(samples));
    return most < static_cast<double>(all) ? static_cast<isize>(most) + 1 : all;
  }
};

// One of the experts of a row.
template <class Real>
struct choice {
  Real gate = 0;
  std::uint16_t expert = 0;
  bool kept = false;  // false: the expert had no room
};

// Choices in order of keys (the ranks or experts that they go to), of one key in their own order.
struct grouping {
  isize keys = 0;
  isize* starts = nullptr;         // keys + 1
  matrix<std::int32_t> position;   // (rows, top_k): where the choice went, or -1
  std::int32_t* source = nullptr;  // of each position: row * top_k + number of the choice
  // positions; of a GPU, which alone knows how many there are, as many as `most`
  isize count = 0;
  isize most = 0;  // positions that there is memory for, in a dry run too
  sequences each() const { return {count, 1, nullptr}; }
};

// Rows of a group of ranks, a tensor group or replicas, go where this memory says. Ranks hold the experts as
// tensor_cut shares them. A row goes once to each rank that has an expert for it. In a dry run, when nothing
// is routed, all have an even load, in the memory of the worst one.
template <class Real>
struct dispatched {
  isize top_k = 1;
  isize ranks = 1, first = 0;                              // first: number of this rank's first expert
  bool over_replicas = false;                              // these ranks are; else they are a tensor group
  isize most_sent = 0, most_arrived = 0, most_sorted = 0;  // rows that go and come; choices of own experts
  grouping sent;                                           // own choices by rank; not used by a rank alone
  grouping sorted;                                         // choices that came here, by expert
  matrix<choice<Real>> arrived;                            // (rows that came, top_k); of a rank alone its own
  isize came = 0;                                          // rows
  bool of_samples = false;                                 // rows are one for each sample
  isize* sent_rows = nullptr;                              // to each rank
  isize* arrived_rows = nullptr;                           // from each rank
  bool alone() const { return ranks == 1; }
  sequences arrivals() const { return {came, 1, nullptr}; }
};

}  // namespace motet
