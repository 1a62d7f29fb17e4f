package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/document"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Bounds of files.
const (
	chunkTokens = 300                        // of a passage at most
	chunkBytes  = memory.MaxContentBytes / 4 // of one at most
	maxFiles    = 10_000                     // of a collection
	maxFolders  = 100                        // attached to a collection
)

// Store is what Service requires of a store.
type Store interface {
	memory.Reader
	memory.Writer
	memory.Spool
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
	ListCollections(ctx context.Context, s tenant.Scope, q memory.CollectionQuery) ([]memory.Collection, error)
	ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) ([]memory.Job, error)
}

// Parse turns a file into text, by page; that of a document.Parser is one.
type Parse func(ctx context.Context, media document.Media, data []byte, l document.Limits) ([]string, error)

// Quota bounds the time that the files of a tenant take.
type Quota interface {
	// MayParse returns RateLimited when the tenant has used its time.
	MayParse(ctx context.Context, s tenant.Scope) error
	// Parsed counts the time that a file took, whether it could be read or not.
	Parsed(ctx context.Context, s tenant.Scope, took time.Duration) error
}

// Deps are the parts that the service uses; all are required but Quota and Clock.
type Deps struct {
	Store       Store
	Notes       *notes.Service
	Collections *notes.Collections
	Recall      *recall.Service
	Parse       Parse
	Quota       Quota        // nil: no bound
	Clock       memory.Clock // nil: time.Now
}

// Config are the settings of the service.
type Config struct {
	Limits document.Limits // zero fields: their defaults
}

// Service keeps files. It is safe for concurrent use.
type Service struct {
	store       Store
	notes       *notes.Service
	collections *notes.Collections
	recall      *recall.Service
	parse       Parse
	quota       Quota
	clock       memory.Clock
	limits      document.Limits
}

// New returns a service.
func New(deps Deps, cfg Config) (*Service, error) {
	if deps.Store == nil || deps.Notes == nil || deps.Collections == nil || deps.Recall == nil || deps.Parse == nil {
		return nil, fault.New(fault.Internal, "files: store, notes, collections, recall and parse are required")
	}
	f := &Service{
		store: deps.Store, notes: deps.Notes, collections: deps.Collections, recall: deps.Recall, parse: deps.Parse, quota: deps.Quota, clock: deps.Clock,
		limits: cfg.Limits.OrDefault(),
	}
	if f.clock == nil {
		f.clock = time.Now
	}
	return f, nil
}

// Create creates a folder (collections:write): a collection of the policy none.
func (f *Service) Create(ctx context.Context, s tenant.Scope, in notes.CollectionInput, r memory.Request) (notes.CollectionView, error) {
	in.Policy, in.Metadata = memory.PolicyNone, map[string]any{memory.MetaFolder: true}
	return f.collections.Create(ctx, s, in, r)
}

// Folder returns a folder (notes:read); NotFound for another collection.
func (f *Service) Folder(ctx context.Context, s tenant.Scope, ref string) (notes.CollectionView, error) {
	v, err := f.collections.Get(ctx, s, ref)
	if err == nil && !v.Collection.IsFolder() {
		err = fault.Missing("folder")
	}
	if fault.Is(err, fault.NotFound) {
		err = fault.Missing("folder")
	}
	return v, err
}

// List returns a page of the folders that the scope reaches, by name (notes:read); next is "" after the last one.
func (f *Service) List(ctx context.Context, s tenant.Scope, after string, limit int) (page []notes.CollectionView, next string, err error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, "", err
	}
	for {
		rows, err := f.store.ListCollections(ctx, s, memory.CollectionQuery{After: after, Limit: memory.MaxPage})
		if err != nil {
			return nil, "", err
		}
		for i := range rows {
			if !rows[i].IsFolder() {
				continue
			}
			if len(page) == limit {
				last := &page[limit-1].Collection
				return page, last.Name + "\x00" + last.ID.String(), nil
			}
			v, err := f.collections.Get(ctx, s, rows[i].ID.String())
			if fault.Is(err, fault.NotFound) {
				continue
			}
			if err != nil {
				return nil, "", err
			}
			page = append(page, v)
		}
		if len(rows) < memory.MaxPage {
			return page, "", nil
		}
		last := rows[len(rows)-1]
		after = last.Name + "\x00" + last.ID.String()
	}
}

