package mcp

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
)

// Schemas of arguments that tools have besides fields of the API, or in a shorter form.
const (
	schemaMessages = `{"type":"array","minItems":1,"maxItems":500,"description":"In the order in which they were said; also in the forms of OpenAI, Anthropic, Google or LangChain.","items":{"type":["object","string"],"pattern":"^[^{]","properties":{` +
		`"role":{"type":"string","description":"user, assistant, system or tool.","default":"user"},"content":{"type":"string"},"name":{"type":"string","description":"Of the speaker."},` +
		`"occurred_at":{"type":"string","description":"RFC 3339; default now."},"session":{"type":"string"},"ttl_seconds":{"type":"integer","description":"Seconds until it expires."},"id":{"type":"string","description":"Your own; makes the message safe to send again."}}}}`
	schemaFilter   = `{"type":"object","minProperties":1,"description":"A leaf such as {\"field\":\"tags\",\"op\":\"contains\",\"value\":\"ml\"}, or {\"and\":[…]}, {\"or\":[…]}, {\"not\":…}. Fields: kind, tags, keywords, category, importance, occurred_at, created_at, state, attributes.<path>; op: eq ne gt gte lt lte in contains icontains exists."}`
	schemaPolicy   = `{"type":"string","description":"Policy of the collection if it is created.","default":"amem"}`
	schemaQuestion = `{"type":"string","description":"What the wrong memory says, in words; answers the notes to choose from and changes nothing."}`
	schemaErase    = `{"type":"boolean","description":"Removes every version, in forks too; nothing can be restored."}`
	schemaNoteIDs  = `{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":50,"description":"Ids of the notes."}`
	schemaNewText  = `{"type":"string","description":"The text that is true."}`
)

