// SPDX-License-Identifier: Apache-2.0

// Serves finished steps to runs that train: reads shards, decodes, resizes and tokenizes on machines, or
// cores, of its own.
#include <motet/run/produce_program.hpp>

int main(int count, char** words) { return motet::produce_program("produce", count, words); }
