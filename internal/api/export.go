package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

const (
	mediaMarkdown  = "text/markdown; charset=utf-8"
	formatMarkdown = "markdown"
	// exportTime writes the offset of UTC, too: Z would leave the day to the zone of another collection.
	exportTime = "2006-01-02T15:04:05.999999-07:00"
)

// exportCollection sends all notes of a collection at one revision while it reads them. An answer that is not whole breaks off, since
// its status is sent before.
func (h *core) exportCollection(c *gin.Context, v memory.View) error {
	leave, err := h.following.enter(scope(c).Tenant())
	if err != nil {
		return err
	}
	defer leave()
	media, ending, write := mediaNDJSON, ".jsonl", exportLine
	if query(c).Get("format") == formatMarkdown {
		media, ending, write = mediaMarkdown, ".md", exportSection
	}
	setRevision(c, v.At)
	c.Header("Content-Type", media)
	c.Header("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": v.Collection.Name + ending}))
	c.Status(http.StatusOK)
	ctx := c.Request.Context()
	out := bufio.NewWriterSize(&patientWriter{c.Writer, http.NewResponseController(c.Writer), stillAccepted(c)}, 64<<10)
	if media == mediaMarkdown {
		_, _ = fmt.Fprintf(out, "# %s\n", oneLine(titleOf(&v.Collection))) // out remembers an error
	}
	err = h.Recall.Export(ctx, scope(c), v, func(n *recall.NoteView) error { return write(out, n) })
	if err == nil {
		err = out.Flush()
	}
	if err == nil || !c.Writer.Written() {
		return err
	}
	if ctx.Err() == nil {
		h.log.WarnContext(ctx, "export ended early", slog.String("request_id", requestID(c)), slog.Any("error", err))
	}
	panic(http.ErrAbortHandler) // the client must not take a part for the whole
}

// patientWriter allows each part of an answer its own time. The credential must still be accepted before each.
type patientWriter struct {
	io.Writer

	control *http.ResponseController
	check   func() error
}

// Write implements io.Writer.
func (w *patientWriter) Write(p []byte) (int, error) {
	if err := w.check(); err != nil {
		return 0, err
	}
	_ = w.control.SetWriteDeadline(time.Now().Add(streamWrite))
	return w.Writer.Write(p)
}

func titleOf(c *memory.Collection) string {
	if c.DisplayName != "" {
		return c.DisplayName
	}
	return c.Name
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// exportLine writes a note as an import takes it. One with more links than a line may have gets several lines: an import adds the
// links of a note that it knows.
func exportLine(out io.Writer, n *recall.NoteView) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	links := n.Links
	for {
		part := links[:min(len(links), memory.MaxLinks)]
		links = links[len(part):]
		line, err := importLine(n, part)
		if err != nil {
			return err
		}
		if err := enc.Encode(line); err != nil || len(links) == 0 {
			return err
		}
	}
}

func importLine(n *recall.NoteView, links []memory.Link) (wire.ImportNote, error) {
	attributes := wire.Attributes(n.Attributes)
	if n.Kind == memory.KindBlock {
		attributes = block.Shown(n.Attributes) // not which of its versions came before
	}
	state := wire.ImportNoteStateRaw
	if n.State == memory.StateEvolved {
		state = wire.ImportNoteStateEvolved
	}
	supplied := make([]wire.ImportNoteSupplied, len(n.Supplied))
	for i, field := range n.Supplied {
		supplied[i] = wire.ImportNoteSupplied(field)
	}
	out := wire.ImportNote{
		ID: n.ID, Kind: new(wire.Kind(n.Kind)), Key: wire.Optional(n.Key), Content: n.Content, Context: wire.Optional(n.Context), Keywords: n.Keywords,
		Tags: n.Tags, Category: wire.Optional(n.Category), Importance: &n.Importance, State: &state, Supplied: &supplied,
		Analyst:   wire.Optional(wire.ImportNoteAnalyst(n.Analyst)),
		CreatedAt: new(n.CreatedAt.Format(exportTime)), OccurredAt: wire.Optional(timeText(n.OccurredAt)), ExpiresAt: wire.Optional(timeText(n.ExpiresAt)),
	}
	if len(attributes) > 0 {
		out.Attributes = &attributes
	}
	if p := n.Provenance; len(p.Sources) > 0 || p.Stale || p.Agent != "" {
		out.Provenance = &wire.ImportProvenance{Sources: p.Sources, Stale: wire.Optional(p.Stale), Agent: wire.Optional(p.Agent)}
	}
	if u := n.Usage; u.AccessCount > 0 || u.CurrentStrength() != 1 || !u.LastAccess.IsZero() {
		out.Usage = &wire.NoteUsage{AccessCount: u.AccessCount, LastAccess: wire.OptionalTime(u.LastAccess), Strength: u.CurrentStrength()}
	}
	for _, l := range links {
		raw, err := json.Marshal(struct {
			Target     uuid.UUID      `json:"target"`
			Relation   string         `json:"relation"`
			Confidence float64        `json:"confidence"`
			Attributes map[string]any `json:"attributes,omitempty"`
		}{l.Target, l.Relation, l.Confidence, l.Attributes})
		if err != nil {
			return out, fmt.Errorf("render a link: %w", err)
		}
		out.Links = append(out.Links, raw)
	}
	return out, nil
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(exportTime)
}

// exportSection writes a note for people: when, who, what, and what it is linked to.
func exportSection(out io.Writer, n *recall.NoteView) error {
	head := []string{memory.Minute(n.OccurredAt)}
	if said := memory.UtteranceOf(&n.Note); n.Kind == memory.KindMessage {
		head = append(head, oneLine(said.Name+" ("+string(said.Role)+")"))
	} else if n.Kind != memory.KindNote {
		head = append(head, string(n.Kind))
	}
	about := []string{n.ID.String()}
	for _, tag := range n.Tags {
		about = append(about, "#"+oneLine(tag))
	}
	for _, l := range n.Links {
		about = append(about, oneLine(l.Relation)+": "+l.Target.String())
	}
	_, err := fmt.Fprintf(out, "\n## %s\n\n%s\n\n`%s`\n", strings.Join(head, ", "), n.Content, strings.ReplaceAll(strings.Join(about, ", "), "`", "'"))
	return err
}
