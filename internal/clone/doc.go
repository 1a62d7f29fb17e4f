// Package clone makes collections out of collections: a fork, which is one row
// that reads its parent's log up to a revision, and a copy, which a job
// materialises in steps. It also does the work of the jobs that remove what was
// deleted and of the sweep that ends what expired.
//
// It imports memory and tenant; the rows are the store's.
package clone
