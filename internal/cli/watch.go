package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

func (c *cli) watch() *cobra.Command {
	return &cobra.Command{
		Use: "watch [JOB]", Short: "Follow a job, or all jobs until none is left",
		Long: "Follow a job until it ends, or all jobs that wait or run until none is left, of one collection with\n" +
			"--collection or an id of your application. In a pipe each line is a job that changed. A job that\n" +
			"fails ends the command with exit code 1.",
		Example: "  slipbox watch\n" +
			"  slipbox watch 01a209ee-4f42-78fb-9893-5cff446707b3",
		Args: command.AtMostOneArg,
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			defer c.errs.done()
			to.patience = restartTime
			if len(args) > 0 {
				return c.follow(cmd.Context(), to, args[0], "")
			}
			query, err := c.jobsOf(cmd.Context(), to)
			if err != nil {
				return err
			}
			return c.followAll(cmd.Context(), to, query)
		}),
	}
}

func (c *cli) job() *cobra.Command {
	return command.Group("job", "Cancel a job", &cobra.Command{
		Use: "cancel JOB", Short: "Cancel a job that waits or runs",
		Long: "Cancel a job that waits or runs, such as an import. What it has written stays, and an import continues when\n" +
			"its command is repeated.",
		Example: "  slipbox job cancel 01a209ee-4f42-78fb-9893-5cff446707b3",
		Args:    command.OneArg("the id of a job (`slipbox watch` names those that are left)"),
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			var j slipbox.Job
			raw, err := cancelJob(cmd.Context(), to, args[0], &j)
			if err != nil {
				return err
			}
			if c.asJSON() {
				return c.out.json(raw)
			}
			return c.out.line("%s", progressOf(j))
		}),
	})
}

// cancelJob cancels a job, and returns it as the API does.
func cancelJob(ctx context.Context, to *client, id string, out *slipbox.Job) (json.RawMessage, error) {
	raw, _, err := to.get(ctx, request{Method: http.MethodPost, Path: "/v1/jobs/" + url.PathEscape(id) + "/cancel", Repeatable: true}, out)
	return raw, err
}

// jobsOf returns the query for the jobs of the collection that flags name; that of the profile is not a choice for one.
func (c *cli) jobsOf(ctx context.Context, to *client) (url.Values, error) {
	query := url.Values{}
	if len(c.given()) == 0 && c.collection == "" {
		return query, nil
	}
	path, by, err := c.target(to)
	if err != nil {
		return nil, err
	}
	var found slipbox.Collection
	if _, _, err := to.get(ctx, request{Method: http.MethodGet, Path: path, Query: by}, &found); err != nil {
		return nil, err
	}
	query.Set("collection", found.ID)
	return query, nil
}

// followAll follows the jobs that wait or run, oldest first, until there is none.
func (c *cli) followAll(ctx context.Context, to *client, query url.Values) error {
	seen, failed := 0, 0
	for {
		var left []string
		for _, state := range []slipbox.JobState{slipbox.JobStateQueued, slipbox.JobStateRunning} {
			query.Set("state", string(state))
			query.Del("cursor")
			_, err := pages(ctx, to, "/v1/jobs", query, 1_000, func(j slipbox.Job) error {
				left = append(left, j.ID)
				return nil
			})
			if err != nil {
				return err
			}
		}
		if len(left) == 0 {
			break
		}
		// They are listed newest first, those that run last.
		for n := len(left); n > 0; n-- {
			seen++
			before := count(n, "job", "jobs") + " left, "
			if waits := c.waits(ctx, to, query.Get("collection")); waits != "" {
				before = waits + "; "
			}
			err := c.follow(ctx, to, left[n-1], before)
			if f, ok := errors.AsType[failure](err); ok && f.code == ExitRefused {
				failed++
			} else if r, ok := errors.AsType[*refusal](err); ok && r.Status == http.StatusNotFound {
				continue // it went with its collection
			} else if err != nil {
				return err
			}
		}
	}
	c.errs.done()
	if failed > 0 {
		return failure{fmt.Sprintf("%s failed", count(failed, "job", "jobs")), ExitRefused}
	}
	if c.asJSON() {
		return nil
	}
	if seen == 0 {
		return c.errs.line("no job waits or runs")
	}
	return c.errs.line("no job is left")
}

