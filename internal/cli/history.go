package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory/transfer"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

const (
	// chunkLines and chunkBytes bound what is sent of a history in one request: the newest part can be searched while others load, and
	// little is sent again after an interrupt.
	chunkLines = 1_000
	chunkBytes = 4 << 20
	// The job of an import is looked at after the first of these times, then after twice as long up to the second.
	firstLook, longestLook = 10 * time.Millisecond, 500 * time.Millisecond
)

// historyFlags are the flags of an import about histories.
type historyFlags struct {
	format, me, zone, since, dates string
}

// options returns what the flags say.
func (f *historyFlags) options() (o transfer.Options, err error) {
	o = transfer.Options{Format: f.format, Me: f.me, Dates: f.dates}
	if f.zone != "" {
		if o.Zone, err = time.LoadLocation(f.zone); err != nil {
			return o, fmt.Errorf("--timezone %q: name one of the IANA database, such as Europe/Berlin", f.zone)
		}
	}
	if f.since != "" {
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if o.Since, err = time.Parse(layout, f.since); err == nil {
				break
			}
		}
	}
	if err != nil {
		return o, fmt.Errorf("--since %q: name a day, such as 2026-03-01", f.since)
	}
	return o, nil
}

// home is what an import has to know of its collection.
type home struct {
	policy    string
	onePerson bool
	exchanges bool // what is said later depends on what was said before
	zone      string
}

// homeOf reads how a collection remembers; of one that does not exist yet, its policy.
func (i *importing) homeOf(ctx context.Context) (h home, err error) {
	var c struct {
		Policy string         `json:"policy"`
		Config map[string]any `json:"policy_config"`
	}
	_, _, err = i.to.get(ctx, request{Method: http.MethodGet, Path: i.path, Query: i.ids}, &c)
	if r, ok := errors.AsType[*refusal](err); ok && r.missesCollection() {
		if i.policy == "" {
			i.suggest(ctx, i.to, r)
			return h, err
		}
		c.Policy, err = i.policy, nil
	}
	if err != nil {
		return h, err
	}
	var list struct {
		Items []struct {
			Name      string         `json:"name"`
			Exchanges bool           `json:"exchanges"`
			Defaults  map[string]any `json:"defaults"`
		} `json:"items"`
	}
	if _, _, err := i.to.get(ctx, request{Method: http.MethodGet, Path: "/v1/policies"}, &list); err != nil {
		return h, err
	}
	h.policy = c.Policy
	config := map[string]any{}
	for _, p := range list.Items {
		if p.Name == c.Policy {
			config, h.exchanges = p.Defaults, p.Exchanges
		}
	}
	maps.Copy(config, c.Config)
	h.onePerson = config["persons"] == "one"
	h.zone, _ = config["timezone"].(string)
	return h, nil
}

// history imports what a person has of another program: it says what it understood, asks what nothing says, and sends the messages.
func (i *importing) history(ctx context.Context, s *transfer.Source, name, format string) error {
	h, err := i.homeOf(ctx)
	if err != nil {
		return err
	}
	o := i.options
	o.Format = format
	o.OnePerson, o.Newest = h.onePerson, !h.exchanges
	if o.Zone == nil && h.zone != "" {
		if o.Zone, err = time.LoadLocation(h.zone); err != nil {
			return err
		}
	}
	i.errs.statusf("reading %s…", name)
	report, err := transfer.Read(ctx, s, o, func(transfer.Line) error { return nil })
	i.errs.done()
	if err != nil {
		return plainly(err, format)
	}
	route := i.routeOf(report.Format, h.policy)
	if route != "" {
		clear(report.Left) // the gateway says what it does not carry
	}
	if err := i.understood(name, report, h); err != nil {
		return err
	}
	if report.AskMe {
		if o.Me, err = i.askMe(ctx, report); err != nil {
			return err
		}
	}
	i.report.Files++
	i.report.Understood = append(i.report.Understood, report)
	if i.dry {
		i.report.Created += report.Messages + report.Notes
		return nil
	}
	if route != "" {
		return i.document(ctx, s, name, format, route)
	}
	send := &sending{importing: i, total: report.Messages + report.Notes, begun: time.Now(), name: name}
	if report.Format == "jsonl" || report.Format == "mem0" || report.Format == "markdown" {
		send.whole = true // its lines may refer to each other
	}
	defer send.close()
	if _, err := transfer.Read(ctx, s, o, func(l transfer.Line) error { return send.add(ctx, l) }); err != nil {
		return plainly(err, format)
	}
	return send.flush(ctx)
}

