package encoder

func choose() *kernels { return &generic }

// available are the kernels that this processor can run.
func available() []*kernels { return []*kernels{&generic} }
