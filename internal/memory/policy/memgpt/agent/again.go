package agent

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// attrMade is the attribute of a summary that was made again, after some of its messages had changed: earlier versions
// may say what they said before.
const attrMade = "made_again"

// summaryBefore returns the summary of what left the window before. If it is stale, it is made again, which again reports.
func (a *Service) summaryBefore(ctx context.Context, s tenant.Scope, v memory.View, m *Main, retry bool) (old string, again bool, err error) {
	switch {
	case m.summary == nil:
		return "", false, nil
	case !m.summary.Provenance.Stale:
		return m.summary.Content, false, nil
	}
	said, _, err := a.summedAgain(ctx, s, v, m, retry)
	return said.text, true, err
}

// sumUpAgain writes a stale summary again. It is deleted when none of its messages is left.
func (a *Service) sumUpAgain(ctx context.Context, s tenant.Scope, v memory.View, m *Main, f flushing) error {
	said, of, err := a.summedAgain(ctx, s, v, m, f.retry)
	if err != nil {
		return err
	}
	if said.text == "" {
		return a.changeSummary(ctx, s, v, m, f, 0, func(ctx context.Context, tx memory.Tx) error { return tx.Delete(ctx, m.summary.ID) })
	}
	n := *m.summary
	if len(of) > 0 {
		n = a.summaryNote(m, f, said, of)
	}
	n.Content, n.Analyst, n.Provenance.Stale = said.text, said.analyst, false
	n.Attributes = map[string]any{memory.AttrThrough: m.through.String(), "messages": m.summary.Attributes["messages"], attrMade: true}
	return a.putSummary(ctx, s, v, m, f, n, 0)
}

// summedAgain returns the summary of all messages that have left the window, from its last version in which none of those
// is that have changed, and the messages after that version. They are summed up in as many parts as the window needs.
func (a *Service) summedAgain(ctx context.Context, s tenant.Scope, v memory.View, m *Main, retry bool) (said summed, of []queued, err error) {
	base, err := a.unchangedSummary(ctx, s, v, m.summary)
	if err != nil {
		return said, nil, err
	}
	said.text, said.analyst = base.Content, base.Analyst
	after, _ := memory.SumsUp(&base)
	if of, err = a.after(ctx, s, v, after); err != nil {
		return said, nil, err
	}
	if i := slices.IndexFunc(of, func(q queued) bool { return memory.CompareIDs(q.note.ID, m.through) > 0 }); i >= 0 {
		of = of[:i]
	}
	window := m.Window
	if m.Paging.SummaryWindow > 0 {
		window = m.Paging.SummaryWindow
	}
	for rest := of; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size+rest[n].size <= window/2) {
			size += rest[n].size
			n++
		}
		if said, err = a.sumUp(ctx, s, v, m, said.text, rest[:n], retry); err != nil {
			return said, nil, err
		}
		rest = rest[n:]
	}
	return said, of, nil
}

// unchangedSummary returns the last version of a stale summary that covers none of the messages that have changed since;
// an empty note if there is none.
func (a *Service) unchangedSummary(ctx context.Context, s tenant.Scope, v memory.View, stale *memory.Note) (memory.Note, error) {
	text, _ := stale.Attributes[memory.AttrAgain].(string)
	first, err := uuid.Parse(text)
	if err != nil {
		return memory.Note{}, nil //nolint:nilerr // it does not say where: all is summed up again
	}
	for before := memory.Revision(0); ; {
		page, err := a.store.History(ctx, s, v, stale.ID, before, memory.MaxPage)
		if fault.Is(err, fault.NotFound) {
			return memory.Note{}, nil
		}
		if err != nil {
			return memory.Note{}, err
		}
		for i := range page {
			n := &page[i].Note
			if n.Deleted || n.Provenance.Stale {
				continue
			}
			if through, ok := memory.SumsUp(n); ok && memory.CompareIDs(through, first) < 0 {
				return *n, nil
			}
			if n.Attributes[attrMade] == true {
				return memory.Note{}, nil
			}
		}
		before = page[len(page)-1].Note.From
		if len(page) < memory.MaxPage {
			return memory.Note{}, nil
		}
	}
}
