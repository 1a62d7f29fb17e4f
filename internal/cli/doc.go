// Package cli is slipbox, the command line for people: it adds to memories, searches them, chats with them, forks them and
// imports files. It is a client of the HTTP API and of nothing else, so it can do what its key may do.
//
// A person at a terminal gets text, a pipe gets the JSON of the API. Results go to stdout; progress, questions and errors
// go to stderr. An error says how to correct it, and the exit code says what kind it is (see the Exit constants).
package cli
