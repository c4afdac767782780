// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/schedule/check/explain.hpp>
#include <motet/schedule/csv/csv_read.hpp>
#include <motet/schedule/csv/csv_write.hpp>
#include <motet/schedule/simulate/simulate.hpp>

#include <cstdlib>

// Any bytes are read or refused with MT-P50..; what is read can be checked and explained, and what is legal
// is the same after writing and reading again. Aborts when that does not hold; returns whether the program
// was legal.
inline bool fuzz_schedule_csv(std::string_view bytes) {
  motet::program made;
  try {
    made = motet::read_csv(bytes);
  } catch (const motet::error& refused) {
    if (!std::string_view(refused.code()).starts_with("MT-P5")) std::abort();
    return false;
  }
  for (const motet::delivery how : {motet::delivery::buffered, motet::delivery::rendezvous}) {
    const motet::check_result result = motet::check(made, how);
    if (result.ok() != motet::explain(made, result).empty()) std::abort();
    if (!result.ok()) return false;
  }
  if (!(motet::read_csv(motet::write_csv(made)) == made)) std::abort();
  if (!(motet::read_csv(motet::write_csv(made, {motet::csv_form::everything})) == made)) std::abort();
  motet::timeline when;
  if (!motet::simulate(made, motet::even_costs(made, {}), when).ok() || when.makespan <= 0) std::abort();
  return true;
}
