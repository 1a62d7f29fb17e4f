//go:build !race

package encoder

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// The reference tokenizer's ids for the turns of LoCoMo are compared by digests
// (tools/encoder/digest.py), session by session.
func TestLoCoMoIDs(t *testing.T) {
	t.Parallel()
	data := os.Getenv("EVAL_DATA")
	if data == "" {
		t.Skip("EVAL_DATA does not say where LoCoMo is")
	}
	v := open(t).vocab
	var want map[string]string
	readJSON(t, filepath.Join("testdata", "locomo.json"), &want)
	var samples []struct {
		ID           string                     `json:"sample_id"`
		Conversation map[string]json.RawMessage `json:"conversation"`
	}
	readJSON(t, filepath.Join(data, "locomo7.json"), &samples)
	session := regexp.MustCompile(`^session_\d+$`)
	sessions, turns := 0, 0
	for _, sample := range samples {
		for name, raw := range sample.Conversation {
			if !session.MatchString(name) {
				continue
			}
			var said []struct {
				Text string `json:"text"`
			}
			must.Do(t, json.Unmarshal(raw, &said))
			sum := sha256.New()
			for _, turn := range said {
				for _, id := range v.tokenize(turn.Text, false).ids {
					sum.Write(binary.LittleEndian.AppendUint16(nil, uint16(id)))
				}
				sum.Write([]byte{0xff, 0xff})
			}
			name = sample.ID + "/" + name
			if got := hex.EncodeToString(sum.Sum(nil)); got != want[name] {
				t.Errorf("%s: the ids of its %d turns differ from the reference", name, len(said))
			}
			sessions++
			turns += len(said)
		}
	}
	if sessions != len(want) || turns == 0 {
		t.Errorf("%d sessions with %d turns, want %d sessions", sessions, turns, len(want))
	}
	t.Logf("%d turns", turns)
}

// The kernels agree on whole texts. A number that they compute differently in its last bits may round to another
// integer, so they differ by as much as from the reference.
func TestKernelsAgree(t *testing.T) {
	t.Parallel()
	texts := goldenTexts(t)[36:40]
	var want []Encoding
	for _, kernel := range available() {
		e := open(t)
		e.kernels = kernel
		got := must.Get(e.Encode(t.Context(), texts))(t)
		if want == nil {
			want = got
		}
		for i := range got {
			if c := cosine(got[i].Vector, want[i].Vector); !(c >= 0.999997) {
				t.Errorf("%s: %q: cosine %.9f with %s", kernel.name, excerpt(texts[i]), c, available()[0].name)
			}
		}
	}
}

// Files that are not as published are refused, each with its reason.
func TestOpenDamaged(t *testing.T) {
	t.Parallel()
	from := modelDir(t, MiniLM)
	model := must.Get(os.ReadFile(filepath.Join(from, MiniLM.Files[1].Name)))(t)
	model[len(model)/2] ^= 1
	vocab := must.Get(os.ReadFile(filepath.Join(from, MiniLM.Files[0].Name)))(t)
	write := func(b []byte) func(path string) error {
		return func(path string) error { return os.WriteFile(path, b, 0o600) }
	}
	good := func(path string) error { return os.Symlink(filepath.Join(from, filepath.Base(path)), path) }
	absent := func(string) error { return nil }
	for name, c := range map[string]struct {
		model, vocab func(path string) error
		want         error
	}{
		"as published":    {good, good, nil},
		"no model":        {absent, good, fs.ErrNotExist},
		"no vocabulary":   {good, absent, fs.ErrNotExist},
		"short model":     {write(model[:1<<20]), good, ErrDamaged},
		"empty model":     {write(nil), good, ErrDamaged},
		"one bit":         {write(model), good, ErrDamaged},
		"vocabulary, cut": {good, write(vocab[:len(vocab)-5]), ErrDamaged},
	} {
		dir := t.TempDir()
		must.Do(t, errors.Join(c.model(filepath.Join(dir, MiniLM.Files[1].Name)), c.vocab(filepath.Join(dir, MiniLM.Files[0].Name))))
		e, err := Open(MiniLM, dir)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err == nil {
			e.Close()
		}
	}
}

// The adapter changes what the model says, and both models stay in one space.
func TestAdaptersChangeVectors(t *testing.T) {
	t.Parallel()
	const text = "Marta: we sold the farm last week, and I cried all the way home."
	before, after, other := openModel(t, MiniLM), openModel(t, MiniLMForTalk), openModel(t, E5ForTalk)
	vector := func(e *Encoder, text string) []float32 {
		out := must.Get(e.Encode(context.Background(), []string{text}))(t)
		return out[0].Vector
	}
	if c := cosine(vector(before, text), vector(after, text)); c > 0.9999 || c < 0.3 {
		t.Errorf("cosine %.4f before and after", c)
	}
	same := cosine(vector(after, text), vector(other, "Marta: 我们上周把农场卖了,我一路哭着回家。"))
	unlike := cosine(vector(after, text), vector(other, "Marta: 明天早上八点的会议改到三楼。"))
	if same < unlike+0.2 {
		t.Errorf("cosine %.3f with the same in Chinese, %.3f with something else", same, unlike)
	}
}
