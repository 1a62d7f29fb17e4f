//go:build !race

package encoder

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
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
			if err := json.Unmarshal(raw, &said); err != nil {
				t.Fatal(err)
			}
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
		got, err := e.Encode(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
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
