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

// share is how much of the difference between two encoded notes is added to a
// third one, to make a vector that was not encoded: such vectors vary as those of
// the encoder do, in its directions, which random numbers would not.
const share = 0.5

// session is how many notes stand in one.
const session = 25

// corpus is what everybody is asked to find, and by what.
type corpus struct {
	dim     int
	encoded int         // the first so many vectors are the encoder's own
	vectors [][]float32 // of unit length
	tokens  [][]byte    // codes for late interaction
	queries []query
}

type query struct {
	text string
	memory.Embedding
}

// noteText is what note i says.
func noteText(i int) string { return newWriter(noteStream, i).note() }

// newCorpus makes n notes, of which the first encode are encoded, and queries. What was
// encoded before is read from a file in dir.
func newCorpus[E memory.Embedder](ctx context.Context, encoders []E, dir string, n, encode, queries int, tellf teller) (*corpus, error) {
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
	if err := c.encode(ctx, encoders[0].Name(), embed, dir, tellf); err != nil {
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

// encode gives the first notes their vectors: those in the file, and others that it
// appends.
func (c *corpus) encode(ctx context.Context, name string, embed embedFunc, dir string, tellf teller) error {
	key := sha256.New()
	for i := range 200 { // other texts or another encoder: another file
		key.Write([]byte(noteText(i)))
	}
	key.Write([]byte(name))
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	path := filepath.Join(dir, "notes-"+hex.EncodeToString(key.Sum(nil)[:8])+".bin")
	// Two runs would write into one another.
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
	if err := file.Truncate(whole); err != nil { // an interrupted run leaves half a note
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
			out = binary.LittleEndian.AppendUint32(out, uint32(len(codes))) //nolint:gosec // of 256 tokens at most
			out = append(out, codes...)
			c.vectors, c.tokens = append(c.vectors, unit(made[i].Vector)), append(c.tokens, codes)
		}
		if _, err := file.Write(out); err != nil {
			return err
		}
		done := len(c.vectors) - had
		if left := c.encoded - len(c.vectors); done/batch%8 == 0 || left == 0 {
			per := time.Since(started) / time.Duration(done)
			tellf("encoded %d of %d notes, %v to go", len(c.vectors), c.encoded, (per * time.Duration(left)).Round(time.Second))
		}
	}
	return nil
}

// encodeAll shares texts among encoders.
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

// read takes whole notes and tells where the last of them ends.
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
		if len(c.vectors) < c.encoded { // else: a longer run's, to be kept
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
