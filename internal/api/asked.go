package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text/parts"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// bindAsked is [bind] of a body that may ask with a dialogue, whose messages are in any form that is known.
func bindAsked[T any](h *core, c *gin.Context) (v T, err error) {
	if !bytes.Contains(rawBody(c), []byte("messages")) {
		return bind[T](c)
	}
	body, err := bind[map[string]any](c)
	if err != nil {
		return v, err
	}
	schema, err := h.doc.schema("Message")
	if err != nil {
		return v, err
	}
	own := slices.Collect(maps.Keys(schema.Properties))
	if err := askedMessages(body, "messages", own); err != nil {
		return v, err
	}
	queries, _ := body["queries"].([]any)
	for i := range queries {
		if query, ok := queries[i].(map[string]any); ok {
			if err := askedMessages(query, "messages", own); err != nil {
				return v, prefixFields("queries."+strconv.Itoa(i), err)
			}
		}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return v, fmt.Errorf("encode a dialogue: %w", err)
	}
	return v, unmarshal(raw, &v)
}

// askedMessages puts the messages of a query into our own form. Those without words are left out unless none is left.
func askedMessages(query map[string]any, field string, own []string) error {
	list, _ := query[field].([]any)
	var said []any
	for i := range list {
		m, err := askedMessage(list[i], own)
		if err != nil {
			return prefixFields(field+"."+strconv.Itoa(i), err)
		}
		if m != nil {
			said = append(said, m)
		}
	}
	if len(list) > 0 && len(said) == 0 {
		return fault.InvalidField(field, "nothing in the messages can be read; at least one needs a text")
	}
	if said != nil {
		query[field] = said
	}
	return nil
}

// askedMessage returns a message in our own form; nil for one without words.
func askedMessage(given any, own []string) (map[string]any, error) {
	m := parts.Object(given)
	if m == nil {
		return nil, fault.InvalidField("", "must be a message or a text; %s", parts.Forms)
	}
	if _, err := checkNames(m, own); err != nil {
		return nil, err
	}
	read := parts.ReadMessage(m)
	out, err := askedTime(m, &read)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"session", "user", "assistant"} {
		if m[name] != nil {
			out[name] = m[name]
		}
	}
	for name, value := range map[string]string{"id": read.ID, "name": read.Name, "role": read.Role} {
		if value != "" {
			out[name] = value
		}
	}
	if read.Named != "" {
		return nil, fault.InvalidField("role", "must be one of %s, or what other programs call them", wording.Or(memory.Roles()...))
	}
	text := read.Text
	if text == "" && read.Tool != "" {
		text, out["role"] = read.Tool, string(memory.RoleTool)
	}
	switch {
	case len(text) > memory.MaxContentBytes:
		return nil, fault.InvalidField("content", "at most %d bytes", memory.MaxContentBytes)
	case text != "":
		out["content"] = text
	case read.Known && m["user"] == nil && m["assistant"] == nil:
		return nil, nil //nolint:nilnil // nobody says anything in it
	}
	return out, nil
}

// askedTime returns a message that has only the time at which it was said, if it says one.
func askedTime(m map[string]any, read *parts.Message) (map[string]any, error) {
	out := map[string]any{}
	text, _ := m["occurred_at"].(string)
	if _, err := filter.ParseLocalTime(text); err == nil {
		out["occurred_at"] = text // with the offset as it was written
		return out, nil
	}
	at := memory.SaidAt(read.At)
	if own := m["occurred_at"]; own != nil && at == nil {
		return nil, fault.InvalidField("occurred_at", "must be %s", memory.TimeForm)
	}
	if at != nil {
		out["occurred_at"] = at.Format(time.RFC3339Nano)
	}
	return out, nil
}
