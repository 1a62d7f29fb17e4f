// Command turn fits what turns the output of the encoder for many languages into the space of the one for English:
//
//	go run ./tools/encoder/turn WEIGHTS ENGLISH OTHER
//
// WEIGHTS is the folder with the weights of both models, ENGLISH a file of sentences, one a line
// (tools/encoder/sentences.txt), OTHER one in another language (sentences_zh.txt). It writes turn_e5.bin,
// center_other_e5.bin and projection_turned_e5.bin to internal/encoder.
//
// The center of a language is the mean of the vectors of its sentences. It is what says which language a text has, and
// is subtracted. Both models read the English sentences, and the words of the vocabulary of all-MiniLM-L6-v2. The
// orthogonal matrix that moves the vectors of one nearest to those of the other is the orthogonal factor of the polar
// decomposition of their products (P. Schönemann, Psychometrika 1966), which Newton's iteration computes (N. Higham, SIAM
// J. Sci. Stat. Comput. 1986). Orthogonal matrices do not change distances: texts of the second model compare among each
// other as before. The same is done with the codes of tokens, and multiplied to the projection that computes them. Never
// use text of the evaluation data.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/x448/float16"

	"github.com/slipboxhq/slipbox/internal/encoder"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: turn WEIGHTS ENGLISH OTHER")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "turn:", err)
		os.Exit(1)
	}
}

// batch is how many texts are encoded together.
const batch = 256

// reading is a way to read a text, and the centers of the vectors that it makes.
type reading struct {
	read      func(context.Context, []string) ([]encoder.Encoding, error)
	published []float32 // that the encoder has subtracted
	english   []float32
}

func run(ctx context.Context, dir, sentences, others string) error {
	texts, err := lines(sentences)
	if err != nil {
		return err
	}
	other, err := lines(others)
	if err != nil {
		return err
	}
	vocabulary, err := lines(filepath.Join(dir, encoder.MiniLM.Files[0].Name))
	if err != nil {
		return err
	}
	english, err := encoder.Open(encoder.MiniLM, dir)
	if err != nil {
		return err
	}
	many, err := encoder.Open(encoder.E5, dir)
	if err != nil {
		return err
	}
	published, err := os.ReadFile(filepath.Join(folder, "center_e5.bin"))
	if err != nil {
		return err
	}
	var centers []byte                                                      // of the other language
	readings := []*reading{{read: many.EncodeQueries}, {read: many.Encode}} // in the order of the file of centers
	for i, r := range readings {
		r.published = make([]float32, encoder.Dim)
		for j := range r.published {
			r.published[j] = math.Float32frombits(binary.LittleEndian.Uint32(published[4*(i*encoder.Dim+j):]))
		}
		if r.english, err = r.center(ctx, texts); err != nil {
			return err
		}
		center, err := r.center(ctx, other)
		if err != nil {
			return err
		}
		for _, x := range center {
			centers = binary.LittleEndian.AppendUint32(centers, math.Float32bits(x))
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "center_other_e5.bin"), centers, 0o644); err != nil { //nolint:gosec // part of the repository
		return err
	}
	for _, word := range vocabulary {
		if len(word) > 2 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
			texts = append(texts, word)
		}
	}
	vectors, codes := newProducts(encoder.Dim), newProducts(encoder.TokenDim)
	for len(texts) > 0 {
		part := texts[:min(batch, len(texts))]
		texts = texts[len(part):]
		to, err := english.Encode(ctx, part)
		if err != nil {
			return err
		}
		for _, r := range readings {
			from, err := r.read(ctx, part)
			if err != nil {
				return err
			}
			for i := range part {
				vectors.add(less(r.whole(from[i].Vector), r.english), to[i].Vector)
				addCodes(codes, from[i].Tokens, to[i].Tokens)
			}
		}
	}
	turn, err := orthogonal(vectors.sum)
	if err != nil {
		return err
	}
	turnCodes, err := orthogonal(codes.sum)
	if err != nil {
		return err
	}
	fmt.Printf("mean cosine of %d vectors %.3f, of %d codes %.3f\n", vectors.n, vectors.gain(turn), codes.n, codes.gain(turnCodes))
	return write(turn, turnCodes)
}

// whole returns a vector of unit length that the encoder made without what it has subtracted: v is the direction of it
// less the published center.
func (r *reading) whole(v []float32) []float32 {
	var along, square float64
	for i, c := range r.published {
		along += float64(c) * float64(v[i])
		square += float64(c) * float64(c)
	}
	length := math.Sqrt(along*along+1-square) - along
	out := make([]float32, len(v))
	for i, c := range r.published {
		out[i] = c + float32(length)*v[i]
	}
	return out
}

// center returns the mean of the vectors of texts.
func (r *reading) center(ctx context.Context, texts []string) ([]float32, error) {
	made, err := r.read(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([]float32, encoder.Dim)
	for i := range made {
		for j, x := range r.whole(made[i].Vector) {
			out[j] += x / float32(len(made))
		}
	}
	return out, nil
}

// less returns v less a center, at unit length.
func less(v, center []float32) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = x - center[i]
	}
	return unit(out)
}