// Delete deletes a folder with its files, and returns the job that removes their rows (collections:write). Conflict while it is
// attached.
func (f *Service) Delete(ctx context.Context, s tenant.Scope, ref string) (uuid.UUID, error) {
	v, err := f.Folder(ctx, s, ref)
	if err != nil {
		return uuid.Nil, err
	}
	return f.collections.Delete(ctx, s, v.Collection.ID.String(), false)
}

// Place is a collection that has files. Folder requires that it is a folder.
type Place struct {
	Ref    string
	Folder bool
}

// payload is the payload of a job of kind file.
type payload struct {
	Media document.Media `json:"media"`
	Parts int            `json:"parts"`
}

// Uploaded is the result of an upload.
type Uploaded struct {
	File File
	Job  *memory.Job // that reads the file; nil: the file was read already
}

// Upload stores a file and enqueues the job that reads it (notes:write, and base:write for a shared collection). Of a
// file that is there already, with the same bytes, nothing is stored, unless it could not be read: then it is read
// again. In a folder, files are found by name, so it is the same file only under the same name. Exists for a name
// whose file has other bytes, Unsupported for a format that cannot be read, TooLarge.
func (f *Service) Upload(ctx context.Context, s tenant.Scope, at Place, name string, expires time.Time, body io.Reader) (Uploaded, error) {
	c, err := f.writable(ctx, s, at)
	if err != nil {
		return Uploaded{}, err
	}
	if name, err = checkName(name); err == nil {
		err = c.ScreenKey("file", name)
	}
	if err != nil {
		return Uploaded{}, err
	}
	job, err := uuid.NewV7()
	if err != nil {
		return Uploaded{}, fault.Wrap(err, fault.Internal, "an id could not be generated")
	}
	out, err := f.accept(ctx, s, at, job, name, expires, body)
	if err != nil || out.Job == nil || out.Job.ID != job { // the file was there
		bare, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
		defer cancel()
		_, e := f.store.DropParts(bare, s, job, memory.SpoolBody, 0) // else a later sweep removes them
		if err != nil {
			return out, errors.Join(err, e)
		}
	}
	return out, nil
}

const dropTimeout = 10 * time.Second

func nameTaken(name string) error {
	return fault.New(fault.Exists, "there is a file with the name %q and other content; delete it first", name)
}

// accept spools a file and writes its note and its job.
func (f *Service) accept(ctx context.Context, s tenant.Scope, at Place, id uuid.UUID, name string, expires time.Time, body io.Reader) (Uploaded, error) {
	p, size, hash, err := f.spool(ctx, s, id, name, body)
	if err != nil {
		return Uploaded{}, err
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return Uploaded{}, fault.Wrap(err, fault.Internal, "encode the job")
	}
	job := memory.Job{ID: id, Kind: memory.JobFile, Stage: memory.StageTask, Payload: raw, Progress: &memory.Progress{}}
	return memory.Again(func() (Uploaded, error) {
		c, err := f.writable(ctx, s, at)
		if err != nil {
			return Uploaded{}, err
		}
		return f.write(ctx, s, &c, job, map[string]any{attrMedia: string(p.Media), attrBytes: size, attrState: string(Queued), attrHash: hash}, name, expires)
	})
}

