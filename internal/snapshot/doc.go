// Package snapshot keeps files that can be made again at any time, such as snapshots of indexes, in one
// private directory. It owns names, modes, replacing a file as a whole, mapping it into memory, and
// removing it. It does not know what is in a file: its callers check that, and a file that is damaged,
// cut off or missing only costs the time to make it again.
//
// Files are grouped by tenant and collection, so that all of a collection can be removed in one call. Several
// processes may use one directory.
//
// internal/memory/recall keeps its indexes here; internal/app opens the directory. The package imports no
// other one of ours.
package snapshot
