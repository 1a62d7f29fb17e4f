package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// ModelDialogues tells labeled dialogues to policies that ask a model, and to the same policies without one. What a
// dialogue gave is kept in a file, so that a run that was cut off continues where it was.
type ModelDialogues struct {
	Client    *Client
	Proxy     *ModelProxy    // the endpoint of the gateway's model
	Prefix    string         // of the collections' names
	Model     string         // its name in the report
	Policies  []string       // that derive facts, or of writingPolicies
	Config    map[string]any // of the collections that ask the model
	Dialogues []Labeled
	State     string // file; each line is a DialogueResult
	Logf      func(format string, args ...any)
}

// WithoutModel is the name of what answers where no model is asked.
const WithoutModel = "analyst"

// DialogueResult is what one dialogue gave with one policy.
type DialogueResult struct {
	By       string               `json:"by"` // the model's name, or WithoutModel
	Policy   string               `json:"policy"`
	Dialogue string               `json:"dialogue"`
	Turns    int                  `json:"turns"`
	Facts    []DerivedFact        `json:"facts"`
	Asked    int                  `json:"asked"` // questions
	Shown    float64              `json:"shown"` // sum of the shares of their turns that a context of contextTokens shows
	Links    []WrittenLink        `json:"links,omitempty"`
	Texts    []WrittenText        `json:"texts,omitempty"`
	Calls    map[string]CallShare `json:"calls"` // of the model
	Seconds  float64              `json:"seconds"`
}

// CallShare is what one call took in a dialogue.
type CallShare struct {
	Requests int     `json:"requests"`
	Good     int     `json:"good"`
	Repaired int     `json:"repaired"`
	Unusable int     `json:"unusable"`
	Failed   int     `json:"failed"`
	In       int64   `json:"in"`  // tokens
	Out      int64   `json:"out"` //
	Seconds  float64 `json:"seconds"`
}

func (c *CallShare) add(o CallShare) {
	c.Requests += o.Requests
	c.Good += o.Good
	c.Repaired += o.Repaired
	c.Unusable += o.Unusable
	c.Failed += o.Failed
	c.In += o.In
	c.Out += o.Out
	c.Seconds += o.Seconds
}

// questions returns how many questions ended, however they did.
func (c *CallShare) questions() int { return c.Good + c.Repaired + c.Unusable + c.Failed }

// contextTokens is the budget of a context that is to show what a question needs.
const contextTokens = 1000

// First returns the dialogue up to a turn, with the labels of these turns and the questions that they answer.
func (d *Labeled) First(turns int) Labeled {
	if turns <= 0 || turns >= len(d.Turns) {
		return *d
	}
	out := *d
	out.Turns = d.Turns[:turns]
	out.Facts = slices.DeleteFunc(slices.Clone(d.Facts), func(l Label) bool { return l.Turn >= turns })
	out.Traps = slices.DeleteFunc(slices.Clone(d.Traps), func(t Trap) bool { return t.Turn >= turns || out.label(t.Old) == nil })
	out.Recalls = slices.DeleteFunc(slices.Clone(d.Recalls), func(r Recall) bool { return r.Turn >= turns })
	out.Questions = slices.DeleteFunc(slices.Clone(d.Questions), func(q LabeledQuestion) bool {
		return slices.ContainsFunc(q.Gold, func(g int) bool { return g >= turns })
	})
	return out
}

