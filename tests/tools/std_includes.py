#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of the standard library that a header says, against the standard headers that it brings.

A header that compiles alone may do so because one library's <string> happens to include <algorithm>. So each name must come from a header that the
standard says has it, included by the header itself or by one of ours that it includes. Used by check_floors.py."""
import re

# The names that each header is asked for.
NAMES = {
    "algorithm": r"std::(sort|stable_sort|max_element|min_element|clamp|find|find_if|copy|copy_n|fill|fill_n|all_of|any_of|none_of|count_if|lower_bound|upper_bound|reverse|unique|equal|remove_if|swap_ranges|nth_element|partial_sort|max|min|transform|rotate|is_sorted|adjacent_find|replace|minmax)\b\(?",
    "array": r"std::(array|to_array)\b",
    "atomic": r"std::(atomic|memory_order)\w*\b",
    "bit": r"std::(bit_cast|popcount|countr_zero|countl_zero|bit_width|bit_ceil|bit_floor|rotl|rotr|has_single_bit|endian)\b",
    "cerrno": r"\berrno\b",
    "charconv": r"std::(from_chars|to_chars)\b",
    "chrono": r"std::chrono\b",
    "cmath": r"std::(sqrt|exp|log|cos|sin|pow|floor|ceil|isfinite|isnan|fabs|lround|llround|nearbyint|tanh|erf|log2|log10|hypot|round|trunc|ldexp|frexp|fma|cbrt|expm1|log1p)\b",
    "compare": r"std::(strong_ordering|partial_ordering)\b",
    "concepts": r"std::(same_as|convertible_to|integral|floating_point|derived_from|invocable|constructible_from|default_initializable|regular|semiregular|equality_comparable|totally_ordered|predicate)\b",
    "condition_variable": r"std::condition_variable\b",
    "cstddef": r"std::(byte|size_t|ptrdiff_t|max_align_t|nullptr_t)\b|\boffsetof\b",
    "cstdint": r"std::u?int(8|16|32|64|ptr|max)_t\b",
    "cstdio": r"std::(printf|fprintf|snprintf|fputs|FILE|fopen|fwrite|fread|fclose|fflush|perror|puts|remove|rename)\b",
    "cstdlib": r"std::(getenv|strtol|strtod|strtoull|malloc|free|abort|exit|aligned_alloc|atexit|_Exit|quick_exit)\b",
    "cstring": r"std::(memcpy|memset|memcmp|memmove|strlen|strcmp|strchr|strerror)\b",
    "deque": r"std::deque\b",
    "exception": r"std::(exception_ptr|current_exception|rethrow_exception|terminate|uncaught_exceptions|exception)\b",
    "filesystem": r"std::filesystem\b",
    "fstream": r"std::(o|i)?fstream\b",
    "functional": r"std::(function|plus|greater)\b",
    "initializer_list": r"std::initializer_list\b",
    "iterator": r"std::(back_inserter|next|prev|distance|advance|size|data|begin|end|ssize)\b",
    "limits": r"std::numeric_limits\b",
    "map": r"std::(map|multimap)\b",
    "memory": r"std::(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|construct_at|destroy_at|addressof)\b",
    "mutex": r"std::(mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once)\b",
    "new": r"std::(bad_alloc|align_val_t|nothrow|launder|hardware_\w+)\b",
    "numeric": r"std::(accumulate|iota|partial_sum|inner_product|gcd|lcm|reduce|exclusive_scan|inclusive_scan)\b",
    "optional": r"std::(optional|nullopt)\b",
    "set": r"std::(set|multiset)\b",
    "span": r"std::span\b",
    "sstream": r"std::(o|i)?stringstream\b",
    "stdexcept": r"std::(runtime_error|logic_error|out_of_range|invalid_argument)\b",
    "string": r"std::(string|to_string|stoi|stod|getline)\b",
    "string_view": r"std::string_view\b",
    "system_error": r"std::(system_error|error_code|errc|generic_category)\b",
    "thread": r"std::(jthread|thread|this_thread)\b",
    "tuple": r"std::(tuple|tuple_size|tuple_element|apply|tie|make_tuple)\b",
    "type_traits": r"std::(is_\w+_v|is_same|conditional_t|conditional|enable_if_t|remove_\w+_t|decay_t|underlying_type_t|true_type|false_type|void_t|type_identity\w*|integral_constant|bool_constant|invoke_result_t|common_type_t|add_const_t|make_unsigned_t|make_signed_t|has_unique_object_representations_v|is_constant_evaluated)\b",
    "typeinfo": r"\btypeid\b",
    "unordered_map": r"std::unordered_map\b",
    "utility": r"std::(move|forward|exchange|pair|swap|declval|index_sequence|make_index_sequence|integer_sequence|as_const|in_place\w*)\b",
    "variant": r"std::(variant|visit|get_if|holds_alternative|monostate)\b",
    "vector": r"std::vector\b",
}
# Headers that bring the same names, by the standard or by every library that there is.
ALSO = {
    "compare": {"array", "optional", "string", "string_view", "utility", "vector"},
    "cstddef": {"array", "bit", "cstdio", "cstdlib", "cstring", "span", "string", "string_view", "vector"},
    "exception": {"new", "stdexcept", "typeinfo"},
    "initializer_list": {"algorithm", "array", "map", "set", "span", "string", "utility", "vector"},
    "iterator": {"array", "deque", "map", "set", "span", "string", "string_view", "vector"},
    "string_view": {"string"},
    "system_error": {"charconv"},
    "type_traits": {"concepts"},
    "utility": {"algorithm", "array", "functional", "map", "memory", "optional", "string", "tuple", "variant", "vector"},
}
PATTERNS = {header: re.compile(names) for header, names in NAMES.items()}
NO_CODE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')


def missing(text, brought):
    """Pairs of a name that this text says and the header that it lacks."""
    code = NO_CODE.sub("", text)
    for header, names in PATTERNS.items():
        if header not in brought and ALSO.get(header, set()).isdisjoint(brought):
            said = names.search(code)
            if said:
                yield said.group(), header
