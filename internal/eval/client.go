package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// Client calls the public API with one key.
type Client struct {
	BaseURL string // such as http://127.0.0.1:8080
	Key     string
	HTTP    *http.Client // when nil, a client with a timeout of two minutes
}

// Problem is an error response of the gateway.
type Problem = slipbox.ProblemError

// isNotFound reports whether err is the Problem of something that is not there.
func isNotFound(err error) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Code == "not_found"
}

// Note is the request for a new note.
type Note struct {
	Content    string         `json:"content"`
	Kind       string         `json:"kind,omitempty"`
	OccurredAt *time.Time     `json:"occurred_at,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"`
	Infer      *bool          `json:"infer,omitempty"`
}

// Message is one message of a request.
type Message struct {
	ID         string         `json:"id,omitempty"`
	Role       string         `json:"role,omitempty"` // user when absent
	Name       string         `json:"name,omitempty"`
	Content    string         `json:"content"`
	OccurredAt *time.Time     `json:"occurred_at,omitempty"`
	Session    string         `json:"session,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"`
}

// Collection is the part of a collection that eval uses.
type Collection struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	HeadRevision int64  `json:"head_revision"`
	Embedder     string `json:"embedder"`
	Counts       struct {
		Notes    int64 `json:"notes"`
		Links    int64 `json:"links"`
		Pending  int64 `json:"pending"`
		InReview int64 `json:"in_review"`
	} `json:"counts"`
}

// Created is one line of a bulk response.
type Created struct {
	Line   int      `json:"line"`
	Status int      `json:"status"`
	ID     string   `json:"id"`
	Error  *Problem `json:"error"`
}

// Hit is a ranked note. It has only its id unless the query asks for more fields.
type Hit struct {
	Note     FoundNote   `json:"note"`
	Exchange []FoundNote `json:"exchange"` // of memorybank
	Score    float64     `json:"score"`
	Explain  struct {
		Signals []Signal           `json:"signals"`
		Query   map[string]float64 `json:"query"`
	} `json:"explain"`
}

// Signal is one part of a hit's score.
type Signal struct {
	Name       string  `json:"signal"`
	Raw        float64 `json:"raw"`
	Normalized float64 `json:"normalized"`
	Weight     float64 `json:"weight"`
}

// FoundNote is the part of a note that eval uses.
type FoundNote struct {
	ID         string     `json:"id"`
	Kind       string     `json:"kind"`
	Content    string     `json:"content"`
	OccurredAt *time.Time `json:"occurred_at"`
	Attributes struct {
		Name string `json:"name"` // the speaker of a message
	} `json:"attributes"`
	Provenance struct {
		Sources []string `json:"sources"`
	} `json:"provenance"`
}

// Found is the response to a query.
type Found struct {
	Hits     []Hit   `json:"hits"`
	Revision int64   `json:"revision"`
	TookMs   float64 `json:"took_ms"`
	Degraded string  `json:"degraded"`
	// Answerable is how well the best hit fits the query, from 0 to 1; nil when the gateway
	// does not report it.
	Answerable *float64 `json:"answerable"`
	Profile    string   `json:"profile"` // the one used
}

// Query is one search.
type Query struct {
	Text     string             `json:"query,omitempty"`
	Messages []Message          `json:"messages,omitempty"` // a dialogue, instead of Text
	Mode     string             `json:"mode"`               // lexical, vector, hybrid
	K        any                `json:"k"`                  // a number, or kAuto
	Rerank   string             `json:"rerank,omitempty"`   // "model": the two-stage noise filter
	Profile  string             `json:"profile,omitempty"`  // of the ranking; "" lets the gateway choose
	Weights  map[string]float64 `json:"weights,omitempty"`  // of signals that differ from the profile
	Explain  bool               `json:"explain,omitempty"`
	AsOf     int64              `json:"as_of,omitempty"`  // a revision; 0 for the head
	Fields   []string           `json:"fields,omitempty"` // only "id", or empty for whole notes
}

// Prompt is a text that is ready for a prompt.
type Prompt struct {
	Text      string `json:"text"`
	Tokens    int    `json:"tokens"`
	Citations []struct {
		Note string `json:"note"`
	} `json:"citations"`
}

// CreateCollection creates a collection. It returns a Problem with status 409 when the name exists.
func (c *Client) CreateCollection(ctx context.Context, name, policy string) (Collection, error) {
	return c.CreateConfigured(ctx, name, policy, nil)
}

