package clone_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

func (l *lab) patch(ref string, id uuid.UUID, p notes.NotePatch) {
	l.t.Helper()
	must.Get(l.notes.Patch(l.t.Context(), l.all, ref, id, p, memory.Request{}))(l.t)
}

func (l *lab) delete(ref string, id uuid.UUID) {
	l.t.Helper()
	must.Get(l.notes.Delete(l.t.Context(), l.all, ref, id, memory.Request{}))(l.t)
}

func (l *lab) merge(into, from string, in clone.MergeInput) clone.Merged {
	l.t.Helper()
	in.From = from
	m := must.Get(l.clones.Merge(l.t.Context(), l.all, into, in))(l.t)
	return m
}

// diff returns all pages of a diff as lines.
func (l *lab) diff(ref string, in clone.DiffInput) string {
	l.t.Helper()
	var out []string
	for in.Limit = 2; ; {
		d := must.Get(l.clones.Diff(l.t.Context(), l.all, ref, in))(l.t)
		for _, n := range d.Notes {
			show := n.After
			if show == nil {
				show = n.Before
			}
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", n.Change, show.Content, strings.Join(n.Fields, ","))))
		}
		for _, x := range d.Links {
			out = append(out, fmt.Sprintf("%s link %s", x.Change, x.Relation))
		}
		if in.After = d.Next; d.Next == uuid.Nil {
			slices.Sort(out)
			return strings.Join(out, "; ")
		}
	}
}

func (l *lab) note(ref string, id uuid.UUID) *memory.Note {
	l.t.Helper()
	list := must.Get(l.store.Notes(l.t.Context(), l.all, l.view(ref), []uuid.UUID{id}, memory.ReadOptions{Vector: true}))(l.t)
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

func (l *lab) want(what, got, want string) {
	l.t.Helper()
	if got != want {
		l.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// family is a base with two forks.
func family(t *testing.T) (l *lab, one, two, three uuid.UUID) {
	t.Helper()
	l = open(t)
	base := l.collection(notes.CollectionInput{Name: "base"})
	one, two, three = l.add(base, "one"), l.add(base, "two"), l.add(base, "three")
	l.clone(l.all, "base", clone.Input{Name: "f"})
	l.clone(l.all, "base", clone.Input{Name: "g"})
	return l, one, two, three
}

func TestDiff(t *testing.T) {
	t.Parallel()
	l, one, two, three := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("ONE"), Tags: nullable.NewNullableWithValue([]string{"x"})})
	l.delete("f", two)
	must.Get(l.notes.PutLinks(t.Context(), l.all, "f", one, []notes.LinkInput{{Target: three}}, memory.Request{}))(t)
	l.patch("g", three, notes.NotePatch{Category: nullable.NewNullableWithValue("c")})
	all := "added link related; changed ONE content,tags; removed two"
	l.want("of a fork", l.diff("f", clone.DiffInput{}), all)
	l.want("of its base", l.diff("base", clone.DiffInput{Against: "f"}), "added two; changed one content,tags; removed link related")
	l.want("of two forks", l.diff("f", clone.DiffInput{Against: "g"}), "added link related; changed ONE content,tags; changed three category; removed two")
	l.want("since a revision", l.diff("f", clone.DiffInput{AgainstAt: new(memory.Revision(4))}), "added link related; removed two")
	l.want("of a kind", l.diff("f", clone.DiffInput{Kinds: []memory.Kind{memory.KindFact}}), "")
	l.collection(notes.CollectionInput{Name: "other"})
	for name, in := range map[string]clone.DiffInput{"other": {Against: "f"}, "f": {Against: "f"}, "base": {}} {
		_, err := l.clones.Diff(t.Context(), l.all, name, in)
		l.is(err, fault.Invalid)
	}
	_, err := l.clones.Diff(t.Context(), l.all, "f", clone.DiffInput{Against: "none"})
	l.is(err, fault.NotFound)
	_, err = l.clones.Diff(t.Context(), l.all, "f", clone.DiffInput{At: new(memory.Revision(99))})
	l.is(err, fault.Invalid)
}

func TestMerge(t *testing.T) {
	t.Parallel()
	l, one, two, three := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("one\nmore")})
	l.patch("base", one, notes.NotePatch{Tags: nullable.NewNullableWithValue([]string{"base"})})
	l.delete("f", two)
	made := l.add(memory.Collection{ID: l.id("f")}, "new")
	must.Get(l.notes.PutLinks(t.Context(), l.all, "f", made, []notes.LinkInput{{Target: three}}, memory.Request{}))(t)

	before := l.head("base")
	dry := l.merge("base", "f", clone.MergeInput{DryRun: true})
	if dry.Notes != 3 || dry.Links != 1 || len(dry.Conflicts) != 0 || l.head("base") != before {
		t.Errorf("dry run: %+v", dry)
	}
	m := l.merge("base", "f", clone.MergeInput{})
	if m.Notes != 3 || m.Links != 1 || m.Revision != before+1 {
		t.Errorf("merge: %+v", m)
	}
	n := l.note("base", one)
	l.want("both sides", n.Content+" "+strings.Join(n.Tags, ","), "one\nmore base")
	if l.note("base", made).Vector == nil || l.note("base", two) != nil {
		t.Errorf("after the merge: %v", l.contents("base"))
	}
	// Neither side has embedded what both made of it.
	jobs := must.Get(l.store.ListJobs(t.Context(), l.all, memory.JobQuery{Collection: l.id("base")}))(t)
	if n.Vector != nil || len(jobs) != 1 || jobs[0].Note != one || string(jobs[0].Payload) != string(memory.EmbedOnly()) {
		t.Errorf("jobs: %+v", jobs)
	}
	l.want("what differs then", l.diff("f", clone.DiffInput{}), "changed one\nmore tags")
	if again := l.merge("base", "f", clone.MergeInput{}); again.Revision != m.Revision || again.Notes+again.Links != 0 {
		t.Errorf("merging again: %+v", again)
	}

	// From the last merge on: the base's change since is kept, and the fork's next one comes.
	l.patch("base", one, notes.NotePatch{Content: new("one\nmore\nbase\n")})
	l.patch("f", one, notes.NotePatch{Content: new("ONE\nmore")})
	l.merge("base", "f", clone.MergeInput{})
	l.want("the second merge", l.note("base", one).Content, "ONE\nmore\nbase\n")
	// The other way round, and back, nothing comes twice.
	l.merge("f", "base", clone.MergeInput{})
	l.want("both are equal", l.diff("f", clone.DiffInput{}), "")
	if m := l.merge("base", "f", clone.MergeInput{}); m.Notes != 0 {
		t.Errorf("after both ways: %+v", m)
	}
}

