// Gen generates the amd64 kernels of package encoder. It is a module of its own, so its
// dependencies are not dependencies of the product.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"   //nolint:revive // the instructions read as assembly does
	. "github.com/mmcloughlin/avo/operand" //nolint:revive // as above
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	for rows := 1; rows <= tileRows; rows++ {
		tile(rows, float)
		tile(rows, integer)
	}
	roundRow()
	gelu()
	softmax()
	addNorm()
	Generate()
}

// tileRows is the most rows of a tile: its sums, a panel's numbers, a number of a row and a product
// fill the sixteen registers.
const tileRows = 6

// panelBytes is the width of a panel: 16 numbers, or as many pairs of integers.
const panelBytes = 64

// rowVectors is the number of vectors in a row of a tile.
const rowVectors = panelBytes / 32

// element is what a tile multiplies: numbers of four bytes, or pairs of integers of two bytes.
type element struct {
	name, signature, doc string
	broadcast            func(at, to Op)
	add                  func(left, right, sum, product reg.VecVirtual) // sum += left · right
}

var (
	float = element{
		name: "tile", signature: "func(k int, a *float32, lda int, b, bias, c *float32, ldc int)",
		doc:       "k is at least 1",
		broadcast: func(at, to Op) { VBROADCASTSS(at, to) },
		add:       func(left, right, sum, _ reg.VecVirtual) { VFMADD231PS(right, left, sum) },
	}
	integer = element{
		name: "tileInt", signature: "func(k int, a *int16, lda int, b *int16, aSteps, bSteps, bias, c *float32, ldc int)",
		doc:       "k counts pairs and is at least 1",
		broadcast: func(at, to Op) { VPBROADCASTD(at, to) },
		add: func(left, right, sum, product reg.VecVirtual) {
			VPMADDWD(right, left, product)
			VPADDD(product, sum, sum)
		},
	}
)

// tile multiplies rows of a by one panel of b. The sums stay in registers. Those of numbers begin with the
// bias and are added in the order of k; those of integers are exact, and end as numbers.
func tile(rows int, of element) {
	name := fmt.Sprintf("%s%dAVX2", of.name, rows)
	TEXT(name, NOSPLIT, of.signature)
	Pragma("noescape")
	Doc(fmt.Sprintf("%s multiplies %d rows with %d columns; lda and ldc are in bytes, %s.", name, rows, panelBytes/4, of.doc))
	k := Load(Param("k"), GP64())
	lda := Load(Param("lda"), GP64())
	b := Load(Param("b"), GP64())
	row := addresses(Load(Param("a"), GP64()), lda, rows)

	sums := make([][rowVectors]reg.VecVirtual, rows)
	for r := range sums {
		for j := range rowVectors {
			sums[r][j] = YMM()
		}
	}
	if of.name == float.name {
		bias := Load(Param("bias"), GP64())
		for r := range sums {
			for j, v := range sums[r] {
				if r == 0 {
					VMOVUPS(Mem{Base: bias, Disp: 32 * j}, v)
				} else {
					VMOVAPS(sums[0][j], v)
				}
			}
		}
	} else {
		for r := range sums {
			for _, v := range sums[r] {
				VPXOR(v, v, v)
			}
		}
	}

	step := func(i int) {
		var right [rowVectors]reg.VecVirtual
		for j := range right {
			right[j] = YMM()
			VMOVUPS(Mem{Base: b, Disp: i*panelBytes + 32*j}, right[j])
		}
		for r := range sums {
			left := YMM()
			of.broadcast(row[r].Offset(4*i), left)
			for j := range right {
				of.add(left, right[j], sums[r][j], YMM())
			}
		}
	}
	advance := func(n uint32) {
		ADDQ(U32(n*panelBytes), b)
		for r := 0; r < rows; r += 3 {
			ADDQ(U32(4*n), row[r].Base)
		}
	}
	const unroll = 4
	SUBQ(Imm(unroll), k)
	JL(LabelRef("rest"))
	Label("unrolled")
	for i := range unroll {
		step(i)
	}
	advance(unroll)
	SUBQ(Imm(unroll), k)
	JGE(LabelRef("unrolled"))
	Label("rest")
	ADDQ(Imm(unroll), k)
	JZ(LabelRef("store"))
	Label("single")
	step(0)
	advance(1)
	DECQ(k)
	JNZ(LabelRef("single"))

	Label("store")
	if of.name == integer.name {
		scaleSums(sums)
	}
	ldc := Load(Param("ldc"), GP64())
	out := addresses(Load(Param("c"), GP64()), ldc, rows)
	for r := range sums {
		for j, v := range sums[r] {
			VMOVUPS(v, out[r].Offset(32*j))
		}
	}
	VZEROUPPER()
	RET()
}

