package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/covered"
	"github.com/slipboxhq/slipbox/internal/wording"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

const (
	// experimentLife is when forks of an experiment that was killed delete themselves.
	experimentLife = 24 * time.Hour
	// turnsAtOnce bounds the turns in a request.
	turnsAtOnce = 50
	// mostVariants bounds the forks of an experiment.
	mostVariants = 20
)

func (c *cli) experiment() *cobra.Command {
	var specs []string
	var x experiment
	var id, questions string
	cmd := &cobra.Command{
		Use: "experiment DIALOGUE", Short: "Learn one dialogue in several forks, and compare what they know",
		Long: "Learn one dialogue in a fork for each variant: a policy with settings, such as constants or a model of the\n" +
			"gateway. Questions are then asked in each. The table has what each knows, and how many of the turns that\n" +
			"answer a question (gold) its contexts cover within --budget tokens; then comes what it knows otherwise than\n" +
			"the first variant. Forks are of a new empty collection, or of --collection as it is now, and are deleted in the end.\n\n" +
			"DIALOGUE is a file with a turn in each line: {\"role\", \"name\", \"content\", \"occurred_at\", \"session\"}, of which\n" +
			"only content is required. A question is a line {\"q\", \"gold\"} of --questions; gold are positions of turns, from 0.\n" +
			"Or it is a file of labeled dialogues, an object with turns and questions in each line; --dialogue chooses one.",
		Example: "  slipbox experiment talk.jsonl --questions asked.jsonl --variant amem --variant mem0\n" +
			"  slipbox experiment talk.jsonl --variant mem0 --variant \"wide: mem0, similar=20\"\n" +
			"  slipbox experiment talk.jsonl --variant \"small: mem0, model=small\" --variant \"large: mem0, model=large\"",
		Args: command.OneArg("a file with a dialogue"), ValidArgsFunction: files,
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) (err error) {
			x.cli, x.to = c, to
			if x.budget < 1 || x.limit < 1 {
				return errors.New("--budget and --limit are at least 1")
			}
			if x.talk, err = readDialogue(args[0], id, questions); err != nil {
				return err
			}
			if x.variants, err = parseVariants(specs); err != nil {
				return err
			}
			if err := x.check(cmd.Context()); err != nil {
				return err
			}
			defer c.errs.done()
			return x.run(cmd.Context())
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&specs, "variant", nil, "a `variant` to compare, as [NAME:]POLICY[,SETTING=VALUE…]; at least twice")
	f.StringVar(&id, "dialogue", "", "`id` of one of the labeled dialogues of the file")
	f.StringVar(&questions, "questions", "", "`file` of questions (default: those of a labeled dialogue)")
	f.IntVar(&x.budget, "budget", 1000, "`tokens` of a context")
	f.IntVar(&x.limit, "limit", 10, "print at most so `many` differences of each variant; JSON has all")
	f.BoolVar(&x.keep, "keep", false, "keep the forks, and say how they are called")
	return cmd
}

// experiment is one dialogue in several forks.
type experiment struct {
	*cli

	to       *client
	talk     dialogue
	variants []variant
	budget   int
	limit    int
	keep     bool

	base  string     // path of the collection that is forked
	query url.Values // of base
	own   bool       // base was made for the experiment
}

// variant is a policy with settings.
type variant struct {
	name, policy string
	config       map[string]any
}

