package memorybank

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// Retention returns how much of a memory is left, 0..1, by Ebbinghaus's curve:
// exp(-t / (tau·S)), where t is the days since it was last recalled and S its strength.
// tau = 1 is the curve of the MemoryBank paper. Negative days, after a clock was set
// back, count as 0. A memory without strength is gone immediately.
func Retention(days, tau, strength float64) float64 {
	switch {
	case days <= 0:
		return 1
	case tau*strength <= 0:
		return 0
	}
	return math.Exp(-days / (tau * strength))
}

// maxForgotten bounds the notes that one pass deletes. The others wait for the next pass.
const maxForgotten = 5000

// fadedNote is a note that was forgotten, as a job's result names it.
type fadedNote struct {
	Note      uuid.UUID   `json:"note"`
	Kind      memory.Kind `json:"kind"`
	Retention float64     `json:"retention"`
	Reason    string      `json:"reason"` // "below the floor" or "by chance"
}

// forgetArgs are the arguments of one pass; the settings of the collection fill what is
// absent.
type forgetArgs struct {
	Mode  *string  `json:"mode"`
	Floor *float64 `json:"floor"`
	Tau   *float64 `json:"tau"`
}

// piece is a unit of forgetting: the messages of a turn, or a day's summary.
type piece struct {
	notes    []*memory.Note // oldest id first
	strength float64
	recalled time.Time // or said, if it was never recalled
}

// forget is one forgetting pass: it deletes the turns and daily summaries that have
// faded. Deleted notes can be restored until they are purged. Summaries of forgotten
// turns stay and are not marked stale; the shared history follows, since it is of the days that
// are left. A pass runs by its schedule or when a caller asks for it, never when memory is read.
func forget(ctx context.Context, d memory.Desk, c *Config, t memory.Task) (memory.Decision, error) {
	scheduled := t.Key == forgetScheduled
	set, mode, err := forgetSettings(c, t.Args, scheduled)
	if err != nil {
		return memory.Decision{}, err
	}
	o := outcome{Decision: "forget", Mode: mode, Floor: set.Floor, Tau: set.Tau, Items: []fadedNote{}}
	if mode == forgetOff {
		o.Decision, o.Reason = "keep", "forgetting is off"
		return memory.Decision{Outcome: o.encode()}, nil
	}
	pieces, err := loadPieces(ctx, d)
	if err != nil {
		return memory.Decision{}, err
	}
	if err := loadStrengths(ctx, d, pieces); err != nil {
		return memory.Decision{}, err
	}
	dec, days := memory.Decision{Cause: memory.CauseForget}, false
	for i := range pieces {
		p := &pieces[i]
		kept := Retention(d.Now().Sub(p.recalled).Hours()/24, set.Tau, p.strength)
		reason, forgotten := "below the floor", kept < set.Floor
		if mode == forgetRandom {
			reason, forgotten = "by chance", d.Rand().Float64() > kept
		}
		switch {
		case !forgotten:
		case len(dec.Deletes)+len(p.notes) > maxForgotten:
			o.Left += len(p.notes)
		default:
			for _, n := range p.notes {
				dec.Deletes = append(dec.Deletes, n.ID)
				days = days || n.Kind == memory.KindSummary
				o.Items = append(o.Items, fadedNote{Note: n.ID, Kind: n.Kind, Retention: kept, Reason: reason})
			}
		}
	}
	o.Pieces, o.Forgotten = new(len(pieces)), new(len(dec.Deletes))
	if scheduled {
		next := nextForget(d, c)
		if o.Left > 0 {
			next.After = time.Time{}
		}
		dec.Follow = []memory.Follow{next}
	}
	if days {
		dec.Follow = append(dec.Follow, memory.Follow{Task: memory.Task{Name: taskOverall}})
	}
	dec.Outcome = o.encode()
	return dec, nil
}

