// Package eval measures slipbox from outside. It loads published conversations through the public
// HTTP API, asks their questions and scores the ranked lists against the evidence that comes with
// the data. No language model judges anything.
//
// It is a client of the API and imports only its reference scorers (eval/reference), so that it can
// measure any gateway. cmd/eval and end-to-end tests call it; gateway and worker do not contain it.
package eval
