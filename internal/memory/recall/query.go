package recall

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds of a query.
const (
	DefaultK      = 5
	MaxK          = 200
	maxExpand     = 2
	maxQueryBytes = 64 << 10
	maxMessages   = 100
	// maxDialogue is how many bytes of a dialogue, from its end, are the query.
	maxDialogue = 8 << 10
	// maxEmbeddedDialogue is how many bytes of it, from its end, are embedded: about as much as an encoder
	// reads, which begins at the front.
	maxEmbeddedDialogue = 1200
)

// check returns Invalid for a query that cannot be answered, sets defaults, and returns the words of
// the query. rerank reports whether a model is configured.
func (q *Query) check(rerank, endpoint bool) (words string, err error) {
	given := 0
	for _, g := range []bool{q.Text != "", q.Messages != nil, q.Vector != nil} {
		if g {
			given++
		}
	}
	if given != 1 {
		return "", fault.InvalidField("query", "give exactly one of query, messages and vector")
	}
	switch q.Mode {
	case "":
		q.Mode = Hybrid
	case Hybrid, Vector, Lexical:
	default:
		return "", fault.InvalidField("mode", "must be hybrid, vector or lexical")
	}
	if q.Vector != nil {
		if q.Mode == Lexical {
			return "", fault.InvalidField("mode", "a vector cannot be searched by words")
		}
		q.Mode = Vector // it has no words
	}
	if q.AutoK {
		q.K = search.LeadingOf
	}
	if q.K == 0 {
		q.K = DefaultK
	}
	if q.K < 1 || q.K > MaxK {
		return "", fault.InvalidField("k", "must be between 1 and %d", MaxK)
	}
	if q.ExpandLinks < 0 || q.ExpandLinks > maxExpand {
		return "", fault.InvalidField("expand_links", "must be between 0 and %d", maxExpand)
	}
	if q.TokenBudget < 0 {
		return "", fault.InvalidField("token_budget", "must not be negative")
	}
	switch q.Profile {
	case "":
		q.Profile = Auto
	case Auto, General, Mem0:
	default:
		return "", fault.InvalidField("profile", "must be auto, default or mem0")
	}
	weights := q.Profile.Weights()
	if err := weights.Override(q.Weights); err != nil {
		return "", fault.InvalidField("weights", "%v", err)
	}
	if err := q.checkRerank(rerank, endpoint); err != nil {
		return "", err
	}
	if q.Messages != nil {
		return dialogueText(q.Messages)
	}
	if q.Text == "" {
		return "", nil
	}
	return q.Text, checkText("query", q.Text)
}

// checkRerank fills in the default of Rerank, and refuses one that nothing here can do.
func (q *Query) checkRerank(model, endpoint bool) error {
	q.Rerank = cmp.Or(q.Rerank, RerankNone)
	switch {
	case q.Rerank == RerankNone:
		return nil
	case q.Rerank != RerankModel && q.Rerank != RerankEndpoint:
		return fault.InvalidField("rerank", "must be none, model or endpoint")
	case q.Rerank == RerankModel && !model:
		return fault.InvalidField("rerank", "no model is configured")
	case q.Rerank == RerankEndpoint && !endpoint:
		return fault.InvalidField("rerank", "no endpoint that reranks is configured; set SLIPBOX_RERANK_URL")
	case q.Vector != nil:
		return fault.InvalidField("rerank", "a vector cannot be judged; give the query as text")
	}
	return nil
}

// checkText returns Malformed or Invalid for a text that cannot be a query.
func checkText(field, s string) error {
	switch {
	case !utf8.ValidString(s):
		return &fault.Error{
			Code: fault.Malformed, Message: field + ": not valid UTF-8",
			Fields: []fault.Field{{Field: field, Reason: "not valid UTF-8"}},
		}
	case len(s) > maxQueryBytes:
		return fault.InvalidField(field, "at most %d bytes; it has %d", maxQueryBytes, len(s))
	case strings.IndexByte(s, 0) >= 0:
		return fault.InvalidField(field, "must not contain the character U+0000")
	case strings.TrimSpace(s) == "":
		return fault.InvalidField(field, "must not be empty or blank")
	}
	return nil
}

// dialogueText returns the last turns of a dialogue as one query.
func dialogueText(messages []Message) (string, error) {
	if len(messages) == 0 || len(messages) > maxMessages {
		return "", fault.InvalidField("messages", "must have between 1 and %d entries", maxMessages)
	}
	var turns []string
	size := 0
	for i := len(messages) - 1; i >= 0 && size < maxDialogue; i-- {
		m := messages[i]
		for _, part := range []string{m.Assistant, m.User, m.Content} {
			if strings.TrimSpace(part) == "" {
				continue
			}
			turns = append(turns, part)
			size += len(part)
		}
	}
	var b strings.Builder
	for _, turn := range slices.Backward(turns) {
		b.WriteString(turn)
		b.WriteByte('\n')
	}
	text := tail(strings.TrimSpace(b.String()), maxQueryBytes)
	return text, checkText("messages", text)
}

// tail returns the last n bytes of a text or up to three less, between characters.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

// lastUtterance returns the last message of a dialogue that is not blank.
func lastUtterance(messages []Message) string {
	for _, m := range slices.Backward(messages) {
		for _, part := range []string{m.Content, m.User, m.Assistant} {
			if strings.TrimSpace(part) != "" {
				return part
			}
		}
	}
	return ""
}

// asker returns the name of the person who spoke last in a dialogue; "" is not known.
func asker(messages []Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Name != "" && m.Role != string(memory.RoleAssistant) {
			return m.Name
		}
	}
	return ""
}

// embedText embeds a text with an embedder of collections whose vectors have dim dimensions.
func (r *Service) embedText(ctx context.Context, s tenant.Scope, embedder string, dim int, text string) (_ memory.Embedding, err error) {
	ctx, end := r.spans.start(ctx, spanEncode)
	defer end(&err)
	var none memory.Embedding
	e, ok := r.embedders.ByName(embedder)
	if !ok {
		return none, fault.New(fault.Misconfigured, "the embedder %q of the collection is not configured", embedder)
	}
	if e.Dim() != dim {
		return none, fault.New(fault.Conflict, "the embedder %q has %d dimensions, the collection has %d", embedder, e.Dim(), dim)
	}
	embed := e.Embed
	if q, ok := e.(memory.QueryEmbedder); ok {
		embed = q.EmbedQueries
	}
	out, err := embed(ctx, s, []string{text})
	if err != nil {
		return none, err
	}
	if len(out) != 1 {
		return none, fault.New(fault.ModelFailed, "the embedder %q returned %d vectors for one text", embedder, len(out))
	}
	return out[0], nil
}