// Schemas of answers.
const (
	outNote       = `{"type":"object","required":["note"],"properties":{"note":` + outNoteBody + `,"revision":{"type":"integer"},"job":{"type":"string","description":"Analyzes the note; absent if none does."},"redacted":{"type":"string","description":"Kinds of secrets that were taken out."}}}`
	outNoteBody   = `{"type":"object","required":["content","id"],"properties":{"content":{"type":"string"},"id":{"type":"string"},"kind":{"type":"string"},"context":{"type":"string"},"occurred_at":{"type":"string"},"revision":{"type":"integer"},"cut":{"type":"boolean","description":"Parts are left out; read the resource for all."}}}`
	outHits       = `{"type":"object","required":["hits"],"properties":{"hits":{"type":"array","items":{"type":"object","required":["content","note"],"properties":{"content":{"type":"string"},"note":{"type":"string"},"score":{"type":"number"},"occurred_at":{"type":"string"},"collection":{"type":"string"},"cut":{"type":"boolean"},"exchange":{"type":"array","description":"The other messages of its exchange.","items":{"type":"object","required":["content","note"],"properties":{"content":{"type":"string"},"note":{"type":"string"},"cut":{"type":"boolean"}}}}}}},"answerable":{"type":"number","description":"How well the hits fit the question, 0 to 1."},"left_out":{"type":"integer","description":"Hits that did not fit."}}}`
	outContext    = `{"type":"object","required":["text","notes"],"properties":{"text":{"type":"string"},"notes":{"type":"array","items":{"type":"string"},"description":"Ids of the notes of the marks [1], [2], …"},"answerable":{"type":"number"},"left_out":{"type":"integer"}}}`
	outDeleted    = `{"type":"object","required":["deleted"],"properties":{"deleted":{"type":"array","items":{"type":"string"}},"sources":{"type":"array","items":{"type":"string"}}` + outErased + `}}`
	outLinks      = `{"type":"object","required":["links"],"properties":{"links":{"type":"array","items":{"type":"object","properties":{"target":{"type":"string"},"relation":{"type":"string"},"confidence":{"type":"number"}}}},"left_out":{"type":"integer"}}}`
	outMessages   = `{"type":"object","required":["messages"],"properties":{"messages":{"type":"array","items":{"type":"string"},"description":"Ids."},"learned":{"type":"array","items":{"type":"object","properties":{"memory":{"type":"string"},"event":{"type":"string"},"note":{"type":"string"}}}},"revision":{"type":"integer"},"job":{"type":"string"},"redacted":{"type":"string"},"unread":{"type":"integer","description":"Parts without a text, which were left out."},"left_out":{"type":"integer"}}}`
	outRemember   = `{"type":"object","required":["collection"],"properties":{"collection":{"type":"string"},"created":{"type":"boolean"},"note":{"type":"string"},"messages":{"type":"array","items":{"type":"string"}},"job":{"type":"string"},"redacted":{"type":"string"},"unread":{"type":"integer","description":"Parts without a text, which were left out."},"left_out":{"type":"integer"}}}`
	outCollection = `{"type":"object","required":["name","id"],"properties":` + outCollectionBody + `}`
	// The fields of a collection.
	outCollectionBody = `{"name":{"type":"string"},"id":{"type":"string"},"display_name":{"type":"string"},"agent":{"type":"string"},"external":{"type":"object"},"policy":{"type":"string"},"notes":{"type":"integer"},"created_at":{"type":"string"}}`
	outCollections    = `{"type":"object","required":["collections"],"properties":{"collections":{"type":"array","items":` + outCollection + `},"next_cursor":{"type":"string"},"left_out":{"type":"integer"}}}`
	outHistory        = `{"type":"object","required":["versions"],"properties":{"versions":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"deleted":{"type":"boolean"},"cause":{"type":"string"},"actor":{"type":"string"},"changed_at":{"type":"string"},"revision":{"type":"integer"},"cut":{"type":"boolean"}}}},"next_cursor":{"type":"string"},"left_out":{"type":"integer"}}}`
	outDiff           = `{"type":"object","required":["changes","links"],"properties":{"changes":{"type":"array","items":{"type":"object","required":["note","change"],"properties":{"note":{"type":"string"},"change":{"type":"string"},"content":{"type":"string"},"fields":{"type":"object","description":"Of a changed note, what differs."},"cut":{"type":"boolean"}}}},"links":{"type":"array","items":{"type":"object","properties":{"source":{"type":"string"},"target":{"type":"string"},"relation":{"type":"string"},"change":{"type":"string"}}}},"next_cursor":{"type":"string"},"left_out":{"type":"integer"}}}`
	outMerged         = `{"type":"object","required":["notes","links"],"properties":{"notes":{"type":"integer","description":"Notes that the merge changes."},"links":{"type":"integer"},"revision":{"type":"integer"},"conflicts":{"type":"array","items":{"type":"object","properties":{"note":{"type":"string"},"field":{"type":"string"},"ours":{"type":"string"},"theirs":{"type":"string"}}}},"review":{"type":"string","description":"Id of the review that waits for approval."},"in_review":{"type":"integer"},"job":{"type":"string","description":"Id of the job that merges a large change."},"left_out":{"type":"integer"}}}`
	outCorrected      = `{"type":"object","required":["candidates"],"properties":{"note":` + outNoteBody + `,"candidates":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"note":{"type":"string"},"score":{"type":"number"}}}},"left_out":{"type":"integer"}}}`
	// The fields of an erasure.
	outErased    = `,"kept":{"type":"array","items":{"type":"string"},"description":"Collections where something is left to erase."},"traces":{"type":"string","description":"What the files of the database keep: cleared, pending, vacuum_needed, autovacuum."},"waiting":{"type":"array","items":{"type":"string"},"description":"Jobs that erase earlier summaries."}`
	outForgotten = `{"type":"object","required":["deleted"],"properties":{"deleted":{"type":"array","items":{"type":"string"}},"missing":{"type":"array","items":{"type":"string"}},"sources":{"type":"array","items":{"type":"string"}},"candidates":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"note":{"type":"string"},"score":{"type":"number"}}}},"left_out":{"type":"integer"}` + outErased + `}}`
)

