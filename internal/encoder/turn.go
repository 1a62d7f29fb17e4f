package encoder

import (
	_ "embed"
	"encoding/binary"
	"fmt"

	"github.com/x448/float16"
)

// e5Turn is the orthogonal matrix that turns vectors of E5, less the center of their language, into the space of MiniLM: Dim × Dim
// binary16, little endian, row by row; a vector times it is turned. tools/encoder/turn.py fits it as the solution of
// the orthogonal Procrustes problem over English texts of our own that both models read (P. Schönemann, Psychometrika
// 1966; for sentence vectors of two languages N. Reimers and I. Gurevych, EMNLP 2020).
//
//go:embed turn_e5.bin
var e5Turn []byte

// e5OtherCenter is like e5Center, but the means are those of sentences that are not English: they are what is subtracted
// before the turn, so that the vector does not depend on the language of a text.
//
//go:embed center_other_e5.bin
var e5OtherCenter []byte

// e5TurnedProjection is like miniLMProjection: it computes codes of E5's tokens that compare with those of MiniLM.
//
//go:embed projection_turned_e5.bin
var e5TurnedProjection []byte

// turnToMiniLM makes the model of E5 return vectors in the space of MiniLM, and codes, too, unless an adapter has brought
// its own projection.
func (w *weights) turnToMiniLM(by *adapter) (err error) {
	if len(e5Turn) != Dim*Dim*2 {
		return fmt.Errorf("%w: the turn has %d bytes, not %d", ErrDamaged, len(e5Turn), Dim*Dim*2)
	}
	w.turn = make([]float32, Dim*Dim)
	for i := range w.turn {
		w.turn[i] = float16.Frombits(binary.LittleEndian.Uint16(e5Turn[2*i:])).Float32()
	}
	if by == nil {
		w.projection, err = readProjection(e5TurnedProjection)
	}
	return err
}

// turned returns a vector times a matrix, at unit length.
func turned(v, by []float32) []float32 {
	out := make([]float32, Dim)
	for i, x := range v {
		for j, y := range by[i*Dim : (i+1)*Dim] {
			out[j] += x * y
		}
	}
	normalize(out)
	return out
}
