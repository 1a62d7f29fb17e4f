package slipbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// testCase is a case of sdk/fixtures, whose README says what the fields mean.
type testCase struct {
	Name      string
	Operation string
	Arguments map[string]json.RawMessage
	Keys      []string
	Exchanges []struct {
		Request struct {
			Method, Path string
			Query        map[string]string
			Headers      map[string]string
			Body         any
			Lines        []any
			File         *file
		}
		Answer struct {
			Status  int
			Headers map[string]string
			Body    json.RawMessage
			Lines   []json.RawMessage
			Text    string
			Lost    bool
		}
	}
	Same    []string
	Returns *any
	Items   *[]any
	Error   map[string]any
}

// file is one of a form.
type file struct{ Name, Text string }

func cases(t *testing.T) map[string]testCase {
	t.Helper()
	files, err := filepath.Glob("../fixtures/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	all := map[string]testCase{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []testCase
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(file, err)
		}
		for _, c := range list {
			all[strings.TrimSuffix(filepath.Base(file), ".json")+": "+c.Name] = c
		}
	}
	return all
}

// double answers the exchanges of a case in order, and collects what is wrong with the requests.
type double struct {
	c     testCase
	mu    sync.Mutex
	next  int
	wrong []string
	sent  []http.Header
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header().Set("Connection", "close")
	if d.next == len(d.c.Exchanges) {
		d.wrong = append(d.wrong, "one request too many: "+r.Method+" "+r.RequestURI)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	x := d.c.Exchanges[d.next]
	d.next++
	d.sent = append(d.sent, r.Header)
	body, _ := io.ReadAll(r.Body)
	d.expect("method", r.Method, x.Request.Method)
	path, _, _ := strings.Cut(r.RequestURI, "?")
	d.expect("path", path, x.Request.Path)
	query := map[string]string{}
	for name, values := range r.URL.Query() {
		query[name] = strings.Join(values, " and ")
	}
	if len(query) > 0 || len(x.Request.Query) > 0 {
		d.expect("query", query, x.Request.Query)
	}
	switch {
	case x.Request.File != nil:
		r.Body = io.NopCloser(bytes.NewReader(body))
		part, header, err := r.FormFile("file")
		if err != nil {
			d.wrong = append(d.wrong, err.Error())
			break
		}
		text, _ := io.ReadAll(part)
		d.expect("file", file{header.Filename, string(text)}, *x.Request.File)
	case x.Request.Lines != nil:
		var lines []any
		for line := range bytes.Lines(body) {
			lines = append(lines, parsed(line))
		}
		d.expect("lines", lines, x.Request.Lines)
	default:
		d.expect("body", parsed(body), x.Request.Body)
	}
	for name, value := range x.Request.Headers {
		if got := r.Header.Get(name); got == "" || (value != "*" && got != value) {
			d.wrong = append(d.wrong, fmt.Sprintf("header %s is %q instead of %q", name, got, value))
		}
	}
	for _, name := range []string{"idempotency-key", "if-match", "slipbox-create"} {
		if _, listed := x.Request.Headers[name]; !listed && r.Header.Get(name) != "" {
			d.wrong = append(d.wrong, "header "+name+" was sent")
		}
	}
	if x.Answer.Lost {
		panic(http.ErrAbortHandler)
	}
	for name, value := range x.Answer.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(x.Answer.Status)
	switch {
	case x.Answer.Body != nil:
		_, _ = w.Write(x.Answer.Body)
	case x.Answer.Lines != nil:
		for _, line := range x.Answer.Lines {
			var compact bytes.Buffer
			_ = json.Compact(&compact, line)
			_, _ = fmt.Fprintln(w, compact.String())
		}
	default:
		_, _ = io.WriteString(w, x.Answer.Text)
	}
}

func (d *double) expect(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		d.wrong = append(d.wrong, fmt.Sprintf("%s is %v instead of %v", what, got, want))
	}
}

// check fails when requests were wrong or missing.
func (d *double) check(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, problem := range d.wrong {
		t.Error(problem)
	}
	if d.next < len(d.c.Exchanges) {
		t.Errorf("%d of %d requests were sent", d.next, len(d.c.Exchanges))
	}
	for _, name := range d.c.Same {
		for _, header := range d.sent {
			if header.Get(name) != d.sent[0].Get(name) {
				t.Errorf("header %s changed", name)
			}
		}
	}
}

func parsed(text []byte) any {
	var value any
	_ = json.Unmarshal(text, &value)
	return value
}

