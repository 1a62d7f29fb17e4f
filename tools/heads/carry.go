package main

import "github.com/slipboxhq/slipbox/internal/encoder"

// ridge keeps the numbers of the map small.
const ridge = 10

// Passes over the examples as they are read, and their rate of learning: a sixth and a quarter of those of the training.
const (
	readPasses = 2
	readRate   = 5e-4
)

// carry makes a network that has learned from the inputs of examples one of what is read of them: the linear map that leads from the
// vectors of the one encoder to those of the other, by ridge regression (A. Hoerl and R. Kennard, Technometrics 12, 1970), becomes
// a part of its first layer. A few passes over the examples adjust it.
func (p *perceptron) carry(examples []*kindExample) {
	const n = encoder.Dim + 1 // and a constant
	// What is solved: the square of what is read, and beside it that times what was learned from.
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n+encoder.Dim)
		rows[i][i] = ridge
	}
	x := make([]float64, n+encoder.Dim)
	for _, e := range examples {
		for i := range encoder.Dim {
			x[i], x[n+i] = float64(e.read[i]), float64(e.in[i])
		}
		x[n-1] = 1
		for i := range rows {
			for j := range x {
				rows[i][j] += x[i] * x[j]
			}
		}
	}
	solve(rows)
	row := make([]float64, n)
	for h := range p.hidden {
		w := p.params[0][h*p.inputs:]
		clear(row)
		for i := range row {
			for j := range encoder.Dim {
				row[i] += rows[i][n+j] * float64(w[j])
			}
		}
		for i := range encoder.Dim {
			w[i] = float32(row[i])
		}
		p.params[1][h] += float32(row[n-1])
	}
	read := make([]*kindExample, len(examples))
	for i, e := range examples {
		as := *e
		as.in, read[i] = e.read, &as
	}
	p.descend(read, readPasses, readRate)
}

// solve turns the square part of rows, which is symmetric and positive, into the unit matrix by Gauss and Jordan, and so the rest
// of them into the solution.
func solve(rows [][]float64) {
	for i, pivot := range rows {
		by := pivot[i]
		for k := i; k < len(pivot); k++ {
			pivot[k] /= by
		}
		for j, row := range rows {
			if by := row[i]; j != i && by != 0 {
				for k := i; k < len(row); k++ {
					row[k] -= by * pivot[k]
				}
			}
		}
	}
}
