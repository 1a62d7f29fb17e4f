package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// errorsOpenAI marks operations whose errors have OpenAI's form.
const errorsOpenAI = "openai"

// createChatCompletion answers an OpenAI client from memory. The model's answer is passed on
// unchanged.
func (h *core) createChatCompletion(c *gin.Context) error { return h.complete(c, h.Chat.Complete) }

// createResponse does the same in the form of OpenAI's responses.
func (h *core) createResponse(c *gin.Context) error { return h.complete(c, h.Chat.Respond) }

// complete passes on the answer to a request in one of OpenAI's forms.
func (h *core) complete(c *gin.Context, ask func(context.Context, tenant.Scope, chat.Find, []byte) (*chat.Completion, error)) error {
	leave, err := h.talking.enter(scope(c).Tenant())
	if err != nil {
		return err
	}
	defer leave()
	ctx, watch, stop := untilRefused(c)
	defer stop()
	find, planned := h.namedCollection(c)
	defer planned()
	done, err := ask(ctx, scope(c), func(named string, stream bool) (string, error) {
		if stream {
			watch()
		}
		return find(named)
	}, rawBody(c))
	if refused, ok := errors.AsType[*chat.Refused](err); ok {
		// A refusal of the endpoint is passed on unchanged.
		c.Data(refused.Status, valueOr(wire.Optional(refused.ContentType), mediaJSON), refused.Body)
		return nil
	}
	if err != nil {
		return refusal(ctx, err)
	}
	defer done.Close()
	setRevision(c, done.Revision)
	setCitations(c, done.Citations)
	if !done.Stream {
		whole := &buffer{}
		if err := done.Pass(whole, func() error { return nil }); err != nil {
			return err
		}
		sendWhole(c, done.ContentType, whole.bytes)
		done.Remember(ctx)
		return nil
	}
	out := newEventStream(c)
	defer out.end()
	c.Header("Content-Type", done.ContentType)
	c.Status(http.StatusOK)
	err = done.Pass(out, out.control.Flush)
	if done.Remember(ctx); err == nil {
		err = out.refused // when the end of the answer was to be sent
	}
	if err == nil {
		return nil
	}
	if err = refusal(ctx, err); !c.Writer.Written() {
		return err
	}
	h.log.WarnContext(ctx, "a completion broke off", slog.String("request_id", requestID(c)), slog.Any("error", err))
	f := out.failed(err)
	if raw, err := json.Marshal(newOpenAIError(f, statuses[f.Code])); err == nil {
		_ = out.write("%s", done.Broken(raw)) // an error means that the client has left
	}
	return nil
}

// headerExternal has the ids of an application that name the collection of a request in OpenAI's form.
const headerExternal = "Slipbox-External"

// namedCollection returns what finds the collection of a request in one of OpenAI's forms: the headers name it, or
// else the name of the model does. A name has no =, so that one with it is the ids of an application. done is called when nothing more
// is written.
func (h *core) namedCollection(c *gin.Context) (find func(named string) (string, error), done func()) {
	end := func() {}
	return func(named string) (string, error) {
		ref, ids, policy := c.GetHeader("Slipbox-Collection"), c.GetHeader(headerExternal), c.GetHeader(headerCreate)
		from := headerExternal
		switch {
		case ref != "" && ids != "":
			return "", fault.InvalidField(headerExternal, "names the collection, and so does Slipbox-Collection; send one of them")
		case ref == "" && ids == "" && strings.Contains(named, "="):
			ids, from = named, "model"
		case ref == "":
			ref = named
		}
		home := notes.Home{Name: ref}
		switch own := memory.External(scope(c).Limit()); {
		case ids != "":
			var err error
			if home.External, err = readExternal(from, ids); err != nil {
				return "", err
			}
		case ref == "" && !own.IsZero():
			home.External = own // the memory that the key is for
		case ref == "" || policy == "":
			return ref, nil
		}
		found, done, err := h.findHome(c, home, policy, false)
		end = done
		return found.ID.String(), err
	}, func() { end() }
}

