// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/machine.hpp"

#include <sys/mman.h>

#include <cstring>
#include <numeric>
#include <vector>

// Blocks run one after another. The threads of a block are fibers: each runs until its next barrier or
// shuffle. This file is compiled without sanitizers; where the program has one, it is told of the fibers, and
// the thread sanitizer sees threads that only barriers order.

extern "C" {
#define MOTET_WEAK __attribute__((weak))
MOTET_WEAK void __sanitizer_start_switch_fiber(void** saved, const void* bottom, std::size_t size);
MOTET_WEAK void __sanitizer_finish_switch_fiber(void* saved, const void** bottom, std::size_t* size);
MOTET_WEAK void __asan_poison_memory_region(const volatile void* at, std::size_t size);
MOTET_WEAK void __asan_unpoison_memory_region(const volatile void* at, std::size_t size);
MOTET_WEAK void* __asan_get_current_fake_stack();
MOTET_WEAK void* __asan_addr_is_in_fake_stack(void* fake, void* at, void** begin, void** end);
MOTET_WEAK void* __tsan_get_current_fiber();
MOTET_WEAK void* __tsan_create_fiber(unsigned flags);
MOTET_WEAK void __tsan_switch_to_fiber(void* fiber, unsigned flags);
MOTET_WEAK void __tsan_acquire(void* at);
MOTET_WEAK void __tsan_release(void* at);
void motet_switch_stack(void** from, void* to);
}

#if defined(__x86_64__)
// A call keeps the registers that the callee saves.
asm(R"(
.text
.globl motet_switch_stack
.type motet_switch_stack, @function
motet_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size motet_switch_stack, .-motet_switch_stack
)");
#else
#include <ucontext.h>
extern "C" void motet_switch_stack(void** from, void* to) {
  ucontext_t here;
  *from = &here;
  swapcontext(&here, static_cast<ucontext_t*>(to));
}
#endif

namespace motet::emulation {

namespace {
constexpr std::size_t stack_bytes = 256 * 1024;
constexpr unsigned no_order = 1;  // a switch of fibers orders nothing

struct stack {
  void* at = nullptr;  // of the switched-off one
  char* bottom = nullptr;
  std::size_t size = 0;
  void* fake = nullptr;
  void* tsan = nullptr;
  int thread = -1;
};
enum class waits : unsigned char { not_begun, no, block, warp, shuffle, finished };
const char* const waits_for[] = {"has not begun",      "runs",
                                 "waits at a barrier", "waits at a barrier of its warp",
                                 "waits at a shuffle", "has finished"};
}  // namespace

class block_runner {
 public:
  static block_runner& one() {
    static block_runner* const made = new block_runner;  // outlives all
    return *made;
  }

  block_runner() {
    // The thread sanitizer sees memory that is taken, and would take it for the kernel's.
    idle_.reserve(2048);
    used_.reserve(2048);
    taken_.reserve(1024);
  }

  void run(const kernel_call& what, std::uint64_t random) {
    call_ = &what;
    count_ = what.shape.threads;
    threads_.resize(static_cast<std::size_t>(count_));
    warps_.resize(static_cast<std::size_t>(count_ / cuda::warp_size));
    const auto size = static_cast<std::size_t>(what.shape.shared);
    // The address sanitizer sees exactly this size; a mark lies behind it for all others.
    shared_ = static_cast<unsigned char*>(std::aligned_alloc(16, (size + mark_bytes + 15) / 16 * 16));
    if (__asan_poison_memory_region)
      __asan_poison_memory_region(shared_ + size, (size + mark_bytes + 15) / 16 * 16 - size);
    const isize blocks = what.shape.blocks;
    const isize first = static_cast<isize>(random % static_cast<std::uint64_t>(blocks));
    const isize step = coprime(static_cast<isize>(random >> 20 & 0xffff), blocks);
    for (isize b = 0, at = first; b < blocks; ++b, at = (at + step) % blocks)
      run_block(at, random + static_cast<std::uint64_t>(b) * 0x9e3779b97f4a7c15ull);
    if (__asan_unpoison_memory_region)
      __asan_unpoison_memory_region(shared_, (size + mark_bytes + 15) / 16 * 16);
    std::free(shared_);
    call_ = nullptr;
  }

