package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/encoder/weights"
)

// reader is an encoder of sentences, open from the first text on.
type reader struct {
	model *encoder.Model
	end   string // of the file that keeps its vectors
	open  *encoder.Encoder
}

// The network learns from the vectors of the one encoder, and reads those of the other, which [carry] leads it to.
var (
	learnedFrom = &reader{model: encoder.E5ForTalk2, end: ".learned"}
	readBy      = &reader{model: encoder.E5ForTalk}
)

// vectors returns the vector of each text, in order. Those that the file has are read from it, and it gets the others.
func (r *reader) vectors(texts []string, file string) ([][]float32, error) {
	if file != "" {
		file += r.end
	}
	known, err := readVectors(file)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, t := range texts {
		if _, ok := known[t]; !ok {
			known[t] = nil
			missing = append(missing, t)
		}
	}
	if err := r.encode(missing, known); err != nil {
		return nil, err
	}
	if err := writeVectors(file, missing, known); err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = known[t]
	}
	return out, nil
}

// encode adds the vectors of texts to those that are known.
func (r *reader) encode(texts []string, known map[string][]float32) error {
	if len(texts) > 0 && r.open == nil {
		dir, err := weights.DefaultDir()
		if err == nil {
			r.open, err = encoder.Open(r.model, dir)
		}
		if err != nil {
			return err
		}
	}
	const batch = 64
	for at := 0; at < len(texts); at += batch {
		some := texts[at:min(len(texts), at+batch)]
		made, err := r.open.Encode(context.Background(), some)
		if err != nil {
			return err
		}
		for i, t := range some {
			known[t] = made[i].Vector
		}
	}
	return nil
}

// readVectors reads a file of writeVectors; one that is missing has none.
func readVectors(file string) (map[string][]float32, error) {
	out := map[string][]float32{}
	if file == "" {
		return out, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	in := bufio.NewReader(f)
	for {
		var size uint32
		err := binary.Read(in, binary.LittleEndian, &size)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		name, v := make([]byte, size), make([]float32, encoder.Dim)
		if _, err2 := io.ReadFull(in, name); err != nil || err2 != nil {
			return nil, errors.Join(err, err2)
		}
		if err := binary.Read(in, binary.LittleEndian, v); err != nil {
			return nil, err
		}
		out[string(name)] = v
	}
}

// writeVectors appends the vectors of texts to a file.
func writeVectors(file string, texts []string, known map[string][]float32) error {
	if file == "" || len(texts) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a cache
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // a cache
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	for _, t := range texts {
		out.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(t)))) //nolint:errcheck,gosec // Flush reports it
		out.WriteString(t)                                               //nolint:errcheck // Flush reports it
		binary.Write(out, binary.LittleEndian, known[t])                 //nolint:errcheck // Flush reports it
	}
	return errors.Join(out.Flush(), f.Close())
}