// definitions returns the tools, in the order in which they are listed.
func definitions() []definition {
	return []definition{
		{
			name: "build_context", title: "Recall", operation: "buildContext", target: targetCollection, kind: reads, output: outContext,
			description: "Recalls what is known about a question, as text for a prompt: profile, facts, episodes and recent messages with their dates. Call it before you answer.",
			fields:      []string{"query", "token_budget", "as_of", "min_answerable"}, own: map[string]string{"collections": schemaRefs}, required: []string{"query"}, run: buildContext,
		},
		{
			name: "search_notes", title: "Search notes", operation: "search", target: targetCollection, kind: reads, output: outHits,
			description: "Finds notes by words and by meaning, the best first. Its ids are what the other tools take as note.",
			fields:      []string{"query", "k", "mode", "filter", "expand_links", "min_score", "as_of"},
			own:         map[string]string{"filter": schemaFilter, "collections": schemaRefs}, required: []string{"query"}, run: search,
		},
		{
			name: "remember", title: "Remember", operation: "createNote", target: targetCollection, kind: adds, output: outRemember,
			description: "Stores a text (content) or a conversation (messages) to be found later. The collection is created on first use. Say who and when in the text; leave out secrets and what was recalled.",
			fields:      []string{"content", "tags", "attributes", "occurred_at", "expires_at", "ttl_seconds", "wait"}, own: map[string]string{"messages": schemaMessages, "policy": schemaPolicy}, run: remember,
		},
		{
			name: "correct", title: "Correct a memory", operation: "patchNote", target: targetCollection, kind: replaces, output: outCorrected,
			description: "Replaces the text of a wrong memory; its history keeps the old one. Without note, it searches for query and answers the notes to choose from.",
			fields:      []string{"content"}, own: map[string]string{"content": schemaNewText, argNote: pathArguments[argNote], "query": schemaQuestion}, run: correct,
		},
		{
			name: "forget", title: "Forget", operation: "deleteNote", target: targetCollection, kind: replaces, output: outForgotten,
			description: "Deletes memories by their ids. Without notes, it searches for query and answers the notes to choose from; nothing is deleted then. erase removes every version for good.",
			own:         map[string]string{"notes": schemaNoteIDs, "query": schemaQuestion, argErase: schemaErase}, run: forget,
		},
		{
			name: "add_note", title: "Add a note", operation: "createNote", target: targetCollection, kind: adds, output: outNote,
			description: "Adds a note to a collection that exists. The policy then describes and links it.",
			fields:      []string{"content", "context", "keywords", "tags", "category", "attributes", "importance", "occurred_at", "expires_at", "ttl_seconds", "infer", "on_duplicate", "wait"}, required: []string{"content"}, run: at((*call).collection, addNote),
		},
		{
			name: "get_note", title: "Read a note", operation: "getNote", target: targetNote, kind: reads, output: outNote,
			description: "Reads a note with its links.", fields: []string{"as_of"}, run: at((*call).note, getNote),
		},
		{
			name: "update_note", title: "Change a note", operation: "patchNote", target: targetNote, kind: replaces, output: outNote,
			description: "Changes the named fields of a note; null clears one. The history keeps the old version.",
			fields:      []string{"content", "context", "keywords", "tags", "category", "attributes", "importance", "occurred_at", "expires_at", "ttl_seconds"}, run: updateNote,
		},
		{
			name: "delete_note", title: "Delete a note", operation: "deleteNote", target: targetNote, kind: replaces, output: outDeleted,
			description: "Deletes a note; erase removes every version for good.", own: map[string]string{argErase: schemaErase}, run: at((*call).note, deleteNote),
		},
		{
			name: "link_notes", title: "Link notes", operation: "putLinks", target: targetNote, kind: replaces, output: outLinks,
			description: "Adds links from a note to others, or changes those with the same target and relation.",
			fields:      []string{"links"}, required: []string{"links"}, run: at((*call).note, linkNotes),
		},
		{
			name: "add_messages", title: "Add messages", operation: "addMessages", target: targetCollection, kind: adds, output: outMessages,
			description: "Adds messages of a conversation to a collection that exists. Its policy learns from them; with wait \"evolved\" the answer has what it learned.",
			fields:      []string{"messages", "infer", "on_duplicate", "wait"}, own: map[string]string{"messages": schemaMessages}, required: []string{"messages"}, run: at((*call).collection, addMessages),
		},
		{
			name: "list_collections", title: "List collections", operation: "listCollections", kind: reads, output: outCollections,
			description: "Lists the collections that the key can use.", fields: []string{"limit", "cursor", "name", "user", "order"}, run: listCollections,
		},
		{
			name: "fork", title: "Fork a memory", operation: "cloneCollection", target: targetCollection, kind: adds, output: outCollection,
			description: "Makes a fork, at once: it reads the memory as it is now, and neither sees what is written to the other later. diff shows what the fork changed, merge brings it back.",
			fields:      []string{"name", "at_revision", "ttl_seconds"}, run: at((*call).collection, fork),
		},
		{
			name: "diff", title: "Compare memories", operation: "diffCollection", target: targetCollection, kind: reads, output: outDiff,
			description: "Shows what differs between a fork and its base, two forks (against), or two revisions of one memory (against_at): notes and links that were added, removed or changed.",
			fields:      []string{"against", "at", "against_at", "kind", "limit", "cursor"}, run: at((*call).collection, diff),
		},
		{
			name: "merge", title: "Merge memories", operation: "mergeCollection", target: targetCollection, kind: replaces, output: outMerged,
			description: "Takes over what another memory of the same lineage (from), such as a fork, has changed. Refused with the conflicts where both changed a field, unless strategy decides. dry_run changes nothing; with review a person approves it.",
			fields:      []string{"from", "strategy", "notes", "kinds", "min_confidence", "min_age_seconds", "dry_run", "review", "approve_from", "wait"},
			required:    []string{"from"}, run: at((*call).collection, merge),
		},
		{
			name: "clone_collection", title: "Clone a collection", operation: "cloneCollection", target: targetName, kind: adds, output: outCollection,
			description: "Makes a fork (at once, nothing is copied) or a copy of a collection, for another agent or with ids of an application.",
			fields:      []string{"name", "agent", "external", "mode", "at_revision", "ttl_seconds"}, run: cloneCollection,
		},
		{
			name: "note_history", title: "History of a note", operation: "getNoteHistory", target: targetNote, kind: reads, output: outHistory,
			description: "Lists the versions of a note, newest first: what it said, who changed it and why.", fields: []string{"limit", "cursor", "as_of"}, run: at((*call).note, noteHistory),
		},
	}
}

