//go:build !race

package mem0

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
)

// TestMem0Budgets: calls see a bounded part of texts of any length.
func TestMem0Budgets(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("tea and coffee with Ada ", memory.MaxContentBytes/24)
	k := newTestDesk(t, newTestMem0(t), "")
	k.answerExtract([]string{"Ada likes tea and coffee"})
	k.answerWith("decide", `{"operation":"ADD","target":null,"text":null}`)
	k.answerWith("summarize", `{"summary":"Ada likes tea and coffee."}`)
	k.apply(memory.Decision{Puts: []memory.Note{
		{ID: policytest.ID(200), Kind: memory.KindFact, Key: "a", Content: long, OccurredAt: policytest.Noon},
		{ID: policytest.ID(201), Kind: memory.KindFact, Key: "b", Content: long + "!", OccurredAt: policytest.Noon},
	}})
	var said []memory.Note
	for range 60 {
		said = append(said, k.addMessage(memory.RoleUser, long))
	}
	k.learn(said...)
	k.decide(policytest.TaskEvent(TaskSummary, "", ""))
	most := exchangeMessages*memory.MaxContentBytes + 64<<10
	for _, name := range []string{"extract", "decide", "summarize"} {
		calls := k.called(name)
		if len(calls) == 0 {
			t.Fatalf("%s was not asked", name)
		}
		for _, c := range calls {
			size := 0
			switch in := c.Input.(type) {
			case ExtractInput:
				for _, u := range in.New {
					size += len(u.Content)
				}
				if len(in.New) == 0 || in.New[len(in.New)-1].Content == "" {
					t.Error("the newest message is not shown")
				}
			case DecideInput:
				for _, m := range in.Similar {
					size += len(m.Content)
				}
				most = 64 << 10
			case SummarizeInput:
				for _, m := range in.Memories {
					size += len(m)
				}
			}
			if size == 0 || size > most || len(c.Prompt) > 5*DefaultConfig().MessageChars {
				t.Errorf("%s sees %d bytes, a model %d", name, size, len(c.Prompt))
			}
		}
	}
}

// TestMem0ExpiryTasks: for facts that expire at many times there are few tasks. No fact is
// deleted too early, and none is forgotten.
func TestMem0ExpiryTasks(t *testing.T) {
	t.Parallel()
	waiting := map[string]bool{}
	for i := range 20_000 {
		ends := policytest.Noon.Add(time.Duration(i) * 37 * time.Minute * time.Duration(1+i/100))
		for _, f := range expiryTasksAt(policytest.Noon, []time.Time{ends}) {
			waiting[f.Task.Key] = true
			if early := f.After.Before(ends); early && ends.Before(policytest.Noon.AddDate(9, 0, 0)) || f.After.Sub(ends) > 30*24*time.Hour {
				t.Fatalf("%v is done with at %v", ends, f.After)
			}
		}
	}
	if len(waiting) > 700 {
		t.Errorf("%d tasks wait", len(waiting))
	}
	k := newTestDesk(t, newTestMem0(t), "")
	var puts []memory.Note
	for i := range maxExpired + 3 {
		n := uuid.UUID{0x01, 0x91, 6: 0x70, 8: 0x80, 14: byte(i >> 8), 15: byte(i)}
		ends := policytest.Noon
		if i == 0 {
			ends = policytest.Noon.AddDate(30, 0, 0)
		}
		puts = append(puts, memory.Note{
			ID: n, Kind: memory.KindFact, Key: n.String(), Content: "Ada parks here " + n.String(), OccurredAt: policytest.Noon,
			Attributes: map[string]any{memory.AttrExpires: ends.Format(time.RFC3339)},
		})
	}
	k.apply(memory.Decision{Puts: puts})
	dec := k.decide(policytest.TaskEvent(TaskExpire, "", ""))
	if len(dec.Deletes) != maxExpired || len(dec.Follow) != 2 || dec.Follow[1].After.After(policytest.Noon) {
		t.Errorf("%d deleted, then %+v", len(dec.Deletes), dec.Follow)
	}
	if dec = k.decide(policytest.TaskEvent(TaskExpire, "", "")); len(dec.Deletes) != 2 || len(dec.Follow) != 1 {
		t.Errorf("%d deleted, then %+v", len(dec.Deletes), dec.Follow)
	}
}

// TestMem0Bounds: of 500 facts from one pair, the first max_facts are kept and the others counted. A message of
// 60 KiB is cut in the prompt. Deletions beyond the limit are not done.
func TestMem0Bounds(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), `{"max_deletes":2,"message_chars":1000}`)
	var many, off []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("User owns painting number %d", i))
	}
	for i := range 20 {
		off = append(off, fmt.Sprintf("User sold painting number %d", i))
	}
	k.answerExtract(many, off)
	o := readOutcome(t, k.userSays("I own paintings, "+strings.Join(many, ", ")+". "+strings.Repeat("Painting is dear to me. ", 1500)))
	if len(k.contents(memory.KindFact)) != 20 || o.Dropped.OverLimit != 480 {
		t.Errorf("kept %d, %+v", len(k.contents(memory.KindFact)), o.Dropped)
	}
	if n := len(k.called("extract")[0].Prompt); n > 3000 {
		t.Errorf("the prompt has %d characters", n)
	}
	k.answerDecide(func(in DecideInput) (Operation, int, string) {
		return OpDelete, 0, strings.Replace(in.Similar[0].Content, "owns", "sold", 1)
	})
	o = readOutcome(t, k.userSays("I sold paintings, "+strings.Join(off, ", ")))
	deleted := 0
	for _, f := range o.Facts {
		if f.Operation == OpReplace {
			deleted++
		}
	}
	if deleted != 2 || o.Dropped.Deletes == 0 {
		t.Errorf("%d deleted, %+v", deleted, o.Dropped)
	}
}
