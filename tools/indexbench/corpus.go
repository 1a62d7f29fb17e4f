package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// share is the weight of the difference of two encoded notes that is added to a third one, to make a
// vector without encoding. Such vectors vary in the same directions as those of the encoder; random
// vectors would not.
const share = 0.5

// session is the number of notes of a session.
const session = 25

// corpus holds the notes and the queries of a run.
type corpus struct {
	dim     int
	encoded int         // the number of vectors that the encoder made; they come first
	vectors [][]float32 // of unit length
	tokens  [][]byte    // codes for late interaction
	queries []query
}

type query struct {
	text string
	memory.Embedding
}

// noteText returns the text of note i.
func noteText(i int) string { return newWriter(noteStream, i).note() }

// newCorpus makes n notes, of which the first encode ones are encoded, and queries. A file in dir
// caches encoded notes between runs.
func newCorpus[E memory.Embedder](ctx context.Context, encoders []E, dir string, n, encode, queries int, logf logger) (*corpus, error) {
	c := &corpus{dim: encoders[0].Dim(), encoded: min(n, encode)}
	if c.encoded < 3 {
		return nil, errors.New("encode at least three notes")
	}
	texts := make([]string, queries)
	for i := range texts {
		texts[i] = newWriter(queryStream, i).query()
	}
	embed := func(ctx context.Context, texts []string) ([]memory.Embedding, error) {
		return encodeAll(ctx, encoders, texts)
	}
	made, err := embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	for i, m := range made {
		m.Vector = unit(m.Vector)
		c.queries = append(c.queries, query{texts[i], m})
	}
	if err := c.encode(ctx, encoders[0].Name(), embed, dir, logf); err != nil {
		return nil, err
	}
	for i := c.encoded; i < n; i++ {
		r := newWriter(mixStream, i)
		a, b, d := r.IntN(c.encoded), r.IntN(c.encoded), r.IntN(c.encoded)
		v := slices.Clone(c.vectors[a])
		for j := range v {
			v[j] += share * (c.vectors[b][j] - c.vectors[d][j])
		}
		c.vectors, c.tokens = append(c.vectors, unit(v)), append(c.tokens, c.tokens[a])
	}
	return c, nil
}

type embedFunc func(ctx context.Context, texts []string) ([]memory.Embedding, error)

// encode sets the vectors of the first notes. It reads them from the file, and appends those that
// are missing.
func (c *corpus) encode(ctx context.Context, name string, embed embedFunc, dir string, logf logger) error {
	key := sha256.New()
	for i := range 200 { // other texts or encoders use another file
		key.Write([]byte(noteText(i)))
	}
	key.Write([]byte(name))
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	path := filepath.Join(dir, "notes-"+hex.EncodeToString(key.Sum(nil)[:8])+".bin")
	// Only one run may write the file.
	lock := flock.New(path + ".lock")
	if ok, err := lock.TryLock(); err != nil || !ok {
		return errors.Join(fmt.Errorf("%s: another run encodes", path), err)
	}
	defer func() { _ = lock.Unlock() }()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	whole, err := c.read(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := file.Truncate(whole); err != nil { // an interrupted run may leave half a note
		return err
	}
	if _, err := file.Seek(whole, io.SeekStart); err != nil {
		return err
	}
	const batch = 512
	started, had := time.Now(), len(c.vectors)
	for len(c.vectors) < c.encoded {
		texts := make([]string, 0, batch)
		for i := len(c.vectors); i < min(len(c.vectors)+batch, c.encoded); i++ {
			texts = append(texts, noteText(i))
		}
		made, err := embed(ctx, texts)
		if err != nil {
			return err
		}
		var out []byte
		for i := range made {
			codes := made[i].Codes()
			for _, x := range made[i].Vector {
				out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
			}
			out = binary.LittleEndian.AppendUint32(out, uint32(len(codes))) //nolint:gosec // at most 256 tokens
			out = append(out, codes...)
			c.vectors, c.tokens = append(c.vectors, unit(made[i].Vector)), append(c.tokens, codes)
		}
		if _, err := file.Write(out); err != nil {
			return err
		}
		done := len(c.vectors) - had
		if left := c.encoded - len(c.vectors); done/batch%8 == 0 || left == 0 {
			per := time.Since(started) / time.Duration(done)
			logf("encoded %d of %d notes, %v to go", len(c.vectors), c.encoded, (per * time.Duration(left)).Round(time.Second))
		}
	}
	return nil
}

// encodeAll encodes texts with several encoders in parallel.
func encodeAll[E memory.Embedder](ctx context.Context, encoders []E, texts []string) ([]memory.Embedding, error) {
	out := make([]memory.Embedding, len(texts))
	errs := make([]error, len(encoders))
	var wg sync.WaitGroup
	for i, e := range encoders {
		from, to := i*len(texts)/len(encoders), (i+1)*len(texts)/len(encoders)
		wg.Go(func() {
			var made []memory.Embedding
			made, errs[i] = e.Embed(ctx, tenant.Scope{}, texts[from:to])
			copy(out[from:to], made)
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}

// read reads the complete notes of the file and returns the offset after the last one.
func (c *corpus) read(r io.Reader) (whole int64, err error) {
	head := make([]byte, 4*c.dim+4)
	for {
		if _, err := io.ReadFull(r, head); err != nil {
			return whole, ended(err)
		}
		v := make([]float32, c.dim)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(head[4*i:]))
		}
		codes := make([]byte, binary.LittleEndian.Uint32(head[4*c.dim:]))
		if _, err := io.ReadFull(r, codes); err != nil {
			return whole, ended(err)
		}
		whole += int64(len(head) + len(codes))
		if len(c.vectors) < c.encoded { // the rest is from a longer run and stays
			c.vectors, c.tokens = append(c.vectors, unit(v)), append(c.tokens, codes)
		}
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	inverse := float32(1 / math.Sqrt(sum))
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = x * inverse
	}
	return out
}
