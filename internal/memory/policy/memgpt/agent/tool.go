package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Call is a call of a tool.
type Call struct {
	Tool      string
	Arguments json.RawMessage // an object, or the text of one; empty: none
}

// Result is what a tool returned.
type Result struct {
	OK        bool
	Text      string // for the model; bounded by the window
	Error     string // why the tool failed
	Heartbeat bool   // the model asked to act again, or must, because the tool failed
	Tokens    int    // of Text or Error
	Revision  memory.Revision
}

// run is a call in progress.
type run struct {
	a       *Service
	s       tenant.Scope
	view    memory.View
	args    *arguments
	request memory.Request
	chars   int             // that a result may have
	at      memory.Revision // after the tool has run
	// commit writes the result of a tool in the transaction of its effect; nil: nothing is written. text is the
	// result of what was written.
	commit    func(ctx context.Context, tx memory.Tx, text string) error
	call      string         // its id
	committed bool           // the last transaction wrote the result
	more      map[string]any // attributes of messages that the tool writes
}

// with returns what a tool writes together with its effect. The effect on a block that is attached is in the log of
// another collection: it is kept from happening twice by the id of the call, and its result is written after it.
func (r *run) with(text func(written []memory.Note) string) memory.Request {
	q := r.request
	if r.commit != nil {
		q.With = func(ctx context.Context, tx memory.Tx, written []memory.Note) error {
			r.committed = false
			if v := tx.View(); v.Collection.ID != r.view.Collection.ID {
				return nil
			}
			err := r.commit(ctx, tx, text(written))
			r.committed = err == nil
			return err
		}
	}
	return q
}

// executor runs one tool. A fault that the model can do something about becomes its result.
type executor func(ctx context.Context, r *run) (string, error)

// executors run the tools, by name.
func executors() map[string]executor {
	return map[string]executor{
		toolSend:              sendMessage,
		"core_memory_append":  coreMemoryAppend,
		"core_memory_replace": coreMemoryReplace,
		"memory_insert":       memoryInsert,
		"memory_rethink":      memoryRethink,
		"conversation_search": conversationSearch,
		"archival_insert":     archivalInsert,
		"archival_search":     archivalSearch,

		"open_files":            openFiles,
		"grep_files":            grepFiles,
		"semantic_search_files": semanticSearchFiles,
	}
}

// Step runs one tool (notes:read and notes:write). A tool that fails is not an error: its Result says why.
// Invalid "tool" for a name that is not one of Tools. The request's idempotency key makes a tool that
// writes safe to repeat.
func (a *Service) Step(ctx context.Context, s tenant.Scope, ref string, call Call, r memory.Request) (Result, error) {
	v, p, err := a.openWritable(ctx, s, ref)
	if err != nil {
		return Result{}, err
	}
	if err := a.equip(ctx, s, &v.Collection, &p); err != nil {
		return Result{}, err
	}
	execute := executorOf(&p, call.Tool)
	switch {
	case execute == nil && own(&p, call.Tool) != nil:
		return Result{}, fault.InvalidField("tool", "%s is a tool that the caller runs: run it yourself", call.Tool)
	case execute == nil:
		names := make([]string, len(p.Tools))
		for i := range p.Tools {
			names[i] = p.Tools[i].Name
		}
		return Result{}, fault.InvalidField("tool", "no such tool; there are %s", strings.Join(names, ", "))
	}
	return execute.run(ctx, &run{a: a, s: s, view: v, request: r, chars: resultChars(p.Window), at: v.At}, call.Arguments)
}

// run runs a tool. What the model can do something about is in the result.
func (execute executor) run(ctx context.Context, r *run, arguments json.RawMessage) (out Result, err error) {
	var text string
	if r.args, err = parseArguments(arguments); err == nil {
		out.Heartbeat = r.args.flag(argHeartbeat)
		text, err = execute(ctx, r)
	}
	out.Revision = r.at
	if err == nil {
		out.OK, out.Text = true, cut(text, r.chars)
		out.Tokens = r.a.count(out.Text)
		return out, nil
	}
	if !isForModel(err) || errors.Is(err, errStale) {
		return Result{}, err
	}
	out.Error, out.Heartbeat = cut(explain(err), maxError), true
	out.Tokens = r.a.count(out.Error)
	return out, nil
}

// maxError is how many characters the error of a tool has.
const maxError = 1_000