const schemaRefs = `{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":50,"description":"Ids or names of several collections, in place of collection."}`

// several sends a question to one collection, or to all that the arguments name.
func (c *call) several(operation string, body map[string]json.RawMessage, out any) error {
	path := "/v1/" + operation
	if _, one := c.args[argCollection]; one {
		for _, other := range []string{argExternal, "collections"} {
			if _, both := c.args[other]; both {
				return invalid(other, "only one of collection, collections and external is accepted")
			}
		}
		ref, err := c.text(argCollection)
		if err != nil {
			return err
		}
		path = pathCollections + "/" + url.PathEscape(ref) + "/" + operation
	} else {
		for _, name := range []string{argExternal, "collections"} {
			if v, ok := c.args[name]; ok {
				body[name] = v
			}
		}
		if body[argExternal] == nil && body["collections"] == nil {
			_, _, err := c.collection() // says what is missing
			return err
		}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode a question: %w", err)
	}
	_, err = c.send(Request{Method: http.MethodPost, Path: path, Body: raw}, nil, out)
	if p, ok := errors.AsType[problem](err); ok && p.Status == http.StatusNotFound && len(c.caller.Own) > 0 && body[argExternal] != nil {
		return nil // the memory of the caller is made on first use: nothing is known yet
	}
	return err
}

// fields returns the arguments that are fields of the body.
func (c *call) fields() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, v := range c.args {
		if c.tool.inBody[name] {
			out[name] = v
		}
	}
	return out
}

// contextTokens is the size of a context, so that it and the ids of its notes fit.
const contextTokens = 1200