// Run tells every dialogue that the state file does not have, first without the model.
func (m *ModelDialogues) Run(ctx context.Context) ([]DialogueResult, error) {
	done, err := readLines[DialogueResult](m.State)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	state, err := os.OpenFile(m.State, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the state: %w", err)
	}
	defer func() { _ = state.Close() }()
	var out []DialogueResult
	for _, by := range []string{WithoutModel, m.Model} {
		for _, policy := range m.Policies {
			for i := range m.Dialogues {
				d := &m.Dialogues[i]
				same := func(r DialogueResult) bool {
					return r.By == by && r.Policy == policy && r.Dialogue == d.ID && r.Turns == len(d.Turns)
				}
				if at := slices.IndexFunc(done, same); at >= 0 {
					out = append(out, done[at])
					continue
				}
				r, err := m.tell(ctx, by, policy, d)
				if err != nil {
					return out, fmt.Errorf("%s, %s, %s: %w", by, policy, d.ID, err)
				}
				if err := json.NewEncoder(state).Encode(r); err != nil {
					return out, fmt.Errorf("write the state: %w", err)
				}
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// tell tells one dialogue, and then asks its questions.
func (m *ModelDialogues) tell(ctx context.Context, by, policy string, d *Labeled) (DialogueResult, error) {
	began := time.Now()
	out := DialogueResult{By: by, Policy: policy, Dialogue: d.ID, Turns: len(d.Turns), Calls: map[string]CallShare{}}
	config := shortSettings(policy, d)
	if by == WithoutModel {
		config["analyst"] = "heuristic"
	} else {
		maps.Copy(config, m.Config)
	}
	asked, err := m.use(ctx)
	if err != nil {
		return out, err
	}
	col, err := m.Client.CreateConfigured(ctx, fmt.Sprintf("%s%s-%s-%s", m.Prefix, by, policy, d.ID), policy, config)
	if err != nil {
		return out, fmt.Errorf("create a collection: %w", err)
	}
	history := factHistory{turns: map[string]int{}, live: map[string]int{}}
	for i := range d.Turns {
		if err := m.say(ctx, col.ID, policy, d, i, &history); err != nil {
			return out, fmt.Errorf("turn %d: %w", i, err)
		}
		m.Logf("%s, %s, %s: turn %d of %d, %d facts, %.0f s", by, policy, d.ID, i+1, len(d.Turns), len(history.live), time.Since(began).Seconds())
	}
	out.Facts = history.facts
	if slices.Contains(writingPolicies, policy) {
		if out.Links, out.Texts, err = m.written(ctx, col.ID); err != nil {
			return out, err
		}
	}
	if out.Asked, out.Shown, err = m.shown(ctx, col.ID, d, history.turns); err != nil {
		return out, err
	}
	now, err := m.use(ctx)
	out.Calls = since(now, asked, nil, nil)
	out.Seconds = time.Since(began).Seconds()
	return out, err
}

// say tells a turn. Where facts are derived it waits until it is learned however long the model takes, and reads the facts.
func (m *ModelDialogues) say(ctx context.Context, collection, policy string, d *Labeled, turn int, history *factHistory) error {
	message, err := d.Turns[turn].message()
	if err != nil {
		return err
	}
	add := m.Client.AddEvolved
	if slices.Contains(writingPolicies, policy) {
		add = m.Client.AddMessages
	}
	ids, err := add(ctx, collection, []Message{message})
	if err != nil {
		return err
	}
	history.turns[ids[0]] = turn
	if slices.Contains(writingPolicies, policy) {
		return nil
	}
	if err := Drain(ctx, m.Client, collection, turn+1, nil); err != nil {
		return err
	}
	return history.read(ctx, m.Client, collection, turn)
}

// use returns what each call of the model took so far.
func (m *ModelDialogues) use(ctx context.Context) (map[string]CallShare, error) {
	counts, err := (&ModelTest{Client: m.Client}).answerCounts(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]CallShare{}
	for call, of := range counts {
		out[call] = CallShare{Good: of["good"], Repaired: of["repaired"], Unusable: of["unusable"], Failed: of["failed"]}
	}
	for of, requests := range m.Proxy.requests() {
		use := out[of.Call]
		for _, r := range requests {
			use.add(CallShare{Requests: 1, In: r.In, Out: r.Out, Seconds: r.Took.Seconds()})
		}
		out[of.Call] = use
	}
	return out, nil
}

// shown asks for a context for each question that has an answer, and adds up which share of the turns that it needs the
// context cites: as messages, or as facts that were derived from them.
func (m *ModelDialogues) shown(ctx context.Context, collection string, d *Labeled, turns map[string]int) (asked int, shares float64, err error) {
	sources := map[string][]string{}
	err = m.Client.CountNotes(ctx, collection, func(raw json.RawMessage) error {
		var n FoundNote
		if err := json.Unmarshal(raw, &n); err != nil {
			return fmt.Errorf("decode note: %w", err)
		}
		sources[n.ID] = append(n.Provenance.Sources, n.ID)
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	for _, q := range d.Questions {
		if len(q.Gold) == 0 {
			continue
		}
		prompt, err := m.Client.Context(ctx, collection, q.Text, contextTokens, 0)
		if err != nil {
			return asked, shares, fmt.Errorf("context for %q: %w", q.Text, err)
		}
		seen := map[int]bool{}
		for _, c := range prompt.Citations {
			for _, source := range append(sources[c.Note], c.Note) {
				if turn, ok := turns[source]; ok {
					seen[turn] = true
				}
			}
		}
		found := 0
		for _, turn := range q.Gold {
			found += count(seen[turn])
		}
		asked++
		shares += float64(found) / float64(len(q.Gold))
	}
	return asked, shares, nil
}

// PrintDialogues writes tables of what was derived of the dialogues and what it took, by model and policy.
func PrintDialogues(w io.Writer, dialogues []Labeled, results []DialogueResult) error {
	var facts []FactResult
	var recall, calls, written strings.Builder
	for _, of := range groups(results) {
		title := of[0].By + ", " + of[0].Policy
		counts := FactCounts{}
		var links, texts int
		sum := map[string]CallShare{}
		var total CallShare
		var asked, turns int
		var shown, seconds float64
		for _, r := range of {
			i := slices.IndexFunc(dialogues, func(d Labeled) bool { return d.ID == r.Dialogue })
			counts.add(NewMatcher(&dialogues[i]).Count(r.Facts))
			links, texts = links+len(r.Links), texts+len(r.Texts)
			asked, shown, turns, seconds = asked+r.Asked, shown+r.Shown, turns+r.Turns, seconds+r.Seconds
			for call, use := range r.Calls {
				all := sum[call]
				all.add(use)
				sum[call] = all
				total.add(use)
			}
		}
		if slices.Contains(writingPolicies, of[0].Policy) {
			fmt.Fprintf(&written, "| %s | %d | %d |\n", title, links, texts)
		} else {
			facts = append(facts, FactResult{Policy: title, By: map[string]FactCounts{allLanguages: counts}})
		}
		fmt.Fprintf(&recall, "| %s | %d | %.0f | %.1f | %.0f %% of %d |\n", title, turns, float64(total.In+total.Out)/float64(max(turns, 1)),
			seconds/float64(max(turns, 1)), 100*shown/float64(max(asked, 1)), asked)
		writeCallShares(&calls, title, sum)
	}
	if len(facts) > 0 {
		if err := PrintFacts(w, "by, policy", facts); err != nil {
			return err
		}
	}
	return printed(fmt.Fprintf(w, "\n| by, policy | links | texts |\n|---|---|---|\n%s\n| by, policy | exchanges | tokens an exchange | seconds an exchange | of what questions need, within %d tokens |\n|---|---|---|---|---|\n%s"+
		"\n| by, policy, call | questions | usable at once | repaired | fallback | failed | tokens in | tokens out | seconds |\n|---|---|---|---|---|---|---|---|---|\n%s",
		written.String(), contextTokens, recall.String(), calls.String()))
}

// groups returns the results by model and policy, in their order.
func groups(results []DialogueResult) (out [][]DialogueResult) {
	for _, r := range results {
		i := slices.IndexFunc(out, func(of []DialogueResult) bool { return of[0].By == r.By && of[0].Policy == r.Policy })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

func writeCallShares(w io.Writer, title string, calls map[string]CallShare) {
	for _, name := range AllCalls() {
		c, ok := calls[name]
		if !ok || c.Requests == 0 {
			continue
		}
		questions := c.questions()
		share := func(n int) float64 { return 100 * float64(n) / float64(max(questions, 1)) }
		per := func(n float64) float64 { return n / float64(c.Requests) }
		_, _ = fmt.Fprintf(w, "| %s, %s | %d | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %.0f | %.0f | %.1f |\n", title, name, questions,
			share(c.Good), share(c.Repaired), share(c.Unusable), share(c.Failed), per(float64(c.In)), per(float64(c.Out)), per(c.Seconds))
	}
}