// parseVariants reads what --variant says.
func parseVariants(specs []string) (out []variant, err error) {
	if len(specs) < 2 || len(specs) > mostVariants {
		return nil, fmt.Errorf("--variant is given %d times; an experiment has 2 to %d variants", len(specs), mostVariants)
	}
	for _, spec := range specs {
		v := variant{name: strings.TrimSpace(spec), config: map[string]any{}}
		head, rest, _ := strings.Cut(spec, ",")
		if name, policy, named := strings.Cut(head, ":"); named {
			v.name, head = strings.TrimSpace(name), policy
		}
		v.policy = strings.TrimSpace(head)
		for setting := range strings.SplitSeq(rest, ",") {
			if strings.TrimSpace(setting) == "" {
				continue
			}
			key, text, ok := strings.Cut(setting, "=")
			if !ok {
				return nil, fmt.Errorf("--variant %q: %q is not SETTING=VALUE", spec, strings.TrimSpace(setting))
			}
			text = strings.TrimSpace(text)
			var value any
			if json.Unmarshal([]byte(text), &value) != nil {
				value = text
			}
			v.config[strings.TrimSpace(key)] = value
		}
		if v.policy == "" || v.name == "" {
			return nil, fmt.Errorf("--variant %q: name a policy, as in mem0 or \"wide: mem0, similar=20\"", spec)
		}
		if slices.ContainsFunc(out, func(o variant) bool { return o.name == v.name }) {
			return nil, fmt.Errorf("two variants are called %q; name them, as in \"wide: mem0, similar=20\"", v.name)
		}
		out = append(out, v)
	}
	return out, nil
}

// policyShape is what an experiment has to know of a policy.
type policyShape struct {
	Name   string `json:"name"`
	Schema struct {
		Properties map[string]struct {
			Enum []any `json:"enum"`
		} `json:"properties"`
	} `json:"schema"`
}

// check returns an error for a policy or setting that the gateway does not have. Where several people speak, a policy that can
// remember several does.
func (x *experiment) check(ctx context.Context) error {
	var list struct {
		Items []policyShape `json:"items"`
	}
	if _, _, err := x.to.get(ctx, request{Method: http.MethodGet, Path: "/v1/policies"}, &list); err != nil {
		return err
	}
	for i := range x.variants {
		v := &x.variants[i]
		at := slices.IndexFunc(list.Items, func(p policyShape) bool { return p.Name == v.policy })
		if at < 0 {
			var names []string
			for _, p := range list.Items {
				names = append(names, p.Name)
			}
			return fmt.Errorf("--variant %q: the gateway has no policy %q; it has %s", v.name, v.policy, strings.Join(names, ", "))
		}
		settings := list.Items[at].Schema.Properties
		for key := range v.config {
			if _, ok := settings[key]; !ok {
				return fmt.Errorf("--variant %q: the policy %s has no setting %q; it has %s", v.name, v.policy, key,
					strings.Join(slices.Sorted(maps.Keys(settings)), ", "))
			}
		}
		const persons, several = "persons", "several"
		if _, chosen := v.config[persons]; !chosen && x.talk.users() > 1 && slices.Contains(settings[persons].Enum, any(several)) {
			v.config[persons] = several
		}
	}
	return nil
}

// outcome is what an experiment found.
type outcome struct {
	Dialogue    string       `json:"dialogue"`
	Turns       int          `json:"turns"`
	Questions   int          `json:"questions"`
	Budget      int          `json:"budget"`
	Variants    []learned    `json:"variants"`
	Differences []difference `json:"differences"` // of each further variant against the first
}

// learned is what one variant knows.
type learned struct {
	Name          string         `json:"name"`
	Policy        string         `json:"policy"`
	Config        map[string]any `json:"policy_config"`
	Collection    string         `json:"collection,omitempty"` // with --keep
	Notes         int64          `json:"notes"`                // but messages
	Facts         int64          `json:"facts"`
	Links         int64          `json:"links"`
	ContextTokens *float64       `json:"context_tokens"` // mean; nil: nothing was asked
	Recall        *float64       `json:"recall"`         // mean share of the gold turns; nil: no question has any
	Hits          int            `json:"hits"`           // questions whose gold turns are all covered
	Asked         int            `json:"asked"`          // questions with gold turns
	Seconds       float64        `json:"seconds"`        // until all was learned
	FailedJobs    int            `json:"failed_jobs"`
	Remarks       []string       `json:"remarks"`

	id string
}