func (l *lab) id(ref string) uuid.UUID { return l.view(ref).Collection.ID }

func (l *lab) head(ref string) memory.Revision { return l.view(ref).Collection.Head }

// put writes a note as a policy does.
func (l *lab) put(ref string, n memory.Note) (id uuid.UUID) {
	l.t.Helper()
	n.State = memory.StateEvolved
	must.Get(l.store.Write(l.t.Context(), l.all, l.id(ref), memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		made, err := tx.Put(ctx, n)
		id = made.ID
		return err
	}))(l.t)
	return id
}

func TestMergeConflicts(t *testing.T) {
	t.Parallel()
	for _, strategy := range []merge.Strategy{merge.Fail, merge.Ours, merge.Theirs} {
		l, one, two, three := family(t)
		l.patch("f", one, notes.NotePatch{Content: new("theirs")})
		l.patch("base", one, notes.NotePatch{Content: new("ours")})
		l.delete("f", two)
		l.patch("base", two, notes.NotePatch{Category: nullable.NewNullableWithValue("kept")})
		l.delete("base", three)
		l.patch("f", three, notes.NotePatch{Category: nullable.NewNullableWithValue("kept")})
		before := l.head("base")
		m, err := l.clones.Merge(t.Context(), l.all, "base", clone.MergeInput{From: "f", Strategy: strategy})
		var fields []string
		for _, c := range m.Conflicts {
			fields = append(fields, c.Field)
		}
		l.want("conflicts of "+string(strategy), fmt.Sprint(fields), "[content deleted deleted]")
		state := l.note("base", one).Content + fmt.Sprint(l.note("base", two) != nil, l.note("base", three) != nil)
		switch strategy {
		case merge.Fail:
			if !errors.Is(err, clone.ErrConflicts) || l.head("base") != before {
				t.Errorf("fail: %v", err)
			}
		case merge.Ours:
			l.want("ours", state, "ourstrue false")
		case merge.Theirs:
			l.want("theirs", state, "theirsfalse true")
			if m := l.merge("base", "f", clone.MergeInput{}); m.Notes != 0 || len(m.Conflicts) > 0 {
				t.Errorf("again: %+v", m)
			}
		}
	}
}

// TestMergeSome: chosen notes are merged with their links, and the others still later.
func TestMergeSome(t *testing.T) {
	t.Parallel()
	l, one, two, three := family(t)
	for _, from := range []uuid.UUID{one, two} {
		must.Get(l.notes.PutLinks(t.Context(), l.all, "f", from, []notes.LinkInput{{Target: three}}, memory.Request{}))(t)
	}
	l.patch("f", one, notes.NotePatch{Content: new("one\nf")})
	l.patch("f", two, notes.NotePatch{Content: new("two\nf")})
	if m := l.merge("base", "f", clone.MergeInput{Notes: []uuid.UUID{one}}); m.Notes != 1 || m.Links != 1 {
		t.Errorf("one note and its link: %+v", m)
	}
	l.want("only one", strings.Join(l.contents("base"), "|"), "one\nf|two|three")
	l.patch("base", one, notes.NotePatch{Content: new("one\nf\nbase\n")})
	l.patch("f", one, notes.NotePatch{Content: new("ONE\nf")})
	if m := l.merge("base", "f", clone.MergeInput{}); m.Notes != 2 || m.Links != 1 {
		t.Errorf("the other note and its link: %+v", m)
	}
	l.want("the rest", strings.Join(l.contents("base"), "|"), "ONE\nf\nbase\n|two\nf|three")
}

func TestMergeRefused(t *testing.T) {
	t.Parallel()
	l, one, _, _ := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("f")})
	l.collection(notes.CollectionInput{Name: "other"})
	l.collection(notes.CollectionInput{Name: "amem", Policy: "amem"})
	for from, code := range map[string]fault.Code{"base": fault.Invalid, "other": fault.Invalid, "amem": fault.Invalid, "none": fault.NotFound} {
		_, err := l.clones.Merge(t.Context(), l.all, "base", clone.MergeInput{From: from})
		l.is(err, code)
	}
	reader := l.scope(uuid.Nil, tenant.NotesRead)
	_, err := l.clones.Merge(t.Context(), reader, "base", clone.MergeInput{From: "f"})
	l.is(err, fault.Forbidden)
	writer := l.scope(uuid.Nil, tenant.NotesRead, tenant.NotesWrite)
	_, err = l.clones.Merge(t.Context(), writer, "base", clone.MergeInput{From: "f"})
	l.is(err, fault.Forbidden)
	_, err = l.clones.Merge(t.Context(), l.all, "base", clone.MergeInput{From: "f", Strategy: "both"})
	l.is(err, fault.Invalid)
	fork := l.clone(l.all, "base", clone.Input{Name: "short", TTLSeconds: new(int64(60))})
	l.now = l.now.Add(time.Hour)
	for _, pair := range [][2]string{{fork.Collection.ID.String(), "base"}, {"base", fork.Collection.ID.String()}} {
		_, err = l.clones.Merge(t.Context(), l.all, pair[0], clone.MergeInput{From: pair[1]})
		l.is(err, fault.NotFound)
	}
}

