package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// fork forks a collection.
func (c *Client) fork(ctx context.Context, collection, name string) (Collection, error) {
	var out Collection
	err := c.do(ctx, http.MethodPost, "/v1/collections/"+url.PathEscape(collection)+"/clone", map[string]any{"name": name}, &out)
	return out, err
}

// storedMessage is a message as the gateway lists it.
type storedMessage struct {
	ID         string    `json:"id"`
	Role       string    `json:"role"`
	Name       string    `json:"name"`
	Content    string    `json:"content"`
	OccurredAt time.Time `json:"occurred_at"`
}

func (m *storedMessage) rendered() string {
	return "[" + m.OccurredAt.UTC().Format(sessionTime) + "] " + cmp.Or(m.Name, m.Role) + ": " + m.Content
}

// newest reads messages of a collection, the newest first, until enough returns true.
func (c *Client) newest(ctx context.Context, collection string, enough func(m *storedMessage) bool) error {
	cursor := ""
	for {
		var page struct {
			Items      []storedMessage `json:"items"`
			NextCursor string          `json:"next_cursor"`
		}
		q := url.Values{"limit": {"200"}, "order": {"newest"}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		if err := c.do(ctx, http.MethodGet, "/v1/collections/"+url.PathEscape(collection)+"/messages?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for i := range page.Items {
			if enough(&page.Items[i]) {
				return nil
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return nil
		}
	}
}

// history are the messages of a fork: all of them (full context), or the newest (sliding window).
type history struct {
	client     *Client
	collection string
	ids        map[string]string // turn by note
	window     bool
	total      int // tokens of all messages; 0 before they were read
}

// forkHistory makes a fork of the plain messages for a baseline.
func (u *unit) forkHistory(ctx context.Context, p *Part) (*history, error) {
	plain, err := u.loadPlain(ctx)
	if err != nil {
		return nil, err
	}
	if err := u.removeOld(ctx); err != nil {
		return nil, err
	}
	col, err := u.Client.fork(ctx, plain.Collection, u.name())
	if err != nil {
		return nil, err
	}
	h := &history{client: u.Client, collection: col.ID, ids: plain.IDs, window: u.Baseline == SlidingWindow}
	tokens := 0
	for i := range u.conversation.Turns {
		tokens += Tokens(u.conversation.Turns[i].Rendered)
		if n := len(u.conversation.Turns); (i+1)*stages/n > len(p.Stages) {
			stage := Stage{Turns: i + 1, History: tokens, Prompt: tokens}
			if h.window {
				stage.Prompt = min(tokens, u.Budget)
			}
			p.Stages = append(p.Stages, stage)
		}
	}
	return h, nil
}

func (h *history) bounded() bool { return h.window }

// retrieve returns the newest messages that fit, or the whole history: nothing when it does not fit.
func (h *history) retrieve(ctx context.Context, _ *Question, budget int) (out retrieved, err error) {
	if !h.window && budget > 0 && h.total > budget {
		return out, nil
	}
	start := time.Now()
	var texts []string
	tokens := 0
	err = h.client.newest(ctx, h.collection, func(m *storedMessage) bool {
		text := m.rendered()
		n := Tokens(text)
		if h.window && budget > 0 && tokens+n > budget {
			return true
		}
		tokens += n
		texts = append(texts, text)
		out.turns = append(out.turns, h.ids[m.ID])
		return false
	})
	if err != nil {
		return out, err
	}
	if !h.window {
		h.total = tokens
		if budget > 0 && tokens > budget {
			return retrieved{}, nil
		}
	}
	slices.Reverse(texts)
	out.text, out.tokens, out.took = strings.Join(texts, "\n"), tokens, time.Since(start)
	return out, nil
}

// chunked are pieces of a conversation of about equal size, found by the similarity of their vectors.
type chunked struct {
	client     *Client
	collection string
	hits       int
	turns      map[string][]string // by chunk
}

// chunks packs whole turns into pieces of at most size tokens. A longer turn is a piece of its own.
func chunks(turns []Turn, size int) (texts []string, covers [][]string) {
	tokens := 0
	for i := range turns {
		t := &turns[i]
		n := Tokens(t.Rendered)
		if len(texts) == 0 || tokens+n > size || len(texts[len(texts)-1])+len(t.Rendered) >= contentLimit {
			texts, covers, tokens = append(texts, ""), append(covers, nil), 0
		}
		last := len(texts) - 1
		texts[last] += clip.Head(t.Rendered, contentLimit-1) + "\n"
		covers[last] = append(covers[last], t.ID)
		tokens += n
	}
	return texts, covers
}

// addChunks stores a conversation in pieces, one by one.
func (u *unit) addChunks(ctx context.Context, p *Part) (*chunked, error) {
	s := *u.contender
	s.Policy = noPolicy
	own := *u
	own.contender = &s
	col, err := own.create(ctx)
	if err != nil {
		return nil, err
	}
	out := &chunked{client: u.Client, collection: col.ID, hits: u.Hits, turns: map[string][]string{}}
	texts, covers := chunks(u.conversation.Turns, u.Chunk)
	began, history, done := time.Now(), 0, 0
	for i, text := range texts {
		at := time.Now()
		lines, err := u.Client.AddNotes(ctx, col.ID, []Note{{Content: strings.TrimSpace(text), Kind: "passage", Infer: new(false)}})
		if err != nil {
			return nil, err
		}
		if lines[0].Error != nil {
			return nil, lines[0].Error
		}
		out.turns[lines[0].ID] = covers[i]
		if err := u.settle(ctx, col.ID); err != nil {
			return nil, err
		}
		p.AddMs = append(p.AddMs, milliseconds(time.Since(at)))
		history += Tokens(text)
		done += len(covers[i])
		if (i+1)*stages/len(texts) > len(p.Stages) {
			p.Stages = append(p.Stages, Stage{Turns: done, History: history, Prompt: min(history, u.Hits*u.Chunk), Seconds: time.Since(began).Seconds()})
		}
		u.step("chunks", i+1, len(texts))
	}
	return out, nil
}

func (*chunked) bounded() bool { return true }

func (m *chunked) retrieve(ctx context.Context, q *Question, budget int) (out retrieved, err error) {
	start := time.Now()
	found, err := m.client.Search(ctx, m.collection, Query{Text: q.Text, Mode: Vector, K: m.hits, Profile: ProfileDefault})
	if err != nil {
		return out, err
	}
	out.took = time.Since(start)
	var texts []string
	for _, h := range found.Hits {
		n := Tokens(h.Note.Content)
		if budget > 0 && out.tokens+n > budget {
			break
		}
		out.tokens += n
		texts = append(texts, h.Note.Content)
		out.turns = append(out.turns, m.turns[h.Note.ID]...)
	}
	out.text = strings.Join(texts, "\n")
	return out, nil
}

// agentic is an agent over a static store: its model decides when and what to fetch. Each question is asked in a fork of its own,
// so that no answer is remembered.
type agentic struct {
	unit   *unit
	loaded *Loaded
	asked  *Question // that the following belongs to
	run    agentRun
	took   time.Duration
	found  []fetched
}

// agentRun is the part of a run that is used.
type agentRun struct {
	ID    string `json:"id"`
	Run   string `json:"run"` // while it goes
	State string `json:"state"`
	Reply string `json:"reply"`
	Error string `json:"error"`
	Steps []struct {
		Result string `json:"result"`
	} `json:"steps"`
}

// fetched is a passage that the agent has read.
type fetched struct {
	text, turn string
}

// addPassages stores the turns as passages that nothing is learned from.
func (u *unit) addPassages(ctx context.Context, p *Part) (*agentic, error) {
	col, err := u.create(ctx)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Collection: col.ID, Embedder: col.Embedder, IDs: map[string]string{}}
	for turns := u.conversation.Turns; len(turns) > 0; {
		n := min(growthBatch, len(turns))
		notes := make([]Note, n)
		for i := range notes {
			notes[i] = Note{Content: turns[i].Text, Kind: "passage", OccurredAt: &turns[i].At, Infer: new(false)}
		}
		lines, err := u.Client.AddNotes(ctx, col.ID, notes)
		if err != nil {
			return nil, err
		}
		for i, line := range lines {
			if line.Error != nil {
				return nil, line.Error
			}
			l.IDs[line.ID] = turns[i].ID
		}
		turns = turns[n:]
	}
	if u.reader.model == "" {
		p.Notes = append(p.Notes, "no model decides: the built-in rules make the same searches for every question")
	}
	return &agentic{unit: u, loaded: l}, Drain(ctx, u.Client, col.ID, len(l.IDs), nil)
}

func (*agentic) bounded() bool { return true }

func (m *agentic) retrieve(ctx context.Context, q *Question, budget int) (out retrieved, err error) {
	if m.asked != q {
		if err := m.ask(ctx, q); err != nil {
			return out, err
		}
		m.asked = q
	}
	var texts []string
	for _, f := range m.found {
		n := Tokens(f.text)
		if budget > 0 && out.tokens+n > budget {
			break
		}
		out.tokens += n
		texts = append(texts, f.text)
		out.turns = append(out.turns, f.turn)
	}
	out.text, out.took = strings.Join(texts, "\n"), m.took
	out.answer = m.run.Reply
	return out, nil
}

// ask has the agent answer a question, and reads what it has fetched.
func (m *agentic) ask(ctx context.Context, q *Question) error {
	u := m.unit
	name := u.name() + "-fork"
	col, err := u.Client.fork(ctx, m.loaded.Collection, name)
	if err != nil {
		return err
	}
	start := time.Now()
	m.run, err = u.Client.answer(ctx, col.ID, q.Text)
	m.took = time.Since(start)
	m.found = nil
	if err != nil {
		return err
	}
	for _, s := range m.run.Steps {
		for line := range strings.Lines(s.Result) {
			var hit struct {
				ID      string `json:"id"`
				Time    string `json:"time"`
				Content string `json:"content"`
			}
			if json.Unmarshal([]byte(line), &hit) == nil && m.loaded.IDs[hit.ID] != "" {
				m.found = append(m.found, fetched{text: "[" + hit.Time + "] " + hit.Content, turn: m.loaded.IDs[hit.ID]})
			}
		}
	}
	if m.run.State != "done" {
		return fmt.Errorf("the run is %s: %s", m.run.State, m.run.Error)
	}
	return u.Client.removed(ctx, col.ID, name)
}

// answer posts a message to an agent and returns its run when it has ended.
func (c *Client) answer(ctx context.Context, collection, text string) (run agentRun, err error) {
	path := "/v1/collections/" + url.PathEscape(collection)
	if err := c.do(ctx, http.MethodPost, path+"/events", map[string]any{"content": text, "wait": "done"}, &run); err != nil {
		return run, err
	}
	id := cmp.Or(run.ID, run.Run)
	for run.State != "done" && run.State != "failed" && run.State != "cancelled" {
		if err := pause(ctx, look); err != nil {
			return run, err
		}
		run = agentRun{}
		if err := c.do(ctx, http.MethodGet, path+"/runs/"+url.PathEscape(id), nil, &run); err != nil {
			return run, err
		}
	}
	return run, nil
}

// removed deletes a collection, and waits until its name is free.
func (c *Client) removed(ctx context.Context, collection, name string) error {
	if err := c.remove(ctx, collection); err != nil {
		return err
	}
	for {
		if _, err := c.Collection(ctx, name); err != nil {
			if isNotFound(err) {
				return nil
			}
			return err
		}
		if err := pause(ctx, look); err != nil {
			return err
		}
	}
}

// pause waits a moment, or until ctx ends.
func pause(ctx context.Context, moment time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", ctx.Err())
	case <-time.After(moment):
		return nil
	}
}

// look is the pause between two looks at what is waited for.
const look = 20 * time.Millisecond