// write writes the note of a file and its job.
func (f *Service) write(ctx context.Context, s tenant.Scope, c *memory.Collection, job memory.Job, attributes map[string]any, name string, expires time.Time) (Uploaded, error) {
	hash, _ := attributes[attrHash].(string)
	same, err := f.same(ctx, s, c, name, hash)
	if err != nil {
		return Uploaded{}, err
	}
	if same != nil {
		reads, kept, err := f.isKept(ctx, s, c, same)
		if err != nil || kept {
			return Uploaded{*same, reads}, err
		}
		return f.again(ctx, s, same, job)
	}

	note := memory.Note{
		Kind: memory.KindFile, Key: name, Content: name, Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateRaw, ExpiresAt: expires,
		Provenance: memory.Provenance{Actor: s.Actor()},
		Attributes: attributes,
	}
	if note.ID, err = uuid.NewV7(); err != nil {
		return Uploaded{}, fault.Wrap(err, fault.Internal, "an id could not be generated")
	}
	o := memory.WriteOptions{Cause: memory.CauseAdd, Trigger: note.ID, Audit: []memory.AuditEntry{{
		Action: "file.create", Target: note.ID.String(), Detail: map[string]any{"collection": c.ID.String(), "bytes": attributes[attrBytes]},
	}}}
	var out Uploaded
	_, err = f.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		put := note
		put.OccurredAt = tx.Now()
		tx.Fresh(put.ID)
		stored, err := tx.Put(ctx, put)
		if err != nil {
			return err
		}
		if _, err := tx.Enqueue(ctx, memory.Job{Note: note.ID, Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: memory.EmbedOnly()}); err != nil {
			return err
		}
		own := job
		own.Note = note.ID
		own, err = tx.Enqueue(ctx, own)
		out = Uploaded{Of(&stored), &own}
		return err
	})
	if fault.Is(err, fault.Exists) { // it came meanwhile
		if same, err = f.same(ctx, s, c, name, hash); err == nil && same == nil {
			err = nameTaken(name)
		}
		if err != nil {
			return Uploaded{}, err
		}
		reads, _, err := f.isKept(ctx, s, c, same)
		return Uploaded{*same, reads}, err
	}
	return out, err
}

// same returns the file that a collection has with these bytes; nil: none. Exists when the name is that of another one.
func (f *Service) same(ctx context.Context, s tenant.Scope, c *memory.Collection, name, hash string) (*File, error) {
	v, err := f.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return nil, err
	}
	named, err := f.store.NoteByKey(ctx, s, v, memory.KindFile, name)
	switch {
	case err == nil && named.Attributes[attrHash] == hash:
		return new(Of(&named)), nil
	case err == nil:
		return nil, nameTaken(name)
	case !fault.Is(err, fault.NotFound):
		return nil, err
	}
	if !c.IsFolder() {
		list, err := f.store.ListNotes(ctx, s, v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindFile}, Filter: filter.AttributeIs(attrHash, hash), Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return new(Of(&list[0])), nil
		}
	}
	counts, err := f.store.Counts(ctx, s, v)
	if err == nil && counts.Kinds[memory.KindFile] >= maxFiles {
		err = fault.InvalidField("file", "there are %d files, and no room for another", maxFiles)
	}
	return nil, err
}

// isKept reports whether a file is read, or a job of the collection will, which it returns. It has none if it was forked while its job
// was to come, or if that was canceled or ran out of tries.
func (f *Service) isKept(ctx context.Context, s tenant.Scope, c *memory.Collection, file *File) (reads *memory.Job, kept bool, err error) {
	if !file.waits() {
		return nil, file.State == Ready, nil
	}
	jobs, err := f.jobs(ctx, s, c.ID, file.ID)
	if err != nil || len(jobs) == 0 {
		return nil, false, err
	}
	return &jobs[0], true, nil
}

// again enqueues the job of a file that was not read.
func (f *Service) again(ctx context.Context, s tenant.Scope, file *File, job memory.Job) (Uploaded, error) {
	out := Uploaded{File: *file, Job: &job}
	out.File.State, out.File.Error, job.Note = Queued, "", file.ID
	with := func(ctx context.Context, tx memory.Tx, _ []memory.Note) (err error) {
		job, err = tx.Enqueue(ctx, job)
		return err
	}
	return out, f.set(ctx, s, file, map[string]any{attrState: string(Queued), attrError: nil}, with)
}