  void wait_for_block(emulated_thread& self) {
    int& parity = parity_of_[self.barriers_++ % 2];
    if (__tsan_release) __tsan_release(&parity);
    if (++at_barrier_ == count_) {
      at_barrier_ = 0;
      wake(0, count_, self.thread_);
    } else {
      suspend(self, waits::block);
    }
    if (__tsan_acquire) __tsan_acquire(&parity);
  }
  void wait_for_warp(emulated_thread& self) {
    auto& warp = warps_[static_cast<std::size_t>(self.warp())];
    if (__tsan_release) __tsan_release(&warp);
    meet(self, warp, waits::warp, 0);
    if (__tsan_acquire) __tsan_acquire(&warp);
  }
  const void* show(emulated_thread& self, const void* value, std::size_t bytes) {
    auto& warp = warps_[static_cast<std::size_t>(self.warp())];
    auto& shown = warp.shown[self.exchanges_++ % 2];
    move(shown + static_cast<std::size_t>(self.lane()) * bytes, value, bytes);
    meet(self, warp, waits::shuffle, bytes);
    return shown;
  }
  void* take_shared(emulated_thread& self, isize bytes) {
    const isize at = self.used_;
    self.used_ += round_up(bytes, 16);
    const auto turn = static_cast<std::size_t>(self.taken_++);
    if (turn == taken_.size()) taken_.push_back(bytes);
    if (taken_[turn] != bytes)
      fault(name() + "thread " + std::to_string(self.thread_) + " takes " + std::to_string(bytes) +
            " bytes of shared memory where another took " + std::to_string(taken_[turn]));
    if (at + bytes > call_->shape.shared)
      fault(name() + "takes " + std::to_string(at + bytes) + " bytes of shared memory, launched with " +
            std::to_string(call_->shape.shared));
    return shared_ + at;
  }
  // An instruction that names the memory it is for. Host code may use the same functions.
  void access(cuda::memory_kind of, const void* at, int bytes) const {
    if (call_ == nullptr) return;
    const auto* const place = static_cast<const unsigned char*>(at);
    const bool shared = place >= shared_ && place < shared_ + call_->shape.shared;
    if (of == cuda::memory_kind::gpu && shared)
      fault(name() + "an instruction for the GPU's memory is given the block's shared memory");
    if (of == cuda::memory_kind::gpu && on_stack(at))
      fault(name() + "an instruction for the GPU's memory is given a thread's own memory");
    if (of == cuda::memory_kind::block && !shared)
      fault(name() + "an instruction for the block's shared memory is given other memory");
    if (reinterpret_cast<std::uintptr_t>(at) % static_cast<unsigned>(bytes) != 0)
      fault(name() + "an instruction that moves " + std::to_string(bytes) +
            " bytes at once is given a place that is no multiple of them");
    if (of == cuda::memory_kind::gpu && watch) watch(at, bytes, true);
  }
  void load(const void* at, int bytes) const {
    if (call_ == nullptr || !watch) return;
    const auto* const place = static_cast<const unsigned char*>(at);
    if ((place < shared_ || place >= shared_ + call_->shape.shared) && !on_stack(at)) watch(at, bytes, false);
  }
  static inline std::function<void(const void*, int, bool)> watch;

 private:
  static constexpr std::size_t mark_bytes = 64;
  struct thread_state {
    waits state = waits::not_begun;
    stack* on = nullptr;
  };
  struct warp_state {
    alignas(16) unsigned char shown[2][cuda::warp_size * emulated_thread::most_shown];
    int arrived = 0;
    waits kind = waits::no;
    std::size_t bytes = 0;
  };

  // Bytes move in one access, which no sanitizer sees.
  static void move(void* to, const void* from, std::size_t bytes) {
    if (bytes == 4) std::memcpy(to, from, 4);
    else if (bytes == 8) std::memcpy(to, from, 8);
    else std::memcpy(to, from, bytes);
  }
  bool on_stack(const void* at) const {
    const auto* const place = static_cast<const char*>(at);
    if (place >= current_->bottom && place < current_->bottom + current_->size) return true;
    void* const fake = __asan_get_current_fake_stack ? __asan_get_current_fake_stack() : nullptr;
    return fake != nullptr &&
           __asan_addr_is_in_fake_stack(fake, const_cast<void*>(at), nullptr, nullptr) != nullptr;
  }
  static isize coprime(isize step, isize count) {
    step = step % count;
    while (step == 0 || std::gcd(step, count) != 1) ++step;
    return step;
  }
  std::string name() const {
    return std::string("kernel ") + call_->name + ", block " + std::to_string(block_) + ": ";
  }