// waits says what waits in a collection: a person sees it, so none is read for a pipe. "": nothing, or it is not known.
func (c *cli) waits(ctx context.Context, to *client, collection string) string {
	if collection == "" || c.asJSON() {
		return ""
	}
	var found slipbox.Collection
	if _, _, err := to.get(ctx, request{Method: http.MethodGet, Path: collections + "/" + collection}, &found); err != nil {
		return "" // the jobs say what is wrong
	}
	return workOf(&found)
}

// workOf says what waits in a collection, and how long it takes: "4,444 notes are being linked, about 6 minutes".
func workOf(of *slipbox.Collection) string {
	if of.Work == nil {
		return ""
	}
	linked := "learned from"
	if of.Policy == "amem" {
		linked = "linked"
	}
	var out []string
	for _, s := range of.Work.Stages {
		one, many, does := "note is", "notes are", ""
		switch s.Stage {
		case slipbox.WorkStageStageVectors:
			does = " being embedded"
		case slipbox.WorkStageStageDescription:
			does = " being described"
		case slipbox.WorkStageStageLinks:
			does = " being " + linked
		case slipbox.WorkStageStagePolicy:
			one, many = "task is at work", "tasks are at work"
		}
		text := thousands(s.Waiting) + " " + one + does
		if s.Waiting != 1 {
			text = thousands(s.Waiting) + " " + many + does
		}
		if s.SecondsLeft != nil {
			text += ", " + about(time.Duration(*s.SecondsLeft)*time.Second)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// thousands formats a number with commas.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// about formats an estimate of a time.
func about(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < 90*time.Minute:
		return "about " + count(int(math.Round(d.Minutes())), "minute", "minutes")
	case d < 36*time.Hour:
		return "about " + count(int(math.Round(d.Hours())), "hour", "hours")
	}
	return "about " + count(int(math.Round(d.Hours()/24)), "day", "days")
}

// follow prints the events of a job until it ends. A stream that breaks off is opened again, a few times in a row. before is
// shown before the status.
func (c *cli) follow(ctx context.Context, to *client, id, before string) error {
	var last slipbox.Job
	for broken := 0; ; {
		n, err := to.stream(ctx, request{Method: http.MethodGet, Path: "/v1/jobs/" + url.PathEscape(id) + "/events"}, func(e slipbox.ServerEvent) error {
			if e.Name != "job" {
				return nil
			}
			if err := json.Unmarshal(e.Data, &last); err != nil {
				return err
			}
			if c.asJSON() {
				return c.out.json(e.Data)
			}
			c.errs.statusf("%s%s", before, progressOf(last))
			return nil
		})
		switch {
		case ended(last.State):
			return c.end(last, before == "")
		case err != nil && to.answered.IsZero():
			return err
		case n > 0:
			broken = 0
		}
		if broken++; broken >= tries {
			if err == nil {
				err = failure{"the events of the job broke off; try again", ExitAway}
			}
			return err
		}
		if err != nil {
			if !temporary(err) {
				return err
			}
		}
		if err := rest(ctx, firstPause<<(broken-1)); err != nil {
			return err
		}
	}
}

// end says how a job ended.
func (c *cli) end(j slipbox.Job, say bool) error {
	c.errs.done()
	if j.State != slipbox.JobStateDone {
		why := ""
		if j.Error != nil {
			why = ": " + clean(*j.Error)
		}
		text := fmt.Sprintf("%s job %s is %s%s", j.Kind, j.ID, j.State, why)
		if !say {
			c.errs.line("%s", text)
		}
		return failure{text, ExitRefused}
	}
	if !say || c.asJSON() {
		return nil
	}
	return c.out.line("%s", progressOf(j))
}

func ended(state slipbox.JobState) bool {
	return slices.Contains([]slipbox.JobState{slipbox.JobStateDone, slipbox.JobStateFailed, slipbox.JobStateDead, slipbox.JobStateCancelled}, state)
}

func progressOf(j slipbox.Job) string {
	text := j.Kind + " " + string(j.State)
	if p := j.Progress; p != nil && p.Total > 0 {
		text += fmt.Sprintf(" %d of %d (%d %%)", p.Done, p.Total, 100*p.Done/p.Total)
	}
	if j.NextTryAt != nil && !ended(j.State) {
		text += ", next try " + j.NextTryAt.Local().Format(time.TimeOnly) //nolint:gosmopolitan // people read the time of their clock
	}
	if j.Error != nil && !ended(j.State) {
		text += ": " + *j.Error
	}
	return text
}
