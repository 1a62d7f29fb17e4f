package slipbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A CollectionRef names a collection: [Named] or [External].
type CollectionRef interface {
	segment() string
	query() url.Values
}

// Named is the id or name of a collection.
type Named string

func (n Named) segment() string { return string(n) }
func (Named) query() url.Values { return nil }

func (External) segment() string { return "by" }

func (e External) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]*ExternalID{"user": e.User, "agent": e.Agent, "app": e.App, "run": e.Run} {
		if value != nil {
			q.Set(name, *value)
		}
	}
	return q
}

// An Option is a parameter or header of a request.
type Option func(*Request)

// Query sets a parameter of the operation, such as "limit" or "subject".
func Query(name, value string) Option { return func(r *Request) { r.Query.Set(name, value) } }

// Wait waits until the policy has run, within limits, and until a file is read.
func Wait() Option { return Query("wait", "evolved") }

// Create names the policy of the collection of an [External], which is created if there is none.
func Create(policy string) Option { return header("Slipbox-Create", policy) }

// IdempotencyKey makes a write safe to repeat also by another process. By default each call has a key of its own.
func IdempotencyKey(key string) Option { return header("Idempotency-Key", key) }

// IfMatch is the ETag that a note must still have.
func IfMatch(etag string) Option { return header("If-Match", etag) }

func header(name, value string) Option { return func(r *Request) { r.Header.Set(name, value) } }

// request returns a request for what is at the segments of a path.
func request(method string, body any, options []Option, segments ...string) Request {
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	r := Request{Method: method, Path: "/v1/" + strings.Join(segments, "/"), Query: url.Values{}, Header: http.Header{}, Body: body}
	for _, set := range options {
		set(&r)
	}
	return r
}

// within returns a request for what is below a collection.
func within(method string, body any, options []Option, ref CollectionRef, segments ...string) Request {
	r := request(method, body, options, append([]string{"collections", ref.segment()}, segments...)...)
	maps.Copy(r.Query, ref.query())
	return r
}

// write sets the key of a POST.
func write(r Request) Request {
	if r.Header.Get("Idempotency-Key") == "" {
		r.Header.Set("Idempotency-Key", newKey())
	}
	return r
}

// read says that a POST only reads, or does no harm twice.
func read(r Request) Request {
	r.Repeatable = true
	return r
}

// body sends a request and returns the body of the answer.
func (c *Client) body(ctx context.Context, r Request) ([]byte, int, error) {
	resp, err := c.Do(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, 0, &ConnectionError{Err: err}
	}
	return text, resp.StatusCode, nil
}

// call sends a request and returns its answer.
func call[T any](ctx context.Context, c *Client, r Request) (T, error) {
	var answer T
	text, _, err := c.body(ctx, r)
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, &answer)
	}
	return answer, err
}

// list yields the items of all pages.
func list[T any](ctx context.Context, c *Client, r Request) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := maps.Clone(r.Query)
		for {
			r.Query = query
			page, err := call[struct {
				Items      []T    `json:"items"`
				NextCursor string `json:"next_cursor"`
			}](ctx, c, r)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.NextCursor == "" {
				return
			}
			query = maps.Clone(query)
			query.Set("cursor", page.NextCursor)
		}
	}
}

// maxEvent bounds a line of a stream, in bytes.
const maxEvent = 16 << 20

// A ServerEvent is a server-sent event of a stream.
type ServerEvent struct {
	Name string
	Data []byte
}

// events sends a request and yields the events of its answer.
func (c *Client) events(ctx context.Context, r Request) iter.Seq2[ServerEvent, error] {
	return func(yield func(ServerEvent, error) bool) {
		r.Header.Set("Accept", "text/event-stream")
		resp, err := c.Do(ctx, r)
		if err != nil {
			yield(ServerEvent{}, err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		Events(resp.Body)(yield)
	}
}

// Events yields the server-sent events of an answer of [Client.Do]. Comments, which keep a connection alive, are not events.
func Events(stream io.Reader) iter.Seq2[ServerEvent, error] {
	return func(yield func(ServerEvent, error) bool) {
		lines := bufio.NewScanner(stream)
		lines.Buffer(nil, maxEvent)
		event := ServerEvent{}
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case len(lines.Bytes()) == 0:
				if event.Data != nil && !yield(event, nil) {
					return
				}
				event = ServerEvent{}
			case field == "event":
				event.Name = value
			case field == "data":
				if event.Data != nil {
					event.Data = append(event.Data, '\n')
				}
				event.Data = append(event.Data, value...)
			}
		}
		if err := lines.Err(); err != nil {
			yield(ServerEvent{}, &ConnectionError{Err: err})
		}
	}
}

