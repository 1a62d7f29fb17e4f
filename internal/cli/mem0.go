package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/memory/transfer"
	"github.com/slipboxhq/slipbox/internal/wording"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// mem0Platform is the address of mem0's own service.
const mem0Platform = "https://api.mem0.ai"

const (
	// importedAtOnce is how many notes one import has.
	importedAtOnce = 2_000
	// tidyTime is how long a command that was interrupted may take to remove what it needed.
	tidyTime = time.Second
)

// mem0IDs are the names of mem0's ids, in the order of idNames.
var mem0IDs = [...]string{"user_id", "agent_id", "app_id", "run_id"}

// mem0Memory is a memory as mem0 answers it.
type mem0Memory struct{ transfer.Mem0Memory }

func (m *mem0Memory) ids() [len(mem0IDs)]string {
	return [...]string{m.UserID, m.AgentID, m.AppID, m.RunID}
}

// mem0Entity is a user, agent, app or run: an index of idNames, and an id.
type mem0Entity struct {
	kind int
	id   string
}

func (e mem0Entity) String() string { return idNames[e.kind] + "=" + e.id }

// home returns the entity whose collection a memory belongs to: its user, else its agent, app or run.
func (m *mem0Memory) home(asked mem0Entity) mem0Entity {
	for kind, id := range m.ids() {
		if id != "" {
			return mem0Entity{kind, id}
		}
	}
	return asked
}

// mem0Report is what an import did, or would do.
type mem0Report struct {
	DryRun         bool                `json:"dry_run"`
	Entities       int                 `json:"entities"`
	Memories       int                 `json:"memories"` // that mem0 has, each once
	Imported       int                 `json:"imported"`
	Known          int                 `json:"known"` // that were there already
	Duplicates     []mem0Duplicate     `json:"duplicates"`
	Contradictions []mem0Contradiction `json:"contradictions"`
	Refused        []mem0Refused       `json:"refused"`
}

// mem0Duplicate is a memory with the text of an older one of the same entity. It is not imported.
type mem0Duplicate struct {
	Entity string `json:"entity"`
	Memory string `json:"memory"`
	Kept   string `json:"kept"`
	Left   string `json:"left"`
}

// mem0Contradiction is two memories of an entity of which the newer one ends the older one.
type mem0Contradiction struct {
	Entity  string `json:"entity"`
	Older   string `json:"older"` // id; "" when it is not known which memory said it
	Newer   string `json:"newer"`
	Said    string `json:"said"` // by the older one
	Says    string `json:"says"` // by the newer one
	Retired bool   `json:"retired"`
}

