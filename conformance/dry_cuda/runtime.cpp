// The CUDA runtime, the driver and NVRTC as they answer for one H200, as far as torch asks. Functions that torch needs
// beside these do nothing and return 0, which is success: build.py makes them.

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <map>
#include <mutex>

static const size_t kLargest = 1ull << 30, kAll = 3ull << 30;  // bytes; what is computed from garbage may ask for more
static char *const kFirst = (char *)0x600000000000ull, *const kLast = (char *)0x680000000000ull;
static std::mutex mutex;
static std::map<char *, size_t> owned;
static size_t handles = 0x1000;

template <typename Handle>
static cudaError_t new_handle(Handle *made) {
  *made = (Handle)(handles += 16);
  return cudaSuccess;
}

extern "C" {

// Devices

cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) { return *can = 0, cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return "no error"; }
const char *cudaGetErrorName(cudaError_t) { return "cudaSuccess"; }

cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int) {
  snprintf(text, length, "0000:00:00.0");
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *made, int) {
  memset(made, 0, sizeof *made);
  strcpy(made->name, "an H200 that is not there");
  made->major = 9;
  made->multiProcessorCount = 132;
  made->maxThreadsPerBlock = 1024;
  made->maxThreadsPerMultiProcessor = 2048;
  made->maxBlocksPerMultiProcessor = 32;
  made->sharedMemPerBlock = 49152;
  made->sharedMemPerBlockOptin = 232448;
  made->sharedMemPerMultiprocessor = 233472;
  made->warpSize = 32;
  made->regsPerBlock = made->regsPerMultiprocessor = 65536;
  made->totalGlobalMem = 140ull << 30;
  made->totalConstMem = 65536;
  made->l2CacheSize = 60 << 20;
  made->textureAlignment = 512;
  made->maxGridSize[0] = 2147483647;
  made->maxGridSize[1] = made->maxGridSize[2] = 65535;
  made->maxThreadsDim[0] = made->maxThreadsDim[1] = 1024;
  made->maxThreadsDim[2] = 64;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  static const std::map<int, int> values = {
      {cudaDevAttrMaxThreadsPerBlock, 1024},
      {cudaDevAttrMaxBlockDimX, 1024},
      {cudaDevAttrMaxBlockDimY, 1024},
      {cudaDevAttrMaxBlockDimZ, 64},
      {cudaDevAttrMaxGridDimX, 2147483647},
      {cudaDevAttrMaxGridDimY, 65535},
      {cudaDevAttrMaxGridDimZ, 65535},
      {cudaDevAttrMaxSharedMemoryPerBlock, 49152},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, 232448},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 233472},
      {cudaDevAttrMaxRegistersPerBlock, 65536},
      {cudaDevAttrWarpSize, 32},
      {cudaDevAttrMultiProcessorCount, 132},
      {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
      {cudaDevAttrComputeCapabilityMajor, 9},
  };
  auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return cudaSuccess;
}

// Memory

cudaError_t cudaMalloc(void **made, size_t size) {
  std::lock_guard<std::mutex> guard(mutex);
  static char *next = kFirst;
  const size_t page = 2 << 20;
  size = (size + page - 1) / page * page;
  size_t used = size;
  for (auto &each : owned) used += each.second;
  if (size > kLargest || used > kAll) return cudaErrorMemoryAllocation;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void *memory = mmap(next, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return cudaErrorMemoryAllocation;
  next += size + page;
  owned[(char *)memory] = size;
  *made = memory;
  return cudaSuccess;
}

cudaError_t cudaFree(void *memory) {
  std::lock_guard<std::mutex> guard(mutex);
  auto found = owned.find((char *)memory);
  if (found != owned.end()) {
    munmap(memory, found->second);
    owned.erase(found);
  }
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void **made, size_t size, cudaStream_t) { return cudaMalloc(made, size); }
cudaError_t cudaFreeAsync(void *memory, cudaStream_t) { return cudaFree(memory); }
cudaError_t cudaHostAlloc(void **made, size_t size, unsigned) { return *made = calloc(1, size + 1), cudaSuccess; }
cudaError_t cudaFreeHost(void *memory) { return free(memory), cudaSuccess; }

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
  *available = 120ull << 30;
  *total = 140ull << 30;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *made, const void *pointer) {
  const bool ours = pointer >= kFirst && pointer < kLast;
  memset(made, 0, sizeof *made);
  made->type = ours ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  made->device = ours ? 0 : -2;
  made->devicePointer = (void *)pointer;
  return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void **made, const void *) {
  static char room[1 << 20];
  return *made = room, cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind) {
  return memcpy(to, from, size), cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind, cudaStream_t) {
  return memcpy(to, from, size), cudaSuccess;
}

cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t size, cudaStream_t) {
  return memcpy(to, from, size), cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t step, const void *from, size_t other, size_t width, size_t height,
                              cudaMemcpyKind, cudaStream_t) {
  for (size_t row = 0; row < height; row++) memcpy((char *)to + row * step, (const char *)from + row * other, width);
  return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t size) { return memset(to, value, size), cudaSuccess; }

cudaError_t cudaMemsetAsync(void *to, int value, size_t size, cudaStream_t) {
  return memset(to, value, size), cudaSuccess;
}

// Kernels, streams and events

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *made, const void *) {
  memset(made, 0, sizeof *made);
  made->maxThreadsPerBlock = 1024;
  made->numRegs = 32;
  made->ptxVersion = made->binaryVersion = 90;
  made->maxDynamicSharedSizeBytes = 49152;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *, int, size_t, unsigned) {
  return *blocks = 2, cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t) {
  return *blocks = 2, cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) {
  return *status = cudaStreamCaptureStatusNone, cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *made) { return new_handle(made); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *made, unsigned) { return new_handle(made); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *made, unsigned, int) { return new_handle(made); }
