package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// kept is what is noted of a loaded data set.
type kept struct {
	Embedder string        `json:"embedder"`
	Loading  time.Duration `json:"loading"`
	Loaded   []Loaded      `json:"loaded"`
}

// OpenKept is Open, but notes in a folder which collections it has loaded. When the folder has such a
// note of the data set, nothing is loaded. The gateway must still have the collections. "" loads always.
func OpenKept(ctx context.Context, c *Client, d *Dataset, prefix, policy, folder string, logf func(format string, args ...any)) (*Bench, error) {
	if folder == "" {
		return Open(ctx, c, d, prefix, policy, logf)
	}
	file := filepath.Join(folder, d.Name+"-"+policy+".json")
	raw, err := os.ReadFile(file)
	switch {
	case err == nil:
		var k kept
		if err := json.Unmarshal(raw, &k); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(k.Loaded) != len(d.Conversations) {
			return nil, fmt.Errorf("%s has %d conversations, the data %d", file, len(k.Loaded), len(d.Conversations))
		}
		return &Bench{Client: c, Data: d, Policy: policy, Embedder: k.Embedder, Loading: k.Loading, Loaded: k.Loaded}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read what was loaded: %w", err)
	}
	b, err := Open(ctx, c, d, prefix, policy, logf)
	if err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(kept{Embedder: b.Embedder, Loading: b.Loading, Loaded: b.Loaded}); err != nil {
		return nil, fmt.Errorf("encode what was loaded: %w", err)
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, fmt.Errorf("note what was loaded: %w", err)
	}
	return b, nil
}
