package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/transfer"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// importHistory reads a file of another program: it says what it understood, and unless dry_run is set it imports it by a job.
func (h *core) importHistory(c *gin.Context, ref string) error {
	ctx, s := c.Request.Context(), scope(c)
	v, err := h.Recall.Open(ctx, s, ref, nil, 0)
	if err != nil {
		return err
	}
	options, err := h.historyOptions(c, &v.Collection)
	if err != nil {
		return err
	}
	leave, err := h.following.enter(s.Tenant())
	if err != nil {
		return err
	}
	defer leave()
	source, err := receive(c)
	if err != nil {
		return err
	}
	defer source.Close()
	report, err := transfer.Read(ctx, source, options, func(transfer.Line) error { return nil })
	if err != nil {
		return err
	}
	out := wire.HistoryReport{}
	if err := convert(report, &out.Understood); err != nil {
		return err
	}
	if query(c).Get("dry_run") == "true" {
		return reply(c, http.StatusOK, out)
	}
	if report.Messages+report.Notes == 0 {
		return fault.New(fault.Invalid, "there is nothing to import in it as %s", report.Format)
	}
	if report.AskMe {
		return fault.InvalidField("me", "is required: this memory is of one person, and several speak")
	}
	job, err := h.startHistory(ctx, s, ref, source, options, query(c).Get("infer") != "false")
	if err != nil {
		return err
	}
	out.Job = wireJobRef(&job)
	return reply(c, http.StatusAccepted, out)
}

// historyOptions returns what the query and the collection's policy say about reading a history.
func (h *core) historyOptions(c *gin.Context, of *memory.Collection) (transfer.Options, error) {
	q := query(c)
	o := transfer.Options{Format: q.Get("format"), Me: q.Get("me"), Dates: q.Get("dates"), Zone: of.Zone(), Newest: true, Now: h.now()}
	if p, ok := h.Policies.ByName(of.Policy); ok {
		o.OnePerson, o.Newest = p.Reading(of.PolicyConfig).OnePerson, !p.Describe().Exchanges
	}
	var err error
	if name := q.Get("timezone"); name != "" {
		if o.Zone, err = memory.Timezone(name).Location(); err != nil {
			return o, fault.InvalidField("timezone", "must be a name of the IANA time zone database, such as Europe/Berlin")
		}
	}
	if day := q.Get("since"); day != "" {
		if o.Since, err = time.ParseInLocation(time.DateOnly, day, o.Zone); err != nil {
			return o, fault.InvalidField("since", "must be a day such as 2026-03-01")
		}
	}
	return o, nil
}

// receive stores the body beside the system's temporary files while it arrives, and opens it. The file has no name.
func receive(c *gin.Context) (*transfer.Source, error) {
	f, err := os.CreateTemp("", "slipbox-history-")
	if err != nil {
		return nil, fault.Wrap(err, fault.StorageFull, "there is no room for the file")
	}
	removed := os.Remove(f.Name())
	body := newUpload(c)
	n, err := io.Copy(f, body)
	switch {
	case body.err != nil:
		err = bodyError(body.err)
	case err != nil:
		err = fault.Wrap(err, fault.StorageFull, "there is no room for the file")
	case n == 0:
		err = fault.New(fault.Invalid, "the file is empty")
	}
	if err = errors.Join(err, removed); err != nil {
		_ = f.Close()
		return nil, err
	}
	name := query(c).Get("name")
	if name == "" {
		name = "file"
	}
	return transfer.FromFile(f, filepath.Base(filepath.ToSlash(name)))
}

// startHistory passes the lines of a source to an import while they are read.
func (h *core) startHistory(ctx context.Context, s tenant.Scope, ref string, source *transfer.Source, o transfer.Options, infer bool) (memory.Job, error) {
	lines, writer := io.Pipe()
	read := make(chan error, 1)
	go func() {
		enc := json.NewEncoder(writer)
		_, err := transfer.Read(ctx, source, o, func(l transfer.Line) error {
			if !infer && l.Raw == nil {
				l.Infer = &infer
			}
			return enc.Encode(l)
		})
		_ = writer.CloseWithError(err) // nil: the end
		read <- err
	}()
	job, err := h.Imports.Start(ctx, s, ref, lines)
	_ = lines.Close() // a reader that stopped early ends the writer
	if failed := <-read; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return job, failed // the import's error would hide the cause
	}
	return job, err
}

// convert returns a value in the form that the contract has for it.
func convert(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}
