//go:build !race

package encoder

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// adaptedCase is what PyTorch makes of a text with an adapter (tools/train/export.py). Codes are those of index terms.
type adaptedCase struct {
	Model  string  `json:"model"`
	Text   string  `json:"text"`
	Query  bool    `json:"query"`
	IDs    []int32 `json:"ids"`
	Terms  []int   `json:"terms"`
	Vector []byte  `json:"vector"`
	Codes  []byte  `json:"codes"`
}

func TestAdaptersAgreeWithPyTorch(t *testing.T) {
	t.Parallel()
	var cases []adaptedCase
	readJSON(t, filepath.Join("testdata", "golden_adapters.json"), &cases)
	for name, m := range map[string]*Model{"minilm": MiniLMForTalk, "e5": E5ForTalk, "e5-talk2": E5ForTalk2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openModel(t, m)
			n := 0
			for _, c := range cases {
				if c.Model == name {
					n++
					agrees(t, e, c)
				}
			}
			if n < 5 {
				t.Errorf("%d texts", n)
			}
		})
	}
}

func agrees(t *testing.T, e *Encoder, c adaptedCase) {
	t.Helper()
	ids, skip, words := e.Pieces(c.Text, c.Query)
	if !slices.Equal(ids, c.IDs) || len(words) != len(ids)-skip-1 {
		t.Errorf("%q: pieces %v, want %v", c.Text, ids, c.IDs)
		return
	}
	encode := e.Encode
	if c.Query {
		encode = e.EncodeQueries
	}
	got := must.Get(encode(context.Background(), []string{c.Text}))(t)
	if near := cosine(got[0].Vector, floats(nil, c.Vector)); !(near >= 0.99999) {
		t.Errorf("%q: cosine %.7f with PyTorch", c.Text, near)
	}
	for i, at := range c.Terms {
		for j, x := range got[0].Tokens[at-skip].Code {
			if want := int8(c.Codes[i*TokenDim+j]); math.Abs(float64(x)-float64(want)) > 1 {
				t.Errorf("%q: piece %d has the code %d at %d, want %d", c.Text, at, x, j, want)
			}
		}
	}
}

func TestDamagedAdapters(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"empty": nil, "short": miniLMAdapter[:len(miniLMAdapter)-2], "mark": append([]byte("XXXX"), miniLMAdapter[4:]...),
		"rank": slices.Concat(miniLMAdapter[:12], []byte{255, 255, 255, 127}, miniLMAdapter[16:]), "of the other model": e5Adapter,
	} {
		if _, err := readAdapter(b, miniLMNames, miniLMLayers); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A model with an adapter and one without keep the layers below the adapter once.
func TestLowerLayersAreShared(t *testing.T) {
	t.Parallel()
	for with, without := range map[*Model]*Model{MiniLMForTalk: MiniLM, E5ForTalk: E5, E5ForTalk2: E5} {
		a, b := openModel(t, with).weights, openModel(t, without).weights
		for i := range a.layer {
			if same := &a.layer[i].up.panels[0] == &b.layer[i].up.panels[0]; same != (i < a.published) {
				t.Errorf("%s, layer %d of %d: one copy %v", with.Name, i, a.published, same)
			}
		}
	}
}
