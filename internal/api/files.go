package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/files"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (h *core) createFolder(c *gin.Context, body wire.FolderInput) error {
	v, err := h.Files.Create(c.Request.Context(), scope(c), notes.CollectionInput{
		Name: body.Name, DisplayName: valueOr(body.DisplayName, ""), Agent: valueOr(body.Agent, ""), Embedder: valueOr(body.Embedder, ""),
	}, conditions(c))
	if err != nil {
		return err
	}
	return h.replyFolder(c, http.StatusCreated, &v)
}

func (h *core) listFolders(c *gin.Context) error {
	cur, err := h.cursorOf(c)
	if err != nil {
		return err
	}
	after := ""
	if cur != nil {
		after = cur.Position
	}
	page, next, err := h.Files.List(c.Request.Context(), scope(c), after, pageLimit(c))
	if err != nil {
		return err
	}
	var out wire.FolderList
	if out.Items, err = h.wireFolders(c, page); err != nil {
		return err
	}
	if out.NextCursor, err = h.nextCursor(c, next); err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
}

// folder returns the folder of the path.
func (h *core) folder(c *gin.Context) (notes.CollectionView, error) {
	ref, err := pathRef(c, "folder")
	if err != nil {
		return notes.CollectionView{}, err
	}
	return h.Files.Folder(c.Request.Context(), scope(c), ref)
}

func (h *core) getFolder(c *gin.Context) error {
	v, err := h.folder(c)
	if err != nil {
		return err
	}
	return h.replyFolder(c, http.StatusOK, &v)
}

func (h *core) deleteFolder(c *gin.Context, ref string) error {
	return h.remove(c, func(ctx context.Context) ([]uuid.UUID, error) {
		job, err := h.Files.Delete(ctx, scope(c), ref)
		return []uuid.UUID{job}, err
	})
}

func (h *core) changeFolders(change func(ctx context.Context, s tenant.Scope, ref, folder string) (notes.CollectionView, error)) handler {
	return onCollectionBody(func(c *gin.Context, ref string, body wire.FolderRef) error {
		v, err := change(c.Request.Context(), scope(c), ref, body.Folder)
		if err != nil {
			return err
		}
		return h.replyFolder(c, http.StatusOK, &v)
	})
}

func (h *core) replyFolder(c *gin.Context, status int, v *notes.CollectionView) error {
	out, err := h.wireFolders(c, []notes.CollectionView{*v})
	if err != nil {
		return err
	}
	return reply(c, status, out[0])
}

// wireFolders returns folders with the collections that they are attached to.
func (h *core) wireFolders(c *gin.Context, page []notes.CollectionView) ([]wire.Folder, error) {
	attached, err := h.attachedTo(c, each(page, func(v *notes.CollectionView) uuid.UUID { return v.Collection.ID }))
	if err != nil {
		return nil, err
	}
	return each(page, func(v *notes.CollectionView) wire.Folder {
		it := &v.Collection
		f := wire.Folder{
			ID: it.ID, Name: it.Name, DisplayName: wire.Optional(it.DisplayName), Agent: wire.Optional(it.AgentName), Embedder: it.Embedder,
			Attached: nonNilList(attached[it.ID]), CreatedAt: wire.Time(it.CreatedAt),
		}
		if v.Counts != nil {
			f.Files = int(v.Counts.Kinds[memory.KindFile])
		}
		return f
	}), nil
}

// placeOf returns the collection of the path, or its folder.
func placeOf(c *gin.Context) (at files.Place, err error) {
	name := "collection"
	if at.Folder = c.Param("folder") != ""; at.Folder {
		name = "folder"
	}
	at.Ref, err = pathRef(c, name)
	return at, err
}

// filesView opens the collection of the path, or its folder.
func (h *core) filesView(c *gin.Context) (memory.View, error) {
	if c.Param("folder") == "" {
		return h.view(c)
	}
	folder, err := h.folder(c)
	return folder.View, err
}