// spool stores the parts of a file, and returns what its job needs, its size in bytes and their hash.
func (f *Service) spool(ctx context.Context, s tenant.Scope, id uuid.UUID, name string, body io.Reader) (p payload, size int64, hash string, err error) {
	sum := sha256.New()
	part := make([]byte, memory.MaxPart)
	for {
		n, err := io.ReadFull(body, part)
		if p.Parts == 0 {
			if p.Media, err = mediaOf(name, part[:n], err); err != nil && p.Media == "" {
				return p, size, "", err
			}
		}
		if size += int64(n); size > f.limits.Bytes {
			return p, size, "", fault.New(fault.TooLarge, "the file has more than %d bytes", f.limits.Bytes)
		}
		if n > 0 {
			sum.Write(part[:n])
			if err := f.store.PutPart(ctx, s, id, memory.SpoolBody, p.Parts, part[:n]); err != nil {
				return p, size, "", err
			}
			p.Parts++
		}

		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			if size == 0 {
				return p, size, "", fault.InvalidField("file", "is empty")
			}
			return p, size, hex.EncodeToString(sum.Sum(nil)), nil
		case err != nil:
			return p, size, "", fault.Wrap(err, fault.Invalid, "the file could not be read to its end; send it again")
		}
	}
}

// mediaOf returns the media type of a file from its first part, and the error with which the part was read.
func mediaOf(name string, head []byte, read error) (document.Media, error) {
	m, err := document.MediaOf(name, head)
	if err != nil {
		return "", err
	}
	return m, read
}

// writable resolves a collection whose notes the scope may write.
func (f *Service) writable(ctx context.Context, s tenant.Scope, at Place) (memory.Collection, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return memory.Collection{}, err
	}
	c, err := f.store.ResolveCollection(ctx, s, at.Ref)
	if at.Folder && (fault.Is(err, fault.NotFound) || err == nil && !c.IsFolder()) {
		err = fault.Missing("folder")
	}
	if err == nil && c.Shared() {
		err = tenant.Check(s, tenant.BaseWrite)
	}
	return c, err
}

// Run does a job of kind file: the text of the file becomes passages. A file that cannot be read is failed, with
// the reason, and its job too. Passages that are there already are left alone, so an interrupted job starts again. What
// was written of a file that is deleted meanwhile goes with it.
func (f *Service) Run(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) error {
	var p payload
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return fault.Wrap(err, fault.Invalid, "the payload of the job cannot be read; a newer version may have made it")
	}
	v, err := f.store.OpenView(ctx, s, job.Collection.String(), memory.At{})
	if err != nil {
		return err
	}
	found, err := f.store.Notes(ctx, s, v, []uuid.UUID{job.Note}, memory.ReadOptions{})
	if err != nil {
		return err
	}
	if len(found) == 0 || Of(&found[0]).State == Ready { // it was deleted meanwhile, or an earlier try ended before it dropped the body
		_, err := f.store.DropParts(ctx, s, job.ID, memory.SpoolBody, 0)
		return err
	}
	file := Of(&found[0])
	if f.quota != nil {
		if err := f.quota.MayParse(ctx, s); fault.Is(err, fault.RateLimited) {
			return fmt.Errorf("%w: %w", memory.ErrPaused, err) // which counts no try
		} else if err != nil {
			return err
		}
	}
	if err := f.set(ctx, s, &file, map[string]any{attrState: string(Running)}, nil); err != nil {
		return err
	}
	err = f.read(ctx, s, &v.Collection, job, &p, &file, progress)
	if fault.Is(err, fault.NotFound) {
		return f.clear(ctx, s, job, &file)
	}
	if err == nil {
		_, err = f.store.DropParts(ctx, s, job.ID, memory.SpoolBody, 0)
		return err
	}
	switch fault.CodeOf(err) { //nolint:exhaustive // the others may pass
	case fault.Invalid, fault.Malformed, fault.TooLarge, fault.Unsupported, fault.QuotaExceeded:
		reason := "the file cannot be read"
		if e, ok := errors.AsType[*fault.Error](err); ok {
			reason = e.Message
		}
		if e := f.set(ctx, s, &file, map[string]any{attrState: string(Failed), attrError: reason}, nil); fault.Is(e, fault.NotFound) {
			return f.clear(ctx, s, job, &file)
		} else if e != nil {
			return e
		}
		if !fault.Is(err, fault.QuotaExceeded) { // another try would read the same, and it may hold secrets that the folder refuses
			if _, e := f.store.DropParts(ctx, s, job.ID, memory.SpoolBody, 0); e != nil {
				return e
			}
		}
		return fault.New(fault.Invalid, "%s", reason)
	}
	return err
}

