// Package app is the composition root: it builds, starts and stops everything,
// for the commands and for tests that run the whole product. It is the only
// package that imports adapters, and nothing imports it but commands.
package app
