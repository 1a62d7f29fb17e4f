package said

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
)

// Kinds says what kind of thing a sentence is, each from 0 to 1. It is read from the vector of the sentence by a small
// network, so it holds in each language that the encoder knows.
type Kinds struct {
	Happened float64 // something that happened to somebody, was done or decided
	States   float64 // anything that is worth keeping: an event, a fact, a plan
	Supposed float64 // a supposition, or a wish that something is forgotten: it is not told
	Handed   float64 // it hands over a text for work: translate, summarize, correct
	Quoted   float64 // words of somebody else, who says "I"
	Refused  float64 // a model says it in place of an answer
}

// From these values on, the product takes a sentence for one of its kind. Most sentences of talk are not supposed, and what is lost by
// mistake is worse than a supposition that is quoted as a whole.
const (
	LeastHappened = 0.5
	LeastStates   = 0.5
	LeastSupposed = 0.7
	LeastHanded   = 0.5
	LeastQuoted   = 0.5
	LeastRefused  = 0.7
)

// The sizes of the network: a vector and the form of a sentence, a layer, and the kinds.
const (
	vectorSize = 384
	kindInputs = vectorSize + formWeights
	kindHidden = 400
	kindCount  = 6
	kindBytes  = kindHidden*(kindInputs+8) + kindCount*(kindHidden+1)*4
)

// vectorScale and formScale bring vectors, whose length is 1, and forms to one size.
const (
	vectorScale = 8
	formScale   = 0.3
)

//go:embed kinds.bin
var kindsFile []byte

// Network holds the weights of the network of kinds. The first layer has a byte for each weight, and a scale for each row.
type Network struct {
	Rows   [kindHidden][kindInputs]int8
	Scales [kindHidden]float32
	Bias   [kindHidden]float32
	Out    [kindCount][kindHidden]float32
	OutBy  [kindCount]float32
}

var network = readNetwork(kindsFile)

func readNetwork(raw []byte) *Network {
	n := &Network{}
	if len(raw) != kindBytes {
		return n
	}
	next := func() float32 {
		f := math.Float32frombits(binary.LittleEndian.Uint32(raw))
		raw = raw[4:]
		return f
	}
	for i := range n.Rows {
		n.Scales[i], n.Bias[i] = next(), next()
		for j := range n.Rows[i] {
			n.Rows[i][j] = int8(raw[j]) //nolint:gosec // the same bits
		}
		raw = raw[kindInputs:]
	}
	for i := range n.Out {
		n.OutBy[i] = next()
		for j := range n.Out[i] {
			n.Out[i][j] = next()
		}
	}
	return n
}

// Bytes returns the weights as the file holds them.
func (n *Network) Bytes() (out []byte) {
	add := func(f float32) { out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f)) }
	for i := range n.Rows {
		add(n.Scales[i])
		add(n.Bias[i])
		for _, w := range n.Rows[i] {
			out = append(out, byte(w)) //nolint:gosec // the same bits
		}
	}
	for i := range n.Out {
		add(n.OutBy[i])
		for _, w := range &n.Out[i] {
			add(w)
		}
	}
	return out
}

// Embedder is the name of the embedder whose encoder for many languages (encoder.E5ForTalk) makes the vectors that the network reads.
const Embedder = "minilm+e5-small-q4+talk3@384"

// KindsVersion names the weights of the network.
func KindsVersion() string {
	h := fnv.New32a()
	_, _ = h.Write(kindsFile)
	return fmt.Sprintf("%08x", h.Sum32())
}

// KindInput returns what the network sees of a sentence with a vector, for training.
func KindInput(sentence string, vector []float32) []float32 {
	in := make([]float32, kindInputs)
	for i, v := range vector[:min(len(vector), vectorSize)] {
		in[i] = v * vectorScale
	}
	turn := Turn{Text: sentence}
	form := formOf(&Sentence{Text: sentence, Asks: Asks(sentence)}, &turn, 0, 1, false, nil)
	for i, v := range form {
		in[vectorSize+i] = v * formScale
	}
	return in
}

// KindsOf reads the kinds of a sentence from its vector by encoder.E5ForTalk. Without a vector it returns nil.
func KindsOf(sentence string, vector []float32) *Kinds {
	if len(vector) != vectorSize {
		return nil
	}
	out := network.Run(KindInput(sentence, vector))
	return &Kinds{Happened: out[0], States: out[1], Supposed: out[2], Handed: out[3], Quoted: out[4], Refused: out[5]}
}

// Run returns the kinds in the order of the fields of Kinds.
func (n *Network) Run(in []float32) (out [kindCount]float64) {
	var hidden [kindHidden]float32
	for i := range n.Rows {
		sum := float32(0)
		for j, w := range n.Rows[i] {
			sum += in[j] * float32(w)
		}
		hidden[i] = max(0, sum*n.Scales[i]+n.Bias[i])
	}
	for i := range n.Out {
		sum := n.OutBy[i]
		for j, h := range &hidden {
			sum += h * n.Out[i][j]
		}
		out[i] = 1 / (1 + math.Exp(-float64(sum)))
	}
	return out
}
