package letta

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// metaFile is the member of a collection's metadata that keeps what an imported file says of its agent.
const metaFile = "agent_file"

// aboutAgent is what metaFile holds.
type aboutAgent struct {
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	AgentType   string   `json:"agent_type,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Tools       []string `json:"tools,omitempty"` // that this agent does not have
}

// maxAbout is how many bytes a text of aboutAgent has, and maxListed how many tags and tools.
const (
	maxAbout  = 512
	maxListed = 50
)

// Import fills the memory of an agent from an agent file (collections:write and notes:write, and base:write if the
// collection is shared). name chooses one of several agents by id or name; "": the only one.
//
// The whole file is checked before anything is written. Blocks, tool rules and settings are written immediately, messages and
// passages by a job. A block that the collection has with another value is left as it is. Importing a file again writes
// nothing.
//
// Faults: Malformed or Invalid naming places of the file, TooLarge, QuotaExceeded.
func (l *Service) Import(ctx context.Context, s tenant.Scope, ref string, raw []byte, name string) (Report, error) {
	for _, p := range []tenant.Permission{tenant.CollectionsWrite, tenant.NotesWrite} {
		if err := tenant.Check(s, p); err != nil {
			return Report{}, err
		}
	}
	c, err := l.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return Report{}, err
	}
	telemetry.NameMemoryStore(ctx, c.ID)
	if err := l.agentOnly(&c); err != nil {
		return Report{}, err
	}
	out := &left{}
	a, err := parse(raw, name, out)
	if err != nil {
		return Report{}, err
	}
	im := importRun{l: l, s: s, c: &c, a: a, left: out, report: Report{Agent: a.Name, Blocks: []string{}, Tools: []string{}}}
	if err := im.run(ctx); err != nil {
		return Report{}, err
	}
	im.report.Left = out.sorted()
	return im.report, nil
}

// importRun is a running import.
type importRun struct {
	l      *Service
	s      tenant.Scope
	c      *memory.Collection
	a      *agentPart
	left   *left
	report Report
}

func (im *importRun) run(ctx context.Context) error {
	changes, err := im.checkBlocks()
	if err != nil {
		return err
	}
	r := newReader(im.c, im.l.clock(), im.a, "messages", im.left)
	if err := r.read(im.a); err != nil {
		return err
	}
	im.report.Messages = len(r.lines)
	if im.a.slipbox != nil {
		for i, n := range im.a.slipbox.Notes {
			kind, _ := n[lineKind].(string)
			if !slices.Contains(carriedKinds(), memory.Kind(kind)) {
				return fault.InvalidField(memory.ElementField("metadata.slipbox.notes", i)+".kind", "must be one of %s", wording.Or(carriedKinds()...))
			}
			if kind == string(memory.KindMessage) {
				im.report.Messages++
			} else if kind != string(memory.KindSummary) {
				im.report.Passages++
			}
			r.lines = append(r.lines, n)
		}
	}
	config, about, err := im.settings()
	if err != nil {
		return err
	}
	if err := im.patch(ctx, config, about); err != nil {
		return err
	}
	if err := im.putBlocks(ctx, changes); err != nil {
		return err
	}
	im.report.Job, err = im.l.imports.Start(ctx, im.s, im.c.ID.String(), &lineReader{lines: r.lines})
	return err
}

// carriedKinds are the kinds of notes that an agent file holds beside blocks.
func carriedKinds() []memory.Kind {
	return []memory.Kind{memory.KindMessage, memory.KindPassage, memory.KindNote, memory.KindSummary}
}

// blockChange is a block to write.
type blockChange struct {
	label, path string
	change      block.Change
}

// checkBlocks returns the blocks of the file as they will be written. Invalid for one that a collection cannot have, and
// for labels that occur twice.
func (im *importRun) checkBlocks() ([]blockChange, error) {
	if len(im.a.Inline) > block.MaxBlocks {
		return nil, fault.New(fault.TooLarge, "the agent has more than %d blocks", block.MaxBlocks)
	}
	seen := map[string]string{}
	var out []blockChange
	for i := range im.a.Inline {
		b := &im.a.Inline[i]
		if first, ok := seen[b.Label]; ok {
			return nil, fault.InvalidField(b.path+".label", "%s has the label %q, too", first, b.Label)
		}
		seen[b.Label] = b.path
		if err := block.CheckLabel(b.Label); err != nil {
			return nil, under(err, b.path)
		}
		limit := max(block.DefaultLimit, utf8.RuneCountInString(b.Value))
		if b.Limit != nil {
			limit = *b.Limit
		}
		if limit > block.MaxLimit {
			im.left.add(b.path+".limit", fmt.Sprintf("became %d, the most that a block may have", block.MaxLimit))
			limit = block.MaxLimit
		}
		change := block.Change{Value: &b.Value, Limit: &limit, ReadOnly: &b.ReadOnly, Metadata: b.Metadata}
		if change.Metadata == nil {
			change.Metadata = map[string]any{}
		}
		if b.Description != nil {
			change.Description = b.Description
		}
		fresh := block.New(b.Label)
		if err := fresh.Put(change); err != nil {
			return nil, under(err, b.path)
		}
		out = append(out, blockChange{b.Label, b.path, change})
	}
	return out, nil
}

// under returns a fault about an element with its fields below the element.
func under(err error, path string) error {
	return fault.Rename(err, func(field string) string { return path + "." + field })
}

// putBlocks writes the blocks.
func (im *importRun) putBlocks(ctx context.Context, changes []blockChange) error {
	v, err := im.l.store.OpenView(ctx, im.s, im.c.ID.String(), memory.At{})
	if err != nil {
		return err
	}
	list, err := im.l.blocks.List(ctx, im.s, v, uuid.Nil, 0)
	if err != nil {
		return err
	}
	for _, c := range changes {
		screened, err := im.c.ScreenText(ctx, "value", *c.change.Value)
		if err != nil {
			return under(err, c.path)
		}
		c.change.Value = &screened
		at := slices.IndexFunc(list, func(n memory.Note) bool { return block.Label(&n) == c.label })
		if at >= 0 {
			old := block.Of(&list[at])
			switch {
			case list[at].Collection != im.c.ID:
				im.left.add(c.path, fmt.Sprintf("the collection shows an attached block %q", c.label))
				continue
			case old.Value == *c.change.Value && old.Value != "": // imported before
				continue
			case old.Value != "":
				im.left.add(c.path, fmt.Sprintf("the collection has a block %q with another value", c.label))
				continue
			}
		}
		if _, err := im.l.blocks.Put(ctx, im.s, im.c.ID.String(), c.label, c.change, memory.Request{}); err != nil {
			return under(err, c.path)
		}
		im.report.Blocks = append(im.report.Blocks, c.label)
	}
	return nil
}

// settings returns the settings of the policy and what is kept about the agent.
func (im *importRun) settings() (config, about map[string]any, err error) {
	rules, approve := importRules(im.a.ToolRules, "tool_rules", im.left)
	config = map[string]any{}
	if im.a.slipbox != nil && len(im.a.slipbox.Config) > 0 {
		if err := decode(im.a.slipbox.Config, &config, "metadata.slipbox.policy_config"); err != nil {
			return nil, nil, err
		}
		var own struct {
			Rules   []memory.ToolRule `json:"tool_rules"`
			Approve []string          `json:"approve"`
		}
		if err := decode(im.a.slipbox.Config, &own, "metadata.slipbox.policy_config"); err != nil {
			return nil, nil, err
		}
		// The rules of the file count when they were changed after the export.
		if sameJSON(exportRules(own.Rules, own.Approve), im.a.ToolRules) {
			rules, approve = own.Rules, own.Approve
		}
	}
	delete(config, "tool_rules")
	delete(config, "approve")
	if len(rules) > 0 {
		config["tool_rules"] = rules
	}
	if len(approve) > 0 {
		config["approve"] = approve
	}
	im.report.Rules = len(rules) + len(approve)
	return config, im.about(), nil
}

// sameJSON reports whether two values are the same JSON.
func sameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// about returns what is kept about the agent, and sorts its tools into those that there are and those that are not carried.
func (im *importRun) about() map[string]any {
	a := aboutAgent{Name: short(im.a.Name), AgentType: short(im.a.AgentType)}
	if im.a.Description != nil {
		a.Description = short(*im.a.Description)
	}
	for _, tag := range im.a.Tags {
		if len(a.Tags) < maxListed {
			a.Tags = append(a.Tags, short(tag))
		}
	}
	for i, t := range im.a.tools {
		name, path := fromLetta(t.Name), memory.ElementField("tools", i)
		switch {
		case name == "":
			im.left.add(path, "it has no name")
		case im.l.agent.HasTool(im.c, name):
			im.report.Tools = append(im.report.Tools, name)
		default:
			reason := "only its name is kept: this agent has no such tool"
			if t.SourceCode != nil && *t.SourceCode != "" {
				reason = "only its name is kept: source code is never run"
			}
			im.left.add(path, fmt.Sprintf("%s: %s", short(name), reason))
			if len(a.Tools) < maxListed {
				a.Tools = append(a.Tools, short(t.Name))
			}
		}
	}
	raw, err := json.Marshal(a)
	var out map[string]any
	if err != nil || json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// short returns a text of at most maxAbout bytes on one line.
func short(s string) string {
	return clip.Head(strings.Join(strings.Fields(s), " "), maxAbout)
}

// patch writes the settings. Names of models that this gateway does not have are left out.
func (im *importRun) patch(ctx context.Context, config, about map[string]any) error {
	p := notes.CollectionPatch{Metadata: nullable.NewNullableWithValue(map[string]any{metaFile: about})}
	if len(config) > 0 {
		p.PolicyConfig = nullable.NewNullableWithValue(config)
	}
	if im.c.DisplayName == "" && tenant.CheckDisplayName("display_name", short(im.a.Name)) == nil && short(im.a.Name) != "" {
		p.DisplayName = nullable.NewNullableWithValue(short(im.a.Name))
	}
	_, err := im.l.collections.Patch(ctx, im.s, im.c.ID.String(), p)
	if !fault.Is(err, fault.Invalid) {
		return err
	}
	before := maps.Clone(config)
	for _, name := range []string{"model", "summary_model"} {
		if config[name] != nil {
			delete(config, name)
			im.left.add("metadata.slipbox.policy_config."+name, fmt.Sprintf("this gateway has no model %q", before[name]))
		}
	}
	if len(config) == len(before) {
		return err
	}
	p.PolicyConfig = nullable.NewNullableWithValue(config)
	_, err = im.l.collections.Patch(ctx, im.s, im.c.ID.String(), p)
	return err
}

// lineReader reads lines as JSON, one after another.
type lineReader struct {
	lines []line
	rest  []byte
}

// Read implements io.Reader.
func (r *lineReader) Read(p []byte) (n int, err error) {
	for len(r.rest) == 0 {
		if len(r.lines) == 0 {
			return 0, io.EOF
		}
		if r.rest, err = json.Marshal(r.lines[0]); err != nil {
			return 0, fault.Wrap(err, fault.Internal, "encode a line of the import")
		}
		r.rest, r.lines = append(r.rest, '\n'), r.lines[1:]
	}
	n = copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