  void run_block(isize block, std::uint64_t random) {
    block_ = block;
    const auto size = static_cast<std::size_t>(call_->shape.shared);
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(shared_ + size, mark_bytes);
    std::memset(shared_, 0xff, size + mark_bytes);
    if (__asan_poison_memory_region) __asan_poison_memory_region(shared_ + size, mark_bytes);
    for (auto& each : threads_) each = {};
    for (auto& each : warps_) each.arrived = 0;
    taken_.clear();
    ready_count_ = 0;
    begun_ = finished_ = at_barrier_ = 0;
    fresh_first_ = (random >> 17 & 1) != 0;
    next_thread_ = static_cast<isize>(random >> 32) % count_;
    thread_step_ = coprime(static_cast<isize>(random >> 40 & 0x3ff), count_);
    if (__tsan_get_current_fiber) main_.tsan = __tsan_get_current_fiber();
    if (__tsan_release) __tsan_release(&begun_);
    current_ = &main_;
    switch_to(idle_stack());
    if (__tsan_acquire) __tsan_acquire(&finished_);
    for (stack* each : used_) idle_.push_back(each);
    used_.clear();
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(shared_ + size, mark_bytes);
    for (std::size_t i = 0; i < mark_bytes; ++i)
      if (shared_[size + i] != 0xff)
        fault(name() + "wrote behind its shared memory of " + std::to_string(size) + " bytes");
    if (__asan_poison_memory_region) __asan_poison_memory_region(shared_ + size, mark_bytes);
  }

  void meet(emulated_thread& self, warp_state& warp, waits kind, std::size_t bytes) {
    if (warp.arrived == 0) warp.kind = kind, warp.bytes = bytes;
    if (warp.kind != kind || warp.bytes != bytes)
      fault(name() + "lanes of warp " + std::to_string(self.warp()) + " meet at different shuffles (thread " +
            std::to_string(self.thread_) + ")");
    if (++warp.arrived < cuda::warp_size) return suspend(self, kind);
    warp.arrived = 0;
    const int first = self.warp() * cuda::warp_size;
    wake(first, first + cuda::warp_size, self.thread_);
  }
  // Threads [first, end) go on in this order, but for the one that wakes them.
  void wake(int first, int end, int but) {
    if (first == but) ++first;
    if (first < end) ready_[(next_ready_ + ready_count_++) % most_ready] = {first, end, but};
  }
  void suspend(emulated_thread& self, waits kind) {
    auto& mine = threads_[static_cast<std::size_t>(self.thread_)];
    mine.state = kind;
    mine.on = current_;
    switch_to(next());
  }
  // This stack goes on.
  stack* next() {
    const bool fresh = begun_<count_, ready = ready_count_> 0;
    if (fresh && (fresh_first_ || !ready)) return idle_stack();
    if (ready) {
      ready_threads& group = ready_[next_ready_];
      const int thread = group.first++;
      if (group.first == group.but) ++group.first;
      if (group.first >= group.end) {
        next_ready_ = (next_ready_ + 1) % most_ready;
        --ready_count_;
      }
      return threads_[static_cast<std::size_t>(thread)].on;
    }
    if (finished_ == count_) return &main_;
    report_waits();
  }
  [[noreturn, gnu::cold, gnu::noinline]] void report_waits() const {
    std::string text = name() + "not all threads reach a barrier or shuffle:";
    for (std::size_t kind = 0; kind < std::size(waits_for); ++kind) {
      int first = -1, all = 0;
      for (int i = 0; i < count_; ++i)
        if (threads_[static_cast<std::size_t>(i)].state == static_cast<waits>(kind))
          first = all++ == 0 ? i : first;
      if (all == 1) text += " thread " + std::to_string(first) + " " + waits_for[kind] + ";";
      if (all > 1)
        text += " " + std::to_string(all) + " threads from " + std::to_string(first) + " on: each " +
                waits_for[kind] + ";";
    }
    text.pop_back();
    fault(text);
  }

  stack* idle_stack() {
    if (!idle_.empty()) {
      stack* const found = idle_.back();
      idle_.pop_back();
      return found;
    }
    auto* const made = new stack;
    void* const memory = mmap(nullptr, stack_bytes + 4096, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) fault("no memory for stacks");
    mprotect(memory, 4096, PROT_NONE);
    made->bottom = static_cast<char*>(memory) + 4096;
    made->size = stack_bytes;
    // Stacks begin at different places of a page, or all would fight for the same lines of the cache.
    char* const top = made->bottom + stack_bytes - 16 - (stacks_++ * 192) % 4096;
#if defined(__x86_64__)
    void** at = reinterpret_cast<void**>(top - reinterpret_cast<std::uintptr_t>(top) % 16);
    *--at = nullptr;
    *--at = reinterpret_cast<void*>(&begin);
    for (int i = 0; i < 6; ++i) *--at = nullptr;
    made->at = at;
#else
    auto* const start = new ucontext_t;
    getcontext(start);
    start->uc_stack.ss_sp = made->bottom;
    start->uc_stack.ss_size = static_cast<std::size_t>(top - made->bottom);
    start->uc_link = nullptr;
    makecontext(start, reinterpret_cast<void (*)()>(&begin), 0);
    made->at = start;
#endif
    if (__tsan_create_fiber) made->tsan = __tsan_create_fiber(0);
    return made;
  }