// mem0Refused is a memory, or an entity, that cannot be imported.
type mem0Refused struct {
	Entity string `json:"entity"`
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

// importMem0 imports what mem0 remembers.
func (c *cli) importMem0() *cobra.Command {
	in := mem0Import{cli: c}
	cmd := &cobra.Command{
		Use: "mem0", Short: "Import the memories of mem0",
		Long: "Import the memories of mem0's platform, or of its open-source server (--oss). The key of mem0 is\n" +
			"MEM0_API_KEY. Each user gets a collection with the policy mem0, as a program that moves to\n" +
			"<gateway>/mem0 does; ids, times, categories and metadata are kept.\n\n" +
			"A memory with the text of an older one is left out. What ends an older memory (a move, another job) is\n" +
			"found by the gateway's model, and not without one, in a collection that is deleted afterwards; --retire\n" +
			"deletes these older memories, unless they were said again later or the newer one could not be imported.\n\n" +
			"An import that was interrupted continues when the command is repeated: what is there is not written again.",
		Example: "  slipbox import mem0 --dry-run\n" +
			"  slipbox import mem0 --oss --from http://127.0.0.1:8000 --entity user=nora",
		Args: command.NoArgs,
		RunE: c.run(func(cmd *cobra.Command, _ []string, to *client) error {
			in.to, to.patience = to, restartTime
			in.report = mem0Report{DryRun: in.dryRun, Duplicates: []mem0Duplicate{}, Contradictions: []mem0Contradiction{}, Refused: []mem0Refused{}}
			err := in.run(cmd.Context())
			c.errs.done()
			if err != nil {
				return err
			}
			if err := in.print(); err != nil {
				return err
			}
			if n := len(in.report.Refused); n > 0 {
				return failure{fmt.Sprintf("%s could not be imported; the reasons are above, and the same command tries them again", count(n, "memory", "memories")), ExitRefused}
			}
			return nil
		}),
	}
	f := cmd.Flags()
	f.StringVar(&in.source.base, "from", mem0Platform, "address of mem0, as a `URL`")
	f.BoolVar(&in.source.oss, "oss", false, "it is mem0's open-source server, which lists no users: --entity names them")
	f.StringArrayVar(&in.entities, "entity", nil, "import only this `TYPE=ID`, such as user=nora; may be repeated")
	f.BoolVar(&in.dryRun, "dry-run", false, "write nothing that stays; only report what there is")
	f.BoolVar(&in.unchecked, "no-check", false, "do not look for contradictions")
	f.BoolVar(&in.retire, "retire", false, "delete the older one of two memories that contradict each other; its history stays")
	return cmd
}

// mem0Import is one run of the command.
type mem0Import struct {
	*cli

	to                        *client
	source                    mem0Source
	entities                  []string
	dryRun, unchecked, retire bool
	report                    mem0Report
}

func (in *mem0Import) run(ctx context.Context) error {
	base, err := parseBase(in.source.base)
	if err != nil {
		return err
	}
	in.source.base, in.source.key, in.source.http = base, in.getenv("MEM0_API_KEY"), in.http
	if in.source.key == "" && !in.source.oss {
		return errors.New("there is no key of mem0; set MEM0_API_KEY")
	}
	asked, err := in.asked(ctx)
	if err != nil {
		return err
	}
	homes, order, err := in.read(ctx, asked)
	if err != nil {
		return err
	}
	in.report.Entities = len(order)
	for _, home := range order {
		if err := in.entity(ctx, home, homes[home]); err != nil {
			return err
		}
	}
	return nil
}

// asked returns the entities to import.
func (in *mem0Import) asked(ctx context.Context) ([]mem0Entity, error) {
	if len(in.entities) == 0 {
		if in.source.oss {
			return nil, errors.New("mem0's open-source server lists no users; name them with --entity user=ID")
		}
		in.errs.statusf("reading mem0's users…")
		return in.source.entities(ctx)
	}
	out := make([]mem0Entity, 0, len(in.entities))
	for _, text := range in.entities {
		name, id, _ := strings.Cut(text, "=")
		kind := slices.Index(idNames, name)
		if kind < 0 || id == "" {
			return nil, fmt.Errorf("--entity %q: want TYPE=ID with a type of %s", text, wording.Or(idNames...))
		}
		out = append(out, mem0Entity{kind, id})
	}
	return out, nil
}

// read returns the memories by the entity that they belong to, the oldest first, each once; and these entities in the order in
// which they were found.
func (in *mem0Import) read(ctx context.Context, asked []mem0Entity) (homes map[mem0Entity][]mem0Memory, order []mem0Entity, err error) {
	homes = map[mem0Entity][]mem0Memory{}
	seen := map[string]bool{}
	for _, e := range asked {
		err := in.source.memories(ctx, e, func(list []mem0Memory) {
			for i := range list {
				m := &list[i]
				if seen[m.ID] {
					continue
				}
				seen[m.ID] = true
				home := m.home(e)
				if homes[home] == nil {
					order = append(order, home)
				}
				homes[home] = append(homes[home], *m)
				in.report.Memories++
			}
			in.errs.statusf("read %s, now of %s…", count(in.report.Memories, "memory", "memories"), e)
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for _, list := range homes {
		slices.SortStableFunc(list, func(a, b mem0Memory) int { return a.Created().Compare(b.Created()) })
	}
	return homes, order, nil
}

// entity imports the memories of one entity. That the gateway refuses it is reported, and no error.
func (in *mem0Import) entity(ctx context.Context, home mem0Entity, all []mem0Memory) error {
	var list []mem0Memory
	first := map[string]string{}
	last := map[string]int{} // by id: the position in all where a memory, or one with the same text, is last
	for i, m := range all {
		text := strings.TrimSpace(m.Memory)
		kept, twice := first[text]
		switch {
		case text == "":
			in.refuse(home, m.ID, "it has no text")
		case twice:
			in.report.Duplicates = append(in.report.Duplicates, mem0Duplicate{Entity: home.String(), Memory: text, Kept: kept, Left: m.ID})
			last[kept] = i
		default:
			first[text] = m.ID
			list = append(list, m)
			last[m.ID] = i
		}
	}
	var pairs []mem0Contradiction
	err := error(nil)
	if !in.unchecked {
		pairs, err = in.contradictions(ctx, home, list)
	}
	if err == nil && !in.dryRun {
		err = in.write(ctx, home, list)
	}
	for i := 0; err == nil && i < len(pairs); i++ {
		// What was said again later still holds, and without the newer one nothing would be left.
		p := &pairs[i]
		if in.retire && !in.dryRun && p.Older != "" && last[p.Older] < last[p.Newer] && !in.refused(p.Newer) {
			p.Retired, err = in.delete(ctx, home, transfer.Mem0ID(p.Older))
		}
	}
	in.report.Contradictions = append(in.report.Contradictions, pairs...)
	if r, ok := errors.AsType[*refusal](err); ok && r.Status >= http.StatusBadRequest && r.Status < http.StatusInternalServerError && r.ExitCode() == ExitRefused {
		in.refuse(home, "", r.Error())
		return nil
	}
	return err
}

func (in *mem0Import) refuse(home mem0Entity, id, reason string) {
	in.report.Refused = append(in.report.Refused, mem0Refused{Entity: home.String(), ID: id, Reason: reason})
}

func (in *mem0Import) refused(id string) bool {
	return slices.ContainsFunc(in.report.Refused, func(r mem0Refused) bool { return r.ID == id })
}

// contradictions returns the pairs of memories of which the newer one ends the older one, as the gateway's model says; without one
// there are none. They are told one after the other to a collection of its own, which is deleted.
func (in *mem0Import) contradictions(ctx context.Context, home mem0Entity, list []mem0Memory) ([]mem0Contradiction, error) {
	if len(list) < 2 {
		return nil, nil
	}
	made := request{Method: http.MethodPost, Path: collections, Body: map[string]any{
		"name": "import-" + strings.ToLower(newKey()), "policy": "mem0", "ttl_seconds": 3600,
	}}
	once(&made, newKey())
	var scratch slipbox.Collection
	if _, _, err := in.to.get(ctx, made, &scratch); err != nil {
		return nil, err
	}
	path := collections + "/" + scratch.ID
	defer func() {
		tidy, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(tidyTime, cancel) })()
		_, _, _ = in.to.get(tidy, request{Method: http.MethodDelete, Path: path}, nil) // it expires otherwise
	}()
	said := map[string]string{} // by what was learned: the id of the memory
	var out []mem0Contradiction
	for i := range list {
		m := &list[i]
		in.errs.statusf("comparing the memories of %s: %d of %d…", home, i+1, len(list))
		r := request{Method: http.MethodPost, Path: path + "/messages", Query: url.Values{"wait": {"evolved"}}, Body: map[string]any{
			"messages": []any{map[string]any{"role": "user", "content": m.Memory}},
		}}
		once(&r, newKey())
		var got slipbox.MessagesAccepted
		if _, _, err := in.to.get(ctx, r, &got); err != nil {
			return nil, err
		}
		for _, l := range got.Learned {
			pair := mem0Contradiction{Entity: home.String(), Newer: m.ID, Said: *cmp.Or(l.Previous, new("")), Says: l.Memory}
			switch l.Event {
			case slipbox.LearnedEventADD, slipbox.LearnedEventUPDATE:
			case slipbox.LearnedEventDELETE:
				pair.Said, pair.Says = l.Memory, m.Memory
				fallthrough
			case slipbox.LearnedEventREPLACE:
				if pair.Older = said[pair.Said]; pair.Older != m.ID {
					out = append(out, pair)
				}
			}
			said[l.Memory] = m.ID
		}
	}
	return out, nil
}

// write imports memories into the collection of their entity, which is created if there is none.
func (in *mem0Import) write(ctx context.Context, home mem0Entity, list []mem0Memory) error {
	target, header := url.Values{idNames[home.kind]: {home.id}}, ndjson()
	header.Set(headerCreate, "mem0")
	for part := range slices.Chunk(list, importedAtOnce) {
		var body bytes.Buffer
		enc := json.NewEncoder(&body)
		for i := range part {
			if err := enc.Encode(part[i].line(home)); err != nil {
				return err
			}
		}
		// What is there already is not written again, so this may be sent twice.
		r := request{Method: http.MethodPost, Path: collections + "/by/import", Query: target, Body: body.Bytes(), Header: header, Repeatable: true}
		var accepted slipbox.JobAccepted
		later, cancel := lingering(ctx)
		_, _, err := in.to.get(later, r, &accepted)
		if cancel(); err != nil {
			return err
		}
		job, err := in.await(ctx, in.to, accepted.Job.ID, func(p *slipbox.Progress) {
			in.errs.statusf("importing %s: %d of %d…", home, p.Done, p.Total)
		})
		if err != nil {
			return err
		}
		err = in.results(ctx, in.to, job, func(line *slipbox.BulkResult) {
			switch {
			case line.Line > len(part):
			case line.Error != nil:
				in.refuse(home, part[line.Line-1].ID, clean(*cmp.Or(line.Error.Detail, &line.Error.Title)))
			case line.Status == http.StatusCreated:
				in.report.Imported++
			default:
				in.report.Known++
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// line returns a memory as a line of an import, with the ids that its collection does not have.
func (m *mem0Memory) line(home mem0Entity) map[string]any {
	ids := map[string]string{}
	for kind, id := range m.ids() {
		if id != "" && kind != home.kind {
			ids[mem0IDs[kind]] = id
		}
	}
	return m.Line(ids)
}

// delete deletes a memory, and reports whether it was there.
func (in *mem0Import) delete(ctx context.Context, home mem0Entity, note string) (bool, error) {
	r := request{Method: http.MethodDelete, Path: collections + "/by/notes/" + note, Query: url.Values{idNames[home.kind]: {home.id}}}
	_, _, err := in.to.get(ctx, r, nil)
	if refused, ok := errors.AsType[*refusal](err); ok && refused.Status == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// print prints the report.
func (in *mem0Import) print() error {
	if in.asJSON() {
		return in.out.value(in.report)
	}
	r := &in.report
	for _, d := range r.Duplicates {
		in.out.text("twice ", d.Memory)
		in.out.details(6, d.Entity, "kept "+d.Kept, "left out "+d.Left)
	}
	for _, p := range r.Contradictions {
		in.out.text("contradicts ", p.Says+" / before: "+p.Said)
		what := "both stay"
		if p.Retired {
			what = "the older one is deleted"
		}
		in.out.details(12, p.Entity, p.Newer, p.Older, what)
	}
	for _, one := range r.Refused {
		in.out.text("refused ", strings.TrimSpace(one.Entity+" "+one.ID)+": "+one.Reason)
	}
	done := fmt.Sprintf("%d imported", r.Imported)
	if r.DryRun {
		done = "nothing is imported"
	}
	return in.out.details(0, count(r.Memories, "memory", "memories")+" of "+count(r.Entities, "entity", "entities"), done, fmt.Sprintf("%d known", r.Known),
		count(len(r.Duplicates), "duplicate", "duplicates"), count(len(r.Contradictions), "contradiction", "contradictions"), fmt.Sprintf("%d refused", len(r.Refused)))
}