// TestFixtures runs the cases that all clients share.
func TestFixtures(t *testing.T) {
	t.Parallel()
	called := map[string]bool{}
	for name, c := range cases(t) {
		called[c.Operation] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &double{c: c}
			server := httptest.NewServer(d)
			defer server.Close()
			config := slipbox.Config{URL: server.URL, Key: "test-key", RetryWait: -1}
			if keys := c.Keys; keys != nil {
				config.KeyFunc = func(context.Context) (string, error) {
					key := keys[0]
					keys = keys[min(1, len(keys)-1):]
					return key, nil
				}
			}
			client, err := slipbox.New(config)
			if err != nil {
				t.Fatal(err)
			}
			returned, items, err := run(t.Context(), client, c)
			d.check(t)
			compare(t, c, returned, items, err)
		})
	}
	called["do"], called["eraseNote"], called["removeCollection"] = called["request"], called["deleteNote"], called["deleteCollection"]
	for method := range reflect.TypeFor[*slipbox.Client]().Methods() {
		if name := strings.ToLower(method.Name[:1]) + method.Name[1:]; !called[name] {
			t.Errorf("no case calls %s", method.Name)
		}
	}
}

// compare compares what a call did with what the case says.
func compare(t *testing.T, c testCase, returned any, items []any, err error) {
	t.Helper()
	switch problem, refused := errors.AsType[*slipbox.ProblemError](err); {
	case c.Error == nil:
		if err != nil {
			t.Error(err)
		}
	case c.Error["connection"] == true:
		if _, lost := errors.AsType[*slipbox.ConnectionError](err); !lost {
			t.Errorf("the error is %v", err)
		}
	case !refused:
		t.Errorf("the error is %v", err)
	default:
		contains(t, "error", asJSON(problem.Problem), c.Error)
		for _, f := range problem.Errors {
			if strings.Count(err.Error(), f.Field+": "+f.Reason) != 1 {
				t.Errorf("%s has to say once what is wrong with %s", err, f.Field)
			}
		}
	}
	switch {
	case c.Items != nil:
		if len(*c.Items) > 0 || len(items) > 0 {
			contains(t, "items", asJSON(items), any(*c.Items))
		}
	case c.Error == nil && c.Returns != nil:
		contains(t, "returned", asJSON(returned), *c.Returns)
	case c.Error == nil:
		contains(t, "returned", asJSON(returned), parsed(c.Exchanges[len(c.Exchanges)-1].Answer.Body))
	}
}

func asJSON(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return parsed(text)
}

// contains fails unless want is contained in got.
func contains(t *testing.T, at string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, value := range want {
			// What is left out has its zero value.
			if reflect.DeepEqual(value, []any{}) || reflect.DeepEqual(value, map[string]any{}) {
				if object[name] == nil {
					continue
				}
			}
			contains(t, at+"."+name, object[name], value)
		}
	case []any:
		list, _ := got.([]any)
		if len(list) != len(want) {
			t.Errorf("%s: %d items instead of %d", at, len(list), len(want))
			return
		}
		for i := range want {
			contains(t, fmt.Sprintf("%s[%d]", at, i), list[i], want[i])
		}
	case string:
		if moment, err := time.Parse(time.RFC3339, want); err == nil {
			text, _ := got.(string)
			if other, err := time.Parse(time.RFC3339, text); err != nil || !other.Equal(moment) {
				t.Errorf("%s is %v instead of %v", at, got, want)
			}
			return
		}
		if got != want {
			t.Errorf("%s is %v instead of %v", at, got, want)
		}
	default:
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v instead of %v", at, got, want)
		}
	}
}

// arguments are what a case calls its operation with.
type arguments struct {
	ref             slipbox.CollectionRef
	external        slipbox.External
	note, job, name string
	run, wait       string
	results         []slipbox.CallResult
	erase           bool
	file            file
	after           int64
	body            json.RawMessage
	notes           []slipbox.BulkNote
	options         []slipbox.Option
	request         slipbox.Request
}

