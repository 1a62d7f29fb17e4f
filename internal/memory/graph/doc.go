// Package graph stores a graph of facts on notes and links. An entity is a
// note of kind entity whose key is its name. An edge is a link between two
// entities whose attributes hold the intervals of event time in which it was
// valid; the link is never removed. While an edge is valid there is also a
// triple: a note of kind knowledge with the edge as a sentence, which searches
// find.
//
// Policies write the graph (Mem0g does today), recall reads it, and notes ends
// an edge whose triple a caller deletes. The package depends on memory alone.
package graph
