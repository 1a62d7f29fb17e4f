package app

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// What the demo creates in the default tenant.
const (
	demoCollection = "demo"
	demoKeyName    = "demo"
	demoKeyTTL     = 24 * time.Hour
)

// demoJSON is a conversation of two friends, one turn per line.
//
//go:embed demo.json
var demoJSON []byte

// demoTurn is one turn of the conversation. Each becomes a note.
type demoTurn struct {
	Content    string    `json:"content"`
	OccurredAt time.Time `json:"occurred_at"`
	Speaker    string    `json:"speaker"`
	Session    int       `json:"session"`
}

// createDemoKey creates a key that is valid for a day. It revokes the key of an earlier start.
func (g *Gateway) createDemoKey(ctx context.Context) (string, error) {
	k, err := g.replaceKey(ctx, auth.NewKey{Name: demoKeyName, TTL: demoKeyTTL})
	return k.Text, err
}

func (g *Gateway) demoScope(ctx context.Context) (tenant.Scope, error) {
	op := grant.Operator("operator:demo")
	t, err := g.Tenants.Get(ctx, op, DefaultTenant)
	if err != nil {
		return tenant.Scope{}, fmt.Errorf("the demo needs the tenant %s: %w", DefaultTenant, err)
	}
	return wholeTenant(t.ID, op.Actor()), nil
}

// runDemo adds the bundled conversation unless an earlier start has done so, waits until
// its notes are evolved, and prints commands to try.
func (g *Gateway) runDemo(ctx context.Context, stdout io.Writer, key string) error {
	s, err := g.demoScope(ctx)
	if err != nil {
		return err
	}
	_, err = g.Collections.Create(ctx, s, notes.CollectionInput{Name: demoCollection, Policy: memory.PolicyAMEM}, memory.Request{})
	switch {
	case fault.Is(err, fault.Exists): // an earlier start has added the notes
	case err != nil:
		return fmt.Errorf("create the collection of the demo: %w", err)
	default:
		if err := g.addDemoNotes(ctx, s); err != nil {
			return fmt.Errorf("add the notes of the demo: %w", err)
		}
	}
	c, err := g.Collections.Get(ctx, s, demoCollection)
	if err != nil {
		return err
	}
	counts := *cmp.Or(c.Counts, &memory.Counts{})
	_, err = fmt.Fprintf(stdout, demoText, demoCollection, counts.Notes, counts.Links, key, g.URL(), slipboxLines())
	return err
}

// slipboxLines returns the lines that make `slipbox` ask the demo; "" when it is neither a command nor beside this binary.
func slipboxLines() string {
	const ask = "\n  slipbox search \"When is the kiln ready?\"\n"
	if _, err := exec.LookPath("slipbox"); err == nil {
		return ask
	}
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	dir := filepath.Dir(self)
	if _, err := exec.LookPath(filepath.Join(dir, "slipbox")); err != nil {
		return ""
	}
	return "  export PATH=\"$PATH:" + dir + "\"\n" + ask
}

// addDemoNotes adds the notes and waits for the last of their jobs. The jobs of a
// collection run in order, so the earlier ones have ended too.
func (g *Gateway) addDemoNotes(ctx context.Context, s tenant.Scope) error {
	var turns []demoTurn
	if err := json.Unmarshal(demoJSON, &turns); err != nil {
		return err
	}
	lines := make([]notes.BulkLine, len(turns))
	for i, t := range turns {
		lines[i].Note = notes.NewNote{
			Kind: memory.KindMessage, Content: t.Content, OccurredAt: &t.OccurredAt,
			Attributes: map[string]any{"speaker": t.Speaker, "session": t.Session},
		}
	}
	results, err := g.Notes.AddMany(ctx, s, demoCollection, lines)
	if err != nil {
		return err
	}
	var last *memory.Job
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
		last = r.Job
	}
	if last == nil {
		return nil
	}
	return g.Waiters.Watch(ctx, s, last.ID, func(memory.Job) error { return nil })
}

// demoText has commands that work as pasted: ask the memory; add a note and see it described and linked; find it;
// fork everything for another agent.
const demoText = `The collection %[1]q holds a small conversation: %[2]d notes, %[3]d links.
Without a model it is described by key phrases and quoted, never rewritten; docs/offline.md says what a model adds.
Reference of all routes: %[5]s/docs

See it in a browser; the link signs you in:

  %[5]s/console#key=%[4]s

Or paste these lines into another terminal. The key is for the tour: it expires after a
day, and each start with --demo replaces it. Ctrl-C here stops the gateway.

  export SLIPBOX_URL=%[5]s
  export SLIPBOX_KEY=%[4]s
  export SLIPBOX_COLLECTION=%[1]s
%[6]s
Over HTTP:

1. Add a note; the answer shows it described and linked:

  curl -sS -w '\n' "$SLIPBOX_URL/v1/collections/%[1]s/notes?wait=evolved" -H "Authorization: Bearer $SLIPBOX_KEY" \
    -H 'Content-Type: application/json' -d '{"content": "The twelve large vases for Birgit, the gallery owner, will be fired in the new gas kiln."}'

2. Find it; "is_neighbor" marks notes that were found by a link:

  curl -sS -w '\n' "$SLIPBOX_URL/v1/collections/%[1]s/search" -H "Authorization: Bearer $SLIPBOX_KEY" \
    -H 'Content-Type: application/json' -d '{"query": "Which kiln will the vases for the gallery be fired in?", "k": 5, "expand_links": 1}'

3. Fork it all for another agent, in one row; what the fork writes stays there:

  curl -sS -w '\n' "$SLIPBOX_URL/v1/collections/%[1]s/clone" -H "Authorization: Bearer $SLIPBOX_KEY" \
    -H 'Content-Type: application/json' -d '{"agent": "scout", "name": "scouts-demo"}'

`
