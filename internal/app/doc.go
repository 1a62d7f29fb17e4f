// Package app is the composition root. It builds, starts and stops gateways and workers, and
// holds the operations of the commands (backup, check, doctor, export). It is the only package
// that imports adapters. Its callers are the commands, and tests and benchmarks of the whole
// product. internal/app/command holds what the command lines share.
package app