// CreateConfigured creates a collection with settings of its policy; nil means the defaults.
func (c *Client) CreateConfigured(ctx context.Context, name, policy string, config map[string]any) (Collection, error) {
	var out Collection
	body := map[string]any{"name": name, "policy": policy}
	if config != nil {
		body["policy_config"] = config
	}
	err := c.do(ctx, http.MethodPost, "/v1/collections", body, &out)
	return out, err
}

// Collection reads a collection by name or id.
func (c *Client) Collection(ctx context.Context, ref string) (Collection, error) {
	var out Collection
	err := c.do(ctx, http.MethodGet, "/v1/collections/"+url.PathEscape(ref), nil, &out)
	return out, err
}

// AddNotes sends notes as NDJSON and returns one result per note, in order.
func (c *Client) AddNotes(ctx context.Context, collection string, notes []Note) ([]Created, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	for i := range notes {
		line := struct {
			*Note
			OnDuplicate string `json:"on_duplicate"`
		}{&notes[i], "keep"} // each turn is a note of its own
		if err := enc.Encode(&line); err != nil {
			return nil, fmt.Errorf("encode note %d: %w", i, err)
		}
	}
	resp, err := c.send(ctx, slipbox.Request{
		Method: http.MethodPost, Path: "/v1/collections/" + url.PathEscape(collection) + "/notes/bulk", Body: body.Bytes(),
		Header: http.Header{"Content-Type": {"application/x-ndjson"}},
	}, tries)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	out := make([]Created, 0, len(notes))
	dec := json.NewDecoder(resp.Body)
	for len(out) < len(notes) {
		var line Created
		if err := dec.Decode(&line); err != nil {
			return out, fmt.Errorf("bulk answer ended after %d of %d lines: %w", len(out), len(notes), err)
		}
		out = append(out, line)
	}
	return out, nil
}

// AddMessages sends messages of a conversation in one request and returns the ids of their notes, in
// order.
func (c *Client) AddMessages(ctx context.Context, collection string, messages []Message) ([]string, error) {
	return c.addMessages(ctx, collection, messages, "")
}

// AddEvolved is AddMessages that waits until the jobs of the messages have ended.
func (c *Client) AddEvolved(ctx context.Context, collection string, messages []Message) ([]string, error) {
	return c.addMessages(ctx, collection, messages, "?wait=evolved")
}

// addMessages is AddMessages with a query of the request, such as "?wait=evolved".
func (c *Client) addMessages(ctx context.Context, collection string, messages []Message, query string) ([]string, error) {
	var out struct {
		Messages []struct {
			ID string `json:"id"`
		} `json:"messages"`
	}
	err := c.do(ctx, http.MethodPost, "/v1/collections/"+url.PathEscape(collection)+"/messages"+query, map[string]any{"messages": messages, "on_duplicate": "keep"}, &out)
	if err != nil {
		return nil, err
	}
	if len(out.Messages) != len(messages) {
		return nil, fmt.Errorf("%d messages were sent, %d taken", len(messages), len(out.Messages))
	}
	ids := make([]string, len(messages))
	for i := range ids {
		ids[i] = out.Messages[i].ID
	}
	return ids, nil
}

// Search runs one query.
func (c *Client) Search(ctx context.Context, collection string, q Query) (Found, error) {
	var out Found
	if len(q.Fields) == 0 {
		q.Fields = []string{"*"}
	}
	err := c.ask(ctx, "/v1/collections/"+url.PathEscape(collection)+"/search", q, &out)
	return out, err
}

// Context returns a prompt-ready text of at most so many tokens, from a revision; 0 is the head.
func (c *Client) Context(ctx context.Context, collection, query string, tokens int, asOf int64) (Prompt, error) {
	var out Prompt
	body := map[string]any{"query": query, "token_budget": tokens}
	if asOf > 0 {
		body["as_of"] = asOf
	}
	err := c.ask(ctx, "/v1/collections/"+url.PathEscape(collection)+"/context", body, &out)
	return out, err
}

// Note reads one note.
func (c *Client) Note(ctx context.Context, collection, id string) (FoundNote, error) {
	var out FoundNote
	err := c.do(ctx, http.MethodGet, "/v1/collections/"+url.PathEscape(collection)+"/notes/"+url.PathEscape(id), nil, &out)
	return out, err
}

