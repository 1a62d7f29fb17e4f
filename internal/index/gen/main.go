// Gen generates the amd64 kernels of package index. It is a module of its own, so its dependencies are
// not dependencies of the product.
package main

import (
	. "github.com/mmcloughlin/avo/build"   //nolint:staticcheck // the instructions read as assembly does
	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // as above
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	codeDots()
	wholeDots()
	Generate()
}

// codeDots multiplies int16 by sign-extended int8 and adds adjacent pairs into int32 lanes. Four rows
// share the loads of the query and one tree of horizontal sums; the remaining rows are processed one
// by one.
func codeDots() {
	TEXT("codeDotsAVX2", NOSPLIT, "func(q *int16, codes *byte, stride, rows int, out *int32)")
	Pragma("noescape")
	Doc("codeDotsAVX2 is codeDots for at least one row; stride is a multiple of 32.")
	q := Load(Param("q"), GP64())
	codes := Load(Param("codes"), GP64())
	stride := Load(Param("stride"), GP64())
	rows := Load(Param("rows"), GP64())
	out := Load(Param("out"), GP64())
	at, row1, row2, row3, ahead := GP64(), GP64(), GP64(), GP64(), GP64()

	step := func(sum reg.VecVirtual, row reg.Register, query Mem) {
		x := YMM()
		VPMOVSXBW(Mem{Base: row, Index: at, Scale: 1}, x)
		VPMADDWD(query, x, x)
		VPADDD(x, sum, sum)
	}

	Label("four")
	CMPQ(rows, Imm(4))
	JL(LabelRef("one"))
	LEAQ(Mem{Base: codes, Index: stride, Scale: 1}, row1)
	LEAQ(Mem{Base: codes, Index: stride, Scale: 2}, row2)
	LEAQ(Mem{Base: row1, Index: stride, Scale: 2}, row3)
	LEAQ(Mem{Base: codes, Index: stride, Scale: 8}, ahead)
	s := [4]reg.VecVirtual{YMM(), YMM(), YMM(), YMM()}
	for _, r := range s {
		VPXOR(r, r, r)
	}
	XORQ(at, at)
	Label("four_step")
	// A step reads 64 bytes in all and prefetches those two groups of rows ahead.
	PREFETCHT0(Mem{Base: ahead, Index: at, Scale: 4})
	for i, row := range []reg.Register{codes, row1, row2, row3} {
		step(s[i], row, Mem{Base: q, Index: at, Scale: 2})
	}
	ADDQ(Imm(16), at)
	CMPQ(at, stride)
	JL(LabelRef("four_step"))
	VPHADDD(s[1], s[0], s[0])
	VPHADDD(s[3], s[2], s[2])
	VPHADDD(s[2], s[0], s[0])
	high := XMM()
	VEXTRACTI128(Imm(1), s[0], high)
	VPADDD(high, s[0].AsX(), high)
	VMOVDQU(high, Mem{Base: out})
	LEAQ(Mem{Base: codes, Index: stride, Scale: 4}, codes)
	ADDQ(Imm(16), out)
	SUBQ(Imm(4), rows)
	JMP(LabelRef("four"))

	Label("one")
	TESTQ(rows, rows)
	JE(LabelRef("done"))
	a, b := YMM(), YMM()
	VPXOR(a, a, a)
	VPXOR(b, b, b)
	XORQ(at, at)
	Label("one_step")
	step(a, codes, Mem{Base: q, Index: at, Scale: 2})
	ADDQ(Imm(16), at)
	step(b, codes, Mem{Base: q, Index: at, Scale: 2})
	ADDQ(Imm(16), at)
	CMPQ(at, stride)
	JL(LabelRef("one_step"))
	VPADDD(b, a, a)
	VEXTRACTI128(Imm(1), a, high)
	VPADDD(high, a.AsX(), high)
	VPHADDD(high, high, high)
	VPHADDD(high, high, high)
	VMOVD(high, Mem{Base: out})
	ADDQ(stride, codes)
	ADDQ(Imm(4), out)
	DECQ(rows)
	JMP(LabelRef("one"))

	Label("done")
	VZEROUPPER()
	RET()
}

// wholeDots puts the planes of a packed vector together as int16, and adds the products of adjacent pairs into int32 lanes,
// which the caller ensures do not overflow. Then it adds the lanes as int64.
func wholeDots() {
	TEXT("wholeDotsAVX2", NOSPLIT, "func(q *int16, codes, low *byte, n int) (dot, squares int64)")
	Pragma("noescape")
	Doc("wholeDotsAVX2 is wholeDotsGeneric for n components, a positive multiple of 32 and at most 4,096.")
	q := Load(Param("q"), GP64())
	codes := Load(Param("codes"), GP64())
	low := Load(Param("low"), GP64())
	n := Load(Param("n"), GP64())
	mask, eight := YMM(), YMM()
	VPCMPEQW(mask, mask, mask)
	VPSRLW(Imm(15), mask, eight)
	VPSLLW(Imm(3), eight, eight)
	VPSRLW(Imm(12), mask, mask)
	dots, squares := [2]reg.VecVirtual{YMM(), YMM()}, [2]reg.VecVirtual{YMM(), YMM()}
	for i := range 2 {
		VPXOR(dots[i], dots[i], dots[i])
		VPXOR(squares[i], squares[i], squares[i])
	}
	Label("whole_step")
	bits := [2]reg.VecVirtual{YMM(), YMM()}
	VPMOVZXBW(Mem{Base: low}, bits[1])
	VPAND(mask, bits[1], bits[0])
	VPSRLW(Imm(4), bits[1], bits[1])
	for i := range 2 {
		x, p := YMM(), YMM()
		VPMOVSXBW(Mem{Base: codes, Disp: 16 * i}, x)
		VPSLLW(Imm(4), x, x)
		VPADDW(bits[i], x, x)
		VPSUBW(eight, x, x)
		VPMADDWD(Mem{Base: q, Disp: 32 * i}, x, p)
		VPADDD(p, dots[i], dots[i])
		VPMADDWD(x, x, x)
		VPADDD(x, squares[i], squares[i])
	}
	ADDQ(Imm(64), q)
	ADDQ(Imm(32), codes)
	ADDQ(Imm(16), low)
	SUBQ(Imm(32), n)
	JG(LabelRef("whole_step"))
	for i, s := range [][2]reg.VecVirtual{dots, squares} {
		VPADDD(s[1], s[0], s[0])
		half, a, b := XMM(), YMM(), YMM()
		VEXTRACTI128(Imm(1), s[0], half)
		VPMOVSXDQ(s[0].AsX(), a)
		VPMOVSXDQ(half, b)
		VPADDQ(b, a, a)
		VEXTRACTI128(Imm(1), a, half)
		VPADDQ(half, a.AsX(), half)
		other := XMM()
		VPSRLDQ(Imm(8), half, other)
		VPADDQ(other, half, half)
		sum := GP64()
		VMOVQ(half, sum)
		Store(sum, ReturnIndex(i))
	}
	VZEROUPPER()
	RET()
}
