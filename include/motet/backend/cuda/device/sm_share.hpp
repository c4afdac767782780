// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <motet/backend/core/dealt_by_shares.hpp>
#include <motet/backend/cuda/device/api.hpp>

#include <cuda.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace motet::cuda {

namespace detail {

// A function of the driver, which programs do not link to.
template <class Function>
Function* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  check(cudaGetDriverEntryPointByVersion(name, &found, CUDA_VERSION, cudaEnableDefault, &status),
        "cudaGetDriverEntryPointByVersion");
  if (status != cudaDriverEntryPointSuccess || found == nullptr)
    fail(gpu_share_refused, std::string("this driver has no ") + name);
  return reinterpret_cast<Function*>(found);
}
inline void check_driver(CUresult status, const char* call) {
  if (status != CUDA_SUCCESS) fail(cuda_failed, sentence({call, ": CUresult ", static_cast<int>(status)}));
}

}  // namespace detail

// Shares of the current GPU's multiprocessors, disjoint (green contexts). Work of a share's streams runs on
// its multiprocessors alone; memory, the second-level cache and copy engines stay common.
class sm_shares {
 public:
  // `count` shares of `each` multiprocessors.
  sm_shares(int count, int each)
      : sm_shares(std::vector<int>(static_cast<std::size_t>(count > 0 ? count : 0), each)) {}
  // One of each of these numbers of multiprocessors.
  explicit sm_shares(std::vector<int> sizes) : sizes_(std::move(sizes)) {
    require_gpus();
    check(cudaGetDevice(&gpu_), "cudaGetDevice");
    check(cudaFree(nullptr), "cudaFree");  // the primary context, on which the shares stand
    CUdevice device = 0;
    const CUdevResource all = all_of(gpu_, device);
    int step = 0;
    std::vector<CUdevResource> groups = split(all, step);
    destroy_ = detail::driver_function<decltype(cuGreenCtxDestroy)>("cuGreenCtxDestroy");
    try {
      CUdevResource* next = groups.data();
      for (const int size : sizes_) {
        const int count = size / step;
        CUdevResourceDesc description{};
        detail::check_driver(
            detail::driver_function<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc")(
                &description, next, static_cast<unsigned>(count)),
            "cuDevResourceGenerateDesc");
        next += count;
        CUgreenCtx made = nullptr;
        detail::check_driver(detail::driver_function<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate")(
                                 &made, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
                             "cuGreenCtxCreate");
        contexts_.push_back(made);
      }
    } catch (...) {
      give_back();
      throw;
    }
  }
  sm_shares(const sm_shares&) = delete;
  sm_shares& operator=(const sm_shares&) = delete;
  // Streams were destroyed before.
  ~sm_shares() { give_back(); }

  // The current GPU gives shares in steps of so many multiprocessors, and so many steps together.
  struct steps {
    int size = 0, count = 0;
  };
  static steps steps_of_gpu() {
    require_gpus();
    int gpu = 0;
    check(cudaGetDevice(&gpu), "cudaGetDevice");
    check(cudaFree(nullptr), "cudaFree");
    CUdevice device = 0;
    steps found;
    const CUdevResource all = all_of(gpu, device);
    const auto by_count =
        detail::driver_function<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
    found.size = smallest(by_count, all, found.count);
    return found;
  }

  int count() const { return static_cast<int>(contexts_.size()); }
  int processors(int share) const { return sizes_[static_cast<std::size_t>(share)]; }
  // A stream of a share; the caller's.
  cudaStream_t make_stream(int share, int priority = 0) const {
    CUstream made = nullptr;
    detail::check_driver(
        detail::driver_function<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate")(
            &made, contexts_[static_cast<std::size_t>(share)], CU_STREAM_NON_BLOCKING, priority),
        "cuGreenCtxStreamCreate");
    return made;
  }

 private:
  static CUdevResource all_of(int gpu, CUdevice& device) {
    CUdevResource all{};
    detail::check_driver(detail::driver_function<decltype(cuDeviceGet)>("cuDeviceGet")(&device, gpu),
                         "cuDeviceGet");
    detail::check_driver(detail::driver_function<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource")(
                             device, &all, CU_DEV_RESOURCE_TYPE_SM),
                         "cuDeviceGetDevResource");
    return all;
  }
  // The chip in equal groups of `step`, of which each share is some. One call makes them, as only groups of
  // one call may be a share together. They are as large as all shares allow: what runs together is to lie
  // together.
  std::vector<CUdevResource> split(const CUdevResource& all, int& step) const {
    const auto by_count =
        detail::driver_function<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
    const auto processors = static_cast<long>(all.sm.smCount);
    std::string list;
    long sum = 0;
    int common = 0, least = 0, most = 0;
    bool equal = true, whole = !sizes_.empty();
    for (const int size : sizes_) {
      list += (list.empty() ? "" : ", ") + std::to_string(size);
      equal = equal && size == sizes_.front(), whole = whole && size > 0;
      sum += size, common = std::gcd(common, size);
    }
    const std::string wanted =
        equal && whole
            ? sentence({sizes_.size(), " shares of ", sizes_.front(), " multiprocessors were wanted"})
            : "shares of " + (list.empty() ? "no" : list) + " multiprocessors were wanted";
    if (!whole) fail(gpu_share_refused, wanted);
    least = smallest(by_count, all, most);
    std::string got;
    for (step = common; step >= 1; --step) {
      if (common % step != 0 || (step < least && step != common)) continue;
      const long count = sum / step;
      std::vector<CUdevResource> groups(static_cast<std::size_t>(count < processors ? count : processors));
      auto found = static_cast<unsigned>(groups.size());
      CUdevResource rest{};
      // The chip rounds the wish up.
      const CUresult status = by_count(groups.data(), &found, &all, &rest, 0, static_cast<unsigned>(step));
      bool good = status == CUDA_SUCCESS && static_cast<long>(found) == count;
      for (std::size_t g = 0; good && g < groups.size(); ++g)
        good = groups[g].sm.smCount == static_cast<unsigned>(step);
      if (good) return groups;
      if (!got.empty()) continue;
      if (!equal) got = sentence({", as ", count, " steps of ", step});
      got += status != CUDA_SUCCESS || found == 0
                 ? ", none can be had"
                 : sentence({", ", found, " of ", groups[0].sm.smCount, " can be had"});
    }
    fail(gpu_share_refused, sentence({wanted, got, "; this GPU has ", processors, ", in multiples of ", least,
                                      ", ", most, " shares at most"}));
  }
  // The smallest share of this chip, and how many of them there are.
  template <class Split>
  static int smallest(Split* split, const CUdevResource& all, int& most) {
    unsigned groups = 0;
    if (split(nullptr, &groups, &all, nullptr, 0, 1) != CUDA_SUCCESS || groups == 0) return 0;
    most = static_cast<int>(groups);
    CUdevResource one{};
    groups = 1;
    if (split(&one, &groups, &all, nullptr, 0, 1) != CUDA_SUCCESS) return 0;
    return static_cast<int>(one.sm.smCount);
  }
  void give_back() {
    for (const CUgreenCtx each : contexts_) destroy_(each);
    contexts_.clear();
  }

  std::vector<int> sizes_;
  int gpu_ = 0;
  decltype(&cuGreenCtxDestroy) destroy_ = nullptr;
  std::vector<CUgreenCtx> contexts_;
};

