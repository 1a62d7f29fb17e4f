package mem0

import (
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Told says sentences to a new memory, one exchange each, and returns the facts that it holds after each of them. It is
// for tests that ask the analyst, which this package cannot import.
func Told(t *testing.T, p *Policy, m memory.Model, sentences ...string) [][]string {
	t.Helper()
	k := newTestDesk(t, p, "")
	k.model = m
	var out [][]string
	for _, s := range sentences {
		k.userSays(s)
		out = append(out, k.contents(memory.KindFact))
	}
	return out
}

// Line is what somebody says in a test.
type Line struct {
	Name, Session, Text string
	After               time.Duration // since the line before
}

// Learned says lines to a new memory, one exchange each, and returns its facts.
func Learned(t *testing.T, p *Policy, m memory.Model, lines ...Line) []string {
	t.Helper()
	k := newTestDesk(t, p, "")
	k.model = m
	for _, l := range lines {
		k.now = k.now.Add(l.After)
		k.userSays(l.Text, func(n *memory.Note) {
			for name, v := range map[string]string{memory.AttrName: l.Name, memory.AttrSession: l.Session} {
				if v != "" {
					n.Attributes[name] = v
				}
			}
		})
	}
	return k.contents(memory.KindFact)
}
