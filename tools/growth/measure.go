package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/test/corpus"
)

// The names of the figures.
const (
	whatFsync    = "write 4 KiB over an older page, fsync"
	whatMemory   = "read of memory, one processor"
	whatEmpty    = "empty request (GET /healthz)"
	whatBinary   = "binary"
	whatFirstAdd = "start of the process to the first accepted add"
	whatAdd      = "durable add"
	whatEvolved  = "add to the end of its evolution, no model"
	whatBulk     = "bulk"
	whatHybrid   = "hybrid search, query embedded before"
	whatNew      = "hybrid search, query embedded in the call"
	whatVector   = "search by meaning, query embedded before"
	whatAfter    = "first search after the notes were added"
	whatFill     = "the index is filled from the log, to the first search that uses it"
	whatFirst    = "first search after a start: the index is a file"
	whatResident = "resident after a search"
	whatOwn      = "resident, without mapped files"
	whatDisk     = "disk"
	whatFork     = "fork"
	whatCopy     = "copy, to its end"
	whatHot      = "many tenants: hybrid search, touched before"
	whatTouch    = "many tenants: first search of a tenant after a start, which fills the index from the log"
	whatTouched  = "many tenants: first search of a tenant after a start: the index is a file"
)

// dimensions of the vectors of both embedders; the index scans one byte for each.
const dimensions = 384

// machine measures the limits: the disk and the memory.
func (b *bench) machine(context.Context) error {
	f, err := os.Create(filepath.Join(b.dir, "fsync"))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	page := make([]byte, 4096)
	if _, err := f.Write(make([]byte, 256*len(page))); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	err = b.times(Figure{Who: "machine", What: whatFsync}, b.calls, func(i int) error {
		page[0] = byte(i)
		if _, err := f.WriteAt(page, int64(i%256)*int64(len(page))); err != nil {
			return err
		}
		return f.Sync()
	})
	if err != nil {
		return err
	}
	b.fsync = b.result.Figures[0].P50

	// More than the caches hold; the best of some rounds is what the machine can do.
	words := make([]uint64, 32<<20)
	for i := range words {
		words[i] = uint64(i) //nolint:gosec // any value
	}
	best := time.Duration(1 << 62)
	var sum uint64
	for range 7 {
		start := time.Now()
		var a, c, d, e uint64
		for part := range slices.Chunk(words, 4) {
			a, c, d, e = a+part[0], c+part[1], d+part[2], e+part[3]
		}
		sum += a + c + d + e
		best = min(best, time.Since(start))
	}
	if sum == 0 {
		return fmt.Errorf("%s: impossible sum", whatMemory)
	}
	b.rate = float64(8*len(words)) / (float64(best) / float64(time.Millisecond))
	b.add(Figure{Who: "machine", What: whatMemory, Value: b.rate / 1e6, Unit: "GB/s"})
	info, err := os.Stat(b.gateway)
	if err != nil {
		return err
	}
	b.add(Figure{What: whatBinary, Value: float64(info.Size()) / 1e6, Unit: "MB"})
	return nil
}

// create creates a collection without a policy, or with one.
func (b *bench) create(ctx context.Context, key, name, policy string) error {
	return b.callAs(ctx, key, http.MethodPost, "/v1/collections", map[string]any{"name": name, "policy": policy}, nil)
}

// startAndAdd starts the gateway and measures the time until an add is accepted.
func (b *bench) startAndAdd(ctx context.Context, f Figure, text *corpus.Corpus) error {
	start := time.Now()
	if err := b.start(ctx); err != nil {
		return err
	}
	if f.Notes == 0 { // the first start: there is no collection yet
		if err := b.create(ctx, b.key, "growth", "none"); err != nil {
			return err
		}
	}
	if err := b.addNote(ctx, "growth", text.Note(), ""); err != nil {
		return err
	}
	f.P50 = float64(time.Since(start)) / float64(time.Millisecond)
	b.add(f)
	return nil
}

func (b *bench) addNote(ctx context.Context, collection, text, query string) error {
	return b.call(ctx, http.MethodPost, "/v1/collections/"+collection+"/notes"+query, map[string]any{"content": text}, nil)
}

func (b *bench) search(ctx context.Context, key, collection, mode, query string) error {
	var out struct{ Hits []struct{} }
	err := b.callAs(ctx, key, http.MethodPost, "/v1/collections/"+collection+"/search", map[string]any{"query": query, "mode": mode, "k": 10}, &out)
	if err == nil && len(out.Hits) == 0 {
		err = fmt.Errorf("no hits for %q", query)
	}
	return err
}

// filled waits until a search uses the index of a collection.
func (b *bench) filled(ctx context.Context, collection, query string) error {
	for {
		var out struct{ Degraded string }
		err := b.call(ctx, http.MethodPost, "/v1/collections/"+collection+"/search", map[string]any{"query": query, "k": 10}, &out)
		if err != nil || out.Degraded == "" {
			return err
		}
	}
}

// grow measures one collection at each size.
func (b *bench) grow(ctx context.Context) error {
	if len(b.sizes) == 0 {
		return nil
	}
	text := corpus.New(11)
	if err := b.startAndAdd(ctx, Figure{What: whatFirstAdd}, text); err != nil {
		return err
	}
	if err := b.times(Figure{What: whatEmpty}, b.calls, func(int) error { return b.call(ctx, http.MethodGet, "/healthz", nil, nil) }); err != nil {
		return err
	}
	if err := b.create(ctx, b.key, "evolving", "amem"); err != nil {
		return err
	}
	err := b.times(Figure{What: whatEvolved, Notes: b.calls, Limit: 2 * b.fsync}, b.calls, func(int) error {
		return b.addNote(ctx, "evolving", text.Note(), "?wait=evolved")
	})
	if err != nil {
		return err
	}
	have := 1
	for _, n := range b.sizes {
		if err := b.fill(ctx, &have, n-b.calls, text); err != nil {
			return err
		}
		if err := b.at(ctx, n, &have, text); err != nil {
			return err
		}
	}
	return nil
}