func buildContext(c *call) (answer, error) {
	body := c.fields()
	var asked float64
	if raw, given := body["token_budget"]; !given || json.Unmarshal(raw, &asked) == nil && asked > contextTokens {
		body["token_budget"] = json.RawMessage(strconv.Itoa(contextTokens))
	}
	var got struct {
		Text      string `json:"text"`
		Citations []struct {
			Note string `json:"note"`
		} `json:"citations"`
		Answerable *float64 `json:"answerable"`
	}
	if err := c.several("context", body, &got); err != nil {
		return nil, err
	}
	out := &contextAnswer{Text: recalled.Mark(text.EscapeTags(got.Text)), Notes: []string{}, Answerable: got.Answerable}
	for _, n := range got.Citations {
		out.Notes = append(out.Notes, n.Note)
	}
	return out, nil
}

// found is an answer of a search.
type found struct {
	Hits []struct {
		Note       hitNote   `json:"note"`
		Score      float64   `json:"score"`
		Collection string    `json:"collection"`
		Exchange   []hitNote `json:"exchange"`
	} `json:"hits"`
	Answerable *float64 `json:"answerable"`
}

// hitNote is what a search shows of a note.
type hitNote struct {
	Content    string `json:"content"`
	ID         string `json:"id"`
	OccurredAt string `json:"occurred_at"`
}

func (f *found) list() []hit {
	out := make([]hit, len(f.Hits))
	for i, h := range f.Hits {
		out[i] = hit{Content: h.Note.Content, Note: h.Note.ID, Score: h.Score, OccurredAt: h.Note.OccurredAt, Collection: h.Collection}
		for _, m := range h.Exchange {
			if m.ID != h.Note.ID {
				out[i].Exchange = append(out[i].Exchange, said{Content: m.Content, Note: m.ID})
			}
		}
	}
	return out
}

func search(c *call) (answer, error) {
	var got found
	if err := c.several("search", c.fields(), &got); err != nil {
		return nil, err
	}
	return &searchAnswer{Hits: got.list(), Answerable: got.Answerable}, nil
}

// candidates is how many notes a tool offers to choose from.
const candidates = 5

// candidates returns the notes that fit the argument query best.
func (c *call) candidates() ([]hit, error) {
	query, err := c.text("query")
	if err != nil {
		return nil, err
	}
	if query == "" {
		return nil, problem{
			Status: http.StatusUnprocessableEntity, Code: "invalid", Detail: "neither a note nor a query was given",
			fix: "Name the note by its id, or describe it as query to get the ids of notes.",
		}
	}
	path, in, err := c.collection()
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"query": query, "k": candidates})
	if err != nil {
		return nil, fmt.Errorf("encode a question: %w", err)
	}
	var got found
	_, err = c.send(Request{Method: http.MethodPost, Path: path + "/search", Body: body}, in, &got)
	return got.list(), err
}

func correct(c *call) (answer, error) {
	if _, given := c.args[argNote]; !given {
		hits, err := c.candidates()
		return &choiceAnswer{Candidates: hits, what: "corrected", next: "correct again with note and content"}, err
	}
	if _, given := c.args["content"]; !given {
		return nil, missing("content")
	}
	got, err := c.patch()
	if err != nil {
		return nil, err
	}
	return &choiceAnswer{Note: got, Candidates: []hit{}, what: "corrected"}, nil
}

func (c *call) patch() (*note, error) {
	path, query, err := c.note()
	if err != nil {
		return nil, err
	}
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	var got note
	_, err = c.send(Request{Method: http.MethodPatch, Path: path, Body: body}, query, &got)
	return &got, err
}