cudaError_t cudaStreamGetPriority(cudaStream_t, int *priority) { return *priority = 0, cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t *made) { return new_handle(made); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *made, unsigned) { return new_handle(made); }
cudaError_t cudaEventElapsedTime(float *time, cudaEvent_t, cudaEvent_t) { return *time = 1, cudaSuccess; }

unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *) { return 0; }

cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *size, void *stream) {
  *size = 0;
  *(void **)stream = 0;
  return cudaSuccess;
}

void **__cudaRegisterFatBinary(void *) {
  static void *made[8];
  return made;
}

cudaError_t __cudaGetKernel(void **kernel, const void *function) { return *kernel = (void *)function, cudaSuccess; }

// The driver, and what compiles kernels while a program runs

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int *version) { return *version = CUDART_VERSION, 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int) { return *device = 0, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  return cudaDeviceGetAttribute(value, (cudaDeviceAttr)attribute, device);  // both have the same numbers
}
int cuFuncGetAttribute(int *value, int attribute, void *) { return *value = attribute ? 0 : 1024, 0; }  // 0: threads
int cuCtxGetCurrent(void **context) { return *context = (void *)16, 0; }
int cuDevicePrimaryCtxRetain(void **context, int) { return *context = (void *)16, 0; }
int cuDevicePrimaryCtxGetState(int, unsigned *flags, int *active) { return *flags = 0, *active = 1, 0; }
int cuModuleLoadData(void **module, const void *) { return *module = (void *)16, 0; }
int cuModuleGetFunction(void **function, void *, const char *) { return *function = (void *)16, 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *, int, size_t) { return *blocks = 2, 0; }
int cuPointerGetAttribute(void *value, int, void *) { return *(void **)value = 0, 0; }
int cuGetErrorString(int, const char **text) { return *text = "no error", 0; }

int nvrtcVersion(int *major, int *minor) { return *major = CUDART_VERSION / 1000, *minor = 0, 0; }
int nvrtcGetPTXSize(void *, size_t *size) { return *size = 16, 0; }
int nvrtcGetCUBINSize(void *, size_t *size) { return *size = 16, 0; }
int nvrtcGetProgramLogSize(void *, size_t *size) { return *size = 1, 0; }
int nvrtcGetLoweredName(void *, const char *, const char **name) { return *name = "kernel", 0; }
const char *nvrtcGetErrorString(int) { return "no error"; }

// The libraries: handles, and how much memory their functions want

#define HANDLE(name) \
  int name(void **made) { return new_handle(made) == cudaSuccess ? 0 : 1; }
HANDLE(cublasCreate_v2)
HANDLE(cublasLtCreate)
HANDLE(cusolverDnCreate)
HANDLE(cusolverDnCreateParams)
HANDLE(cusolverDnCreateSyevjInfo)
HANDLE(cusolverDnCreateGesvdjInfo)
HANDLE(cusparseCreate)

int cublasGetPointerMode_v2(void *, int *mode) { return *mode = 0, 0; }
int cublasGetMathMode(void *, int *mode) { return *mode = 0, 0; }
int cufftCreate(int *plan) { return *plan = 1, 0; }
int cufftGetSize(int, size_t *size) { return *size = 0, 0; }

int cufftXtMakePlanMany(int, int, void *, void *, long long, long long, int, void *, long long, long long, int,
                        long long, size_t *size, int) {
  return *size = 0, 0;
}

int cublasLtMatmulAlgoGetHeuristic(void *, void *, void *, void *, void *, void *, void *, int, void *found,
                                   int *count) {
  memset(found, 0, 64);
  return *count = 1, 0;
}

// cuSOLVER: none of its functions wants memory. The number is where the answer is asked for.

#define A(n) size_t a##n
#define TO_4 A(1), A(2), A(3)
#define TO_5 TO_4, A(4)
#define TO_6 TO_5, A(5)
#define TO_8 TO_6, A(6), A(7)
#define TO_12 TO_8, A(8), A(9), A(10), A(11)
#define TO_13 TO_12, A(12)
#define TO_17 TO_13, A(13), A(14), A(15), A(16)
#define TO_9 TO_8, A(8)
#define TO_11 TO_9, A(9), A(10)
#define TO_18 TO_17, A(17)
#define WANTS(name, place) \
  int cusolverDn##name##_bufferSize(TO_##place, int *size) { return *size = 0, 0; }
#define WANT_BOTH(name, place) \
  int cusolverDn##name##_bufferSize(TO_##place, size_t *there, size_t *here) { return *there = *here = 0, 0; }
#define REAL(name, place) WANTS(S##name, place) WANTS(D##name, place)
#define COMPLEX(name, place) WANTS(C##name, place) WANTS(Z##name, place)
#define EACH(name, place) REAL(name, place) COMPLEX(name, place)
EACH(geqrf, 6)
EACH(potrf, 6)
EACH(getrf, 6)
EACH(gesvd, 4)
EACH(gesvdj, 13)
EACH(gesvdjBatched, 12)
EACH(gesvdaStridedBatched, 17)
EACH(sytrf, 5)
REAL(orgqr, 8) COMPLEX(ungqr, 8)
REAL(ormqr, 12) COMPLEX(unmqr, 12)
REAL(syevd, 8) COMPLEX(heevd, 8)
REAL(syevjBatched, 8) COMPLEX(heevjBatched, 8)
WANT_BOTH(Xpotrf, 9)
WANT_BOTH(Xgeqrf, 11)
WANT_BOTH(Xsyevd, 12)
WANT_BOTH(XsyevBatched, 12)
WANT_BOTH(Xgeev, 18)
WANT_BOTH(Xsytrs, 12)

}  // extern "C"