// clear removes what a job wrote of a file that is gone, as its file was: deleted, or erased.
func (f *Service) clear(ctx context.Context, s tenant.Scope, job memory.Job, file *File) error {
	v, err := f.store.OpenView(ctx, s, file.Collection.String(), memory.At{})
	if err != nil {
		return err
	}
	found, err := f.store.Notes(ctx, s, v, []uuid.UUID{file.ID}, memory.ReadOptions{})
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return fault.New(fault.Unavailable, "a note of the file was not found; it is read again")
	}
	_, past := f.store.History(ctx, s, v, file.ID, 0, 1)
	if fault.Is(past, fault.NotFound) {
		_, err = f.erase(ctx, s, file.ID, v)
	} else if err = past; err == nil {
		_, err = f.delete(ctx, s, &v, file.ID)
	}
	if err == nil {
		_, err = f.store.DropParts(ctx, s, job.ID, memory.SpoolBody, 0)
	}
	return err
}

// set changes attributes of a file.
func (f *Service) set(ctx context.Context, s tenant.Scope, file *File, attributes map[string]any, with memory.With) error {
	_, err := f.notes.Patch(ctx, s, file.Collection.String(), file.ID, notes.NotePatch{Attributes: nullable.NewNullableWithValue(attributes)}, memory.Request{With: with})
	return err
}

func (f *Service) read(ctx context.Context, s tenant.Scope, c *memory.Collection, job memory.Job, p *payload, file *File, progress memory.ReportProgress) error {
	var data []byte
	parts := 0
	if err := f.store.Parts(ctx, s, job.ID, memory.SpoolBody, func(part []byte) error {
		parts++
		data = append(data, part...)
		return nil
	}); err != nil {
		return err
	}
	if parts < p.Parts {
		return fault.New(fault.Invalid, "the uploaded file is gone; upload it again")
	}
	pages, err := f.timed(ctx, s, p.Media, data)
	if err != nil {
		return err
	}
	// Before it is cut, or half a secret would end one passage and half begin the next.
	for i := range pages {
		if pages[i], err = c.ScreenText(ctx, "file", pages[i]); err != nil {
			return err
		}
	}
	lines, tokens := chunk(file, pages)
	const batch = 200
	for at := 0; at < len(lines); at += batch {
		results, err := f.notes.AddMany(ctx, s, file.Collection.String(), lines[at:min(at+batch, len(lines))])
		if err != nil {
			return err
		}
		for i := range results {
			if results[i].Err != nil {
				return results[i].Err
			}
		}
		if err := progress(ctx, memory.Progress{Done: int64(min(at+batch, len(lines))), Total: int64(len(lines))}); err != nil {
			return err
		}
	}
	return f.set(ctx, s, file, map[string]any{
		attrState: string(Ready), attrError: nil, attrTokens: tokens, attrChunks: int64(len(lines)), attrPages: int64(len(pages)),
	}, nil)
}

