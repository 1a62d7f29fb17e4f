// Gen makes the tables of package grammar from the data of two modules: the perceptron's weights of
// github.com/jdkato/prose (MIT) and the Chinese dictionary of github.com/go-ego/gse (Apache-2.0,
// from jieba, MIT). It is a module of its own, so its dependencies are not dependencies of the
// product. Their code is not used. Run it with "go generate" only to change the tables: it needs the
// Go module proxy.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// minWeight is the weight below which one of the perceptron is left out.
	minWeight = 0.5
	// scale is the number of steps of a weight of 1.
	scale = 1000
	// dictionaryWords is the number of words of the Chinese dictionary, the most frequent ones.
	dictionaryWords = 60_000
)

func main() {
	check(os.WriteFile("english.bin", english(moduleDir("github.com/jdkato/prose/v2@v2.0.0")), 0o644))
	check(os.WriteFile("chinese.bin", chinese(moduleDir("github.com/go-ego/gse@v0.80.3")), 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// moduleDir returns the folder of a module in the module cache.
func moduleDir(module string) string {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	check(err)
	var m struct{ Dir string }
	check(json.Unmarshal(out, &m))
	return m.Dir
}

// english packs the weights: the names of the tags, words that have one tag nearly always, and for
// each feature, by the hash of its name, the weights of tags.
func english(dir string) []byte {
	read := func(name string, into any) {
		f, err := os.Open(filepath.Join(dir, "model", "AveragedPerceptron", name))
		check(err)
		defer f.Close()
		check(gob.NewDecoder(f).Decode(into))
	}
	var weights map[string]map[string]float64
	var known map[string]string
	var tags []string
	read("weights.gob", &weights)
	read("tags.gob", &known)
	read("classes.gob", &tags)
	slices.Sort(tags)
	index := map[string]byte{}
	var out bytes.Buffer
	out.WriteByte(byte(len(tags)))
	for i, t := range tags {
		index[t] = byte(i)
		out.WriteByte(byte(len(t)))
		out.WriteString(t)
	}
	type entry struct {
		hash uint32
		body []byte
	}
	var entries []entry
	seen := map[uint32]string{}
	add := func(name string, body []byte) {
		h := fnv.New32a()
		h.Write([]byte(name))
		sum := h.Sum32()
		if other, ok := seen[sum]; ok {
			fmt.Fprintf(os.Stderr, "%q is left out: it has the hash of %q\n", name, other)
			return
		}
		seen[sum] = name
		entries = append(entries, entry{sum, body})
	}
	for _, word := range sorted(known) {
		add("word "+word, []byte{index[known[word]], 0, 0})
	}
	for _, feature := range sorted(weights) {
		var body []byte
		for _, t := range sorted(weights[feature]) {
			if w := weights[feature][t]; math.Abs(w) >= minWeight {
				body = append(body, index[t])
				body = binary.LittleEndian.AppendUint16(body, uint16(int16(math.Round(min(w, 32)*scale))))
			}
		}
		if len(body) > 0 {
			add(feature, body)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.hash, b.hash) })
	var head []byte
	head = binary.LittleEndian.AppendUint32(head, uint32(len(entries)))
	for _, e := range entries {
		head = binary.LittleEndian.AppendUint32(head, e.hash)
	}
	for _, e := range entries {
		head = append(head, byte(len(e.body)/3))
	}
	out.Write(head)
	for _, e := range entries {
		out.Write(e.body)
	}
	return deflate(out.Bytes())
}

// chinese packs the most frequent words: one line each with the logarithm of the frequency in
// tenths, the part of speech and the word, in the order of words.
func chinese(dir string) []byte {
	f, err := os.Open(filepath.Join(dir, "data", "dict", "zh", "s_1.txt"))
	check(err)
	defer f.Close()
	type word struct {
		text, tag string
		count     int
	}
	var words []word
	for lines := bufio.NewScanner(f); lines.Scan(); {
		parts := strings.Fields(lines.Text())
		if len(parts) < 2 || strings.ContainsFunc(parts[0], func(r rune) bool { return !unicode.Is(unicode.Han, r) }) || utf8.RuneCountInString(parts[0]) > 8 {
			continue
		}
		n, err := strconv.Atoi(parts[1])
		check(err)
		w := word{text: parts[0], tag: "x", count: n}
		if len(parts) > 2 {
			w.tag = parts[2]
		}
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b word) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.text, b.text)) })
	words = slices.CompactFunc(words, func(a, b word) bool { return a.text == b.text })
	words = words[:dictionaryWords]
	total := 0
	for _, w := range words {
		total += w.count
	}
	slices.SortFunc(words, func(a, b word) int { return cmp.Compare(a.text, b.text) })
	words = slices.CompactFunc(words, func(a, b word) bool { return a.text == b.text })
	var out bytes.Buffer
	for _, w := range words {
		cost := math.Log(float64(total)) - math.Log(float64(max(w.count, 1)))
		fmt.Fprintf(&out, "%s\t%s\t%d\n", w.text, w.tag, int(math.Round(10*cost)))
	}
	return deflate(out.Bytes())
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func deflate(raw []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	check(err)
	_, err = w.Write(raw)
	check(err)
	check(w.Close())
	return out.Bytes()
}