// Shares that were made, once for the same sizes: who divides a GPU anew finds what it had before.
class share_ladder {
 public:
  std::shared_ptr<sm_shares> of(const std::vector<int>& sizes) {
    for (const auto& [those, made] : made_)
      if (those == sizes) return made;
    return made_.emplace_back(sizes, std::make_shared<sm_shares>(sizes)).second;
  }
  std::size_t rungs() const { return made_.size(); }

 private:
  std::vector<std::pair<std::vector<int>, std::shared_ptr<sm_shares>>> made_;
};

// Multiprocessors of a rank's lanes, and where each lane has its own among them: whole steps of the current
// GPU, one at least for whoever has a share, in proportion. A lane without one is for little, such as a loss,
// and works with the first. of: a rank's own multiprocessors; 0: as many as the GPU gives.
struct lane_sizes {
  std::vector<int> sizes, of_lane;
};
inline lane_sizes sizes_of_lanes(const std::vector<double>& shares, int of = 0) {
  const auto [size, count] = sm_shares::steps_of_gpu();
  const int steps = size <= 0 ? 0 : of > 0 ? of / size : count;
  lane_sizes found;
  int all = 0;
  for (const int each : dealt_by_shares(shares, steps)) {
    found.of_lane.push_back(each > 0 ? static_cast<int>(found.sizes.size()) : 0);
    if (each > 0) found.sizes.push_back(each * size);
    all += each;
  }
  if (all > steps || steps == 0)
    fail(gpu_share_refused, sentence({found.sizes.size(), " lanes want a share of ", size,
                                      " multiprocessors at least, there are ", steps}));
  return found;
}

// A user is told this where streams may wait for each other's work without need: a GPU has so many queues, by
// default 8. The text is empty where all is well.
inline std::string advise_connections(int streams) {
  const char* const set = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const int queues = set != nullptr ? std::atoi(set) : 8;
  if (streams <= queues || queues >= 32) return {};
  return sentence(
      {streams, " streams share ", queues,
       " queues of the GPU, where one may wait behind another: set CUDA_DEVICE_MAX_CONNECTIONS=32"});
}

}  // namespace motet::cuda