// TestMergeKeys: a note that both sides learned under one key is one note; what else both say under it is a conflict.
func TestMergeKeys(t *testing.T) {
	t.Parallel()
	l, _, _, three := family(t)
	put := func(ref, key, content string) uuid.UUID {
		return l.put(ref, memory.Note{Kind: memory.KindFact, Key: key, Content: content, OccurredAt: l.now})
	}
	put("base", "same", "likes tea")
	same := put("f", "same", "likes tea")
	must.Get(l.notes.PutLinks(t.Context(), l.all, "f", same, []notes.LinkInput{{Target: three}}, memory.Request{}))(t)
	ours := put("base", "other", "lives in Rome")
	put("f", "other", "lives in Oslo")
	m := l.merge("base", "f", clone.MergeInput{Strategy: merge.Theirs})
	l.want("one of each", strings.Join(l.contents("base"), "|"), "one|two|three|likes tea|lives in Oslo")
	if m.Links != 1 || len(m.Conflicts) != 1 || m.Conflicts[0].Field != "key" || l.note("base", ours).Content != "lives in Oslo" {
		t.Errorf("merge: %+v", m)
	}
}

// TestMergeSaidTwice: a message that both sides heard, and what both made of it, is there once, with what either knows of it.
func TestMergeSaidTwice(t *testing.T) {
	t.Parallel()
	l, _, _, _ := family(t)
	hear := func(ref string) (message, fact uuid.UUID) {
		heard := l.now.Add(time.Duration(len(ref)) * time.Second)
		message = l.put(ref, memory.Note{
			Kind: memory.KindMessage, Key: "id-1", Content: "I like tea", OccurredAt: heard, Context: "said to " + ref,
			Attributes: map[string]any{memory.AttrRole: "user", memory.AttrTurn: uuid.NewString()},
		})
		return message, l.put(ref, memory.Note{
			Kind: memory.KindFact, Key: "likes tea", Content: "likes tea", OccurredAt: heard, Tags: []string{ref},
			Provenance: memory.Provenance{Sources: []uuid.UUID{message}},
		})
	}
	message, fact := hear("base")
	hear("f")
	for range 2 {
		if m := l.merge("base", "f", clone.MergeInput{Strategy: merge.Fail}); len(m.Conflicts) > 0 {
			t.Errorf("conflicts: %+v", m.Conflicts)
		}
		l.want("once", strings.Join(l.contents("base"), "|"), "one|two|three|I like tea|likes tea")
		n := l.note("base", fact)
		if sources := n.Provenance.Sources; len(sources) != 1 || sources[0] != message || !slices.Equal(n.Tags, []string{"base", "f"}) {
			t.Errorf("the fact has the sources %v of %s and the tags %v", sources, message, n.Tags)
		}
	}
}

// TestMergeToldTwice: what was told to both sides without an id, by the same speaker at the same time, is one note, with what each side
// made of it. What differs in one of them is two, and so is what one side was told once more.
func TestMergeToldTwice(t *testing.T) {
	t.Parallel()
	l, _, _, _ := family(t)
	at := l.now.Add(-time.Hour)
	tell := func(ref, content string, change ...func(*memory.Note)) uuid.UUID {
		n := memory.Note{
			Kind: memory.KindMessage, Content: content, OccurredAt: at,
			Attributes: map[string]any{memory.AttrRole: "user", memory.AttrTurn: uuid.NewString()},
		}
		for _, f := range change {
			f(&n)
		}
		return l.put(ref, n)
	}
	at2 := func(n *memory.Note) { n.OccurredAt = at.Add(time.Second) }
	by := func(key, value string) func(*memory.Note) { return func(n *memory.Note) { n.Attributes[key] = value } }
	inherited := tell("base", "Yes")
	l.clone(l.all, "base", clone.Input{Name: "h"})

	ours, theirs := tell("base", "I like tea"), tell("h", "I like tea", func(n *memory.Note) { n.Tags = []string{"h"} })
	episode := tell("h", "copy", by("copy_of", theirs.String()), func(n *memory.Note) { n.Provenance.Sources = []uuid.UUID{theirs} })
	tell("h", "Yes") // as inherited, once more
	for _, side := range []string{"base", "h"} {
		tell(side, "later", map[string]func(*memory.Note){"base": at2, "h": func(*memory.Note) {}}[side])
		tell(side, "role", by(memory.AttrRole, map[string]string{"base": "user", "h": "assistant"}[side]))
		tell(side, "name", by(memory.AttrName, side))
		tell(side, "mood", by("mood", side))
	}
	tell("base", "twice")
	tell("h", "twice")
	tell("h", "twice")
	want := "one|two|three|Yes|I like tea|later|role|name|mood|twice|copy|Yes|later|role|name|mood|twice"
	dry := l.merge("base", "h", clone.MergeInput{DryRun: true, Strategy: merge.Fail})
	m := l.merge("base", "h", clone.MergeInput{Strategy: merge.Fail})
	if m.Notes != dry.Notes || m.Notes != 8 {
		t.Errorf("merged %+v, the dry run says %+v", m, dry)
	}
	l.want("merged", inOrder(l.contents("base")), inOrder(strings.Split(want, "|")))
	n := l.note("base", ours)
	l.want("with what the other side made of it", strings.Join(n.Tags, ","), "h")
	n = l.note("base", episode)
	if n.Attributes["copy_of"] != ours.String() || !slices.Equal(n.Provenance.Sources, []uuid.UUID{ours}) {
		t.Errorf("a copy of %s names %v and %v", ours, n.Attributes["copy_of"], n.Provenance.Sources)
	}
	if m := l.merge("base", "h", clone.MergeInput{}); m.Notes != 0 {
		t.Errorf("merging again: %+v", m)
	}

	// A later change of the one note comes, too, and the other way nothing comes twice.
	l.patch("h", theirs, notes.NotePatch{Category: nullable.NewNullableWithValue("drinks")})
	l.merge("base", "h", clone.MergeInput{Strategy: merge.Fail})
	l.want("changed later", l.note("base", ours).Category, "drinks")
	l.merge("h", "base", clone.MergeInput{Strategy: merge.Fail})
	l.want("the other way", inOrder(l.contents("h")), inOrder(l.contents("base")))
	l.want("both are equal", l.diff("h", clone.DiffInput{}), "")
	if l.note("base", inherited) == nil {
		t.Error("what both come from is gone")
	}
}

