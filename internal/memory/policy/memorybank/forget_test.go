package memorybank

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

const daily = 24 * time.Hour

// TestRetention compares the curve with values that were computed by hand (C107).
func TestRetention(t *testing.T) {
	t.Parallel()
	for _, r := range []struct{ days, tau, strength, want float64 }{
		{5, 5, 1, 0.36787944117144233}, // e^-1
		{5, 5, 2, 0.6065306597126334},  // e^-1/2
		{5, 5, 5, 0.8187307530779818},  // e^-1/5; with the operators swapped it would be e^-5, 0.0067
		{1, 1, 1, 0.36787944117144233}, // the paper's curve
		{2, 1, 1, 0.1353352832366127},
		{3, 1, 2, 0.22313016014842982},
		{10, 5, 1, 0.1353352832366127},
		{0.5, 5, 1, 0.9048374180359595},
		{30, 5, 3, 0.1353352832366127},
		{0, 5, 1, 1},
		{-7, 5, 1, 1}, // the clock was set back
		{1, 5, 0, 0},
		{1, 5, -1, 0},
	} {
		if got := Retention(r.days, r.tau, r.strength); math.Abs(got-r.want) > 1e-9 {
			t.Errorf("t=%g, tau=%g, S=%g: %.12f, want %.12f", r.days, r.tau, r.strength, got, r.want)
		}
	}
}

// TestRetentionGrowsWithStrength: after equal times a stronger memory is always retained
// better (C108), and every memory fades.
func TestRetentionGrowsWithStrength(t *testing.T) {
	t.Parallel()
	property := func(days, tau uint16, strength, more uint8) bool {
		d, ta, s := 0.01+float64(days)/1000, 0.5+float64(tau)/5000, 1+float64(strength)
		weak, strong := Retention(d, ta, s), Retention(d, ta, s+1+float64(more))
		return weak < strong && weak > Retention(d+0.01, ta, s) && weak > 0 && strong < 1
	}
	if err := quick.Check(property, &quick.Config{MaxCount: 5000, Rand: nil}); err != nil {
		t.Error(err)
	}
}

// retained returns the retention of each note, from a pass that forgets all and is not applied.
func retained(t *testing.T, s *testDesk) map[uuid.UUID]float64 {
	t.Helper()
	dec := must.Get(s.p.Decide(t.Context(), s, policytest.TaskEvent(taskForget, "", `{"mode":"threshold","floor":1}`)))(t)
	out := map[uuid.UUID]float64{}
	for _, item := range readOutcome(t, dec).Items {
		out[item.Note] = item.Retention
	}
	return out
}

// TestForgettingShape: with a simulated clock, the loss is large at first and becomes
// smaller; after each review the curve is flatter (C112).
func TestForgettingShape(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, "")
	left := s.say(1, memory.RoleUser, "", "left", "Nobody asks for this.", s.now)
	reviewed := s.say(2, memory.RoleUser, "", "reviewed", "This is asked for.", s.now)
	var alone []float64
	losses := map[int][]float64{} // by reviews so far, of the days after the review
	last, reviews := 1.0, 0
	for day := 1; day <= 16; day++ {
		s.now = s.now.Add(daily)
		r := retained(t, s)
		alone = append(alone, r[left.ID])
		losses[reviews] = append(losses[reviews], last-r[reviewed.ID])
		last = r[reviewed.ID]
		if day == 2 || day == 5 || day == 10 {
			s.recall(reviewed.ID)
			reviews++
			last = 1
		}
	}
	for i := 1; i < len(alone)-1; i++ {
		if before, after := alone[i-1]-alone[i], alone[i]-alone[i+1]; before <= after {
			t.Errorf("day %d: lost %g, then %g", i, before, after)
		}
	}
	for i := 1; i <= 3; i++ {
		if losses[i][0] >= losses[i-1][0] {
			t.Errorf("review %d made the first day no flatter: %g, before %g", i, losses[i][0], losses[i-1][0])
		}
	}
	if want := Retention(16, 5, 1); math.Abs(alone[15]-want) > 1e-9 {
		t.Errorf("after 16 days %g, want %g", alone[15], want)
	}
	if want := Retention(6, 5, 4); math.Abs(last-want) > 1e-9 { // three reviews, the last six days ago
		t.Errorf("reviewed: %g, want %g", last, want)
	}
}