// fill adds notes in bulk until there are n, and measures the rate.
func (b *bench) fill(ctx context.Context, have *int, n int, text *corpus.Corpus) error {
	start, began := time.Now(), *have
	for *have < n {
		texts := make([]string, min(linesPerBulk, n-*have))
		for i := range texts {
			texts[i] = text.Note()
		}
		if err := b.bulk(ctx, b.key, "growth", texts); err != nil {
			return err
		}
		*have += len(texts)
		if *have%100_000 < linesPerBulk {
			logf("%d of %d notes", *have, n)
		}
	}
	if added := *have - began; added > 0 {
		b.add(Figure{What: whatBulk, Notes: *have, Value: float64(added) / time.Since(start).Seconds(), Unit: "notes/s"})
	}
	return nil
}

// at measures the collection with n notes, of which the last are added here one by one.
func (b *bench) at(ctx context.Context, n int, have *int, text *corpus.Corpus) error {
	err := b.times(Figure{What: whatAdd, Notes: n, Limit: b.fsync}, max(n-*have, 1), func(int) error {
		*have++
		return b.addNote(ctx, "growth", text.Note(), "")
	})
	if err != nil {
		return err
	}
	queries := text.Queries(64)
	began := time.Now()
	if err := b.times(Figure{What: whatAfter, Notes: n}, 1, func(int) error { return b.search(ctx, b.key, "growth", "hybrid", queries[0]) }); err != nil {
		return err
	}
	if err := b.filled(ctx, "growth", queries[0]); err != nil {
		return err
	}
	b.add(Figure{What: whatFill, Notes: n, P50: float64(time.Since(began)) / float64(time.Millisecond)})
	if err := b.stop(); err != nil {
		return err
	}
	if err := b.startAndAdd(ctx, Figure{What: whatFirstAdd, Notes: n}, text); err != nil {
		return err
	}
	*have++
	// The index scans one byte a dimension of each note.
	scan := float64(n*dimensions) / b.rate
	if err := b.times(Figure{What: whatFirst, Notes: n}, 1, func(int) error { return b.search(ctx, b.key, "growth", "hybrid", queries[0]) }); err != nil {
		return err
	}
	for _, q := range queries { // the index is loaded then, and the queries are embedded
		if err := b.search(ctx, b.key, "growth", "hybrid", q); err != nil {
			return err
		}
	}
	for what, mode := range map[string]string{whatHybrid: "hybrid", whatVector: "vector"} {
		err := b.times(Figure{What: what, Notes: n, Limit: scan}, b.calls, func(i int) error {
			return b.search(ctx, b.key, "growth", mode, queries[i%len(queries)])
		})
		if err != nil {
			return err
		}
	}
	err = b.times(Figure{What: whatNew, Notes: n, Limit: scan}, b.calls, func(int) error {
		return b.search(ctx, b.key, "growth", "hybrid", text.Query())
	})
	if err != nil {
		return err
	}
	bytes, err := b.sizesOf(n)
	if err != nil {
		return err
	}
	err = b.times(Figure{What: whatFork, Notes: n}, min(b.calls, 50), func(i int) error {
		return b.call(ctx, http.MethodPost, "/v1/collections/growth/clone", map[string]any{"name": fmt.Sprintf("fork-%d-%d", n, i)}, nil)
	})
	if err != nil || n > 10_000 {
		return err
	}
	err = b.times(Figure{What: whatCopy, Notes: n}, 3, func(i int) error { return b.copy(ctx, fmt.Sprintf("copy-%d-%d", n, i)) })
	if err != nil {
		return err
	}
	after, err := b.disk()
	b.besides += after - bytes
	return err
}

// sizesOf measures memory and disk, and returns the bytes of the data directory.
func (b *bench) sizesOf(n int) (bytes int64, err error) {
	all, own, err := b.resident()
	if err != nil {
		return 0, err
	}
	if bytes, err = b.disk(); err != nil {
		return 0, err
	}
	b.add(Figure{What: whatResident, Notes: n, Value: all, Unit: "MiB"})
	b.add(Figure{What: whatOwn, Notes: n, Value: own, Unit: "MiB"})
	b.add(Figure{What: whatDisk, Notes: n, Value: float64(bytes-b.besides) / float64(n), Unit: "B/note"})
	return bytes, nil
}

// copy copies the collection and waits for the end of the copy's job.
func (b *bench) copy(ctx context.Context, name string) error {
	var made struct {
		Job struct{ ID string }
	}
	if err := b.call(ctx, http.MethodPost, "/v1/collections/growth/clone", map[string]any{"name": name, "mode": "copy"}, &made); err != nil {
		return err
	}
	for made.Job.ID != "" {
		var job struct{ State, Error string }
		if err := b.call(ctx, http.MethodGet, "/v1/jobs/"+made.Job.ID, nil, &job); err != nil {
			return err
		}
		switch job.State {
		case "done":
			return nil
		case "queued", "running":
			time.Sleep(2 * time.Millisecond)
		default:
			return fmt.Errorf("the copy is %s: %s", job.State, job.Error)
		}
	}
	return nil
}
