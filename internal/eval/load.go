package eval

import (
	"context"
	"fmt"
	"time"
)

// Loaded is the result of loading one conversation.
type Loaded struct {
	Collection string
	Embedder   string
	Notes      int64
	Pending    int64         // waiting for a model or embedder
	Failed     int           // refused lines
	Refusal    *Problem      // of the first of them
	Took       time.Duration // from the first write until all jobs ended

	IDs map[string]string // note id → turn id

	Revisions map[int]int64 // the head after a number of turns, where a question asks for it
}

// AsOf returns the revision that a question may see; 0 is the head.
func (l *Loaded) AsOf(q *Question) (int64, error) {
	if q.Before == 0 {
		return 0, nil
	}
	at, ok := l.Revisions[q.Before]
	if !ok {
		return 0, fmt.Errorf("no revision is known after %d turns", q.Before)
	}
	return at, nil
}

// Turns returns the turns of hits. A note of another collection is an error: nothing may leak.
func (l *Loaded) Turns(hits []Hit) ([]string, error) {
	out := make([]string, 0, len(hits))
	for _, h := range hits {
		turn, ok := l.IDs[h.Note.ID]
		if !ok {
			return nil, fmt.Errorf("note %s is not of this collection", h.Note.ID)
		}
		out = append(out, turn)
	}
	return out, nil
}

// Load creates a collection, adds one note per turn in bulk and waits until its jobs have ended.
// Policy "none" analyzes nothing. progress, which may be nil, is called with the number of notes
// written and of jobs left.
func Load(ctx context.Context, c *Client, name, policy string, conversation *Conversation, progress func(written, jobs int)) (Loaded, error) {
	start := time.Now()
	turns := conversation.Turns
	cuts := conversation.cuts()
	col, err := c.CreateCollection(ctx, name, policy)
	if err != nil {
		return Loaded{}, fmt.Errorf("create collection %s: %w", name, err)
	}
	out := Loaded{Collection: col.ID, Embedder: col.Embedder, IDs: make(map[string]string, len(turns)), Revisions: map[int]int64{}}
	const batch = 100
	for at := 0; at < len(turns); {
		end := at + 1
		for end < len(turns) && end-at < batch && !cuts[end] {
			end++
		}
		part := turns[at:end]
		at = end
		notes := make([]Note, len(part))
		for i, t := range part {
			notes[i] = Note{
				Content: t.Text, Kind: "message", OccurredAt: &t.At,
				Attributes: t.Attributes,
			}
			if policy == "none" {
				notes[i].Infer = new(false)
			}
		}
		lines, err := c.AddNotes(ctx, col.ID, notes)
		if err != nil {
			return out, fmt.Errorf("add notes to %s: %w", name, err)
		}
		for i, l := range lines {
			if l.Error != nil || l.ID == "" {
				out.Failed++
				if out.Refusal == nil {
					out.Refusal = l.Error
				}
				continue
			}
			out.IDs[l.ID] = part[i].ID
		}
		if cuts[end] {
			if out.Revisions[end], err = headAfter(ctx, c, col.ID, len(out.IDs), progress); err != nil {
				return out, err
			}
		}
		if progress != nil {
			progress(len(out.IDs), -1)
		}
	}
	if err := Drain(ctx, c, col.ID, len(out.IDs), progress); err != nil {
		return out, err
	}
	out.Took = time.Since(start)
	col, err = c.Collection(ctx, col.ID)
	if err != nil {
		return out, fmt.Errorf("read collection %s: %w", name, err)
	}
	out.Notes, out.Pending = col.Counts.Notes, col.Counts.Pending
	return out, nil
}

// cuts returns the numbers of turns after which a question is asked.
func (c *Conversation) cuts() map[int]bool {
	out := map[int]bool{}
	for i := range c.Questions {
		if n := c.Questions[i].Before; n > 0 {
			out[n] = true
		}
	}
	return out
}

// headAfter waits until the jobs have ended, and returns the revision of the head.
func headAfter(ctx context.Context, c *Client, collection string, written int, progress func(written, jobs int)) (int64, error) {
	if err := Drain(ctx, c, collection, written, progress); err != nil {
		return 0, err
	}
	head, err := c.Collection(ctx, collection)
	if err != nil {
		return 0, fmt.Errorf("read the head: %w", err)
	}
	return head.HeadRevision, nil
}

// Drain waits until a collection has no open jobs. progress is told of them; nil: nobody is.
func Drain(ctx context.Context, c *Client, collection string, written int, progress func(written, jobs int)) error {
	for moment := 5 * time.Millisecond; ; moment = min(2*moment, 200*time.Millisecond) {
		jobs, err := c.OpenJobs(ctx, collection)
		if err != nil {
			return fmt.Errorf("list jobs: %w", err)
		}
		if progress != nil {
			progress(written, jobs)
		}
		if jobs == 0 {
			return nil
		}
		if err := pause(ctx, moment); err != nil {
			return fmt.Errorf("%d jobs are left: %w", jobs, err)
		}
	}
}
