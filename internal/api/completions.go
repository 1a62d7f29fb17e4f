package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
)

// errorsOpenAI marks operations whose errors have OpenAI's form.
const errorsOpenAI = "openai"

// createChatCompletion answers an OpenAI client from memory. The model's answer is passed on
// unchanged.
func (h *core) createChatCompletion(c *gin.Context) error {
	leave, err := h.talking.enter(scope(c).Tenant())
	if err != nil {
		return err
	}
	defer leave()
	ctx := c.Request.Context()
	done, err := h.Chat.Complete(ctx, scope(c), c.GetHeader("Slipbox-Collection"), rawBody(c))
	if refused, ok := errors.AsType[*chat.Refused](err); ok {
		// A refusal of the endpoint is passed on unchanged.
		c.Data(refused.Status, valueOr(optional(refused.ContentType), mediaJSON), refused.Body)
		return nil
	}
	if err != nil {
		return err
	}
	defer done.Close()
	setRevision(c, done.Revision)
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
	if err := done.Pass(out, out.control.Flush); err != nil {
		if !c.Writer.Written() {
			return err
		}
		f := normalize(err)
		c.Set(keyCode, string(f.Code))
		h.log.WarnContext(ctx, "a completion broke off", slog.String("request_id", requestID(c)), slog.Any("error", err))
		if raw, err := json.Marshal(newOpenAIError(f, statuses[f.Code])); err == nil {
			_ = out.write("data: %s\n\n", raw) // an error means that the client has left
		}
		return nil
	}
	done.Remember(ctx)
	return nil
}

// buffer is an io.Writer that collects bytes.
type buffer struct{ bytes []byte }

func (b *buffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

// Write sends a part of a finished stream, with the same time limit as an event.
func (e *eventStream) Write(p []byte) (int, error) {
	_ = e.control.SetWriteDeadline(time.Now().Add(streamWrite))
	return e.c.Writer.Write(p)
}

// listModels lists the names that a chat may select, in OpenAI's form.
func (h *core) listModels(c *gin.Context) error {
	out := wire.ModelList{Object: "list", Data: []wire.ModelName{}}
	for _, name := range h.Chat.Models() {
		out.Data = append(out.Data, wire.ModelName{ID: name, Object: "model", Created: h.began.Unix(), OwnedBy: "slipbox"})
	}
	return reply(c, http.StatusOK, out)
}

// newOpenAIError renders a fault in OpenAI's form, with the content of a problem document.
func newOpenAIError(f *fault.Error, status int) wire.OpenAIError {
	e := wire.OpenAIErrorBody{Message: clip(f.Message), Code: nullable.NewNullableWithValue(string(f.Code))}
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
		e.Param = nullable.NewNullableWithValue(clip(f.Fields[0].Field))
	}
	if errors.Is(f, chat.ErrUnknownModel) {
		e.Code = nullable.NewNullableWithValue("model_not_found")
	}
	return wire.OpenAIError{Error: e}
}
