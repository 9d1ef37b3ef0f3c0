// saxpy as PTX: what front ends emit for z = a * x + y.
#ifndef SLIPWAY_BENCHMARKS_SAXPY_PTX_H_
#define SLIPWAY_BENCHMARKS_SAXPY_PTX_H_

// As LLVM's NVPTX back end prints it: strides of 8 bytes each, 64-bit indices.
inline constexpr char kStrided[] = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry saxpy(
	.param .align 8 .b8 saxpy_param_0[24],
	.param .align 8 .b8 saxpy_param_1[24],
	.param .align 8 .b8 saxpy_param_2[24],
	.param .f32 saxpy_param_3,
	.param .u64 saxpy_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<8>;
	.reg .b64 	%rd<26>;

	ld.param.b64 	%rd5, [saxpy_param_4];
	mov.u32 	%r2, %tid.x;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	cvt.u64.u32 	%rd6, %r2;
	mul.wide.u32 	%rd7, %r3, %r4;
	add.s64 	%rd4, %rd7, %rd6;
	setp.ge.s64 	%p1, %rd4, %rd5;
	@%p1 bra 	$L__BB0_2;
	ld.param.b32 	%r1, [saxpy_param_3];
	mov.b64 	%rd3, saxpy_param_0;
	mov.b64 	%rd1, saxpy_param_2;
	mov.b64 	%rd2, saxpy_param_1;
	ld.param.b64 	%rd8, [%rd2];
	cvta.to.global.u64 	%rd9, %rd8;
	ld.param.b64 	%rd10, [%rd2+16];
	ld.param.b64 	%rd11, [%rd1];
	cvta.to.global.u64 	%rd12, %rd11;
	ld.param.b64 	%rd13, [%rd1+16];
	ld.param.b64 	%rd14, [%rd3];
	cvta.to.global.u64 	%rd15, %rd14;
	ld.param.b64 	%rd16, [%rd3+16];
	mul.lo.s64 	%rd17, %rd4, %rd10;
	mul.lo.s64 	%rd18, %rd4, %rd13;
	mul.lo.s64 	%rd19, %rd4, %rd16;
	shl.b64 	%rd20, %rd17, 2;
	add.s64 	%rd21, %rd9, %rd20;
	shl.b64 	%rd22, %rd18, 2;
	add.s64 	%rd23, %rd12, %rd22;
	shl.b64 	%rd24, %rd19, 2;
	add.s64 	%rd25, %rd15, %rd24;
	ld.global.b32 	%r5, [%rd21];
	ld.global.b32 	%r6, [%rd23];
	fma.rn.f32 	%r7, %r1, %r5, %r6;
	st.global.b32 	[%rd25], %r7;
$L__BB0_2:
	ret;
}
)";

// The same for contiguous arrays and an index that fits in 32 bits.
inline constexpr char kContiguous[] = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry saxpy(
	.param .align 8 .b8 saxpy_param_0[16],
	.param .align 8 .b8 saxpy_param_1[16],
	.param .align 8 .b8 saxpy_param_2[16],
	.param .f32 saxpy_param_3,
	.param .u64 saxpy_param_4
)
{
	.reg .pred 	%p<2>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<14>;

	ld.param.b32 	%r5, [saxpy_param_4];
	mov.u32 	%r2, %tid.x;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mad.lo.s32 	%r6, %r3, %r4, %r2;
	setp.ge.s32 	%p1, %r6, %r5;
	@%p1 bra 	$L__BB0_2;
	ld.param.b32 	%r1, [saxpy_param_3];
	ld.param.b64 	%rd1, [saxpy_param_0];
	cvta.to.global.u64 	%rd4, %rd1;
	ld.param.b64 	%rd2, [saxpy_param_1];
	cvta.to.global.u64 	%rd5, %rd2;
	ld.param.b64 	%rd3, [saxpy_param_2];
	cvta.to.global.u64 	%rd6, %rd3;
	mul.wide.s32 	%rd7, %r6, 4;
	add.s64 	%rd8, %rd5, %rd7;
	ld.global.b32 	%r7, [%rd8];
	add.s64 	%rd9, %rd6, %rd7;
	ld.global.b32 	%r8, [%rd9];
	fma.rn.f32 	%r9, %r1, %r7, %r8;
	add.s64 	%rd10, %rd4, %rd7;
	st.global.b32 	[%rd10], %r9;
$L__BB0_2:
	ret;
}
)";

