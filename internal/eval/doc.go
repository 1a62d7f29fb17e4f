// Package eval measures slipbox from outside: it loads published
// conversations through the public HTTP API, asks their questions and scores
// the ranked lists against the evidence that comes with the data. No language
// model judges anything.
//
// It is a client of the API and imports nothing else of ours, so that it can
// be pointed at any gateway.
package eval