// scaleSums makes numbers of sums of integers: times the step of the row and that of the column, plus the bias.
func scaleSums(sums [][rowVectors]reg.VecVirtual) {
	rowSteps := Load(Param("aSteps"), GP64())
	columnSteps := Load(Param("bSteps"), GP64())
	bias := Load(Param("bias"), GP64())
	for j := range rowVectors {
		step, added := YMM(), YMM()
		VMOVUPS(Mem{Base: columnSteps, Disp: 32 * j}, step)
		VMOVUPS(Mem{Base: bias, Disp: 32 * j}, added)
		for r := range sums {
			both := YMM()
			VBROADCASTSS(Mem{Base: rowSteps, Disp: 4 * r}, both)
			VMULPS(step, both, both)
			VCVTDQ2PS(sums[r][j], sums[r][j])
			VFMADD213PS(added, both, sums[r][j])
		}
	}
}

// addresses returns where each of the rows begins, with one register for three of them.
func addresses(base, stride reg.Register, rows int) []Mem {
	var out []Mem
	for r := range rows {
		if r > 0 && r%3 == 0 {
			next := GP64()
			LEAQ(Mem{Base: base, Index: stride, Scale: 2}, next)
			ADDQ(stride, next)
			base = next
		}
		m := Mem{Base: base}
		if s := r % 3; s > 0 {
			m.Index, m.Scale = stride, uint8(s)
		}
		out = append(out, m)
	}
	return out
}

// vector returns a constant in every lane.
func vector(name string, f float32) Mem {
	return lanes(name, U32(math.Float32bits(f)))
}

func lanes(name string, v U32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, v)
	}
	return m
}

// polynomial evaluates by Horner's rule, the coefficient of the highest power first.
func polynomial(coefficients []Mem, x reg.VecVirtual) reg.VecVirtual {
	p := YMM()
	VMOVUPS(coefficients[0], p)
	for _, c := range coefficients[1:] {
		VFMADD213PS(c, x, p)
	}
	return p
}

func vectors(name string, fs ...float32) []Mem {
	var out []Mem
	for i, f := range fs {
		out = append(out, vector(fmt.Sprintf("%s%d", name, i), f))
	}
	return out
}

// each loops over n numbers at x, eight at a time.
func each(label string, x, n reg.Register, body func(at Mem)) {
	p, left := GP64(), GP64()
	MOVQ(x, p)
	MOVQ(n, left)
	Label(label)
	body(Mem{Base: p})
	ADDQ(Imm(32), p)
	SUBQ(Imm(8), left)
	JNZ(LabelRef(label))
}

// The numbers below are those of generic.go, which has their sources.
func gelu() {
	p := vectors("erfP", -2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02)
	q := vectors("erfQ", -1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02)
	low, high := vector("erfLow", -4), vector("erfHigh", 4)
	root, half := vector("rootHalf", 1/math.Sqrt2), vector("half", 0.5)

	TEXT("geluAVX2", NOSPLIT, "func(x *float32, n int)")
	Pragma("noescape")
	Doc("geluAVX2 is geluGeneric for n numbers, a multiple of eight and not zero.")
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	each("loop", x, n, func(at Mem) {
		v, t, y := YMM(), YMM(), YMM()
		VMOVUPS(at, v)
		VMULPS(root, v, t)
		VMULPS(half, v, v)
		VMAXPS(low, t, t)
		VMINPS(high, t, t)
		VMULPS(t, t, y)
		above, below := polynomial(p, y), polynomial(q, y)
		VMULPS(t, above, above)
		VDIVPS(below, above, above)
		VFMADD213PS(v, v, above)
		VMOVUPS(above, at)
	})
	VZEROUPPER()
	RET()
}

