package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// selfTestTTL is how long the key of a self-test is valid when its tenant could not be deleted.
const selfTestTTL = 5 * time.Minute

// SelfTest checks the gateway at a base URL as a client does: it must be ready, and a search must
// find a note that was just added. Tenant, key and collection are made for the test, and deleted.
// say is called with a sentence for each step that has passed.
func SelfTest(ctx context.Context, cfg Settings, log *slog.Logger, base string, say func(string)) (err error) {
	ready, state, err := Health(ctx, base)
	if err != nil {
		return err
	}
	if !ready {
		return fault.New(fault.Unavailable, "the gateway at %s is not ready: %s", base, state)
	}
	say("the gateway is ready (" + state + ")")
	admin, err := OpenAdmin(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	name := "selftest-" + strings.ToLower(rand.Text()[:12])
	if _, err := admin.CreateTenant(ctx, name); err != nil {
		return err
	}
	defer func() {
		if e := admin.DeleteTenant(context.WithoutCancel(ctx), name); e != nil {
			err = errors.Join(err, fmt.Errorf("delete the tenant %s of the test: %w", name, e))
		}
	}()
	key, err := admin.CreateKey(ctx, name, NewKey{Name: "selftest", TTL: selfTestTTL})
	if err != nil {
		return err
	}
	client := selfTestClient{base: base, key: key.Text}
	if err := client.post(ctx, http.StatusCreated, "/v1/collections", map[string]any{"name": "probe", "policy": "none"}, nil); err != nil {
		return err
	}
	const text = "The lighthouse keeper repaired an old barometer."
	if err := client.post(ctx, http.StatusCreated, "/v1/collections/probe/notes", map[string]any{"content": text}, nil); err != nil {
		return err
	}
	var found struct {
		Hits []struct {
			Note struct {
				Content string `json:"content"`
			} `json:"note"`
		} `json:"hits"`
	}
	if err := client.post(ctx, http.StatusOK, "/v1/collections/probe/search", map[string]any{"query": "barometer"}, &found); err != nil {
		return err
	}
	if len(found.Hits) != 1 || found.Hits[0].Note.Content != text {
		return fault.New(fault.Internal, "a search did not find the note that was added before; it has %d hits", len(found.Hits))
	}
	say("a search with a new key finds the note that was added before")
	return nil
}

// selfTestClient sends requests with the key of a test.
type selfTestClient struct{ base, key string }

// post sends a request, which must be answered with a status, and reads the answer.
func (c selfTestClient) post(ctx context.Context, want int, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	at, err := url.JoinPath(c.base, path)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	direct := &http.Transport{DisableKeepAlives: true} // without a proxy
	resp, err := direct.RoundTrip(req)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "POST %s was not answered", path)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "the answer to POST %s ended early", path)
	}
	if resp.StatusCode != want {
		return fault.New(fault.Internal, "POST %s was answered with status %d, want %d: %s", path, resp.StatusCode, want, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
