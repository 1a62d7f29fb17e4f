package clone_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// runMerge runs a job, and returns its end and the progress that it has reported.
func (l *lab) runMerge(job memory.Job) (memory.JobEnd, string) {
	l.t.Helper()
	var reported []string
	end := must.Get(l.clones.RunMerge(l.t.Context(), l.all, job, func(_ context.Context, p memory.Progress) error {
		reported = append(reported, fmt.Sprintf("%d/%d", p.Done, p.Total))
		return nil
	}))(l.t)
	return end, strings.Join(reported, " ")
}

// TestLargeMerge: a merge that touches much is a job, lands as one changeset, and once.
func TestLargeMerge(t *testing.T) {
	t.Parallel()
	l, one, _, _ := family(t)
	f := memory.Collection{ID: l.id("f")}
	for i := range 40 {
		l.add(f, fmt.Sprint("own ", i))
	}
	l.patch("f", one, notes.NotePatch{Content: new("theirs")})
	before := l.view("base").At
	m := l.merge("base", "f", clone.MergeInput{})
	if m.Job == nil || m.Revision != before || m.Notes != 0 || l.view("base").At != before {
		t.Fatalf("the merge is not a job: %+v", m)
	}
	l.patch("f", one, notes.NotePatch{Content: new("later, not part of the job")})
	end, reported := l.runMerge(*m.Job)
	l.want("progress", reported, "0/41 41/41")
	var got struct {
		Revision memory.Revision `json:"revision"`
		Merged   struct {
			Notes int `json:"notes"`
		} `json:"merged"`
	}
	must.Do(t, json.Unmarshal(end.Result, &got))
	if end.State != memory.JobDone || got.Merged.Notes != 41 || got.Revision != before+1 || l.view("base").At != before+1 {
		t.Errorf("the job ended as %+v: %s", end, end.Result)
	}
	l.want("content", l.note("base", one).Content, "theirs")
	l.runMerge(*m.Job) // its process died before it could say so
	if l.view("base").At != before+1 {
		t.Error("the job has merged twice")
	}

	back := must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: before}))(t)
	if back.Job == nil {
		t.Fatalf("the rollback is not a job: %+v", back)
	}
	run := func() string {
		end := must.Get(l.clones.RunRollback(t.Context(), l.all, *back.Job, noProgress))(t)
		return string(end.Result)
	}
	l.want("rollback", run(), fmt.Sprintf(`{"revision":%d,"changed":41}`, before+2))
	kept := l.add(memory.Collection{ID: l.id("base")}, "written since")
	l.want("rollback again", run(), fmt.Sprintf(`{"revision":%d,"changed":0}`, before+2))
	if l.note("base", kept) == nil || l.note("base", one).Content != "one" {
		t.Error("a job that ran again took back what was written since")
	}
}

// TestMergeJobFails: conflicts, a fork that is gone and a base that is gone end a job, and nothing is written.
func TestMergeJobFails(t *testing.T) {
	t.Parallel()
	l, one, _, _ := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("theirs")})
	l.patch("base", one, notes.NotePatch{Content: new("ours")})
	at := l.view("base").At
	job := l.merge("base", "f", clone.MergeInput{Background: true}).Job
	end, _ := l.runMerge(*job)
	if end.State != memory.JobFailed || !strings.Contains(string(end.Result), `"field":"content"`) || end.Error != clone.ErrConflicts.Message || l.view("base").At != at {
		t.Errorf("conflicts: %+v: %s", end, end.Result)
	}

	job = l.merge("base", "f", clone.MergeInput{Background: true, Strategy: merge.Theirs}).Job
	must.Get(l.store.DeleteCollection(t.Context(), l.all, l.view("f").Collection.ID, true, memory.AuditEntry{}))(t)
	if end, _ = l.runMerge(*job); end.State != memory.JobFailed || l.view("base").At != at {
		t.Errorf("a fork that is gone: %+v", end)
	}

	job = l.merge("base", "g", clone.MergeInput{Background: true}).Job
	must.Get(l.store.DeleteCollection(t.Context(), l.all, l.view("base").Collection.ID, true, memory.AuditEntry{}))(t)
	if end, _ = l.runMerge(*job); end.State != memory.JobFailed {
		t.Errorf("a base that is gone: %+v", end)
	}
	if l.contents("g")[0] != "one" {
		t.Error("the fork lost what it showed")
	}
}

// TestMergeJobNeedsRights: a job writes what its caller may write.
func TestMergeJobNeedsRights(t *testing.T) {
	t.Parallel()
	l, _, _, _ := family(t)
	_, err := l.clones.Merge(t.Context(), l.scope(uuid.Nil, tenant.NotesWrite), "base", clone.MergeInput{From: "f", Background: true})
	l.is(err, fault.Forbidden)
	_, err = l.clones.Rollback(t.Context(), l.scope(uuid.Nil, tenant.NotesWrite), "base", clone.RollbackInput{To: 1, Background: true})
	l.is(err, fault.Forbidden)
}
