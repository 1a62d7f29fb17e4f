package faults_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// verify compares the stored data with the acknowledged writes, when everything is idle.
func (r *run) verify() {
	for _, tn := range r.tenants {
		v := verifier{run: r, tenant: tn, of: map[*place][]*note{}}
		for _, c := range r.clients {
			if c.tenant == tn {
				v.client = c // sends the requests
				v.places = append(v.places, c.forks...)
				for _, n := range c.notes {
					v.of[n.place] = append(v.of[n.place], n)
				}
			}
		}
		v.places = append(v.places, tn.bases...)
		for _, p := range v.places {
			v.listing(p)
			for _, n := range v.of[p] {
				v.history(n)
			}
		}
		v.imports()
		v.counter()
	}
	r.jobs()
}

// verifier checks one tenant.
type verifier struct {
	run    *run
	client *client
	tenant *tenant
	places []*place
	of     map[*place][]*note
}

func (v *verifier) problemf(format string, args ...any) { v.run.book.problemf(format, args...) }

// head is the revision to read for what is there now. Revision 0 is not that: it is a collection
// before its first note.
const head = -1

// list returns the notes of a place at a revision by id, from a gateway.
func (v *verifier) list(p *process, at *place, asOf int64) map[string]noteJSON {
	path := at.path("/notes?limit=200")
	if asOf != head {
		path += fmt.Sprint("&as_of=", asOf)
	}
	out := map[string]noteJSON{}
	if err := each(v.client, p, "verify", path, func(n noteJSON) {
		if _, twice := out[n.ID]; twice {
			v.problemf("%s lists note %s twice by %s", at.name, n.ID, p.name)
		}
		out[n.ID] = n
	}); err != nil {
		v.problemf("%v", err)
	}
	return out
}

// listing compares the notes of a collection, from every gateway, with the acknowledged ones: each of
// them exists once, and no other note exists.
func (v *verifier) listing(at *place) {
	first := v.list(v.run.scene.gateways[0], at, head)
	for _, g := range v.run.scene.gateways[1:] {
		if other := v.list(g, at, head); !maps.EqualFunc(first, other, func(a, b noteJSON) bool {
			return a.Content == b.Content && a.Revision == b.Revision && a.value() == b.value()
		}) {
			v.problemf("%s is not the same by every gateway: %d notes, %d by %s", at.name, len(first), len(other), g.name)
		}
	}
	rest := maps.Clone(first)
	for _, n := range v.of[at] {
		got, there := first[n.id]
		delete(rest, n.id)
		switch {
		case there && n.deleted != 0:
			v.problemf("note %s of %s was deleted at revision %d and is there", n.id, at.name, n.deleted)
		case !there && n.deleted == 0:
			v.problemf("note %s of %s was acknowledged at revision %d and is not there", n.id, at.name, n.revision)
		case there && (got.Content != n.content || got.value() != n.value):
			v.problemf("note %s of %s is %q, v %q; want %q, v %q", n.id, at.name, got.Content, got.value(), n.content, n.value)
		case there && got.State != "evolved" && !n.inherited:
			v.problemf("note %s of %s is %s", n.id, at.name, got.State)
		}
	}
	v.run.book.count("notes verified", len(first))
	delete(rest, v.tenant.counter)
	if at.base != nil {
		v.inherited(at, first, rest)
	}
	for id, n := range rest {
		v.problemf("%s holds note %s, which nobody was told of: %q", at.name, id, n.Content)
	}
}

// inherited compares a fork with its base at the time of the fork. Notes that were written or changed
// in the fork are checked elsewhere.
func (v *verifier) inherited(at *place, have, rest map[string]noteJSON) {
	own := map[string]bool{}
	for _, n := range v.of[at] {
		own[n.id] = true
	}
	for id, then := range v.list(v.run.scene.gateways[0], at.base, at.at) {
		now, there := have[id]
		delete(rest, id)
		if !there {
			v.problemf("%s lacks note %s of its base at revision %d", at.name, id, at.at)
		} else if !own[id] && (now.Content != then.Content || now.value() != then.value()) {
			v.problemf("note %s is %q, v %q in %s and was %q, v %q in its base at revision %d", id, now.Content, now.value(), at.name, then.Content, then.value(), at.at)
		}
	}
}

