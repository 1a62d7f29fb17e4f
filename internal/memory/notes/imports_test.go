package notes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/transfer"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// importing is a fixture whose imports the test runs itself.
type importing struct {
	*fixture

	im     *notes.Imports
	c      memory.Collection
	result json.RawMessage // of the last run
}

func newImporting(t *testing.T) *importing {
	t.Helper()
	d := open(t)
	return &importing{fixture: d, im: notes.NewImports(d.store, d.notes), c: d.collection("main")}
}

func (p *importing) start(body string) memory.Job {
	p.t.Helper()
	job := must.Get(p.im.Start(p.t.Context(), p.all, p.c.ID.String(), strings.NewReader(body)))(p.t)
	return job
}

func (p *importing) run(ctx context.Context, job memory.Job, told func(memory.Progress)) (err error) {
	p.result, err = p.im.Run(ctx, grant.Job(job.Tenant, job.ID), job, func(_ context.Context, at memory.Progress) error {
		if told != nil {
			told(at)
		}
		return ctx.Err()
	})
	return err
}

// results returns the lines that have a result, in the order of the results.
func (p *importing) results(job memory.Job) (lines []int, warnings map[int][]string, refused map[int]error) {
	p.t.Helper()
	warnings, refused = map[int][]string{}, map[int]error{}
	must.Do(p.t, p.im.Results(p.t.Context(), p.all, job.ID, func(r notes.ImportResult) error {
		lines = append(lines, r.Line)
		warnings[r.Line] = append(warnings[r.Line], r.Warnings...)
		if r.Err != nil {
			refused[r.Line] = r.Err
		}
		return nil
	}))
	return lines, warnings, refused
}

func (p *importing) parts(job memory.Job, spool memory.SpoolName) (n int) {
	p.t.Helper()
	must.Do(p.t, p.store.Parts(p.t.Context(), p.all, job.ID, spool, func([]byte) error { n++; return nil }))
	return n
}

func (p *importing) stored() int64 {
	p.t.Helper()
	v := must.Get(p.store.OpenView(p.t.Context(), p.all, p.c.ID.String(), memory.At{}))(p.t)
	c := must.Get(p.store.Counts(p.t.Context(), p.all, v))(p.t)
	return c.Notes
}

// body makes n lines, numbered from 1, each with some text behind it.
func body(n int, text string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":%q,"content":"%d %s"}`+"\n", uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i)), i+1, text)
	}
	return b.String()
}

// An import whose process ended between its last line and the end of its job
// is done when it is run again, with one note a line; without body and results
// it says that the body is gone.
func TestImportRunTwice(t *testing.T) {
	t.Parallel()
	p := newImporting(t)
	job := p.start(body(2, ""))
	for range 2 {
		must.Do(t, p.run(t.Context(), job, nil))
		if lines, _, _ := p.results(job); fmt.Sprint(lines) != "[1 2]" || string(p.result) != `{"created":2,"existing":0,"failed":0}` {
			t.Errorf("results %v, %s", lines, p.result)
		}
	}
	if n := p.stored(); n != 2 {
		t.Errorf("%d notes", n)
	}
	if n := p.parts(job, memory.SpoolBody); n != 0 {
		t.Errorf("%d parts of the body stay", n)
	}
	must.Get(p.store.DropParts(t.Context(), p.all, job.ID, memory.SpoolResults, 0))(t)
	if err := p.run(t.Context(), job, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("without a body: %v", err)
	}
}