// uploadFile passes the first part "file" of a form on while it arrives.
func (h *core) uploadFile(c *gin.Context) error {
	at, err := placeOf(c)
	if err != nil {
		return err
	}
	expires, err := h.fileExpiry(c)
	if err != nil {
		return err
	}
	_, params, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type"))
	if err != nil || params["boundary"] == "" {
		return fault.New(fault.Malformed, "the body must be a form (multipart/form-data) with a file in the field \"file\"")
	}
	body := newUpload(c)
	form := multipart.NewReader(body, params["boundary"])
	for {
		part, err := form.NextPart()
		if body.err != nil {
			return bodyError(body.err)
		}
		if errors.Is(err, io.EOF) {
			return fault.InvalidField("file", "is required")
		}
		if err != nil {
			return fault.Wrap(err, fault.Malformed, "the form cannot be read")
		}
		if part.FormName() != "file" {
			continue
		}
		out, err := h.Files.Upload(c.Request.Context(), scope(c), at, part.FileName(), expires, part)
		switch {
		case body.err != nil:
			return bodyError(body.err) // the service's error would hide the cause
		case err != nil:
			return err
		}
		status := http.StatusAccepted
		if out.Job == nil {
			status = http.StatusOK
		}
		return reply(c, status, wire.FileAccepted{File: wireFile(&out.File), Job: wireJobRef(out.Job)})
	}
}

// fileExpiry returns when an upload expires: its body is a stream, so the query says it.
func (h *core) fileExpiry(c *gin.Context) (time.Time, error) {
	var at *string
	var ttl *int64
	if text := query(c).Get("expires_at"); text != "" {
		at = &text
	}
	if text := query(c).Get("ttl_seconds"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, fault.InvalidField("ttl_seconds", "must be an integer")
		}
		ttl = &seconds
	}
	return memory.ParseExpiry(at, ttl, h.now())
}

func (h *core) listFiles(c *gin.Context) error {
	cur, err := h.cursorOf(c)
	if err != nil {
		return err
	}
	v, err := h.filesView(c)
	if err != nil {
		return err
	}
	if cur != nil {
		if cur.Collection != v.Collection.ID {
			return badCursor("belongs to another collection")
		}
		if v, err = h.Recall.Open(c.Request.Context(), scope(c), v.Collection.ID.String(), &cur.Revision, 0); err != nil {
			return err
		}
	}
	page, next, err := h.listPage(c, v, cur, recall.ListQuery{Kinds: []memory.Kind{memory.KindFile}, Filter: files.IsFile(), Bare: true})
	if err != nil {
		return err
	}
	out := wire.FileList{Items: make([]wire.File, len(page.Items)), NextCursor: next, Revision: int64(v.At)}
	list := make([]*files.File, len(page.Items))
	for i := range page.Items {
		list[i] = new(files.Of(&page.Items[i].Note))
	}
	if err := h.Files.MarkLost(c.Request.Context(), scope(c), v, list...); err != nil {
		return err
	}
	for i := range list {
		out.Items[i] = wireFile(list[i])
	}
	return replyAt(c, http.StatusOK, v.At, out)
}

func (h *core) getFile(c *gin.Context, id uuid.UUID) error {
	v, err := h.filesView(c)
	if err != nil {
		return err
	}
	f, err := h.Files.File(c.Request.Context(), scope(c), v, id)
	if err != nil {
		return err
	}
	return replyAt(c, http.StatusOK, v.At, wireFile(&f))
}

func (h *core) deleteFile(c *gin.Context) error {
	at, err := placeOf(c)
	if err != nil {
		return err
	}
	id, err := pathID(c, "file")
	if err != nil {
		return err
	}
	if query(c).Get("erase") == "true" {
		out, err := h.Files.EraseFile(c.Request.Context(), scope(c), at, id)
		if err != nil {
			return err
		}
		return reply(c, http.StatusOK, wireErasure(&out))
	}
	if _, err := h.Files.DeleteFile(c.Request.Context(), scope(c), at, id); err != nil {
		return err
	}
	return noContent(c)
}

func wireFile(f *files.File) wire.File {
	return wire.File{
		ID: f.ID, Name: f.Name, MediaType: f.Media, Bytes: f.Bytes, Tokens: f.Tokens, Chunks: f.Chunks, Pages: f.Pages,
		State: wire.FileState(f.State), Error: wire.Optional(f.Error), CreatedAt: wire.Time(f.CreatedAt), ExpiresAt: wire.OptionalTime(f.ExpiresAt),
	}
}
