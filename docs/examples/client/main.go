// Command client shows how a program calls slipbox and distinguishes the outcomes: hits, no hits, a
// refusal, and a failure that may pass.
//
//	SLIPBOX_URL=http://127.0.0.1:8080 SLIPBOX_KEY=sb_... go run ./docs/examples/client "who repairs bicycles?"
//
// It uses the standard library only. Copy it freely.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// A ProblemError is the problem document of a refusal (RFC 9457).
type ProblemError struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Code is stable: decide by it, never by the words.
	Code   string `json:"code"`
	Errors []struct {
		Field  string `json:"field"`
		Reason string `json:"reason"`
	} `json:"errors"`
	// RequestID finds the request in the gateway's log.
	RequestID string `json:"request_id"`

	retryAfter time.Duration
}

// Error returns status, code, detail, fields and request id in one line.
func (p *ProblemError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s: %s", p.Status, p.Code, p.Detail)
	for _, e := range p.Errors {
		fmt.Fprintf(&b, "; %s: %s", e.Field, e.Reason)
	}
	if p.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", p.RequestID)
	}
	return b.String()
}

// temporary reports whether the same request may succeed later.
func (p *ProblemError) temporary() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// A Hit is one note found.
type Hit struct {
	Note struct {
		ID      string `json:"id"`
		Content string `json:"content"`
	} `json:"note"`
	Score float64 `json:"score"`
	// IsNeighbor is true if the note was found by a link and not by the query itself.
	IsNeighbor bool `json:"is_neighbor"`
}

// A Client calls one gateway.
type Client struct {
	URL, Key string
	HTTP     *http.Client
	// Tries is the maximum number of times a request is sent.
	Tries int
	// Wait waits between two tries. It returns early with an error when the context ends.
	Wait func(context.Context, time.Duration) error
}

// Search returns the best k notes. No hits is a normal answer, not an error.
func (c *Client) Search(ctx context.Context, collection, query string, k int) ([]Hit, error) {
	var answer struct {
		Hits []Hit `json:"hits"`
	}
	err := c.post(ctx, "/v1/collections/"+collection+"/search", map[string]any{"query": query, "k": k}, "", &answer)
	return answer.Hits, err
}

// Add stores a note and returns its id. All tries carry the same idempotency key, so the note is stored
// once.
func (c *Client) Add(ctx context.Context, collection, content string) (string, error) {
	var answer struct {
		Note struct {
			ID string `json:"id"`
		} `json:"note"`
	}
	err := c.post(ctx, "/v1/collections/"+collection+"/notes", map[string]any{"content": content}, rand.Text(), &answer)
	return answer.Note.ID, err
}

// post sends a request until it succeeds, is refused permanently, or the tries run out.
func (c *Client) post(ctx context.Context, path string, body any, idempotencyKey string, answer any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	for try := 1; ; try++ {
		err = c.once(ctx, path, encoded, idempotencyKey, answer)
		var problem *ProblemError
		if err == nil || errors.As(err, &problem) && !problem.temporary() || ctx.Err() != nil || try >= c.Tries {
			return err
		}
		pause := time.Duration(try) * time.Second
		if problem != nil && problem.retryAfter > 0 {
			pause = problem.retryAfter
		}
		if err := c.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

func (c *Client) once(ctx context.Context, path string, body []byte, idempotencyKey string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("build request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("Content-Type", "application/json")
	if idempotencyKey != "" {
		req.Header.Set("Idempotency-Key", idempotencyKey)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("cannot reach the gateway: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode/100 != 2 {
		return problemOf(res)
	}
	if err := json.NewDecoder(res.Body).Decode(answer); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// problemOf reads a refusal. A proxy may have answered in the gateway's place, so an answer that is not
// a problem document is replaced by one.
func problemOf(res *http.Response) *ProblemError {
	problem := &ProblemError{}
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || json.Unmarshal(body, problem) != nil || problem.Code == "" {
		problem = &ProblemError{Title: http.StatusText(res.StatusCode), Code: "unknown", Detail: "no problem document"}
	}
	problem.Status = res.StatusCode
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		problem.retryAfter = time.Duration(seconds) * time.Second
	}
	return problem
}

// wait waits for the pause, or until the context ends.
func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func main() {
	client := &Client{
		URL: os.Getenv("SLIPBOX_URL"), Key: os.Getenv("SLIPBOX_KEY"),
		HTTP: &http.Client{Timeout: 30 * time.Second}, Tries: 4, Wait: wait,
	}
	if err := ask(context.Background(), os.Stdout, client, "demo", strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// ask searches and prints the result.
func ask(ctx context.Context, out io.Writer, client *Client, collection, query string) error {
	hits, err := client.Search(ctx, collection, query, 5)
	var problem *ProblemError
	switch {
	case errors.As(err, &problem) && problem.Code == "not_found":
		return fmt.Errorf("there is no collection %q, or this key may not see it", collection)
	case errors.As(err, &problem) && problem.Code == "unauthenticated":
		return errors.New("the key is not accepted: create one with \"gateway key create\"")
	case err != nil:
		return err
	case len(hits) == 0:
		_, err = fmt.Fprintln(out, "nothing found")
		return err
	}
	for _, hit := range hits {
		if _, err := fmt.Fprintf(out, "%.3f  %s\n", hit.Score, hit.Note.Content); err != nil {
			return err
		}
	}
	return nil
}
