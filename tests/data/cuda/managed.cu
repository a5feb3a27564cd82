// A variable that host and device would share.
__managed__ int shared;
__global__ void set(float *y) { *y = shared; }
void solve(const float *x, float *y, int64_t N, cudaStream_t stream) { shared = (int)N; set<<<1, 1, 0, stream>>>(y); }