func inOrder(list []string) string {
	slices.Sort(list)
	return strings.Join(list, "|")
}

// TestMergeFiles: passages come with their file, or not at all.
func TestMergeFiles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		ours, theirs string // the texts of a file of one name on both sides; "": there is none
		in           clone.MergeInput
		want         string
	}{
		{"the same on both sides", "code 9931", "code 9931", clone.MergeInput{Strategy: merge.Fail}, "letter|code 9931"},
		{"other bytes, ours", "code 9931", "code 1", clone.MergeInput{Strategy: merge.Ours}, "letter|code 9931"},
		{"other bytes, theirs", "code 9931", "code 1", clone.MergeInput{Strategy: merge.Theirs}, "letter|code 1"},
		{"theirs alone", "", "code 1", clone.MergeInput{Strategy: merge.Fail}, "letter|code 1"},
		{"passages without their file", "", "code 1", clone.MergeInput{Strategy: merge.Fail, Select: clone.Select{Kinds: []memory.Kind{memory.KindPassage}}}, ""},
	} {
		l, _, _, _ := family(t)
		upload := func(ref, content string) (id uuid.UUID) {
			if content == "" {
				return id
			}
			id = l.put(ref, memory.Note{Kind: memory.KindFile, Key: "letter", Content: "letter", Attributes: map[string]any{"sha256": content}})
			l.put(ref, memory.Note{
				Kind: memory.KindPassage, Key: memory.PassageKey(id, 0), Content: content,
				Attributes: map[string]any{memory.AttrFile: id.String()}, Provenance: memory.Provenance{Sources: []uuid.UUID{id}},
			})
			return id
		}
		ours, theirs := upload("base", test.ours), upload("f", test.theirs)
		if ours == uuid.Nil {
			ours = theirs
		}
		l.merge("base", "f", test.in)
		list := must.Get(l.store.ListNotes(t.Context(), l.all, l.view("base"), memory.NoteQuery{Kinds: []memory.Kind{memory.KindFile, memory.KindPassage}}))(t)
		var got []string
		for i := range list {
			n := &list[i]
			got = append(got, n.Content)
			if n.Kind == memory.KindPassage && (n.Attributes[memory.AttrFile] != ours.String() || !slices.Equal(n.Provenance.Sources, []uuid.UUID{ours}) || n.Key != memory.PassageKey(ours, 0)) {
				t.Errorf("%s: the passage %s of %v has the sources %v, not the file %s", test.name, n.Key, n.Attributes[memory.AttrFile], n.Provenance.Sources, ours)
			}
		}
		l.want(test.name, strings.Join(got, "|"), test.want)
	}
}

// TestManyForksMerge: forks that merge into one base at the same time, beside writers of all, each land whole.
func TestManyForksMerge(t *testing.T) {
	t.Parallel()
	l := open(t)
	base := l.collection(notes.CollectionInput{Name: "base"})
	shared := l.add(base, "shared")
	const forks, each = 6, 5
	var group sync.WaitGroup
	for i := range forks {
		f := l.clone(l.all, "base", clone.Input{Name: fmt.Sprint("f", i)}).Collection
		group.Go(func() {
			for k := range each {
				tag := fmt.Sprint("t", i, k)
				l.add(f, tag)
				l.patch(f.ID.String(), shared, notes.NotePatch{Tags: nullable.NewNullableWithValue([]string{tag})})
				l.merge("base", f.ID.String(), clone.MergeInput{Strategy: merge.Fail})
			}
		})
	}
	group.Go(func() {
		for k := range each {
			l.add(base, fmt.Sprint("base ", k))
		}
	})
	group.Wait()
	if got := l.contents("base"); len(got) != 1+forks*each+each {
		t.Errorf("the base has %d notes: %v", len(got), got)
	}
	if tags := l.note("base", shared).Tags; len(tags) != forks {
		t.Errorf("each fork's last tag, once: %v", tags)
	}
}