// entry is a version of a note.
type entry struct {
	Revision int64
	Cause    string
	Note     noteJSON
	Deleted  bool
}

// history checks the versions of a note. Each acknowledged change exists once, at its revision and in
// the order of the client; there are no other changes; and evolving a note undoes none of them.
func (v *verifier) history(n *note) {
	var all []entry // oldest first
	if err := each(v.client, v.run.scene.gateways[0], "verify", n.place.path("/notes/"+n.id+"/history?limit=200"), func(e entry) { all = append(all, e) }); err != nil {
		v.problemf("%v", err)
		return
	}
	slices.Reverse(all)
	at := map[string]int{} // index of the change that set a value
	where := map[string]int64{}
	value, content := "", ""
	for i, e := range all {
		if i > 0 && e.Revision <= all[i-1].Revision {
			v.problemf("the history of note %s of %s goes back at revision %d", n.id, n.place.name, e.Revision)
		}
		switch {
		case e.Cause == "add", e.Cause == "patch":
			value, content = e.Note.value(), e.Note.Content
			if _, twice := at[value]; twice {
				v.problemf("the change %s of note %s of %s was made twice, again at revision %d", value, n.id, n.place.name, e.Revision)
			}
			if !n.tried[value] {
				v.problemf("note %s of %s was changed to %s at revision %d, which its client never asked for", n.id, n.place.name, value, e.Revision)
			}
			at[value], where[value] = i, e.Revision
		case e.Deleted: // the deletion of another note may take out what was written from that one
			if n.deleted == 0 {
				v.problemf("note %s of %s was deleted at revision %d by nobody", n.id, n.place.name, e.Revision)
			}
		default:
			if e.Note.value() != value || e.Note.Content != content {
				v.problemf("note %s of %s: %s at revision %d made v %q of %q", n.id, n.place.name, e.Cause, e.Revision, e.Note.value(), value)
			}
		}
	}
	before := -1
	for _, e := range n.edits {
		i, there := at[e.value]
		switch {
		case !there:
			v.problemf("the change %s of note %s of %s was acknowledged at revision %d and is lost", e.value, n.id, n.place.name, e.revision)
		case e.revision != 0 && where[e.value] != e.revision:
			v.problemf("the change %s of note %s of %s was acknowledged at revision %d and is at %d", e.value, n.id, n.place.name, e.revision, where[e.value])
		case i <= before:
			v.problemf("the change %s of note %s of %s came before an earlier one", e.value, n.id, n.place.name)
		}
		before = max(before, i)
	}
	v.run.book.count("changes verified", len(n.edits))
}

// imports checks the imported notes.
func (v *verifier) imports() {
	have := v.list(v.run.scene.gateways[0], v.tenant.imports, head)
	rest := maps.Clone(have)
	for _, c := range v.run.clients {
		if c.tenant != v.tenant {
			continue
		}
		for _, l := range c.imports {
			n, there := have[l.ID]
			delete(rest, l.ID)
			if !there || n.Content != l.Content || n.value() != l.Attributes["v"] {
				v.problemf("imported note %s is %q, want %q", l.ID, n.Content, l.Content)
			}
		}
		for _, id := range c.jobs {
			var job struct{ State, Error string }
			if _, ok := v.client.askFor(v.client.gateway(), http.StatusOK, request{kind: "verify", method: http.MethodGet, path: "/v1/jobs/" + id}, &job); ok && job.State != "done" {
				v.problemf("import %s is %s: %s", id, job.State, job.Error)
			}
		}
	}
	for id, n := range rest {
		v.problemf("note %s was imported by nobody: %q", id, n.Content)
	}
	v.run.book.count("imported notes verified", len(have))
}

