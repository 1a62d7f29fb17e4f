package rules

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// neighborhood is a note with the notes before it that a gateway compares it with. ids are those of the neighbors.
type neighborhood struct {
	id  string
	ids []string
	in  amem.EvolveInput
}

// pairHash identifies the texts of two notes without showing them.
func pairHash(older, newer string) string {
	sum := sha256.Sum256([]byte(older + "\n" + newer))
	return hex.EncodeToString(sum[:6])
}

// neighborhoods describes every note of the dialogues and finds its five nearest by the local encoders, as a gateway does.
func neighborhoods(t *testing.T, dialogues []reviewedDialogue) []neighborhood {
	t.Helper()
	em := llm.NewByLanguage(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t)}, nil)
	defer em.Close()
	h := New()
	var out []neighborhood
	for _, d := range dialogues {
		var notes []memory.Described
		var ids, texts []string
		for _, turn := range d.turns {
			if turn.Role != memory.RoleUser {
				continue
			}
			content := turn.Content
			if turn.Name != "" {
				content = turn.Name + ": " + content
			}
			a := h.analyze(amem.AnalyzeInput{Content: content, Speaker: turn.Name})
			notes = append(notes, memory.Described{Handle: -1, Content: content, Context: a.Context, Keywords: a.Keywords, Tags: a.Tags, Time: turn.Time})
			ids = append(ids, d.id+" "+turn.id)
			texts = append(texts, memory.EmbedText(&memory.Note{Content: content, Context: a.Context, Keywords: a.Keywords, Tags: a.Tags}))
		}
		made, err := em.Embed(t.Context(), tenant.Scope{}, texts)
		if err != nil {
			t.Fatal(err)
		}
		for i := range notes {
			near := make([]int, i)
			scores := make([]float64, i)
			for j := range near {
				near[j] = j
				for k, x := range made[i].Vector {
					scores[j] += float64(x) * float64(made[j].Vector[k])
				}
			}
			slices.SortStableFunc(near, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
			n := neighborhood{id: ids[i], in: amem.EvolveInput{New: notes[i]}}
			for handle, j := range near[:min(5, i)] {
				m := notes[j]
				m.Handle, m.Score = handle, scores[j]
				n.ids, n.in.Neighbors = append(n.ids, ids[j]), append(n.in.Neighbors, m)
			}
			out = append(out, n)
		}
	}
	return out
}

// chosenSets returns what links and keywords may be chosen on, set by set. Of MADial-Bench it is every second note; the
// others are reviewed.
func chosenSets(t *testing.T, dir string) map[string][]reviewedDialogue {
	t.Helper()
	out := map[string][]reviewedDialogue{}
	for _, d := range reviewedDialogues(t, dir, true) {
		set := "RealMem"
		if strings.HasPrefix(d.id, "conv-") {
			set = "LoCoMo"
			d.betweenPeople()
		}
		out[set] = append(out[set], d)
	}
	for _, d := range reviewedDialogues(t, dir, false) {
		if strings.HasPrefix(d.id, "madial") {
			d.turns = alternate(d.turns, 1)
			out[d.id] = append(out[d.id], d)
		}
	}
	out["BEAM"] = beamChats(t, dir)
	return out
}

// alternate returns every second turn, from the given one.
func alternate(turns []reviewedTurn, first int) []reviewedTurn {
	var out []reviewedTurn
	for i := first; i < len(turns); i += 2 {
		out = append(out, turns[i])
	}
	return out
}

// beamChats returns the chats of BEAM.
func beamChats(t *testing.T, dir string) []reviewedDialogue {
	t.Helper()
	var set []struct {
		Chat     int `json:"chat"`
		Messages []struct {
			ID      int         `json:"id"`
			Role    memory.Role `json:"role"`
			Date    string      `json:"date"`
			Content string      `json:"content"`
		} `json:"messages"`
	}
	readGzip(t, filepath.Join(dir, "beam100k_14.json.gz"), &set)
	var out []reviewedDialogue
	for _, c := range set {
		d := reviewedDialogue{id: "beam-" + strconv.Itoa(c.Chat)}
		at := tierTime
		for _, m := range c.Messages {
			if day, err := time.Parse("January-2-2006", m.Date); err == nil {
				at = day // the first message of a session has it
			}
			d.turns = append(d.turns, reviewedTurn{strconv.Itoa(m.ID), memory.Utterance{Role: m.Role, Content: m.Content, Time: at}})
		}
		out = append(out, d)
	}
	return out
}