// routeOf returns the route that takes a file of the format whole, with what messages and notes do not say; "": there is none.
func (i *importing) routeOf(format, policy string) string {
	switch {
	case i.plain || !i.options.Since.IsZero():
	case format == "memorybank" && policy == "memorybank":
		return "/bank"
	case format == "letta" && policy == "memgpt":
		return "/agent-file"
	}
	return ""
}

// maxDocument bounds a file that is sent whole, in bytes: what the gateway takes in one request.
const maxDocument = 32 << 20

// document sends a file whole. What is there already is not written again.
func (i *importing) document(ctx context.Context, s *transfer.Source, name, format, route string) error {
	raw, err := s.Whole(maxDocument)
	if err != nil {
		return plainly(err, format)
	}
	i.errs.statusf("importing %s…", name)
	var got struct {
		Messages  int `json:"messages"`
		Summaries int `json:"summaries"`
		Profiles  int `json:"profiles"`
		Known     int `json:"known"`

		Skipped []slipbox.NotCarried `json:"skipped"`
		Left    []slipbox.NotCarried `json:"not_carried"`
		Job     *slipbox.JobRef      `json:"job"`
	}
	r := request{Method: http.MethodPost, Path: i.path + route, Query: i.ids, Body: json.RawMessage(raw), Repeatable: true}
	later, cancel := lingering(ctx)
	defer cancel()
	err = i.create(ctx, i.to, i.policy, func() error {
		_, header, err := i.to.get(later, r, &got)
		i.redacted(header)
		return err
	})
	if err != nil {
		return err
	}
	for _, one := range append(got.Skipped, got.Left...) {
		i.skip(name+" "+one.Path, one.Reason)
	}
	if got.Job == nil {
		i.report.Created += got.Messages + got.Summaries + got.Profiles
		i.report.Known += got.Known
		return nil
	}
	send := &sending{importing: i, name: name}
	return send.finish(ctx, got.Job.ID)
}

// plainly returns an error of a source as people read it, with the page about its format, or about all of them.
func plainly(err error, format string) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	if !slices.Contains(transfer.Formats(), format) {
		format = ""
	}
	said := f.Message
	if len(f.Fields) == 1 {
		said = "--" + f.Fields[0].Field + " " + f.Fields[0].Reason
	}
	return fmt.Errorf("%s; see docs/%s.md", said, path.Join("history", format))
}

// askMe asks who of the people of a history is remembered.
func (i *importing) askMe(ctx context.Context, r transfer.Report) (string, error) {
	var names []string
	for _, p := range r.People[:min(len(r.People), 20)] {
		names = append(names, clean(p.Name))
	}
	who := strings.Join(names, ", ")
	if _, ok := terminal(i.in); !ok {
		return "", fmt.Errorf("this memory is of one person, and several speak (%s); say who is remembered with --me NAME", who)
	}
	for {
		i.errs.line("This memory is of one person. Who of these is remembered: %s?", who)
		said, err := reading(ctx, func() (string, error) { return bufio.NewReader(io.LimitReader(i.in, 16<<10)).ReadString('\n') })
		if said = strings.TrimSpace(said); said == "" || err != nil && !errors.Is(err, io.EOF) {
			return "", errors.New("nobody was named; say who is remembered with --me NAME")
		}
		for _, p := range r.People {
			if strings.EqualFold(p.Name, said) {
				return p.Name, nil
			}
		}
	}
}

