package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

const labelReranker = "the reranker's endpoint"

// Reranker orders documents by their relevance for a query, by an endpoint in the form of Cohere. It tries once, within a bounded
// time, and does not ask an endpoint that keeps failing.
type Reranker struct {
	endpoint *endpoint
	model    string
}

// NewReranker returns the reranker of the settings, which must be valid; nil when they name none.
func NewReranker(d Deps, cfg Config) *Reranker {
	if cfg.RerankURL == "" {
		return nil
	}
	cfg = cfg.withDefaults()
	cfg.MaxTries, cfg.Timeout = 1, cfg.RerankTimeout
	return &Reranker{newEndpoint(d, cfg, labelReranker, cfg.RerankURL, cfg.RerankAPIKey, ""), cfg.RerankModel}
}

type rerankRequest struct {
	Model     string   `json:"model"`
	Query     string   `json:"query"`
	Documents []string `json:"documents"`
	TopN      int      `json:"top_n"`
}

type rerankAnswer struct {
	Results []struct {
		Index *int     `json:"index"`
		Score *float64 `json:"relevance_score"`
	} `json:"results"`
}

// Rerank returns the relevance of each document; NaN for one that the endpoint did not name. An answer that names a document that was
// not sent, or one of them twice, is an error.
func (r *Reranker) Rerank(ctx context.Context, s tenant.Scope, query string, documents []string) (scores []float64, err error) {
	body, err := json.Marshal(rerankRequest{r.model, query, documents, len(documents)})
	if err != nil {
		return nil, fmt.Errorf("encode the documents: %w", err)
	}
	_, err = r.endpoint.run(ctx, s, func(ctx context.Context, rec *recorder) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.endpoint.base, bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("make the request: %w", err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json")
		resp, err := rec.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close() //nolint:errcheck // it is read to its end
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		scores, err = parseScores(raw, len(documents))
		return err
	})
	return scores, err
}

func parseScores(raw []byte, n int) ([]float64, error) {
	var got rerankAnswer
	if err := json.Unmarshal(raw, &got); err != nil {
		return nil, fmt.Errorf("the answer is not that of a reranker: %w", err)
	}
	if len(got.Results) == 0 {
		return nil, errors.New("the answer has no results")
	}
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = math.NaN()
	}
	for _, x := range got.Results {
		switch {
		case x.Index == nil || x.Score == nil:
			return nil, errors.New("a result has no index or no relevance_score")
		case *x.Index < 0 || *x.Index >= n:
			return nil, fmt.Errorf("a result has the index %d of %d documents", *x.Index, n)
		case !math.IsNaN(scores[*x.Index]):
			return nil, fmt.Errorf("two results have the index %d", *x.Index)
		}
		scores[*x.Index] = *x.Score
	}
	return scores, nil
}
