// SPDX-License-Identifier: Apache-2.0

// hf_tokenize TOKENIZER TEXTS OUTPUT: a list of texts (JSON) to a list of their tokens, with what stands
// around a text, and the text that these are read as. hf_tokenizers.py calls it.
#include <motet/data/file.hpp>
#include <motet/data/words/tokenizer_file.hpp>
#include <motet/format/files/atomic_file.hpp>

#include <chrono>
#include <cstdio>

int main(int count, char** words) try {
  using namespace motet;
  if (count != 4) return std::fputs("hf_tokenize TOKENIZER TEXTS OUTPUT\n", stderr), 2;
  const tokenizer vocabulary = read_tokenizer(words[1]);
  const json texts = read_json(read_text(words[2]), words[2]);
  json out(json::array{});
  std::size_t tokens = 0;
  double seconds = 0;
  tokenizer::scratch work;
  std::vector<tokenizer::token> ids;
  for (const json& each : texts.items()) {
    ids.clear();
    const auto began = std::chrono::steady_clock::now();
    vocabulary.encode(each.string(), motet::isize{1} << 30, ids, work);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    tokens += ids.size();
    json all(json::array{});
    for (const tokenizer::token id : ids) all.push_back(id);
    out.push_back(json{{"ids", std::move(all)}, {"text", vocabulary.decode(ids)}});
  }
  write_file(words[3], write_json(out));
  std::printf("%.0f\n", static_cast<double>(tokens) / seconds);
} catch (const std::exception& problem) {
  return std::fprintf(stderr, "%s\n", problem.what()), 1;
}