func forget(c *call) (answer, error) {
	raw, given := c.args["notes"]
	if !given {
		hits, err := c.candidates()
		return &choiceAnswer{Candidates: hits, Deleted: []string{}, what: "deleted", next: "forget again with notes"}, err
	}
	var ids []string
	if err := json.Unmarshal(raw, &ids); err != nil || len(ids) == 0 || len(ids) > 50 {
		return nil, invalid("notes", "must be a list of 1 to 50 ids")
	}
	path, query, err := c.collection()
	if err != nil {
		return nil, err
	}
	if err := c.addErase(query); err != nil {
		return nil, err
	}
	out := &choiceAnswer{Deleted: []string{}, what: "deleted"}
	for _, id := range ids {
		head, err := c.send(Request{Method: http.MethodDelete, Path: path + "/notes/" + url.PathEscape(id)}, query, nil)
		if p, ok := errors.AsType[problem](err); ok && p.Status == http.StatusNotFound && strings.HasPrefix(p.Detail, argNote) {
			out.Missing = append(out.Missing, clip.Runes(id, maxName))
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Deleted = append(out.Deleted, id)
		out.Sources = append(out.Sources, sourcesOf(head)...)
		if err := out.erased(head.Body); err != nil {
			return nil, err
		}
	}
	out.Sources = slices.DeleteFunc(out.Sources, func(id string) bool { return slices.Contains(out.Deleted, id) })
	return out, nil
}

// sourcesOf returns the notes that may still say what was deleted.
func sourcesOf(deleted Response) []string {
	if ids := deleted.Header.Get("Slipbox-Sources"); ids != "" {
		return strings.Split(ids, ",")
	}
	return nil
}

const argErase = "erase"

// addErase adds the argument that erases to the query of a deletion.
func (c *call) addErase(query url.Values) error {
	raw, given := c.args[argErase]
	if !given {
		return nil
	}
	var erase bool
	if err := json.Unmarshal(raw, &erase); err != nil {
		return invalid(argErase, "must be true or false")
	}
	if erase {
		query.Set(argErase, "true")
	}
	return nil
}

// created is an answer of a note that was added.
type created struct {
	Note     note  `json:"note"`
	Revision int64 `json:"revision"`
	Job      struct {
		ID string `json:"id"`
	} `json:"job"`
}

func addNote(c *call, path string, query url.Values) (answer, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	c.addQuery(query)
	var got created
	head, err := c.send(Request{Method: http.MethodPost, Path: path + "/notes", Body: body}, query, &got)
	return &noteAnswer{Note: got.Note, Revision: got.Revision, Job: got.Job.ID, Redacted: head.Header.Get(headerRedacted), did: "Added"}, err
}

const headerRedacted = "Slipbox-Redacted"

func getNote(c *call, path string, query url.Values) (answer, error) {
	c.addQuery(query)
	var got note
	_, err := c.send(Request{Method: http.MethodGet, Path: path}, query, &got)
	return &noteAnswer{Note: got, Revision: got.Revision}, err
}

func updateNote(c *call) (answer, error) {
	got, err := c.patch()
	if err != nil {
		return nil, err
	}
	return &noteAnswer{Note: *got, Revision: got.Revision, did: "Changed"}, nil
}

func deleteNote(c *call, path string, query url.Values) (answer, error) {
	id, err := c.text(argNote)
	if err != nil {
		return nil, err
	}
	if err := c.addErase(query); err != nil {
		return nil, err
	}
	head, err := c.send(Request{Method: http.MethodDelete, Path: path}, query, nil)
	if err != nil {
		return nil, err
	}
	out := &choiceAnswer{Deleted: []string{id}, Sources: sourcesOf(head), what: "deleted"}
	err = out.erased(head.Body)
	return out, err
}

// linkTries is how often links are merged when the note changes meanwhile.
const linkTries = 3

func linkNotes(c *call, path string, query url.Values) (answer, error) {
	var added []json.RawMessage
	if err := json.Unmarshal(c.args["links"], &added); err != nil {
		return nil, invalid("links", "must be a list of links")
	}
	for try := 1; ; try++ {
		var now struct {
			Items []link `json:"items"`
		}
		head, err := c.send(Request{Method: http.MethodGet, Path: path + "/links"}, query, &now)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(map[string]any{"links": mergeLinks(now.Items, added)})
		if err != nil {
			return nil, fmt.Errorf("encode links: %w", err)
		}
		var got struct {
			Items []link `json:"items"`
		}
		_, err = c.send(Request{Method: http.MethodPut, Path: path + "/links", Body: body, Header: http.Header{"If-Match": head.Header.Values("ETag")}}, query, &got)
		if p, ok := errors.AsType[problem](err); ok && p.Status == http.StatusPreconditionFailed && try < linkTries {
			continue
		}
		return &linksAnswer{Links: got.Items}, err
	}
}

// mergeLinks returns the links of a note with others added. One with the same target and relation replaces.
func mergeLinks(now []link, added []json.RawMessage) []any {
	type key struct{ target, relation string }
	replaced := map[key]bool{}
	var out []any
	for _, raw := range added {
		l := link{Relation: "related"}
		_ = json.Unmarshal(raw, &l) // the API says what is wrong
		replaced[key{l.Target, l.Relation}] = true
	}
	for _, l := range now {
		if !replaced[key{l.Target, l.Relation}] {
			out = append(out, l)
		}
	}
	for _, raw := range added {
		out = append(out, raw)
	}
	return out
}

// accepted is an answer to messages.
type accepted struct {
	Messages []struct {
		ID string `json:"id"`
	} `json:"messages"`
	Learned  []learned `json:"learned"`
	Unread   int       `json:"unread"`
	Revision int64     `json:"revision"`
	Job      struct {
		ID string `json:"id"`
	} `json:"job"`
}

func (a *accepted) answer(head Response) *messagesAnswer {
	out := &messagesAnswer{Messages: []string{}, Learned: a.Learned, Unread: a.Unread, Revision: a.Revision, Job: a.Job.ID, Redacted: head.Header.Get(headerRedacted)}
	for _, m := range a.Messages {
		out.Messages = append(out.Messages, m.ID)
	}
	return out
}

func addMessages(c *call, path string, query url.Values) (answer, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	c.addQuery(query)
	var got accepted
	head, err := c.send(Request{Method: http.MethodPost, Path: path + "/messages", Body: body}, query, &got)
	return got.answer(head), err
}

func listCollections(c *call) (answer, error) {
	query := url.Values{}
	c.addQuery(query)
	var got struct {
		Items      []collection `json:"items"`
		NextCursor string       `json:"next_cursor"`
	}
	_, err := c.send(Request{Method: http.MethodGet, Path: pathCollections}, query, &got)
	return &collectionsAnswer{Collections: flatten(got.Items), NextCursor: got.NextCursor}, err
}

func cloneCollection(c *call) (answer, error) {
	ref, err := c.text(argCollection)
	if err != nil {
		return nil, err
	}
	return c.clone(pathCollections+"/"+url.PathEscape(ref), nil)
}

func fork(c *call, path string, query url.Values) (answer, error) {
	return c.clone(path, query)
}

func (c *call) clone(path string, query url.Values) (answer, error) {
	fields := c.fields()
	if len(c.caller.Own) > 0 && fields[argExternal] == nil {
		name, err := c.text("name")
		if err == nil {
			fields[argExternal], err = c.ownRun(cmp.Or(name, "fork "+rand.Text()))
		}
		if err != nil {
			return nil, err
		}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode a clone: %w", err)
	}
	var got struct {
		collection

		Copy *collection `json:"collection"` // of a copy, with a job
	}
	_, err = c.send(Request{Method: http.MethodPost, Path: path + "/clone", Body: body}, query, &got)
	if got.Copy != nil {
		got.collection = *got.Copy
	}
	return &collectionAnswer{collection: flat(got.collection)}, err
}

func noteHistory(c *call, path string, query url.Values) (answer, error) {
	c.addQuery(query)
	var got struct {
		Items []struct {
			version

			Note struct {
				Content string `json:"content"`
			} `json:"note"`
		} `json:"items"`
		NextCursor string `json:"next_cursor"`
	}
	_, err := c.send(Request{Method: http.MethodGet, Path: path + "/history"}, query, &got)
	out := &historyAnswer{Versions: []version{}, NextCursor: got.NextCursor}
	for _, v := range got.Items {
		v.Content = v.Note.Content
		out.Versions = append(out.Versions, v.version)
	}
	return out, err
}