func TestMergeReview(t *testing.T) {
	t.Parallel()
	l, one, two, _ := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("ONE")})
	l.delete("f", two)
	made := l.add(memory.Collection{ID: l.id("f")}, "new")
	proposer := l.scope(uuid.Nil, tenant.NotesRead, tenant.NotesWrite)
	m := must.Get(l.clones.Merge(t.Context(), proposer, "base", clone.MergeInput{From: "f", Review: true}))(t)
	if m.Review == nil || len(m.Review.Changes) != 3 || m.Review.State != memory.ReviewOpen {
		t.Fatalf("review: %+v", m)
	}
	l.want("nothing is written", strings.Join(l.contents("base"), "|"), "one|two|three")
	_, err := l.clones.ApproveMerge(t.Context(), proposer, *m.Review, nil, "")
	l.is(err, fault.Forbidden)
	_, err = l.clones.ApproveMerge(t.Context(), l.all, *m.Review, []uuid.UUID{uuid.New()}, "")
	l.is(err, fault.Invalid)
	r := must.Get(l.clones.ApproveMerge(t.Context(), l.all, *m.Review, []uuid.UUID{one, made}, "only these"))(t)
	l.want("in part", strings.Join(l.contents("base"), "|"), "ONE|two|three|new")
	if r.State != memory.ReviewApproved || r.Revision != l.head("base") || r.Reason != "only these" || l.note("base", made).Provenance.Actor == "" {
		t.Errorf("approved: %+v", r)
	}
	_, err = l.clones.ApproveMerge(t.Context(), l.all, r, nil, "")
	l.is(err, fault.Conflict)

	// What has changed since it was shown is not approved.
	l.patch("f", one, notes.NotePatch{Category: nullable.NewNullableWithValue("f")})
	m = l.merge("base", "f", clone.MergeInput{Review: true})
	l.patch("base", one, notes.NotePatch{Category: nullable.NewNullableWithValue("x")})
	_, err = l.clones.ApproveMerge(t.Context(), l.all, *m.Review, []uuid.UUID{one}, "")
	l.is(err, fault.Conflict)

	// Of a fork that is gone, nothing can be approved.
	other := l.add(memory.Collection{ID: l.id("g")}, "other")
	m = l.merge("base", "g", clone.MergeInput{Review: true})
	l.remove("g")
	if _, err = l.clones.ApproveMerge(t.Context(), l.all, *m.Review, []uuid.UUID{other}, ""); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("a proposal of a fork that is gone: %v", err)
	}

	// Where all is in conflict, there is nothing to propose.
	m, err = l.clones.Merge(t.Context(), l.all, "base", clone.MergeInput{From: "f", Notes: []uuid.UUID{one}, Review: true})
	if !errors.Is(err, clone.ErrConflicts) || len(m.Conflicts) != 1 {
		t.Errorf("a proposal of a conflict: %+v, %v", m, err)
	}
}

// TestMergeReviewAgain: a proposal that is repeated is the open one. When its fork has moved a new one takes its place, and one of other
// notes stays.
func TestMergeReviewAgain(t *testing.T) {
	t.Parallel()
	l, one, two, three := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("ONE"), Attributes: nullable.NewNullableWithValue(map[string]any{"n": 1.5, "k": 3.0})})
	l.patch("f", two, notes.NotePatch{Content: new("TWO")})
	propose := func(ids ...uuid.UUID) clone.Merged {
		return l.merge("base", "f", clone.MergeInput{Review: true, Notes: ids})
	}
	open := func() (ids []uuid.UUID) {
		list := must.Get(l.store.ListReviews(t.Context(), l.all, memory.ReviewQuery{Collection: l.id("base"), State: memory.ReviewOpen}))(t)
		for i := range list {
			ids = append(ids, list[i].ID)
		}
		return ids
	}
	first, other := propose(one), propose(two)
	l.patch("f", three, notes.NotePatch{Content: new("THREE")}) // not a note of the proposal
	again := propose(one)
	if first.Known || !again.Known || again.Review.ID != first.Review.ID || len(open()) != 2 {
		t.Errorf("repeated: %+v, %v are open", again.Review, open())
	}
	l.patch("f", one, notes.NotePatch{Content: new("ONE!")})
	moved := propose(one)
	if moved.Known || moved.Review.ID == first.Review.ID || !slices.Equal(moved.Replaced, []uuid.UUID{first.Review.ID}) || len(open()) != 2 {
		t.Errorf("moved: %+v replaces %v, %v are open", moved.Review, moved.Replaced, open())
	}
	r := must.Get(l.store.Review(t.Context(), l.all, first.Review.ID))(t)
	if r.State != memory.ReviewRejected || !strings.Contains(r.Reason, moved.Review.ID.String()) {
		t.Errorf("the replaced one: %+v", r)
	}
	whole := propose()
	if len(whole.Replaced) != 2 || !slices.Contains(whole.Replaced, other.Review.ID) || !slices.Equal(open(), []uuid.UUID{whole.Review.ID}) {
		t.Errorf("all: replaces %v, %v are open", whole.Replaced, open())
	}
	must.Get(l.clones.ApproveMerge(t.Context(), l.all, *propose().Review, nil, ""))(t)
	l.want("approved", strings.Join(l.contents("base"), "|"), "ONE!|TWO|THREE")
}

// TestMergeReviewAfterRollback: what a rollback takes back of an approved proposal is proposed and merged again, also when it was approved
// in part, or the fork has taken the base since.
func TestMergeReviewAfterRollback(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		for _, part := range []bool{false, true} {
			l, one, two, _ := family(t)
			l.patch("f", one, notes.NotePatch{Content: new("ONE")})
			l.delete("f", two)
			at := l.head("base")
			propose := func() *memory.Review { return l.merge("base", "f", clone.MergeInput{Review: true}).Review }
			approve := func(r *memory.Review, ids []uuid.UUID) {
				must.Get(l.clones.ApproveMerge(t.Context(), l.all, *r, ids, ""))(t)
			}
			var ids []uuid.UUID
			if part {
				ids = []uuid.UUID{one}
			}
			approve(propose(), ids)
			merged := l.head("base")
			if taken {
				l.merge("f", "base", clone.MergeInput{})
			}
			must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: at}))(t)
			again := propose()
			if again == nil || len(again.Changes) != 2 {
				t.Fatalf("part %v, taken %v: proposed again: %+v", part, taken, again)
			}
			approve(again, nil)
			l.want(fmt.Sprintf("part %v, taken %v", part, taken), strings.Join(l.contents("base"), "|"), "ONE|three")
			must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: merged}))(t)
			if r := propose(); (r != nil) != part || part && (len(r.Changes) != 1 || r.Changes[0].Note != two) {
				t.Errorf("part %v, taken %v: after the rollback to the first approval: %+v", part, taken, r)
			}
		}
	}
}

