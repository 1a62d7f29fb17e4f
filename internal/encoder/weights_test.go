package encoder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// safetensors returns a file with this header and these bytes after it.
func safetensors(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestTensors(t *testing.T) {
	t.Parallel()
	var data []byte
	for _, f := range []float32{1, -2, 3.5, float32(math.NaN()), float32(math.Inf(1))} {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
	}
	header := func(kind string, shape, start, end int) string {
		return fmt.Sprintf(`{"__metadata__":{"format":"pt"},"x":{"dtype":%q,"shape":[%d],"data_offsets":[%d,%d]}}`, kind, shape, start, end)
	}
	for name, c := range map[string]struct {
		file []byte
		n    int
		want string // of the error; "" when the tensor is valid
	}{
		"good":          {safetensors(header("F32", 3, 0, 12), data), 3, ""},
		"at an offset":  {safetensors(header("F32", 2, 4, 12), data), 2, ""},
		"NaN":           {safetensors(header("F32", 4, 0, 16), data), 4, "NaN"},
		"infinite":      {safetensors(header("F32", 1, 16, 20), data), 1, "Inf"},
		"other type":    {safetensors(header("F16", 3, 0, 12), data), 3, "F16"},
		"other shape":   {safetensors(header("F32", 2, 0, 8), data), 3, "[2]"},
		"no tensor":     {safetensors(`{}`, data), 3, "no tensor"},
		"past the end":  {safetensors(header("F32", 3, 12, 24), data), 3, "inside"},
		"negative":      {safetensors(header("F32", 3, -12, 0), data), 3, "inside"},
		"overflow":      {safetensors(strings.Replace(header("F32", 3, 7, 8), "[7,8]", "[9223372036854775796,-9223372036854775808]", 1), data), 3, "inside"},
		"range too big": {safetensors(header("F32", 3, 0, 16), data), 3, "inside"},
		"empty":         {nil, 3, "no header"},
		"no JSON":       {safetensors(`{"x":`, data), 3, "header"},
		"odd tensor":    {safetensors(`{"x":3}`, data), 3, "header"},
		"long header":   {binary.LittleEndian.AppendUint64(nil, 1<<40), 3, "header"},
		"cut header":    {safetensors(header("F32", 3, 0, 12), nil)[:30], 3, "header"},
	} {
		r, err := readHeader(bytes.NewReader(c.file), int64(len(c.file)))
		var got []float32
		if err == nil {
			got, err = r.readTensor("x", c.n), r.err
		}
		switch {
		case c.want == "" && (err != nil || len(got) != c.n):
			t.Errorf("%s: %v, %v", name, got, err)
		case c.want != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	if _, err := readWeights(bytes.NewReader(safetensors(`{}`, nil)), 10, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("a model without tensors: %v, want %v", err, ErrDamaged)
	}
}

func TestPack(t *testing.T) {
	t.Parallel()
	const rows, k, stride = panel + 2, 3, 5
	x := make([]float32, rows*stride)
	for i := range x {
		x[i] = float32(i)
	}
	got := pack(nil, x, k, stride)
	if len(got) != 2*panel*k {
		t.Fatalf("%d numbers, want two panels of %d", len(got), panel*k)
	}
	for j := range 2 * panel {
		for i := range k {
			want := float32(j*stride + i)
			if j >= rows {
				want = 0
			}
			if v := got[j/panel*panel*k+i*panel+j%panel]; v != want {
				t.Errorf("row %d, number %d is %v, want %v", j, i, v, want)
			}
		}
	}
}

// intAt returns the integer of an input and an output.
func intAt(m *matrix, in, out int) int16 {
	return m.panels[out/panel*panel*m.in+in/2*2*panel+out%panel*2+in%2]
}

// The matrices beside this file have Dim × TokenDim finite numbers.
func TestProjection(t *testing.T) {
	t.Parallel()
	for name, file := range map[string][]byte{"MiniLM": miniLMProjection, "E5": e5Projection} {
		m := must.Get(readProjection(file))(t)
		for j := range TokenDim {
			var square float64
			for i := range Dim {
				v := float64(intAt(&m, i, j)) * float64(m.steps[j])
				square += v * v
			}
			if math.Abs(square-1) > 1e-3 {
				t.Errorf("%s: column %d has square length %v, want an orthonormal base", name, j, square)
			}
		}
	}
	if _, err := readProjection(miniLMProjection[1:]); !errors.Is(err, ErrDamaged) {
		t.Errorf("a projection cut short: %v, want %v", err, ErrDamaged)
	}
}

// FuzzTensors checks that reading any file ends with numbers or with ErrDamaged.
func FuzzTensors(f *testing.F) {
	data := make([]byte, 16)
	for _, header := range []string{
		`{"x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}`,
		`{"x":{"dtype":"F32","shape":[2,2],"data_offsets":[-8,8]}}`,
		`{"x":{"dtype":"F32","shape":[2,2],"data_offsets":[9223372036854775800,9223372036854775816]}}`,
		`{"x":null}`,
	} {
		f.Add(safetensors(header, data))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := readHeader(bytes.NewReader(file), int64(len(file)))
		if err == nil {
			if got := r.readTensor("x", 2, 2); len(got) != 4 {
				t.Fatalf("%d numbers of a 2 × 2 tensor", len(got))
			}
			err = r.err
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}
