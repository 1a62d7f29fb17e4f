package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// member is a member of a JSON object. Objects are lists of them, so that what is not changed keeps its order and text.
type member struct {
	name  string
	value json.RawMessage
}

// editHooks returns the settings of an assistant with these commands of slipbox, by event, in place of those that are
// there. Everything else stays, in its order. Settings that need no change are returned as they are.
func editHooks(settings []byte, assistant string, commands map[string]string) ([]byte, error) {
	whole := settings
	if len(bytes.TrimSpace(settings)) == 0 {
		whole = []byte("{}")
	}
	root, err := members(whole, "the file")
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(root, func(m member) bool { return m.name == "hooks" })
	var events []member
	if at >= 0 {
		if events, err = members(root[at].value, "hooks"); err != nil {
			return nil, err
		}
	}
	changed := false
	for _, name := range []string{eventPrompt, eventStop} {
		i := slices.IndexFunc(events, func(m member) bool { return m.name == name })
		var groups []json.RawMessage
		if i >= 0 {
			if groups, err = elements(events[i].value, "hooks."+name); err != nil {
				return nil, err
			}
		}
		edited, different, err := editGroups(groups, "hooks."+name, assistant, commands[name])
		if err != nil {
			return nil, err
		}
		changed = changed || different
		switch {
		case !different:
		case len(edited) == 0:
			events = slices.Delete(events, i, i+1)
		case i >= 0:
			events[i].value = array(edited)
		default:
			events = append(events, member{name, array(edited)})
		}
	}
	switch {
	case !changed:
		return settings, nil
	case len(events) == 0 && at >= 0:
		root = slices.Delete(root, at, at+1)
	case at >= 0:
		root[at].value = object(events)
	default:
		root = append(root, member{"hooks", object(events)})
	}
	var out bytes.Buffer
	if err := json.Indent(&out, object(root), "", indentOf(settings)); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// ours is the command line of a hook of slipbox.
var ours = regexp.MustCompile(`(^|[/\\'" ])slipbox[^ ]*['"]? hook (\S+) (recall|capture)( |$)`)

// editGroups returns the groups of an event with the command in place of those of slipbox for the assistant; "" removes
// them. The first is replaced where it is.
func editGroups(groups []json.RawMessage, where, assistant, command string) (edited []json.RawMessage, changed bool, err error) {
	entry, err := json.Marshal(struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"` // seconds; a hook of slipbox ends long before
	}{"command", command, 10})
	if err != nil {
		return nil, false, err
	}
	placed := command == ""
	for _, group := range groups {
		parts, err := members(group, where)
		if err != nil {
			return nil, false, err
		}
		i := slices.IndexFunc(parts, func(m member) bool { return m.name == "hooks" })
		if i < 0 {
			edited = append(edited, group)
			continue
		}
		list, err := elements(parts[i].value, where+".hooks")
		if err != nil {
			return nil, false, err
		}
		var kept []json.RawMessage
		found := false
		for _, hook := range list {
			var h struct {
				Command string `json:"command"`
			}
			_ = json.Unmarshal(hook, &h) // of another form, it is not one of ours
			m := ours.FindStringSubmatch(h.Command)
			switch {
			case len(m) < 3 || m[2] != assistant:
				kept = append(kept, hook)
				continue
			case !placed && h.Command == command:
				kept = append(kept, hook)
			case !placed:
				kept = append(kept, entry)
				found = true
			default:
				found = true
			}
			placed = true
		}
		switch {
		case !found:
			edited = append(edited, group)
			continue
		case len(kept) > 0:
			parts[i].value = array(kept)
			edited = append(edited, object(parts))
		}
		changed = true
	}
	if !placed {
		edited = append(edited, object([]member{{"hooks", array([]json.RawMessage{entry})}}))
		changed = true
	}
	return edited, changed, nil
}

// members returns the members of an object in their order.
func members(raw []byte, where string) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := opens(d, '{', where, "an object"); err != nil {
		return nil, err
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, notJSON(where, err)
		}
		m := member{name: fmt.Sprint(name)}
		if err := d.Decode(&m.value); err != nil {
			return nil, notJSON(where, err)
		}
		out = append(out, m)
	}
	return out, closes(d, where)
}

// elements returns the elements of an array.
func elements(raw []byte, where string) ([]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := opens(d, '[', where, "an array"); err != nil {
		return nil, err
	}
	var out []json.RawMessage
	for d.More() {
		var e json.RawMessage
		if err := d.Decode(&e); err != nil {
			return nil, notJSON(where, err)
		}
		out = append(out, e)
	}
	return out, closes(d, where)
}

func opens(d *json.Decoder, delim json.Delim, where, what string) error {
	token, err := d.Token()
	if err != nil {
		return notJSON(where, err)
	}
	if token != delim {
		return fmt.Errorf("%s is not %s", where, what)
	}
	return nil
}

func closes(d *json.Decoder, where string) error {
	if _, err := d.Token(); err != nil {
		return notJSON(where, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s has something after its end", where)
	}
	return nil
}

func notJSON(where string, err error) error {
	return fmt.Errorf("%s is not valid JSON (%w)", where, err)
}

func object(list []member) json.RawMessage {
	parts := make([]string, len(list))
	for i, m := range list {
		parts[i] = plainJSON(m.name) + ":" + string(m.value)
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}")
}

func array(list []json.RawMessage) json.RawMessage {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = string(e)
	}
	return json.RawMessage("[" + strings.Join(parts, ",") + "]")
}

// plainJSON encodes a string without escapes that only HTML needs.
func plainJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) //nolint:errchkjson // a string can be encoded
	return strings.TrimSpace(b.String())
}

// indentOf returns what a file indents by; two spaces when it does not.
func indentOf(content []byte) string {
	for line := range bytes.Lines(content) {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && len(bytes.TrimSpace(rest)) > 0 {
			return string(line[:len(line)-len(rest)])
		}
	}
	return "  "
}

// changes returns the lines that differ between two texts, with - before one that goes and + before one that comes, and
// up to two lines around them.
func changes(before, after string) []string {
	d := diffmatchpatch.New()
	a, b, lines := d.DiffLinesToRunes(before, after)
	var all []string
	for _, part := range d.DiffCharsToLines(d.DiffMainRunes(a, b, false), lines) {
		mark := map[diffmatchpatch.Operation]string{diffmatchpatch.DiffDelete: "- ", diffmatchpatch.DiffInsert: "+ "}[part.Type]
		for line := range strings.Lines(part.Text) {
			all = append(all, cmp.Or(mark, "  ")+strings.TrimSuffix(line, "\n"))
		}
	}
	var out []string
	for i, line := range all {
		near := all[max(0, i-2):min(len(all), i+3)]
		if slices.ContainsFunc(near, func(l string) bool { return l[0] != ' ' }) {
			out = append(out, line)
		} else if len(out) > 0 && out[len(out)-1] != "  …" {
			out = append(out, "  …")
		}
	}
	return out
}