// TestMergeReviewsAtOnce: of proposals of the same that are made at one moment, one is opened.
func TestMergeReviewsAtOnce(t *testing.T) {
	t.Parallel()
	l, one, _, _ := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("ONE")})
	var ids sync.Map
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			m, err := l.clones.Merge(t.Context(), l.all, "base", clone.MergeInput{From: "f", Review: true})
			if err != nil {
				t.Error(err)
				return
			}
			ids.Store(m.Review.ID, true)
		})
	}
	group.Wait()
	list := must.Get(l.store.ListReviews(t.Context(), l.all, memory.ReviewQuery{Collection: l.id("base")}))(t)
	if _, ok := ids.Load(list[0].ID); len(list) != 1 || !ok {
		t.Errorf("%d reviews", len(list))
	}
}

// TestPromote: what a fork learned goes to the base as far as it is asked for; the gate lets through what is sure.
func TestPromote(t *testing.T) {
	t.Parallel()
	l, one, _, _ := family(t)
	fact := func(content string, attributes map[string]any) {
		l.put("f", memory.Note{Kind: memory.KindFact, Content: content, OccurredAt: l.now, Attributes: attributes})
	}
	fact("sure", map[string]any{"confidence": .95})
	fact("likely", map[string]any{"confidence": .7})
	fact("doubtful", map[string]any{"confidence": .2})
	fact("unstated", nil)
	l.patch("f", one, notes.NotePatch{Category: nullable.NewNullableWithValue("c")})
	facts := clone.Select{Kinds: []memory.Kind{memory.KindFact}, MinConfidence: .5}
	m := l.merge("base", "f", clone.MergeInput{Review: true, Select: facts, ApproveFrom: new(.9)})
	l.want("at once", strings.Join(l.contents("base"), "|"), "one|two|three|sure")
	if m.Review == nil || len(m.Review.Changes) != 1 || m.Review.Changes[0].After.Content != "likely" || m.Review.Confidence != .7 {
		t.Errorf("review: %+v", m.Review)
	}
	must.Get(l.clones.ApproveMerge(t.Context(), l.all, *m.Review, nil, ""))(t)
	l.want("after approval", strings.Join(l.contents("base"), "|"), "one|two|three|sure|likely")
	old := clone.Select{MinAge: time.Hour}
	if m := l.merge("base", "f", clone.MergeInput{Select: old}); m.Notes != 0 {
		t.Errorf("too young: %+v", m)
	}
	l.now = l.now.Add(2 * time.Hour)
	l.merge("base", "f", clone.MergeInput{Select: old})
	l.want("when they are old", fmt.Sprint(len(l.contents("base")), l.note("base", one).Category), "7c")
}

func TestRollback(t *testing.T) {
	t.Parallel()
	l, one, two, three := family(t)
	must.Get(l.notes.PutLinks(t.Context(), l.all, "base", two, []notes.LinkInput{{Target: three}}, memory.Request{}))(t)
	at := l.head("base")
	l.patch("base", one, notes.NotePatch{Content: new("ONE"), Tags: nullable.NewNullableWithValue([]string{"x"})})
	l.delete("base", two)
	l.add(memory.Collection{ID: l.id("base")}, "new")
	last := l.head("base")
	out := must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: at}))(t)
	if out.Changed != 3 || out.Revision != last+1 {
		t.Errorf("rollback: %+v", out)
	}
	l.want("as it was", l.diff("base", clone.DiffInput{AgainstAt: &at}), "")
	l.want("since", l.diff("base", clone.DiffInput{AgainstAt: &last}), "added link related; added two; changed one content,tags; removed new")
	again := must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: at}))(t)
	if again.Changed != 0 || again.Revision != out.Revision {
		t.Errorf("again: %+v", again)
	}
	must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: last}))(t)
	l.want("taken back", l.diff("base", clone.DiffInput{AgainstAt: &last}), "")

	_, err := l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: 99})
	l.is(err, fault.Invalid)
	f := l.clone(l.all, "base", clone.Input{Mode: clone.Copy, Name: "copy"})
	must.Do(t, l.clones.RunCopy(t.Context(), l.all, *f.Job, noProgress))
	_, err = l.clones.Rollback(t.Context(), l.all, "copy", clone.RollbackInput{To: 1})
	l.is(err, fault.RevisionGone)
	_, err = l.clones.Rollback(t.Context(), l.scope(uuid.Nil, tenant.NotesWrite), "base", clone.RollbackInput{To: 1})
	l.is(err, fault.Forbidden)
}

// TestMergeAfterRollback: a merge that a rollback has taken back may come again.
func TestMergeAfterRollback(t *testing.T) {
	t.Parallel()
	l, one, _, _ := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("ONE")})
	at := l.head("base")
	l.merge("base", "f", clone.MergeInput{})
	must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: at}))(t)
	l.want("rolled back", l.note("base", one).Content, "one")
	l.merge("base", "f", clone.MergeInput{})
	l.want("merged again", l.note("base", one).Content, "ONE")
}

