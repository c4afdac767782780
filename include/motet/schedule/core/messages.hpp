// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

// These sentences of the codes MT-P say what goes wrong with schedules.
namespace motet {

inline constexpr message csv_unknown_cell{
    "MT-P50", "a cell of a schedule file is not understood",
    "it is misspelt, belongs to another kind of file, or the file is damaged",
    "Write stage, operation and microbatch as in 0F7; docs/schedule/csv.md lists all cells"};
inline constexpr message csv_too_large{"MT-P51", "a number of a schedule file is out of range",
                                       "it is misspelt, or larger than a program or the file's header allows",
                                       "Correct the number, or the header"};
inline constexpr message csv_empty{
    "MT-P52", "every rank of a schedule file needs a row with something to do",
    "the file is empty, or holds an empty row",
    "Remove the row, or fill it; only files with a header may have idle ranks"};
inline constexpr message csv_stage_twice{"MT-P53", "a stage lies on one rank only",
                                         "cells of two rows name the same stage",
                                         "Move all cells of the stage to one row"};
inline constexpr message csv_incomplete{
    "MT-P54",
    "every stage of a schedule file must run every microbatch forward and, where it learns, backward",
    "a cell or the end of a row is missing, or a number is misspelt", "Add the cell, or correct the number"};
inline constexpr message csv_lone_wait{
    "MT-P55", "a wait must come after what it waits for, once, in the same row",
    "the send or the reduction is missing or comes later", "Put it first, or remove the wait"};
inline constexpr message csv_bad_header{"MT-P56", "the header of a schedule file is not understood",
                                        "it was changed by hand, or written by another version",
                                        "docs/schedule/csv.md says how a header looks"};
inline constexpr message csv_bad_quote{"MT-P57", "a quoted cell of a schedule file must end with a quote",
                                       "the file is cut or damaged", "Close the quote, or remove it"};
inline constexpr message no_such_schedule{"MT-P60", "there is no such schedule", "the name is misspelt",
                                          "Use one of the names listed"};
inline constexpr message schedule_lacks_option{"MT-P61", "this schedule has no such number",
                                               "it belongs to another schedule",
                                               "Leave it out, or choose the schedule that has it"};

inline constexpr message schedule_messages[] = {
    csv_unknown_cell, csv_too_large,  csv_empty,     csv_stage_twice,  csv_incomplete,
    csv_lone_wait,    csv_bad_header, csv_bad_quote, no_such_schedule, schedule_lacks_option};

}  // namespace motet