// TestStrength: S begins at 1; a recall adds 1 and restarts the time, for turns and for
// summaries (C109). A turn is as strong as its strongest message.
func TestStrength(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, "")
	said := sayDay(s)
	s.task(taskDay, "2023-05-01", "")
	sum := s.find(memory.KindSummary, "day/2023-05-01")
	for i := range s.notes {
		s.notes[i].OccurredAt = s.now.Add(-10 * daily)
	}
	is := func(n uuid.UUID, want float64) {
		t.Helper()
		if got := retained(t, s)[n]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %.12f, want %.12f", n, got, want)
		}
	}
	is(said[0].ID, math.Exp(-10.0/5))
	is(sum.ID, math.Exp(-10.0/5))
	s.recall(said[1].ID)
	s.recall(sum.ID)
	s.recall(sum.ID)
	s.now = s.now.Add(10 * daily)
	is(said[0].ID, math.Exp(-10.0/(5*2))) // of the same turn
	is(said[1].ID, math.Exp(-10.0/(5*2)))
	is(said[2].ID, math.Exp(-20.0/5))
	is(sum.ID, math.Exp(-10.0/(5*3)))
	s.usage[said[2].ID] = memory.Usage{Strength: 4, AccessCount: 2, LastAccess: s.now.Add(-6 * daily)} // imported, then recalled twice
	is(said[3].ID, math.Exp(-6.0/(5*6)))
	s.now = s.now.Add(-30 * daily) // the clock is set back
	if r := retained(t, s); len(r) != 0 {
		t.Errorf("in the past something had faded: %v", r)
	}
}

// TestForgetThreshold: pieces whose retention is below the floor are forgotten, with a
// report of what and why (C113). The others stay. The shared history follows: it is of the days that are left.
func TestForgetThreshold(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, `{"forgetting":"threshold"}`)
	sayDay(s)
	s.task(taskDay, "2023-05-01", "")
	s.task(taskOverall, "", "")
	alone := s.say(20, memory.RoleUser, "", "", "Said without a turn.", mayDay)
	fresh := s.say(21, memory.RoleUser, "", "t21", "Said just now.", s.now)
	sum := s.find(memory.KindSummary, "day/2023-05-01")
	s.recall(policytest.ID(3))

	dec := s.task(taskForget, "", `{"floor":0.05,"tau":5}`)
	o := readOutcome(t, dec)
	gone := []uuid.UUID{policytest.ID(1), policytest.ID(2), alone.ID, sum.ID}
	if dec.Cause != memory.CauseForget || !slices.Equal(dec.Deletes, gone) || *o.Forgotten != 4 || *o.Pieces != 5 || len(dec.Follow) != 1 || dec.Follow[0].Task.Name != taskOverall {
		t.Errorf("cause %q, deletes %v, outcome %+v", dec.Cause, dec.Deletes, o)
	}
	want := Retention(s.now.Sub(mayDay.Add(time.Second)).Hours()/24, 5, 1)
	if len(o.Items) != 4 || o.Items[0].Note != policytest.ID(1) || o.Items[0].Kind != memory.KindMessage || math.Abs(o.Items[0].Retention-want) > 1e-9 || o.Items[0].Reason != "below the floor" || o.Items[3].Kind != memory.KindSummary {
		t.Errorf("items %+v", o.Items)
	}
	if !s.has(policytest.ID(3)) || !s.has(policytest.ID(4)) || !s.has(fresh.ID) {
		t.Error("something strong or fresh was forgotten")
	}
	history := s.find(memory.KindSummary, KeyOverall)
	if dec := s.task(taskOverall, "", ""); !slices.Equal(dec.Deletes, []uuid.UUID{history.ID}) {
		t.Errorf("the history of no day: %+v", dec)
	}
	s.find(memory.KindProfile, KeyOverall)
	s.find(memory.KindProfile, "day/2023-05-01")
}

// TestForgetRandom: with a fixed seed the same pieces are kept every time, and the share
// that is kept is the retention (C111).
func TestForgetRandom(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) []uuid.UUID {
		s := newTestDesk(t, "")
		s.chance = rand.New(rand.NewPCG(seed, 1))
		for i := range 4000 {
			n := uuid.UUID{0x01, 0x91, 6: 0x70, 8: 0x80, 14: byte(i >> 8), 15: byte(i)}
			s.notes = append(s.notes, memory.Note{ID: n, Kind: memory.KindMessage, OccurredAt: s.now.Add(-5 * daily), Attributes: map[string]any{memory.AttrTurn: n.String()}})
		}
		dec := s.task(taskForget, "", `{"mode":"random"}`)
		for _, item := range readOutcome(t, dec).Items {
			if item.Reason != "by chance" || math.Abs(item.Retention-math.Exp(-1)) > 1e-9 {
				t.Fatalf("item %+v", item)
			}
		}
		return dec.Deletes
	}
	first := run(1)
	if !slices.Equal(first, run(1)) {
		t.Error("the same seed forgot other pieces")
	}
	if slices.Equal(first, run(2)) {
		t.Error("another seed forgot the same pieces")
	}
	if kept := 1 - float64(len(first))/4000; math.Abs(kept-math.Exp(-1)) > 0.03 {
		t.Errorf("kept %.3f, want about %.3f", kept, math.Exp(-1))
	}
}