// A body of several parts, whose lines go over their borders, comes in whole;
// a run that is interrupted leaves results of what it did, and the next one
// replaces them. An empty line has no result, and the last needs no end.
func TestImportInParts(t *testing.T) {
	t.Parallel()
	p := newImporting(t)
	const n = 450
	text := strings.Repeat("x", 6<<10)
	job := p.start("\n" + strings.TrimSuffix(body(n, text), "\n"))
	if got := p.parts(job, memory.SpoolBody); got < 2 {
		t.Fatalf("the body has %d parts", got)
	}
	if job.Progress.Total != n {
		t.Errorf("%d lines are announced", job.Progress.Total)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := p.run(ctx, job, func(at memory.Progress) {
		if at.Done >= 200 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	if lines, _, _ := p.results(job); len(lines) != 200 {
		t.Errorf("%d results after the interruption", len(lines))
	}
	var last memory.Progress
	must.Do(t, p.run(t.Context(), job, func(at memory.Progress) { last = at }))
	lines, _, refused := p.results(job)
	if len(lines) != n || lines[0] != 2 || lines[n-1] != n+1 || len(refused) > 0 || last.Done != n {
		t.Errorf("%d results from %d to %d, %d refused, %d done", len(lines), lines[0], lines[len(lines)-1], len(refused), last.Done)
	}
	if got := p.stored(); got != n {
		t.Errorf("%d notes", got)
	}
}

// A run whose body another one drops, because it came to the end first, is
// done too, and leaves that one's results alone; a body that lost its end
// without is refused, and its last line is not taken for a whole one.
func TestImportBodyGoesMeanwhile(t *testing.T) {
	t.Parallel()
	p := newImporting(t)
	text := strings.Repeat("x", 6<<10)
	job := p.start(body(450, text))
	first := true
	must.Do(t, p.run(t.Context(), job, func(memory.Progress) {
		if first {
			first = false
			if err := p.run(t.Context(), job, nil); err != nil {
				t.Error(err)
			}
		}
	}))
	if lines, _, _ := p.results(job); len(lines) != 450 {
		t.Errorf("%d results", len(lines))
	}
	cut := p.start(body(450, text))
	must.Get(p.store.DropParts(t.Context(), p.all, cut.ID, memory.SpoolBody, 1))(t)
	if err := p.run(t.Context(), cut, nil); !fault.Is(err, fault.Invalid) {
		t.Errorf("a body cut short: %v", err)
	}
	if _, _, refused := p.results(cut); len(refused) > 0 {
		t.Errorf("half a line was imported: %v", refused)
	}
}

// What the end says about earlier lines comes after the last result.
func TestImportLateWarnings(t *testing.T) {
	t.Parallel()
	p := newImporting(t)
	job := p.start(fmt.Sprintf(`{"id":%q,"content":"one","links":[{"target":%q}]}`+"\n"+`{"id":%q,"content":"two"}`, uuid.New(), uuid.New(), uuid.New()))
	must.Do(t, p.run(t.Context(), job, nil))
	lines, warnings, refused := p.results(job)
	if fmt.Sprint(lines) != "[1 2 1]" || len(warnings[1]) == 0 || len(warnings[2]) > 0 || len(refused) > 0 {
		t.Errorf("results %v, warnings %v, refused %v", lines, warnings, refused)
	}
}

// A line that is too long ends the import; what came before stays imported.
func TestImportLongLine(t *testing.T) {
	t.Parallel()
	p := newImporting(t)
	job := p.start(body(200, "") + `{"content":"` + strings.Repeat("x", 3<<20) + `"}`)
	if err := p.run(t.Context(), job, nil); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "line 201") {
		t.Errorf("a line of 3 MiB: %v", err)
	}
	if lines, _, _ := p.results(job); len(lines) != 200 {
		t.Errorf("%d results", len(lines))
	}
}

// C262: of an import into a collection that refuses secrets nothing stays that has one: no body, whose lines came as they were, no
// note, and no result.
func TestRefusedImportLeavesNothing_C262(t *testing.T) {
	t.Parallel()
	p := newImporting(t)
	patch := notes.CollectionPatch{PolicyConfig: nullable.NewNullableWithValue(map[string]any{memory.SettingSecrets: memory.SecretsRefuse})}
	must.Get(p.collections.Patch(t.Context(), p.all, p.c.ID.String(), patch))(t)
	job := p.start(body(1, "My password is hunter2x9."))
	if p.parts(job, memory.SpoolBody) == 0 {
		t.Fatal("the import waits without a body")
	}
	must.Do(t, p.run(t.Context(), job, nil))
	if _, _, refused := p.results(job); refused[1] == nil || strings.Contains(refused[1].Error(), "hunter2x9") || p.stored() != 0 {
		t.Errorf("refused with %v; %d notes", refused[1], p.stored())
	}
	if n := p.parts(job, memory.SpoolBody); n != 0 {
		t.Errorf("%d parts of the body stay", n)
	}
	must.Do(t, p.store.Parts(t.Context(), p.all, job.ID, memory.SpoolResults, func(part []byte) error {
		if strings.Contains(string(part), "hunter2x9") {
			t.Errorf("a result is %s", part)
		}
		return nil
	}))
}

// The newest conversations of a history are there, with what a search needs, while older ones still load.
func TestImportNewestFirst(t *testing.T) {
	t.Parallel()
	p := newImporting(t)
	at := filepath.Join(t.TempDir(), "conversations.json")
	var file strings.Builder
	const conversations = 300
	for i := range conversations {
		fmt.Fprintf(&file, `,{"title":"T","create_time":%d,"id":"c-%d","current_node":"n","mapping":{"n":{"message":{"id":"m%d","author":{"role":"user"},"create_time":%d,"content":{"content_type":"text","parts":["Conversation %d."]}},"parent":null}}}`,
			1_600_000_000+i, i, i, 1_600_000_000+i, i)
	}
	must.Do(t, os.WriteFile(at, []byte("["+file.String()[1:]+"]"), 0o600))
	s := must.Get(transfer.Open(at))(t)
	defer s.Close()
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	must.Get(transfer.Read(t.Context(), s, transfer.Options{Newest: true}, func(l transfer.Line) error { return enc.Encode(l) }))(t)
	job, looked := p.start(lines.String()), false
	must.Do(t, p.run(t.Context(), job, func(now memory.Progress) {
		if looked || now.Done == 0 || now.Done == now.Total {
			return
		}
		looked = true
		v := must.Get(p.store.OpenView(t.Context(), p.all, p.c.ID.String(), memory.At{}))(t)
		there := must.Get(p.store.ListNotes(t.Context(), p.all, v, memory.NoteQuery{Limit: conversations, ReadOptions: memory.ReadOptions{Vector: true}}))(t)
		said := map[string]bool{}
		for i := range there {
			said[there[i].Content] = len(there[i].Vector) > 0
		}
		if !said[fmt.Sprintf("Conversation %d.", conversations-1)] || said["Conversation 0."] {
			t.Errorf("after %d of %d: %v", now.Done, now.Total, said)
		}
	}))
	if n := p.stored(); !looked || n != conversations {
		t.Errorf("%d notes, looked %v", n, looked)
	}
}

// Near the limit of a tenant, what fits is stored, and the result says how many lines were not, and why. A bulk does the same.
func TestImportNearTheLimit(t *testing.T) {
	t.Parallel()
	lines := func(format string) string {
		var b strings.Builder
		for i := range 8 {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	for name, body := range map[string]string{
		"notes as they were": body(8, "x"), "new notes": lines(`{"content":"note %d"}`), "messages": lines(`{"role":"user","content":"message %d"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openTalk(t)
			p := &importing{fixture: d.fixture, im: notes.NewImports(d.store, d.notes), c: d.create("main", "none", "")}
			*d.quota = room{notes: 5, spent: true}
			job := p.start(body)
			must.Do(t, p.run(t.Context(), job, nil))
			const want = `{"created":5,"existing":0,"failed":3,"reasons":[{"code":"quota_exceeded","lines":3,"first_line":6,"detail":"no room"}]}`
			if n := p.stored(); n != 5 || string(p.result) != want {
				t.Errorf("%d notes, %s", n, p.result)
			}
			if _, _, refused := p.results(job); len(refused) != 3 || !fault.Is(refused[6], fault.QuotaExceeded) {
				t.Errorf("refused %v", refused)
			}
		})
	}
	d := openTalk(t)
	c := d.create("main", "none", "")
	*d.quota = room{notes: 5, spent: true}
	bulk := make([]notes.BulkLine, 200)
	for i := range bulk {
		bulk[i].Note.Content = fmt.Sprint("note ", i)
	}
	out := must.Get(d.notes.AddMany(t.Context(), d.all, c.ID.String(), bulk))(t)
	for i, r := range out {
		if r.Created != (i < 5) || fault.Is(r.Err, fault.QuotaExceeded) != (i >= 5) {
			t.Errorf("line %d: %+v", i+1, r)
		}
	}
	if asked := len(d.quota.asked); asked > 20 {
		t.Errorf("room was asked for %d times", asked)
	}
}