// CreateCollection creates a collection.
func (c *Client) CreateCollection(ctx context.Context, in CollectionInput, options ...Option) (Collection, error) {
	return call[Collection](ctx, c, write(request(http.MethodPost, in, options, "collections")))
}

// ListCollections lists collections.
func (c *Client) ListCollections(ctx context.Context, options ...Option) iter.Seq2[Collection, error] {
	return list[Collection](ctx, c, request(http.MethodGet, nil, options, "collections"))
}

// GetCollection reads a collection.
func (c *Client) GetCollection(ctx context.Context, ref CollectionRef, options ...Option) (Collection, error) {
	return call[Collection](ctx, c, within(http.MethodGet, nil, options, ref))
}

// PatchCollection changes a collection; null removes a value.
func (c *Client) PatchCollection(ctx context.Context, ref CollectionRef, change CollectionPatch, options ...Option) (Collection, error) {
	return call[Collection](ctx, c, within(http.MethodPatch, change, options, ref))
}

// DeleteCollection deletes one collection. [Client.RemoveCollection] waits for its rows, [Client.ForgetExternal] deletes all of a user.
func (c *Client) DeleteCollection(ctx context.Context, name Named, options ...Option) error {
	_, _, err := c.body(ctx, within(http.MethodDelete, nil, options, name))
	return err
}

// RemoveCollection deletes one collection, waits until its rows are gone, within limits, and reports whether they are.
func (c *Client) RemoveCollection(ctx context.Context, name Named, options ...Option) (RemovalReport, error) {
	return call[RemovalReport](ctx, c, within(http.MethodDelete, nil, append(slices.Clip(options), Query("wait", "removed")), name))
}

// ForgetExternal deletes every collection that has these ids of the application, and reports what was in them.
func (c *Client) ForgetExternal(ctx context.Context, ids External, options ...Option) (ForgetReport, error) {
	return call[ForgetReport](ctx, c, within(http.MethodDelete, nil, options, ids))
}

// CloneCollection forks a collection, or copies it; a copy is filled by a job, while its state is copying.
func (c *Client) CloneCollection(ctx context.Context, ref CollectionRef, in CloneRequest, options ...Option) (Collection, error) {
	text, status, err := c.body(ctx, write(within(http.MethodPost, in, options, ref, "clone")))
	if err != nil {
		return Collection{}, err
	}
	if status == http.StatusAccepted {
		var accepted CloneAccepted
		err = json.Unmarshal(text, &accepted)
		return accepted.Collection, err
	}
	var fork Collection
	err = json.Unmarshal(text, &fork)
	return fork, err
}

// DiffCollection yields the pages of what leads from another view to a collection: by default from its parent, otherwise from the
// one that the parameters against and against_at name. All pages read the same revisions.
func (c *Client) DiffCollection(ctx context.Context, ref CollectionRef, options ...Option) iter.Seq2[Diff, error] {
	return func(yield func(Diff, error) bool) {
		r := within(http.MethodGet, nil, options, ref, "diff")
		for {
			page, err := call[Diff](ctx, c, r)
			if !yield(page, err) || err != nil || page.NextCursor == nil {
				return
			}
			r.Query.Set("cursor", *page.NextCursor)
		}
	}
}