// Bounds of a result, in characters. Between them it has as many as the window has tokens, which is about
// a quarter of the window.
const (
	minResult = 3_000
	maxResult = 50_000
)

func resultChars(window int) int { return min(max(window, minResult), maxResult) }

// cut returns a text of at most n characters; a notice says when it was cut.
func cut(text string, n int) string {
	size := utf8.RuneCountInString(text)
	if size <= n {
		return text
	}
	notice := fmt.Sprintf("… [cut: %d characters in all]", size)
	keep := max(0, n-utf8.RuneCountInString(notice))
	for i := range text {
		if keep == 0 {
			return text[:i] + notice
		}
		keep--
	}
	return text
}

// isForModel reports whether a model can do something about an error.
func isForModel(err error) bool {
	switch fault.CodeOf(err) { //nolint:exhaustive // the others are the caller's or the operator's
	case fault.Invalid, fault.Malformed, fault.NotFound, fault.Forbidden, fault.Conflict, fault.Exists, fault.Precondition, fault.TooLarge:
		return true
	}
	return false
}

// explain returns an error as a model reads it: everything that is wrong.
func explain(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	if len(f.Fields) < 2 {
		return f.Message
	}
	parts := make([]string, len(f.Fields))
	for i, x := range f.Fields {
		parts[i] = x.Field + ": " + x.Reason
	}
	return strings.Join(parts, "; ")
}

// sendMessage stores what the agent says in recall storage.
func sendMessage(ctx context.Context, r *run) (string, error) {
	message := r.args.text("message")
	if err := r.args.check(); err != nil {
		return "", err
	}
	attributes := map[string]any{memory.AttrTool: toolSend}
	maps.Copy(attributes, r.more)
	w, err := r.a.notes.AddMessages(ctx, r.s, r.view.Collection.ID.String(), notes.NewMessages{
		Messages:    []notes.NewMessage{{Role: memory.RoleAssistant, Content: message, Attributes: attributes, Recalled: r.commit != nil}},
		OnDuplicate: memory.DuplicateKeep,
	}, r.with(func([]memory.Note) string { return delivered }))
	r.at = w.Revision
	return delivered, err
}

// The tool by which an agent speaks, and its result.
const (
	toolSend  = "send_message"
	delivered = "delivered"
)

func coreMemoryAppend(ctx context.Context, r *run) (string, error) {
	label, content := r.args.text("label"), r.args.text("content")
	return r.edit(ctx, label, func(b *block.Block) error { return b.Append(content) })
}

func coreMemoryReplace(ctx context.Context, r *run) (string, error) {
	label, old, put := r.args.text("label"), r.args.anyText("old"), r.args.anyText("new")
	return r.edit(ctx, label, func(b *block.Block) error { return b.Replace(old, put) })
}

func memoryInsert(ctx context.Context, r *run) (string, error) {
	label, text, line := r.args.text("label"), r.args.text("text"), r.args.whole("line", -1, -1, 1<<20)
	return r.edit(ctx, label, func(b *block.Block) error { return b.Insert(text, line) })
}

func memoryRethink(ctx context.Context, r *run) (string, error) {
	label, text := r.args.text("label"), r.args.anyText("text")
	return r.edit(ctx, label, func(b *block.Block) error { return b.Rewrite(text) })
}

// edit changes a block and returns its new value.
func (r *run) edit(ctx context.Context, label string, change func(*block.Block) error) (string, error) {
	if err := r.args.check(); err != nil {
		return "", err
	}
	q := r.with(func(written []memory.Note) string { return cut(block.Of(&written[0]).Value, r.chars) })
	if r.commit != nil {
		q.Idempotency = &memory.Idempotency{Method: "CALL", Path: r.view.Collection.ID.String(), Key: r.call}
	}
	w, err := r.a.blocks.Edit(ctx, r.s, r.view.Collection.ID.String(), label, q, change)
	if fault.Is(err, fault.NotFound) {
		return "", r.unknownLabel(ctx)
	}
	r.at = w.Revision
	return w.Block.Value, err
}

// unknownLabel names the labels that there are.
func (r *run) unknownLabel(ctx context.Context) error {
	list, err := r.a.blocks.List(ctx, r.s, r.view, uuid.Nil, 50)
	if err != nil {
		return err
	}
	labels := make([]string, len(list))
	for i := range list {
		labels[i] = fmt.Sprintf("%q", list[i].Key)
	}
	return fault.InvalidField("label", "no block has it; there are %s", strings.Join(labels, ", "))
}
