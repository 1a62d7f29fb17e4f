package notes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// KeyMeta is the key of the profile that callers write: the name of the person, and what they say about
// the person and the companion.
const KeyMeta = "meta"

// attrBank is the attribute of that profile that belongs to an imported document.
const attrBank = "bank"

// maxProfileText is the number of bytes of one text of a profile.
const maxProfileText = 4096

// ProfileText returns what callers say about a person in one line: the name first, then the texts among
// the attributes in the order of their names.
func ProfileText(attributes map[string]any) string {
	var parts []string
	add := func(name string) {
		if s, ok := attributes[name].(string); ok && strings.TrimSpace(s) != "" {
			parts = append(parts, strings.ReplaceAll(name, "_", " ")+": "+strings.TrimSpace(s))
		}
	}
	add(memory.AttrName)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if name != memory.AttrName {
			add(name)
		}
	}
	if len(parts) == 0 {
		return "a person"
	}
	return strings.Join(parts, "; ")
}

// PutProfile replaces what callers say about the person of a collection: texts by name, such as "name"
// or "speaking_style". What an import added beside texts stays. Invalid names a text that is too long.
func (n *Service) PutProfile(ctx context.Context, s tenant.Scope, ref string, texts map[string]string) (NoteWritten, error) {
	var check memory.Validation
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		check.Text(name, texts[name], maxProfileText)
	}
	if err := check.Err(); err != nil {
		return NoteWritten{}, err
	}
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return NoteWritten{}, err
	}
	for try := 1; ; try++ {
		w, err := n.tryPutProfile(ctx, s, &c, texts)
		if !errors.Is(err, errProfileMoved) || try == moveTries {
			return w, err
		}
	}
}

// errProfileMoved is returned when the profile was created or deleted meanwhile.
var errProfileMoved = fault.New(fault.Conflict, "the profile has changed meanwhile; send the request again")

func (n *Service) tryPutProfile(ctx context.Context, s tenant.Scope, c *memory.Collection, texts map[string]string) (NoteWritten, error) {
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return NoteWritten{}, err
	}
	fresh := false
	now, err := n.store.NoteByKey(ctx, s, v, memory.KindProfile, KeyMeta)
	switch {
	case fault.Is(err, fault.NotFound):
		fresh = true
		now = memory.Note{
			Kind: memory.KindProfile, Key: KeyMeta, Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateEvolved,
			Provenance: memory.Provenance{Actor: s.Actor()},
		}
		if now.ID, err = uuid.NewV7(); err != nil {
			return NoteWritten{}, fault.Wrap(err, fault.Internal, "an id could not be generated")
		}
		if err := n.checkQuota(ctx, s, 1, now.Size()); err != nil {
			return NoteWritten{}, err
		}
	case err != nil:
		return NoteWritten{}, err
	}
	w, _, err := n.edit(ctx, s, c, noteEdit{
		cause: memory.CausePatch, action: "profile.put", id: now.ID,
		change: func(ctx context.Context, tx memory.Tx, old *memory.Note) (memory.Note, bool, error) {
			if (old == nil) != fresh {
				return memory.Note{}, false, errProfileMoved
			}
			put := now
			if old != nil {
				put = *old
			} else {
				if _, err := tx.NoteByKey(ctx, memory.KindProfile, KeyMeta); err == nil {
					return memory.Note{}, false, errProfileMoved
				} else if !fault.Is(err, fault.NotFound) {
					return memory.Note{}, false, err
				}
				put.OccurredAt = tx.Now()
			}
			attributes := map[string]any{}
			if kept, ok := put.Attributes[attrBank]; ok {
				attributes[attrBank] = kept
			}
			for name, text := range texts {
				attributes[name] = text
			}
			put.Attributes, put.Content = attributes, ProfileText(attributes)
			return put, false, nil
		},
	})
	return w, err
}
