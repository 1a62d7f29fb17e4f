package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/search"
)

// Limits of one request for embeddings. A local encoder reads about 100 kB of text in a second.
const (
	maxEmbedded      = 256
	maxEmbeddedBytes = 128 << 10
)

// embeddingRequest is a request in OpenAI's form.
type embeddingRequest struct {
	Input          json.RawMessage `json:"input"`
	Model          string          `json:"model"`
	EncodingFormat *string         `json:"encoding_format"`
	Dimensions     *int            `json:"dimensions"`
}

// createEmbeddings embeds texts with the embedder of new collections.
func (h *core) createEmbeddings(c *gin.Context) error {
	var body embeddingRequest
	if err := unmarshal(rawBody(c), &body); err != nil {
		return err
	}
	name := chat.DefaultModel
	if slices.Contains(h.cfg.EmbeddingNames, body.Model) {
		name = body.Model
	} else if body.Model != "" && body.Model != name {
		err := fault.InvalidField("model", "unknown model; valid is %q, the embedder of this gateway, and what SLIPBOX_EMBEDDING_NAMES lists", name)
		err.Err = chat.ErrUnknownModel
		return err
	}
	texts, err := body.texts()
	if err != nil {
		return err
	}
	embedder := h.Embedders.Default()
	if n := valueOr(body.Dimensions, embedder.Dim()); n != embedder.Dim() {
		return fault.InvalidField("dimensions", "must be %d, the length of this embedder's vectors", embedder.Dim())
	}
	embedded, err := embedder.Embed(c.Request.Context(), scope(c), texts)
	if err != nil {
		return err
	}
	out := wire.EmbeddingList{Object: "list", Model: name, Data: make([]wire.EmbeddingItem, len(texts))}
	for i := range texts {
		out.Usage.PromptTokens += search.EstimateTokens(texts[i])
		out.Data[i] = wire.EmbeddingItem{Object: "embedding", Index: i, Embedding: embedded[i].Vector}
		if valueOr(body.EncodingFormat, "") == "base64" {
			out.Data[i].Embedding = encodeVector(embedded[i].Vector)
		}
	}
	out.Usage.TotalTokens = out.Usage.PromptTokens
	countRecords(c, len(texts))
	return reply(c, http.StatusOK, out)
}

// texts decodes the input.
func (r *embeddingRequest) texts() ([]string, error) {
	var one string
	var out []string
	switch {
	case json.Unmarshal(r.Input, &one) == nil && string(r.Input) != "null":
		out = []string{one}
	case json.Unmarshal(r.Input, &out) != nil:
		return nil, fault.InvalidField("input", "must be a text or a list of texts; lists of token numbers are not supported")
	}
	if len(out) == 0 || len(out) > maxEmbedded {
		return nil, fault.InvalidField("input", "must have between 1 and %d texts", maxEmbedded)
	}
	bytes := 0
	for i, s := range out {
		if strings.TrimSpace(s) == "" {
			return nil, fault.InvalidField("input."+strconv.Itoa(i), "must not be blank")
		}
		bytes += len(s)
	}
	if bytes > maxEmbeddedBytes {
		return nil, fault.InvalidField("input", "has %d bytes; at most %d are accepted", bytes, maxEmbeddedBytes)
	}
	return out, nil
}

// encodeVector returns a vector as float32 in little-endian order, in base64.
func encodeVector(v []float32) string {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
