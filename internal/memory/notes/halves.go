package notes

import (
	"context"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/secret"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// halfBytes is how much of the end of one message, and of the beginning of the next, may be parts of one secret.
const halfBytes = 256

const space = " \t\r\n"

// screenHalves applies the collection's setting to secrets that are split across two messages: at the end of one and the
// beginning of the next one of its session. Both parts are redacted. Of a message that is stored already only the next one's part
// is: what is stored does not change, and half a secret opens nothing. A refusal names the second message.
func (n *Service) screenHalves(ctx context.Context, s tenant.Scope, c *memory.Collection, list []*message) error {
	var r memory.Validation
	for i, m := range list {
		if !secret.MayContinue(m.note.Content) {
			continue
		}
		var before *memory.Note
		stored := i == 0 || list[i-1].session != m.session
		switch {
		case !stored:
			before = &list[i-1].note
		case i == 0:
			var err error
			if before, _, err = n.lastMessage(ctx, s, c, m); err != nil {
				return err
			}
		}
		if before == nil {
			continue
		}
		first, second, kind := secret.Halves(tail(before.Content), head(m.note.Content))
		if kind == "" {
			continue
		}
		switch c.Secrets() {
		case memory.SecretsKeep:
			return nil
		case memory.SecretsRefuse:
			r.Addf(memory.ElementField("messages", i)+".content", "has the end of a secret (%s), which the collection refuses", kind)
			continue
		case memory.SecretsRedact:
		}
		secret.Note(ctx, kind)
		m.note.Content = secret.Mark(kind) + m.note.Content[second:]
		if !stored && first > 0 {
			said := strings.TrimRight(before.Content, space)
			before.Content = said[:len(said)-first] + secret.Mark(kind)
		}
	}
	return r.Err()
}

func tail(s string) string {
	s = strings.TrimRight(s, space)
	return s[max(0, len(s)-halfBytes):]
}

func head(s string) string { return s[:min(len(s), halfBytes)] }
