// Package text analyzes prose for indexing and for display: words, sentences, index terms, stop
// words, key phrases and a one-sentence extract.
//
// It owns the analyzer. [Terms] is the only function from text to index terms:
//
//  1. Unicode word segmentation (UAX #29). A word is then split at anything
//     that is not a letter, digit or combining mark, so "don't" becomes "don",
//     "t".
//  2. Lower case, NFKC, final sigma to sigma.
//  3. The language of the whole text is guessed from its scripts and, for
//     Latin script, from its stop words and letters. Without evidence it is
//     English. A word in a script that this language does not use is analyzed
//     in a language of its own script: an English name in a Chinese sentence
//     is English.
//  4. Stop words of that language are dropped.
//  5. An irregular English form becomes its base ("went" becomes "go"). The
//     Snowball stemmer of the language follows (English: Porter's of 1980),
//     then accents and vowel points are removed, and letters with several forms
//     (ß, the alefs of Arabic) get one.
//  6. Runs of Han, Kana, Hangul, Thai, Lao, Khmer or Myanmar become
//     overlapping pairs of characters (a run of one is itself).
//
// [Signs] are the emoji of a text, which are words of an index, too, but not of key phrases. [Shared] compares a word
// with a longer one that holds it.
//
// [EscapeMarks] keeps stored text from passing for a part of the prompt that quotes it.
// [Passages] cuts a long text into pieces that are scored separately. [Forms] turns the words of a
// query into the terms to look for, and marks words about the conversation as weak.
//
// Every function is pure, safe for concurrent use, and total: NUL, invalid UTF-8 and lone
// surrogates are separators and never cause a panic.
//
// The package imports no other package of this module and does not know notes. Its callers include
// package index, the hashed embedder of llm, analyst and the policies.
package text
