// Package grammar tags the words of English sentences with their part of speech, splits Chinese
// sentences into words with theirs, and splits compound sentences into the statements that they
// make. It needs no network and no files: the tables are embedded,
// about a megabyte, and are unpacked when they are first needed, which takes about ten
// milliseconds. The same text gets the same answer every time.
//
// English is tagged by an averaged perceptron (Collins 2002) with the tags of the Penn Treebank.
// Chinese is split at the most probable words of a dictionary. Decision 0035 says where the tables
// come from and why no library is used; package gen makes them.
//
// The weights are from github.com/jdkato/prose, Copyright (c) 2017-2018 Joseph Kato, MIT License.
// The dictionary is from github.com/go-ego/gse, Apache License 2.0, which has it from jieba,
// Copyright (c) 2013 Sun Junyi, MIT License.
package grammar

import (
	"bytes"
	"compress/flate"
	"io"
)

// Word is a word, a number or a punctuation mark of a text.
type Word struct {
	Text string
	// Tag is the part of speech: of the Penn Treebank for English ("NN", "VBD"), of jieba for
	// Chinese ("n", "v").
	Tag        string
	Start, End int // in bytes of the text
}

// unpack returns the content of an embedded table. The tables are part of the program, so an error
// is impossible.
func unpack(table []byte) []byte {
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(table)))
	if err != nil {
		panic("grammar: an embedded table cannot be read: " + err.Error())
	}
	return raw
}
