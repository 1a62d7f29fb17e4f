package encoder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns n numbers between -scale and scale.
func random(r *rand.Rand, n int, scale float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = (2*r.Float32() - 1) * scale
	}
	return x
}

// near reports whether two numbers agree as kernels must: to 1e-5, of the larger one when that is
// above 1.
func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-5*max(1, math.Abs(a), math.Abs(b))
}

// rowsToRound are rows that are hard to round: outliers, zeros, all the same, very small and very large.
func rowsToRound(r *rand.Rand, n int) map[string][]float32 {
	out := map[string][]float32{"random": random(r, n, 1), "small": random(r, n, 1e-15), "tiny": random(r, n, 4.5e-23), "large": random(r, n, 1e15), "zeros": make([]float32, n)}
	same, outlier, lone := make([]float32, n), random(r, n, 1), make([]float32, n)
	for i := range same {
		same[i] = -3.7
	}
	outlier[n/2], lone[n-1] = 40, -1e-3
	out["all the same"], out["outlier"], out["one number"] = same, outlier, lone
	return out
}

func TestRound(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	for _, kernel := range available() {
		for _, n := range []int{panel, Dim, inner} {
			for name, x := range rowsToRound(r, n) {
				q := make([]int16, n)
				step := float64(kernel.round(x, q))
				var square float64
				for i, v := range x {
					square += float64(q[i]) * float64(q[i])
					if diff := math.Abs(float64(q[i])*step - float64(v)); diff > 0.501*step {
						t.Fatalf("%s: %s: [%d] is %d × %v, want %v", kernel.name, name, i, q[i], step, v)
					}
				}
				if length := math.Sqrt(square); length > reach+20 || name != "zeros" && name != "tiny" && length < 32000 {
					t.Errorf("%s: %s: %d integers of length %.0f", kernel.name, name, n, length)
				}
			}
		}
	}
}

// The sums of integers are exact, also the largest that there can be: of two rows with the same direction.
func TestLinear(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(13, 14))
	for _, kernel := range available() {
		for _, k := range []int{Dim, inner} {
			var x []float32
			for _, row := range rowsToRound(r, k) {
				x = append(x, row...)
			}
			b := matrix{in: k}
			more := random(r, (2*panel-len(x)/k)*k, 1)
			b.add(append(slices.Clone(x), more...), random(r, 2*panel, 1))
			most := len(x) / k
			q, steps := make([]int16, len(x)), make([]float32, most)
			kernel.roundRows(x, q, steps)
			for m := range most + 1 {
				c := make([]float32, m*b.out)
				kernel.linear(m, q, steps, &b, c)
				for i := range c {
					row, column := i/b.out, i%b.out
					var sum int64
					for j, v := range q[row*k : (row+1)*k] {
						sum += int64(v) * int64(intAt(&b, j, column))
					}
					want := float64(sum)*float64(steps[row])*float64(b.steps[column]) + float64(b.bias[column])
					if got := float64(c[i]); !near(got, want) {
						t.Fatalf("%s: %d×%d×%d: [%d, %d] is %v, want %v", kernel.name, m, b.out, k, row, column, got, want)
					}
				}
			}
		}
	}
}

func TestMultiply(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, kernel := range available() {
		for _, k := range []int{1, 3, 4, 7, 32, 384} {
			for m := range 30 {
				for _, n := range []int{16, 32, 48} {
					const gap = 3
					lda, ldc := k+gap, n+gap
					a, rows := random(r, m*lda, 1), random(r, n*k, 1)
					bias := random(r, n, 1)
					c := random(r, m*ldc, 1)
					before := append([]float32(nil), c...)
					kernel.multiply(m, n, k, a, lda, pack(nil, rows, k, k), bias, c, ldc)
					for i := range m {
						for j := range n {
							want := float64(bias[j])
							for x := range k {
								want += float64(a[i*lda+x]) * float64(rows[j*k+x])
							}
							if got := float64(c[i*ldc+j]); !near(got, want) {
								t.Fatalf("%s: %d×%d×%d: [%d, %d] is %v, want %v", kernel.name, m, n, k, i, j, got, want)
							}
						}
						for j := n; j < ldc; j++ {
							if c[i*ldc+j] != before[i*ldc+j] {
								t.Fatalf("%s: %d×%d×%d: wrote past the end of row %d", kernel.name, m, n, k, i)
							}
						}
					}
				}
			}
		}
	}
}