func softmax() {
	p := vectors("expP", 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1, 1)
	low, log2e := vector("expLow", -87), vector("log2e", math.Log2E)
	ln2High, ln2Low := vector("ln2High", 0.693359375), vector("ln2Low", -2.12194440e-4)
	exponent := lanes("exponent", 127)

	TEXT("softmaxAVX2", NOSPLIT, "func(x *float32, n int)")
	Pragma("noescape")
	Doc("softmaxAVX2 is softmaxGeneric for n numbers, a multiple of eight and not zero.")
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	top := YMM()
	VMOVUPS(Mem{Base: x}, top)
	each("highest", x, n, func(at Mem) { VMAXPS(at, top, top) })
	across(top, func(a Op, b, c reg.Register) { VMAXPS(a, b, c) })

	sum := YMM()
	VXORPS(sum, sum, sum)
	each("powers", x, n, func(at Mem) {
		v, whole := YMM(), YMM()
		VMOVUPS(at, v)
		VSUBPS(top, v, v)
		VMAXPS(low, v, v)
		VMULPS(log2e, v, whole)
		VROUNDPS(Imm(0), whole, whole)
		VFNMADD231PS(ln2High, whole, v)
		VFNMADD231PS(ln2Low, whole, v)
		power := polynomial(p, v)
		VCVTPS2DQ(whole, whole)
		VPADDD(exponent, whole, whole)
		VPSLLD(Imm(23), whole, whole)
		VMULPS(whole, power, power)
		VADDPS(power, sum, sum)
		VMOVUPS(power, at)
	})
	across(sum, func(a Op, b, c reg.Register) { VADDPS(a, b, c) })
	scale := YMM()
	VMOVUPS(p[len(p)-1], scale)
	VDIVPS(sum, scale, scale)
	each("scale", x, n, func(at Mem) {
		v := YMM()
		VMULPS(at, scale, v)
		VMOVUPS(v, at)
	})
	VZEROUPPER()
	RET()
}

// roundRow is roundGeneric: first the largest magnitude and the length of the row, then its integers.
func roundRow() {
	largest, reach, least, one := vector("largest", 32767), vector("reach", 46000), vector("least", 1e-20), vector("unit", 1)
	magnitude := lanes("magnitude", 0x7fffffff)

	TEXT("roundAVX2", NOSPLIT, "func(x *float32, n int, q *int16) float32")
	Pragma("noescape")
	Doc("roundAVX2 is roundGeneric for n numbers, a multiple of sixteen and not zero.")
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	to := Load(Param("q"), GP64())
	top, square := YMM(), YMM()
	VXORPS(top, top, top)
	VXORPS(square, square, square)
	each("measure", x, n, func(at Mem) {
		v, size := YMM(), YMM()
		VMOVUPS(at, v)
		VANDPS(magnitude, v, size)
		VMAXPS(size, top, top)
		VFMADD231PS(v, v, square)
	})
	across(top, func(a Op, b, c reg.Register) { VMAXPS(a, b, c) })
	across(square, func(a Op, b, c reg.Register) { VADDPS(a, b, c) })
	VSQRTPS(square, square)
	step, other := YMM(), YMM()
	VDIVPS(largest, top, step)
	VDIVPS(reach, square, other)
	VMAXPS(other, step, step)
	VMOVUPS(least, top)
	VMAXPS(step, top, step) // what is not a number stays that: the second source wins
	result, err := ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	VMOVSS(step.AsX(), result.Addr)

	inverse := YMM()
	VMOVUPS(one, inverse)
	VDIVPS(step, inverse, inverse)
	p := GP64()
	MOVQ(x, p)
	Label("round")
	low, high := YMM(), YMM()
	VMULPS(Mem{Base: p}, inverse, low)
	VMULPS(Mem{Base: p, Disp: 32}, inverse, high)
	VCVTPS2DQ(low, low)
	VCVTPS2DQ(high, high)
	VPACKSSDW(high, low, low) // in halves: low, high, low, high
	VPERMQ(Imm(0xd8), low, low)
	VMOVDQU(low, Mem{Base: to})
	ADDQ(Imm(64), p)
	ADDQ(Imm(32), to)
	SUBQ(Imm(16), n)
	JNZ(LabelRef("round"))
	VZEROUPPER()
	RET()
}