// MergeCollection takes over what another collection of the lineage has changed. Where both changed a field, it fails with a
// [ProblemError] whose conflicts say which, unless the strategy decides. A large merge is a job, which the answer names. With
// [MergeRequestWaitDone] it is waited for: the answer is then what the job did, with the state in which it ended.
func (c *Client) MergeCollection(ctx context.Context, ref CollectionRef, in MergeRequest, options ...Option) (MergeResult, error) {
	out, err := call[MergeResult](ctx, c, within(http.MethodPost, in, options, ref, "merge"))
	if err != nil || out.Job == nil || in.Wait == nil || *in.Wait != MergeRequestWaitDone {
		return out, err
	}
	out.Job, err = c.outcome(ctx, out.Job, &out)
	return out, err
}

// RollbackCollection makes a collection show what it showed at a revision, a time or a snapshot, as one more change. A large
// rollback is a job, as a large merge is; [RollbackRequestWaitDone] waits for it.
func (c *Client) RollbackCollection(ctx context.Context, ref CollectionRef, in RollbackRequest, options ...Option) (RollbackResult, error) {
	out, err := call[RollbackResult](ctx, c, within(http.MethodPost, in, options, ref, "rollback"))
	if err != nil || out.Job == nil || in.Wait == nil || *in.Wait != RollbackRequestWaitDone {
		return out, err
	}
	out.Job, err = c.outcome(ctx, out.Job, &out)
	return out, err
}

// outcome waits for a job, and sets in answer what it did. It returns the job.
func (c *Client) outcome(ctx context.Context, job *Job, answer any) (*Job, error) {
	end, err := c.WaitForJob(ctx, job.ID)
	if err != nil {
		return job, err
	}
	raw, err := json.Marshal(end.Result)
	if err == nil {
		err = json.Unmarshal(raw, answer)
	}
	return &end, err
}

// FollowChanges yields the changes after a revision: those that there are, then each new one. A stream that ends or breaks off is
// opened again after the last change, until the gateway refuses or cannot be reached: none is missed, and none comes twice. To
// continue in another process, keep the revision of the last change.
func (c *Client) FollowChanges(ctx context.Context, ref CollectionRef, after int64, options ...Option) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		for {
			lost, err := c.changes(ctx, ref, &after, options, yield)
			if err != nil && !lost {
				yield(Change{}, err)
			}
			if !lost {
				return
			}
			if err := rest(ctx, c.retryWait); err != nil {
				yield(Change{}, err)
				return
			}
		}
	}
}

// changes yields the changes of one stream, and moves after on. lost says that there may be more.
func (c *Client) changes(ctx context.Context, ref CollectionRef, after *int64, options []Option, yield func(Change, error) bool) (lost bool, err error) {
	r := within(http.MethodGet, nil, options, ref, "changes")
	r.Query.Set("after", strconv.FormatInt(*after, 10))
	r.Header.Set("Accept", "text/event-stream")
	resp, err := c.Do(ctx, r)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	for event, err := range Events(resp.Body) {
		if err != nil {
			return true, err
		}
		if event.Name != "change" {
			continue
		}
		var change Change
		if err := json.Unmarshal(event.Data, &change); err != nil {
			return false, err
		}
		if *after = change.Revision; !yield(change, nil) {
			return false, nil
		}
	}
	return true, nil
}

// CreateNote adds a note.
func (c *Client) CreateNote(ctx context.Context, ref CollectionRef, in NoteInput, options ...Option) (NoteCreated, error) {
	return call[NoteCreated](ctx, c, write(within(http.MethodPost, in, options, ref, "notes")))
}

