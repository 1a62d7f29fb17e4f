package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

const (
	// mem0Tries is how often a request to mem0 is sent that is refused for now, breaks off, or answers what is not JSON.
	mem0Tries = 5
	// mem0Page is how many memories are asked for in one request.
	mem0Page = 100
	// mem0All is how many memories are asked of the open-source server, which has no pages.
	mem0All = 100_000
)

// mem0Source reads mem0's API.
type mem0Source struct {
	base, key string
	oss       bool
	http      *http.Client
}

// entities lists users, agents, apps and runs.
func (s *mem0Source) entities(ctx context.Context) (out []mem0Entity, err error) {
	type row struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	err = mem0Pages(ctx, s, http.MethodGet, "/v1/entities/", nil, func(list []row) {
		for _, r := range list {
			if kind := slices.Index(idNames, r.Type); kind >= 0 && r.Name != "" {
				out = append(out, mem0Entity{kind, r.Name})
			}
		}
	})
	return out, err
}

// memories passes the memories of an entity to each, page by page.
func (s *mem0Source) memories(ctx context.Context, e mem0Entity, each func([]mem0Memory)) error {
	if !s.oss {
		return mem0Pages(ctx, s, http.MethodPost, "/v3/memories/", map[string]any{"filters": map[string]string{mem0IDs[e.kind]: e.id}}, each)
	}
	query := url.Values{mem0IDs[e.kind]: {e.id}, "top_k": {strconv.Itoa(mem0All)}}
	page, err := mem0Get[mem0Memory](ctx, s, http.MethodGet, "/memories?"+query.Encode(), nil)
	if err == nil {
		each(page.Results)
	}
	return err
}

// mem0List is a page of a list. Older servers answer the array alone.
type mem0List[T any] struct {
	Results []T     `json:"results"`
	Next    *string `json:"next"`
}

// UnmarshalJSON reads both forms.
func (l *mem0List[T]) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		return json.Unmarshal(raw, &l.Results)
	}
	type plain mem0List[T]
	return json.Unmarshal(raw, (*plain)(l))
}

// mem0Pages passes the items of a list to each, page by page.
func mem0Pages[T any](ctx context.Context, s *mem0Source, method, path string, body any, each func([]T)) error {
	for page := 1; ; page++ {
		query := url.Values{"page": {strconv.Itoa(page)}, "page_size": {strconv.Itoa(mem0Page)}}
		list, err := mem0Get[T](ctx, s, method, path+"?"+query.Encode(), body)
		if err != nil {
			return err
		}
		each(list.Results)
		if list.Next == nil || len(list.Results) == 0 {
			return nil
		}
	}
}

// mem0Get sends a request, again where that may help: all of them only read.
func mem0Get[T any](ctx context.Context, s *mem0Source, method, target string, body any) (out mem0List[T], err error) {
	for try := 1; ; try++ {
		wait := backoff(try)
		raw, status, after, err := s.send(ctx, method, target, body)
		switch {
		case err != nil:
			err = failure{fmt.Sprintf("mem0 at %s cannot be reached (%v); is --from right?", s.base, err), ExitAway}
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			return out, failure{fmt.Sprintf("mem0 at %s does not accept the key (%d); set MEM0_API_KEY", s.base, status), ExitKey}
		case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
			err = failure{fmt.Sprintf("mem0 at %s is busy or broken (%d); the same command continues it later", s.base, status), ExitAway}
			wait = max(wait, after)
		case status >= http.StatusBadRequest:
			var said struct {
				Detail json.RawMessage `json:"detail"`
			}
			_ = json.Unmarshal(raw, &said)
			return out, failure{fmt.Sprintf("mem0 at %s refuses %s %s (%d): %s", s.base, method, clean(target), status, clean(string(said.Detail))), ExitRefused}
		default:
			out = mem0List[T]{}
			if err = json.Unmarshal(raw, &out); err == nil {
				return out, nil
			}
			err = failure{fmt.Sprintf("the answer of %s to %s %s cannot be read (%v); is it mem0?", s.base, method, clean(target), err), ExitAway}
		}
		if try == mem0Tries || wait > longestWait {
			return out, err
		}
		if err := rest(ctx, wait); err != nil {
			return out, err
		}
	}
}

// send sends a request once.
func (s *mem0Source) send(ctx context.Context, method, target string, body any) (raw []byte, status int, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, 0, 0, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+target, content)
	if err != nil {
		return nil, 0, 0, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case s.key == "":
	case s.oss:
		req.Header.Set("X-Api-Key", s.key)
	default:
		req.Header.Set("Authorization", "Token "+s.key)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address, which may hold ids
		}
		return nil, 0, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31)
	raw, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return raw, resp.StatusCode, time.Duration(seconds) * time.Second, err
}
