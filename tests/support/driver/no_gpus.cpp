// SPDX-License-Identifier: Apache-2.0
// A driver of GPUs for machines that have none: it starts, says that there are no devices, and does nothing
// else. cuDNN plans for chips that it is told of (chips.hpp), but loads the driver to do so. This is built as
// libcuda.so.1 and stands first on the path of tests that ask real libraries.

extern "C" {

#define MOTET_DRIVER_FUNCTION __attribute__((visibility("default"))) int
constexpr int success = 0, no_device = 100;

MOTET_DRIVER_FUNCTION cuInit(unsigned) { return success; }
MOTET_DRIVER_FUNCTION cuDriverGetVersion(int* version) { return *version = 13000, success; }
MOTET_DRIVER_FUNCTION cuDeviceGetCount(int* count) { return *count = 0, success; }
MOTET_DRIVER_FUNCTION cuGetErrorName(int, const char** name) {
  return *name = "an error of a driver without devices", success;
}
MOTET_DRIVER_FUNCTION cuGetErrorString(int, const char** text) {
  return *text = "an error of a driver without devices", success;
}

// Functions are looked up, but cannot be called where there is no device.
#define MOTET_WITHOUT_DEVICE(name) \
  MOTET_DRIVER_FUNCTION name() { return no_device; }
MOTET_WITHOUT_DEVICE(cuCtxGetCurrent)
MOTET_WITHOUT_DEVICE(cuCtxGetDevice)
MOTET_WITHOUT_DEVICE(cuCtxGetLimit)
MOTET_WITHOUT_DEVICE(cuCtxPopCurrent)
MOTET_WITHOUT_DEVICE(cuCtxPushCurrent)
MOTET_WITHOUT_DEVICE(cuDeviceGet)
MOTET_WITHOUT_DEVICE(cuDeviceGetAttribute)
MOTET_WITHOUT_DEVICE(cuDevicePrimaryCtxRelease)
MOTET_WITHOUT_DEVICE(cuDevicePrimaryCtxReset)
MOTET_WITHOUT_DEVICE(cuDevicePrimaryCtxRetain)
MOTET_WITHOUT_DEVICE(cuFuncGetAttribute)
MOTET_WITHOUT_DEVICE(cuFuncSetAttribute)
MOTET_WITHOUT_DEVICE(cuGetExportTable)
MOTET_WITHOUT_DEVICE(cuKernelGetAttribute)
MOTET_WITHOUT_DEVICE(cuKernelSetAttribute)
MOTET_WITHOUT_DEVICE(cuLaunchCooperativeKernel)
MOTET_WITHOUT_DEVICE(cuLaunchKernel)
MOTET_WITHOUT_DEVICE(cuLaunchKernelEx)
MOTET_WITHOUT_DEVICE(cuLibraryGetKernel)
MOTET_WITHOUT_DEVICE(cuLibraryLoadData)
MOTET_WITHOUT_DEVICE(cuLibraryLoadFromFile)
MOTET_WITHOUT_DEVICE(cuLibraryUnload)
MOTET_WITHOUT_DEVICE(cuLinkAddData)
MOTET_WITHOUT_DEVICE(cuLinkAddData_v2)
MOTET_WITHOUT_DEVICE(cuLinkAddFile_v2)
MOTET_WITHOUT_DEVICE(cuLinkComplete)
MOTET_WITHOUT_DEVICE(cuLinkCreate)
MOTET_WITHOUT_DEVICE(cuLinkCreate_v2)
MOTET_WITHOUT_DEVICE(cuLinkDestroy)
MOTET_WITHOUT_DEVICE(cuMemcpyDtoH_v2)
MOTET_WITHOUT_DEVICE(cuModuleGetFunction)
MOTET_WITHOUT_DEVICE(cuModuleGetGlobal_v2)
MOTET_WITHOUT_DEVICE(cuModuleLoadData)
MOTET_WITHOUT_DEVICE(cuModuleLoadDataEx)
MOTET_WITHOUT_DEVICE(cuModuleLoadFatBinary)
MOTET_WITHOUT_DEVICE(cuModuleUnload)
MOTET_WITHOUT_DEVICE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
MOTET_WITHOUT_DEVICE(cuOccupancyMaxPotentialClusterSize)
MOTET_WITHOUT_DEVICE(cuStreamGetCtx)
MOTET_WITHOUT_DEVICE(cuStreamSynchronize)
MOTET_WITHOUT_DEVICE(cuTensorMapEncodeTiled)

}  // extern "C"