// lines returns the lines of a file that are not blank.
func lines(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var out []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		if line := strings.TrimSpace(s.Text()); line != "" {
			out = append(out, line)
		}
	}
	return out, s.Err()
}

// addCodes adds the codes of words of three letters or more: those of a word's pieces in one model, with the mean of its
// pieces in the other.
func addCodes(p *products, from, to []encoder.Token) {
	mean := map[int][]float32{}
	for _, t := range to {
		sum := mean[t.Start]
		if sum == nil {
			sum = make([]float32, encoder.TokenDim)
			mean[t.Start] = sum
		}
		for i, c := range t.Code {
			sum[i] += float32(c)
		}
	}
	for _, t := range from {
		sum := mean[t.Start]
		if sum == nil || t.End-t.Start < 3 {
			continue
		}
		code := make([]float32, encoder.TokenDim)
		for i, c := range t.Code {
			code[i] = float32(c)
		}
		p.add(unit(code), unit(sum))
	}
}

func unit(v []float32) []float32 {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / math.Sqrt(square))
	}
	return out
}

// products is the sum of the outer products of n pairs of vectors.
type products struct {
	sum [][]float64
	n   int
}

func newProducts(size int) *products { return &products{sum: square(size)} }

func square(size int) [][]float64 {
	m := make([][]float64, size)
	for i := range m {
		m[i] = make([]float64, size)
	}
	return m
}

func (p *products) add(from, to []float32) {
	p.n++
	for i, x := range from {
		row := p.sum[i]
		for j, y := range to {
			row[j] += float64(x) * float64(y)
		}
	}
}

// gain returns the mean cosine of the pairs, the first turned.
func (p *products) gain(turn [][]float64) float64 {
	var sum float64
	for i, row := range p.sum {
		for j, x := range row {
			sum += x * turn[i][j]
		}
	}
	return sum / float64(p.n)
}

// orthogonal returns the orthogonal factor of the polar decomposition of a matrix that can be inverted.
func orthogonal(m [][]float64) ([][]float64, error) {
	x := m
	for range 100 {
		inverse, err := invert(x)
		if err != nil {
			return nil, err
		}
		scale := math.Sqrt(norm(inverse) / norm(x))
		next, change := square(len(x)), 0.0
		for i := range x {
			for j := range x {
				next[i][j] = (scale*x[i][j] + inverse[j][i]/scale) / 2
				change = max(change, math.Abs(next[i][j]-x[i][j]))
			}
		}
		x = next
		if change < 1e-12 {
			return x, nil
		}
	}
	return nil, errors.New("the iteration does not end")
}

// norm returns the Frobenius norm.
func norm(m [][]float64) float64 {
	var sum float64
	for _, row := range m {
		for _, x := range row {
			sum += x * x
		}
	}
	return math.Sqrt(sum)
}

// invert returns the inverse of a matrix, by Gauss and Jordan.
func invert(m [][]float64) ([][]float64, error) {
	n := len(m)
	a, out := square(n), square(n)
	for i := range m {
		copy(a[i], m[i])
		out[i][i] = 1
	}
	for c := range n {
		best := c
		for r := c; r < n; r++ {
			if math.Abs(a[r][c]) > math.Abs(a[best][c]) {
				best = r
			}
		}
		if a[best][c] == 0 {
			return nil, errors.New("the texts do not span the space; give more of them")
		}
		a[c], a[best], out[c], out[best] = a[best], a[c], out[best], out[c]
		pivot := a[c][c]
		for j := range n {
			a[c][j] /= pivot
			out[c][j] /= pivot
		}
		for r := range n {
			f := a[r][c]
			if r == c || f == 0 {
				continue
			}
			for j := range n {
				a[r][j] -= f * a[c][j]
				out[r][j] -= f * out[c][j]
			}
		}
	}
	return out, nil
}

// folder has the files that the package of the encoder holds.
const folder = "internal/encoder"

// write writes the turn, and the projection of the second model times the turn of the codes.
func write(turn, turnCodes [][]float64) error {
	var raw []byte
	for _, row := range turn {
		for _, x := range row {
			raw = binary.LittleEndian.AppendUint16(raw, float16.Fromfloat32(float32(x)).Bits())
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "turn_e5.bin"), raw, 0o644); err != nil { //nolint:gosec // part of the repository
		return err
	}
	projection, err := os.ReadFile(filepath.Join(folder, "projection_e5.bin"))
	if err != nil {
		return err
	}
	raw = nil
	for i := range encoder.Dim {
		for j := range encoder.TokenDim {
			var sum float64
			for k := range encoder.TokenDim {
				x := math.Float32frombits(binary.LittleEndian.Uint32(projection[4*(i*encoder.TokenDim+k):]))
				sum += float64(x) * turnCodes[k][j]
			}
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(sum)))
		}
	}
	return os.WriteFile(filepath.Join(folder, "projection_turned_e5.bin"), raw, 0o644) //nolint:gosec // part of the repository
}