// counter checks for lost updates: each acknowledged increment has its own value, and the counter is
// their number.
func (v *verifier) counter() {
	var got noteJSON
	if _, ok := v.client.askFor(v.client.gateway(), http.StatusOK, request{
		kind: "verify", method: http.MethodGet, path: v.tenant.bases[0].path("/notes/" + v.tenant.counter),
	}, &got); !ok {
		return
	}
	seen := map[int]string{}
	maybe := 0
	for _, c := range v.run.clients {
		if c.tenant != v.tenant {
			continue
		}
		maybe += c.maybe
		for _, n := range c.counted {
			if by, twice := seen[n]; twice {
				v.problemf("%s and %s of tenant %s both counted %d", by, c.name, v.tenant.name, n)
			}
			seen[n] = c.name
		}
	}
	n, _ := got.Attributes["n"].(float64)
	if int(n) < len(seen) || int(n) > len(seen)+maybe {
		v.problemf("the counter of tenant %s is %d after %d acknowledged increments and %d with an unknown result", v.tenant.name, int(n), len(seen), maybe)
	}
	v.run.book.count("counts verified", len(seen))
}

// noteJob is the job of a note, with the changesets it wrote.
type noteJob struct {
	ID, Tenant, Collection, Note string
	State, Error                 string
	Seq                          int64
	Attempts                     int
	Reported                     int64  // the revision in its result; 0 for none
	Decision                     string // the decision in its result
	Evolved                      []int64
	Marked                       bool // an attempt left the note waiting for the model
}

const noteJobsQuery = `SELECT j.id, j.tenant, j.collection, j.note, j.state, j.error, j.seq, j.attempts,
 coalesce((j.result->>'revision')::bigint, 0) AS reported, coalesce(j.result->>'decision', '') AS decision,
 coalesce((SELECT json_agg(c.revision ORDER BY c.revision) FROM changesets c
  WHERE c.tenant = j.tenant AND c.collection = j.collection AND c.job = j.id AND c.cause = 'evolve'), '[]') AS evolved,
 EXISTS (SELECT FROM changesets c WHERE c.tenant = j.tenant AND c.collection = j.collection AND c.job = j.id AND c.cause = 'mark') AS marked
 FROM jobs j WHERE j.kind = 'note' ORDER BY j.tenant, j.collection, j.seq`

// noteOf identifies a note in a collection. Forks have it under the same id.
type noteOf struct{ collection, note string }

// jobs checks every job: it is done, and its evolution is in the log once.
func (r *run) jobs() {
	open, err := query[struct{ ID, Kind, State, Error string }](r.scene, "SELECT id, kind, state, error FROM jobs WHERE state <> 'done'")
	if err != nil {
		r.book.problemf("%v", err)
	}
	for _, j := range open {
		r.book.problemf("the %s job %s is %s: %s", j.Kind, j.ID, j.State, j.Error)
	}
	all, err := query[noteJob](r.scene, noteJobsQuery)
	if err != nil {
		r.book.problemf("%v", err)
	}
	evolved := map[noteOf]int{}
	for _, j := range all {
		want := 0
		if j.Reported > 0 {
			want = 1
		}
		if len(j.Evolved) != want || want == 1 && j.Evolved[0] != j.Reported {
			r.book.problemf("job %s of note %s evolved it at the revisions %v, and reports %d", j.ID, j.Note, j.Evolved, j.Reported)
		}
		evolved[noteOf{j.Collection, j.Note}] += len(j.Evolved)
	}
	for _, c := range r.clients {
		for _, n := range c.notes {
			if got := evolved[noteOf{n.place.id, n.id}]; got != 1 && !n.rewritten && !n.inherited && n.deleted == 0 {
				r.book.problemf("note %s of %s evolved %d times, want once", n.id, n.place.name, got)
			}
		}
	}
	r.order(all)
	r.book.count("jobs of notes", len(all))
}

// order checks that the jobs of a collection took effect in the order of its notes. Jobs with a
// failed attempt are skipped, because later jobs do not wait for them: such a job marked its note,
// or is in the log of a worker.
func (r *run) order(all []noteJob) {
	failed := r.failedAttempts()
	var last noteJob
	for _, j := range all { // sorted by collection and seq
		if j.Marked || failed[j.ID] > 0 || len(j.Evolved) == 0 {
			continue
		}
		if j.Collection == last.Collection && j.Evolved[0] < last.Evolved[0] {
			r.book.problemf("job %s (seq %d) took effect at revision %d, before job %s (seq %d) at %d",
				j.ID, j.Seq, j.Evolved[0], last.ID, last.Seq, last.Evolved[0])
		}
		last = j
		r.book.count("evolutions in order", 1)
	}
	r.book.count("jobs with an attempt that failed completely", len(failed))
}
