// Package text turns prose into what is indexed and what is shown: words,
// sentences, index terms, stop words, key phrases and a one-sentence extract.
//
// It owns the analyser. [Terms] is the one way from text to index terms:
//
//  1. Unicode word segmentation (UAX #29); a word is then split at anything
//     that is no letter, digit or combining mark, so "don't" is "don", "t".
//  2. Lower case, NFKC, final sigma to sigma.
//  3. The language of the whole text is guessed from its scripts and, for
//     Latin script, from its stop words and letters; without evidence it is
//     English. A word in a script that this language is not written in goes
//     by a language of its own script: an English name in a Chinese sentence
//     is English.
//  4. Stop words of that language go.
//  5. An irregular English form becomes its base ("went" is "go"). The
//     Snowball stemmer of the language follows (English: Porter's of 1980),
//     then Latin letters lose their diacritics.
//  6. Runs of Han, Kana, Hangul, Thai, Lao, Khmer or Myanmar become
//     overlapping pairs of characters (a run of one is itself).
//
// [Passages] cuts a long text into pieces that are scored by themselves, and
// [Forms] turns the words of a query into the terms to look for, those that
// speak of the conversation marked as weak.
//
// Every function is pure, safe for concurrent use, and total: NUL, invalid
// UTF-8 and lone surrogates are separators, never a panic.
//
// The package imports nothing of ours and knows nothing of notes.
package text