// TestForgetSchedule: a scheduled pass schedules the next one, and does nothing when
// forgetting is off. Reading never forgets.
func TestForgetSchedule(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, `{"forgetting":"threshold","forget_hours":6}`)
	sayDay(s)
	dec := s.task(taskForget, forgetScheduled, "")
	want := []memory.Follow{{Task: memory.Task{Name: taskForget, Key: forgetScheduled}, After: policytest.Noon.Add(6 * time.Hour)}}
	if len(dec.Deletes) != 4 || !cmp.Equal(dec.Follow, want) {
		t.Errorf("got %+v", dec)
	}
	s = newTestDesk(t, "")
	sayDay(s)
	if dec := s.task(taskForget, forgetScheduled, ""); len(dec.Deletes)+len(dec.Follow) != 0 {
		t.Errorf("off: %+v", dec)
	}
	if dec := s.task(taskForget, "", ""); len(dec.Deletes) != 4 || readOutcome(t, dec).Mode != forgetThreshold {
		t.Errorf("asked for by hand: %+v", dec)
	}
	if s = newTestDesk(t, ""); len(s.task(taskForget, "", "").Deletes) != 0 {
		t.Error("nothing was forgotten twice")
	}
}

// TestForgetArgs: arguments out of range are refused.
func TestForgetArgs(t *testing.T) {
	t.Parallel()
	for args, field := range map[string]string{
		`{"mode":"off"}`: "mode", `{"mode":"all"}`: "mode", `{"floor":1.5}`: "floor", `{"floor":-1}`: "floor", `{"tau":0}`: "tau", `{"tau":1e9}`: "tau",
	} {
		s := newTestDesk(t, "")
		_, err := s.p.Decide(t.Context(), s, policytest.TaskEvent(taskForget, "", args))
		var f *fault.Error
		if !errors.As(err, &f) || len(f.Fields) != 1 || f.Fields[0].Field != field {
			t.Errorf("%s: %v", args, err)
		}
	}
	s := newTestDesk(t, "")
	for _, args := range []string{`[]`, `{"floor":"x"}`} {
		if _, err := s.p.Decide(t.Context(), s, policytest.TaskEvent(taskForget, "", args)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", args, err)
		}
	}
	var plain map[string]any
	must.Do(t, json.Unmarshal(s.task(taskForget, "", "").Outcome, &plain))
	if items, ok := plain["items"].([]any); !ok || len(items) != 0 || plain["forgotten"] != 0.0 {
		t.Errorf("a pass without anything to forget says %v", plain)
	}
}

// TestForgetMany: one changeset is bounded; the next pass follows immediately.
func TestForgetMany(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, `{"forgetting":"threshold"}`)
	for i := range maxForgotten + 10 {
		n := uuid.UUID{0x01, 0x91, 6: 0x70, 8: 0x80, 14: byte(i >> 8), 15: byte(i)}
		s.notes = append(s.notes, memory.Note{ID: n, Kind: memory.KindMessage, OccurredAt: mayDay})
	}
	dec := s.task(taskForget, forgetScheduled, "")
	if o := readOutcome(t, dec); len(dec.Deletes) != maxForgotten || o.Left != 10 || !dec.Follow[0].After.IsZero() {
		t.Errorf("%d deleted, %d left, next %v", len(dec.Deletes), o.Left, dec.Follow)
	}
	if dec := s.task(taskForget, forgetScheduled, ""); len(dec.Deletes) != 10 {
		t.Errorf("then %d", len(dec.Deletes))
	}
}

// TestForgetHoldsNoText: a pass keeps no texts in memory.
func TestForgetHoldsNoText(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, `{"forgetting":"threshold"}`)
	sayDay(s)
	s.task(taskDay, "2023-05-01", "")
	pieces, err := loadPieces(t.Context(), s)
	if err != nil || len(pieces) < 2 {
		t.Fatal(len(pieces), err)
	}
	for i := range pieces {
		for _, n := range pieces[i].notes {
			if n.Content != "" || len(n.Provenance.Sources) > 0 {
				t.Fatalf("%+v is held", n)
			}
		}
	}
}
