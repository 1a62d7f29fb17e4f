package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/slipboxhq/slipbox/internal/text/recalled"
)

// headerCreate names the policy of a collection that does not exist yet.
const headerCreate = "Slipbox-Create"

// maxContent is what a note and a message hold, in bytes.
const maxContent = 64 << 10

// remember stores a text as a note, or messages, and creates the collection when there is none.
func remember(c *call) (answer, error) {
	r, err := rememberRequest(c)
	if err != nil {
		return nil, err
	}
	path, query, err := c.collection()
	if err != nil {
		return nil, err
	}
	policy, err := c.text(argPolicy)
	if err != nil {
		return nil, err
	}
	if policy == "" {
		policy = "amem"
	}
	of := maps.Clone(query)
	c.addQuery(query)
	r.Path = path + r.Path
	var got struct {
		accepted

		Note note `json:"note"`
	}
	head, err := c.send(r, query, &got)
	made := false
	if p, ok := errors.AsType[problem](err); ok && p.Status == http.StatusNotFound && strings.HasPrefix(p.Detail, argCollection) {
		if err = c.create(&r, policy); err == nil {
			head, err = c.send(r, query, &got)
			made = err == nil
		}
	}
	if p, ok := errors.AsType[problem](err); ok && len(r.Body) > maxContent && p.Status == http.StatusUnprocessableEntity {
		p.fix = "A note or a message has at most 64 KiB: store a longer text in parts, with one call for each."
		err = p
	}
	if err != nil {
		return nil, err
	}
	out := &rememberAnswer{Note: got.Note.ID, Job: got.Job.ID, Redacted: head.Header.Get(headerRedacted), Collection: got.Note.Collection, Unread: got.Unread}
	for _, m := range got.Messages {
		out.Messages = append(out.Messages, m.ID)
	}
	if out.Collection == "" {
		out.Collection = c.asGiven()
	}
	out.Created = made && c.createdWith(path, of, append(out.Messages, out.Note)[0])
	return out, nil
}

// createdWith reports whether a collection was created by the write of a note, so that both have one time: of several requests that found
// none, one creates it. A caller who may not read is not told apart.
func (c *call) createdWith(path string, query url.Values, note string) bool {
	query.Set("limit", "2") // an agent begins with blocks
	var got struct {
		Items []struct {
			At    string `json:"at"`
			Notes []struct {
				ID string `json:"id"`
			} `json:"notes"`
		} `json:"items"`
	}
	if _, err := c.send(Request{Method: http.MethodGet, Path: path + "/changes"}, query, &got); err != nil {
		return true
	}
	for i := range got.Items {
		for _, n := range got.Items[i].Notes {
			if n.ID == note {
				return got.Items[i].At == got.Items[0].At
			}
		}
	}
	return false
}

// asGiven returns the collection as the caller names it.
func (c *call) asGiven() string {
	if ref, err := c.text(argCollection); err == nil && ref != "" {
		return ref
	}
	return string(c.args[argExternal])
}

// rememberRequest returns the request that stores what is given, without the path of the collection. What was
// recalled is not stored again.
func rememberRequest(c *call) (Request, error) {
	content, err := c.text("content")
	if err != nil {
		return Request{}, err
	}
	raw, talk := c.args["messages"]
	if talk == (content != "") {
		return Request{}, invalid("content", "exactly one of content and messages is required")
	}
	if !talk {
		if content = recalled.Strip(content); content == "" {
			return Request{}, invalid("content", "has nothing but what was recalled")
		}
		body := c.fields()
		body["content"], _ = json.Marshal(content) //nolint:errchkjson // a string
		whole, err := json.Marshal(body)
		return Request{Method: http.MethodPost, Path: "/notes", Body: whole}, err
	}
	for name := range c.args {
		if c.tool.inBody[name] {
			return Request{}, invalid(name, "belongs to content; each of the messages has its own")
		}
	}
	whole, err := json.Marshal(map[string]json.RawMessage{"messages": raw}) // what was recalled in them is taken out where they are stored
	if err != nil {
		return Request{}, fmt.Errorf("encode messages: %w", err)
	}
	return Request{Method: http.MethodPost, Path: "/messages", Body: whole}, nil
}

// create makes the request create its collection, unless it is refused.
func (c *call) create(r *Request, policy string) error {
	if _, external := c.args[argExternal]; !external && len(c.caller.Own) > 0 {
		return problem{
			Status: http.StatusNotFound, Code: "not_found", Detail: "collection not found", fix: "Leave out collection: the memory of this connection is made on first use.",
		}
	}
	r.Header = http.Header{headerCreate: {policy}}
	return nil
}