// run learns the dialogue in each fork, asks, and compares.
func (x *experiment) run(ctx context.Context) (err error) {
	out := outcome{Dialogue: x.talk.id, Turns: len(x.talk.turns), Questions: len(x.talk.questions), Budget: x.budget}
	prefix := "experiment-" + strings.ToLower(newKey()[:8])
	var made []string // paths, the base first
	defer func() {
		if !x.keep {
			err = errors.Join(err, x.clear(context.WithoutCancel(ctx), made))
		}
	}()
	if err := x.open(ctx, prefix); err != nil {
		return err
	}
	if x.own {
		made = append(made, x.base)
	}
	for i := range x.variants {
		v := &x.variants[i]
		x.errs.statusf("%s: forking…", v.name)
		l, err := x.fork(ctx, v, prefix+"-"+strconv.Itoa(i+1))
		if err != nil {
			return fmt.Errorf("variant %q: %w", v.name, err)
		}
		made = append(made, collections+"/"+l.id)
		if err := x.measure(ctx, &l); err != nil {
			return fmt.Errorf("variant %q: %w", v.name, err)
		}
		out.Variants = append(out.Variants, l)
	}
	for i := range out.Variants[1:] {
		x.errs.statusf("comparing %s with %s…", out.Variants[i+1].Name, out.Variants[0].Name)
		d, err := x.compare(ctx, &out.Variants[0], &out.Variants[i+1])
		if err != nil {
			return err
		}
		out.Differences = append(out.Differences, d)
	}
	x.errs.done()
	if x.asJSON() {
		return x.out.value(out)
	}
	return x.report(&out)
}

// open finds the collection to fork, or makes an empty one.
func (x *experiment) open(ctx context.Context, name string) (err error) {
	if x.collection != "" || len(x.given()) > 0 {
		x.base, x.query, err = x.target(x.to)
		if err != nil {
			return err
		}
		var base struct {
			Policy string         `json:"policy"`
			Config map[string]any `json:"policy_config"`
		}
		if _, _, err := x.to.get(ctx, request{Method: http.MethodGet, Path: x.base, Query: x.query}, &base); err != nil {
			return err
		}
		for i := range x.variants {
			if v := &x.variants[i]; v.policy == base.Policy { // what a variant does not set, it has of the collection
				config := maps.Clone(base.Config)
				if config == nil {
					config = map[string]any{}
				}
				maps.Copy(config, v.config)
				v.config = config
			}
		}
		return nil
	}
	x.base, x.own = collections+"/"+name, true
	ask := map[string]any{"name": name, "policy": "none", "display_name": "Experiment: " + x.talk.id}
	if !x.keep {
		ask["ttl_seconds"] = int64(experimentLife / time.Second)
	}
	r := request{Method: http.MethodPost, Path: collections, Body: ask}
	once(&r, newKey())
	_, _, err = x.to.get(ctx, r, nil)
	return err
}

// fork makes the fork of a variant.
func (x *experiment) fork(ctx context.Context, v *variant, name string) (learned, error) {
	l := learned{Name: v.name, Policy: v.policy, Config: v.config, Remarks: []string{}}
	ask := slipbox.CloneRequest{Name: &name, Policy: &v.policy, PolicyConfig: v.config}
	if !x.keep {
		ask.TTLSeconds = new(int64(experimentLife / time.Second))
	} else {
		l.Collection = name
	}
	r := request{Method: http.MethodPost, Path: x.base + "/clone", Query: x.query, Body: ask}
	once(&r, newKey())
	var got slipbox.Collection
	_, _, err := x.to.get(ctx, r, &got)
	l.id = got.ID
	return l, err
}