// across combines the lanes of v, so each holds the result.
func across(v reg.VecVirtual, op func(a Op, b, c reg.Register)) {
	t := YMM()
	VPERM2F128(Imm(1), v, v, t)
	op(t, v, v)
	VPERMILPS(Imm(0x4e), v, t)
	op(t, v, v)
	VPERMILPS(Imm(0xb1), v, t)
	op(t, v, v)
}

func addNorm() {
	share, epsilon := vector("share", 1.0/384), vector("epsilon", 1e-12)
	one := vector("one", 1)

	TEXT("addNormAVX2", NOSPLIT, "func(x, y, weight, bias *float32)")
	Pragma("noescape")
	Doc("addNormAVX2 is addNormGeneric for rows of 384 numbers.")
	x := Load(Param("x"), GP64())
	y := Load(Param("y"), GP64())
	weight := Load(Param("weight"), GP64())
	bias := Load(Param("bias"), GP64())
	at := GP64()
	// Four sums keep the adders busy.
	pass := func(label string, body func(at Mem, i, lane int)) {
		XORQ(at, at)
		Label(label)
		for lane := range 4 {
			body(Mem{Base: x, Index: at, Scale: 4, Disp: 32 * lane}, 32*lane, lane)
		}
		ADDQ(Imm(32), at)
		CMPQ(at, U32(384))
		JL(LabelRef(label))
	}
	sums := func() []reg.VecVirtual {
		s := []reg.VecVirtual{YMM(), YMM(), YMM(), YMM()}
		for _, v := range s {
			VXORPS(v, v, v)
		}
		return s
	}
	total := func(s []reg.VecVirtual) reg.VecVirtual {
		VADDPS(s[1], s[0], s[0])
		VADDPS(s[3], s[2], s[2])
		VADDPS(s[2], s[0], s[0])
		across(s[0], func(a Op, b, c reg.Register) { VADDPS(a, b, c) })
		VMULPS(share, s[0], s[0])
		return s[0]
	}

	s := sums()
	pass("add", func(m Mem, disp, lane int) {
		v := YMM()
		VMOVUPS(m, v)
		VADDPS(Mem{Base: y, Index: at, Scale: 4, Disp: disp}, v, v)
		VMOVUPS(v, m)
		VADDPS(v, s[lane], s[lane])
	})
	mean := total(s)
	s = sums()
	pass("center", func(m Mem, _, lane int) {
		v := YMM()
		VMOVUPS(m, v)
		VSUBPS(mean, v, v)
		VMOVUPS(v, m)
		VFMADD231PS(v, v, s[lane])
	})
	variance := total(s)
	VADDPS(epsilon, variance, variance)
	VSQRTPS(variance, variance)
	scale := YMM()
	VMOVUPS(one, scale)
	VDIVPS(variance, scale, scale)
	pass("scale", func(m Mem, disp, _ int) {
		v, w := YMM(), YMM()
		VMULPS(m, scale, v)
		VMOVUPS(Mem{Base: weight, Index: at, Scale: 4, Disp: disp}, w)
		VFMADD213PS(Mem{Base: bias, Index: at, Scale: 4, Disp: disp}, w, v)
		VMOVUPS(v, m)
	})
	VZEROUPPER()
	RET()
}
