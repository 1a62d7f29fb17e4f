package encoder

//go:generate go -C gen run . -out ../kernel_amd64.s -stubs ../kernel_stub_amd64.go -pkg encoder

// panel is the number of columns of a matrix that are interleaved when packed.
const panel = 16

// kernels are the inner loops of the model.
type kernels struct {
	name string
	// round sets q to the numbers of x in units of a step, which it returns: integers, so small that
	// linear sums products of them exactly. The length of x is a multiple of the panel width.
	round func(x []float32, q []int16) (step float32)
	// linear sets the m rows of c to a·b + bias: a has m rows of b.in integers, each with its step.
	linear func(m int, a []int16, steps []float32, b *matrix, c []float32)
	// multiply sets the m × n numbers of c to a·b + bias. a has rows of k numbers, lda apart; b is
	// packed in panels; rows of c are ldc apart, n is a multiple of the panel width. Each number is
	// summed in the order of k, so a row does not depend on its neighbors.
	multiply func(m, n, k int, a []float32, lda int, b, bias, c []float32, ldc int)
	// gelu sets x to x·Φ(x), with the error function (D. Hendrycks and K. Gimpel, 2016).
	gelu func(x []float32)
	// softmax sets x to exp(x)/Σ exp(x).
	softmax func(x []float32)
	// addNorm adds y to x, scales x to mean 0 and variance 1, multiplies by weight and adds bias
	// (J. Ba, J. Kiros, G. Hinton, 2016).
	addNorm func(x, y, weight, bias []float32)
}

// roundRows rounds the rows of x, one for each step, which it sets.
func (k *kernels) roundRows(x []float32, q []int16, steps []float32) {
	for i := range steps {
		n := len(x) / len(steps)
		steps[i] = k.round(x[i*n:(i+1)*n], q[i*n:(i+1)*n])
	}
}

// activeKernels are the kernels of this process.
var activeKernels = chooseKernels()

// epsilon keeps the normalization of a constant row finite; the model was trained with it.
const epsilon = 1e-12
