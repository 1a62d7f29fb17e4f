package encoder

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// A Model is a published set of weights. There is only one version of each, so two machines always
// compute the same kind of vectors.
type Model struct {
	Name  string // as published
	Files []File // what Open reads
	// MaxTokens is the most word pieces of a text that are read, including those that frame it: the
	// length that the model was trained with.
	MaxTokens int

	read func(dir string, files []File) (tokenizer, *weights, error)
}

// File is a file of a model, as published.
type File struct {
	Name   string
	Bytes  int64
	SHA256 string // in hexadecimal
}

// MiniLM is all-MiniLM-L6-v2 (Apache-2.0): English, six layers.
var MiniLM = &Model{
	Name: "all-MiniLM-L6-v2", MaxTokens: miniLMTokens, read: openMiniLM,
	Files: []File{
		{"vocab.txt", 231508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"},
		{"model.safetensors", 90868376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
	},
}

// E5 is multilingual-e5-small (MIT): about a hundred languages, twelve layers, weights of four bits.
var E5 = &Model{
	Name: "multilingual-e5-small", MaxTokens: e5Tokens, read: openE5,
	Files: []File{
		{"e5-small-q4.bin", 71622400, "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
	},
}

// E5AsMiniLM is E5 whose output is turned into the space of MiniLM: a text in another language has a vector and codes
// that compare with those of English texts by MiniLM. Distances among its own vectors are those of E5.
var E5AsMiniLM = &Model{Name: E5.Name, MaxTokens: e5Tokens, Files: E5.Files, read: openE5AsMiniLM}

// MiniLMForTalk and E5ForTalk are MiniLM and E5AsMiniLM with an adapter that was trained on conversations: a question is nearer to the
// turns that answer it. They share a space of their own, and read the files of the published models. E5ForTalk2 has the adapter of 0.1.0,
// which was trained for fewer steps: older collections have its vectors, beside those of MiniLMForTalk.
var (
	MiniLMForTalk = &Model{Name: MiniLM.Name, MaxTokens: miniLMTokens, Files: MiniLM.Files, read: openMiniLMForTalk}
	E5ForTalk     = &Model{Name: E5.Name, MaxTokens: e5Tokens, Files: E5.Files, read: openE5ForTalk(e5Adapter)}
	E5ForTalk2    = &Model{Name: E5.Name, MaxTokens: e5Tokens, Files: E5.Files, read: openE5ForTalk(e5Adapter2)}
)

const (
	miniLMTokens = 256
	e5Tokens     = 512
)

// Models returns all published models.
func Models() []*Model { return []*Model{MiniLM, E5} }

// ModelByName returns the model with a published name.
func ModelByName(name string) (*Model, bool) {
	for _, m := range Models() {
		if m.Name == name {
			return m, true
		}
	}
	return nil, false
}

func openMiniLM(dir string, files []File) (tokenizer, *weights, error) {
	return openMiniLMWith(dir, files, nil)
}

func openMiniLMForTalk(dir string, files []File) (tokenizer, *weights, error) {
	by, err := readAdapter(miniLMAdapter, miniLMNames, miniLMLayers)
	if err != nil {
		return nil, nil, err
	}
	return openMiniLMWith(dir, files, by)
}

func openMiniLMWith(dir string, files []File, by *adapter) (tokenizer, *weights, error) {
	text, err := files[0].read(dir)
	if err != nil {
		return nil, nil, err
	}
	v, err := readVocabulary(string(text))
	if err != nil {
		return nil, nil, err
	}
	var w *weights
	err = files[1].openAndRead(dir, func(f *os.File) (err error) {
		if w, err = readWeights(f, files[1].Bytes, by); err == nil {
			w.close = f.Close
		}
		return err
	})
	if err == nil {
		w.share(files[1])
	}
	return v, w, err
}

func openE5(dir string, files []File) (tokenizer, *weights, error) {
	return openE5With(dir, files, e5Center, nil)
}

func openE5With(dir string, files []File, center []byte, by *adapter) (tokenizer, *weights, error) {
	var v *unigram
	var w *weights
	err := files[0].openAndRead(dir, func(f *os.File) (err error) {
		if v, w, err = readE5(f, files[0].Bytes, center, by); err == nil {
			w.close = f.Close
		}
		return err
	})
	if err == nil {
		w.share(files[0])
	}
	return v, w, err
}

func openE5AsMiniLM(dir string, files []File) (tokenizer, *weights, error) {
	return openE5Turned(dir, files, nil)
}

func openE5ForTalk(trained []byte) func(dir string, files []File) (tokenizer, *weights, error) {
	return func(dir string, files []File) (tokenizer, *weights, error) {
		by, err := readAdapter(trained, e5Names, e5Layers)
		if err != nil {
			return nil, nil, err
		}
		return openE5Turned(dir, files, by)
	}
}

func openE5Turned(dir string, files []File, by *adapter) (tokenizer, *weights, error) {
	v, w, err := openE5With(dir, files, e5OtherCenter, by)
	if err == nil {
		if err = w.turnToMiniLM(by); err != nil {
			err = errors.Join(err, w.close())
		}
	}
	return v, w, err
}

// openAndRead opens the file in dir, and reads it while another processor verifies it. A file that is damaged or cannot be
// read is closed.
func (f File) openAndRead(dir string, read func(*os.File) error) error {
	r, err := os.Open(filepath.Join(dir, f.Name))
	if err != nil {
		return fmt.Errorf("encoder: %w", err)
	}
	var damaged error
	var verifying sync.WaitGroup
	verifying.Go(func() { damaged = f.verify(r) })
	err = read(r)
	verifying.Wait()
	if err = cmp.Or(damaged, err); err != nil {
		return errors.Join(err, r.Close())
	}
	return nil
}

// verify reads the file from its beginning. What reads it meanwhile must name places.
func (f File) verify(r *os.File) error {
	info, err := r.Stat()
	if err != nil {
		return fmt.Errorf("encoder: %w", err)
	}
	if info.Size() != f.Bytes {
		return fmt.Errorf("%w: %s has %d bytes, not %d", ErrDamaged, r.Name(), info.Size(), f.Bytes)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return fmt.Errorf("encoder: read %s: %w", r.Name(), err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%w: %s does not have the published hash", ErrDamaged, r.Name())
	}
	return nil
}

// read returns the content of the file in dir.
func (f File) read(dir string) ([]byte, error) {
	b := make([]byte, f.Bytes)
	var file *os.File
	err := f.openAndRead(dir, func(r *os.File) error {
		file = r
		if _, err := r.ReadAt(b, 0); err != nil {
			return fmt.Errorf("encoder: read %s: %w", r.Name(), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b, file.Close()
}