// The result for a row has the same bits for any other rows.
func TestMultiplyAlone(t *testing.T) {
	t.Parallel()
	const k, n, most = 384, 96, 29
	r := rand.New(rand.NewPCG(3, 4))
	a, b, bias := random(r, most*k, 1), random(r, n*k, 1), random(r, n, 1)
	for _, kernel := range available() {
		alone := make([]float32, most*n)
		for i := range most {
			kernel.multiply(1, n, k, a[i*k:], k, b, bias, alone[i*n:], n)
		}
		for m := range most {
			c := make([]float32, m*n)
			kernel.multiply(m, n, k, a, k, b, bias, c, n)
			for i := range c {
				if c[i] != alone[i] {
					t.Fatalf("%s: %d rows: row %d is %v, alone %v", kernel.name, m, i/n, c[i], alone[i])
				}
			}
		}
	}
}

func TestGELU(t *testing.T) {
	t.Parallel()
	var x []float32
	for v := float32(-20); v < 20; v += 0.001 {
		x = append(x, v)
	}
	x = append(x, 0, -1e30, 1e30, 1e-30, -1e-30)
	x = x[:len(x)/panel*panel]
	for _, kernel := range available() {
		got := append([]float32(nil), x...)
		kernel.gelu(got)
		for i, v := range x {
			want := 0.5 * float64(v) * math.Erfc(-float64(v)/math.Sqrt2)
			if !near(float64(got[i]), want) {
				t.Fatalf("%s: gelu(%v) = %v, want %v", kernel.name, v, got[i], want)
			}
		}
	}
}

func TestSoftmax(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for _, kernel := range available() {
		for n := panel; n <= 256; n += panel {
			for _, scale := range []float32{0, 1, 20, 200} {
				x := random(r, n, scale)
				for i := n - 3; i < n; i++ {
					x[i] = masked
				}
				want, sum, top := make([]float64, n), 0.0, math.Inf(-1)
				for _, v := range x {
					top = max(top, float64(v))
				}
				for i, v := range x {
					want[i] = math.Exp(float64(v) - top)
					sum += want[i]
				}
				kernel.softmax(x)
				for i, v := range x {
					if !near(float64(v), want[i]/sum) {
						t.Fatalf("%s: %d numbers up to %v: [%d] is %v, want %v", kernel.name, n, scale, i, v, want[i]/sum)
					}
				}
			}
		}
	}
}

func TestAddNorm(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for _, kernel := range available() {
		for _, scale := range []float32{1e-3, 1, 1e3} {
			x, y := random(r, Dim, scale), random(r, Dim, scale)
			weight, bias := random(r, Dim, 2), random(r, Dim, 2)
			var mean, variance float64
			sum := make([]float64, Dim)
			for i := range sum {
				sum[i] = float64(x[i]) + float64(y[i])
				mean += sum[i] / Dim
			}
			for _, v := range sum {
				variance += (v - mean) * (v - mean) / Dim
			}
			kernel.addNorm(x, y, weight, bias)
			for i, v := range x {
				want := (sum[i]-mean)/math.Sqrt(variance+epsilon)*float64(weight[i]) + float64(bias[i])
				if !near(float64(v), want) {
					t.Fatalf("%s: [%d] is %v, want %v", kernel.name, i, v, want)
				}
			}
		}
		x := make([]float32, Dim)
		kernel.addNorm(x, make([]float32, Dim), make([]float32, Dim), make([]float32, Dim))
		for _, v := range x {
			if v != 0 {
				t.Fatalf("%s: a constant row becomes %v", kernel.name, v)
			}
		}
	}
}

func BenchmarkMultiply(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, kernel := range available() {
		for _, m := range []int{27, 128} {
			b.Run(fmt.Sprintf("%s/%d", kernel.name, m), func(b *testing.B) {
				x, w, bias, y := random(r, m*Dim, 1), random(r, Dim*inner, 1), random(r, inner, 1), make([]float32, m*inner)
				for b.Loop() {
					kernel.multiply(m, inner, Dim, x, Dim, w, bias, y, inner)
				}
				b.ReportMetric(2*float64(m)*Dim*inner*float64(b.N)/1e9/b.Elapsed().Seconds(), "GOP/s")
			})
		}
	}
}

func BenchmarkLinear(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, kernel := range available() {
		for _, m := range []int{27, 128} {
			b.Run(fmt.Sprintf("%s/%d", kernel.name, m), func(b *testing.B) {
				w := matrix{in: Dim}
				w.add(random(r, Dim*inner, 1), random(r, inner, 1))
				x, y := random(r, m*Dim, 1), make([]float32, m*inner)
				q, steps := make([]int16, m*Dim), make([]float32, m)
				for b.Loop() {
					kernel.roundRows(x, q, steps)
					kernel.linear(m, q, steps, &w, y)
				}
				b.ReportMetric(2*float64(m)*Dim*inner*float64(b.N)/1e9/b.Elapsed().Seconds(), "GOP/s")
			})
		}
	}
}