// forgetSettings returns the settings and the mode of one pass. When a caller asks for a
// pass without a mode, and scheduled forgetting is off, the mode is forgetThreshold.
func forgetSettings(c *Config, raw json.RawMessage, scheduled bool) (set Config, mode string, err error) {
	set = *c
	if !scheduled && set.Forgetting == forgetOff {
		set.Forgetting = forgetThreshold
	}
	var args forgetArgs
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &args); err != nil {
			return set, "", fault.New(fault.Invalid, "the arguments of the task are mode, a text, and floor and tau, numbers")
		}
	}
	if args.Mode != nil {
		if *args.Mode != forgetThreshold && *args.Mode != forgetRandom {
			return set, "", fault.InvalidField("mode", "must be %s or %s", forgetThreshold, forgetRandom)
		}
		set.Forgetting = *args.Mode
	}
	if args.Floor != nil {
		if !(*args.Floor >= 0 && *args.Floor <= 1) {
			return set, "", fault.InvalidField("floor", "must be between 0 and 1")
		}
		set.Floor = *args.Floor
	}
	if args.Tau != nil {
		if !(*args.Tau >= 0.001 && *args.Tau <= 36500) {
			return set, "", fault.InvalidField("tau", "must be between 0.001 and 36500")
		}
		set.Tau = *args.Tau
	}
	return set, set.Forgetting, nil
}

// loadPieces returns all pieces, ordered by their first id. Their strength is not set.
func loadPieces(ctx context.Context, d memory.Desk) ([]piece, error) {
	var notes []*memory.Note
	for n, err := range policy.EachNote(ctx, d, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage, memory.KindSummary}}) {
		if err != nil {
			return nil, err
		}
		if n.Kind == memory.KindSummary && dateOf(n) == "" {
			continue // the shared history is of the days that are left
		}
		light := withoutText(n)
		notes = append(notes, &light)
	}
	var pieces []piece
	turns := map[string]int{}
	for _, n := range notes {
		turn, _ := n.Attributes[memory.AttrTurn].(string)
		if i, ok := turns[turn]; ok && turn != "" && n.Kind == memory.KindMessage {
			pieces[i].notes = append(pieces[i].notes, n)
			continue
		}
		if turn != "" && n.Kind == memory.KindMessage {
			turns[turn] = len(pieces)
		}
		pieces = append(pieces, piece{notes: []*memory.Note{n}})
	}
	slices.SortFunc(pieces, func(a, b piece) int { return bytes.Compare(a.notes[0].ID[:], b.notes[0].ID[:]) })
	return pieces, nil
}

// withoutText returns what forgetting needs of a note. Texts are left out, because all
// texts of a collection may not fit into memory.
func withoutText(n *memory.Note) memory.Note {
	out := memory.Note{ID: n.ID, Kind: n.Kind, OccurredAt: n.OccurredAt}
	if turn, ok := n.Attributes[memory.AttrTurn].(string); ok {
		out.Attributes = map[string]any{memory.AttrTurn: turn}
	}
	return out
}

// loadStrengths sets how strong the pieces are and when they were last recalled: the
// maximum over their notes.
func loadStrengths(ctx context.Context, d memory.Desk, pieces []piece) error {
	var ids []uuid.UUID
	for i := range pieces {
		for _, n := range pieces[i].notes {
			ids = append(ids, n.ID)
		}
	}
	usage := make(map[uuid.UUID]memory.Usage, len(ids))
	for batch := range slices.Chunk(ids, policy.PageSize) {
		page, err := d.Usage(ctx, batch)
		if err != nil {
			return err
		}
		maps.Copy(usage, page)
	}
	for i := range pieces {
		p := &pieces[i]
		for _, n := range p.notes {
			u := usage[n.ID]
			p.strength = max(p.strength, u.CurrentStrength())
			at := n.OccurredAt
			if !u.LastAccess.IsZero() {
				at = u.LastAccess
			}
			if at.After(p.recalled) {
				p.recalled = at
			}
		}
	}
	return nil
}
