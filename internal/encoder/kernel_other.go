//go:build !amd64

package encoder

func chooseKernels() *kernels { return &generic }

// available returns the kernels that this processor can run.
func available() []*kernels { return []*kernels{&generic} }