// TestMergeAfterRollbackOfBoth: that the fork had taken the base again, with its own changes in it, does not keep those from coming again
// after a rollback, nor does the rollback reach the fork and delete them there.
func TestMergeAfterRollbackOfBoth(t *testing.T) {
	t.Parallel()
	l, one, two, _ := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("ONE")})
	l.add(memory.Collection{ID: l.id("f")}, "of the fork")
	l.patch("base", two, notes.NotePatch{Content: new("TWO")})
	at := l.head("base")
	l.merge("base", "f", clone.MergeInput{})
	l.merge("f", "base", clone.MergeInput{})
	merged := l.head("base")
	must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: at}))(t)
	l.want("rolled back", strings.Join(l.contents("base"), "|"), "one|TWO|three")
	l.merge("f", "base", clone.MergeInput{Strategy: merge.Fail})
	l.want("the fork keeps its own", strings.Join(l.contents("f"), "|"), "ONE|TWO|three|of the fork")
	if dry := l.merge("base", "f", clone.MergeInput{DryRun: true}); dry.Notes != 2 {
		t.Errorf("the preview: %+v", dry)
	}
	l.merge("base", "f", clone.MergeInput{Strategy: merge.Fail})
	l.want("merged again", strings.Join(l.contents("base"), "|"), "ONE|TWO|three|of the fork")
	if m := l.merge("base", "f", clone.MergeInput{}); m.Notes != 0 {
		t.Errorf("and once more: %+v", m)
	}

	// The rollback is taken back: nothing is missing.
	must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: at}))(t)
	must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: merged}))(t)
	if m := l.merge("base", "f", clone.MergeInput{Strategy: merge.Fail}); m.Notes != 0 {
		t.Errorf("after a rollback that was taken back: %+v", m)
	}
	// What was rolled back and is not of the fork stays so.
	made := l.add(memory.Collection{ID: l.id("base")}, "of the base")
	at = l.head("base") - 1
	l.merge("f", "base", clone.MergeInput{})
	must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: at}))(t)
	l.merge("base", "f", clone.MergeInput{})
	if l.note("base", made) != nil {
		t.Error("a note that the base has rolled back comes again from a fork that took it")
	}
}

// TestMergeAfterRollbackOfBase: a rollback of a base takes back what it was told itself, also when it had taken the fork and the fork had
// taken the base before. The fork brings its own changes again, and not those of the base.
func TestMergeAfterRollbackOfBase(t *testing.T) {
	t.Parallel()
	l, one, two, _ := family(t)
	at := l.head("base")
	l.patch("f", one, notes.NotePatch{Content: new("ONE")})
	must.Get(l.notes.PutLinks(t.Context(), l.all, "f", one, []notes.LinkInput{{Target: two}}, memory.Request{}))(t)
	l.add(memory.Collection{ID: l.id("base")}, "of the base")
	l.patch("base", two, notes.NotePatch{Content: new("TWO")})
	l.merge("base", "f", clone.MergeInput{})
	l.merge("f", "base", clone.MergeInput{})
	must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: at}))(t)
	m := l.merge("base", "f", clone.MergeInput{Strategy: merge.Fail})
	l.want("the base", strings.Join(l.contents("base"), "|"), "ONE|two|three")
	if m.Notes != 1 || m.Links != 1 {
		t.Errorf("merged again: %+v", m)
	}
	l.merge("f", "base", clone.MergeInput{Strategy: merge.Fail})
	l.want("the fork follows", strings.Join(l.contents("f"), "|"), "ONE|two|three")
}

// What is promoted names its agent: a new note and a changed field, also by way of another fork. A person's
// change after that is the person's, and a rollback returns to what was there.
func TestPromotedNotesNameTheirAgent(t *testing.T) {
	t.Parallel()
	l := open(t)
	base := l.collection(notes.CollectionInput{Name: "base"})
	one, two := l.add(base, "one"), l.add(base, "two")
	ada := l.clone(l.all, "base", clone.Input{Agent: "ada", Name: "of-ada"}).Collection
	bob := l.clone(l.all, "base", clone.Input{Agent: "bob", Name: "of-bob"}).Collection
	l.patch(ada.ID.String(), one, notes.NotePatch{Content: new("ONE")})
	made := l.add(ada, "three")
	m := must.Get(l.clones.Merge(t.Context(), l.all, "base", clone.MergeInput{From: ada.ID.String(), Review: true}))(t)
	if after := m.Review.Changes[0].After; after.Provenance.Agent != "ada" {
		t.Errorf("the review does not say whose it is: %+v", after.Provenance)
	}
	must.Get(l.clones.ApproveMerge(t.Context(), l.all, *m.Review, nil, ""))(t)
	agents := func(ref string, ids ...uuid.UUID) string {
		var out []string
		for _, id := range ids {
			out = append(out, l.note(ref, id).Provenance.Agent+"|")
		}
		return strings.Join(out, "")
	}
	l.want("of the base", agents("base", one, two, made), "ada||ada|")
	promoted := l.head("base")

	// Bob gets it from the base, changes one of them, and promotes that.
	l.merge(bob.ID.String(), "base", clone.MergeInput{})
	l.want("of bob's fork", agents(bob.ID.String(), one, two, made), "ada||ada|")
	l.patch(bob.ID.String(), one, notes.NotePatch{Tags: nullable.NewNullableWithValue([]string{"x"})})
	l.merge("base", bob.ID.String(), clone.MergeInput{})
	l.want("after bob", agents("base", one, two, made), "bob||ada|")
	l.merge(ada.ID.String(), "base", clone.MergeInput{})
	l.want("of ada's fork", agents(ada.ID.String(), one), "bob|")

	l.patch("base", one, notes.NotePatch{Category: nullable.NewNullableWithValue("c")})
	v := l.view("base")
	fields := must.Get(l.clones.Blame(t.Context(), l.all, v, one))(t)
	for field, want := range map[string]string{"content": "ada", "tags": "bob", "category": "", "importance": ""} {
		if got := fields[field].Agent; got != want {
			t.Errorf("%s is of %q, want %q", field, got, want)
		}
	}
	e := must.Get(filter.Parse([]byte(`{"agent":["ada","eve"]}`)))(t)
	found := must.Get(l.store.ListNotes(t.Context(), l.all, v, memory.NoteQuery{Filter: e}))(t)
	if len(found) != 1 || found[0].ID != made {
		t.Errorf("by agent: %+v", found)
	}
	must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: promoted}))(t)
	l.want("rolled back", agents("base", one, two, made), "ada||ada|")
}

