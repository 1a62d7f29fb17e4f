// Package archtest checks the source tree: the direction of imports, plain English in
// comments and documents, and the numbered checks that tests name.
//
// It owns the package map ([Map]), from which the table in docs/architecture/packages.md is
// generated, and the comparison of a tree with it ([Verify]); the rules of prose
// ([CheckComments], [CheckDocuments]); the list of required checks ([Required]) and the
// search for the tests that name them ([FindChecks]). It reads source files only, and
// imports only the standard library, so it also works on a tree that does not compile.
//
// Its own tests run it on this tree. tools/packagemap and tools/checks call it too.
package archtest