// timed parses a file, and counts the time that it took.
func (f *Service) timed(ctx context.Context, s tenant.Scope, media document.Media, data []byte) ([]string, error) {
	start := f.clock()
	pages, err := f.parse(ctx, media, data, f.limits)
	if f.quota != nil {
		if e := f.quota.Parsed(ctx, s, f.clock().Sub(start)); e != nil && err == nil {
			err = e
		}
	}
	return pages, err
}

// chunk cuts pages into passages, which expire with the file. Lines count through the file.
func chunk(file *File, pages []string) (out []notes.BulkLine, tokens int64) {
	line := 1
	no := false
	var expires *time.Time
	if !file.ExpiresAt.IsZero() {
		expires = &file.ExpiresAt
	}
	for n, page := range pages {
		at := 0
		for _, span := range passages(page) {
			line += strings.Count(page[at:span.Start], "\n")
			content := page[span.Start:span.End]
			attributes := map[string]any{memory.AttrFile: file.ID.String(), memory.AttrFileName: file.Name, attrIndex: int64(len(out)), attrLine: int64(line)}
			if len(pages) > 1 {
				attributes[memory.AttrPage] = int64(n + 1)
			}
			out = append(out, notes.BulkLine{Note: notes.NewNote{
				Kind: memory.KindPassage, Key: memory.PassageKey(file.ID, len(out)), Content: content, Attributes: attributes, ExpiresAt: expires, Infer: &no,
				Sources: []uuid.UUID{file.ID},
			}})
			tokens += int64(text.CountTokens(content))
			line += strings.Count(content, "\n")
			at = span.End
		}
		line += strings.Count(page[at:], "\n")
	}
	return out, tokens
}

// passages cuts a page by tokens, and by bytes too: a run of one character has few tokens at any length.
func passages(page string) []text.Span {
	var out []text.Span
	for _, span := range text.Passages(page, chunkTokens) {
		for span.End-span.Start > chunkBytes {
			at := span.Start + cutAt(page[span.Start:span.End])
			head := strings.TrimRightFunc(page[span.Start:at], unicode.IsSpace)
			out = append(out, text.Span{Start: span.Start, End: span.Start + len(head)})
			span.Start = span.End - len(strings.TrimLeftFunc(page[at:span.End], unicode.IsSpace))
		}
		out = append(out, span)
	}
	return out
}

// cutAt returns where a text of more than chunkBytes is cut: behind its last line or word that fits, else between two
// characters.
func cutAt(s string) int {
	fits := s[:chunkBytes]
	if at := strings.LastIndexByte(fits, '\n'); at > 0 {
		return at
	}
	if at := strings.LastIndexFunc(fits, unicode.IsSpace); at > 0 {
		return at
	}
	at := chunkBytes
	for at > 1 && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}

// IsFile is the condition of the notes that are files. What an agent has open is a note of their kind, too.
func IsFile() filter.Expr {
	return &filter.Leaf{Field: filter.Attributes, Path: []string{attrMedia}, Op: filter.Exists, Want: true}
}

// File returns a file of a collection (notes:read); NotFound.
func (f *Service) File(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID) (File, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return File{}, err
	}
	found, err := f.store.Notes(ctx, s, v, []uuid.UUID{id}, memory.ReadOptions{})
	if err == nil && (len(found) == 0 || found[0].Kind != memory.KindFile || Of(&found[0]).Media == "") {
		err = fault.Missing("file")
	}
	if err != nil {
		return File{}, err
	}
	file := Of(&found[0])
	err = f.MarkLost(ctx, s, v, &file)
	return file, err
}

// passagesOf selects the passages of a file.
func passagesOf(files ...uuid.UUID) filter.Expr {
	values := make([]filter.Value, len(files))
	for i, id := range files {
		values[i] = filter.Value{Type: filter.Text, Text: id.String()}
	}
	return filter.And{memory.OfKinds(memory.KindPassage), &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrFile}, Op: filter.In, Values: values}}
}

// deleteBatch is how many passages one changeset deletes.
const deleteBatch = 500

