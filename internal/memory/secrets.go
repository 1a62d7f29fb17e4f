package memory

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/secret"
)

// Secrets is what a collection does with keys, card numbers and passwords in the texts that are written to it. It is the
// setting SettingSecrets of every policy.
type Secrets string

// The choices.
const (
	SecretsRedact Secrets = "redact" // the default: a mark that names the kind replaces the secret
	SecretsRefuse Secrets = "refuse" // the write is refused
	SecretsKeep   Secrets = "keep"
)

// SettingSecrets is the name of the setting in a policy's config.
const SettingSecrets = "secrets"

// Secrets returns the setting of the collection.
func (c *Collection) Secrets() Secrets {
	var config struct {
		Secrets Secrets `json:"secrets"`
	}
	if len(c.PolicyConfig) > 0 && json.Unmarshal(c.PolicyConfig, &config) == nil && config.Secrets != "" {
		return config.Secrets
	}
	return SecretsRedact
}

// Redacted reports whether a secret was redacted from a text. What such a text says is about the secret, so nothing is to be
// learned from it, and it is not important.
func Redacted(text string) bool { return secret.Marked(text) }

// WithoutMarks returns a text without the marks of redacted secrets: they name no topic.
func WithoutMarks(text string) string { return secret.Unmark(text) }

// ScreenNote applies the setting to the texts of a note, all but its key: with SecretsRedact it replaces the secrets,
// with SecretsRefuse it returns Invalid, which names the fields and the kinds. It reports whether it changed the note; lists and
// attributes are then new ones. What was redacted is noted for the answer to the caller (secret.WithReport). What was not said
// is left out first (LeaveOut).
func (c *Collection) ScreenNote(ctx context.Context, n *Note) (changed bool, err error) {
	left := LeaveOut(n)
	changed, err = c.screenTexts(ctx, n)
	return changed || left, err
}

func (c *Collection) screenTexts(ctx context.Context, n *Note) (changed bool, err error) {
	s := screen{of: c}
	content, description := s.text("content", n.Content), s.text("context", n.Context)
	category, keywords, tags := s.text("category", n.Category), s.list("keywords", n.Keywords), s.list("tags", n.Tags)
	attributes, _ := s.value("attributes", "", n.Attributes).(map[string]any)
	if changed, err = s.outcome(ctx); changed {
		n.Content, n.Context, n.Category, n.Keywords, n.Tags, n.Attributes = content, description, category, keywords, tags, attributes
	}
	return changed, err
}

// ScreenKey returns Invalid for an id or a natural key that holds a secret, unless the collection keeps secrets. It is
// refused where texts are redacted, too: a key that was changed would name nothing. Ids of other systems are often numbers as
// long as a card's, so a number is not a secret here.
func (c *Collection) ScreenKey(field, key string) error {
	if isID(key) {
		return nil
	}
	found := slices.DeleteFunc(secret.Find(key), func(f secret.Found) bool { return f.Kind == secret.Card || f.Kind == secret.PIN })
	if len(found) == 0 || c.Secrets() == SecretsKeep {
		return nil
	}
	return fault.InvalidField(field, "has a secret (%s), and an id is not changed; use another one", strings.Join(secret.Kinds(found), ", "))
}

// ScreenLink is ScreenNote for the attributes of a link.
func (c *Collection) ScreenLink(ctx context.Context, l *Link) (changed bool, err error) {
	s := screen{of: c}
	attributes, _ := s.value("attributes", "", l.Attributes).(map[string]any)
	if changed, err = s.outcome(ctx); changed {
		l.Attributes = attributes
	}
	return changed, err
}

// ScreenText is ScreenNote for one text. field names it in a refusal.
func (c *Collection) ScreenText(ctx context.Context, field, text string) (string, error) {
	s := screen{of: c}
	out := s.text(field, text)
	if changed, err := s.outcome(ctx); !changed {
		return text, err
	}
	return out, nil
}

// ScreenJSON is ScreenNote for the texts of a JSON value, such as the payload of a job.
func (c *Collection) ScreenJSON(ctx context.Context, field string, raw json.RawMessage) (json.RawMessage, error) {
	if len(secret.Find(string(raw))) == 0 {
		return raw, nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return raw, nil //nolint:nilerr // it is not JSON, so no text of a caller
	}
	s := screen{of: c}
	v = s.value(field, "", v)
	changed, err := s.outcome(ctx)
	if !changed {
		return raw, err
	}
	out, err := json.Marshal(v)
	return out, fault.Wrap(err, fault.Internal, "encode a text without its secrets")
}

// screen collects the secrets of one input. The setting is read only when there is one.
type screen struct {
	of     *Collection
	mode   Secrets
	kinds  []string
	fields Validation
}

// text returns a text without its secrets, or as it is if the collection keeps or refuses them.
func (s *screen) text(field, text string) string { return s.after(field, "", text) }

// after is text for the value that follows a name: "password" in a name says what its value is.
func (s *screen) after(field, name, text string) string {
	if len(text) < 3 || isID(text) {
		return text
	}
	found := secret.Find(name + text)
	at := 0
	for _, f := range found {
		if f.End <= len(name) {
			continue
		}
		f.Start, f.End = max(0, f.Start-len(name)), f.End-len(name)
		found[at], at = f, at+1
	}
	if found = found[:at]; at == 0 {
		return text
	}
	if s.mode == "" {
		s.mode = s.of.Secrets()
	}
	kinds := secret.Kinds(found)
	switch s.mode {
	case SecretsKeep:
		return text
	case SecretsRefuse:
		s.fields.Addf(field, "has a secret (%s), which the collection refuses", strings.Join(kinds, ", "))
		return text
	case SecretsRedact:
	}
	s.kinds = append(s.kinds, kinds...)
	return secret.Replace(text, found)
}

// list returns a list without secrets; the list is not changed.
func (s *screen) list(field string, list []string) []string {
	out := list
	for i, t := range list {
		if clean := s.text(ElementField(field, i), t); clean != t {
			if &out[0] == &list[0] {
				out = slices.Clone(list)
			}
			out[i] = clean
		}
	}
	return out
}

// value returns free JSON without secrets; objects and lists are not changed.
func (s *screen) value(at, name string, v any) any {
	switch x := v.(type) {
	case string:
		if secret.Names(name) {
			return s.after(at, name+": ", x)
		}
		return s.text(at, x)
	case []any:
		out := x
		for i, e := range x {
			before := len(s.kinds)
			clean := s.value(at+"."+strconv.Itoa(i), name, e)
			if len(s.kinds) > before {
				if &out[0] == &x[0] {
					out = slices.Clone(x)
				}
				out[i] = clean
			}
		}
		return out
	case map[string]any:
		out, cloned := x, false
		for k, e := range x {
			before := len(s.kinds)
			clean := s.value(at+"."+k, k, e)
			if len(s.kinds) == before {
				continue
			}
			if !cloned {
				out, cloned = make(map[string]any, len(x)), true
				maps.Copy(out, x)
			}
			out[k] = clean
		}
		return out
	}
	return v
}

func (s *screen) outcome(ctx context.Context) (changed bool, err error) {
	slices.SortFunc(s.fields.Fields, func(a, b fault.Field) int { return strings.Compare(a.Field, b.Field) })
	if err := s.fields.Err(); err != nil || len(s.kinds) == 0 {
		return false, err
	}
	secret.Note(ctx, s.kinds...)
	return true, nil
}

// isID reports whether a text is an id of ours, as attributes have them.
func isID(s string) bool {
	return len(s) == 36 && s[8] == '-' && s[13] == '-' && uuid.Validate(s) == nil
}
