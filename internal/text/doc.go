// Package text turns prose into what is indexed and what is shown: words,
// sentences, index terms, stop words, key phrases and a one-sentence extract.
//
// It owns the analyser. [Terms] is the one way from text to index terms:
//
//  1. Unicode word segmentation (UAX #29); a word is then split at anything
//     that is no letter, digit or combining mark, so "don't" is "don", "t".
//  2. Lower case, NFKC, final sigma to sigma.
//  3. The language of the whole text is guessed from its scripts and, for
//     Latin script, from its stop words; without evidence it is English.
//  4. Stop words of that language go.
//  5. The Snowball stemmer of that language (English: Porter's of 1980), then
//     Latin letters lose their diacritics.
//  6. Runs of Han, Kana, Hangul, Thai, Lao, Khmer or Myanmar become
//     overlapping pairs of characters (a run of one is itself).
//
// Every function is pure, safe for concurrent use, and total: NUL, invalid
// UTF-8 and lone surrogates are separators, never a panic.
//
// The package imports nothing of ours and knows nothing of notes.
package text