// understood says what was understood of a source, where a person reads it.
func (i *importing) understood(name string, r transfer.Report, h home) error {
	if i.asJSON() {
		return nil
	}
	said := []string{count(r.Messages, "message", "messages"), count(r.Sessions, "conversation", "conversations")}
	if r.Notes > 0 {
		said = []string{count(r.Notes, "note", "notes")}
	}
	if r.From != "" {
		days := []string{r.From[:len(time.DateOnly)], r.To[:len(time.DateOnly)]}
		said = append(said, strings.Join(slices.Compact(days), " to "))
	}
	said = slices.DeleteFunc(said, func(part string) bool { return part == "" }) // such as of messages without a conversation
	if len(said) == 0 {
		said = []string{"nothing to import"}
	}
	lines := []string{fmt.Sprintf("%s is %s: %s", name, r.What, strings.Join(said, ", "))}
	if len(r.People) > 0 {
		var people []string
		for _, p := range r.People[:min(len(r.People), 8)] {
			people = append(people, fmt.Sprintf("%s (%d)", p.Name, p.Messages))
		}
		lines = append(lines, "people: "+strings.Join(people, ", "))
	}
	for _, l := range r.First {
		said := []string{l.OccurredAt, cmp.Or(l.Name, l.Role), l.Content}
		if said[1] != "" {
			said[1] += ":"
		}
		lines = append(lines, strings.Join(slices.DeleteFunc(said, func(part string) bool { return part == "" }), " "))
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Left)) {
		lines = append(lines, fmt.Sprintf("left out: %s (%d)", reason, r.Left[reason]))
	}
	if r.Undated > 0 {
		lines = append(lines, count(r.Undated, "has", "have")+" no date that can be right: the time of the import is taken")
	}
	lines = append(lines, r.Doubts...)
	if h.exchanges {
		lines = append(lines, "the oldest comes first: "+h.policy+" lets what is said later replace what was said before")
	} else {
		lines = append(lines, "the newest comes first, and is found while the rest loads")
	}
	for _, line := range lines {
		i.errs.text("", line)
	}
	return i.errs.err
}

// sending sends the lines of a history.
type sending struct {
	*importing

	name  string
	whole bool // one import, not several
	total int
	begun time.Time
	sent  int
	body  bytes.Buffer
	held  int
	file  *os.File
}

func (s *sending) add(ctx context.Context, l transfer.Line) error {
	if s.plain && l.Raw == nil {
		l.Infer = new(bool) // false
	}
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if s.whole && s.file == nil {
		if s.file, err = os.CreateTemp("", "slipbox-lines-"); err != nil {
			return err
		}
	}
	if s.held++; s.whole {
		_, err := s.file.Write(append(line, '\n'))
		return err
	}
	s.body.Write(append(line, '\n'))
	if s.held >= chunkLines || s.body.Len() >= chunkBytes {
		return s.flush(ctx)
	}
	return nil
}

func (s *sending) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

// flush sends what is held, and waits until it is imported. What is there already is not written again, so it may be sent twice.
func (s *sending) flush(ctx context.Context) error {
	if s.held == 0 {
		return nil
	}
	r := request{Method: http.MethodPost, Path: s.path + "/import", Query: s.ids, Header: ndjson(), Repeatable: true}
	if s.file != nil {
		name := s.file.Name()
		r.Body = func() (io.Reader, error) { return os.Open(name) }
	} else {
		r.Body = bytes.Clone(s.body.Bytes())
	}
	s.body.Reset()
	var accepted slipbox.JobAccepted
	later, cancel := lingering(ctx)
	defer cancel()
	err := s.create(ctx, s.to, s.policy, func() error {
		_, header, err := s.to.get(later, r, &accepted)
		s.redacted(header)
		return err
	})
	if err != nil {
		return err
	}
	return s.finish(ctx, accepted.Job.ID)
}