// clear deletes what the experiment made, forks before their base.
func (x *experiment) clear(ctx context.Context, made []string) error {
	var errs []error
	for _, path := range slices.Backward(made) {
		_, _, err := x.to.get(ctx, request{Method: http.MethodDelete, Path: path}, nil)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// measure learns the dialogue in a fork and asks the questions there.
func (x *experiment) measure(ctx context.Context, l *learned) error {
	began := time.Now()
	turnOf, err := x.learn(ctx, l)
	if err != nil {
		return err
	}
	l.Seconds = time.Since(began).Seconds()
	var have slipbox.Collection
	if _, _, err := x.to.get(ctx, request{Method: http.MethodGet, Path: collections + "/" + l.id}, &have); err != nil {
		return err
	}
	if n := have.Counts; n != nil {
		l.Notes, l.Facts, l.Links = n.Notes-n.Kinds["message"], n.Kinds["fact"], n.Links
	}
	return x.ask(ctx, l, turnOf)
}

// learn sends the turns to a fork, waits until its policy is done with them, and returns the turns by the ids of their messages.
func (x *experiment) learn(ctx context.Context, l *learned) (map[string]int, error) {
	turnOf := map[string]int{}
	turns := x.talk.turns
	for at := 0; at < len(turns); {
		end := min(at+turnsAtOnce, len(turns))
		for end < len(turns) && turns[end].Role == assistantRole && end-at < 2*turnsAtOnce {
			end++ // an answer is sent with what it answers
		}
		var got slipbox.MessagesAccepted
		r := request{Method: http.MethodPost, Path: collections + "/" + l.id + "/messages", Body: map[string]any{"messages": turns[at:end], "on_duplicate": "keep"}}
		once(&r, newKey())
		_, _, err := x.to.get(ctx, r, &got)
		if refused, ok := errors.AsType[*refusal](err); ok && refused.Status == http.StatusUnprocessableEntity && at == 0 && len(l.Remarks) == 0 && x.talk.users() > 1 {
			// The policy serves one person.
			turns = x.talk.asOnePerson()
			l.Remarks = append(l.Remarks, "it serves one person: who speaks first is the user, and the others are the assistant")
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(got.Messages) != end-at {
			return nil, fmt.Errorf("%s became %s", wording.Count(end-at, "turn", "turns"), wording.Count(len(got.Messages), "message", "messages"))
		}
		for i, m := range got.Messages {
			turnOf[m.ID] = at + i
		}
		at = end
		if err := x.settle(ctx, l, fmt.Sprintf("%s: %d of %d turns", l.Name, at, len(turns))); err != nil {
			return nil, err
		}
	}
	query := url.Values{"collection": {l.id}}
	for _, state := range []slipbox.JobState{slipbox.JobStateFailed, slipbox.JobStateDead} {
		query.Set("state", string(state))
		query.Del("cursor")
		if _, err := pages(ctx, x.to, "/v1/jobs", query, 1_000, func(slipbox.Job) error { l.FailedJobs++; return nil }); err != nil {
			return nil, err
		}
	}
	if l.FailedJobs > 0 {
		l.Remarks = append(l.Remarks, count(l.FailedJobs, "job", "jobs")+" failed: it has not learned all")
	}
	return turnOf, nil
}

// settle waits until no job of a fork can run now. Work that a policy has put off is not waited for.
func (x *experiment) settle(ctx context.Context, l *learned, status string) error {
	for wait := firstLook; ; wait = min(2*wait, longestLook) {
		open, trouble := 0, ""
		// A job that runs may enqueue another one, so what is queued is looked at before and after.
		for _, state := range []slipbox.JobState{slipbox.JobStateQueued, slipbox.JobStateRunning, slipbox.JobStateQueued} {
			var page struct {
				Items []slipbox.Job `json:"items"`
			}
			query := url.Values{"collection": {l.id}, "state": {string(state)}, "limit": {"1"}}
			if _, _, err := x.to.get(ctx, request{Method: http.MethodGet, Path: "/v1/jobs", Query: query}, &page); err != nil {
				return err
			}
			for i := range page.Items {
				open++
				if e := page.Items[i].Error; e != nil {
					trouble = ": " + *e
				}
			}
		}
		x.errs.statusf("%s%s", status, trouble)
		if open == 0 {
			return nil
		}
		if err := rest(ctx, wait); err != nil {
			return err
		}
	}
}

// ask asks the questions in a fork.
func (x *experiment) ask(ctx context.Context, l *learned, turnOf map[string]int) error {
	var tokens, recall float64
	sources := map[string][]string{}
	for i, q := range x.talk.questions {
		x.errs.statusf("%s: question %d of %d", l.Name, i+1, len(x.talk.questions))
		var got slipbox.ContextAnswer
		r := request{
			Method: http.MethodPost, Path: collections + "/" + l.id + "/context", Repeatable: true,
			Body: slipbox.ContextRequest{Query: &q.Text, TokenBudget: &x.budget},
		}
		if _, _, err := x.to.get(ctx, r, &got); err != nil {
			return err
		}
		tokens += float64(got.Tokens)
		if len(q.Gold) == 0 {
			continue
		}
		shown := map[int]bool{}
		for _, cited := range got.Citations {
			turns, err := covered.Turns(cited.Note, func(note string) (int, bool) {
				t, ok := turnOf[note]
				return t, ok
			}, func(note string) ([]string, error) { return x.sourcesOf(ctx, l, sources, note) })
			if err != nil {
				return err
			}
			for _, t := range turns {
				shown[t] = true
			}
		}
		found := 0
		for _, t := range q.Gold {
			if shown[t] {
				found++
			}
		}
		l.Asked++
		recall += float64(found) / float64(len(q.Gold))
		if found == len(q.Gold) {
			l.Hits++
		}
	}
	if n := len(x.talk.questions); n > 0 {
		l.ContextTokens = new(tokens / float64(n))
	}
	if l.Asked > 0 {
		l.Recall = new(recall / float64(l.Asked))
	}
	return nil
}

// sourcesOf returns the notes that one was derived from, none if it was deleted. known are those that were read.
func (x *experiment) sourcesOf(ctx context.Context, l *learned, known map[string][]string, note string) ([]string, error) {
	if list, ok := known[note]; ok {
		return list, nil
	}
	var n struct {
		Provenance struct {
			Sources []string `json:"sources"`
		} `json:"provenance"`
	}
	_, _, err := x.to.get(ctx, request{Method: http.MethodGet, Path: collections + "/" + l.id + "/notes/" + url.PathEscape(note)}, &n)
	if refused, ok := errors.AsType[*refusal](err); err != nil && (!ok || refused.Status != http.StatusNotFound) {
		return nil, err
	}
	known[note] = n.Provenance.Sources
	return n.Provenance.Sources, nil
}

// report prints what an experiment found for people.
func (x *experiment) report(o *outcome) error {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "notes\tfacts\tlinks\tcontext\trecall\thits\tseconds\t")
	for i := range o.Variants {
		v := &o.Variants[i]
		hits := "-"
		if v.Asked > 0 {
			hits = fmt.Sprintf("%d/%d", v.Hits, v.Asked)
		}
		_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\t%s\t%.1f\t\n", v.Notes, v.Facts, v.Links, number(v.ContextTokens, 0), number(v.Recall, 2), hits, v.Seconds)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	x.out.line("%s, %s", count(o.Turns, "turn", "turns"), cmp.Or(count(o.Questions, "question", "questions"), "no questions"))
	for i, row := range strings.Split(strings.TrimRight(table.String(), "\n"), "\n") {
		name := "variant"
		if i > 0 {
			name = clean(o.Variants[i-1].Name)
		}
		x.out.line("%s  %s", strings.TrimRight(row, " "), name)
	}
	for i := range o.Variants {
		v := &o.Variants[i]
		for _, remark := range v.Remarks {
			x.out.text(v.Name+": ", remark)
		}
		if v.Collection != "" {
			x.out.text(v.Name+": ", "is kept as "+v.Collection)
		}
	}
	for i := range o.Differences {
		x.differs(&o.Differences[i])
	}
	return x.out.err
}

func number(n *float64, digits int) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatFloat(*n, 'f', digits, 64)
}