// A loop over the grid's stride in the kernel, over arrays with strides: `For(GridStride(y.size()), ...)` as Slipway
// compiles it, with 64-bit indices. No last parameter: y has the length.
inline constexpr char kGridStride[] = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry saxpy(
	.param .align 8 .b8 saxpy_param_0[24],
	.param .align 8 .b8 saxpy_param_1[24],
	.param .align 8 .b8 saxpy_param_2[24],
	.param .f32 saxpy_param_3
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<34>;
	ld.param.b64 	%rd1, [saxpy_param_2+8];
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd15, %r4;
	mul.wide.u32 	%rd16, %r2, %r3;
	add.s64 	%rd9, %rd16, %rd15;
	setp.ge.s64 	%p1, %rd9, %rd1;
	@%p1 bra 	$L__BB0_3;
	ld.param.b32 	%r1, [saxpy_param_3];
	ld.param.b64 	%rd2, [saxpy_param_1];
	ld.param.b64 	%rd3, [saxpy_param_1+16];
	ld.param.b64 	%rd4, [saxpy_param_2];
	ld.param.b64 	%rd5, [saxpy_param_2+16];
	ld.param.b64 	%rd6, [saxpy_param_0];
	ld.param.b64 	%rd7, [saxpy_param_0+16];
	cvt.u64.u32 	%rd8, %r3;
	mov.u32 	%r5, %nctaid.x;
	cvt.u64.u32 	%rd10, %r5;
	mul.wide.u32 	%rd11, %r5, %r3;
	mul.lo.s64 	%rd17, %rd7, %rd9;
	shl.b64 	%rd18, %rd17, 2;
	add.s64 	%rd33, %rd6, %rd18;
	mul.lo.s64 	%rd19, %rd7, %rd10;
	mul.lo.s64 	%rd20, %rd19, %rd8;
	shl.b64 	%rd12, %rd20, 2;
	mul.lo.s64 	%rd21, %rd3, %rd9;
	shl.b64 	%rd22, %rd21, 2;
	add.s64 	%rd32, %rd2, %rd22;
	mul.lo.s64 	%rd23, %rd3, %rd10;
	mul.lo.s64 	%rd24, %rd23, %rd8;
	shl.b64 	%rd13, %rd24, 2;
	mul.lo.s64 	%rd25, %rd5, %rd9;
	shl.b64 	%rd26, %rd25, 2;
	add.s64 	%rd31, %rd4, %rd26;
	mul.lo.s64 	%rd27, %rd5, %rd10;
	mul.lo.s64 	%rd28, %rd27, %rd8;
	shl.b64 	%rd14, %rd28, 2;
	add.s64 	%rd29, %rd1, %rd11;
	sub.s64 	%rd30, %rd29, %rd9;
$L__BB0_2:
	ld.global.b32 	%r6, [%rd32];
	ld.global.b32 	%r7, [%rd31];
	fma.rn.f32 	%r8, %r1, %r6, %r7;
	st.global.b32 	[%rd33], %r8;
	add.s64 	%rd33, %rd33, %rd12;
	add.s64 	%rd32, %rd32, %rd13;
	add.s64 	%rd31, %rd31, %rd14;
	sub.s64 	%rd30, %rd30, %rd11;
	setp.gt.u64 	%p2, %rd30, %rd11;
	@%p2 bra 	$L__BB0_2;
$L__BB0_3:
	ret;
}
)";

// The same with 32-bit indices.
inline constexpr char kGridStride32[] = R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry saxpy(
	.param .align 8 .b8 saxpy_param_0[24],
	.param .align 8 .b8 saxpy_param_1[24],
	.param .align 8 .b8 saxpy_param_2[24],
	.param .f32 saxpy_param_3
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<20>;
	.reg .b64 	%rd<17>;
	ld.param.b64 	%rd1, [saxpy_param_2+8];
	mov.u32 	%r4, %ctaid.x;
	mov.u32 	%r5, %ntid.x;
	mov.u32 	%r6, %tid.x;
	cvt.u64.u32 	%rd7, %r6;
	mul.wide.u32 	%rd8, %r4, %r5;
	add.s64 	%rd5, %rd8, %rd7;
	setp.ge.s64 	%p1, %rd5, %rd1;
	@%p1 bra 	$L__BB0_3;
	ld.param.b32 	%r11, [saxpy_param_3];
	ld.param.b64 	%rd2, [saxpy_param_1];
	ld.param.b32 	%r1, [saxpy_param_1+16];
	ld.param.b64 	%rd3, [saxpy_param_2];
	ld.param.b32 	%r2, [saxpy_param_2+16];
	ld.param.b64 	%rd4, [saxpy_param_0];
	ld.param.b32 	%r3, [saxpy_param_0+16];
	mov.u32 	%r7, %nctaid.x;
	mul.wide.u32 	%rd6, %r7, %r5;
	mad.lo.s32 	%r12, %r5, %r4, %r6;
	mul.lo.s32 	%r19, %r3, %r12;
	mul.lo.s32 	%r13, %r5, %r7;
	mul.lo.s32 	%r8, %r13, %r3;
	mul.lo.s32 	%r18, %r2, %r12;
	mul.lo.s32 	%r9, %r13, %r2;
	mul.lo.s32 	%r17, %r1, %r12;
	mul.lo.s32 	%r10, %r13, %r1;
	add.s64 	%rd9, %rd1, %rd6;
	sub.s64 	%rd16, %rd9, %rd5;
$L__BB0_2:
	mul.wide.s32 	%rd10, %r17, 4;
	add.s64 	%rd11, %rd2, %rd10;
	ld.global.b32 	%r14, [%rd11];
	mul.wide.s32 	%rd12, %r18, 4;
	add.s64 	%rd13, %rd3, %rd12;
	ld.global.b32 	%r15, [%rd13];
	fma.rn.f32 	%r16, %r11, %r14, %r15;
	mul.wide.s32 	%rd14, %r19, 4;
	add.s64 	%rd15, %rd4, %rd14;
	st.global.b32 	[%rd15], %r16;
	add.s32 	%r19, %r19, %r8;
	add.s32 	%r18, %r18, %r9;
	add.s32 	%r17, %r17, %r10;
	sub.s64 	%rd16, %rd16, %rd6;
	setp.gt.u64 	%p2, %rd16, %rd6;
	@%p2 bra 	$L__BB0_2;
$L__BB0_3:
	ret;
}
)";

#endif  // SLIPWAY_BENCHMARKS_SAXPY_PTX_H_