func read(c testCase) (arguments, error) {
	var a arguments
	var failed error
	into := func(raw json.RawMessage, to any) { failed = errors.Join(failed, json.Unmarshal(raw, to)) }
	for name, raw := range c.Arguments {
		switch name {
		case "body":
			a.body = raw
		case "collection":
			if json.Unmarshal(raw, &a.name) == nil {
				a.ref = slipbox.Named(a.name)
				if c.Operation == "listJobs" {
					a.options = append(a.options, slipbox.Query(name, a.name))
				}
				continue
			}
			var ids slipbox.External
			into(raw, &ids)
			a.ref = ids
		case "external":
			into(raw, &a.external)
		case "note":
			into(raw, &a.note)
		case "job":
			into(raw, &a.job)
		case "run":
			into(raw, &a.run)
		case "results":
			into(raw, &a.results)
		case "notes":
			into(raw, &a.notes)
		case "method":
			into(raw, &a.request.Method)
		case "path":
			into(raw, &a.request.Path)
		case "create":
			a.options = append(a.options, slipbox.Create(text(raw)))
		case "idempotency_key":
			a.options = append(a.options, slipbox.IdempotencyKey(text(raw)))
			a.request.Header = http.Header{"Idempotency-Key": {text(raw)}}
		case "if_match":
			a.options = append(a.options, slipbox.IfMatch(text(raw)))
		case "after":
			into(raw, &a.after)
		case "erase":
			into(raw, &a.erase)
		case "file":
			into(raw, &a.file)
		case "wait":
			a.wait = text(raw)
			a.options = append(a.options, slipbox.Query(name, a.wait))
		case "query":
			var query map[string]json.RawMessage
			into(raw, &query)
			a.request.Query = url.Values{}
			for name, value := range query {
				a.request.Query.Set(name, text(value))
			}
		default:
			a.options = append(a.options, slipbox.Query(name, text(raw)))
		}
	}
	return a, failed
}

// text returns a string as it is, and any other value as JSON.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, raw)
	return compact.String()
}

type operation func(ctx context.Context, c *slipbox.Client, a arguments) (any, []any, error)

// with is an operation that takes a body of type T.
func with[T, R any](send func(ctx context.Context, c *slipbox.Client, a arguments, in T) (R, error)) operation {
	return func(ctx context.Context, c *slipbox.Client, a arguments) (any, []any, error) {
		var in T
		if a.body != nil {
			if err := json.Unmarshal(a.body, &in); err != nil {
				return nil, nil, err
			}
		}
		answer, err := send(ctx, c, a, in)
		return answer, nil, err
	}
}

// all is an operation that yields items.
func all[T any](send func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[T, error]) operation {
	return func(ctx context.Context, c *slipbox.Client, a arguments) (any, []any, error) {
		var items []any
		for item, err := range send(ctx, c, a) {
			if err != nil {
				return nil, items, err
			}
			items = append(items, item)
		}
		return nil, items, nil
	}
}

type none = struct{}

