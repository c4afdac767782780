// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/data/samples/loader_config.hpp>
#include <motet/data/samples/source.hpp>
#include <motet/data/steps/run_order.hpp>
#include <motet/data/words/tokenizer.hpp>

#include <memory>

namespace motet {

class pair_maker;
template <class Maker>
class steps_in_turn;

// Makes batches ahead of time on its own threads, in slots that are allocated once. The run is the epochs'
// orders one after another, cut into batches, so a batch may reach over the end of an epoch and all are full.
// What is in a batch depends on (seed, position) alone; a damaged sample is replaced by one drawn from (seed,
// position), so even that does not depend on which thread found it, or when.
// Asks for: a batch that is no larger than the source, which outlives the loader as the vocabulary does.
// Memory: `ready` batches, and decoded pictures up to `cache_bytes`.
// Errors: MT-D10, MT-D11, MT-D12, MT-D13
// Example:
//   std::ptrdiff_t words_of_first(const pair_source& source, const tokenizer& words) {
//     pair_loader loader(source, words, {.batch = 64, .example = {.image = 64, .context = 32}});
//     return loader.next().captions().rows();
//   }
class pair_loader {
 public:
  pair_loader(const pair_source& source, const tokenizer& words, const loader_config& config, isize start = 0)
      : pair_loader(source, words, config,
                    data_position{config.seed, source.fingerprint(), source.size(), start}) {}
  // Goes on where `from` was taken; refuses another data set or seed.
  pair_loader(const pair_source& source, const tokenizer& words, const loader_config& config,
              const data_position& from);
  pair_loader(const pair_loader&) = delete;
  pair_loader& operator=(const pair_loader&) = delete;
  ~pair_loader();

  // The pictures of all batches lie in this memory.
  const buffer<std::byte>& memory() const;
  // The next batch, valid until the next call. Throws what went wrong while it was made, again on every later
  // call.
  const pair_batch& next();
  // The one that next() will give, if it is made already, as valid as that one will be; else null.
  const pair_batch* ahead() const;
  // The position lies behind the batch that `next` gave last: saved with the weights of that step, it resumes
  // with the batch after it.
  const data_position& position() const;
  loader_statistics statistics() const;
  const loader_config& config() const { return config_; }

 private:
  loader_config config_;
  std::unique_ptr<steps_in_turn<pair_maker>> made_;
};

}  // namespace motet

#if !defined(MOTET_COMPILED_DATA)
#include <motet/data/steps/pair_maker.hpp>
#include <motet/data/steps/steps_in_turn.hpp>

namespace motet {

MOTET_BODY pair_loader::pair_loader(const pair_source& source, const tokenizer& words,
                                    const loader_config& config, const data_position& from)
    : config_(check(config, source)) {
  check_position(source, config.seed, from);
  made_ = std::make_unique<steps_in_turn<pair_maker>>(from, config, source, words, config);
}
MOTET_BODY pair_loader::~pair_loader() = default;
MOTET_BODY const buffer<std::byte>& pair_loader::memory() const { return made_->memory(); }
MOTET_BODY const pair_batch& pair_loader::next() { return made_->next(); }
MOTET_BODY const pair_batch* pair_loader::ahead() const { return made_->ahead(); }
MOTET_BODY const data_position& pair_loader::position() const { return made_->position(); }
MOTET_BODY loader_statistics pair_loader::statistics() const { return made_->statistics(); }

}  // namespace motet
#endif