// readExternal reads the ids of an application that have the form of a query. from is the header or field that has them.
func readExternal(from, ids string) (e memory.External, err error) {
	// An @ that is not encoded is of an address that a program filled in as it is. Its + is then not a space.
	if strings.Contains(ids, "@") {
		ids = strings.ReplaceAll(ids, "+", "%2B")
	}
	query, err := url.ParseQuery(ids)
	if err != nil {
		return e, fault.InvalidField(from, "must have the form of a query, as in user=nora%%40example.com; a %% itself is %%25")
	}
	if e, err = externalOf(query); err != nil {
		return e, err
	}
	for _, id := range e.IDs() {
		query.Del(id.Name)
	}
	if len(query) > 0 {
		return e, fault.InvalidField(from, "may have user, agent, app and run, each once")
	}
	return e, nil
}

// maxCitations is how many notes the header of an answer names.
const maxCitations = 32

// setCitations names the notes that an answer in OpenAI's form was written from.
func setCitations(c *gin.Context, of []recall.Citation) {
	ids := make([]string, 0, maxCitations)
	for i := range of {
		if id := of[i].Note.String(); !slices.Contains(ids, id) && len(ids) < maxCitations {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		c.Header("Slipbox-Citations", strings.Join(ids, ","))
	}
}

// buffer is an io.Writer that collects bytes.
type buffer struct{ bytes []byte }

func (b *buffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

// listModels lists the names that a chat may select, in OpenAI's form.
func (h *core) listModels(c *gin.Context) error {
	out := wire.ModelList{Object: "list", Data: []wire.ModelName{}}
	for _, name := range h.Chat.Models() {
		out.Data = append(out.Data, h.model(name))
	}
	return reply(c, http.StatusOK, out)
}

// getModel answers with one of these models.
func (h *core) getModel(c *gin.Context) error {
	name := c.Param("model")
	if model, _ := chat.SplitModel(name); !utf8.ValidString(name) || !h.Chat.HasModel(model) {
		return &fault.Error{Code: fault.NotFound, Message: "no such model; GET /v1/models lists those there are", Err: chat.ErrUnknownModel}
	}
	return reply(c, http.StatusOK, h.model(name))
}

func (h *core) model(name string) wire.ModelName {
	return wire.ModelName{ID: name, Object: "model", Created: h.began.Unix(), OwnedBy: "slipbox"}
}

// openAIPaths are the beginnings of paths that OpenAI has. What is not there is refused in its form.
var openAIPaths = []string{"/v1/chat/", "/v1/models", "/v1/embeddings", "/v1/responses", "/v1/conversations", "/v1/completions"}

// refusesAsOpenAI makes the errors of a path without a route have the form that clients of OpenAI read.
func refusesAsOpenAI(c *gin.Context) {
	for _, p := range openAIPaths {
		if rest, ok := strings.CutPrefix(c.Request.URL.Path, p); ok && (rest == "" || strings.HasSuffix(p, "/") || rest[0] == '/') {
			c.Set(keyErrors, errorsOpenAI)
		}
	}
}

// newOpenAIError renders a fault in OpenAI's form, with the content of a problem document.
func newOpenAIError(f *fault.Error, status int) wire.OpenAIError {
	e := wire.OpenAIErrorBody{Message: clip.Runes(f.Message, maxProblemText), Code: nullable.NewNullableWithValue(string(f.Code))}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	switch {
	case status == http.StatusUnauthorized:
		e.Type = "authentication_error"
	case status == http.StatusForbidden:
		e.Type = "permission_error"
	case status == http.StatusTooManyRequests:
		e.Type = "rate_limit_error"
	case status >= http.StatusInternalServerError || status == 0:
		e.Type = "server_error"
	default:
		e.Type = "invalid_request_error"
	}
	if len(f.Fields) > 0 {
		e.Param = nullable.NewNullableWithValue(clip.Runes(f.Fields[0].Field, maxProblemText))
	}
	if errors.Is(f, chat.ErrNoModel) {
		e.Code = nullable.NewNullableWithValue("model_not_configured")
	}
	if errors.Is(f, chat.ErrUnknownModel) {
		e.Code = nullable.NewNullableWithValue("model_not_found")
	}
	return wire.OpenAIError{Error: e}
}
