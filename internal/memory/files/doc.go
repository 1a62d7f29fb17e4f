// Package files keeps uploaded files as text that is searched and read: files of collections, folders, and the views of
// files that an agent has open.
//
// A file is a note of kind file, under its name as the key; its attributes say what it is and how far its job is. The
// text is in notes of kind passage, of at most 300 tokens each, cut between lines and sentences, with the file, its
// name, their place, page and first line as attributes, and the file as their source. So files are searched, cited,
// forked, erased and moved like any notes. No policy derives anything from them. An upload goes into the spool; a job
// of kind file turns it into text, in a process of its own (internal/document), and writes the passages.
//
// Any collection may have files. A folder is a collection of the policy none that has nothing else.
//
// A folder is attached to the collection of an agent as a row of attachments. Which views an agent has open is a
// note of kind file in its own collection, under keyOpen.
//
// The package writes notes through internal/memory/notes and searches through internal/memory/recall.
package files
