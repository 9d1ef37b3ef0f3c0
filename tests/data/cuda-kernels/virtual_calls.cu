struct Shape{int x;__device__ Shape(int x):x(x){} __device__ virtual int area(int a)const{return a+x;} __device__ virtual ~Shape(){}};
struct Square:Shape{__device__ Square(int x):Shape(x){} __device__ int area(int a)const override{return a*x;}};
extern "C" __global__ void k(int*o,int n){Shape*p=threadIdx.x&1?(Shape*)new Square(n):new Shape(n);o[threadIdx.x]=p->area(threadIdx.x);delete p;__shared__ int most;static int count;if(threadIdx.x==0)most=0;__syncthreads();atomicMax(&most,o[threadIdx.x]);atomicAdd(&count,1);__syncthreads();if(threadIdx.x==0){o[blockDim.x]=most;o[blockDim.x+1]=count;}}
