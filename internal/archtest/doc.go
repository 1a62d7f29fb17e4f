// Package archtest holds the architecture to its word: the package map with the
// direction of imports, and the list of numbered checks that tests name.
//
// It owns the map ([Map]), from which the table in docs/architecture.md is written, the
// judgement of a source tree against it ([Verify]), and the listing of checks
// ([FindChecks]). It reads source files and nothing else: it imports the standard library
// only, so that it can judge a tree that does not compile.
package archtest