// Version returns the version of the gateway.
func (c *Client) Version(ctx context.Context) (version, commit string, err error) {
	var out struct{ Version, Commit string }
	err = c.do(ctx, http.MethodGet, "/version", nil, &out)
	return out.Version, out.Commit, err
}

// OpenJobs counts jobs of a collection that have not ended, up to 200 of each state.
func (c *Client) OpenJobs(ctx context.Context, collection string) (int, error) {
	jobs, err := c.openJobs(ctx, collection)
	return len(jobs), err
}

// FailedJobs counts the failed and dead jobs of a collection, up to 200 each.
func (c *Client) FailedJobs(ctx context.Context, collection string) (int, error) {
	jobs, err := c.jobs(ctx, collection, "failed", "dead")
	return len(jobs), err
}

// openJobs returns the jobs that have not ended, by id. It reads the queued ones twice: a job may begin, or fail and wait
// again, between two requests, and would be in neither answer.
func (c *Client) openJobs(ctx context.Context, collection string) (map[string]job, error) {
	return c.jobs(ctx, collection, "scheduled", "queued", "running", "queued")
}

// cancelJobs cancels the jobs of a collection that have not ended.
func (c *Client) cancelJobs(ctx context.Context, collection string) error {
	for {
		open, err := c.openJobs(ctx, collection)
		if err != nil || len(open) == 0 {
			return err
		}
		for id := range open {
			err := c.do(ctx, http.MethodPost, "/v1/jobs/"+id+"/cancel", nil, nil)
			if p, ok := errors.AsType[*Problem](err); ok && p.Status == http.StatusConflict {
				continue // it has ended
			}
			if err != nil {
				return err
			}
		}
	}
}

type job struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
}

func (c *Client) jobs(ctx context.Context, collection string, states ...string) (map[string]job, error) {
	out := map[string]job{}
	for _, state := range states {
		var page struct {
			Items []job `json:"items"`
		}
		q := url.Values{"collection": {collection}, "state": {state}, "limit": {"200"}}
		if err := c.do(ctx, http.MethodGet, "/v1/jobs?"+q.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for _, j := range page.Items {
			out[j.ID] = j
		}
	}
	return out, nil
}

// CountNotes calls count with each note of a collection.
func (c *Client) CountNotes(ctx context.Context, collection string, count func(raw json.RawMessage) error) error {
	return c.countNotes(ctx, collection, "", count)
}

// countNotes is CountNotes for the notes of a kind, or of all.
func (c *Client) countNotes(ctx context.Context, collection, kind string, count func(raw json.RawMessage) error) error {
	cursor := ""
	for {
		var page struct {
			Items      []json.RawMessage `json:"items"`
			NextCursor string            `json:"next_cursor"`
		}
		q := url.Values{"limit": {"200"}}
		if kind != "" {
			q.Set("kind", kind)
		}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		if err := c.do(ctx, http.MethodGet, "/v1/collections/"+url.PathEscape(collection)+"/notes?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for _, raw := range page.Items {
			if err := count(raw); err != nil {
				return err
			}
		}
		if page.NextCursor == "" {
			return nil
		}
		cursor = page.NextCursor
	}
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	return c.decode(ctx, slipbox.Request{Method: method, Path: path, Body: in}, tries, out)
}

// ask is do for queries. It repeats a query while the gateway answers 503, because its index is
// loading.
func (c *Client) ask(ctx context.Context, path string, in, out any) error {
	return c.decode(ctx, slipbox.Request{Method: http.MethodPost, Path: path, Body: in}, asks, out)
}

// tries is how often a request is repeated, and asks how often a query.
const (
	tries = 3
	asks  = 60
)

// decode decodes the answer of a request into out, unless that is nil.
func (c *Client) decode(ctx context.Context, r slipbox.Request, retries int, out any) error {
	resp, err := c.send(ctx, r, retries)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if out == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("%s %s: decode answer: %w", r.Method, r.Path, err)
	}
	return nil
}

// send makes a request, again while it is refused for now. It returns an error response as a *Problem.
func (c *Client) send(ctx context.Context, r slipbox.Request, retries int) (*http.Response, error) {
	hc := c.HTTP
	if hc == nil {
		hc = &http.Client{Timeout: 2 * time.Minute}
	}
	api, err := slipbox.New(slipbox.Config{URL: c.BaseURL, Key: c.Key, HTTP: hc, Retries: retries})
	if err != nil {
		return nil, err
	}
	resp, err := api.Do(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	}
	return resp, nil
}