// finish waits for the job of an import, and counts what it did.
func (s *sending) finish(ctx context.Context, id string) error {
	done := s.sent
	job, err := s.await(ctx, s.to, id, func(p *slipbox.Progress) { s.progress(done + int(p.Done)) })
	if err != nil {
		return err
	}
	s.sent += s.held
	s.held = 0
	s.progress(s.sent)
	return s.results(ctx, s.to, job, func(line *slipbox.BulkResult) {
		switch {
		case line.Error != nil && line.Error.Code == string(fault.Exists):
			s.report.Differ++
		case line.Error != nil:
			refused := refusal{Problem: *line.Error}
			s.refused++
			if len(s.report.Skipped) < maxSkips {
				s.skip(fmt.Sprintf("%s, line %d", s.name, done+line.Line), refused.Error())
			}
		case line.Status == http.StatusOK:
			s.report.Known++
		default:
			s.report.Created++
		}
	})
}

// maxSkips bounds the lines that a report names.
const maxSkips = 100

// progress says how far the import is, and how long it still takes.
func (s *sending) progress(done int) {
	left := ""
	if took := time.Since(s.begun); done > 0 && took > 2*time.Second {
		left = ", about " + (took * time.Duration(max(0, s.total-done)) / time.Duration(done)).Round(time.Second).String() + " left"
	}
	s.errs.statusf("importing %s: %d of %d%s…", s.name, done, s.total, left)
}

// await waits for the job of an import.
func (c *cli) await(ctx context.Context, to *client, id string, progress func(*slipbox.Progress)) (slipbox.Job, error) {
	for wait := firstLook; ; wait = min(2*wait, longestLook) {
		var job slipbox.Job
		if _, _, err := to.get(ctx, request{Method: http.MethodGet, Path: "/v1/jobs/" + url.PathEscape(id)}, &job); err != nil {
			return job, c.stop(ctx, to, id, err)
		}
		switch {
		case job.State == slipbox.JobStateDone:
			return job, nil
		case ended(job.State):
			reason := "it was " + string(job.State)
			if job.Error != nil && *job.Error != "" {
				reason = clean(*job.Error)
			}
			return job, failure{fmt.Sprintf("the import ended early (%s); the same command continues it", reason), ExitRefused}
		}
		if job.Progress != nil {
			progress(job.Progress)
		}
		if err := rest(ctx, wait); err != nil {
			return job, c.stop(ctx, to, id, err)
		}
	}
}

// stopTime is how long an interrupted import waits for an answer of the gateway.
const stopTime = 2 * time.Second

// lingering returns a context that ends stopTime after ctx: what a request has begun is known, and can be canceled.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		_ = rest(later, stopTime) // it ends early when later does
		cancel()
	})
	return later, func() { unhook(); cancel() }
}

// stop cancels the job of an import that was interrupted, and returns the error of the command.
func (c *cli) stop(ctx context.Context, to *client, id string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	later, cancel := lingering(ctx)
	defer cancel()
	_, stopErr := cancelJob(later, to, id, new(slipbox.Job))
	if r, ok := errors.AsType[*refusal](stopErr); ok && r.Status == http.StatusConflict {
		return err // it has ended
	}
	if stopErr != nil {
		return failure{"interrupted; the gateway still imports what was sent: `slipbox job cancel " + id + "` stops it, and the same command continues it", ExitInterrupted}
	}
	return failure{"interrupted, and the job is canceled; what was imported stays, and the same command continues it", ExitInterrupted}
}

// results calls each for the lines of an import.
func (c *cli) results(ctx context.Context, to *client, job slipbox.Job, each func(*slipbox.BulkResult)) error {
	resp, err := to.do(ctx, request{Method: http.MethodGet, Path: "/v1/jobs/" + job.ID + "/results"})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	rows := bufio.NewScanner(resp.Body)
	rows.Buffer(nil, maxEvent)
	for rows.Scan() {
		var line slipbox.BulkResult
		if err := json.Unmarshal(rows.Bytes(), &line); err == nil && line.Line >= 1 { // the summary has no line
			each(&line)
		}
	}
	if err := rows.Err(); err != nil {
		return to.away(err)
	}
	return nil
}