var operations = map[string]operation{
	"createCollection": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.CollectionInput) (slipbox.Collection, error) {
		return c.CreateCollection(ctx, in, a.options...)
	}),
	"listCollections": all(func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[slipbox.Collection, error] {
		return c.ListCollections(ctx, a.options...)
	}),
	"getCollection": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (slipbox.Collection, error) {
		return c.GetCollection(ctx, a.ref, a.options...)
	}),
	"patchCollection": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.CollectionPatch) (slipbox.Collection, error) {
		return c.PatchCollection(ctx, a.ref, in, a.options...)
	}),
	"deleteCollection": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (any, error) {
		if a.wait != "" {
			return c.RemoveCollection(ctx, slipbox.Named(a.name), a.options...)
		}
		return nil, c.DeleteCollection(ctx, slipbox.Named(a.name), a.options...)
	}),
	"forgetExternal": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (slipbox.ForgetReport, error) {
		return c.ForgetExternal(ctx, a.external, a.options...)
	}),
	"cloneCollection": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.CloneRequest) (slipbox.Collection, error) {
		return c.CloneCollection(ctx, a.ref, in, a.options...)
	}),
	"diffCollection": all(func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[slipbox.Diff, error] {
		return c.DiffCollection(ctx, a.ref, a.options...)
	}),
	"mergeCollection": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.MergeRequest) (slipbox.MergeResult, error) {
		return c.MergeCollection(ctx, a.ref, in, a.options...)
	}),
	"rollbackCollection": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.RollbackRequest) (slipbox.RollbackResult, error) {
		return c.RollbackCollection(ctx, a.ref, in, a.options...)
	}),
	"followChanges": all(func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[slipbox.Change, error] {
		return c.FollowChanges(ctx, a.ref, a.after)
	}),
	"postEvent": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.EventInput) (slipbox.Run, error) {
		return c.PostEvent(ctx, a.ref, in, a.options...)
	}),
	"postResults": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (slipbox.Run, error) {
		return c.PostResults(ctx, a.ref, a.run, a.results, a.options...)
	}),
	"getRun": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (slipbox.Run, error) {
		return c.GetRun(ctx, a.ref, a.run, a.options...)
	}),
	"createNote": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.NoteInput) (slipbox.NoteCreated, error) {
		return c.CreateNote(ctx, a.ref, in, a.options...)
	}),
	"bulkNotes": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) ([]slipbox.BulkResult, error) {
		return c.BulkNotes(ctx, a.ref, a.notes, a.options...)
	}),
	"listNotes": all(func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[slipbox.Note, error] {
		return c.ListNotes(ctx, a.ref, a.options...)
	}),
	"getNote": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (slipbox.Note, error) {
		return c.GetNote(ctx, a.ref, a.note, a.options...)
	}),
	"patchNote": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.NotePatch) (slipbox.Note, error) {
		return c.PatchNote(ctx, a.ref, a.note, in, a.options...)
	}),
	"deleteNote": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (any, error) {
		if a.erase {
			return c.EraseNote(ctx, a.ref, a.note, a.options...)
		}
		return nil, c.DeleteNote(ctx, a.ref, a.note, a.options...)
	}),
	"getNoteHistory": all(func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[slipbox.HistoryEntry, error] {
		return c.GetNoteHistory(ctx, a.ref, a.note, a.options...)
	}),
	"addMessages": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.MessagesInput) (slipbox.MessagesAccepted, error) {
		return c.AddMessages(ctx, a.ref, in, a.options...)
	}),
	"listMessages": all(func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[slipbox.StoredMessage, error] {
		return c.ListMessages(ctx, a.ref, a.options...)
	}),
	"addFile": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (slipbox.FileAccepted, error) {
		return c.AddFile(ctx, a.ref, a.file.Name, strings.NewReader(a.file.Text), a.options...)
	}),
	"search": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.SearchRequest) (slipbox.SearchResult, error) {
		return c.Search(ctx, a.ref, in, a.options...)
	}),
	"searchBatch": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.SearchRequest) ([]slipbox.SearchResult, error) {
		return c.SearchBatch(ctx, a.ref, in, a.options...)
	}),
	"searchAll": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.SearchRequest) (slipbox.SearchResult, error) {
		return c.SearchAll(ctx, in, a.options...)
	}),
	"buildContext": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.ContextRequest) (slipbox.ContextAnswer, error) {
		return c.BuildContext(ctx, a.ref, in, a.options...)
	}),
	"buildContextAll": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.ContextRequest) (slipbox.ContextAnswer, error) {
		return c.BuildContextAll(ctx, in, a.options...)
	}),
	"listFacts": all(func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[slipbox.Fact, error] {
		return c.ListFacts(ctx, a.ref, a.options...)
	}),
	"chat": with(func(ctx context.Context, c *slipbox.Client, a arguments, in slipbox.ChatRequest) (slipbox.ChatAnswer, error) {
		return c.Chat(ctx, a.ref, in, a.options...)
	}),
	"streamChat": all(func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			var in slipbox.ChatRequest
			if err := json.Unmarshal(a.body, &in); err != nil {
				yield(nil, err)
				return
			}
			for event, err := range c.StreamChat(ctx, a.ref, in, a.options...) {
				var item any = event.Delta
				if event.Answer != nil {
					item = event.Answer
				}
				if !yield(item, err) {
					return
				}
			}
		}
	}),
	"listJobs": all(func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[slipbox.Job, error] {
		return c.ListJobs(ctx, a.options...)
	}),
	"getJob": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (slipbox.Job, error) {
		return c.GetJob(ctx, a.job)
	}),
	"retryJob": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (slipbox.Job, error) {
		return c.RetryJob(ctx, a.job)
	}),
	"cancelJob": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (slipbox.Job, error) {
		return c.CancelJob(ctx, a.job)
	}),
	"streamJob": all(func(ctx context.Context, c *slipbox.Client, a arguments) iter.Seq2[slipbox.Job, error] {
		return c.StreamJob(ctx, a.job)
	}),
	"waitForJob": with(func(ctx context.Context, c *slipbox.Client, a arguments, _ none) (slipbox.Job, error) {
		return c.WaitForJob(ctx, a.job)
	}),
	"request": func(ctx context.Context, c *slipbox.Client, a arguments) (any, []any, error) {
		if a.body != nil {
			a.request.Body = a.body
		}
		resp, err := c.Do(ctx, a.request)
		if err != nil {
			return nil, nil, err
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		return parsed(text), nil, err
	},
}

// run calls the operation of a case.
func run(ctx context.Context, client *slipbox.Client, c testCase) (any, []any, error) {
	send, ok := operations[c.Operation]
	if !ok {
		return nil, nil, fmt.Errorf("no operation %s", c.Operation)
	}
	a, err := read(c)
	if err != nil {
		return nil, nil, err
	}
	return send(ctx, client, a)
}
