package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipboxhq/slipbox/internal/eval"
)

// patience is longer than a job waits before its second attempt.
const patience = 5 * time.Second

func modelCommand(o *options) *cobra.Command {
	var upstream, listen string
	var calls int
	var d dialogueOptions
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "model", Short: "Measure what a model makes of labeled dialogues, and of every call of every policy", Args: cobra.NoArgs,
		Long: `Tell labeled dialogues to policies that ask a model, and to the same ones without it, and
compare the facts with the labels. Links and texts of policies that derive no facts are kept in the
state, to be judged. Then ask the model every call of every policy, and
check what is stored. The gateway must use the address of --listen, with /v1, as the endpoint of its model: requests are forwarded to
--upstream and measured. A weak model never reaches some of the calls. For these, the earlier
calls are answered with fixed usable answers. The command fails when the stored data has
problems, or when the gateway is no longer ready at the end.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return testModel(cmd.Context(), *o, upstream, listen, d, eval.ModelTest{
				Calls: calls, Enough: calls, State: callsState(d.state), Until: time.Now().Add(timeout), Patience: patience,
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&upstream, "upstream", "", "base URL of the OpenAI-compatible endpoint, with /v1")
	f.StringVar(&listen, "listen", "127.0.0.1:0", "address of the proxy that the gateway uses as its endpoint")
	f.IntVar(&calls, "calls", 5, "how often each call of each policy is asked, about as many exchanges or notes per collection; 0: only dialogues are told")
	d.addTo(f)
	f.DurationVar(&timeout, "timeout", 30*time.Minute, "time after which nothing is asked")
	_ = cmd.MarkFlagRequired("upstream")
	return cmd
}

// callsState returns the file that keeps what the calls gave, beside the one of the dialogues.
func callsState(dialogues string) string {
	if dialogues == "" {
		return ""
	}
	return strings.TrimSuffix(dialogues, ".jsonl") + "-calls.jsonl"
}

// dialogueOptions choose the labeled dialogues that are told to a model.
type dialogueOptions struct {
	corpus, model, state, set string
	config                    string
	policies, ids, files      []string
	dialogues, turns, pairs   int
}

func (d *dialogueOptions) addTo(f *pflag.FlagSet) {
	f.IntVar(&d.dialogues, "dialogues", 0, "how many labeled dialogues are told first, to policies with the model and without it")
	f.IntVar(&d.turns, "turns", 0, "of each of these, from its beginning; 0: all")
	f.IntVar(&d.pairs, "pairs", 0, "tell pairs of their turns instead, of all dialogues without --dialogues: so many of which the later one ends something, only sounds so, and says the same or more")
	f.StringVar(&d.set, "set", "believed", "of the dialogues: believed, on which no prompt was chosen, or learned")
	f.StringSliceVar(&d.ids, "ids", nil, "of the dialogues, instead of --dialogues")
	f.StringSliceVar(&d.policies, "policies", []string{"mem0"}, "that the dialogues are told to: mem0, mem0g, layered; of amem, memorybank and memoryos the state keeps links and texts")
	f.StringVar(&d.config, "config", "{}", "policy_config of the collections that ask the model")
	f.StringVar(&d.model, "model", "model", "name of the model in the report")
	f.StringVar(&d.state, "state", "", "file that keeps what each dialogue gave, and beside it one for the calls; a later run continues from them")
	f.StringVar(&d.corpus, "corpus", cmp.Or(os.Getenv("EVAL_CORPUS"), eval.CorpusDir), "folder of the labeled dialogues")
	f.StringSliceVar(&d.files, "files", eval.FirstFiles, "of that folder, by the beginning of their names; \"\": all")
}

// choose returns the dialogues: of each file in turn, so that a few of them are in several languages.
func (d *dialogueOptions) choose() ([]eval.Labeled, error) {
	if d.dialogues == 0 && d.pairs == 0 && len(d.ids) == 0 {
		return nil, nil
	}
	all, err := eval.ReadCorpus(d.corpus)
	if err != nil {
		return nil, err
	}
	all = eval.OfFiles(all, d.files)
	var out []eval.Labeled
	most := d.dialogues
	if most == 0 && d.pairs > 0 {
		most = len(all)
	}
	for round := 0; len(out) < most && round < len(all) && len(d.ids) == 0; round++ {
		seen := map[string]int{}
		for i := range all {
			file := all[i].File()
			if all[i].Believed() != (d.set == "believed") {
				continue
			}
			if seen[file] == round && len(out) < most {
				out = append(out, all[i].First(d.turns))
			}
			seen[file]++
		}
	}
	for i := range all {
		if slices.Contains(d.ids, all[i].ID) {
			out = append(out, all[i].First(d.turns))
		}
	}
	if d.pairs > 0 {
		out = eval.Pairs(out, d.pairs)
	}
	return out, nil
}

func testModel(ctx context.Context, o options, upstream, listen string, d dialogueOptions, t eval.ModelTest) error {
	var err error
	if t.Client, err = o.client(); err != nil {
		return err
	}
	if t.Proxy, err = eval.NewModelProxy(upstream); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen for the gateway: %w", err)
	}
	server := &http.Server{Handler: t.Proxy, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Prefix, t.Logf = o.prefix, logf
	timeout := time.Until(t.Until)
	err = tellDialogues(ctx, &o, &d, &t)
	t.Until = time.Now().Add(timeout) // dialogues have no bound: what they gave is kept
	err = errors.Join(err, askCalls(ctx, &t), server.Close())
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// tellDialogues tells labeled dialogues to the model, if any were chosen.
func tellDialogues(ctx context.Context, o *options, d *dialogueOptions, t *eval.ModelTest) error {
	dialogues, err := d.choose()
	if err != nil || len(dialogues) == 0 {
		return err
	}
	config := map[string]any{}
	if err := json.Unmarshal([]byte(d.config), &config); err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	m := eval.ModelDialogues{
		Config: config,
		Client: t.Client, Proxy: t.Proxy, Prefix: o.prefix, Model: d.model, Policies: d.policies, Dialogues: dialogues, State: d.state, Logf: logf,
	}
	results, err := m.Run(ctx)
	return errors.Join(eval.PrintDialogues(os.Stdout, dialogues, results), err)
}

// askCalls asks the model every call of every policy.
func askCalls(ctx context.Context, t *eval.ModelTest) error {
	if t.Calls == 0 {
		return nil
	}
	report, err := t.Run(ctx)
	if err != nil {
		return err
	}
	return errors.Join(report.Print(os.Stdout), report.Err())
}
