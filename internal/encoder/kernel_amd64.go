package encoder

import "golang.org/x/sys/cpu"

var avx2 = kernels{
	name: "avx2",
	round: func(x []float32, q []int16) float32 {
		_ = q[len(x)-1]
		return roundAVX2(&x[0], len(x), &q[0])
	},
	linear:   linearAVX2,
	multiply: multiplyAVX2,
	gelu:     func(x []float32) { geluAVX2(&x[0], len(x)) },
	softmax:  func(x []float32) { softmaxAVX2(&x[0], len(x)) },
	addNorm: func(x, y, weight, bias []float32) {
		_, _, _, _ = x[:Dim], y[:Dim], weight[:Dim], bias[:Dim]
		addNormAVX2(&x[0], &y[0], &weight[0], &bias[0])
	},
}

func chooseKernels() *kernels { return available()[0] }

// available returns the kernels that this processor can run, the best first.
func available() []*kernels {
	all := []*kernels{&generic}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append([]*kernels{&avx2}, all...)
	}
	return all
}

// tileRows is the most rows that a tile computes together.
const tileRows = 6

// splitRows splits m rows into blocks of at most limit rows, as even as possible: a short last block
// would not keep the multipliers busy. It calls do with the first row and the number of rows.
func splitRows(m, limit int, do func(i, rows int)) {
	for i, blocks := 0, (m+limit-1)/limit; blocks > 0; blocks-- {
		rows := (m - i + blocks - 1) / blocks
		do(i, rows)
		i += rows
	}
}

func multiplyAVX2(m, n, k int, a []float32, lda int, b, bias, c []float32, ldc int) {
	if m == 0 || n == 0 {
		return
	}
	_, _, _, _ = a[(m-1)*lda+k-1], b[n*k-1], bias[n-1], c[(m-1)*ldc+n-1]
	for j := 0; j < n; j += panel {
		panelAVX2(m, k, a, lda, b[j*k:], bias[j:], c[j:], ldc)
	}
}

// panelAVX2 multiplies by one panel.
func panelAVX2(m, k int, a []float32, lda int, b, bias, c []float32, ldc int) {
	splitRows(m, tileRows, func(i, rows int) {
		x, y := &a[i*lda], &c[i*ldc]
		switch rows {
		case 1:
			tile1AVX2(k, x, lda*4, &b[0], &bias[0], y, ldc*4)
		case 2:
			tile2AVX2(k, x, lda*4, &b[0], &bias[0], y, ldc*4)
		case 3:
			tile3AVX2(k, x, lda*4, &b[0], &bias[0], y, ldc*4)
		case 4:
			tile4AVX2(k, x, lda*4, &b[0], &bias[0], y, ldc*4)
		case 5:
			tile5AVX2(k, x, lda*4, &b[0], &bias[0], y, ldc*4)
		default:
			tile6AVX2(k, x, lda*4, &b[0], &bias[0], y, ldc*4)
		}
	})
}

func linearAVX2(m int, a []int16, steps []float32, b *matrix, c []float32) {
	if m == 0 {
		return
	}
	_, _, _ = a[m*b.in-1], steps[m-1], c[m*b.out-1]
	_, _, _ = b.panels[b.in*b.out-1], b.steps[b.out-1], b.bias[b.out-1]
	for j := 0; j < b.out; j += panel {
		packed, outSteps, bias := &b.panels[j*b.in], &b.steps[j], &b.bias[j]
		splitRows(m, tileRows, func(i, rows int) {
			k, lda, ldc := b.in/2, b.in*2, b.out*4
			x, s, y := &a[i*b.in], &steps[i], &c[i*b.out+j]
			switch rows {
			case 1:
				tileInt1AVX2(k, x, lda, packed, s, outSteps, bias, y, ldc)
			case 2:
				tileInt2AVX2(k, x, lda, packed, s, outSteps, bias, y, ldc)
			case 3:
				tileInt3AVX2(k, x, lda, packed, s, outSteps, bias, y, ldc)
			case 4:
				tileInt4AVX2(k, x, lda, packed, s, outSteps, bias, y, ldc)
			case 5:
				tileInt5AVX2(k, x, lda, packed, s, outSteps, bias, y, ldc)
			default:
				tileInt6AVX2(k, x, lda, packed, s, outSteps, bias, y, ldc)
			}
		})
	}
}
