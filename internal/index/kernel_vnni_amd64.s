#include "textflag.h"

// The generator of the other kernels does not know VPDPWSSD, which multiplies pairs of int16 and adds
// them to int32 in one step.

// func codeDotsVNNI(q *int16, codes *byte, stride int, rows int, out *int32)
// Requires: AVX512F, AVX512BW, AVX512VNNI
TEXT ·codeDotsVNNI(SB), NOSPLIT, $0-40
	MOVQ q+0(FP), AX
	MOVQ codes+8(FP), CX
	MOVQ stride+16(FP), DX
	MOVQ rows+24(FP), BX
	MOVQ out+32(FP), SI

four:
	CMPQ   BX, $4
	JL     one
	LEAQ   (CX)(DX*1), R8
	LEAQ   (CX)(DX*2), R9
	LEAQ   (R8)(DX*2), R10
	LEAQ   (CX)(DX*8), R11
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	XORQ   DI, DI

four_step:
	// A step reads 128 bytes in all and prefetches those two groups of rows ahead.
	PREFETCHT0    (R11)(DI*4)
	PREFETCHT0    64(R11)(DI*4)
	VMOVDQU16     (AX)(DI*2), Z4
	VPMOVSXBW     (CX)(DI*1), Z5
	VPMOVSXBW     (R8)(DI*1), Z6
	VPMOVSXBW     (R9)(DI*1), Z7
	VPMOVSXBW     (R10)(DI*1), Z8
	VPDPWSSD      Z4, Z5, Z0
	VPDPWSSD      Z4, Z6, Z1
	VPDPWSSD      Z4, Z7, Z2
	VPDPWSSD      Z4, Z8, Z3
	ADDQ          $32, DI
	CMPQ          DI, DX
	JL            four_step
	VEXTRACTI64X4 $1, Z0, Y5
	VEXTRACTI64X4 $1, Z1, Y6
	VEXTRACTI64X4 $1, Z2, Y7
	VEXTRACTI64X4 $1, Z3, Y8
	VPADDD        Y5, Y0, Y0
	VPADDD        Y6, Y1, Y1
	VPADDD        Y7, Y2, Y2
	VPADDD        Y8, Y3, Y3
	VPHADDD       Y1, Y0, Y0
	VPHADDD       Y3, Y2, Y2
	VPHADDD       Y2, Y0, Y0
	VEXTRACTI128  $1, Y0, X1
	VPADDD        X1, X0, X1
	VMOVDQU       X1, (SI)
	LEAQ          (CX)(DX*4), CX
	ADDQ          $16, SI
	SUBQ          $4, BX
	JMP           four

one:
	TESTQ  BX, BX
	JE     done
	VPXORD Z0, Z0, Z0
	XORQ   DI, DI

one_step:
	VMOVDQU16     (AX)(DI*2), Z4
	VPMOVSXBW     (CX)(DI*1), Z5
	VPDPWSSD      Z4, Z5, Z0
	ADDQ          $32, DI
	CMPQ          DI, DX
	JL            one_step
	VEXTRACTI64X4 $1, Z0, Y1
	VPADDD        Y1, Y0, Y0
	VEXTRACTI128  $1, Y0, X1
	VPADDD        X1, X0, X1
	VPHADDD       X1, X1, X1
	VPHADDD       X1, X1, X1
	VMOVD         X1, (SI)
	ADDQ          DX, CX
	ADDQ          $4, SI
	DECQ          BX
	JMP           one

done:
	VZEROUPPER
	RET
