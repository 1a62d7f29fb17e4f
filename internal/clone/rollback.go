package clone

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// RolledBack is the outcome of a rollback.
type RolledBack struct {
	Revision memory.Revision // of the changeset, or the head when nothing differed
	Changed  int             // notes that were restored, changed back or deleted
	Job      *memory.Job     // that returns to the revision; nil: it is done
}

// RollbackInput asks for an earlier state.
type RollbackInput struct {
	To memory.Revision
	// Background makes a job of the rollback. One that touches more than Config.MaxInline notes always is.
	Background bool

	job      uuid.UUID // that runs the rollback; zero: the caller waits for it
	progress memory.ReportProgress
}

// Rollback writes one changeset after which a collection shows what it showed at a revision. What came between stays in the log,
// and a rollback to just before this changeset takes it back. It needs notes:write, and base:write on a shared base. A write
// that comes between is a conflict; then it begins again.
func (c *Service) Rollback(ctx context.Context, s tenant.Scope, ref string, in RollbackInput) (RolledBack, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return RolledBack{}, err
	}
	for try := 1; ; try++ {
		out, err := c.rollback(ctx, s, ref, &in)
		if !errors.Is(err, memory.ErrMoved) || try == mergeTries {
			return out, err
		}
	}
}

func (c *Service) rollback(ctx context.Context, s tenant.Scope, ref string, in *RollbackInput) (RolledBack, error) {
	now, err := c.store.OpenView(ctx, s, ref, memory.At{})
	if err != nil {
		return RolledBack{}, err
	}
	if now.Collection.Shared() {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return RolledBack{}, err
		}
	}
	then, err := c.store.OpenView(ctx, s, now.Collection.ID.String(), memory.At{AsOf: &in.To})
	if err != nil {
		return RolledBack{}, renameField(err, "revision")
	}
	if at, ok, err := c.landed(ctx, s, now, in.job); ok || err != nil {
		return RolledBack{Revision: at}, err
	}
	touched, err := c.store.Touched(ctx, s, now, then)
	if err != nil {
		return RolledBack{}, err
	}
	if !c.inline(in.Background, in.job, len(touched.Notes)) {
		job, err := c.background(ctx, s, &now, memory.JobRollback, rollbackJob{in.To})
		return RolledBack{Revision: now.At, Job: job}, err
	}
	if err := report(ctx, in.progress, 0, len(touched.Notes)); err != nil {
		return RolledBack{}, err
	}
	p := &mergePlan{c: c, s: s, ours: now, theirs: then, strategy: merge.Theirs, ids: touched.Notes, links: touched.Links}
	if err := p.readBase(ctx, &now, nil); err != nil {
		return RolledBack{}, err
	}
	for _, n := range p.other {
		unfinished(n)
	}
	p.choose(&MergeInput{})
	o := memory.WriteOptions{
		Long:  true,
		Cause: memory.CauseRollback, Job: in.job, MergedFrom: &memory.MergedFrom{Collection: now.Collection.ID, Revision: in.To}, Reads: []memory.View{now},
		Audit: []memory.AuditEntry{{Action: "collection.rollback", Target: now.Collection.ID.String(), Detail: map[string]any{"revision": int64(in.To)}}},
	}
	var out RolledBack
	w, err := c.store.Write(ctx, s, now.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		if v := tx.View(); v.At != now.At {
			return memory.ErrMoved
		}
		d, err := p.decide(headOfTx(ctx, tx))
		if err != nil {
			return err
		}
		out.Changed = len(d.puts) + len(d.deletes)
		return p.apply(ctx, tx, d)
	})
	out.Revision = w.Revision
	if err != nil {
		return out, err
	}
	return out, report(ctx, in.progress, len(touched.Notes), len(touched.Notes))
}

// unfinished makes an earlier version ready to be written again: no review waits for it, and its error is past.
func unfinished(n *memory.Note) {
	n.Error = ""
	if n.State == memory.StateInReview {
		n.State = memory.StateEvolved
	}
}

// Snapshot names a revision of a collection; 0: its head. It needs notes:write, and base:write on a shared base.
func (c *Service) Snapshot(ctx context.Context, s tenant.Scope, ref, name string, at *memory.Revision) (memory.Snapshot, error) {
	v, err := c.writable(ctx, s, ref)
	if err != nil {
		return memory.Snapshot{}, err
	}
	if err := CheckSnapshotName(name); err != nil {
		return memory.Snapshot{}, err
	}
	n := memory.Snapshot{Collection: v.Collection.ID, Name: name, Revision: v.At}
	if at != nil {
		n.Revision = *at
	}
	return c.store.CreateSnapshot(ctx, s, n, snapshotAudit("snapshot.create", n.Collection, name))
}

// Snapshots lists the names of a collection's revisions (notes:read).
func (c *Service) Snapshots(ctx context.Context, s tenant.Scope, ref string) ([]memory.Snapshot, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	found, err := c.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	return c.store.Snapshots(ctx, s, found.ID)
}

// DeleteSnapshot deletes a name; the revision stays. It needs the permissions of Snapshot.
func (c *Service) DeleteSnapshot(ctx context.Context, s tenant.Scope, ref, name string) error {
	v, err := c.writable(ctx, s, ref)
	if err != nil {
		return err
	}
	return c.store.DeleteSnapshot(ctx, s, v.Collection.ID, name, snapshotAudit("snapshot.delete", v.Collection.ID, name))
}

func snapshotAudit(action string, collection uuid.UUID, name string) memory.AuditEntry {
	return memory.AuditEntry{Action: action, Target: collection.String(), Detail: map[string]any{"name": name}}
}

func (c *Service) writable(ctx context.Context, s tenant.Scope, ref string) (memory.View, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return memory.View{}, err
	}
	v, err := c.store.OpenView(ctx, s, ref, memory.At{})
	if err == nil && v.Collection.Shared() {
		err = tenant.Check(s, tenant.BaseWrite)
	}
	return v, err
}

const maxSnapshotName = 100

// CheckSnapshotName returns Invalid for a name that could be read as a revision or a time, or that cannot be written in a path.
func CheckSnapshotName(name string) error {
	first, _ := utf8.DecodeRuneInString(name)
	switch {
	case name == "" || len(name) > maxSnapshotName:
		return fault.InvalidField("name", "must have 1 to %d bytes", maxSnapshotName)
	case !unicode.IsLetter(first):
		return fault.InvalidField("name", "must begin with a letter: what begins otherwise is read as a revision or a time")
	case strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || r == '/' || unicode.IsControl(r) }):
		return fault.InvalidField("name", "must not hold a slash or a control character")
	}
	return nil
}

// RevisionOf returns the revision that a caller names: a number, a time (RFC 3339), or the name of a snapshot of the collection.
// nil means the head. field is where the caller wrote it.
func (c *Service) RevisionOf(ctx context.Context, s tenant.Scope, ref, field, at string) (*memory.Revision, error) {
	if at == "" {
		return nil, nil //nolint:nilnil // the head
	}
	if r, err := strconv.ParseInt(at, 10, 64); err == nil {
		return new(memory.Revision(r)), nil
	}
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	v, err := c.store.OpenView(ctx, s, ref, memory.At{})
	if err != nil {
		return nil, err
	}
	if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
		r, err := c.store.RevisionAt(ctx, s, v, t)
		return &r, err
	}
	all, err := c.store.Snapshots(ctx, s, v.Collection.ID)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		if n.Name == at {
			return &n.Revision, nil
		}
	}
	return nil, fault.InvalidField(field, "is neither a revision, a time (2026-01-31T12:00:00Z), nor the name of a snapshot of the collection")
}