// BulkNotes adds many notes, at most 10,000 and 32 MiB, and returns a result for each. An invalid one fails alone.
func (c *Client) BulkNotes(ctx context.Context, ref CollectionRef, notes []BulkNote, options ...Option) ([]BulkResult, error) {
	var body bytes.Buffer
	for _, note := range notes {
		if err := json.NewEncoder(&body).Encode(note); err != nil {
			return nil, err
		}
	}
	r := write(within(http.MethodPost, body.Bytes(), options, ref, "notes", "bulk"))
	r.Header.Set("Content-Type", "application/x-ndjson")
	text, _, err := c.body(ctx, r)
	if err != nil {
		return nil, err
	}
	lines := slices.Collect(bytes.Lines(text))
	// The last line is a summary.
	if len(lines) == 0 || !bytes.Contains(lines[len(lines)-1], []byte(`"summary"`)) {
		return nil, &ConnectionError{Err: errors.New("the answer broke off before its last line")}
	}
	results := make([]BulkResult, len(lines)-1)
	for i := range results {
		if err := json.Unmarshal(lines[i], &results[i]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// ListNotes lists notes, oldest first unless order says otherwise.
func (c *Client) ListNotes(ctx context.Context, ref CollectionRef, options ...Option) iter.Seq2[Note, error] {
	return list[Note](ctx, c, within(http.MethodGet, nil, options, ref, "notes"))
}

// GetNote reads a note.
func (c *Client) GetNote(ctx context.Context, ref CollectionRef, note string, options ...Option) (Note, error) {
	return call[Note](ctx, c, within(http.MethodGet, nil, options, ref, "notes", note))
}

// PatchNote changes a note; null removes a value.
func (c *Client) PatchNote(ctx context.Context, ref CollectionRef, note string, change NotePatch, options ...Option) (Note, error) {
	return call[Note](ctx, c, within(http.MethodPatch, change, options, ref, "notes", note))
}

// DeleteNote deletes a note. [Query]("sources", "delete") deletes what it was derived from, too. [Client.EraseNote] removes
// every version.
func (c *Client) DeleteNote(ctx context.Context, ref CollectionRef, note string, options ...Option) error {
	_, _, err := c.body(ctx, within(http.MethodDelete, nil, options, ref, "notes", note))
	return err
}

// EraseNote deletes a note and removes every version of it and of what went with it, for good. A note that is deleted already
// can be erased.
func (c *Client) EraseNote(ctx context.Context, ref CollectionRef, note string, options ...Option) (ErasureReport, error) {
	return call[ErasureReport](ctx, c, within(http.MethodDelete, nil, append(slices.Clip(options), Query("erase", "true")), ref, "notes", note))
}

// GetNoteHistory lists the versions of a note, newest first.
func (c *Client) GetNoteHistory(ctx context.Context, ref CollectionRef, note string, options ...Option) iter.Seq2[HistoryEntry, error] {
	return list[HistoryEntry](ctx, c, within(http.MethodGet, nil, options, ref, "notes", note, "history"))
}

// AddMessages stores messages, from which the policy learns. With [Wait] the answer has what was learned.
func (c *Client) AddMessages(ctx context.Context, ref CollectionRef, in MessagesInput, options ...Option) (MessagesAccepted, error) {
	return call[MessagesAccepted](ctx, c, write(within(http.MethodPost, in, options, ref, "messages")))
}

// ListMessages lists messages as they were said.
func (c *Client) ListMessages(ctx context.Context, ref CollectionRef, options ...Option) iter.Seq2[StoredMessage, error] {
	return list[StoredMessage](ctx, c, within(http.MethodGet, nil, options, ref, "messages"))
}

// AddFile adds a file to a collection: a job reads its text, which searches and contexts then find. name has the extension of its
// format. With [Wait] the answer has the file as it is when the job has ended: its state is ready, or failed with a reason.
func (c *Client) AddFile(ctx context.Context, ref CollectionRef, name string, file io.Reader, options ...Option) (FileAccepted, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = io.Copy(part, file)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return FileAccepted{}, err
	}
	r := read(within(http.MethodPost, body.Bytes(), options, ref, "files")) // the same file again is the one that is there
	r.Header.Set("Content-Type", form.FormDataContentType())
	wait := r.Query.Get("wait")
	r.Query.Del("wait")
	out, err := call[FileAccepted](ctx, c, r)
	if err != nil || out.Job == nil || wait == "" || wait == "none" {
		return out, err
	}
	if _, err := c.WaitForJob(ctx, out.Job.ID); err != nil {
		return out, err
	}
	out.File, err = call[File](ctx, c, within(http.MethodGet, nil, nil, ref, "files", out.File.ID))
	return out, err
}

// Search searches a collection by words and meaning. SearchBatch asks several queries in one call.
func (c *Client) Search(ctx context.Context, ref CollectionRef, in SearchRequest, options ...Option) (SearchResult, error) {
	return call[SearchResult](ctx, c, read(within(http.MethodPost, in, options, ref, "search")))
}

// SearchBatch searches a collection for several queries; the other fields are their defaults.
func (c *Client) SearchBatch(ctx context.Context, ref CollectionRef, in SearchRequest, options ...Option) ([]SearchResult, error) {
	answer, err := call[SearchResults](ctx, c, read(within(http.MethodPost, in, options, ref, "search")))
	return answer.Results, err
}

// SearchAll searches up to 50 collections, or all of an application's user, in one ranking.
func (c *Client) SearchAll(ctx context.Context, in SearchRequest, options ...Option) (SearchResult, error) {
	return call[SearchResult](ctx, c, read(request(http.MethodPost, in, options, "search")))
}

// BuildContext writes what is found as one text for a prompt, with citations.
func (c *Client) BuildContext(ctx context.Context, ref CollectionRef, in ContextRequest, options ...Option) (ContextAnswer, error) {
	return call[ContextAnswer](ctx, c, read(within(http.MethodPost, in, options, ref, "context")))
}

// BuildContextAll writes a context from up to 50 collections, or all of an application's user.
func (c *Client) BuildContextAll(ctx context.Context, in ContextRequest, options ...Option) (ContextAnswer, error) {
	return call[ContextAnswer](ctx, c, read(request(http.MethodPost, in, options, "context")))
}

// ListFacts lists facts as triples.
func (c *Client) ListFacts(ctx context.Context, ref CollectionRef, options ...Option) iter.Seq2[Fact, error] {
	return list[Fact](ctx, c, within(http.MethodGet, nil, options, ref, "facts"))
}

// Chat answers from memory, and remembers the exchange unless Remember is false.
func (c *Client) Chat(ctx context.Context, ref CollectionRef, in ChatRequest, options ...Option) (ChatAnswer, error) {
	r := within(http.MethodPost, in, options, ref, "chat")
	r.Repeatable = in.Remember != nil && !*in.Remember
	return call[ChatAnswer](ctx, c, r)
}

// A ChatEvent is a piece of a reply, or the whole answer, which is last.
type ChatEvent struct {
	Delta  *ChatDelta
	Answer *ChatAnswer
}

// StreamChat yields the pieces of a reply as they come, and the whole answer last.
func (c *Client) StreamChat(ctx context.Context, ref CollectionRef, in ChatRequest, options ...Option) iter.Seq2[ChatEvent, error] {
	return func(yield func(ChatEvent, error) bool) {
		in.Stream = new(true)
		for event, err := range c.events(ctx, within(http.MethodPost, in, options, ref, "chat")) {
			out := ChatEvent{}
			switch {
			case err != nil:
			case event.Name == "delta":
				err = json.Unmarshal(event.Data, &out.Delta)
			case event.Name == "done":
				err = json.Unmarshal(event.Data, &out.Answer)
			case event.Name == "error":
				err = problemOf(http.StatusInternalServerError, nil, event.Data)
			default:
				continue
			}
			if !yield(out, err) || err != nil || out.Answer != nil {
				return
			}
		}
		yield(ChatEvent{}, &ConnectionError{Err: errors.New("the reply broke off before its end")})
	}
}

// PostEvent makes an agent act now, and returns the run when it has ended or requires action.
func (c *Client) PostEvent(ctx context.Context, ref CollectionRef, in EventInput, options ...Option) (Run, error) {
	in.Wait = new(EventInputWaitDone)
	text, status, err := c.body(ctx, write(within(http.MethodPost, in, options, ref, "events")))
	if err != nil {
		return Run{}, err
	}
	if status != http.StatusAccepted {
		var run Run
		if err := json.Unmarshal(text, &run); err != nil {
			return run, err
		}
		return c.settled(ctx, ref, run)
	}
	var accepted EventAccepted
	if err := json.Unmarshal(text, &accepted); err != nil {
		return Run{}, err
	}
	if accepted.Run == nil || accepted.Job == nil {
		return Run{}, errors.New("slipbox: an event for later has no run yet: post it with Do")
	}
	if _, err := c.WaitForJob(ctx, accepted.Job.ID); err != nil {
		return Run{}, err
	}
	return c.GetRun(ctx, ref, *accepted.Run)
}

// PostResults answers calls of a run, and returns the run when it has ended or requires action again.
func (c *Client) PostResults(ctx context.Context, ref CollectionRef, run string, results []CallResult, options ...Option) (Run, error) {
	in := CallResults{Results: results, Wait: new(CallResultsWaitDone)}
	now, err := call[Run](ctx, c, read(within(http.MethodPost, in, options, ref, "runs", run, "results")))
	if err != nil {
		return now, err
	}
	return c.settled(ctx, ref, now)
}

// GetRun reads a run of an agent.
func (c *Client) GetRun(ctx context.Context, ref CollectionRef, run string, options ...Option) (Run, error) {
	return call[Run](ctx, c, within(http.MethodGet, nil, options, ref, "runs", run))
}

// settled returns a run when its job has ended.
func (c *Client) settled(ctx context.Context, ref CollectionRef, run Run) (Run, error) {
	if run.Job == nil || run.State != RunStateQueued && run.State != RunStateRunning {
		return run, nil
	}
	if _, err := c.WaitForJob(ctx, *run.Job); err != nil {
		return run, err
	}
	return c.GetRun(ctx, ref, run.ID)
}

// ListJobs lists jobs, newest first.
func (c *Client) ListJobs(ctx context.Context, options ...Option) iter.Seq2[Job, error] {
	return list[Job](ctx, c, request(http.MethodGet, nil, options, "jobs"))
}

// GetJob reads a job.
func (c *Client) GetJob(ctx context.Context, job string) (Job, error) {
	return call[Job](ctx, c, request(http.MethodGet, nil, nil, "jobs", job))
}

// RetryJob tries a job again that failed.
func (c *Client) RetryJob(ctx context.Context, job string) (Job, error) {
	return call[Job](ctx, c, read(request(http.MethodPost, nil, nil, "jobs", job, "retry")))
}

// CancelJob cancels a job that has not ended.
func (c *Client) CancelJob(ctx context.Context, job string) (Job, error) {
	return call[Job](ctx, c, read(request(http.MethodPost, nil, nil, "jobs", job, "cancel")))
}

// StreamJob yields a job immediately and after each change, until it has ended. A stream that ends or breaks off before is opened
// again, until the gateway refuses or cannot be reached.
func (c *Client) StreamJob(ctx context.Context, job string) iter.Seq2[Job, error] {
	return func(yield func(Job, error) bool) {
		for c.states(ctx, job, yield) {
			// GetJob tries as often as any request, and says when the gateway is away.
			state, err := c.GetJob(ctx, job)
			if err == nil && !ended(state) {
				err = rest(ctx, c.retryWait)
			}
			if err != nil || ended(state) {
				yield(state, err)
				return
			}
		}
	}
}

// states yields the states of a job that one stream has. lost says that there may be more.
func (c *Client) states(ctx context.Context, job string, yield func(Job, error) bool) (lost bool) {
	for event, err := range c.events(ctx, request(http.MethodGet, nil, nil, "jobs", job, "events")) {
		if _, lost := errors.AsType[*ConnectionError](err); lost {
			return true
		}
		var state Job
		if err == nil {
			if event.Name != "job" {
				continue
			}
			err = json.Unmarshal(event.Data, &state)
		}
		if !yield(state, err) || err != nil || ended(state) {
			return false
		}
	}
	return true
}

// WaitForJob returns a job when it has ended: done, failed, dead or canceled.
func (c *Client) WaitForJob(ctx context.Context, job string) (end Job, err error) {
	for end, err = range c.StreamJob(ctx, job) {
		if err != nil {
			break
		}
	}
	return end, err
}

// ended reports whether a job does not change any more.
func ended(j Job) bool {
	return j.State == JobStateDone || j.State == JobStateFailed || j.State == JobStateDead || j.State == JobStateCancelled
}
