// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/meta/error.hpp>

namespace motet {

inline constexpr message plan_unknown_field{"MT-P70", "a plan has no such field", "it is misspelt, or belongs elsewhere in the file",
                                            "docs/plan/plan.md lists all fields; leave out what keeps its usual value"};
inline constexpr message plan_wrong_kind{"MT-P71", "a field of a plan is missing or of another kind than wanted",
                                         "a number is quoted, a list is not closed where it should be, or a field was forgotten",
                                         "docs/plan/plan.md says what each field holds"};
inline constexpr message plan_out_of_range{"MT-P72", "a number of a plan is out of range", "it is misspelt, or larger than any program can be",
                                           "Correct the number"};
inline constexpr message no_such_plan{"MT-P73", "there is no such plan", "the name is misspelt, or it is a file that is not there",
                                      "--list-plans tells all names; a file ends with .json"};
inline constexpr message plan_of_other_ranks{"MT-P74", "a plan is for as many ranks as it says", "another number of ranks was started or asked for",
                                             "Start as many ranks as the plan has, or choose another plan"};

inline constexpr message plan_messages[] = {plan_unknown_field, plan_wrong_kind, plan_out_of_range, no_such_plan, plan_of_other_ranks};

}  // namespace motet