// DeleteFile deletes a file and its passages (notes:write, and base:write for a shared collection). Its job, if it still
// runs, clears what it wrote.
func (f *Service) DeleteFile(ctx context.Context, s tenant.Scope, at Place, id uuid.UUID) (memory.Revision, error) {
	c, err := f.writable(ctx, s, at)
	if err != nil {
		return 0, err
	}
	v, err := f.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return 0, err
	}
	if _, err := f.File(ctx, s, v, id); err != nil {
		return 0, err
	}
	return f.delete(ctx, s, &v, id)
}

// delete deletes the passages of a file, and then the file, as far as they are there.
func (f *Service) delete(ctx context.Context, s tenant.Scope, at *memory.View, id uuid.UUID) (memory.Revision, error) {
	c, v := at.Collection, *at
	o := memory.WriteOptions{Cause: memory.CauseDelete, Trigger: id}
	for {
		page, err := f.store.ListNotes(ctx, s, v, memory.NoteQuery{Filter: passagesOf(id), Kinds: []memory.Kind{memory.KindPassage}, Limit: deleteBatch})
		if err != nil {
			return 0, err
		}
		last := len(page) < deleteBatch
		if last {
			o.Audit = []memory.AuditEntry{{Action: "file.delete", Target: id.String(), Detail: map[string]any{"collection": c.ID.String()}}}
		}
		w, err := f.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
			for i := range page {
				if err := tx.Delete(ctx, page[i].ID); err != nil && !fault.Is(err, fault.NotFound) {
					return err
				}
			}
			if !last {
				return nil
			}
			err := tx.Delete(ctx, id)
			if fault.Is(err, fault.NotFound) {
				return nil
			}
			return err
		})
		if err != nil || last {
			return w.Revision, err
		}
		if v, err = f.store.OpenView(ctx, s, c.ID.String(), memory.At{}); err != nil {
			return 0, err
		}
	}
}

// EraseFile deletes a file, also one that is deleted already, and removes every version of it and of its passages, in
// forks of the collection too. Conflict when the collection has it from the one that it was forked from.
func (f *Service) EraseFile(ctx context.Context, s tenant.Scope, at Place, id uuid.UUID) (notes.Erasure, error) {
	c, err := f.writable(ctx, s, at)
	if err != nil {
		return notes.Erasure{}, err
	}
	v, err := f.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return notes.Erasure{}, err
	}
	past, err := f.store.History(ctx, s, v, id, 0, 0)
	live := slices.DeleteFunc(past, func(h memory.HistoryEntry) bool { return h.Note.Deleted })
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && (len(live) == 0 || live[0].Note.Kind != memory.KindFile || Of(&live[0].Note).Media == ""):
		return notes.Erasure{}, fault.Missing("file")
	case err != nil:
		return notes.Erasure{}, err
	case live[0].Note.Layer != c.ID:
		return notes.Erasure{}, fault.New(fault.Conflict, "the file is of the collection %s, which this one was forked from; erase it there", live[0].Note.Layer)
	}
	views := []memory.View{v}
	for i := range live { // its passages, whether or not they were deleted since
		then, err := f.store.OpenView(ctx, s, c.ID.String(), memory.At{AsOf: &live[i].Note.From})
		if err != nil {
			return notes.Erasure{}, err
		}
		views = append(views, then)
	}
	return f.erase(ctx, s, id, views...)
}