  void switch_to(stack* to) {
    if (to == current_) return;
    stack* const from = current_;
    previous_ = from;
    current_ = to;
    if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&from->fake, to->bottom, to->size);
    if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(to->tsan, no_order);
    motet_switch_stack(&from->at, to->at);
    arrived(from->fake);
  }
  void arrived(void* fake) {
    if (!__sanitizer_finish_switch_fiber) return;
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(fake, &bottom, &size);
    previous_->bottom = static_cast<char*>(const_cast<void*>(bottom));
    previous_->size = size;
  }

  // A stack runs threads that have not begun, as long as there are any.
  static void begin() {
    auto& self = one();
    self.arrived(nullptr);
    for (;;) {
      self.work();
      stack* const mine = self.current_;
      stack* const to = self.next();
      (__tsan_get_current_fiber ? self.used_ : self.idle_).push_back(mine);
      self.switch_to(to);
    }
  }
  void work() {
    while (begun_ < count_) {
      if (__tsan_acquire) __tsan_acquire(&begun_);
      emulated_thread self;
      self.shape_ = call_->shape;
      self.block_ = block_;
      self.thread_ = static_cast<int>(next_thread_);
      next_thread_ = (next_thread_ + thread_step_) % count_;
      ++begun_;
      auto& mine = threads_[static_cast<std::size_t>(self.thread_)];
      mine.state = waits::no;
      call_->run(call_->kernel, self);
      if (self.copies_ > 0)
        fault(name() + "thread " + std::to_string(self.thread_) +
              " ends while copies into shared memory are under way");
      mine.state = waits::finished;
      ++finished_;
      if (__tsan_release) __tsan_release(&finished_);
      // each thread has its own, or what two of them do would seem ordered
      if (__tsan_get_current_fiber) return;
      if (!fresh_first_ && ready_count_ > 0) return;
    }
  }

  const kernel_call* call_ = nullptr;
  isize block_ = 0;
  int count_ = 0, begun_ = 0, finished_ = 0, at_barrier_ = 0;
  int parity_of_[2] = {};
  bool fresh_first_ = false;
  isize next_thread_ = 0, thread_step_ = 1;
  std::vector<thread_state> threads_;
  std::vector<warp_state> warps_;
  // Groups of threads that go on, in turn: of each warp one at most, as all of a group have gone on before
  // the next is complete.
  struct ready_threads {
    int first = 0, end = 0, but = -1;
  };
  static constexpr unsigned most_ready = 64;
  ready_threads ready_[most_ready] = {};
  unsigned next_ready_ = 0, ready_count_ = 0;
  std::vector<isize> taken_;
  unsigned char* shared_ = nullptr;
  stack main_;
  stack *current_ = nullptr, *previous_ = nullptr;
  std::vector<stack*> idle_, used_;
  std::size_t stacks_ = 0;
};

void emulated_thread::wait_for_block() { block_runner::one().wait_for_block(*this); }
void emulated_thread::wait_for_warp() { block_runner::one().wait_for_warp(*this); }
void* emulated_thread::take_shared(isize bytes) { return block_runner::one().take_shared(*this, bytes); }
void emulated_thread::too_many_copies() {
  fault("a thread has more than " + std::to_string(most_copies) + " copies into shared memory under way");
}
const void* emulated_thread::show(const void* value, std::size_t bytes) {
  return block_runner::one().show(*this, value, bytes);
}

void watch_accesses(std::function<void(const void*, int, bool)> look) {
  block_runner::watch = std::move(look);
}

void run_blocks(const kernel_call& what, std::uint64_t random) { block_runner::one().run(what, random); }

}  // namespace motet::emulation

namespace motet::cuda {

void emulated_access(memory_kind of, const void* at, int bytes) {
  emulation::block_runner::one().access(of, at, bytes);
}
void emulated_load(const void* at, int bytes) { emulation::block_runner::one().load(at, bytes); }

}  // namespace motet::cuda