func TestBlame(t *testing.T) {
	t.Parallel()
	l, one, _, _ := family(t)
	l.patch("f", one, notes.NotePatch{Tags: nullable.NewNullableWithValue([]string{"x"})})
	l.patch("f", one, notes.NotePatch{Content: new("ONE")})
	l.patch("f", one, notes.NotePatch{Category: nullable.NewNullableWithValue("c"), Attributes: nullable.NewNullableWithValue(map[string]any{"mood": "good"})})
	v := l.view("f")
	fields := must.Get(l.clones.Blame(t.Context(), l.all, v, one))(t)
	for field, want := range map[string]memory.Revision{"content": 5, "tags": 4, "category": 6, "attributes.mood": 6, "context": 1, "importance": 1} {
		if got := fields[field]; got.Revision != want || got.Actor == "" || got.Cause == "" {
			t.Errorf("%s is of %+v, want revision %d", field, got, want)
		}
	}
	_, err := l.clones.Blame(t.Context(), l.all, v, uuid.New())
	l.is(err, fault.NotFound)
}

// TestMergeAcross: each side has what the other one does not know to be merged: the base a fork of its fork, and that one the base.
func TestMergeAcross(t *testing.T) {
	t.Parallel()
	l, one, two, _ := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("ONE")})
	l.clone(l.all, "f", clone.Input{Name: "grandchild"})
	l.patch("grandchild", one, notes.NotePatch{Content: new("one of the grandchild")})
	made := l.add(memory.Collection{ID: l.id("base")}, "of the base")
	l.patch("base", two, notes.NotePatch{Content: new("TWO")})
	l.merge("f", "base", clone.MergeInput{Strategy: merge.Fail})
	l.delete("base", made)
	l.patch("base", two, notes.NotePatch{Content: new("two again")})
	l.merge("base", "grandchild", clone.MergeInput{Strategy: merge.Fail})
	l.merge("base", "f", clone.MergeInput{Strategy: merge.Fail})
	l.want("the base", inOrder(l.contents("base")), inOrder([]string{"one of the grandchild", "two again", "three"}))
}

// TestUndoAfterMerge: the merge of a block is its last edit, and an undo takes back that one alone; so is a rollback. Edits of both sides
// apart from each other are no conflict.
func TestUndoAfterMerge(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.collection(notes.CollectionInput{Name: "base"})
	blocks := notes.NewBlocks(l.notes)
	edit := func(ref, value string) {
		l.t.Helper()
		must.Get(blocks.Put(t.Context(), l.all, ref, "human", block.Change{Value: &value}, memory.Request{}))(t)
	}
	step := func(ref string, step block.Step) string {
		l.t.Helper()
		w := must.Get(blocks.Step(t.Context(), l.all, ref, "human", step, memory.Request{}))(t)
		return w.Block.Value
	}
	edit("base", "one")
	edit("base", "name\n-\ncity\n-\npet")
	l.clone(l.all, "base", clone.Input{Name: "f"})
	edit("f", "name\n-\ncity\n-\ndog")
	edit("base", "Ida\n-\ncity\n-\npet")
	for range 2 {
		l.add(memory.Collection{ID: l.id("base")}, "more")
	}
	edit("base", "Ida\n-\nRome\n-\npet")
	at := l.head("base")
	l.merge("base", "f", clone.MergeInput{Strategy: merge.Fail})
	merged := "Ida\n-\nRome\n-\ndog"
	l.want("undo", step("base", block.Undo), "Ida\n-\nRome\n-\npet")
	l.want("redo", step("base", block.Redo), merged)
	l.want("undo again", step("base", block.Undo)+step("base", block.Undo), "Ida\n-\nRome\n-\npetIda\n-\ncity\n-\npet")
	l.want("redo all", step("base", block.Redo)+step("base", block.Redo), "Ida\n-\nRome\n-\npet"+merged)

	edit("f", "name\n-\ncity\n-\ncat")
	l.merge("f", "base", clone.MergeInput{Strategy: merge.Ours})
	l.want("undo in the fork", step("f", block.Undo), "name\n-\ncity\n-\ncat")

	must.Get(l.clones.Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: at}))(t)
	l.want("as it was", l.diff("base", clone.DiffInput{AgainstAt: &at}), "")
	l.want("undo of the rollback", step("base", block.Undo), merged)
}

// TestMergeOutOfOrder: a fork that is merged past the one that it was forked from brings what that one had until then; merging that one
// later brings what it has learned since, and no conflict.
func TestMergeOutOfOrder(t *testing.T) {
	t.Parallel()
	l, one, two, three := family(t)
	l.patch("f", one, notes.NotePatch{Content: new("ONE")})
	l.patch("f", two, notes.NotePatch{Content: new("TWO")})
	l.clone(l.all, "f", clone.Input{Name: "grandchild"})
	l.delete("grandchild", one)
	l.patch("grandchild", two, notes.NotePatch{Content: new("two of the grandchild")})
	l.merge("base", "grandchild", clone.MergeInput{Strategy: merge.Fail})
	l.patch("f", three, notes.NotePatch{Content: new("THREE")})
	l.remove("grandchild")
	m := l.merge("base", "f", clone.MergeInput{Strategy: merge.Fail})
	if m.Notes != 1 || len(m.Conflicts) > 0 {
		t.Errorf("the parent: %+v", m)
	}
	l.want("both merged", strings.Join(l.contents("base"), "|"), "two of the grandchild|THREE")
	// The sibling takes the base, and a fork of a later revision of the base takes the sibling.
	l.merge("g", "base", clone.MergeInput{Strategy: merge.Fail})
	l.clone(l.all, "base", clone.Input{Name: "h"})
	l.delete("g", two)
	l.merge("h", "g", clone.MergeInput{Strategy: merge.Fail})
	l.want("in a later fork", strings.Join(l.contents("h"), "|"), "THREE")
}