// erase deletes a file and removes every version of it and of its passages, which are looked for in views, the head first.
func (f *Service) erase(ctx context.Context, s tenant.Scope, id uuid.UUID, views ...memory.View) (notes.Erasure, error) {
	out := notes.Erasure{Gone: []uuid.UUID{id}}
	c := views[0].Collection
	gone := map[uuid.UUID]bool{id: true}
	q := memory.NoteQuery{Filter: passagesOf(id), Kinds: []memory.Kind{memory.KindPassage}, Limit: deleteBatch}
	for _, v := range views {
		for n, err := range memory.EachNote(ctx, f.store, s, v, q) {
			if err != nil {
				return out, err
			}
			if !gone[n.ID] {
				gone[n.ID], out.Gone = true, append(out.Gone, n.ID)
			}
		}
	}
	if _, err := f.delete(ctx, s, &views[0], id); err != nil {
		return out, err
	}
	jobs, err := f.store.ListJobs(ctx, s, memory.JobQuery{Notes: []uuid.UUID{id}, Limit: deleteBatch})
	if err != nil {
		return out, err
	}
	for i := range jobs { // one that waits, or has failed, keeps the body
		if _, err := f.store.DropParts(ctx, s, jobs[i].ID, memory.SpoolBody, 0); err != nil {
			return out, err
		}
	}
	entry := memory.AuditEntry{Action: "file.erase", Target: id.String(), Detail: map[string]any{"collection": c.ID.String()}}
	for page := range slices.Chunk(out.Gone, deleteBatch) {
		erased, err := f.store.EraseNotes(ctx, s, c.ID, memory.Erasing{Notes: page}, entry)
		if err != nil {
			return out, err
		}
		out.Layers = erased.Layers
		out.Versions, out.Jobs, out.Reviews = out.Versions+erased.Versions, out.Jobs+erased.Jobs, out.Reviews+erased.Reviews
	}
	if out.Kept, err = f.notes.HeldElsewhere(ctx, s, &c, out.Gone); err != nil {
		return out, err
	}
	out.Traces, err = f.store.Traces(ctx)
	return out, err
}

// Attach allows the agents of a collection to search and open the files of a folder (notes:write there).
func (f *Service) Attach(ctx context.Context, s tenant.Scope, ref, folder string) (notes.CollectionView, error) {
	return f.attach(ctx, s, ref, folder, func(ctx context.Context, tx memory.Tx, to, _ uuid.UUID) error {
		_, err := tx.Attach(ctx, memory.Attachment{Collection: to, Mode: memory.AttachFolder})
		return err
	}, "folder.attach")
}

// Detach ends what Attach began; NotFound when the folder is not attached.
func (f *Service) Detach(ctx context.Context, s tenant.Scope, ref, folder string) (notes.CollectionView, error) {
	return f.attach(ctx, s, ref, folder, func(ctx context.Context, tx memory.Tx, to, folder uuid.UUID) error {
		ok, err := tx.Detach(ctx, folder, to)
		if err == nil && !ok {
			err = fault.Missing("folder")
		}
		return err
	}, "folder.detach")
}

func (f *Service) attach(ctx context.Context, s tenant.Scope, ref, folder string, change func(ctx context.Context, tx memory.Tx, to, folder uuid.UUID) error, action string) (notes.CollectionView, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return notes.CollectionView{}, err
	}
	c, err := f.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return notes.CollectionView{}, err
	}
	if c.Shared() {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return notes.CollectionView{}, err
		}
	}
	v, err := f.Folder(ctx, s, folder)
	if err != nil {
		return v, err
	}
	list, err := f.attached(ctx, s, c.ID)
	if err == nil && action == "folder.attach" && len(list) >= maxFolders && !slices.Contains(list, v.Collection.ID) {
		err = fault.InvalidField("folder", "the collection has %d folders, and no room for another; detach one first", maxFolders)
	}
	if err != nil {
		return v, err
	}
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{Action: action, Target: v.Collection.ID.String(), Detail: map[string]any{"collection": c.ID.String()}}}}
	_, err = f.store.Write(ctx, s, v.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		return change(ctx, tx, c.ID, v.Collection.ID)
	})
	return v, err
}

// attached lists the folders that are attached to a collection.
func (f *Service) attached(ctx context.Context, s tenant.Scope, collection uuid.UUID) ([]uuid.UUID, error) {
	list, err := f.store.Attachments(ctx, s, memory.AttachmentQuery{Collection: collection})
	var out []uuid.UUID
	for _, a := range list {
		if a.Mode == memory.AttachFolder {
			out = append(out, a.Block)
		}
	}
	return out, err
}
